//! If a kernel breaks a rule of the device, the error names the call of the taskflow.

use super::layer::small::Layer;
use super::layer::{line_of, with_tables};
use crate::random::Routing;
use crate::small_kernels::ffn;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::tables::TensorTable;
use hpmoe_runtime::{CompiledKernel, KernelTables};

/// The layer, with tables that are wrong about one tensor.
fn with_tensor(name: &str, change: fn(&mut TensorTable)) -> CompiledKernel {
    let mut tensors = ffn::forward::KERNEL.tables().tensors.to_vec();
    change(tensors.iter_mut().find(|tensor| tensor.name == name).unwrap());
    with_tables(KernelTables { tensors: tensors.leak(), ..*ffn::forward::KERNEL.tables() })
}

/// The runtime takes the tensor's rows for narrow, so that the first call that writes the tensor exceeds its end.
#[track_caller]
fn is_told(tensor: &str, task: &str, call: &str) {
    let kernel = with_tensor(tensor, |tensor| tensor.pitch = 16);
    for seed in 0..6 {
        let layer = Layer::new(&[40, 3], Routing::Uniform, seed);
        let error = layer.launch_with(&Group::new(2).seed(seed), &kernel).unwrap_err();
        let LaunchError::Rule { source_line: Some(found), .. } = &error else { panic!("{error}") };
        let expected = format!("`{task}` at kernels/ffn.rs:{}, ", line_of(call));
        assert!(found.starts_with(&expected) && found.ends_with(call), "{expected}\n{error}");
    }
}

#[test]
fn with_its_source_line_whatever_the_call() {
    is_told("recv", "dispatch", "dispatch(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s))");
    let (gate, up) = ("&gate[r].expert(e).tile(n), &mut g[r]", "&up[r].expert(e).tile(n), &mut u[r]");
    is_told("g", "project_k128", &format!("project(&recv[r].group(e, m), {gate}.group(e, m).cols(n))"));
    is_told("u", "project_k128", &format!("project(&recv[r].group(e, m), {up}.group(e, m).cols(n))"));
    is_told("back", "give_back", "give_back(&out[e.owner()].rows_of(&s), &mut back[src].scatter(&s))");
}

#[test]
fn with_its_tile() {
    let kernel = with_tensor("y", |y| y.writable = false);
    let error = Layer::new(&[0, 9], Routing::Uniform, 1).launch_with(&Group::new(2), &kernel).unwrap_err().to_string();
    let call = "combine(&back[r].slots(t).cols(n), &weights[r].rows(t), &mut y[r].rows(t).cols(n))";
    let (message, site) = error.split_once('\n').unwrap();
    assert!(message.starts_with("rank 1, AIV ") && message.ends_with("writes region y of rank 1, which is read-only"));
    let line = line_of(call);
    assert_eq!(
        site,
        format!("  while the core was in `combine` at kernels/ffn.rs:{line}, block 0 of tokens, column 0: {call}")
    );
}

#[test]
fn and_the_kernel_itself_breaks_none() {
    let layer = Layer::new(&[40, 3], Routing::Uniform, 0);
    let (found, _) = layer.launch(&Group::new(2)).unwrap();
    assert!(found == layer.reference());
}

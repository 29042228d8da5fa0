//! The list of a package's kernels, from which `hpmoe_c::export!()` generates a C interface.

use crate::files;
use crate::units::{Built, Unit};
use hpmoe_core::syntax::Constant;
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The name of the file, below [`FOLDER`].
const FILE: &str = "exports.rs";

/// The kernels of all builds of this process, because a build script may build several times.
struct Exports {
    /// Entries by symbol.
    kernels: BTreeMap<String, String>,
    /// Names of kernels with faults.
    faulty: Vec<String>,
}

static EXPORTS: Mutex<Exports> = Mutex::new(Exports { kernels: BTreeMap::new(), faulty: Vec::new() });

/// Writes the list of all kernels that this build and earlier builds of the same script have made.
pub(crate) fn write(Built { units, faulty, .. }: &Built, folder: &Path) -> Result<(), String> {
    let mut exports = EXPORTS.lock().unwrap_or_else(PoisonError::into_inner);
    let there = |unit: &Unit, ending: &str| folder.join(unit.artifact.file(ending)).exists();
    let (refused, built): (Vec<&Unit>, Vec<&Unit>) = units.iter().partition(|unit| there(unit, "fault"));
    for kernel in faulty.iter().chain(refused.iter().map(|unit| &unit.kernel)) {
        if !exports.faulty.contains(kernel) {
            exports.faulty.push(kernel.clone());
        }
    }
    for unit in built {
        exports.kernels.insert(unit.artifact.symbol.clone(), entry(unit, there(unit, "device")).to_string());
    }
    let faults = exports.faulty.iter().map(|kernel| {
        format!("kernel `{kernel}` can't be exported, because it has faults; `#[megakernel]` shows them")
    });
    let faults = quote!(faults [#(#faults)*]);
    let kernels: String = exports.kernels.values().map(|kernel| format!("    {kernel}\n")).collect();
    files::write(&folder.join(FILE), &format!("kernels! {{\n    {faults}\n{kernels}}}\n"))
}

/// The entry of a kernel in the file, as the macro `kernels` of `hpmoe-c` reads it.
fn entry(Unit { artifact, kernel, constants, .. }: &Unit, for_device: bool) -> TokenStream {
    let (symbol, name) = (format_ident!("{}", artifact.symbol), &artifact.symbol);
    let tables = artifact.below_out_dir("rs");
    let device = for_device.then(|| artifact.below_out_dir("device.o")).into_iter();
    let constants = constants.iter().map(|(name, value)| match value {
        Constant::Size(size) => quote!(#name = Size(#size)),
        Constant::Number(number) => {
            let number = Literal::f32_suffixed(*number);
            quote!(#name = Number(#number))
        }
    });
    quote!(kernel #symbol #name of #kernel, tables #tables, device [#(#device)*], constants [#(#constants),*];)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpmoe_core::artifacts::Artifact;

    fn unit(flow: &str) -> Unit {
        let (symbol, stem) = (format!("hpmoe5_crate_layer_{flow}_0a"), format!("layer_{flow}_0a"));
        let constants = [("HIDDEN", Constant::Size(64)), ("LIMIT", Constant::Number(-0.5))];
        Unit {
            artifact: Artifact { symbol, stem },
            kernel: "layer".to_owned(),
            constants: constants.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            source: "layer.cpp".into(),
            device_source: "".into(),
            route_needs: None,
            operators: Vec::new(),
            package: "".into(),
            file: "layer.rs".to_owned(),
            device: None,
        }
    }

    #[test]
    fn builds_of_one_script_share_a_list() {
        let folder = tempfile::tempdir().unwrap();
        for notice in ["layer_backward_0a.device", "layer_refused_0a.fault"] {
            std::fs::write(folder.path().join(notice), "").unwrap();
        }
        write(&Built { units: vec![unit("forward"), unit("refused")], ..Built::default() }, folder.path()).unwrap();
        let broken = vec!["broken".to_owned()];
        write(&Built { units: vec![unit("backward")], faulty: broken, ..Built::default() }, folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        let plain: String = text.split_whitespace().collect();
        let fault = |kernel| format!("\"kernel`{kernel}`can'tbeexported,becauseithasfaults;`#[megakernel]`showsthem\"");
        let kernel = |flow, device| {
            let name = format!("hpmoe5_crate_layer_{flow}_0a");
            let constants = r#"constants["HIDDEN"=Size(64usize),"LIMIT"=Number(-0.5f32)]"#;
            format!(r#"kernel{name}"{name}"of"layer",tables"/hpmoe/layer_{flow}_0a.rs",device[{device}],{constants};"#)
        };
        let faults = format!("faults[{}{}]", fault("layer"), fault("broken"));
        let kernels = [kernel("backward", r#""/hpmoe/layer_backward_0a.device.o""#), kernel("forward", "")].concat();
        assert_eq!(plain, format!("kernels!{{{faults}{kernels}}}"));
    }
}

//! Unused declarations of a kernel: tensors that no call touches, and tasks that no taskflow calls.

use crate::front::Front;
use crate::graph::TaskGraph;
use crate::ids::TensorId;
use proc_macro2::Span;

/// A declaration without a use.
#[derive(Clone, Debug)]
pub struct Unused {
    /// The place of the item's name in its declaration.
    pub at: Span,
    /// A sentence that names the unused item.
    pub message: String,
    /// Advice for the user.
    pub help: &'static str,
}

/// The unused declarations of a kernel without faults, in the order of the source: tasks, then the tensors of each taskflow.
#[must_use]
pub fn unused(front: &Front) -> Vec<Unused> {
    let is_called = |name: &str| {
        let mut tasks = front.flows.iter().flat_map(|flow| flow.graph().tasks.iter());
        tasks.any(|(_, task)| task.name == name)
    };
    let own = front.kernel.tasks.iter().filter(|task| !task.library && !is_called(&task.name));
    let tasks = own.map(|task| Unused {
        at: task.span,
        message: format!("no taskflow calls the task `{}`", task.name),
        help: "call it or delete it",
    });
    let tensors = front.flows.iter().flat_map(|flow| {
        let graph = flow.graph();
        let free = graph.tensors.iter().filter(|(id, _)| !is_touched(graph, *id));
        free.map(|(_, tensor)| Unused {
            at: tensor.span,
            message: format!("no call of `{}` reads or writes `{}`", graph.taskflow, tensor.name),
            help: "use it in a call or delete it",
        })
    });
    tasks.chain(tensors).collect()
}

/// Whether a call, or the route that the kernel makes, uses a tensor.
fn is_touched(graph: &TaskGraph, tensor: TensorId) -> bool {
    let in_calls = graph.phases.iter().any(|(_, phase)| {
        let of_origins = phase.origins.is_some_and(|origins| origins.tensor == tensor);
        of_origins || phase.accesses.iter().any(|access| access.tensor == tensor)
    });
    let of_route = graph
        .route
        .as_ref()
        .is_some_and(|route| tensor == route.ids || tensor == route.tokens || route.keeps == Some(tensor));
    in_calls || of_route
}

#[cfg(test)]
mod tests {
    use super::unused;
    use crate::constant::Overrides;
    use crate::front::{front, modules};

    const KERNELS: [&str; 4] = [
        include_str!("../../ui-tests/kernels/ffn.rs"),
        include_str!("../../ui-tests/kernels/kept.rs"),
        include_str!("../../ui-tests/kernels/routed.rs"),
        include_str!("../../ui-tests/kernels/once.rs"),
    ];

    /// The source text that each finding points at, and its message.
    fn found(source: &str) -> Vec<(String, String)> {
        let front = front(&modules(source).unwrap()[0], &Overrides::new()).unwrap();
        let place = |at: proc_macro2::Span| {
            let line = source.lines().nth(at.start().line - 1).unwrap();
            line.chars().skip(at.start().column).take(at.end().column - at.start().column).collect()
        };
        unused(&front).into_iter().map(|unused| (place(unused.at), unused.message)).collect()
    }

    #[test]
    fn all_of_a_kernel_is_used() {
        for source in KERNELS {
            assert_eq!(found(source), []);
        }
    }

    #[test]
    fn tensors_and_tasks_without_a_use_are_named() {
        let source = KERNELS[0]
            .replacen("        let back =", "        let spare = PerRank::ragged::<bf16, HIDDEN>(ep, route);\n        let back =", 1)
            .replacen("        x: &PerRank", "        bias: &PerRank<Matrix<f32, 1, HIDDEN>>,\n        x: &PerRank", 1)
            .replacen(
                "    #[taskflow]",
                "    #[aiv_task]\n    pub fn never(a: &Tile<bf16, 16, 16>, b: &mut Tile<bf16, 16, 16>) {\n        b.store(a.load());\n    }\n\n    #[taskflow]",
                1,
            );
        let named = |name: &str, message: &str| (name.to_owned(), message.to_owned());
        let expected = [
            named("never", "no taskflow calls the task `never`"),
            named("bias", "no call of `forward` reads or writes `bias`"),
            named("spare", "no call of `forward` reads or writes `spare`"),
        ];
        assert_eq!(found(&source), expected);
    }
}

//! Messages about operations that don't exist or can't be used there, with alternatives.

use super::sentence::Sentence;
use hpmoe_kernels::op::{OperandKind, TaskKind};
use hpmoe_kernels::ops;

/// How operations that the language doesn't have are written with those that it has, for a value `x`.
const RECIPES: [(&[&str], &str); 25] = [
    (&["relu6"], "x.clamp(0.0, 6.0)"),
    (&["leaky_relu"], "x.at_least(0.0) + 0.01 * x.at_most(0.0)"),
    (&["swish"], "x.silu()"),
    (&["logistic"], "x.sigmoid()"),
    (&["quick_gelu"], "(1.702 * &x).sigmoid() * &x"),
    (&["gelu_new", "gelu_approximate"], "x.gelu_tanh()"),
    (&["pow2", "powi", "powf", "pow"], "x.square()"),
    (&["recip", "reciprocal"], "1.0 / x"),
    (&["log"], "x.ln()"),
    (&["log2"], "x.ln() * 1.442695"),
    (&["ceil"], "-(-&x).floor()"),
    (&["trunc"], "x.less(0.0).select(-(-&x).floor(), x.floor())"),
    (&["rint", "round_ties_even"], "x.round()"),
    (&["sign", "signum"], "x.greater(0.0) - x.less(0.0)"),
    (&["where", "where_", "choose"], "x.greater(0.0).select(&x, 0.0)"),
    (&["mul_add", "fma"], "&x * 2.0 + 1.0"),
    (&["maximum"], "x.max(&x)"),
    (&["minimum"], "x.min(&x)"),
    (&["clip"], "x.clamp(-1.0, 1.0)"),
    (&["scale_rows", "scale_cols"], "&x * x.row_sum()"),
    (&["add_row"], "&x + x.row_sum()"),
    (&["sum", "reduce_sum"], "&x * x.row_sum()"),
    (&["mean", "average"], "&x - x.row_mean()"),
    (&["amax", "reduce_max"], "&x - x.row_max()"),
    (&["to", "into", "astype", "to_bf16", "convert"], "x.cast::<bf16>()"),
];

/// The help for methods that have no recipe, because they work on tiles or nothing replaces them.
const ADVICE: [(&[&str], &str); 15] = [
    (
        &["clone", "copied", "to_owned", "copy"],
        "a value can be used several times: leave it out, and take `&value` where it is used again",
    ),
    (
        &["mm", "bmm", "dot", "linear", "gemm", "matmul_nt", "transpose", "t"],
        "products are `x.matmul_t(w)` (both contract their columns), `x.matmul(w)` and `x.t_matmul(w)` of tiles, in an \
         `#[aic_task]`",
    ),
    (&["read", "get", "value"], "`tile.load()` makes a value of a tile"),
    (&["write", "set", "assign", "copy_from"], "`tile.store(value)` writes a value to a tile"),
    (&["send", "copy_to"], "`to.put(&from)` copies rows, in a task marked `#[comm_put]`"),
    (&["add", "sub", "mul", "div", "neg"], "write the operator: `a + b`, `a - b`, `a * b`, `a / b`, `-a`"),
    (
        &["lt", "le", "gt", "ge", "eq", "ne"],
        "comparisons are `a.less(b)`, `less_equal`, `greater`, `greater_equal`, `equal` and `not_equal`; they make 1 and 0",
    ),
    (
        &["topk", "argsort", "sort"],
        "`x.top_k::<K>()` gives the ids of the K largest numbers of each row, the largest first, and `x.pick(&ids)` their numbers",
    ),
    (
        &["gather", "take", "index_select", "take_along_dim"],
        "`x.pick(&ids)` takes the numbers of the columns that ids name",
    ),
    (
        &["scatter", "one_hot", "put_along_axis"],
        "`x.place::<COLUMNS>(&ids)` puts numbers into the columns that ids name, and zeros elsewhere",
    ),
    (
        &["view", "unflatten", "flatten", "split", "chunks"],
        "`x.reshape::<ROWS, COLS>()` splits each row into several, or joins several rows into one",
    ),
    (
        &["sin", "cos", "erf", "cumsum"],
        "tasks have no such operation: compute it outside the kernel, and pass the result as a tensor",
    ),
    (
        &["slice", "narrow", "cols"],
        "`x.columns::<WIDTH>(first)` takes columns of a value; tiles are cut in the taskflow, by `.cols(n)` and `.tile(n)`",
    ),
    (&["cat", "hstack"], "`a.concat::<BOTH>(&b)` joins the columns of two values"),
    (&["tile", "rows", "chunk"], "a task works on whole tiles: the taskflow cuts them, by `.cols(n)` and `.tile(n)`"),
];

/// The replacement for an operation that does not exist, if one is known.
pub(super) fn recipe(name: &str) -> Option<String> {
    let written = RECIPES.iter().find(|(names, _)| names.contains(&name));
    let advice = ADVICE.iter().find(|(names, _)| names.contains(&name));
    written.map(|(_, code)| format!("for a value `x`, write `{code}`")).or(advice.map(|(_, text)| (*text).to_owned()))
}

/// All operations by name.
pub(super) fn list() -> String {
    let mut names: Vec<String> = ops::TABLE.iter().map(|operation| format!("`{}`", operation.name())).collect();
    names.dedup();
    format!("the operations are {}", names.join(", "))
}

/// The message for an operation that the cores of a task don't have.
pub(super) fn wrong_core(
    operation: &str,
    kind: TaskKind,
    cores: &'static [TaskKind],
    whole: Option<TaskKind>,
) -> Sentence {
    let plural = |core: &TaskKind| match core {
        TaskKind::Matrix => "matrix cores",
        TaskKind::Vector => "vector cores",
        TaskKind::Put => "communication tasks",
    };
    if kind == TaskKind::Put {
        return (
            format!("a put copies rows unchanged: it has no `{operation}`"),
            "write `to.put(from);` alone; a task marked `#[aiv_task]` can compute before or after it, on tensors of one rank".into(),
        );
    }
    let others = cores.iter().map(plural).collect::<Vec<_>>().join(" and ");
    let markers = cores.iter().map(|core| format!("`{}`", core.marker())).collect::<Vec<_>>().join(" or ");
    let help = match whole {
        Some(whole) => format!("{others} have it: mark the task `{}`", whole.marker()),
        None if kind == TaskKind::Matrix && operation == "load" => {
            "products take tiles as they are: leave out `.load()`".into()
        }
        None => {
            format!("{others} have it: move it to a task of its own, marked {markers}, with a tensor between the two")
        }
    };
    (format!("{} have no `{operation}`", plural(&kind)), help)
}

/// The message for operands of different kinds than an operation takes.
pub(super) fn operands(operation: &str, given: &[OperandKind]) -> Sentence {
    use OperandKind::{Number, Size, Tile, Value};
    let known: Vec<&[OperandKind]> = ops::named(operation).map(|operation| operation.operands).collect();
    let takes: Vec<String> = known.iter().map(|kinds| kinds_text(kinds)).collect();
    let only_tiles = known.iter().all(|kinds| kinds.iter().all(|kind| *kind == Tile));
    let tile = known.iter().any(|kinds| kinds.contains(&Tile)) || given.contains(&Tile);
    let help = match (operation, given) {
        ("max", [Value, Number]) => "the larger of a value and a number is `.at_least(number)`",
        ("min", [Value, Number]) => "the smaller of a value and a number is `.at_most(number)`",
        ("at_least", [Value, Value]) => "the larger of two values is `.max(&other)`",
        ("at_most", [Value, Value]) => "the smaller of two values is `.min(&other)`",
        _ if known.iter().all(|kinds| kinds.contains(&Size)) && !given.contains(&Size) => {
            "sizes are const arguments: `x.top_k::<TOP_K>()`, `x.columns::<WIDTH>(first)`, `x.reshape::<ROWS, COLS>()`"
        }
        _ if only_tiles && given.contains(&Value) => {
            "it takes tiles, the parameters of the task, as they are: leave out `.load()`, and compute values in a task of \
             their own"
        }
        _ if tile => "`load()` makes a value of a tile, and `store(..)` writes a value to a tile",
        _ => "numbers are f32 literals and constants; `load()` makes a value of a tile",
    };
    (format!("`{operation}` takes {}, but is given {}", takes.join(", or "), kinds_text(given)), help.into())
}

fn kinds_text(kinds: &[OperandKind]) -> String {
    let name = |kind: &OperandKind| match kind {
        OperandKind::Tile => "a tile",
        OperandKind::Value => "a value",
        OperandKind::Number => "a number",
        OperandKind::Size | OperandKind::Index => "a size",
    };
    kinds.iter().map(name).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constant::Overrides;
    use crate::front::{front, modules};

    /// Every recipe must compile.
    #[test]
    fn every_recipe_is_accepted() {
        for (names, code) in RECIPES {
            for name in names {
                assert!(ops::named(name).next().is_none(), "`{name}` is an operation");
            }
            let source = include_str!("../../../../ui-tests/kernels/ffn.rs")
                .replace("let gate = gate.load();", "let x = gate.load();")
                .replace("gate.silu() * up.load()", code);
            let module = &modules(&source).unwrap()[0];
            let faults = front(module, &Overrides::new()).err().unwrap_or_default();
            assert!(faults.is_empty(), "{code}: {:?}", faults.iter().map(|fault| fault.text()).collect::<Vec<_>>());
        }
    }
}

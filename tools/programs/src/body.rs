//! Bodies of vector tasks: values from tiles, operations on them, and one value that depends on all of these.

use crate::draw::{once_in, one_of};
use fastrand::Rng;

/// The size of a value, relative to a tile of R rows and C columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// R rows and C columns.
    Full,
    /// R rows and one column.
    Column,
    /// One row and C columns.
    Row,
}

/// The body of a task: its statements, and the result that it stores.
pub(crate) struct Body {
    pub(crate) text: String,
    /// An expression whose value is the result.
    pub(crate) result: String,
    /// Number of columns of the result.
    pub(crate) columns: usize,
}

/// Operations that keep the size of a value, and work for numbers of any magnitude.
const UNARY: [&str; 20] = [
    "-&v",
    "v.abs()",
    "v.relu()",
    "v.floor()",
    "v.round()",
    "v.square()",
    "v.sigmoid()",
    "v.silu()",
    "v.tanh()",
    "v.gelu()",
    "v.gelu_tanh()",
    "v.softplus()",
    "v.log_sigmoid()",
    "v.clamp(-4.0, 4.0).exp()",
    "(v.abs() + 0.25).ln()",
    "v.abs().sqrt()",
    "(v.square() + 0.5).rsqrt()",
    "v.cast::<bf16>()",
    "v.cast::<f16>()",
    "bend(&v, 0.75)",
];
/// Expressions that need whole rows.
const ROWS: [&str; 3] = ["v.softmax()", "v.rms_norm(1e-5)", "v.column_ids() * &v"];
/// Operations on whole rows that yield one number per row.
const REDUCED: [&str; 5] = ["v.row_sum()", "v.row_mean()", "v.row_max()", "v.row_min()", "v.arg_max()"];
const BINARY: [&str; 7] =
    ["&v + w", "&v - w", "&v * w", "v.max(w)", "v.min(w)", "v.greater(w)", "&v / (w.abs() + 0.5)"];
const NUMBERS: [&str; 6] = ["&v + 0.5", "&v * 1.25", "2.0 - &v", "&v / 3.0", "v.at_least(-0.5)", "v.less(0.125)"];

/// Makes a body that uses the `loaded` values. If tiles have `whole` rows, of `columns` columns, it can use operations
/// on rows.
pub(crate) fn body(rng: &mut Rng, loaded: &[(String, Size)], columns: usize, whole: bool) -> Body {
    let mut text = String::new();
    let mut values: Vec<(String, Size, bool)> = Vec::new();
    for (loaded, size) in loaded {
        let value = format!("v{}", values.len());
        text += &format!("        let {value} = {loaded};\n");
        values.push((value, *size, false));
    }
    let mut last = 0;
    for _ in 0..1 + rng.usize(..5) {
        if once_in(rng, 8) {
            let [above, below] = [0, 1].map(|more| format!("v{}", values.len() + more));
            text += &format!("        let ({above}, {below}) = parted::<_, _>(&{});\n", values[last].0);
            values[last].2 = true;
            last = values.len();
            values.extend([(above, Size::Full, false), (below, Size::Full, false)]);
        }
        let (operation, size, used) = operation(rng, &values, whole);
        used.iter().for_each(|&used| values[used].2 = true);
        let value = format!("v{}", values.len());
        text += &format!("        let {value} = {operation};\n");
        if size == Size::Full {
            last = values.len();
        }
        values.push((value, size, false));
    }
    let mut result = values[last].0.clone();
    for (number, (value, _, used)) in values.iter().enumerate() {
        if number != last && !used {
            text += &format!("        let s{number} = &{result} + &{value};\n");
            result = format!("s{number}");
        }
    }
    let columns = if whole && once_in(rng, 4) { other_columns(rng, &mut result, columns) } else { columns };
    Body { text, result, columns }
}

/// An operation on some of the values, with its size, and the indexes of those values.
fn operation(rng: &mut Rng, values: &[(String, Size, bool)], whole: bool) -> (String, Size, Vec<usize>) {
    let full: Vec<usize> = (0..values.len()).filter(|&at| values[at].1 == Size::Full).collect();
    let at = one_of(rng, &full);
    let value = &values[at].0;
    let on_value = |operation: &str| operation.replace("&v", &format!("&{value}")).replace("v.", &format!("{value}."));
    match rng.usize(..if whole { 12 } else { 8 }) {
        0..3 => (on_value(one_of(rng, &UNARY)), Size::Full, vec![at]),
        3..5 => {
            let other = rng.usize(..values.len());
            let with = format!("&{}", values[other].0);
            let operation = on_value(one_of(rng, &BINARY));
            let operation = operation.replace("w.abs()", &format!("{}.abs()", values[other].0));
            (
                operation.replace("(w)", &format!("({with})")).replace(" w", &format!(" {with}")),
                Size::Full,
                vec![at, other],
            )
        }
        5 => (on_value(one_of(rng, &NUMBERS)), Size::Full, vec![at]),
        6 => {
            let [mask, other] = [0, 1].map(|_| rng.usize(..full.len()));
            let (mask, other) = (full[mask], full[other]);
            let text = format!("{}.greater(0.0).select(&{value}, &{})", values[mask].0, values[other].0);
            (text, Size::Full, vec![at, mask, other])
        }
        7 => {
            let other = rng.usize(..values.len());
            let text = format!("{value}.less_equal(&{}).select(0.5, &{value})", values[other].0);
            (text, Size::Full, vec![at, other])
        }
        8..10 => (on_value(one_of(rng, &REDUCED)), Size::Column, vec![at]),
        _ => (on_value(one_of(rng, &ROWS)), Size::Full, vec![at]),
    }
}

/// Changes the number of columns of a result, and returns the new number.
fn other_columns(rng: &mut Rng, result: &mut String, columns: usize) -> usize {
    let whole = result.clone();
    match rng.usize(..4) {
        0 if columns % 2 == 0 => {
            *result = format!("{whole}.even_columns::<{}>()", columns / 2);
            columns / 2
        }
        1 => {
            let kept = 1 + rng.usize(..columns);
            *result = format!("{whole}.columns::<{kept}>({})", rng.usize(..=columns - kept));
            kept
        }
        2 if columns <= 48 => {
            *result = format!("{whole}.concat::<{}>(&{whole}.relu())", 2 * columns);
            2 * columns
        }
        3 => {
            let kept = 1 + rng.usize(..columns.min(4));
            *result = format!("{whole}.pick(&{whole}.top_k::<{kept}>())");
            kept
        }
        _ => columns,
    }
}

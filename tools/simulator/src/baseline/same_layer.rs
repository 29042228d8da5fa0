//! Checks whether a kernel computes the layer that the original system implements.

use super::serial::{RowClass, SerialProduct, operators};
use super::{Direction, OperatorProduct, ProductExtent, SerialOperator, SerialWork, Way};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::graph::{Phase, SpaceKind, Task, TaskGraph};
use hpmoe_kernels::op::{ElementType, TaskKind};
use std::fmt;

/// The pass and the sizes of the original's layer that a kernel's task graph computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SameLayer {
    /// The pass that the kernel computes.
    pub direction: Direction,
    /// Columns per token.
    pub hidden: u32,
    /// Columns of an expert's activation.
    pub intermediate: u32,
}

/// The reason why a kernel's task graph is not the original's layer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignLayer(String);

impl fmt::Display for ForeignLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the original implements one layer: dispatch, gate and up projection, SwiGLU, down projection and combine in bf16, or its \
             backward pass; here {}",
            self.0
        )
    }
}

impl std::error::Error for ForeignLayer {}

/// Compares the operators of a task graph with those of the original. Names of constants don't matter.
///
/// # Errors
///
/// If the kernel computes another layer: the first difference that was found.
pub fn same_layer(checked: &CheckedGraph) -> Result<SameLayer, ForeignLayer> {
    let operators = operators(checked);
    let is_gradient =
        |operator: &SerialOperator| matches!(operator.work, SerialWork::Product(product) if product.is_gradient());
    if operators.iter().any(is_gradient) { backward(&operators) } else { forward(checked.graph(), &operators) }
}

/// The error for a kernel that is not the original's layer; `difference` says why.
fn foreign<T>(difference: impl Into<String>) -> Result<T, ForeignLayer> {
    Err(ForeignLayer(difference.into()))
}

/// The operators of a layer by kind, without routing tables and permutations, which separate kernels do before or after the layer.
struct Sorted<'a> {
    out: Vec<(&'a SerialOperator, Way, u64)>,
    back: Vec<(&'a SerialOperator, u64)>,
    products: Vec<(&'a SerialOperator, &'a SerialProduct)>,
    activations: Vec<&'a SerialOperator>,
    sums: Vec<&'a SerialOperator>,
}

impl<'a> Sorted<'a> {
    fn new(operators: &'a [SerialOperator]) -> Result<Self, ForeignLayer> {
        let (out, back, products) = (Vec::new(), Vec::new(), Vec::new());
        let mut sorted = Self { out, back, products, activations: Vec::new(), sums: Vec::new() };
        for operator in operators {
            match &operator.work {
                SerialWork::Tables | SerialWork::Vector { rows: RowClass::Sent | RowClass::SentOnce, .. } => {}
                SerialWork::Collective { way: Way::Back, row } => sorted.back.push((operator, *row)),
                SerialWork::Collective { way, row } => sorted.out.push((operator, *way, *row)),
                SerialWork::Product(product) if !product.by_expert => {
                    return foreign(format!("`{}` is a product without experts", operator.name));
                }
                SerialWork::Product(product) if !is_bf16(product) => {
                    return foreign(format!("`{}` multiplies {}", operator.name, product.operands));
                }
                SerialWork::Product(product) => sorted.products.push((operator, product)),
                SerialWork::Vector { rows: RowClass::Received, .. } => sorted.activations.push(operator),
                // After the results are back: the sum over k.
                SerialWork::Vector { rows: RowClass::Tokens, .. } if !sorted.back.is_empty() => {
                    sorted.sums.push(operator)
                }
                SerialWork::Vector { .. } => return foreign(format!("`{}` is one more operator", operator.name)),
            }
        }
        if sorted.products.is_empty() {
            return foreign("there is no product");
        }
        if let Some((operator, ..)) = sorted.out.iter().find(|(_, way, _)| *way == Way::OutOnce) {
            return foreign(format!("`{}` sends each token once to a rank", operator.name));
        }
        let [one, many] = [
            ["exchange of rows", "way back of rows", "elementwise operator on received rows", "sum over k"],
            ["exchanges of rows", "ways back of rows", "elementwise operators on received rows", "sums over k"],
        ];
        let found = [sorted.out.len(), sorted.back.len(), sorted.activations.len(), sorted.sums.len()];
        for ((found, one), many) in found.into_iter().zip(one).zip(many) {
            match found {
                0 => return foreign(format!("there is no {one}")),
                1 => {}
                _ => return foreign(format!("there are {found} {many} instead of one")),
            }
        }
        Ok(sorted)
    }

    fn names(&self) -> String {
        self.products.iter().map(|(operator, _)| format!("`{}`", operator.name)).collect::<Vec<_>>().join(", ")
    }
}

fn is_bf16(product: &SerialProduct) -> bool {
    product.operands == ElementType::bf16
}

/// The extents of a product over the rows of an expert, as (columns, terms); `None` if it is another product.
fn of_rows(product: &SerialProduct) -> Option<(u32, u32)> {
    match product.extents {
        OperatorProduct { m: ProductExtent::Rows, n: ProductExtent::Fixed(n), k: ProductExtent::Fixed(k) } => {
            Some((n, k))
        }
        _ => None,
    }
}

fn forward(graph: &TaskGraph, operators: &[SerialOperator]) -> Result<SameLayer, ForeignLayer> {
    let sorted = Sorted::new(operators)?;
    let extents: Vec<_> = sorted.products.iter().map(|(_, product)| of_rows(product)).collect();
    let (hidden, intermediate) = match extents[..] {
        [Some((both, hidden)), Some((n, intermediate))] if both == 2 * intermediate && n == hidden => {
            (hidden, intermediate)
        }
        _ => {
            return foreign(format!(
                "products are {}: not a gate and an up projection of one width as one, and a down projection",
                sorted.names()
            ));
        }
    };
    let row = 2 * u64::from(hidden);
    let ways = [(sorted.out[0].0, sorted.out[0].2), sorted.back[0]];
    if let Some((operator, sent)) = ways.into_iter().find(|&(_, sent)| sent != row) {
        return foreign(format!("`{}` sends {sent} bytes for a row of {hidden} columns", operator.name));
    }
    let activation = sorted.activations[0];
    let SerialWork::Vector { read, written, .. } = activation.work else { return foreign("there is no activation") };
    let inter = u64::from(intermediate);
    if (read.row, written.row, read.expert + read.rank) != (4 * inter, 2 * inter, 0) {
        return foreign(format!("`{}` reads or writes more than gate, up and the activation", activation.name));
    }
    let operations: Vec<String> =
        on_received(graph).flat_map(|task| &task.body.steps).map(|step| step.operation.name()).collect();
    if let Some(other) = operations.iter().find(|name| !SWIGLU.contains(&name.as_str())) {
        return foreign(format!("`{}` computes `{other}`, which is not part of SwiGLU", activation.name));
    }
    let sigmoids = operations.iter().filter(|name| ["silu", "sigmoid"].contains(&name.as_str())).count();
    if sigmoids != 1 {
        return foreign(format!("`{}` computes {sigmoids} sigmoids, and SwiGLU has one", activation.name));
    }
    Ok(SameLayer { direction: Direction::Forward, hidden, intermediate })
}

/// The vector tasks that work on received rows: the activation. (Sums over k and puts can't differ.)
fn on_received(graph: &TaskGraph) -> impl Iterator<Item = &Task> {
    let received = |phase: &&Phase| {
        matches!(
            graph.spaces[phase.space].kind,
            SpaceKind::RowTiles | SpaceKind::OnceTiles | SpaceKind::Experts | SpaceKind::Arrivals
        )
    };
    let tasks = graph.phases.iter().map(|(_, phase)| phase).filter(received).map(|phase| &graph.tasks[phase.task]);
    tasks.filter(|task| task.kind == TaskKind::Vector)
}

/// The operations that `silu(gate) * up` may consist of.
const SWIGLU: [&str; 6] = ["load", "silu", "sigmoid", "*", "cast", "store"];

/// Maximum bytes of a put per byte of a row. The router's weights, and parts of their gradients, may be sent with the rows.
const ALONG: u64 = 2;

fn backward(operators: &[SerialOperator]) -> Result<SameLayer, ForeignLayer> {
    let sorted = Sorted::new(operators)?;
    let rows: Vec<_> = sorted.products.iter().filter_map(|(_, product)| of_rows(product)).collect();
    let (hidden, intermediate) = match rows[..] {
        [(inter, hidden), (n, both)] if both == 2 * inter && n == hidden => (hidden, inter),
        _ => {
            return foreign(format!(
                "products are {}: not the gradients of the activation, of the rows and of three weights",
                sorted.names()
            ));
        }
    };
    // Either way round: a gradient and its transpose cost the same.
    let gradients = sorted.products.iter().filter_map(|(_, product)| match product.extents {
        OperatorProduct { m: ProductExtent::Fixed(m), n: ProductExtent::Fixed(n), k: ProductExtent::Rows } => {
            Some((m.min(n), m.max(n)))
        }
        _ => None,
    });
    let mut gradients: Vec<_> = gradients.collect();
    let pair = |one: u32, two: u32| (one.min(two), one.max(two));
    let mut expected = vec![pair(hidden, intermediate), pair(hidden, 2 * intermediate)];
    gradients.sort_unstable();
    expected.sort_unstable();
    if gradients != expected || sorted.products.len() != 4 {
        return foreign(format!("products are {}: not the gradients of three weights", sorted.names()));
    }
    let row = 2 * u64::from(hidden);
    let ways = [(sorted.out[0].0, sorted.out[0].2), sorted.back[0]];
    if let Some((operator, sent)) = ways.into_iter().find(|&(_, sent)| sent < row || sent >= ALONG * row) {
        return foreign(format!("`{}` sends {sent} bytes for a row of {hidden} columns", operator.name));
    }
    Ok(SameLayer { direction: Direction::Backward, hidden, intermediate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hpmoe_core::fixture::{self, Layer, moe_backward, moe_ffn};

    const LAYER: Layer = Layer { hidden: 2048, inter: 768, experts: 8, top_k: 2, tokens: 256, ..Layer::DEEPSEEK };

    #[test]
    fn the_plain_layer_is_the_original_s_in_both_passes() {
        let of = |direction| Ok(SameLayer { direction, hidden: 2048, intermediate: 768 });
        assert_eq!(same_layer(&moe_ffn(&LAYER)), of(Direction::Forward));
        assert_eq!(same_layer(&moe_backward(&LAYER)), of(Direction::Backward));
        assert_eq!(same_layer(&fixture::routed(&LAYER)), of(Direction::Forward));
    }

    #[test]
    fn other_layers_say_what_is_other() {
        let said = |checked: &CheckedGraph| same_layer(checked).unwrap_err().to_string();
        let router = said(&fixture::router(&LAYER));
        assert!(router.contains("`square` is one more operator"), "{router}");
        let once = said(&fixture::once(&LAYER));
        assert!(once.contains("sends each token once"), "{once}");
        let widened = said(&fixture::widened(&LAYER));
        assert!(widened.contains("is one more operator"), "{widened}");
        let again = said(&fixture::activated_again(&LAYER, true));
        assert!(again.contains("`swiglu + again` computes 2 sigmoids"), "{again}");
    }
}

//! Products: blocks of the contraction in L1, steps of it in L0, rows of the result in L0C.

use super::OnChipMemory;
use super::limits::{L0, L0_STAGE, L0C, L1, L1_LINES, L1_STAGE, LOAD_REPEATS};
use crate::finding::{Content, Overflow, Piece};
use crate::graph::Task;
use crate::units::Bytes;
use hpmoe_kernels::op::{Contracted, Device, ElementType};

/// A plan of how a task on matrix cores uses L1, L0A, L0B and L0C.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CubePlan {
    /// The sums of products that the task writes, in the order of the body.
    pub products: Vec<Product>,
}

/// One product of two tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// The left operand: the number of its parameter, and the dimension that the product sums over. The other dimension is that of the
    /// result's rows.
    pub x: (usize, Contracted),
    /// The right operand: the number of its parameter, and the dimension that the product sums over. The other dimension is that of the
    /// result's columns.
    pub w: (usize, Contracted),
}

/// A sum of products, written to a tile or added to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Product {
    /// The products, in the order of the sum.
    pub terms: Vec<Term>,
    /// The widest element type of the tiles that are multiplied.
    pub element: ElementType,
    /// Number of the parameter that is written.
    pub y: usize,
    /// Whether the sum is added to `y`. Otherwise, it replaces the contents.
    pub onto: bool,
    /// Whether negative sums become 0 as they are stored from L0C.
    pub relu: bool,
    /// Rows that are accumulated in L0C at a time; a multiple of 16.
    pub rows: u32,
    /// The maximum number of columns of the result, rounded up to a multiple of 16.
    pub cols: u32,
    /// Length of the contraction in one L1 stage, in elements; a multiple of a fractal's length.
    pub k_block: u32,
    /// Length of the contraction in one L0 stage, in elements; a multiple of a fractal's length.
    pub k_step: u32,
}

/// Bytes of one sum of products, in f32 or i32.
const SUM: u64 = ElementType::f32.bytes() as u64;
/// Bytes that a fractal of the cube has along the contraction.
pub const FRACTAL_DEPTH: u64 = 32;
/// Bytes of a row of a block: shorter rows waste bandwidth.
const GOOD_BLOCK: u64 = 512;

impl CubePlan {
    pub(super) fn used(&self) -> Vec<(OnChipMemory, Bytes, Bytes)> {
        let most = |bytes: fn(&Product) -> Bytes| self.products.iter().map(bytes).max().unwrap_or_default();
        vec![
            (OnChipMemory::L1, most(|p| p.l1_stage() * 2) + L1_LINES, L1),
            (OnChipMemory::L0A, most(|p| Bytes(u64::from(p.rows) * u64::from(p.k_step) * p.bytes() * 2)), L0),
            (OnChipMemory::L0B, most(|p| Bytes(u64::from(p.cols) * u64::from(p.k_step) * p.bytes() * 2)), L0),
            (OnChipMemory::L0C, most(|p| Bytes(u64::from(p.rows) * u64::from(p.cols) * SUM)), L0C),
        ]
    }
}

impl Product {
    fn l1_stage(&self) -> Bytes {
        Bytes((u64::from(self.rows) + u64::from(self.cols)) * u64::from(self.k_block) * self.bytes())
    }

    /// Length of the contraction in one L1 stage, in elements, if the right operand is loaded before the left operand: the largest multiple
    /// of `k_step` with which one stage holds both operands for a result of `rows` rows and `cols` columns.
    #[must_use]
    pub fn ahead_block(&self, rows: u32, cols: u32, element: ElementType) -> u32 {
        let across = u64::from(rows.min(self.rows).next_multiple_of(16) + cols.next_multiple_of(16));
        (L1_STAGE.0 / (across * element.bytes() as u64)) as u32 / self.k_step * self.k_step
    }

    /// Bytes of one element of the multiplied tiles, in their widest type.
    fn bytes(&self) -> u64 {
        self.element.bytes() as u64
    }
}

pub(super) fn cube(task: &Task) -> Result<CubePlan, Overflow> {
    let written = task.body.steps.iter().filter_map(|step| match step.operation.device {
        Device::Store => Some((step, false)),
        Device::Accumulate => Some((step, true)),
        _ => None,
    });
    let products = written.map(|(step, onto)| {
        let (y, value) = (step.operands[0].0 as usize, step.operands[1].0 as usize);
        let made = &task.body.steps[value - task.params.len()];
        let relu = matches!(made.operation.device, Device::Vector { .. });
        let sum = if relu { made.operands[0].0 as usize } else { value };
        Ok(Product { relu, ..block(task, terms(task, sum), y, onto)? })
    });
    Ok(CubePlan { products: products.collect::<Result<_, _>>()? })
}

/// The products whose sum is this value, in order.
fn terms(task: &Task, value: usize) -> Vec<Term> {
    let product = &task.body.steps[value - task.params.len()];
    let Device::Matmul { x, w, adds } = product.operation.device else { unreachable!("a sum consists of products") };
    let operand = |place: usize| product.operands[place].0 as usize;
    let mut sum = if adds { terms(task, operand(0)) } else { Vec::new() };
    let first = usize::from(adds);
    sum.push(Term { x: (operand(first), x), w: (operand(first + 1), w) });
    sum
}

/// The sizes of a tile along the contraction and across it.
fn extents(task: &Task, (param, way): (usize, Contracted)) -> (u64, u64) {
    let shape = task.params[param].shape;
    let (rows, cols) = (shape.rows as u64, shape.cols as u64);
    match way {
        Contracted::Columns => (cols, rows),
        Contracted::Rows => (rows, cols),
    }
}

/// Chooses the sizes of a product. Memory grows linearly with each of rows, columns and depth, so each size is the largest for which the
/// others leave room.
fn block(task: &Task, terms: Vec<Term>, y: usize, onto: bool) -> Result<Product, Overflow> {
    let first = terms[0];
    let elements = || terms.iter().map(|term| task.params[term.x.0].shape.element);
    let element = elements().max_by_key(|element| element.bytes()).expect("a sum has at least one product");
    let bytes = element.bytes() as u64;
    // The length that holds whole fractals of every type: a fractal has more elements of a narrower type.
    let depth =
        elements().map(|element| FRACTAL_DEPTH / element.bytes() as u64).max().expect("a sum has at least one product");
    let least_step = depth * bytes;
    let (m, n) = (extents(task, first.x).1.next_multiple_of(16), extents(task, first.w).1.next_multiple_of(16));
    let k = terms.iter().map(|term| extents(task, term.x).0).max().unwrap_or(0).next_multiple_of(depth);
    fits(task, first, (OnChipMemory::L0C, L0C), Content::Accumulator { columns: n }, Bytes(16 * n * SUM))?;
    fits(task, first, (OnChipMemory::L0B, L0_STAGE), Content::Weights { rows: n }, Bytes(n * least_step))?;
    let rows = panel_rows(m, n).min(floor(L0_STAGE.0 / least_step, 16));
    let step_limit = (L0_STAGE.0 / (rows.max(n) * bytes)).min(LOAD_REPEATS / (n / 16) * FRACTAL_DEPTH / bytes);
    let block_limit = floor(L1_STAGE.0 / ((rows + n) * bytes), depth);
    let good_block = GOOD_BLOCK / bytes;
    let k_block = if k <= block_limit.min(good_block) {
        k
    } else if block_limit >= good_block {
        good_block
    } else {
        power_of_two_below(block_limit)
    };
    let k_step = if k_block <= step_limit { k_block } else { power_of_two_below(step_limit) };
    let [rows, cols, k_block, k_step] = [rows, n, k_block, k_step].map(|size| size as u32);
    Ok(Product { terms, element, y, onto, relu: false, rows, cols, k_block, k_step })
}

/// The number of rows that are accumulated in L0C at a time, for a result of `m` rows of `n` columns. `m`, `n` and the returned number are
/// multiples of 16.
pub fn panel_rows(m: u64, n: u64) -> u64 {
    m.min(floor(L0C.0 / (n * SUM), 16)).min(L0_STAGE.0 / FRACTAL_DEPTH)
}

fn floor(value: u64, to: u64) -> u64 {
    value / to * to
}

fn power_of_two_below(limit: u64) -> u64 {
    1 << limit.ilog2()
}

fn fits(
    task: &Task,
    term: Term,
    (memory, capacity): (OnChipMemory, Bytes),
    content: Content,
    needed: Bytes,
) -> Result<(), Overflow> {
    if needed <= capacity {
        return Ok(());
    }
    let (weights, columns) = (task.params[term.w.0].name.clone(), extents(task, term.w).1);
    let piece = Piece::Product { columns, weights };
    Err(Overflow { memory, capacity, needed, piece, contents: vec![(content, needed)] })
}

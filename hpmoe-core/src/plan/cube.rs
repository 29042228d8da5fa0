//! Products: blocks of the contraction in L1, steps of it in L0, rows of the result in L0C.

use super::limits::{L0, L0_STAGE, L0C, L1, L1_LINES, L1_STAGE, LOAD_REPEATS};
use super::{Memory, Overflow, by_size};
use crate::graph::Task;
use crate::units::Bytes;
use hpmoe_kernels::op::{Device, ElementType};

/// How a task on matrix cores uses its memories.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CubePlan {
    /// The products that it stores, in order.
    pub products: Vec<Product>,
}

/// One product `y = x · wᵀ`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    /// Parameter that holds the rows.
    pub x: usize,
    /// Parameter that holds the weights.
    pub w: usize,
    /// Parameter that is written.
    pub y: usize,
    /// Rows that are accumulated in L0C at a time; a multiple of 16.
    pub rows: u32,
    /// Most columns, rounded up to 16.
    pub cols: u32,
    /// Contraction of one L1 stage; a multiple of 16.
    pub k_block: u32,
    /// Contraction of one L0 stage; a multiple of 16.
    pub k_step: u32,
}

const BF16: u64 = ElementType::bf16.bytes() as u64;
const F32: u64 = ElementType::f32.bytes() as u64;
/// Elements of 512 bytes: a shorter row of a block wastes bandwidth.
const GOOD_BLOCK: u64 = 256;

impl CubePlan {
    pub(super) fn used(&self) -> Vec<(Memory, Bytes, Bytes)> {
        let most = |of: fn(&Product) -> Bytes| self.products.iter().map(of).max().unwrap_or_default();
        vec![
            (Memory::L1, most(|p| p.l1_stage() * 2) + L1_LINES, L1),
            (Memory::L0A, most(|p| Bytes(u64::from(p.rows) * u64::from(p.k_step) * BF16 * 2)), L0),
            (Memory::L0B, most(|p| Bytes(u64::from(p.cols) * u64::from(p.k_step) * BF16 * 2)), L0),
            (Memory::L0C, most(|p| Bytes(u64::from(p.rows) * u64::from(p.cols) * F32)), L0C),
        ]
    }
}

impl Product {
    fn l1_stage(&self) -> Bytes {
        Bytes((u64::from(self.rows) + u64::from(self.cols)) * u64::from(self.k_block) * BF16)
    }
}

pub(super) fn cube(task: &Task) -> Result<CubePlan, Overflow> {
    let params = task.params.len();
    let products = task.body.steps.iter().filter(|step| matches!(step.operation.device, Device::Store)).map(|store| {
        let (y, value) = (store.operands[0].0 as usize, store.operands[1].0 as usize);
        let product = &task.body.steps[value - params];
        let (x, w) = (product.operands[0].0 as usize, product.operands[1].0 as usize);
        block(task, x, w, y)
    });
    Ok(CubePlan { products: products.collect::<Result<_, _>>()? })
}

/// Everything is linear in rows, columns and depth, so each size is as large as the others leave room for.
fn block(task: &Task, x: usize, w: usize, y: usize) -> Result<Product, Overflow> {
    let [m, n, k] = [task.params[x].shape.rows, task.params[w].shape.rows, task.params[x].shape.cols]
        .map(|extent| (extent as u64).next_multiple_of(16));
    fits(task, w, Memory::L0C, L0C, 16 * n * F32, &format!("an accumulator of 16 x {n} f32"))?;
    fits(
        task,
        w,
        Memory::L0B,
        L0_STAGE,
        n * 16 * BF16,
        &format!("16 columns of {n} rows, in one of two halves of L0B"),
    )?;
    let rows = m.min(floor(L0C.0 / (n * F32), 16)).min(L0_STAGE.0 / (16 * BF16));
    let step_limit = (L0_STAGE.0 / (rows.max(n) * BF16)).min(LOAD_REPEATS / (n / 16) * 16);
    let block_limit = floor(L1_STAGE.0 / ((rows + n) * BF16), 16);
    let k_block = if k <= block_limit.min(GOOD_BLOCK) {
        k
    } else if block_limit >= GOOD_BLOCK {
        GOOD_BLOCK
    } else {
        power_of_two_below(block_limit)
    };
    let k_step = if k_block <= step_limit { k_block } else { power_of_two_below(step_limit) };
    Ok(Product { x, w, y, rows: rows as u32, cols: n as u32, k_block: k_block as u32, k_step: k_step as u32 })
}

fn floor(value: u64, to: u64) -> u64 {
    value / to * to
}

fn power_of_two_below(limit: u64) -> u64 {
    1 << limit.ilog2()
}

fn fits(task: &Task, w: usize, memory: Memory, capacity: Bytes, needed: u64, what: &str) -> Result<(), Overflow> {
    let needed = Bytes(needed);
    if needed <= capacity {
        return Ok(());
    }
    let weights = &task.params[w];
    Err(Overflow {
        memory,
        capacity,
        needed,
        piece: format!("16 rows x all {} columns, with 16 columns of the contraction", weights.shape.rows),
        contributors: by_size(vec![(what.to_owned(), needed)]),
        help: format!("declare `{}` and the result with fewer columns: at most 1024", weights.name),
    })
}

//! The work of a task, as numbers that the cost model understands.

use crate::plan::{FRACTAL_DEPTH, panel_rows};
use crate::time::Time;
use hpmoe_kernels::op::ElementType;

/// Rows and columns of a fractal of the cube: rows and columns of a product are padded to multiples of it.
const FRACTAL: u32 = 16;

/// The share of the cube's peak that a product achieves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Efficiency {
    /// Inside a fused kernel: `fitted.gemm_fused_efficiency`.
    Fused,
    /// In a separate operator: `fitted.gemm_operator_efficiency`.
    Operator,
    /// f32 products: `fitted.gemm_fused_efficiency` of a quarter of the peak.
    Single,
    /// i8 products: `cube.int8_efficiency` of the int8 peak.
    Int8,
}

/// The work of a task. Only the cost model turns it into time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Work {
    /// No work: the task only waits and signals.
    #[default]
    Empty,
    /// A tile on a matrix core: the sum of `products` products, each of an `m`×`k` left panel and a `k`×`n` right panel.
    Gemm {
        /// Rows of the left panel and of the result.
        m: u32,
        /// Columns of the right panel and of the result.
        n: u32,
        /// Terms of each sum.
        k: u32,
        /// Element type of both operands: bf16, f16, f32 or i8.
        operands: ElementType,
        /// Number of products that are added up.
        products: u32,
        /// Number of tiles that one read of the left panel from HBM serves, through L2; values below 1 count as 1.
        left_reuse: f32,
        /// Number of tiles that one read of the right panel from HBM serves, through L2; values below 1 count as 1.
        right_reuse: f32,
        /// How the result is written to memory.
        out: Written,
    },
    /// Work given by its totals: a core's share of a larger product, a tile after read-ahead, or work with a declared time.
    Share(Products),
    /// Elementwise work on a vector core, by the bytes that it moves.
    Vector {
        /// Bytes read from global memory.
        read: u64,
        /// Bytes written to global memory.
        written: u64,
    },
    /// A put by a vector core. If it goes to another rank, a fence follows before the signals; puts that are joined have one together.
    Put {
        /// The rank that receives the rows; may be the rank that puts.
        to: u32,
        /// Number of bytes.
        bytes: u64,
    },
    /// Work of a known duration that uses no shared resource: a launch, a barrier, an operator that is modelled elsewhere.
    Fixed {
        /// The time that the work takes on its core.
        time: Time,
    },
}

/// How the result of a product is written to memory: bytes per element, whether it is added, and in how many parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// Bytes per element.
    pub element: u32,
    /// Whether the result is added to the contents of memory, which are then read as well as written.
    pub adds: bool,
    /// Number of parts that the terms of each sum are divided into. The core writes the result to memory after each part; only the last
    /// write reaches HBM.
    pub parts: u32,
}

impl Written {
    /// A result in bf16 that overwrites memory.
    pub const BF16: Self = Self::once(2, false);

    /// A result of `element` bytes per element that is written once, after all terms.
    #[must_use]
    pub const fn once(element: u32, adds: bool) -> Self {
        Self { element, adds, parts: 1 }
    }
}

/// Totals over the products of one core, from which the cost of these products is computed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Products {
    /// Floating-point operations, without padding.
    pub flops: f64,
    /// Floating-point operations of the cube, with rows and columns padded to multiples of 16, and terms to multiples of 32
    /// bytes.
    pub padded: f64,
    /// Bytes of operands that the core reads, either from L2 or from HBM through L2.
    pub l2: f64,
    /// Bytes that the core reads from HBM: operands that L2 doesn't hold, and the old contents of memory that results are added to.
    pub hbm_read: f64,
    /// Bytes of results. All of them are written to HBM.
    pub written: f64,
    /// Bytes that the core writes: the results, once for each part of the terms.
    pub stored: f64,
    /// The share of the cube's peak that the products reach.
    pub efficiency: Efficiency,
}

impl Products {
    /// The totals of no products: all are 0.
    pub const NONE: Self = Self {
        flops: 0.0,
        padded: 0.0,
        l2: 0.0,
        hbm_read: 0.0,
        written: 0.0,
        stored: 0.0,
        efficiency: Efficiency::Fused,
    };
}

impl Work {
    /// Floating-point operations of the work's products, without padding.
    #[must_use]
    pub fn flops(&self) -> f64 {
        self.products().map_or(0.0, |products| products.flops)
    }

    /// Bytes that the work reads, writes and sends, whether L2 or HBM serves them. Bytes of a put count once.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        match *self {
            Self::Gemm { k: 0, out: Written { adds: true, .. }, .. } => 0.0,
            Self::Gemm { m, n, k, operands, products, out, .. } => {
                let [m, n, k] = [m, n, k].map(f64::from);
                operands.bytes() as f64 * (m * k + n * k) * f64::from(products) + m * n * out.moved()
            }
            Self::Share(Products { l2, written, .. }) => l2 + written,
            Self::Vector { read, written } => read as f64 + written as f64,
            Self::Put { bytes, .. } => bytes as f64,
            Self::Empty | Self::Fixed { .. } => 0.0,
        }
    }

    /// The totals over the products of the work; `None` if the work has no products.
    #[must_use]
    pub fn products(&self) -> Option<Products> {
        match *self {
            // An expert without rows adds nothing to its gradient.
            Self::Gemm { k: 0, out: Written { adds: true, .. }, .. } => Some(Products::NONE),
            Self::Gemm { m, n, k, operands, products, left_reuse, right_reuse, out } => {
                let (count, bytes) = (f64::from(products), operands.bytes());
                let area = |a: u32, b: u32| f64::from(a) * f64::from(b);
                let (left, right) = (area(m, k) * bytes as f64 * count, area(n, k) * bytes as f64 * count);
                let [mp, np] = [m, n].map(|size| size.next_multiple_of(FRACTAL));
                // Each part of the terms is padded.
                let parts = out.parts.min(k).max(1);
                let kp = parts * k.div_ceil(parts).next_multiple_of(FRACTAL_DEPTH as u32 / bytes as u32);
                // Each panel of a tile that L0C can't hold reads the right operand again.
                let panel = panel_rows(u64::from(mp.max(FRACTAL)), u64::from(np.max(FRACTAL)));
                let added = if out.adds { area(m, n) * f64::from(out.element) } else { 0.0 };
                Some(Products {
                    flops: 2.0 * area(m, n) * f64::from(k) * count,
                    padded: 2.0 * area(mp, np) * f64::from(kp) * count,
                    l2: left + right * (f64::from(mp) / panel as f64).ceil(),
                    hbm_read: left / f64::from(left_reuse.max(1.0)) + right / f64::from(right_reuse.max(1.0)) + added,
                    written: area(m, n) * f64::from(out.element),
                    stored: area(m, n) * f64::from(out.element) * f64::from(parts),
                    efficiency: match operands {
                        ElementType::i8 => Efficiency::Int8,
                        ElementType::f32 => Efficiency::Single,
                        _ => Efficiency::Fused,
                    },
                })
            }
            Self::Share(products) => Some(products),
            _ => None,
        }
    }
}

impl Written {
    /// Bytes moved per element of the result: twice its size if memory is added to.
    fn moved(self) -> f64 {
        f64::from(self.element * if self.adds { 2 } else { 1 })
    }
}

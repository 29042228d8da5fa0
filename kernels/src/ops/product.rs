//! Common code of the products: checks of the contracted sizes, amount of work, and the order of sums.

use super::rules::{misshapen, mistyped};
use crate::op::{Contracted, ElementType, Misfit, OperandKind, Shape};
use crate::tensor::Accumulator;
use crate::{CubeElement, RAGGED, Tile};

/// An operand of a product, with the direction along which it is contracted.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    tile: &'a Shape,
    way: Contracted,
}

impl<'a> Side<'a> {
    /// A tile that is contracted along its columns.
    pub(super) const fn columns(tile: &'a Shape) -> Self {
        Self { tile, way: Contracted::Columns }
    }

    /// A tile that is contracted along its rows.
    pub(super) const fn rows(tile: &'a Shape) -> Self {
        Self { tile, way: Contracted::Rows }
    }

    /// The sizes of the tile, as (free, contracted).
    const fn split(self) -> (usize, usize) {
        match self.way {
            Contracted::Columns => (self.tile.rows, self.tile.cols),
            Contracted::Rows => (self.tile.cols, self.tile.rows),
        }
    }
}

const fn words(way: Contracted) -> &'static str {
    match way {
        Contracted::Columns => "columns",
        Contracted::Rows => "rows",
    }
}

/// Element types that the cube multiplies for tiles contracted along rows or columns: it can transpose only 16-bit elements. Sums are f32.
pub(super) const HALVES: &[ElementType] = &[ElementType::bf16, ElementType::f16];
/// Element types that the cube multiplies if both tiles are contracted along their columns. Sums are f32.
pub(super) const FLOATS: &[ElementType] = &[ElementType::bf16, ElementType::f16, ElementType::f32];

/// The shape of the product of two tiles, after a check that both have one of `types` and fit each other. `name` is the operation.
pub(super) fn fits(name: &str, types: &[ElementType], left: Side<'_>, right: Side<'_>) -> Result<Shape, Misfit> {
    let (x, w) = (left.tile, right.tile);
    for tile in [x, w] {
        if !types.contains(&tile.element) {
            let help = match tile.element {
                ElementType::i8 => "declare the tile as bf16; tiles of i8 are multiplied by `matmul_t`",
                ElementType::f32 => {
                    "declare the tile as bf16; tiles of f32 are multiplied by `matmul_t`, along the columns of both"
                }
                _ => "declare the tile as bf16",
            };
            return Err(mistyped(format!("`{name}` multiplies tiles of {}, but this is a {tile}", list(types)), help));
        }
    }
    if x.element != w.element {
        return Err(mistyped(
            format!("`{name}` multiplies tiles of the same type, but these are {x} and {w}"),
            "load one of them in an #[aiv_task], and store it in a tile of the other's type",
        ));
    }
    sizes(name, left, right)
}

/// Types as a list in a sentence.
fn list(types: &[ElementType]) -> String {
    let (last, others) = types.split_last().expect("a product takes at least one type");
    let others: Vec<&str> = others.iter().map(|other| other.name()).collect();
    format!("{} or {last}", others.join(", "))
}

/// The shape of the product of two tiles of the same type, after a check of their contracted sizes.
fn sizes(name: &str, x: Side<'_>, w: Side<'_>) -> Result<Shape, Misfit> {
    let ((m, k), (n, other)) = (x.split(), w.split());
    let tile_type = x.tile.element;
    if k != other {
        let (left, right) = (words(x.way), words(w.way));
        let tile = |free: usize, way| match way {
            Contracted::Columns => format!("Tile<{tile_type}, {free}, K>"),
            Contracted::Rows => format!("Tile<{tile_type}, K, {free}>"),
        };
        return Err(misshapen(
            format!(
                "`{name}` contracts {left} with {right}, but the left tile has {k} {left} and the right one {other}{}",
                if left == right { String::new() } else { format!(" {right}") }
            ),
            format!("it takes {} and {} with the same K", tile(m, x.way), tile(n, w.way)),
        ));
    }
    if m == RAGGED || n == RAGGED {
        return Err(misshapen(
            format!("`{name}` doesn't contract the ragged rows, so the size of its result is unknown"),
            "contract ragged rows with `t_matmul`, or multiply row tiles: `for m in route.row_tiles::<ROWS>(e)`",
        ));
    }
    let element = if tile_type == ElementType::i8 { ElementType::i32 } else { ElementType::f32 };
    Ok(Shape { kind: OperandKind::Value, element, rows: m, cols: n })
}

/// The shape of the sum of a value and a product, after a check that both have the same size.
pub(super) fn added(name: &str, value: &Shape, product: Shape) -> Result<Shape, Misfit> {
    if value.element == ElementType::i32 {
        return Err(mistyped(
            format!("`{name}` can't add to a product of i8 tiles"),
            "store the product in a tile of i32",
        ));
    }
    if (value.rows, value.cols) == (product.rows, product.cols) {
        return Ok(product);
    }
    Err(misshapen(
        format!(
            "`{name}` adds a product of {}x{} to a value of {}x{}",
            product.rows, product.cols, value.rows, value.cols
        ),
        "add a product of the value's size",
    ))
}

/// One operand of a product, widened, with its contracted elements one after another: `panel[k * free + i]`.
pub(super) struct Factor<S> {
    panel: Vec<S>,
    free: usize,
    depth: usize,
}

impl<S: Accumulator> Factor<S> {
    pub(super) fn new<T: CubeElement<Sum = S>, const R: usize, const C: usize>(
        tile: &Tile<'_, T, R, C>,
        way: Contracted,
    ) -> Self {
        let (rows, cols) = (tile.rows(), tile.width());
        let (free, depth) = match way {
            Contracted::Columns => (rows, cols),
            Contracted::Rows => (cols, rows),
        };
        let mut panel = vec![S::default(); free * depth];
        for row in 0..rows {
            for (col, cell) in tile.row(row).iter().enumerate() {
                let at = match way {
                    Contracted::Columns => col * free + row,
                    Contracted::Rows => row * free + col,
                };
                panel[at] = cell.get().widened();
            }
        }
        Self { panel, free, depth }
    }

    /// Number of the operand's rows or columns that are not contracted: the rows or columns of the result.
    pub(super) const fn free(&self) -> usize {
        self.free
    }

    /// The numbers of the product, row after row.
    #[inline]
    pub(super) fn times(&self, w: &Self, name: &str) -> Vec<S> {
        let mut sums = vec![S::default(); self.free * w.free];
        self.add_to(&mut sums, w, name);
        sums
    }

    /// Adds the numbers of the product to `sums`.
    #[inline]
    pub(super) fn add_to(&self, sums: &mut [S], w: &Self, name: &str) {
        assert_eq!(self.depth, w.depth, "`{name}` contracts the same number of elements on both sides, but there are");
        if !sums.is_empty() {
            S::add_product(sums, w.free, &self.panel, &w.panel);
        }
    }
}

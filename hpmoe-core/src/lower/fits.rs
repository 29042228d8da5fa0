//! Checks the arguments of a call: shapes and types, the order of iterations, and the targets of puts.

use super::arguments::LoweredArgument;
use super::calls::{Call, Lowering};
use super::indices::Index;
use super::loops::Nest;
use super::tails::Uneven;
use super::{order, outer, tails};
use crate::finding::{ArgumentFault, CallFault, Dimension, Finding};
use crate::graph::{Access, Columns, Rows};
use crate::ids::TaskId;
use hpmoe_kernels::op::TaskKind;

/// The maximum distance between rows, in elements, for a copy to a matrix core: the copy has 16 bits for it.
const MOST_STEP: u32 = 65_535;

impl Lowering<'_> {
    pub(super) fn check_arguments(
        &mut self,
        task: TaskId,
        call: &Call<'_>,
        nest: &Nest,
        places: &[LoweredArgument],
    ) -> Option<()> {
        let before = self.errors.len();
        let task = &self.graph.tasks[task];
        for ((param, place), argument) in task.params.iter().zip(places).zip(call.arguments) {
            let tensor = &self.graph.tensors[place.tensor];
            let mut differs = |fault: ArgumentFault| {
                let (task, param) = (task.name.clone(), param.name.clone());
                self.errors.push(argument.span, Finding::Argument { task, param, fault });
            };
            if tensor.element != param.shape.element {
                differs(ArgumentFault::ElementType { expected: param.shape.element, given: tensor.element });
            }
            let (rows, cols) = place.size(self.graph, nest);
            let (written, _) = place.inferable_size(self.graph, nest);
            if let Some(given) = [rows, written].into_iter().flatten().find(|rows| *rows != param.shape.rows) {
                differs(ArgumentFault::Rows { expected: param.shape.rows, given });
            }
            if let Some(given) = cols.filter(|cols| *cols != param.shape.cols) {
                differs(ArgumentFault::Columns { expected: param.shape.cols, given });
            }
            if argument.write != param.write {
                differs(ArgumentFault::Mutability { writes: param.write });
            }
            if argument.write && !tensor.writable {
                let finding = Finding::ReadOnly { tensor: tensor.name.clone(), declared: tensor.span.into() };
                self.errors.push(argument.span, finding);
            }
            if task.kind == TaskKind::Matrix && !param.write && tensor.pitch > MOST_STEP {
                let finding = Finding::LongRow { tensor: tensor.name.clone(), step: tensor.pitch, most: MOST_STEP };
                self.errors.push_once(argument.span, finding);
            }
            let columns = (place.cols, param.shape.cols, tensor.columns, Dimension::Columns);
            let matrix_rows = match place.rows {
                Rows::Expert { outer, .. } => (place.tile, param.shape.rows, outer.rows, Dimension::Rows),
                _ => (None, 1, 1, Dimension::Rows),
            };
            let inside = outer::is_inside(tensor.rows, place.rows);
            for (index, size, extent, along) in [columns, matrix_rows] {
                let last = match index {
                    None => continue,
                    Some(Index::Fixed(index)) => index,
                    Some(Index::Range(range, added)) => added.saturating_add(nest.ranges[range as usize].1 - 1),
                };
                let size = u32::try_from(size).unwrap_or(u32::MAX);
                if u64::from(last) * u64::from(size) >= u64::from(extent) {
                    let fixed = !matches!(index, Some(Index::Range(_, 0)));
                    let index = if fixed { last } else { extent.div_ceil(size) };
                    let (inside, tensor) = (along == Dimension::Rows && inside, tensor.name.clone());
                    self.errors
                        .push(argument.span, Finding::EmptyTile { tensor, index, size, extent, inside, along, fixed });
                }
            }
        }
        if self.errors.len() > before {
            return None;
        }
        let uneven = tails::uneven(self.graph, nest, task, places);
        if let Some(Uneven { operation, span, left, right }) = uneven {
            let task = task.name.clone();
            self.errors.push(call.span, Finding::Uneven { task, operation, at: span.into(), left, right });
            return None;
        }
        Some(())
    }

    /// Checks that every iteration of a call reads only what the same or an earlier iteration has written.
    pub(super) fn check_order(&mut self, task: TaskId, call: &Call<'_>, nest: &Nest, places: &[LoweredArgument]) {
        let params = &self.graph.tasks[task].params;
        for (param, place) in params.iter().zip(places).filter(|(param, _)| !param.write) {
            let read = (nest, place, (param.shape.rows, param.shape.cols));
            let Some((late, writer)) = order::still_written(&self.written, &self.loops, self.graph, read) else {
                continue;
            };
            let name = &self.graph.tensors[place.tensor].name;
            // Other calls of that loop have the same fault.
            let (tensor, variable) = (name.clone(), late.name.clone());
            self.errors.push_once(call.span, Finding::StillWritten { tensor, variable, writer: writer.into() });
        }
        for (param, place) in params.iter().zip(places).filter(|(param, _)| param.write) {
            self.written.push(order::written(
                &self.loops,
                nest,
                place,
                (param.shape.rows, param.shape.cols),
                call.span,
            ));
        }
    }

    /// Checks that a put moves whole rows in one of the directions that the device library has: gathered tokens or slots to received
    /// rows, once-sent rows to received rows, received rows to slots.
    pub(super) fn check_put(&mut self, call: &Call<'_>, accesses: &[Access]) -> Option<()> {
        let rows: Vec<(Rows, bool)> = accesses.iter().map(|access| (access.region.rows, access.remote)).collect();
        let whole = accesses.iter().all(|access| access.region.columns == Columns::All);
        let known = matches!(
            rows.as_slice(),
            [(Rows::Gather | Rows::Scatter, false), (Rows::Piece, true)]
                | [(Rows::Once, false), (Rows::Tile, false)]
                | [(Rows::Piece, false), (Rows::Scatter, true)]
        );
        if known && whole {
            return Some(());
        }
        self.errors.push(call.span, Finding::Call(CallFault::UnknownPut));
        None
    }
}

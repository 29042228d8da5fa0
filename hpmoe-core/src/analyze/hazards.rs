//! Hazards: every element that is read has been written before, by one writer.

use super::rectangle::Rectangle;
use crate::finding::{Errors, Finding};
use crate::graph::{Access, Columns, Height, Phase, RowKind, Rows, TaskGraph, Tensor};
use crate::ids::{PhaseId, TensorId};

/// Checks the accesses of every tensor. The origins that the compiler adds are not checked: each piece writes only those of its own
/// rows.
pub(super) fn hazards(graph: &TaskGraph, errors: &mut Errors) {
    for (id, tensor) in graph.tensors.iter() {
        if in_place(graph, id, tensor, errors) {
            continue;
        }
        one_writer_at_a_time(graph, id, tensor, errors);
        written_before_read(graph, id, tensor, errors);
    }
}

/// Accesses of one tensor, in program order.
pub(super) fn accesses(
    graph: &TaskGraph,
    tensor: TensorId,
    write: bool,
) -> impl Iterator<Item = (PhaseId, &Phase, &Access)> {
    let phases = graph.phases.iter();
    phases.flat_map(move |(id, phase)| phase.accesses_of(tensor, write).map(move |access| (id, phase, access)))
}

/// Refuses calls that read elements that they also write; returns whether it refused one.
fn in_place(graph: &TaskGraph, id: TensorId, tensor: &Tensor, errors: &mut Errors) -> bool {
    let before = errors.len();
    for (writer, phase, write) in accesses(graph, id, true) {
        let written = Rectangle::of(write, phase, tensor);
        let mut reads = accesses(graph, id, false).filter(|(reader, ..)| *reader == writer);
        if reads.any(|(.., read)| Rectangle::of(read, phase, tensor).meets(&written)) {
            errors.push(phase.span, Finding::InPlace { tensor: tensor.name.clone() });
        }
    }
    errors.len() > before
}

fn written_before_read(graph: &TaskGraph, id: TensorId, tensor: &Tensor, errors: &mut Errors) {
    if !tensor.writable {
        return;
    }
    let writers: Vec<_> = accesses(graph, id, true).collect();
    let kept = graph.route.as_ref().is_some_and(|route| route.keeps == Some(id));
    if tensor.storage.is_argument() && writers.is_empty() && !kept {
        errors.push(tensor.span, Finding::OutputUnwritten { tensor: tensor.name.clone() });
    }
    for (reader, phase, read) in accesses(graph, id, false) {
        let earlier: Vec<_> = writers.iter().filter(|(writer, ..)| *writer < reader).collect();
        if earlier.is_empty() {
            let finding = match writers.first() {
                Some((_, later, _)) => Finding::ReadTooEarly { tensor: tensor.name.clone(), writer: later.span.into() },
                None => Finding::NeverWritten { tensor: tensor.name.clone(), declared: tensor.span.into() },
            };
            errors.push(phase.span, finding);
            return;
        }
        let written: Vec<_> = earlier.iter().map(|(_, phase, access)| Rectangle::of(access, phase, tensor)).collect();
        if let Some((along, missing)) = Rectangle::of(read, phase, tensor).missing(&written) {
            let (tensor, writer) = (tensor.name.clone(), earlier[0].1.span.into());
            errors.push(phase.span, Finding::PartlyWritten { tensor, along, missing, writer });
            return;
        }
    }
}

fn one_writer_at_a_time(graph: &TaskGraph, id: TensorId, tensor: &Tensor, errors: &mut Errors) {
    let writers: Vec<_> = accesses(graph, id, true).collect();
    for (_, phase, access) in &writers {
        if let Some(finding) = repeated(graph, phase, access) {
            errors.push(phase.span, finding);
        }
    }
    for (index, (second, phase, access)) in writers.iter().enumerate() {
        let overlaps = |(_, earlier, other): &&(PhaseId, &Phase, &Access)| {
            Rectangle::of(access, phase, tensor).meets(&Rectangle::of(other, earlier, tensor))
        };
        if let Some((at, first, _)) = writers[..index].iter().find(overlaps) {
            let first = (at != second).then(|| first.span.into());
            let finding = Finding::TwoWriters { tensor: tensor.name.clone(), first };
            errors.push(phase.span, finding);
            return;
        }
        // A reader before the first writer is reported elsewhere.
        let is_written = |reader: PhaseId| writers.iter().any(|(writer, ..)| *writer < reader);
        let read_before = accesses(graph, id, false).find(|(reader, ..)| reader < second && is_written(*reader));
        if let Some((_, reader, _)) = read_before {
            errors
                .push(phase.span, Finding::WriteAfterRead { tensor: tensor.name.clone(), reader: reader.span.into() });
            return;
        }
    }
}

/// The fault of a call whose iterations write the same elements; `None` if each writes its own.
fn repeated(graph: &TaskGraph, phase: &Phase, access: &Access) -> Option<Finding> {
    let tensor = &graph.tensors[access.tensor];
    let chosen = |range: usize| {
        let by_columns = matches!(access.region.columns, Columns::Tile { range: Some(r), .. } if r as usize == range);
        let by_rows = matches!(access.region.rows, Rows::Expert { range: Some(r), .. } if r as usize == range);
        by_columns || by_rows
    };
    if let Some(range) = (0..phase.ranges.len()).find(|range| phase.ranges[*range] > 1 && !chosen(*range)) {
        return Some(Finding::WrittenByEach {
            tensor: tensor.name.clone(),
            variable: phase.range_names[range].clone(),
        });
    }
    let by_expert = matches!(tensor.rows, RowKind::Expert(_));
    let one_item = graph.spaces[phase.space].height == Height::WholeExpert;
    (by_expert && !one_item).then(|| Finding::WrittenByItems { tensor: tensor.name.clone() })
}

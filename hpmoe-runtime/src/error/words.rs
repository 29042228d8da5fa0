//! Fragments of messages.

use hpmoe_kernels::printable::printable;

use crate::backend::npu::NpuError;
use crate::bootstrap::rank_list;
use crate::report::StuckReport;

/// Each value with the ranks that have it: ``rank 0 has `a`, ranks 1, 2 have `b` ``
pub(super) fn each_value(values: &[(Vec<usize>, String)]) -> String {
    let value = |(ranks, value): &(Vec<usize>, String)| {
        let value = printable(value);
        format!("{} {} `{value}`", rank_list(ranks), if ranks.len() == 1 { "has" } else { "have" })
    };
    values.iter().map(value).collect::<Vec<_>>().join(", ")
}

/// Advice: how to need less memory for received rows.
pub(super) fn room(rows: Option<usize>) -> String {
    match rows {
        Some(rows) => format!("make room for what this route needs with Group::capacity_rows({rows})"),
        None => "make room for fewer rows with Group::capacity_rows".to_owned(),
    }
}

pub(super) fn of_chunks(most: Option<usize>) -> String {
    most.map_or_else(String::new, |most| format!(" in one of {most} chunks, the largest number of this kernel"))
}

pub(super) fn list(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

pub(super) fn at(source_line: &Option<String>) -> String {
    source_line.as_ref().map(|line| format!("\n  while the core was in {line}")).unwrap_or_default()
}

/// The error by which an NPU stopped, as an addition to the error that caused it; empty if there is none.
pub(super) fn of_npu(error: Option<&NpuError>) -> String {
    error.map(|error| format!("; because of that, the NPU of this rank stopped: {error}")).unwrap_or_default()
}

/// A report that starts on a new line; empty if there is none.
pub(super) fn lines(report: Option<&StuckReport>) -> String {
    report.map(|report| format!("\n{report}")).unwrap_or_default()
}

//! The routines of the device library that tasks of vector cores call, with the bytes of their code.

use super::cpp::{Function, Item, print};
use crate::collections::SortedSet;
use crate::units::Bytes;

/// A library routine, its size in bytes, and the routines that it calls. The size is measured in an AArch64 object: clang `-O2`, public headers
/// of CANN 9.1, each intrinsic compiled as a call.
struct Routine {
    name: &'static str,
    bytes: u64,
    calls: &'static [&'static str],
}

const fn routine(name: &'static str, bytes: u64) -> Routine {
    Routine { name, bytes, calls: &[] }
}

const fn calling(name: &'static str, bytes: u64, calls: &'static [&'static str]) -> Routine {
    Routine { name, bytes, calls }
}

/// All routines that generated code calls. The size of a routine includes the conversions that it needs.
const ROUTINES: &[Routine] = &[
    routine("AddRow", 320),
    routine("Choose", 864),
    routine("ClearEmpty", 188),
    routine("ColumnIds", 528),
    routine("Concat", 1_908),
    routine("CopyValues", 300),
    routine("Equal", 1_088),
    routine("EvenColumns", 280),
    calling("FoldRows", 808, &["CopyValues"]),
    routine("Greater", 1_088),
    routine("GreaterEqual", 1_088),
    routine("Interleave", 1_076),
    routine("Less", 1_088),
    routine("LessEqual", 1_088),
    calling("LookUpBytes", 920, &["CopyValues"]),
    calling("LookUpNibbles", 916, &["CopyValues"]),
    routine("NarrowBytes", 1_204),
    routine("NotEqual", 1_088),
    routine("OddColumns", 280),
    calling("Pick", 1_992, &["CopyValues"]),
    calling("PlaceNumbers", 2_044, &["CopyValues"]),
    routine("RepeatColumns", 916),
    calling("Reshape", 960, &["CopyValues"]),
    routine("RowMax", 548),
    routine("RowMean", 720),
    routine("RowMin", 548),
    routine("RowSum", 548),
    routine("ScaleColumns", 320),
    routine("ScaleRows", 252),
    routine("SpreadColumn", 228),
    routine("SpreadNumber", 172),
    routine("SpreadRow", 292),
    routine("TakeColumns", 776),
    calling("TopK", 2_244, &["RowMax", "RowMin", "ColumnIds", "SpreadColumn"]),
    routine("UnpackNibbles", 332),
    routine("WeightedSum", 1_008),
    routine("WidenBytes", 336),
];

/// Bytes of the routines that functions call, each routine once.
pub(super) fn bytes<'a>(functions: impl Iterator<Item = &'a Function>) -> Bytes {
    let mut used = SortedSet::default();
    for function in functions {
        let text = print(&[Item::Function(function.clone())]);
        let called = |routine: &&Routine| text.contains(&format!(" {}(", routine.name));
        ROUTINES.iter().filter(called).for_each(|routine| add(routine, &mut used));
    }
    Bytes(ROUTINES.iter().filter(|routine| used.contains(&routine.name)).map(|routine| routine.bytes).sum())
}

fn add(routine: &Routine, used: &mut SortedSet<&'static str>) {
    if used.insert(routine.name) {
        ROUTINES.iter().filter(|other| routine.calls.contains(&other.name)).for_each(|other| add(other, used));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::cpp::{Stmt, int};

    fn of(names: &[&str]) -> Bytes {
        let function = |name: &&str| Function {
            head: "HPMOE_INLINE void".to_owned(),
            name: "task".to_owned(),
            params: Vec::new(),
            body: vec![Stmt::call(*name, vec![int(1u64)])],
        };
        let functions: Vec<Function> = names.iter().map(function).collect();
        bytes(functions.iter())
    }

    #[test]
    fn each_routine_counts_once_with_those_that_it_calls() {
        assert_eq!(of(&["Add", "Less", "Less"]), Bytes(1_088));
        assert_eq!(of(&["FoldRows", "CopyValues"]), Bytes(808 + 300));
        assert_eq!(of(&["TopK"]), Bytes(2_244 + 2 * 548 + 528 + 228));
    }

    #[test]
    fn all_routines_of_tasks_are_known() {
        let folder = std::path::Path::new(hpmoe_kernels::INCLUDE_DIR).join("hpmoe");
        let headers = ["bytes.h", "columns.h", "compare.h", "ids.h", "reduce.h", "rows.h", "vector.h"];
        let texts = headers.map(|header| std::fs::read_to_string(folder.join(header)).expect("a header"));
        let heads = texts.iter().flat_map(|text| text.split("\nHPMOE_ROUTINE void ").skip(1));
        let mut names: Vec<&str> = heads.filter_map(|head| head.split('(').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ROUTINES.iter().map(|routine| routine.name).collect::<Vec<_>>());
    }
}

//! The device code of rows as C++.

use std::fmt;
use std::fmt::Write as _;
use std::path::Path;

use hpmoe_kernels::op::{Device, Operation, Scalar, Slot, VectorCall, Waits};

/// A row of which the vector call of this number is left out.
#[derive(Clone, Copy)]
pub(crate) struct Mutant(usize);

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vector call {}", self.0)
    }
}

/// All mutants of a row.
pub(crate) fn mutants(operation: &Operation) -> impl Iterator<Item = Mutant> + use<> {
    let calls = match operation.device {
        Device::Vector { calls, .. } => calls.len(),
        _ => 0,
    };
    (0..calls).map(Mutant)
}

/// A program that runs these rows.
pub(crate) fn program(include: &Path, rows: impl Iterator<Item = (&'static Operation, Option<Mutant>)>) -> String {
    let mut functions = format!("#include \"{}\"\nusing namespace AscendC;\nnamespace {{\n", include.display());
    let mut table = String::from("}\nconst Row kRows[] = {\n");
    for (number, (operation, mutant)) in rows.enumerate() {
        let body = body(operation, mutant);
        writeln!(functions, "void row{number}([[maybe_unused]] const Frame &f) {{\n{body}}}").expect("a string");
        let barrier = !matches!(operation.device, Device::Routine(routine) if routine.waits != Waits::Never);
        writeln!(table, "    {{row{number}, {barrier}}},").expect("a string");
    }
    functions + &table + "};\n"
}

fn body(operation: &Operation, mutant: Option<Mutant>) -> String {
    match operation.device {
        Device::Vector { calls, .. } => {
            let left = calls.iter().enumerate().filter(|(number, _)| mutant.is_none_or(|mutant| mutant.0 != *number));
            left.map(|(_, call)| format!("    {}\n    PipeBarrier<PIPE_V>();\n", vector(call))).collect()
        }
        Device::Routine(routine) => {
            let operands = (0..values(operation)).map(|operand| format!("f.in[{operand}], ")).collect::<String>();
            let scratch = (0..routine.scratch.len()).map(|number| format!("f.scratch[{number}], ")).collect::<String>();
            let terms = if routine.takes_terms() { ", f.terms" } else { "" };
            format!("    hpmoe::{}(f.out, {operands}{scratch}f.outRows, f.cols{terms});\n", routine.name)
        }
        // What the compiler makes of a cast to bf16, whose 16 bits fit the scratch.
        Device::Cast => "    const auto narrow = hpmoe::UbFrom<bfloat16_t>(f.scratch[0]);\n    \
             Cast(narrow, f.at(f.in[0]), RoundMode::CAST_RINT, static_cast<uint32_t>(f.count));\n    \
             PipeBarrier<PIPE_V>();\n    \
             Cast(f.at(f.out), narrow, RoundMode::CAST_NONE, static_cast<uint32_t>(f.count));\n"
            .to_owned(),
        _ => unreachable!("rows that compute"),
    }
}

fn values(operation: &Operation) -> usize {
    operation.operands.iter().filter(|kind| **kind == hpmoe_kernels::op::OperandKind::Value).count()
}

fn vector(call: &VectorCall) -> String {
    match call {
        VectorCall::Binary(name, to, a, b) => format!("{name}({}, {}, {}, f.count);", slot(to), slot(a), slot(b)),
        VectorCall::Scalar(name, to, a, number) => {
            format!("{name}({}, {}, {}, f.count);", slot(to), slot(a), scalar(number))
        }
        VectorCall::Unary(name, to, a) => format!("{name}({}, {}, f.count);", slot(to), slot(a)),
        VectorCall::Fill(to, number) => format!("Duplicate({}, {}, f.count);", slot(to), scalar(number)),
    }
}

fn slot(slot: &Slot) -> String {
    match slot {
        Slot::Out => "f.at(f.out)".to_owned(),
        Slot::In(operand) => format!("f.at(f.in[{operand}])"),
        Slot::Scratch(number) => format!("f.at(f.scratch[{number}])"),
    }
}

fn scalar(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Is(number) => format!("host::floatOf({:#x}u)", number.to_bits()),
        Scalar::Given(number) => format!("f.number[{number}]"),
        Scalar::Negated(number) => format!("-f.number[{number}]"),
    }
}

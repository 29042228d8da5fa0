//! Generates a C++ program from the device code of rows.

use std::fmt::Write as _;
use std::path::Path;

use hpmoe_kernels::op::{
    self, Device, ElementType, More, Operation, Routine, Scalar, Sizes, Slot, Spread, VectorCall, Waits,
};

/// The part of a row's code that is compiled.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// All of it.
    Whole,
    /// All of it except the vector call with this number.
    Without(usize),
    /// The single routine that replaces the code and also spreads the second operand.
    InOneCall(Spread),
    /// The code for this type argument.
    To(ElementType),
}

/// All forms of a row.
pub(crate) fn forms(operation: &Operation) -> Vec<Form> {
    let calls = match operation.device {
        Device::Vector { calls, .. } => calls,
        _ => &[],
    };
    let values = values(operation) > 1;
    let in_one_call = |spread: &Spread| values && op::in_one_call(calls, *spread).is_some();
    let routines = Spread::ALL.into_iter().filter(in_one_call).map(Form::InOneCall);
    let types = [ElementType::bf16, ElementType::f16, ElementType::f32].map(Form::To);
    let whole = if operation.takes_element { &types[..] } else { &[Form::Whole] };
    whole.iter().copied().chain((0..calls.len()).map(Form::Without)).chain(routines).collect()
}

/// A program that runs the given rows.
pub(crate) fn program(include: &Path, rows: impl Iterator<Item = (&'static Operation, Form)>) -> String {
    let mut functions = format!("#include \"{}\"\nusing namespace AscendC;\nnamespace {{\n", include.display());
    let mut table = String::from("}\nconst Row kRows[] = {\n");
    for (number, (operation, form)) in rows.enumerate() {
        let body = body(operation, form);
        writeln!(functions, "void row{number}([[maybe_unused]] const Frame &f) {{\n{body}}}").expect("a string");
        let spread = match operation.device {
            Device::Vector { .. } if matches!(form, Form::Whole | Form::Without(_)) => "Result",
            Device::Routine(Routine { sizes: Sizes::Picked, .. }) => "Rows",
            _ => "Nothing",
        };
        let barrier = waits(operation, form) == Waits::Never;
        writeln!(table, "    {{row{number}, {barrier}, Spreads::{spread}}},").expect("a string");
    }
    functions + &table + "};\n"
}

fn waits(operation: &Operation, form: Form) -> Waits {
    match (operation.device, form) {
        (Device::Routine(routine), _) => routine.waits,
        (Device::Vector { calls, .. }, Form::InOneCall(spread)) => {
            op::in_one_call(calls, spread).map_or(Waits::Never, |(_, waits)| waits)
        }
        _ => Waits::Never,
    }
}

fn body(operation: &Operation, form: Form) -> String {
    match operation.device {
        Device::Vector { calls, .. } => {
            if let Form::InOneCall(spread) = form {
                let (name, _) = op::in_one_call(calls, spread).expect("a form of this row");
                return format!("    hpmoe::{name}(f.out, f.in[0], f.in[1], f.outRows, f.cols);\n");
            }
            let left_out = |number: usize| matches!(form, Form::Without(call) if call == number);
            let left = calls.iter().enumerate().filter(|(number, _)| !left_out(*number));
            left.map(|(_, call)| format!("    {}\n    PipeBarrier<PIPE_V>();\n", vector(call))).collect()
        }
        Device::Routine(routine) => {
            let operands = (0..values(operation)).map(|operand| format!("f.in[{operand}], ")).collect::<String>();
            let scratch = (0..routine.scratch.len()).map(|number| format!("f.scratch[{number}], ")).collect::<String>();
            let more = match routine.more() {
                More::Nothing => "",
                More::Terms => ", f.terms, 0",
                More::Columns => ", f.outCols",
                More::ColumnsFrom => ", f.outCols, f.size",
            };
            format!("    hpmoe::{}(f.out, {operands}{scratch}f.outRows, f.cols{more});\n", routine.name)
        }
        // The compiler's code for a cast. The scratch has room for the 16-bit values.
        Device::Cast => match form {
            Form::To(element @ (ElementType::bf16 | ElementType::f16)) => format!(
                "    const auto narrow = hpmoe::UbFrom<{}>(f.scratch[0]);\n    \
                 Cast(narrow, f.at(f.in[0]), RoundMode::CAST_RINT, static_cast<uint32_t>(f.count));\n    \
                 PipeBarrier<PIPE_V>();\n    \
                 Cast(f.at(f.out), narrow, RoundMode::CAST_NONE, static_cast<uint32_t>(f.count));\n",
                element.ascendc()
            ),
            _ => "    hpmoe::CopyValues(f.out, f.in[0], f.count);\n".to_owned(),
        },
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
        VectorCall::Whole(mode, to, a) => {
            format!("Cast({}, {}, RoundMode::{mode}, static_cast<uint32_t>(f.count));", slot(to), slot(a))
        }
        VectorCall::Library(name, to, operands, scratch) => {
            let slots = [to].into_iter().chain(*operands).chain(*scratch);
            format!("hpmoe::{name}({}, f.count);", slots.map(address).collect::<Vec<_>>().join(", "))
        }
        VectorCall::Fill(to, number) => format!("Duplicate({}, {}, f.count);", slot(to), scalar(number)),
    }
}

fn slot(slot: &Slot) -> String {
    format!("f.at({})", address(slot))
}

fn address(slot: &Slot) -> String {
    match slot {
        Slot::Out => "f.out".to_owned(),
        Slot::In(operand) => format!("f.in[{operand}]"),
        Slot::Scratch(number) => format!("f.scratch[{number}]"),
    }
}

fn scalar(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Is(number) => format!("host::floatOf({:#x}u)", number.to_bits()),
        Scalar::Given(number) => format!("f.number[{number}]"),
        Scalar::Negated(number) => format!("-f.number[{number}]"),
    }
}

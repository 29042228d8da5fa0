//! Compares every row of the table of operations, bit by bit: its meaning on the host, and its device code on the model of a
//! vector core.
//!
//! Nothing here depends on a particular operation. Sizes are any that the row's rule accepts; numbers are drawn from all
//! values of f32.

mod code;
mod draw;

use std::path::Path;
use std::process::Command;

use hpmoe_kernels::op::{AnyValue, Contracted, Device, Given, Host, OperandKind, Operation, Part, Shape};
use hpmoe_kernels::ops::{self, TABLE};
use hpmoe_kernels::{Tile, TileBuf, bf16};

use super::model::{folder, linked};
use code::Form;
use draw::{Draw, Drawn};

/// Number of cases per row.
const CASES: u64 = 40;

/// One run of a row's code.
struct Run<'a> {
    row: usize,
    /// Whether no call is left out. If so, only written elements are read.
    is_whole: bool,
    drawn: &'a Drawn,
}

fn name(operation: &Operation) -> String {
    format!("`{}` of {:?}", operation.name(), operation.operands)
}

/// Rows whose device code computes values from values.
fn computing() -> impl Iterator<Item = (&'static Operation, fn(Given<'_>) -> AnyValue)> {
    TABLE.iter().filter_map(|operation| match (operation.host, operation.device) {
        (Host::Values(meaning), Device::Vector { .. } | Device::Routine(_) | Device::Cast) => {
            Some((*operation, meaning))
        }
        (Host::Product(_), Device::Matmul { .. }) | (Host::Values(_), Device::Steps(_)) => None,
        (
            Host::Moves,
            Device::Load
            | Device::Unpack
            | Device::LookUp
            | Device::Store
            | Device::Accumulate
            | Device::Put
            | Device::Broadcast,
        ) => None,
        (host, device) => {
            panic!("{} has no meaning that its device code could have: {host:?}, {device:?}", name(operation))
        }
    })
}

fn words_of(runs: &[Run<'_>]) -> Vec<u8> {
    let mut words = vec![runs.len() as u32];
    let shape_of = |shape: &Shape| [shape.rows as u32, shape.cols as u32];
    for (seed, Run { row, is_whole, drawn }) in runs.iter().enumerate() {
        let size = drawn.sizes.first().copied().unwrap_or_default();
        words.extend([*row as u32, seed as u32, drawn.terms() as u32, size as u32, u32::from(*is_whole)]);
        words.extend(shape_of(&drawn.result));
        words.push(drawn.numbers.len() as u32);
        words.extend(drawn.numbers.iter().map(|number| number.to_bits()));
        words.push(drawn.scratch.len() as u32);
        words.extend(drawn.scratch.iter().flatten().map(|size| *size as u32));
        words.push(drawn.values.len() as u32);
        for value in &drawn.values {
            words.extend([value.rows() as u32, value.cols() as u32]);
            words.extend(value.as_slice().iter().map(|number| number.to_bits()));
        }
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Runs all cases on the model and returns their results.
fn on_the_model(program: &Path, runs: &[Run<'_>], scratch: &Path) -> Vec<Vec<f32>> {
    let (cases, results) = (scratch.join("cases"), scratch.join("results"));
    std::fs::write(&cases, words_of(runs)).expect("a file of cases");
    let output = Command::new(program).arg(&cases).arg(&results).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&results).expect("a file of results");
    let mut numbers = bytes.chunks_exact(4).map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    runs.iter().map(|run| numbers.by_ref().take(run.drawn.result.rows * run.drawn.result.cols).collect()).collect()
}

/// The position of the first number that differs; NaNs are equal.
fn difference(expected: &AnyValue, got: &[f32]) -> Option<usize> {
    let alike = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    expected.as_slice().iter().zip(got).position(|(a, b)| !alike(*a, *b))
}

#[test]
fn every_row_means_on_the_host_what_it_does_on_the_device() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let rows: Vec<_> = computing().collect();
    let forms: Vec<(usize, Form)> = rows
        .iter()
        .enumerate()
        .flat_map(|(row, (operation, _))| code::forms(operation).into_iter().map(move |form| (row, form)))
        .collect();
    let source = scratch.path().join("rows.cpp");
    let code = code::program(&folder("tests/operations/rows.h"), forms.iter().map(|(row, form)| (rows[*row].0, *form)));
    std::fs::write(&source, code).expect("a source file");
    let program = linked("operations", vec![source], scratch.path());

    let drawn: Vec<Vec<Drawn>> = rows
        .iter()
        .enumerate()
        .map(|(row, (operation, _))| (0..CASES).map(|case| Draw::new(row as u64, case).operands(operation)).collect())
        .collect();
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (number, (row, form)) in forms.iter().enumerate() {
        let fits = |drawn: &&Drawn| match form {
            Form::Whole | Form::Without(_) | Form::To(_) => true,
            Form::InOneCall(spread) => drawn.spread() == Some(*spread),
        };
        runs.extend(drawn[*row].iter().filter(fits).map(|drawn| Run {
            row: number,
            is_whole: !matches!(form, Form::Without(_)),
            drawn,
        }));
    }
    let results = on_the_model(&program, &runs, scratch.path());

    // The first fault of each form.
    let mut faults: Vec<Option<String>> = vec![None; forms.len()];
    for (Run { row, drawn, .. }, got) in runs.iter().zip(&results) {
        let (at, form) = forms[*row];
        let (operation, meaning) = rows[at];
        let element = if let Form::To(element) = form { Some(element) } else { None };
        let expected = meaning(drawn.given(element));
        assert_eq!((expected.rows(), expected.cols()), (drawn.result.rows, drawn.result.cols), "{}", name(operation));
        if let Some(at) = difference(&expected, got) {
            let (host, device) = (expected.as_slice()[at], got[at]);
            let text = || {
                format!(
                    "{}: number {at} is {host:?} on the host and {device:?} on the device, for {drawn}",
                    name(operation)
                )
            };
            faults[*row].get_or_insert_with(text);
        }
    }
    let mut report = Vec::new();
    for ((row, form), fault) in forms.iter().zip(faults) {
        match (form, fault) {
            (Form::Without(call), None) => {
                report.push(format!("{}: nothing changes without vector call {call}", name(rows[*row].0)));
            }
            (Form::Whole | Form::InOneCall(_) | Form::To(_), Some(fault)) => report.push(fault),
            (Form::Without(_), Some(_)) | (_, None) => {}
        }
    }
    assert!(report.is_empty(), "{}", report.join("\n"));
}

/// Computes the operation of this name for these operands, by its meaning on the host.
fn by_name(name: &str, values: &[AnyValue], numbers: &[f32], kinds: &[OperandKind]) -> AnyValue {
    let operation = ops::named(name).find(|operation| operation.operands == kinds);
    let operation = operation.unwrap_or_else(|| panic!("no operation `{name}` takes {kinds:?}"));
    match operation.host {
        Host::Values(meaning) => meaning(Given { values, numbers, sizes: &[], element: None }),
        host => panic!("`{name}` computes no value: {host:?}"),
    }
}

#[test]
fn every_operation_of_several_steps_means_what_they_do() {
    let mut composed = 0;
    for (row, operation) in TABLE.iter().enumerate() {
        let (Host::Values(meaning), Device::Steps(steps)) = (operation.host, operation.device) else { continue };
        composed += 1;
        for case in 0..CASES {
            let drawn = Draw::new(row as u64, case).operands(operation);
            let mut made: Vec<AnyValue> = Vec::new();
            for step in steps {
                let (mut values, mut numbers, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
                for part in step.operands {
                    let kind = match *part {
                        Part::In(value) => (values.push(drawn.values[value].clone()), OperandKind::Value),
                        Part::Step(step) => (values.push(made[step].clone()), OperandKind::Value),
                        Part::Given(number) => (numbers.push(drawn.numbers[number]), OperandKind::Number),
                        Part::Number(number) => (numbers.push(number), OperandKind::Number),
                    };
                    kinds.push(kind.1);
                }
                made.push(by_name(step.operation, &values, &numbers, &kinds));
            }
            let (expected, got) = (meaning(drawn.given(None)), made.pop().expect("a step"));
            let same_size = (expected.rows(), expected.cols()) == (got.rows(), got.cols());
            let at = difference(&expected, got.as_slice());
            assert!(same_size && at.is_none(), "{}: number {at:?} differs, for {drawn}", name(operation));
        }
    }
    assert!(composed >= 4, "{composed} operations of several steps were found");
}

/// Element (free, contracted) of an operand of a product.
fn element(tile: &Tile<'_, bf16, 16, 16>, way: Contracted, free: usize, depth: usize) -> f32 {
    let (row, col) = match way {
        Contracted::Columns => (free, depth),
        Contracted::Rows => (depth, free),
    };
    f32::from(tile.row(row)[col].get())
}

#[test]
fn every_product_contracts_what_its_row_says() {
    let mut products = 0;
    for operation in TABLE {
        let (Host::Product(meaning), Device::Matmul { x: x_way, w: w_way, adds }) = (operation.host, operation.device)
        else {
            continue;
        };
        products += 1;
        let (m, k, n) = (3, 5, 2);
        let tile = |free: usize, way: Contracted, seed: u64| {
            let (rows, cols) = if way == Contracted::Columns { (free, k) } else { (k, free) };
            let numbers: Vec<f32> = (0..rows * cols).map(|i| ((i as u64 * 7 + seed) % 11) as f32 - 5.0).collect();
            TileBuf::<bf16>::from_f32(rows, cols, &numbers)
        };
        let (x, w) = (tile(m, x_way, 1), tile(n, w_way, 4));
        let first = AnyValue::new(m, n, (0..m * n).map(|i| i as f32).collect());
        let got = meaning(adds.then(|| first.clone()), x.tile(), w.tile());
        let (x, w) = (x.tile::<16, 16>(), w.tile::<16, 16>());
        for (i, got) in got.as_slice().iter().enumerate() {
            let products = (0..k).map(|k| element(&x, x_way, i / n, k) * element(&w, w_way, i % n, k));
            let expected: f32 = if adds { first.as_slice()[i] } else { 0.0 } + products.sum::<f32>();
            assert_eq!(*got, expected, "{}, number {i}", name(operation));
        }
    }
    assert!(products >= 5, "{products} products were found");
}

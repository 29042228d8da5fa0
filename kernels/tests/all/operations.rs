//! Every row of the table of operations: its meaning on the host against its code on the device, run on the model of a
//! vector core, bit by bit.
//!
//! Nothing here knows an operation. Sizes are those that the row's rule accepts; numbers are drawn from everything that f32
//! has.

mod code;
mod draw;

use std::path::Path;
use std::process::Command;

use hpmoe_kernels::op::{AnyValue, Contracted, Device, Given, Host, Operation, Shape};
use hpmoe_kernels::ops::TABLE;
use hpmoe_kernels::{Tile, TileBuf, bf16};

use super::model::{folder, linked};
use draw::{Draw, Drawn};

/// Cases of each row.
const CASES: u64 = 40;
/// Cases in which a vector call that is left out must be missed.
const CASES_OF_MUTANTS: u64 = 6;

/// One run of a row's code.
struct Run<'a> {
    row: usize,
    drawn: &'a Drawn,
}

fn name(operation: &Operation) -> String {
    format!("`{}` of {:?}", operation.name(), operation.operands)
}

/// Rows whose device code computes values of values.
fn computing() -> impl Iterator<Item = (&'static Operation, fn(Given<'_>) -> AnyValue)> {
    TABLE.iter().filter_map(|operation| match (operation.host, operation.device) {
        (Host::Values(meaning), Device::Vector { .. } | Device::Routine(_) | Device::Cast) => {
            Some((*operation, meaning))
        }
        (Host::Product(_), Device::Matmul { .. }) => None,
        (Host::Moves, Device::Load | Device::Store | Device::Accumulate | Device::Put) => None,
        (host, device) => {
            panic!("{} has no meaning that its device code could have: {host:?}, {device:?}", name(operation))
        }
    })
}

fn words_of(runs: &[Run<'_>]) -> Vec<u8> {
    let mut words = vec![runs.len() as u32];
    let shape_of = |shape: &Shape| [shape.rows as u32, shape.cols as u32];
    for (seed, Run { row, drawn }) in runs.iter().enumerate() {
        words.extend([*row as u32, seed as u32, drawn.terms() as u32]);
        words.extend(shape_of(&drawn.result));
        words.push(drawn.numbers.len() as u32);
        words.extend(drawn.numbers.iter().map(|number| number.to_bits()));
        words.push(drawn.scratch.len() as u32);
        words.extend(drawn.scratch.iter().map(|cols| *cols as u32));
        words.push(drawn.values.len() as u32);
        for value in &drawn.values {
            words.extend([value.rows() as u32, value.cols() as u32]);
            words.extend(value.as_slice().iter().map(|number| number.to_bits()));
        }
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// The results of all runs on the model.
fn on_the_model(program: &Path, runs: &[Run<'_>], scratch: &Path) -> Vec<Vec<f32>> {
    let (cases, results) = (scratch.join("cases"), scratch.join("results"));
    std::fs::write(&cases, words_of(runs)).expect("a file of cases");
    let output = Command::new(program).arg(&cases).arg(&results).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&results).expect("a file of results");
    let mut numbers = bytes.chunks_exact(4).map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    runs.iter().map(|run| numbers.by_ref().take(run.drawn.result.rows * run.drawn.result.cols).collect()).collect()
}

/// The first number that differs; NaNs are alike.
fn difference(expected: &AnyValue, got: &[f32]) -> Option<usize> {
    let alike = |a: f32, b: f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    expected.as_slice().iter().zip(got).position(|(a, b)| !alike(*a, *b))
}

#[test]
fn every_row_means_on_the_host_what_it_does_on_the_device() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let rows: Vec<_> = computing().collect();
    let mutants: Vec<(usize, code::Mutant)> = rows
        .iter()
        .enumerate()
        .flat_map(|(row, (operation, _))| code::mutants(operation).map(move |mutant| (row, mutant)))
        .collect();
    let source = scratch.path().join("rows.cpp");
    let originals = rows.iter().map(|(operation, _)| (*operation, None));
    let changed = mutants.iter().map(|(row, mutant)| (rows[*row].0, Some(*mutant)));
    let include = folder("tests/operations/rows.h");
    std::fs::write(&source, code::program(&include, originals.chain(changed))).expect("a source file");
    let program = linked(vec![source], scratch.path());

    let drawn: Vec<Vec<Drawn>> = rows
        .iter()
        .enumerate()
        .map(|(row, (operation, _))| (0..CASES).map(|case| Draw::new(row as u64, case).operands(operation)).collect())
        .collect();
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (row, cases) in drawn.iter().enumerate() {
        runs.extend(cases.iter().map(|drawn| Run { row, drawn }));
    }
    for (number, (row, _)) in mutants.iter().enumerate() {
        let cases = drawn[*row].iter().take(CASES_OF_MUTANTS as usize);
        runs.extend(cases.map(|drawn| Run { row: rows.len() + number, drawn }));
    }
    let results = on_the_model(&program, &runs, scratch.path());

    let mut missed = vec![false; mutants.len()];
    let mut wrong: Vec<Option<String>> = vec![None; rows.len()];
    for (Run { row, drawn }, got) in runs.iter().zip(&results) {
        let original = if *row < rows.len() { *row } else { mutants[*row - rows.len()].0 };
        let (operation, meaning) = rows[original];
        let expected = meaning(drawn.given());
        assert_eq!((expected.rows(), expected.cols()), (drawn.result.rows, drawn.result.cols), "{}", name(operation));
        let at = difference(&expected, got);
        if *row >= rows.len() {
            missed[*row - rows.len()] |= at.is_some();
        } else if let Some(at) = at {
            let (host, device) = (expected.as_slice()[at], got[at]);
            let text = || {
                format!(
                    "{}: number {at} is {host:?} on the host and {device:?} on the device, for {drawn}",
                    name(operation)
                )
            };
            wrong[original].get_or_insert_with(text);
        }
    }
    let useless = mutants.iter().zip(missed).filter(|(_, missed)| !missed);
    let useless = useless.map(|((row, mutant), _)| format!("{}: nothing changes without {mutant}", name(rows[*row].0)));
    let faults: Vec<String> = wrong.into_iter().flatten().chain(useless).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
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

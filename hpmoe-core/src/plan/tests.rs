use super::vector::clashing;
use super::*;
use crate::constant::Overrides;
use crate::finding::{Content, Piece};
use crate::fixture::{Layer, moe_ffn};
use crate::front::{front, modules};
use crate::graph::TaskGraph;
use crate::units::Bytes;
use hpmoe_kernels::op::{ElementType, OperandKind, Shape};

fn plan_of(graph: &TaskGraph, task: &str) -> Result<Plan, Overflow> {
    let (_, task) = graph.tasks.iter().find(|(_, each)| each.label.starts_with(task)).expect("the kernel has it");
    plan(task)
}

fn vector_plan(graph: &TaskGraph, task: &str) -> VectorPlan {
    match plan_of(graph, task) {
        Ok(Plan::Vector(plan)) => plan,
        other => panic!("`{task}` runs on vector cores, but its plan is {other:?}"),
    }
}

/// All plans of a kernel of vector tasks.
fn plans(source: &str) -> Vec<(String, VectorPlan)> {
    let module = &modules(source).unwrap()[0];
    let flow = front(module, &Overrides::new()).expect("the kernel has no faults").flows.remove(0);
    let tasks: Vec<_> = flow.graph().tasks.iter().filter(|(_, task)| task.kind == TaskKind::Vector).collect();
    tasks.iter().map(|(_, task)| (task.label.clone(), vector_plan(flow.graph(), &task.label))).collect()
}

fn products(graph: &TaskGraph) -> Vec<Product> {
    let cubes = graph.tasks.iter().filter(|(_, task)| task.kind == TaskKind::Matrix);
    cubes
        .flat_map(|(_, task)| match plan(task) {
            Ok(Plan::Cube(plan)) => plan.products,
            other => panic!("`{}` runs on matrix cores, but its plan is {other:?}", task.label),
        })
        .collect()
}

fn deepseek() -> TaskGraph {
    moe_ffn(&Layer::DEEPSEEK).graph().clone()
}

#[test]
fn tiles_of_the_large_layer_fill_l0_and_use_long_rows_of_l1() {
    let products = products(&deepseek());
    assert_eq!(products.len(), 2, "K = 7168 and K = 2048");
    for product in products {
        assert_eq!((product.rows, product.cols, product.k_block, product.k_step), (128, 256, 256, 64));
    }
    let used = plan_of(&deepseek(), "project").unwrap().used();
    let l0c = used.iter().find(|(memory, ..)| *memory == OnChipMemory::L0C).unwrap();
    assert_eq!((l0c.1, l0c.2), (Bytes::kib(128), Bytes::kib(128)));
    assert!(used.iter().all(|(_, used, capacity)| used <= capacity));
}

#[test]
fn a_short_contraction_is_one_block() {
    let products = products(moe_ffn(&Layer::SMALL).graph());
    let depths: Vec<_> = products.iter().map(|product| (product.rows, product.k_block, product.k_step)).collect();
    assert_eq!(depths, [(32, 128, 128), (32, 64, 64)]);
}

/// The widest type limits the length of a block, and a block holds whole fractals of the narrowest type. That is 16 elements, so a block
/// can have 40 elements: two and a half.
#[test]
fn a_sum_of_several_types_has_room_for_all() {
    let source = include_str!("../../../ui-tests/kernels/floats.rs");
    let flow =
        front(&modules(source).unwrap()[0], &Overrides::new()).expect("the kernel has no faults").flows.remove(0);
    let Ok(Plan::Cube(plan)) = plan_of(flow.graph(), "exact") else { panic!("products run on matrix cores") };
    let sizes: Vec<_> =
        plan.products.iter().map(|product| (product.element, product.k_block, product.k_step)).collect();
    assert_eq!(sizes, [(ElementType::f32, 40, 40), (ElementType::f32, 48, 48)]);
}

#[test]
fn tall_tiles_are_cut_by_rows_of_the_accumulator() {
    let layer = Layer { tile_m: 512, ..Layer::DEEPSEEK };
    let product = &products(moe_ffn(&layer).graph())[0];
    assert_eq!((product.rows, product.cols), (128, 256));
}

#[test]
fn swiglu_keeps_two_stages_of_each_tile_and_shares_dead_values() {
    let plan = vector_plan(&deepseek(), "swiglu");
    // Of a row of 256: six bf16 stages and two f32. The gate's place becomes silu's and the product's, that of silu's
    // scratch becomes up's.
    assert_eq!(plan.used, Bytes((6 * 512 + 2 * 1024) * u64::from(plan.rows)));
    assert_eq!(plan.rows, 32, "128 rows in four pieces");
    assert_eq!(clashing(&plan), None);
    let overlapping = plan
        .program
        .buffers
        .ids()
        .any(|a| plan.program.buffers.ids().any(|b| a < b && plan.offsets[a] == plan.offsets[b]));
    assert!(overlapping, "values that are never alive together share UB");
}

#[test]
fn the_sum_over_k_takes_whole_tokens() {
    let plan = vector_plan(&deepseek(), "combine");
    assert_eq!(plan.program.rows, 16, "tokens, not slots");
    // A token of 1024 columns: 2 x 8 rows of bf16, 2 x 8 weights padded to 16, 2 rows of bf16 out, 8 + 1 + 1 rows of f32.
    assert_eq!(plan.used, Bytes((2 * 8 * 2048 + 2 * 64 + 2 * 2048 + 10 * 4096) * u64::from(plan.rows)));
    assert_eq!(plan.rows, 2);
    assert_eq!(clashing(&plan), None);
}

#[test]
fn single_rows_lie_before_what_grows_with_a_piece() {
    let plans = plans(include_str!("../../../ui-tests/kernels/rows.rs"));
    for (task, plan) in &plans {
        assert_eq!(clashing(plan), None, "{task}");
    }
    let (_, squares) = plans.iter().find(|(task, _)| task == "squares").expect("the kernel has it");
    assert!(squares.rows > 1 && squares.rows < 96, "several pieces of {} rows", squares.rows);
    let single: Vec<_> = squares.program.buffers.iter().filter(|(_, buffer)| buffer.single).collect();
    let [(id, scale)] = single[..] else { panic!("one row, which is loaded and used as it is: {single:?}") };
    assert_eq!((scale.name.as_str(), squares.offsets[id], squares.bytes(id)), ("scale_in", Bytes(0), Bytes(160 * 4)));
    // Two stages of it, then everything else.
    let first = squares.program.buffers.iter().filter(|(_, b)| !b.single).map(|(id, _)| squares.offsets[id]).min();
    assert_eq!(first, Some(Bytes(2 * 160 * 4)));
    let leader = |task: &str| plans.iter().find(|(label, _)| label == task).map(|(_, plan)| plan.program.leader);
    assert_eq!(leader("squares"), Some(2), "what is written");
    assert_eq!(leader("single"), Some(3), "one row, which is written");
}

#[test]
fn rows_of_bytes_start_on_blocks() {
    let plans = plans(include_str!("../../../ui-tests/kernels/bytes.rs"));
    let (_, widen) = plans.iter().find(|(task, _)| task == "widen").expect("the kernel has it");
    let bytes = |name: &str| {
        let found = widen.program.buffers.iter().find(|(_, buffer)| buffer.name == name);
        found.map(|(id, _)| widen.bytes(id).0 / u64::from(widen.rows))
    };
    assert_eq!((bytes("x_in"), bytes("x_value_halves"), bytes("x_value")), (Some(64), Some(96), Some(192)));
    assert_eq!(clashing(widen), None);
}

#[test]
fn a_put_fills_two_halves() {
    let Ok(Plan::Put(plan)) = plan_of(&deepseek(), "dispatch") else { panic!("dispatch is a put") };
    assert_eq!((plan.to, plan.from), (1, 0));
    assert_eq!(plan.used, Bytes(2 * 6 * 14336 + 64));
}

/// The overflow of a task of the large layer after an edit of the shapes of its tiles and values. (The front end would refuse the whole
/// kernel earlier.)
fn fault(task: &str, edit: impl Fn(&mut Shape)) -> Overflow {
    let graph = deepseek();
    let (_, task) = graph.tasks.iter().find(|(_, each)| each.label.starts_with(task)).expect("the kernel has it");
    let mut task = task.clone();
    let params = task.params.iter_mut().map(|param| &mut param.shape);
    params.chain(task.body.steps.iter_mut().map(|step| &mut step.result)).for_each(edit);
    plan(&task).unwrap_err()
}

fn columns(from: usize, to: usize) -> impl Fn(&mut Shape) {
    move |shape| {
        if shape.cols == from {
            shape.cols = to;
        }
    }
}

#[test]
fn a_token_that_does_not_fit_is_told_with_its_parts() {
    let overflow = fault("combine", columns(1024, 7168));
    assert_eq!(overflow.memory, OnChipMemory::Ub);
    let y = Shape { kind: OperandKind::Tile, element: ElementType::bf16, rows: 16, cols: 7168 };
    assert_eq!(overflow.piece, Piece::Row { tile: "y".into(), shape: y });
    assert_eq!(overflow.needed, Bytes(2 * 8 * 14336 + 2 * 64 + 2 * 14336 + 10 * 28672));
    let parts: Bytes = overflow.contents.iter().map(|(_, bytes)| *bytes).sum();
    assert_eq!(parts, overflow.needed);
    let element = ElementType::bf16;
    let slots = Content::Buffer { name: "slots_in".into(), stages: 2, rows: 8, columns: 7168, element };
    assert_eq!(overflow.contents[0].0, slots);
}

#[test]
fn a_product_too_wide_for_l0_is_told() {
    let overflow = fault("project", |shape| {
        if shape.rows == 256 {
            shape.rows = 2048;
        }
    });
    assert_eq!(
        (overflow.memory, overflow.needed, overflow.capacity),
        (OnChipMemory::L0B, Bytes::kib(64), Bytes::kib(32))
    );
}

#[test]
fn a_row_too_long_for_a_put_is_told() {
    let overflow = fault("dispatch", columns(7168, 65_536));
    assert_eq!((overflow.needed, overflow.capacity), (Bytes::kib(128), Bytes::kib(88)));
}

#[test]
fn every_plan_of_every_layer_fits() {
    for layer in [Layer::SMALL, Layer::DEEPSEEK, Layer::TINY] {
        for (_, task) in moe_ffn(&layer).graph().tasks.iter() {
            let plan = plan(task).unwrap();
            assert!(plan.used().iter().all(|(_, used, capacity)| used <= capacity), "{}: {plan:?}", task.label);
        }
    }
}

//! Counters between calls, and dependencies that a path replaces.

use super::super::{Amount, CheckedGraph, Cover, Dependency, Grid};
use super::{dispatch, flow, module, project, read, sending, source, squares, swiglu, tiles};
use crate::fixture::{Layer, moe_backward, moe_ffn, once, router};
use crate::ids::{PhaseId, SpaceId};
use std::collections::BTreeSet;

/// For a tensor, each producer's addition to the counter, and each reader's wait, with the counter's grid.
fn orders(checked: &CheckedGraph, tensor: &str) -> Vec<String> {
    let graph = checked.graph();
    let name = |dependency: &&Dependency| graph.tensors[dependency.tensor].name == tensor;
    let text = |dependency: &Dependency| {
        let grid = match checked.counters()[dependency.wait.counter].grid {
            Grid::RowTiles { space, columns } => {
                format!("{:?} of {}, {columns} wide", graph.spaces[space].kind, graph.spaces[space].height)
            }
            Grid::Blocks { height } => format!("Blocks of {height}"),
            Grid::Experts => "Experts".to_owned(),
            Grid::Rank => "Rank".to_owned(),
        };
        let task = |phase| &graph.tasks[graph.phases[phase].task].name;
        let amount = match dependency.signal.amount {
            Amount::One => "1",
            Amount::Rows => "rows",
        };
        let there = if dependency.signal.remote { " there" } else { "" };
        let path = if matches!(dependency.cover, Cover::Counter) { "" } else { ", by a path" };
        format!(
            "{grid}: {} adds {amount} to {:?}{there}, {} waits at {:?} for {}{path}",
            task(dependency.before),
            dependency.signal.index,
            task(dependency.after),
            dependency.wait.index,
            dependency.wait.need
        )
    };
    let mut orders: Vec<String> = checked.dependencies().iter().filter(name).map(text).collect();
    orders.dedup();
    orders
}

/// The order of the only dependency on `a`, which the calls write and read.
fn order_of_a(calls: &[String]) -> String {
    let orders = orders(&flow(&calls.concat(), "b"), "a");
    assert_eq!(orders.len(), 1, "{orders:?}");
    orders.into_iter().next().unwrap()
}

#[test]
fn a_counter_stands_for_the_tile_that_writer_and_reader_share() {
    let found = order_of_a(&[project(8, 16, "recv", "a"), swiglu(8, 16, "a", "b")]);
    assert_eq!(found, "RowTiles of 8, 4 wide: project adds 1 to Tile, swiglu waits at Tile for 1 per 8 rows");
    let found = order_of_a(&[project(8, 32, "recv", "a"), swiglu(8, 32, "a", "b")]);
    assert_eq!(found, "RowTiles of 8, 2 wide: project adds 1 to Tile, swiglu waits at Tile for 1 per 8 rows");
    // Cores that count rows add those of the tile.
    let found = order_of_a(&[swiglu(8, 16, "recv", "a"), swiglu(8, 16, "a", "b")]);
    assert_eq!(found, "RowTiles of 8, 4 wide: swiglu adds rows to Tile, swiglu waits at Tile for 1 per row");
}

#[test]
fn other_columns_share_a_row_tile() {
    let of_8 = "RowTiles of 8, 1 wide: project adds 1 to RowTile";
    // Twice as wide, all columns, and a single column, which needs no counter of its own.
    let found = order_of_a(&[project(8, 16, "recv", "a"), swiglu(8, 32, "a", "b")]);
    assert_eq!(found, format!("{of_8}, swiglu waits at RowTile for 4 per 8 rows"));
    let found = order_of_a(&[project(8, 16, "recv", "a"), project(8, 16, "a", "b")]);
    assert_eq!(found, format!("{of_8}, project waits at RowTile for 4 per 8 rows"));
    let found = order_of_a(&[project(8, 64, "recv", "a"), swiglu(8, 64, "a", "b")]);
    assert_eq!(found, format!("{of_8}, swiglu waits at RowTile for 1 per 8 rows"));
    // The reader has two ranges: its column is not the writer's.
    let found = order_of_a(&[project(8, 32, "recv", "a"), {
        let part = "a[r].group(e, t).cols(n)";
        let call = format!("swiglu::<32, _>(&{part}, &recv[r].group(e, t).cols(k), &mut b[r].group(e, t).cols(k));");
        tiles(8, &format!("for n in 0..1 {{ for k in 0..2 {{ {call} }} }}"))
    }]);
    assert_eq!(found, format!("{of_8}, swiglu waits at RowTile for 2 per 8 rows"));
}

#[test]
fn nested_heights_share_the_larger_tile() {
    let found = order_of_a(&[project(8, 16, "recv", "a"), swiglu(4, 16, "a", "b")]);
    assert_eq!(found, "RowTiles of 8, 1 wide: project adds 1 to RowTile, swiglu waits at RowTile for 4 per 8 rows");
    let found = order_of_a(&[project(4, 16, "recv", "a"), swiglu(8, 16, "a", "b")]);
    assert_eq!(found, "RowTiles of 8, 1 wide: project adds 1 to RowTile, swiglu waits at RowTile for 4 per 4 rows");
    // Heights that don't nest share the expert.
    let found = order_of_a(&[project(6, 16, "recv", "a"), swiglu(4, 16, "a", "b")]);
    assert_eq!(found, "Experts: project adds 1 to Expert, swiglu waits at Expert for 4 per 6 rows");
}

#[test]
fn columns_of_a_row_tile_are_counted_apart_only_where_all_cut_them_alike() {
    let one = |from: &str, to: &str, width: u32, n: &str| {
        let part = format!("{from}[r].group(e, t).cols({n})");
        format!("swiglu::<{width}, _>(&{part}, &{part}, &mut {to}[r].group(e, t).cols({n}));")
    };
    // A second range, even of one, is counted by the column of a tile.
    let ranges = format!("for n in 0..4 {{ for k in 0..1 {{ {} }} }}", one("a", "b", 16, "n"));
    let found = order_of_a(&[swiglu(8, 16, "recv", "a"), tiles(8, &ranges)]);
    assert_eq!(found, "RowTiles of 8, 1 wide: swiglu adds rows to RowTile, swiglu waits at RowTile for 4 per row");
    // One writer has the reader's columns, and another one has none of them.
    let halves = |from: &str, to: &str| {
        let left = format!("for n in 0..2 {{ {} }}", one(from, to, 16, "n"));
        tiles(8, &left) + &tiles(8, &one(from, to, 32, "1"))
    };
    let found = orders(&flow(&(halves("recv", "a") + &halves("a", "b")), "b"), "a");
    assert_eq!(found, ["RowTiles of 8, 1 wide: swiglu adds rows to RowTile, swiglu waits at RowTile for 3 per row"]);
    // Pieces lie across row tiles.
    let pieces = |from: &str, to: &str| {
        let part = |tensor: &str| format!("{tensor}[e.owner()].rows_of(&s).cols(n)");
        let call = format!("swiglu::<16, _>(&{0}, &{0}, &mut {1});", part(from), part(to));
        let sends = format!("for s in route.sends::<4>(src, e) {{ for n in 0..4 {{ {call} }} }}");
        format!("for src in ep {{ for e in route.experts() {{ {sends} }} }}\n")
    };
    let found = order_of_a(&[pieces("recv", "a"), pieces("a", "b")]);
    assert_eq!(found, "RowTiles of 4, 1 wide: swiglu adds rows to RowTile, swiglu waits at RowTile for 4 per row");
}

#[test]
fn readers_of_the_same_parts_share_an_array_and_a_space() {
    for checked in [moe_ffn(&Layer::SMALL), moe_backward(&Layer::SMALL), router(&Layer::SMALL), once(&Layer::SMALL)] {
        let counters: BTreeSet<_> = checked.counters().iter().map(|(_, counter)| counter).collect();
        assert_eq!(counters.len(), checked.counters().len());
        let spaces = &checked.graph().spaces;
        let twice = |id: SpaceId| spaces.ids().any(|other| other != id && spaces[other] == spaces[id]);
        assert!(!spaces.ids().any(twice));
    }
}

#[test]
fn origins_are_written_with_the_rows_and_read_where_these_go_back() {
    let checked = moe_ffn(&Layer::SMALL);
    let phases = &checked.graph().phases;
    let of = |write: bool| phases.ids().find(|&id| phases[id].origins.is_some_and(|origins| origins.write == write));
    let (written, read) = (of(true).unwrap(), of(false).unwrap());
    let tensor = phases[read].origins.unwrap().tensor;
    let ends = checked.dependencies().iter().filter(|d| d.tensor == tensor).map(|d| (d.before, d.after));
    assert_eq!(ends.collect::<Vec<_>>(), [(written, read)]);
}

/// Two calls that each write half of the columns, in tiles of these heights.
fn halves(first: u32, second: u32) -> String {
    let half = |n| {
        format!(
            "project::<32, _, _>(&recv[r].group(e, t), &w[r].expert(e).tile({n}), &mut a[r].group(e, t).cols({n}));"
        )
    };
    tiles(first, &half(0)) + &tiles(second, &half(1))
}

#[test]
fn all_writers_of_a_tensor_add_to_one_counter() {
    let calls = [halves(8, 8), swiglu(8, 32, "a", "b")].concat();
    let found = orders(&flow(&calls, "b"), "a");
    let each =
        "RowTiles of 8, 1 wide: project adds 1 to RowTile, swiglu waits at RowTile for 1 per 8 rows + 1 per 8 rows";
    assert_eq!(found, [each]);
    // The largest height holds the others; the need is the same whoever writes first.
    let each =
        "RowTiles of 8, 1 wide: project adds 1 to RowTile, swiglu waits at RowTile for 1 per 4 rows + 1 per 8 rows";
    for (first, second) in [(8, 4), (4, 8)] {
        let calls = [halves(first, second), swiglu(2, 32, "a", "b")].concat();
        assert_eq!(orders(&flow(&calls, "b"), "a"), [each]);
    }
    let calls = [halves(8, 6), swiglu(8, 32, "a", "b")].concat();
    let each = "Experts: project adds 1 to Expert, swiglu waits at Expert for 1 per 6 rows + 1 per 8 rows";
    assert_eq!(orders(&flow(&calls, "b"), "a"), [each]);
}

/// Calls that compute a gradient of the weights from `a` and `recv`, and round it in tiles of 16 rows for a product.
fn gradient() -> String {
    let loops = "for r in ep { for e in route.experts_of(r) {";
    let grad = "weight_grad::<32, 16>(&a[r].expert(e).cols(i), &recv[r].expert(e).cols(j), &mut m[r].expert(e).tile(i).cols(j));";
    let round = "round::<16>(&m[r].expert(e).tile(i), &mut q[r].expert(e).tile(i));";
    let call = "project::<16, _, _>(&a[r].group(e, t), &q[r].expert(e).tile(n), &mut b[r].group(e, t).cols(n));";
    let product = tiles(8, &format!("for n in 0..4 {{ {call} }}"));
    format!(
        "{loops} for i in 0..2 {{ for j in 0..4 {{ {grad} }} }} }} }}
        {loops} for i in 0..4 {{ {round} }} }} }}
        {product}"
    )
}

#[test]
fn a_reader_of_all_rows_of_an_expert_waits_for_the_expert() {
    let checked = flow(&(swiglu(8, 16, "recv", "a") + &gradient()), "b");
    assert_eq!(
        orders(&checked, "a"),
        [
            "Experts: swiglu adds rows to Expert, weight_grad waits at Expert for 4 per row",
            // The gradient waited for all of the expert's rows.
            "RowTiles of 8, 1 wide: swiglu adds rows to RowTile, project waits at RowTile for 4 per row, by a path",
        ]
    );
    // Matrices of an expert: one of each tile, whatever the number of rows.
    let m = "Experts: weight_grad adds 1 to Expert, round waits at Expert for 8";
    assert_eq!(orders(&checked, "m"), [m]);
    assert_eq!(orders(&checked, "q"), ["Experts: round adds 1 to Expert, project waits at Expert for 4"]);
}

/// An expert without rows has a gradient, too, so the wait must not depend on the number of rows, even if the gradient is one tile.
#[test]
fn a_matrix_of_one_tile_is_awaited_of_experts_without_rows() {
    let whole = gradient().replace("for i in 0..2 { for j in 0..4 {", "for i in 0..1 { for j in 0..1 {");
    let whole = whole.replace("weight_grad::<32, 16>", "weight_grad::<64, 64>");
    let checked = flow(&(swiglu(8, 16, "recv", "a") + &whole), "b");
    assert_eq!(orders(&checked, "m"), ["Experts: weight_grad adds 1 to Expert, round waits at Expert for 1"]);
}

#[test]
fn blocks_of_tokens_nest_as_tiles_do() {
    for (first, second, grid) in [(4, 4, "Blocks of 4"), (4, 8, "Blocks of 8"), (8, 4, "Blocks of 8"), (6, 4, "Rank")] {
        let before = squares(first, "x", "z") + &squares(second, "z", "v");
        let checked = sending(&before, "v", &project(8, 16, "recv", "a"), "a");
        let index = grid.split(' ').next().unwrap().trim_end_matches('s');
        let each = format!("{grid}: square adds rows to {index}, square waits at {index} for 1 per row");
        assert_eq!(orders(&checked, "z"), [each]);
        // A piece has tokens of any block.
        assert_eq!(orders(&checked, "v"), ["Rank: square adds rows to Rank, dispatch waits at Rank for 1 per row"]);
        // What comes back counts each slot of a token that is not empty.
        let each = "Blocks of 4: give_back adds rows to PieceBlocks there, sum_over_k waits at Block for 1 per slot";
        assert_eq!(orders(&checked, "back"), [each]);
    }
}

#[test]
fn pieces_that_come_back_count_for_the_blocks_of_their_tokens() {
    for height in [2, 3, 6] {
        let calls = dispatch("x") + &project(8, 16, "recv", "a");
        let calls = source(&calls, "a").replace("sends::<2>", &format!("sends::<{height}>"));
        let each = "Blocks of 4: give_back adds rows to PieceBlocks there, sum_over_k waits at Block for 1 per slot";
        assert_eq!(orders(&read(&calls).unwrap(), "back"), [each], "{height}");
    }
}

#[test]
fn a_send_waits_for_all_tokens_or_slots_of_its_rank() {
    // The rows of a piece that is sent on are those of any block.
    let sends = |call: &str| {
        format!("for src in ep {{ for e in route.experts() {{ for s in route.sends::<4>(src, e) {{ {call} }} }} }}\n")
    };
    let calls = project(8, 16, "recv", "a")
        + &sends("give_back(&a[e.owner()].rows_of(&s), &mut parts[src].scatter(&s));")
        + &sends("put_again(&parts[src].gather(&s), &mut there[e.owner()].rows_of(&s));")
        + &project(8, 16, "there", "b");
    let each = "Rank: give_back adds rows to Rank there, put_again waits at Rank for 1 per slot";
    assert_eq!(orders(&flow(&calls, "b"), "parts"), [each]);
}

#[test]
fn rows_sent_once_are_counted_in_tiles_of_their_sender() {
    // The tokens of a copied tile lie anywhere: a larger tile helps where the sender's nests in it.
    for (send, copy, height) in [(4, 6, 4), (6, 4, 6), (6, 6, 6), (4, 8, 8)] {
        let put = "dispatch(&x[src].gather(&s), &mut once[e.owner()].rows_of(&s));";
        let sends = format!("for s in route.sends_once::<{send}>(src, e) {{ {put} }}");
        let copies = tiles(copy, "dispatch(&once[r].gather(e, t), &mut a[r].group(e, t));");
        let calls = format!("for src in ep {{ for e in route.experts() {{ {sends} }} }} {copies}");
        let found = orders(&module(&(calls + &project(8, 16, "a", "b")), "b"), "once");
        let each = "1 wide: dispatch adds rows to RowTile there, dispatch waits at OnceTiles for 1 per row";
        assert_eq!(found, [format!("OnceTiles of {height}, {each}")]);
    }
}

/// Whether the last call that reads a tensor waits for it by a path.
fn is_by_a_path(checked: &CheckedGraph, tensor: &str) -> bool {
    let name = |dependency: &&Dependency| checked.graph().tensors[dependency.tensor].name == tensor;
    let last = checked.dependencies().iter().filter(name).max_by_key(|dependency| dependency.after).unwrap();
    matches!(last.cover, Cover::Path(_))
}

#[test]
fn a_path_covers_the_rows_that_its_counters_hold() {
    // A tensor from that before it in tiles of each height; the last call reads both ends in tiles of `reader` rows.
    let by_a_path = |heights: [u32; 2], reader: u32| {
        let call = "swiglu::<64, _>(&recv[r].group(e, t), &b[r].group(e, t), &mut c[r].group(e, t));";
        let calls = project(heights[0], 64, "recv", "a") + &swiglu(heights[1], 64, "a", "b") + &tiles(reader, call);
        is_by_a_path(&flow(&calls, "c"), "recv")
    };
    assert!(by_a_path([8, 8], 8));
    assert!(by_a_path([4, 8], 4));
    assert!(by_a_path([8, 4], 8));
    assert!(by_a_path([2, 4], 8), "each step waits for all smaller tiles of the step before");
    assert!(by_a_path([6, 4], 8), "tiles of 6 and 4 rows share the expert, which holds all");
    assert!(!by_a_path([6, 2], 4), "tiles of 6 and 4 rows, each waiting for tiles of 2 rows, hold others");
}

#[test]
fn the_first_step_of_a_path_counts_all_columns() {
    let later = "swiglu::<16, _>(&a[r].group(e, t).cols(n), &b[r].group(e, t).cols(n), &mut c[r].group(e, t).cols(n));";
    let later = tiles(8, &format!("for n in 0..4 {{ {later} }}"));
    let by_a_path = |first: String| is_by_a_path(&flow(&(project(8, 16, "recv", "a") + &first + &later), "c"), "a");
    assert!(!by_a_path(swiglu(8, 16, "a", "b")), "a tile of `b` has waited for one tile of `a`");
    assert!(by_a_path(project(8, 16, "a", "b")), "a tile of `b` has waited for whole rows of `a`");
    // Tiles of 6 and 8 rows share the expert, whose counter stands for all columns, however many there are.
    let calls = project(8, 16, "recv", "a") + &swiglu(6, 16, "a", "b") + &later;
    assert!(is_by_a_path(&flow(&calls, "c"), "a"), "a tile of `b` has waited for all of the expert's rows of `a`");
}

/// The phases of each path, by task.
fn all_paths(checked: &CheckedGraph) -> Vec<Vec<String>> {
    let graph = checked.graph();
    let task = |phase: &PhaseId| graph.tasks[graph.phases[*phase].task].name.to_string();
    let path = |dependency: &Dependency| match &dependency.cover {
        Cover::Path(phases) => Some(phases.iter().map(task).collect()),
        Cover::Counter => None,
    };
    checked.dependencies().iter().filter_map(path).collect()
}

#[test]
fn every_step_of_a_path_has_a_counter() {
    // `give_back` follows `dispatch` by four steps, two of which are shorter by a path.
    let both = |a: &str, b: &str, to: &str| {
        tiles(8, &format!("both(&{a}[r].group(e, t), &{b}[r].group(e, t), &mut {to}[r].group(e, t));"))
    };
    let calls = dispatch("x") + &project(8, 64, "recv", "a") + &both("recv", "a", "b") + &both("recv", "b", "c");
    let both = "#[aiv_task]
        pub fn both(x: &Tile<bf16, 8, 64>, y: &Tile<bf16, 8, 64>, z: &mut Tile<bf16, 8, 64>) { z.store(x.load() * y.load()); }
        #[taskflow]";
    let checked = read(&source(&calls, "c").replace("#[taskflow]", both)).unwrap();
    let last = ["dispatch", "project", "both", "both", "give_back"];
    assert_eq!(all_paths(&checked), [&last[..3], &last[..4], &last]);
}

#[test]
fn the_first_dependency_of_all_can_be_a_path() {
    let two = "#[aiv_task]
        pub fn two(x: &Tile<bf16, 8, 64>, y: &mut Tile<bf16, 8, 64>, z: &mut Tile<bf16, 8, 64>) {
            let x = x.load();
            y.store(&x * &x);
            z.store(&x + &x);
        }
        #[taskflow]";
    let add = "swiglu::<64, _>(&b[r].group(e, t), &a[r].group(e, t), &mut c[r].group(e, t));";
    let first = tiles(8, "two(&x[r].group(e, t), &mut a[r].group(e, t), &mut b2[r].group(e, t));");
    let calls = first + &swiglu(8, 64, "b2", "b") + &tiles(8, add);
    let source = source(&calls, "c")
        .replace("#[taskflow]", two)
        .replace("x: &PerRank<Tensor<bf16, 64>>", "x: &PerRank<Received<bf16, 64>>")
        .replace("let a =", "let b2 = PerRank::ragged::<bf16, 64>(ep, route);\nlet a =");
    let checked = read(&source).unwrap();
    assert_eq!(all_paths(&checked), [["two", "swiglu", "swiglu"]]);
}

#[test]
fn a_path_holds_all_rows_of_the_counter_that_it_replaces() {
    // `a` is half written in tiles of 4 rows and half in tiles of 8: its counter stands for 8. The path goes by tiles of 4.
    let tasks = "#[aiv_task]
        pub fn two(x: &Tile<bf16, 4, 32>, y: &mut Tile<bf16, 4, 32>, z: &mut Tile<bf16, 4, 32>) {
            let x = x.load();
            y.store(&x * &x);
            z.store(&x + &x);
        }
        #[aiv_task]
        pub fn both(x: &Tile<bf16, 4, 64>, y: &Tile<bf16, 4, 32>, z: &mut Tile<bf16, 4, 32>) {
            z.store(x.load().even_columns() * y.load());
        }
        #[taskflow]";
    let right = "project::<32, _, _>(&recv[r].group(e, t), &w[r].expert(e).tile(1), &mut a[r].group(e, t).cols(1));";
    let second = "swiglu::<32, _>(&half[r].group(e, t), &half[r].group(e, t), &mut other[r].group(e, t));";
    let by_a_path = |height: u32| {
        let calls = dispatch("x")
            + &tiles(4, "two(&recv[r].group(e, t).cols(0), &mut a[r].group(e, t).cols(0), &mut half[r].group(e, t));")
            + &tiles(height, right)
            + &tiles(4, second)
            + &tiles(4, "both(&a[r].group(e, t), &other[r].group(e, t), &mut b[r].group(e, t).cols(0));")
            + &tiles(4, "both(&a[r].group(e, t), &other[r].group(e, t), &mut b[r].group(e, t).cols(1));");
        let tensors = ["half", "other"].map(|name| format!("let {name} = PerRank::ragged::<bf16, 32>(ep, route);\n"));
        let source = source(&calls, "b")
            .replace("#[taskflow]", tasks)
            .replace("let a =", &format!("{}let a =", tensors.concat()));
        all_paths(&read(&source).unwrap()).contains(&["two", "swiglu", "both"].map(str::to_owned).to_vec())
    };
    assert!(by_a_path(4));
    assert!(!by_a_path(8));
}

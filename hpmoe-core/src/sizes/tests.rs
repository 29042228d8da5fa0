use super::fit::fitted;
use super::ladders::{PRODUCT_ROWS, PUTS, ROWS_BESIDE_GRADIENTS};
use super::latency::Latency;
use super::search::Known;
use super::*;
use crate::artifacts::parse_settings;
use crate::fixture::{SMALL_TILES, with_small_tiles};
use crate::front::{ReadModule, front, modules};
use crate::tuned::overrides;
use proptest::prelude::*;

const FORWARD: &str = include_str!("../../../examples/moe_ffn.rs");

/// The kernel of a source.
fn kernel(source: &str) -> ItemMod {
    modules(source).unwrap().remove(0)
}

/// The forward layer with all tile sizes left open.
fn module() -> ItemMod {
    kernel(FORWARD)
}

fn chosen(settings: &str, expected: Expected) -> Result<NamedSizes, String> {
    open_sizes(&module(), &parse_settings(settings).unwrap(), &Target::ascend_a3(), expected)
}

/// The rows that a build chooses for the puts of the layer with both passes.
fn chosen_put(settings: &str, ranks: u32) -> usize {
    let module = kernel(include_str!("../../../examples/moe_backward.rs"));
    let expected = Expected { ranks: Some(ranks), tokens: None };
    open_sizes(&module, &parse_settings(settings).unwrap(), &Target::ascend_a3(), expected).unwrap()["PUT"]
}

/// The sizes for two ranks of a machine with much time between tiles.
fn chosen_slowly(settings: &str) -> NamedSizes {
    let mut slow = Target::ascend_a3();
    slow.set("sync.tile_overhead_ns=900").unwrap();
    let ranks = Expected { ranks: Some(2), tokens: None };
    open_sizes(&module(), &parse_settings(settings).unwrap(), &slow, ranks).unwrap()
}

const LARGE: &str = "HIDDEN=7168,INTER=2048,EXPERTS=256,TOP_K=8,TOKENS=4096";

#[test]
fn few_rows_get_narrower_tiles_and_what_is_set_stays() {
    let many = chosen(LARGE, Expected::default()).unwrap();
    assert_eq!(many.len(), 5);
    let few = chosen(LARGE, Expected { ranks: Some(64), tokens: Some(64) }).unwrap();
    assert!(few["TILE_N"] < many["TILE_N"], "{few:?} and {many:?}");
    let set = chosen(&format!("{LARGE},TILE_N=256,PUT=3"), Expected { ranks: Some(64), tokens: Some(64) }).unwrap();
    assert!(set.keys().eq(["BLOCK", "COLUMNS", "TILE_M"]), "{set:?}");
}

/// Sizes for very many tokens are the same as for fewer, and are chosen in no more time.
#[test]
fn any_number_of_tokens_has_sizes() {
    let sizes = |tokens: usize| {
        let layer = format!("HIDDEN=64,INTER=48,EXPERTS=4,TOP_K=2,TOKENS={tokens}");
        chosen(&layer, Expected { ranks: Some(2), tokens: None }).unwrap()
    };
    assert_eq!(sizes(200_000_000), sizes(1 << 16));
}

/// Rows of 256 bytes take least time in puts of about a hundred.
#[test]
fn short_rows_are_put_in_large_pieces() {
    let sizes = chosen("HIDDEN=128,INTER=128,EXPERTS=8,TOP_K=6,TOKENS=4096", Expected { ranks: Some(4), tokens: None });
    assert_eq!(sizes.unwrap()["PUT"], 128);
    // Rows of 8 KiB are not.
    assert_eq!(chosen_put("HIDDEN=4096,INTER=1536,EXPERTS=128,TOP_K=8,TOKENS=4096", 32), 8);
}

/// An expert has as many rows as a rank has tokens.
#[test]
fn puts_are_no_larger_than_the_rows_of_an_expert_need() {
    let layer = "HIDDEN=128,INTER=1024,EXPERTS=64,TOP_K=8,TOKENS=4096,TILE_M=128,TILE_N=256,BLOCK=16,COLUMNS=1024";
    let (module, set, target) = (module(), parse_settings(layer).unwrap(), Target::ascend_a3());
    let most = |tokens| {
        let expected = Expected { ranks: Some(8), tokens: Some(tokens) };
        let mut search = Search::new(&module, &set, &target, expected, OpenSize::of(&["PUT".to_owned()]));
        let flows = search.flows(&[PUTS.first]);
        search.suit(&flows);
        search.open[0].ladder.values.last().copied()
    };
    assert_eq!([4096, 64, 32, 16, 4].map(most), [128, 64, 32, 16, 8].map(Some));
}

/// A fence follows each put, and takes longer than sending 48 short rows. Larger puts therefore pay off there, although cores then have
/// different numbers of rows. With long rows, they don't.
#[test]
fn few_puts_are_larger_only_if_rows_are_short() {
    assert!(chosen_put("HIDDEN=384,INTER=768,EXPERTS=128,TOP_K=6,TOKENS=1024", 8) >= 32);
    assert_eq!(chosen_put("HIDDEN=4096,INTER=1536,EXPERTS=128,TOP_K=8,TOKENS=256", 32), 8);
}

/// A layer of few columns between the projections mainly sends rows. If an expert has many of a rank, large puts take less time in total, and
/// tiles of few rows begin while later rows are in transit.
#[test]
fn layers_that_mainly_send_rows_have_large_puts_or_low_tiles() {
    let narrow =
        |experts: usize, tokens: usize| format!("HIDDEN=5120,INTER=128,EXPERTS={experts},TOP_K=8,TOKENS={tokens}");
    assert!(chosen_put(&narrow(64, 6000), 8) >= 32);
    // 4 puts of 32 rows are too few for puts of 320 KiB.
    assert_eq!(chosen_put(&narrow(64, 1024), 8), 16);
    let rows = |layer: &str| chosen(layer, Expected { ranks: Some(4), tokens: None }).unwrap()["TILE_M"];
    assert_eq!(rows("HIDDEN=5120,INTER=128,EXPERTS=16,TOP_K=4,TOKENS=500"), 64);
    assert_eq!(rows("HIDDEN=5120,INTER=2048,EXPERTS=16,TOP_K=4,TOKENS=500"), 128);
}

/// 3 rows of each of 16 ranks: boundaries of 8 rows cut those of four ranks into two puts, and the others wait for these ranks.
#[test]
fn few_rows_of_a_rank_are_put_whole() {
    assert!(chosen_put("HIDDEN=256,INTER=448,EXPERTS=256,TOP_K=2,TOKENS=384", 16) >= 32);
}

/// 23 rows are two or three puts of 16, which save little over three or four of 8, but mostly one put of 32 or more.
#[test]
fn puts_that_save_nothing_are_passed_over() {
    assert!(chosen_put("HIDDEN=384,INTER=1024,EXPERTS=256,TOP_K=2,TOKENS=3000", 8) >= 32);
}

/// Without uneven tokens, wide tiles would take the least time.
#[test]
fn tiles_are_no_wider_than_suits_an_uneven_routing() {
    let sizes = chosen_slowly("HIDDEN=2880,INTER=2880,EXPERTS=128,TOP_K=4,TOKENS=16");
    assert!(sizes["TILE_N"] < 256, "{sizes:?}");
}

/// Wide tiles save less than tiles at the end of an uneven routing cost.
#[test]
fn launches_that_do_little_but_read_weights_have_narrow_tiles() {
    let columns =
        |tokens: usize| chosen_slowly(&format!("HIDDEN=7168,INTER=2048,EXPERTS=256,TOP_K=8,TOKENS={tokens}"))["TILE_N"];
    // 1, 4 and 256 rows of an expert.
    assert_eq!([16, 64, 4096].map(columns), [128, 128, 256]);
}

/// If cores have a few tiles each, they can begin as soon as an expert's first rows have arrived, and results go back meanwhile.
#[test]
fn few_tiles_of_each_core_are_small_ones() {
    let text = "HIDDEN=4096,INTER=1536,EXPERTS=128,TOP_K=8,TOKENS=128";
    let sizes = chosen(text, Expected { ranks: Some(64), tokens: None }).unwrap();
    assert_eq!((sizes["TILE_M"], sizes["TILE_N"], sizes["PUT"]), (128, 128, 8));
}

#[test]
fn a_kernel_without_open_sizes_gets_none() {
    let module = kernel(&with_small_tiles(FORWARD));
    let sizes = open_sizes(&module, &Overrides::new(), &Target::ascend_a3(), Expected::default());
    assert_eq!(sizes, Ok(NamedSizes::new()));
}

#[test]
fn launches_without_ranks_or_tokens_are_refused_whatever_is_open() {
    let module = kernel(&with_small_tiles(FORWARD));
    for expected in [Expected { ranks: Some(0), tokens: None }, Expected { ranks: None, tokens: Some(0) }] {
        let said = open_sizes(&module, &Overrides::new(), &Target::ascend_a3(), expected).unwrap_err();
        assert!(said.contains(", but a launch has from 1 to 256 ranks"), "{said}");
    }
}

#[test]
fn sizes_are_chosen_for_any_number_of_ranks_that_schedules_are_made_for() {
    assert!(chosen(LARGE, Expected { ranks: Some(3), tokens: None }).is_ok());
    let said = chosen("EXPERTS=512", Expected { ranks: Some(512), tokens: None }).unwrap_err();
    assert!(said.contains("can't be launched on 512 ranks: choose from 1 to 256 ranks"), "{said}");
}

#[test]
fn tokens_that_no_launch_has_are_refused() {
    let said = chosen(LARGE, Expected { ranks: None, tokens: Some(4097) }).unwrap_err();
    assert!(said.contains("takes 1 to 4096 tokens per rank (`TOKENS`), but the build expects 4097"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn any_layer_gets_sizes_that_it_can_have(
        hidden in 1usize..600, inter in 1usize..300, share in 1usize..5, ranks in 1u32..5, top_k in 1usize..5, tokens in 1usize..300
    ) {
        let experts = share * ranks as usize * 4;
        let text = format!("HIDDEN={},INTER={},EXPERTS={experts},TOP_K={top_k},TOKENS={tokens}", 16 * hidden, 16 * inter);
        let sizes = chosen(&text, Expected { ranks: Some(ranks), tokens: None }).unwrap();
        prop_assert_eq!(sizes.len(), 5);
        let set = parse_settings(&text).unwrap();
        prop_assert!(front(&module(), &overrides(&set, &sizes)).is_ok(), "{:?} with {}", sizes, text);
    }
}

#[test]
fn sizes_that_were_too_slow_for_one_size_are_estimated_again_for_another() {
    let slow = Known::Slow(9.7);
    assert!(slow.answers(Some(9.5)) && slow.answers(Some(9.7)));
    // Another ladder must save less, or the sizes that are best now are slower with even tokens.
    assert!(!slow.answers(Some(9.8)) && !slow.answers(None));
    assert!([Known::Refused, Known::Estimated(Latency::default())].iter().all(|known| known.answers(None)));
}

/// The rows and columns of gradients for gpt-oss-120b's layer, with the other sizes set.
fn of_gradients(settings: &str, target: &Target, ranks: u32) -> (usize, usize) {
    let module = kernel(include_str!("../../../examples/moe_backward.rs"));
    let layer = format!("HIDDEN=2880,INTER=2880,EXPERTS=128,TOP_K=4,TILE_M=128,PUT=8,BLOCK=16,COLUMNS=1024,{settings}");
    let expected = Expected { ranks: Some(ranks), tokens: None };
    let sizes = open_sizes(&module, &parse_settings(&layer).unwrap(), target, expected).unwrap();
    (sizes["GRAD_M"], sizes["GRAD_N"])
}

/// With even tokens, a gradient's tile of 256 by 512 takes as long as one of 512 by 256; with uneven tokens, it takes longer.
#[test]
fn tiles_of_gradients_grow_by_rows_before_they_grow_by_columns() {
    assert_eq!(of_gradients("TOKENS=4096,TILE_N=256", &Target::ascend_a3(), 2), (512, 256));
}

/// From 256 rows and columns, neither 512 rows nor 128 columns save as much as 128 rows do; both together save 3 % more.
#[test]
fn rows_and_columns_of_gradients_are_chosen_together() {
    let mut slow = Target::ascend_a3();
    slow.set("sync.tile_overhead_ns=900").unwrap();
    assert_eq!(of_gradients("TOKENS=2048,TILE_N=256", &slow, 16), (512, 128));
}

#[test]
fn beside_gradients_taller_tiles_must_save_less() {
    let others = SMALL_TILES.into_iter().filter(|(name, _)| *name != "TILE_M");
    let set = others.map(|(name, size)| (name.to_owned(), size.into())).collect();
    let target = Target::ascend_a3();
    let even = |source: &str| {
        let module = kernel(source);
        let open = OpenSize::of(&["TILE_M".to_owned()]);
        let mut search = Search::new(&module, &set, &target, Expected::default(), open);
        let flows = search.flows(&[0]);
        search.suit(&flows);
        search.open[0].ladder.even
    };
    let backward = include_str!("../../../examples/moe_backward.rs");
    assert_eq!([FORWARD, backward].map(even), [PRODUCT_ROWS.even, ROWS_BESIDE_GRADIENTS.even]);
}

/// Tiles of 256 rows are estimated to save one percent, but take a tenth longer if the experts' numbers of rows differ a little.
#[test]
fn taller_tiles_must_save_more_than_uneven_loads_of_cores_cost() {
    let mut slow = Target::ascend_a3();
    slow.set("sync.tile_overhead_ns=900").unwrap();
    let rows = |layer: &str, ranks: u32| {
        let settings = parse_settings(&format!("{layer},TILE_N=256,PUT=8,BLOCK=16,COLUMNS=1024")).unwrap();
        open_sizes(&module(), &settings, &slow, Expected { ranks: Some(ranks), tokens: None }).unwrap()["TILE_M"]
    };
    assert_eq!(rows("HIDDEN=4096,INTER=1536,EXPERTS=128,TOP_K=8,TOKENS=1024", 64), 128);
    assert_eq!(rows("HIDDEN=7168,INTER=2048,EXPERTS=256,TOP_K=8,TOKENS=8192", 8), 256);
}

/// With even tokens, each of Mixtral-8x22B's experts has 128 rows: one tile of 128 or of 256 rows. With uneven ones, the simulated latency is 8
/// to 13 % less with tiles of 256 rows. If experts have 512 rows, tiles of 256 rows make the loads of cores less even.
#[test]
fn uneven_tokens_decide_between_sizes_with_the_same_tiles_for_even_ones() {
    let rows = |tokens: usize| {
        let layer = format!("HIDDEN=6144,INTER=16384,EXPERTS=8,TOP_K=2,TOKENS={tokens}");
        chosen(&layer, Expected { ranks: Some(1), tokens: None }).unwrap()["TILE_M"]
    };
    assert_eq!([512, 2048].map(rows), [256, 128]);
}

/// Sizes are reduced to the dimensions that they divide, which leaves the tiles the same.
#[test]
fn sizes_are_no_larger_than_what_they_divide() {
    let sizes = chosen("HIDDEN=80,INTER=24,EXPERTS=8,TOP_K=2,TOKENS=5", Expected::default()).unwrap();
    assert_eq!((sizes["TILE_N"], sizes["COLUMNS"]), (80, 80));
    assert!(sizes["BLOCK"] <= 5, "{sizes:?}");
    // An expert has no more than the tokens of all ranks.
    let alone = chosen("HIDDEN=80,INTER=24,EXPERTS=8,TOP_K=2,TOKENS=5", Expected { ranks: Some(1), tokens: None });
    assert_eq!(alone.unwrap()["PUT"], 5);
    let narrow = chosen("HIDDEN=2048,INTER=24,EXPERTS=8,TOP_K=2,TOKENS=5", Expected::default()).unwrap();
    assert!(narrow["TILE_N"] >= 128 && narrow["COLUMNS"] >= 512, "{narrow:?}");
}

/// The search doesn't try a size that is larger than every tensor it divides, because it takes the same time as a smaller one.
#[test]
fn sizes_that_exceed_all_tensors_take_the_same_time_and_are_not_tried() {
    let module = kernel(include_str!("../../../examples/moe_backward.rs"));
    let set = parse_settings("HIDDEN=80,INTER=48,TILE_M=64,PUT=8,BLOCK=8").unwrap();
    let open = ["TILE_N", "GRAD_M", "GRAD_N", "COLUMNS"].map(str::to_owned);
    let target = Target::ascend_a3();
    let mut search = Search::new(&module, &set, &target, Expected::default(), OpenSize::of(&open));
    let values = |search: &Search, size: usize| search.open[size].ladder.values;
    let enough: Vec<usize> =
        (0..open.len()).map(|size| values(&search, size).iter().position(|&value| value >= 80).unwrap()).collect();
    let time = search.time(&enough, None).unwrap().unwrap();
    for size in 0..open.len() {
        for place in 0..values(&search, size).len() {
            let mut other = enough.clone();
            other[size] = place;
            let same = search.time(&other, None).unwrap() == Some(time);
            // Tiles of a gradient that are half as wide may take the same time on another core.
            assert!(same == (place >= enough[size]) || same && size > 0, "{:?}", search.sizes(&other));
            for next in search.moves(size, &other) {
                let fits = |at: usize| next[at] == other[at] || next[at] <= enough[at];
                assert!((0..open.len()).all(fits), "{:?}", search.sizes(&next));
            }
        }
    }
}

/// Columns of tiles that follow from two sizes are fewer if one of them is smaller, however large the other can be.
#[test]
fn how_large_a_size_is_enough_depends_on_the_others() {
    let source = FORWARD.replace("COLUMNS: usize = _", "COLUMNS: usize = TILE_A * TILE_B");
    let source = source.replace(
        "    /// (token, k) slots",
        "    pub const TILE_A: usize = _;\n    pub const TILE_B: usize = _;\n    /// (token, k) slots",
    );
    let (module, target) = (kernel(&source), Target::ascend_a3());
    let set = parse_settings("HIDDEN=4096,INTER=64,TILE_M=64,TILE_N=64,PUT=8,BLOCK=8").unwrap();
    let open = OpenSize::of(&["TILE_A".to_owned(), "TILE_B".to_owned()]);
    let search = Search::new(&module, &set, &target, Expected::default(), open);
    let tried = |places: [usize; 2]| {
        let moves = search.moves(0, &places);
        moves.into_iter().map(|places| search.sizes(&places)["TILE_A"]).collect::<Vec<_>>()
    };
    // From 32 times 32 columns, and from 32 times 256: half as many of these also make a single tile.
    assert_eq!([tried([3, 3]), tried([3, 6])], [vec![64, 16], vec![]]);
}

/// A size with a name of the kernel's own is reduced to the columns that it divides. If it also divides rows, it isn't.
#[test]
fn sizes_with_names_of_the_kernel_s_own_are_chosen() {
    let of = |source: &str, layer: &str| {
        let (module, set) = (kernel(source), parse_settings(layer).unwrap());
        open_sizes(&module, &set, &Target::ascend_a3(), Expected::default()).unwrap()["TILE_OWN"]
    };
    let columns = FORWARD.replace("COLUMNS", "TILE_OWN");
    assert_eq!(of(&columns, "HIDDEN=48,INTER=48,EXPERTS=8,TOP_K=2,TOKENS=4096"), 48);
    assert!(of(&columns, "HIDDEN=4096,INTER=64,EXPERTS=8,TOP_K=2,TOKENS=4096") >= 128);
    let fitted_to = |source: &str| {
        let set = parse_settings("HIDDEN=48,INTER=48,TILE_M=64,TILE_N=48,PUT=8,BLOCK=8,COLUMNS=48").unwrap();
        let (mut module, sizes) = (ReadModule::new(&kernel(source)), NamedSizes::from([("TILE_OWN".to_owned(), 128)]));
        fitted(&mut module, (&set, 8), sizes)["TILE_OWN"]
    };
    let rows_too = FORWARD.replace("COLUMNS", "TILE_M").replace("TILE_M", "TILE_OWN");
    assert_eq!([&columns, &rows_too].map(|source| fitted_to(source)), [48, 128]);
}

/// If only one size is too large, the others stay as they are.
#[test]
fn one_size_is_made_smaller_before_all_are() {
    // The columns of a tile must divide those of a gradient that takes turns of them.
    let source = include_str!("../../../python/stock/src/biased.rs");
    let module = kernel(source);
    let set = parse_settings("HIDDEN=2880,INTER=2880,GATE_UP=5760,EXPERTS=32,TOP_K=4,TOKENS=4096").unwrap();
    let sizes = open_sizes(&module, &set, &Target::ascend_a3(), Expected::default()).unwrap();
    assert_eq!(sizes["TILE_N"], 64, "{sizes:?}");
    assert!(sizes["TILE_M"] >= 128 && sizes["GRAD_N"] >= 128 && sizes["COLUMNS"] >= 512, "{sizes:?}");
    assert!(front(&module, &overrides(&set, &sizes)).is_ok());
}

#[test]
fn a_kernel_always_gets_the_same_sizes() {
    let module = kernel(include_str!("../../../examples/moe_backward.rs"));
    let sizes = || open_sizes(&module, &Overrides::new(), &Target::ascend_a3(), Expected::default());
    assert_eq!(sizes(), sizes());
}

//! Tests with a launch that fits, and with each way not to fit and its error text.

use hpmoe_kernels::op::ElementType;
use hpmoe_kernels::{Experts, PerRank, Placement, Ranks, Tensor, bf16};

use super::*;
use crate::abi::{HPMOE_ROW_TILES, HpmoeDescriptor};
use crate::tables::RowKind;
use crate::testing::{TABLES, route};
use crate::{RawPart, RawTensor};

type Tokens = PerRank<Tensor<bf16, 16>>;
type Gate = PerRank<Experts<bf16, 32, 16>>;

/// The launch under test: three tokens on rank 0 and one on rank 1, unless a test changes it.
struct Case {
    ranks: usize,
    capacity: usize,
    route: Route,
    x: Tokens,
    gate: Gate,
    y: Tokens,
}

fn tokens(rows: &[usize]) -> Tokens {
    rows.iter().map(|rows| Tensor::zeros(*rows)).collect()
}

fn gate(experts: &[usize]) -> Gate {
    experts.iter().map(|experts| Experts::from_vec(vec![bf16::ZERO; experts * 32 * 16])).collect()
}

fn case() -> Case {
    let route = route(&[&[0, 1, 1, 2, 3, 0], &[0, 3]], 4);
    Case { ranks: 2, capacity: 5, route, x: tokens(&[3, 1]), gate: gate(&[2, 2]), y: tokens(&[3, 1]) }
}

impl Case {
    fn check(self) -> Result<(), String> {
        let Self { ranks, capacity, route, x, gate, mut y } = self;
        let arguments = [Argument::read("x", &x), Argument::read("gate", &gate), Argument::write("y", &mut y)];
        check(ranks, capacity, &route, &arguments)
    }
}

fn check(ranks: usize, capacity: usize, route: &Route, arguments: &[Argument<'_>]) -> Result<(), String> {
    let group = Ranks::new(ranks);
    let sizes = RankSizes::new(&TABLES.sizes(), ranks, Some(capacity), false);
    let made = || LaunchRoute::Host(RouteChunks::new(&TABLES, route, &sizes));
    let found = schedule(&TABLES, ranks)
        .and_then(|_| fits_kernel(&TABLES, group.count(), route))
        .and_then(|()| super::arguments(&TABLES, group, &made(), arguments))
        .and_then(|()| super::capacity(&TABLES, &sizes, &RouteChunks::new(&TABLES, route, &sizes)));
    found.map_err(|error| error.to_string())
}

fn refused(case: Case, text: &str) {
    assert_eq!(case.check().unwrap_err(), text);
}

#[test]
fn a_launch_that_fits_passes() {
    case().check().unwrap();
}

#[test]
fn ranks() {
    refused(
        Case { ranks: 3, ..case() },
        "layer::forward has no schedule for 3 ranks: use one of 1, 2, or name 3 in the build script, by `.ranks(3)`",
    );
    refused(
        Case { ranks: 1, ..case() },
        "the route is for 2 ranks, but the group has 1: make both with the same number",
    );
    refused(
        Case { x: tokens(&[3]), ..case() },
        "`x` has parts for 1 ranks, but the group has 2: give one part per rank, with zero rows for a rank without tokens",
    );
}

#[test]
fn route_constants() {
    refused(
        Case { route: route(&[&[], &[]], 6), ..case() },
        "the route has EXPERTS = 6, but layer::forward was built with 4: make the route with the kernel's constants",
    );
    let ids: PerRank<Tensor<i32, 3>> = PerRank::from_fn(Ranks::new(2), |_| Tensor::zeros(0));
    refused(
        Case { route: Route::new(Ranks::new(2), 4, &ids).unwrap(), ..case() },
        "the route has TOP_K = 3, but layer::forward was built with 2: make the route with the kernel's constants",
    );
}

#[test]
fn places_of_a_rank() {
    let placed = |places: &[Option<usize>]| {
        let placement = Placement::new(Ranks::new(2), 4, places).unwrap();
        let ids: PerRank<Tensor<i32, 2>> =
            PerRank::from_vec(vec![Tensor::from_slice(&[0, 1, 1, 3, 3, 2]), Tensor::from_slice(&[2, 1])]);
        Route::placed(&placement, &ids).unwrap()
    };
    refused(
        Case { route: placed(&[Some(0), Some(1), None, Some(2), Some(3), Some(0)]), ..case() },
        "there are 3 places for experts on each rank, but layer::forward was built with 2: use a placement with 2 places on each",
    );
    let spare = KernelTables { spare: 1, ..TABLES };
    fits_kernel(&spare, 2, &placed(&[Some(0), Some(1), None, Some(2), Some(3), Some(0)])).unwrap();
    // Experts may lie anywhere.
    fits_kernel(&TABLES, 2, &placed(&[Some(3), Some(1), Some(0), Some(2)])).unwrap();
    let once = TensorTable { row_kind: RowKind::Once, ..TABLES.tensors[0] };
    let once = KernelTables { tensors: vec![once].leak(), ..spare };
    fits_kernel(&once, 2, &placed(&[Some(3), Some(1), None, Some(0), None, Some(2)])).unwrap();
    let copied = fits_kernel(&once, 2, &placed(&[Some(0), Some(1), None, Some(2), Some(3), Some(0)])).unwrap_err();
    assert_eq!(
        copied.to_string(),
        "layer::forward sends each token once to a rank (`route.sends_once`), but some expert has several places: give each expert one \
         place, or send tokens for every expert (`route.sends`)"
    );
}

#[test]
fn tokens_of_a_rank() {
    let ids = [0, 1].repeat(9);
    refused(
        Case { route: route(&[&[], &ids], 4), ..case() },
        "rank 1 has 9 tokens, but layer::forward was built with TOKENS = 8: raise TOKENS or pass fewer tokens",
    );
}

#[test]
fn rows() {
    refused(
        Case { x: tokens(&[3, 2]), ..case() },
        "`x` of rank 1 has 2 rows, but the route needs 1: give it the rows of the tokens that the route was made \
         from",
    );
    refused(
        Case { y: tokens(&[0, 1]), ..case() },
        "`y` of rank 0 has 0 rows, but the route needs 3: give it the rows of the tokens that the route was made \
         from",
    );
    refused(
        Case { gate: gate(&[2, 4]), ..case() },
        "`gate` of rank 1 has 4 experts, but each rank owns 2: give each rank the weights of its own experts",
    );
}

#[test]
fn capacity() {
    refused(
        Case { capacity: 4, ..case() },
        "rank 0 would receive 5 rows, but there is room for 4: raise it with Group::capacity_rows(5), which takes 1024 \
         more bytes on each rank, or send fewer tokens",
    );
    // The fullest rank is named, here the last one, so that the capacity will do for all.
    let more = route(&[&[2, 3, 3, 2, 2, 3], &[0, 3]], 4);
    refused(
        Case { capacity: 6, route: more, ..case() },
        "rank 1 would receive 7 rows, but there is room for 6: raise it with Group::capacity_rows(7), which takes 1024 \
         more bytes on each rank, or send fewer tokens",
    );
}

#[test]
fn the_capacity_that_an_error_names_will_do() {
    // Both ranks have more rows than fit, the second one most.
    let route = route(&[&[0, 3, 2, 1], &[3, 2]], 4);
    let said = Case { capacity: 1, route, x: tokens(&[2, 1]), y: tokens(&[2, 1]), ..case() }.check().unwrap_err();
    assert!(
        said.starts_with(
            "rank 1 would receive 4 rows, but there is room for 1: raise it with Group::capacity_rows(4), "
        )
    );
    assert!(said.contains("which takes 3072 more bytes on each rank"), "{said}");
}

#[test]
fn tensors() {
    let Case { ranks, capacity, route, x, gate, y } = &case();
    let check = |arguments: &[Argument<'_>]| check(*ranks, *capacity, route, arguments).unwrap_err();
    assert_eq!(
        check(&[Argument::read("x", x)]),
        "layer::forward takes 3 tensors, but got 1: rebuild, so that kernel and caller agree"
    );
    assert_eq!(
        check(&[Argument::read("x", x), Argument::read("gate", gate), Argument::read("y", y)]),
        "the kernel writes `y`, but it was passed for reading: rebuild, so that kernel and caller agree"
    );
    let wide: PerRank<Tensor<f32, 32>> = PerRank::from_fn(Ranks::new(2), |_| Tensor::zeros(1));
    assert_eq!(
        check(&[Argument::read("x", &wide), Argument::read("gate", gate), Argument::read("y", y)]),
        "`x` has 32 columns of f32, but the kernel was built for 16 columns of bf16: rebuild, so that kernel and \
         caller agree"
    );
    let flat: PerRank<Experts<bf16, 16, 16>> =
        PerRank::from_fn(Ranks::new(2), |_| Experts::from_vec(vec![bf16::ZERO; 512]));
    assert_eq!(
        check(&[Argument::read("x", x), Argument::read("gate", &flat), Argument::read("y", y)]),
        "`gate` has 16 rows per expert, but the kernel was built for 32 rows per expert: rebuild, so that kernel and \
         caller agree"
    );
    assert_eq!(
        check(&[Argument::read("x", x), Argument::read("gate", x), Argument::read("y", y)]),
        "`gate` has a row per token, but the kernel was built for 32 rows per expert: rebuild, so that kernel and \
         caller agree"
    );
    assert_eq!(
        check(&[Argument::read("x", gate), Argument::read("gate", gate), Argument::read("y", y)]),
        "`x` has 32 rows per expert, but the kernel was built for a row per token: rebuild, so that kernel and \
         caller agree"
    );
    let integers: PerRank<Tensor<i32, 16>> = PerRank::from_fn(Ranks::new(2), |_| Tensor::zeros(1));
    assert_eq!(
        check(&[Argument::read("x", &integers), Argument::read("gate", gate), Argument::read("y", y)]),
        "`x` has 16 columns of i32, but the kernel was built for 16 columns of bf16: rebuild, so that kernel and \
         caller agree"
    );
}

#[test]
fn a_part_starts_on_a_line() {
    let (case, mut rows) = (case(), [[0_u8; 64]; 4]);
    let base = rows.as_mut_ptr().cast::<u8>();
    let at = |offset| {
        let on_line = base.align_offset(RawPart::ALIGNMENT);
        base.wrapping_add(on_line + offset)
    };
    let tensor = RawTensor { element: ElementType::bf16, columns: 16, kind: RowKind::Token, writable: true };
    let check = |y: [*mut u8; 2]| {
        let parts = PerRank::from_vec(vec![RawPart { address: y[0], count: 3 }, RawPart { address: y[1], count: 1 }]);
        // SAFETY: nothing is launched, so nothing is read or written.
        #[expect(unsafe_code, reason = "the arguments of a launch that is only checked")]
        let y = unsafe { Argument::from_raw("y", tensor, &parts) };
        let arguments = [Argument::read("x", &case.x), Argument::read("gate", &case.gate), y];
        check(2, case.capacity, &case.route, &arguments)
    };
    assert_eq!(check([at(0), at(128)]), Ok(()));
    let refused = check([at(0), at(32)]).unwrap_err();
    let address = at(32).addr();
    let text = format!(
        "`y` of rank 1 starts at address {address:#x}, but parts start at multiples of 64 bytes: copy it to such an address"
    );
    assert_eq!(refused, text);
}

/// Checks every limit of a route that a kernel makes: a value at the limit passes, and a larger one is an error with a
/// way out.
#[test]
fn routes_that_kernels_make() {
    let sizes = |ranks, local_experts, chunk_tokens| RankSizes {
        ranks,
        experts: ranks * local_experts,
        local_experts,
        top_k: 1,
        chunks: 1,
        chunks_at_most: None,
        counts_parts: false,
        tokens: chunk_tokens,
        chunk_tokens,
        token_rows: 1,
        capacity: usize::MAX,
        processes: false,
    };
    let walked = HpmoeDescriptor { kind: HPMOE_ROW_TILES as _, arrival_turn: 1, ..bytemuck::Zeroable::zeroed() };
    let by_arrival = ScheduleTable { descriptors: bytemuck::bytes_of(&walked).to_vec().leak(), ..TABLES.schedules[0] };
    let check = |tokens, schedule: &ScheduleTable, sizes: RankSizes| {
        super::routing(&KernelTables { tokens, ..TABLES }, schedule, &sizes, false).map_err(|error| error.to_string())
    };
    let by_number = &TABLES.schedules[0];
    let refused = |found: Result<(), String>, most: usize, what: &str, ranks: usize, value: usize, way_out: &str| {
        let text = format!(
            "layer::forward makes its route itself, for at most {most} {what}, but on {ranks} ranks there can be {value}: {way_out}, or \
             give it a route that the host makes (`route: &Route`)"
        );
        assert_eq!(found.unwrap_err(), text);
    };
    let most = 63 << 16;
    assert_eq!(check(8, by_number, sizes(1, 1, most)), Ok(()));
    let way_out = "lower TOKENS, use more chunks or fewer ranks";
    refused(check(8, by_number, sizes(1, 1, most + 1)), most, "rows of an expert", 1, most + 1, way_out);
    // Experts are ordered by rows times experts, which must be a number of 32 bits.
    assert_eq!(check(8, by_number, sizes(2, 512, 1 << 20)), Ok(()));
    let way_out = "lower TOKENS, or use more chunks or ranks";
    for (local, tokens) in [(513, 1 << 20), (1024, 1 << 20), (2048, 63 << 15)] {
        let what = "pairs of a row and a local expert";
        refused(check(8, by_number, sizes(2, local, tokens)), 1 << 30, what, 2, 2 * local * tokens, way_out);
    }
    let slots = 1 << 26;
    assert_eq!(check(slots, by_number, sizes(2, 1, 8)), Ok(()));
    let way_out = "lower TOKENS or use fewer ranks";
    let (found, value) = (check(slots + 1, by_number, sizes(2, 1, 8)), 4 * (slots + 1));
    refused(found, 1 << 28, "slots of all ranks", 2, value, way_out);
    // Tiles of 32 rows in the order in which they come.
    assert_eq!(check(8, &by_arrival, sizes(2, 1, 1 << 15)), Ok(()));
    assert_eq!(check(8, by_number, sizes(2, 1, 1 << 16)), Ok(()));
    let way_out = "use taller row tiles, lower TOKENS or Group::capacity_rows, or use fewer ranks";
    refused(check(8, &by_arrival, sizes(2, 1, 1 << 16)), 2048, "row tiles of an expert", 2, 4096, way_out);
}

//! The memory that a group allocates equals the kernel's table exactly, and does not grow from launch to launch.

use crate::chunks::{
    grad_in_placed_chunks, in_1_chunk, in_2_chunks, in_4_chunks, in_7_chunks, in_8_chunks, in_chosen_chunks,
    in_placed_chunks,
};
use crate::gradients_in_chunks::{chosen_chunks, five_chunks, one_chunk, two_chunks};
use crate::random::{Case, Routing, experts, ids, numbers, placement, slots, tokens, weights};
use crate::small_kernels::placed::{self, EXPERTS};
use hpmoe_kernels::memory::{LaunchRows, MemoryPlace, MemoryTable, RankSizes};
use hpmoe_runtime::CompiledKernel;
use hpmoe_runtime::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts a thread's memory that is aligned to a line: heaps, workspaces and tables of launches. A group allocates and
/// frees them in the thread that launches.
struct Counting;

/// Alignment of the memory that kernels see.
const LINE: usize = 512;
/// Spare places of a rank, as in the build script.
const SPARE: usize = 2;
/// Larger memory is mapped instead of allocated.
const MAPPED: usize = 4 << 20;

thread_local! {
    /// Bytes in use, and their maximum.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(layout: Layout, sign: isize) {
    if layout.align() == LINE {
        let (held, peak) = HELD.get();
        let held = held + sign * isize::try_from(layout.size()).expect("fits");
        HELD.set((held, peak.max(held)));
    }
}

// SAFETY: forwards all calls to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout, 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout, 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout, -1);
        count(Layout::from_size_align(size, layout.align()).expect("the caller's layout"), 1);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(address, layout, size) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        count(layout, -1);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn held() -> usize {
    usize::try_from(HELD.get().0).expect("no more is freed than was allocated")
}

/// The most memory in use while `run` runs, beyond that in use before.
fn peak_of(run: impl FnOnce()) -> usize {
    let before = HELD.get().0;
    HELD.set((before, before));
    run();
    usize::try_from(HELD.get().1 - before).expect("the peak is no less")
}

/// Five routings: even, with empty slots, two with a favourite expert, and all to the first experts. The number of
/// tokens differs between ranks.
fn cases(ranks: usize, experts: usize, most: usize) -> Vec<Case> {
    let tokens: Vec<usize> = (0..ranks).map(|rank| [most, 0, most / 3, 1][rank % 4]).collect();
    let case = |routing, seed| Case { tokens: tokens.clone(), routing, seed, late: None };
    vec![
        case(Routing::Uniform, 1),
        case(Routing::Uniform, 5 << 5),
        case(Routing::Favourite(0), 2),
        case(Routing::Favourite(experts - 1), 3),
        case(Routing::Few, 4),
    ]
}

/// Bytes of heap and workspace of all ranks, by the table; each is too small to be mapped.
fn of_table(kernel: &CompiledKernel, ranks: usize, capacity: Option<usize>) -> usize {
    let table = kernel.memory_table(ranks, capacity, 0).unwrap();
    assert!(table.heap < MAPPED && table.workspace < MAPPED, "{table:?}");
    assert_eq!((table.bytes(MemoryPlace::Heap), table.bytes(MemoryPlace::Workspace)), (table.heap, table.workspace));
    let needed = kernel.memory(ranks, capacity).unwrap();
    assert_eq!((needed.heap, needed.workspace), (table.heap, table.workspace));
    ranks * (table.heap + table.workspace)
}

/// Launches on all routings, twice, and checks the group's memory.
fn holds(
    kernels: &[&CompiledKernel],
    capacity: Option<usize>,
    cases: &[Case],
    launch: impl Fn(&Group, &Case) -> Result<(), LaunchError>,
) {
    let ranks = cases[0].tokens.len();
    let expected: usize = kernels.iter().map(|kernel| of_table(kernel, ranks, capacity)).sum();
    let group = Group::new(ranks).threads(1);
    let group = capacity.into_iter().fold(group, Group::capacity_rows);
    let before = held();
    let mut peaks = Vec::new();
    for _ in 0..2 {
        for case in cases {
            peaks.push(peak_of(|| launch(&group, case).unwrap_or_else(|error| panic!("{case:?}: {error}"))));
            let names: Vec<_> = kernels.iter().map(|kernel| kernel.tables().name).collect();
            assert_eq!(held() - before, expected, "{names:?} on {ranks} ranks, {case:?}");
        }
    }
    // The first launch allocates heaps and workspaces; tables live as long as their launch.
    assert!(peaks[0] > expected && peaks[1..].iter().all(|peak| *peak > 0), "{peaks:?} of {expected}");
    assert_eq!(peaks[cases.len() + 1..], peaks[1..cases.len()], "a second time takes more than the first");
    drop(group);
    assert_eq!(held(), before);
}

macro_rules! forward {
    ($($test:ident: $module:ident, $kernel:ident;)*) => {$(
        #[test]
        fn $test() {
            use $module::$kernel::{EXPERTS, TOP_K, TOKENS, forward};
            for (ranks, capacity) in [(1, None), (2, None), (3, Some(120))] {
                holds(&[&forward::KERNEL], capacity, &cases(ranks, EXPERTS, TOKENS.min(30)), |group, case| {
                    let route = Route::new(case.ep(), EXPERTS, &ids::<TOP_K>(case, EXPERTS))?;
                    let (x, weights) = (numbers(case), weights(case));
                    let [gate, up] = [1, 2].map(|which| experts(case, EXPERTS, which));
                    let (down, mut y) = (experts(case, EXPERTS, 3), case.zeros());
                    forward::launch(group, &route, &x, &weights, &gate, &up, &down, &mut y).map(drop)
                });
            }
        }
    )*};
}

forward! {
    in_one_chunk: in_1_chunk, moe_in_1_chunk;
    in_two_chunks: in_2_chunks, moe_in_2_chunks;
    in_four_chunks: in_4_chunks, moe_in_4_chunks;
    in_seven_chunks: in_7_chunks, moe_in_7_chunks;
    in_eight_chunks: in_8_chunks, moe_in_8_chunks;
    in_chosen_chunks: in_chosen_chunks, moe_in_chosen_chunks;
}

/// One group whose launches have all numbers of chunks.
#[test]
fn in_each_number_of_chunks() {
    use in_chosen_chunks::moe_in_chosen_chunks::{EXPERTS, TOP_K, forward};
    let chunks = Cell::new([false; 9]);
    // Every token goes to three experts of the first rank.
    let cases: Vec<Case> = [60, 40, 16, 10]
        .map(|tokens| Case { tokens: vec![tokens; 3], routing: Routing::Few, seed: 7, late: None })
        .into();
    holds(&[&forward::KERNEL], Some(90), &cases, |group, case| {
        let route = Route::new(case.ep(), EXPERTS, &ids::<TOP_K>(case, EXPERTS))?;
        let (x, weights) = (numbers(case), weights(case));
        let [gate, up] = [1, 2].map(|which| experts(case, EXPERTS, which));
        let (down, mut y) = (experts(case, EXPERTS, 3), case.zeros());
        let report = forward::launch(group, &route, &x, &weights, &gate, &up, &down, &mut y)?;
        let mut found = chunks.get();
        found[report.chunks] = true;
        chunks.set(found);
        Ok(())
    });
    assert_eq!([1, 2, 4, 8].map(|count| chunks.get()[count]), [true; 4]);
}

/// The five routings, with spare places and experts anywhere.
#[test]
fn in_chosen_chunks_with_places_to_spare() {
    use in_placed_chunks::moe_in_placed_chunks::{EXPERTS, TOP_K, forward};
    for (ranks, capacity) in [(2, None), (5, Some(100))] {
        holds(&[&forward::KERNEL], capacity, &cases(ranks, EXPERTS, 30), |group, case| {
            let placement = placement(case, EXPERTS, 1);
            let route = Route::placed(&placement, &ids::<TOP_K>(case, EXPERTS))?;
            let alone = Case { tokens: vec![0], ..case.clone() };
            let gate = placement.place(&experts(&alone, EXPERTS, 1)[Rank::new(0)]).unwrap();
            let up = placement.place(&experts(&alone, EXPERTS, 2)[Rank::new(0)]).unwrap();
            let down = placement.place(&experts(&alone, EXPERTS, 3)[Rank::new(0)]).unwrap();
            let (x, weights, mut y) = (numbers(case), weights(case), case.zeros());
            forward::launch(group, &route, &x, &weights, &gate, &up, &down, &mut y).map(drop)
        });
    }
}

macro_rules! backward {
    ($($test:ident: $module:ident, $kernel:ident;)*) => {$(
        #[test]
        fn $test() {
            use $module::$kernel::{EXPERTS, TOP_K, backward};
            for (ranks, capacity) in [(2, Some(200)), (3, Some(120))] {
                holds(&[&backward::KERNEL], capacity, &cases(ranks, EXPERTS, 30), |group, case| {
                    let route = Route::new(case.ep(), EXPERTS, &ids::<TOP_K>(case, EXPERTS))?;
                    let (x, dy, weights) = (numbers(case), tokens(case, 9), slots(case, &route));
                    let [gate, up] = [1, 2].map(|which| experts(case, EXPERTS, which));
                    let (down, mut dx) = (experts(case, EXPERTS, 3), case.zeros());
                    let mut dweights = PerRank::slots(case.ep(), &route);
                    let [mut dgate, mut dup] = [(); 2].map(|()| PerRank::experts(case.ep(), &route));
                    let mut ddown = PerRank::experts(case.ep(), &route);
                    backward::launch(
                        group, &route, &x, &dy, &weights, &gate, &up, &down, &mut dx, &mut dweights, &mut dgate, &mut dup, &mut ddown,
                    )
                    .map(drop)
                });
            }
        }
    )*};
}

backward! {
    back_in_one_chunk: one_chunk, grad_in_1_chunk;
    back_in_two_chunks: two_chunks, grad_in_2_chunks;
    back_in_five_chunks: five_chunks, grad_in_5_chunks;
    back_in_chosen_chunks: chosen_chunks, grad_in_chosen_chunks;
}

/// One group whose backward launches have all numbers of chunks, with spare places.
#[test]
fn back_in_each_number_of_chunks_with_places_to_spare() {
    use grad_in_placed_chunks::moe_back_in_placed_chunks::{EXPERTS, TOP_K, backward};
    let chunks = Cell::new([false; 9]);
    let cases: Vec<Case> = [60, 40, 16, 10]
        .map(|tokens| Case { tokens: vec![tokens, tokens / 2, tokens], routing: Routing::Few, seed: 7, late: None })
        .into();
    for cases in [cases, self::cases(3, EXPERTS, 40)] {
        holds(&[&backward::KERNEL], Some(75), &cases, |group, case| {
            let placement = reversed(case.ep(), EXPERTS, 1);
            let route = Route::placed(&placement, &ids::<TOP_K>(case, EXPERTS))?;
            let (x, dy, weights) = (numbers(case), tokens(case, 9), slots(case, &route));
            let alone = Case { tokens: vec![0], ..case.clone() };
            let gate = placement.place(&experts(&alone, EXPERTS, 1)[Rank::new(0)]).unwrap();
            let up = placement.place(&experts(&alone, EXPERTS, 2)[Rank::new(0)]).unwrap();
            let down = placement.place(&experts(&alone, EXPERTS, 3)[Rank::new(0)]).unwrap();
            let (mut dx, mut dweights) = (case.zeros(), PerRank::slots(case.ep(), &route));
            let [mut dgate, mut dup] = [(); 2].map(|()| PerRank::experts(case.ep(), &route));
            let mut ddown = PerRank::experts(case.ep(), &route);
            let report = backward::launch(
                group,
                &route,
                &x,
                &dy,
                &weights,
                &gate,
                &up,
                &down,
                &mut dx,
                &mut dweights,
                &mut dgate,
                &mut dup,
                &mut ddown,
            )?;
            let mut found = chunks.get();
            found[report.chunks] = true;
            chunks.set(found);
            Ok(())
        });
    }
    assert_eq!([1, 2, 4, 8].map(|count| chunks.get()[count]), [true; 4]);
}

/// Experts in descending order, one place each; spare places are empty.
fn reversed(ep: Ranks, experts: usize, spare: usize) -> Placement {
    let share = experts.div_ceil(ep.count());
    let place = |place: usize| {
        let (rank, local) = (place / (share + spare), place % (share + spare));
        let number = rank * share + local;
        (local < share && number < experts).then(|| experts - 1 - number)
    };
    let places: Vec<_> = (0..ep.count() * (share + spare)).map(place).collect();
    Placement::new(ep, experts, &places).unwrap()
}

/// Both passes with spare places, on numbers of ranks that divide the experts and on others.
#[test]
fn with_places_to_spare() {
    for ranks in [2, 4, 7] {
        let kernels = [&placed::forward::KERNEL, &placed::backward::KERNEL];
        holds(&kernels[..1], None, &cases(ranks, EXPERTS, 20), |group, case| both(group, case, false));
        holds(&kernels, Some(180), &cases(ranks, EXPERTS, 20), |group, case| both(group, case, true));
    }
}

/// The forward pass and, if requested, the backward pass, with experts anywhere. Tensors kept between the passes have
/// the table's number of rows.
fn both(group: &Group, case: &Case, backward: bool) -> Result<(), LaunchError> {
    let ep = case.ep();
    let placement = placement(case, EXPERTS, SPARE);
    let route = &Route::placed(&placement, &ids::<{ placed::TOP_K }>(case, EXPERTS))?;
    let alone = Case { tokens: vec![0], ..case.clone() };
    let place = |which| placement.place(&experts(&alone, EXPERTS, which)[Rank::new(0)]).unwrap();
    let (gate, up) = (&place(1), &place(2));
    let down = &placement.place(&experts(&alone, EXPERTS, 3)[Rank::new(0)]).unwrap();
    let (x, weights, mut y) = (numbers(case), weights(case), case.zeros());
    let recv = &mut PerRank::symmetric(ep, route);
    let (g, u) = (&mut PerRank::ragged(ep, route), &mut PerRank::ragged(ep, route));
    placed::forward::launch(group, route, &x, &weights, gate, up, down, recv, g, u, &mut y)?;
    for rank in ep {
        let shape = placed::forward::KERNEL.tables().shape();
        let sizes = RankSizes::new(&shape.sizes, ep.count(), None, false);
        let rows = LaunchRows { tokens: route.tokens(rank), received: route.received(rank), once: 0 };
        let table = MemoryTable::new(&shape, &sizes, &rows);
        let bytes = |name: &str| table.lines.iter().find(|line| line.name == name).unwrap().bytes;
        assert_eq!(bytes("recv"), size_of_val(&recv[rank].to_vec()[..]));
        assert_eq!(bytes("gate"), size_of_val(&gate[rank].to_vec()[..]));
        assert_eq!(bytes("weights"), size_of_val(&weights[rank].to_vec()[..]));
        assert_eq!(bytes("y"), size_of_val(&y[rank].to_vec()[..]));
    }
    if !backward {
        return Ok(());
    }
    let (dy, slots) = (&tokens(case, 9), &slots(case, route));
    let (dx, dweights) = (&mut case.zeros(), &mut PerRank::slots(ep, route));
    let (dgate, dup) = (&mut PerRank::experts(ep, route), &mut PerRank::experts(ep, route));
    let ddown = &mut PerRank::experts(ep, route);
    placed::backward::launch(group, route, dy, slots, gate, up, down, recv, g, u, dx, dweights, dgate, dup, ddown)
        .map(drop)
}

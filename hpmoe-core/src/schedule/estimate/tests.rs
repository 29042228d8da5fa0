//! A replay takes as long as its tiles, computed one by one.

use super::ready::Share;
use super::*;
use crate::analyze::{Grid, Index};
use crate::cost::{Cost, EntryTile, Work};
use crate::fixture::{Layer, chunked, moe_backward, moe_ffn, once, three_puts};
use crate::graph::External;
use crate::schedule::{CoreKind, ahead_of};
use hpmoe_kernels::op::TaskKind;
use std::collections::BTreeSet;

#[test]
fn a_tile_takes_longer_for_each_further_wait_and_signal() {
    let (checked, target) = (moe_ffn(&Layer::SMALL), Target::ascend_a3());
    let swiglu = PhaseId(3);
    let fixed = |waits: usize, signals: usize| {
        let mut schedule = with_orders(&checked, &target, &Choices::default(), std::iter::once(1));
        let phase = &mut schedule.phases[swiglu];
        phase.waits = vec![phase.waits[0].clone(); waits];
        phase.signals = vec![phase.signals[0]; signals];
        let order = schedule.order(1).unwrap();
        Run::new(&checked, &Works::of_phases(checked.graph()), (&schedule, order), &target, Spread::Even).fixed[swiglu]
            .0
    };
    let ps = |ns: f64| Time::from_ns(ns).0;
    assert_eq!(fixed(0, 0), fixed(1, 1));
    assert_eq!(fixed(3, 1) - fixed(1, 1), 2 * ps(target.sync.wait_ns));
    assert_eq!(fixed(1, 3) - fixed(1, 1), 2 * ps(target.sync.signal_ns));
}

#[test]
fn a_tile_reads_the_counters_of_its_tokens() {
    let (checked, target) = (once(&Layer::DEEPSEEK), Target::ascend_a3());
    let schedule = with_orders(&checked, &target, &Choices::default(), std::iter::once(1));
    let graph = checked.graph();
    let all = schedule.phases.iter().flat_map(|(id, phase)| phase.waits.iter().map(move |wait| (id, wait)));
    let (of_tokens, others): (Vec<_>, Vec<_>) = all.partition(|(_, wait)| wait.index == Index::OnceTiles);
    assert!(others.iter().all(|&(id, wait)| counters(graph, 1, id, wait) == 1.0));
    let [(id, wait)] = of_tokens[..] else { panic!("one phase reads once-sent rows: {of_tokens:?}") };
    let height = graph.spaces[graph.phases[id].space].height.number();
    // On one rank, one of the 8 rows of a token is the one that is sent. On 64 ranks, each with one expert, all are.
    let further = |ranks| counters(graph, ranks, id, wait) - 1.0;
    let wanted = f64::from(height - 1) * (1.0 - 1.0 / 64.0);
    assert!((further(1) - wanted).abs() < 1e-9, "{} instead of {wanted}", further(1));
    assert!(further(64).abs() < 1e-9, "{}", further(64));
    assert!(further(1) > further(8) && further(8) > further(32));
}

/// A part's queue as cores walk it: entries that are walked together, and the reason for the visit.
type Walks<'a> = Vec<(&'a [Entry], Comes)>;

/// The effect of a walk on the clocks of a run, and the time at which each entry's rows are complete.
struct Walked {
    clocks: Vec<Time>,
    ends: Vec<Ready>,
}

/// The links and the memory of a rank.
struct Taken {
    links: Links,
    hbm: Bandwidth,
}

impl Taken {
    fn nothing(run: &Run) -> Self {
        let hbm = Bandwidth::new(run.target.memory.hbm_gb_per_s, 8_000_000);
        Self { links: Links::new(run.graph, run.order, run.target), hbm }
    }

    /// The time at which bytes have passed through HBM that would do so between two times if nothing else did.
    fn through_hbm(&mut self, bytes: f64, (from, end): (Time, Time)) -> Time {
        self.hbm.take(bytes, from, bytes / (end.0 - from.0) as f64).max(end)
    }
}

/// Runs entries like [`Run::walk`], but without any tables: computes each tile's core, place, rows and work again.
fn one_by_one(
    run: &Run,
    taken: &mut Taken,
    groups: &Groups,
    part: PartId,
    (walk, comes): (&[Entry], Comes),
    ready: &Ready,
) -> Walked {
    let head = walk[0];
    let (graph, fixed) = (run.graph, &run.schedule.phases[head.phase]);
    let phase = &graph.phases[head.phase];
    let items_of = |entry: Entry| u64::from(run.extents.items(entry, graph.phases[entry.phase].space));
    let of_space = |space| {
        let over = |id: &PhaseId| graph.phases[*id].space == space;
        let first = graph.phases.ids().find(over).expect("a phase is over the space");
        groups.of_phase(first).map(items_of).sum::<u64>()
    };
    let columns = u64::from(phase.columns());
    let earlier = groups.of_phase(head.phase).take_while(|entry| groups.number(*entry) < groups.number(head));
    let first = fixed.preceding.iter().map(|&(space, columns)| of_space(space) * u64::from(columns)).sum::<u64>()
        + earlier.map(items_of).sum::<u64>() * columns;
    let deal = Deal { cores: run.order.parts[part].count.into(), rotation: fixed.rotation.into() };
    let outer = u64::from(graph.column_rows(head.phase));
    let items = items_of(head);
    let swizzle = Swizzle { items: items * outer, columns: columns / outer, band: fixed.band.into() };
    let mut clocks = run.clocks[part].clone();
    let cores_with_tiles: BTreeSet<u64> = (0..swizzle.tiles()).map(|tile| deal.core(first + tile)).collect();
    for (core, clock) in (0..).zip(&mut clocks) {
        let read = comes.read(cores_with_tiles.contains(&core));
        *clock += Time::from_ns(run.target.sync.entry_ns) * u64::from(read);
    }
    let mut ends = vec![Ready::default(); walk.len()];
    if items == 0 {
        ends.fill(Ready::of(Share::ALL, ready.at(Share::ALL)));
    }
    for tile in 0..swizzle.tiles() {
        let (place, column) = swizzle.place(tile);
        let (item, column) = ((place / outer) as u32, (place % outer * (columns / outer) + column) as u32);
        let core = deal.core(first + tile) as usize;
        let share = Share::of(graph, run.order.ranks, head, (item, items as u32));
        // The entries whose tiles have ended, but have not signalled.
        let mut signalling = Vec::new();
        for (at, &entry) in walk.iter().enumerate() {
            let rows = run.extents.rows(entry, phase.space, item);
            let (peer, items, band) = (entry.peer_offset, items as u32, fixed.band);
            let together: Vec<PhaseId> = walk.iter().map(|entry| entry.phase).collect();
            let joined = Works::joined(run.works, &together, entry.phase);
            let work = run.works[entry.phase].work(run.target, EntryTile { peer, rows, column, items, band, joined });
            let free = clocks[core];
            let begun = free.max(ready.at(share)) + run.fixed[entry.phase];
            let ended = match graph.tasks[graph.phases[entry.phase].task].kind {
                TaskKind::Put => {
                    let of_pair = (0..items).map(|item| run.extents.rows(entry, phase.space, item)).sum();
                    put(run, taken, entry.phase, &work, begun) + signals(run, entry.phase, (rows, of_pair))
                }
                _ => {
                    let (ended, [ahead, moved]) = computed(run, (part, entry.phase), &work, free, begun);
                    let arrived = ready.at(share);
                    if arrived > free {
                        taken.through_hbm(ahead, (free, arrived));
                        taken.through_hbm(moved, (arrived, ended))
                    } else {
                        taken.through_hbm(ahead + moved, (free, ended))
                    }
                }
            };
            clocks[core] = ended;
            signalling.push(at);
            if !walk.get(at + 1).is_some_and(|next| joins_puts(run, next.phase)) {
                signalling.drain(..).for_each(|at| ends[at].delay(share, ended + run.visible));
            }
        }
    }
    Walked { clocks, ends }
}

/// The end of a put. A put to another rank goes through the links, and is known to have arrived a fence later.
fn put(run: &Run, taken: &mut Taken, phase: PhaseId, work: &Work, begun: Time) -> Time {
    let begun = begun + Time::from_ns(run.target.sync.put_start_ns);
    let alone = begun + run.costs.alone(0, work);
    match *work {
        Work::Put { to, bytes } if to > 0 => {
            let joined = run.schedule.phases.ids().any(|next| next.0 == phase.0 + 1 && joins_puts(run, next));
            let fence = if joined { 0.0 } else { run.target.sync.fence_remote_ns };
            let left = taken.links.put(phase, (to, bytes), begun);
            // The bytes of a peer's put arrive meanwhile.
            taken.through_hbm((bytes + bytes) as f64, (begun, left));
            alone.max(left) + Time::from_ns(fence)
        }
        Work::Put { bytes, .. } => taken.through_hbm((bytes + bytes) as f64, (begun, alone)),
        _ => panic!("a put puts"),
    }
}

/// Whether a phase joins a put, and puts as well. It has the fence and the signals of both.
fn joins_puts(run: &Run, phase: PhaseId) -> bool {
    let kind = |phase: PhaseId| run.graph.tasks[run.graph.phases[phase].task].kind;
    run.schedule.phases[phase].joins_previous && [PhaseId(phase.0 - 1), phase].map(kind) == [TaskKind::Put; 2]
}

/// The time of a put's signals to all blocks of tokens but the first.
fn signals(run: &Run, phase: PhaseId, (rows, of_pair): (u32, u32)) -> Time {
    let mut blocks = 0.0;
    for signal in run.schedule.phases[phase].signals.iter().filter(|signal| signal.index == Index::PieceBlocks) {
        let Grid::Blocks { height } = run.checked.counters()[signal.counter].grid else { panic!("it names blocks") };
        let tokens = (run.graph.sizes.chunk_tokens() as u64 * u64::from(rows)) as f64 / f64::from(of_pair);
        blocks += f64::min(tokens / f64::from(height), f64::from(rows - 1));
    }
    Time::from_ns(blocks * run.target.sync.signal_ns)
}

/// The end of a tile that computes, the bytes that its core reads ahead from HBM, and those that the tile moves.
///
/// The core reads ahead from the pickup of the tile on. Until the previous tile ends, one L1 stage is free; if the tile then waits, both
/// are.
fn computed(run: &Run, (part, phase): (PartId, PhaseId), work: &Work, free: Time, begun: Time) -> (Time, [f64; 2]) {
    let ahead = ahead_of(run.checked, run.schedule, phase, work);
    let picked_up = Time::from_ns(run.target.sync.task_pickup_ns);
    let waits = begun > free + run.fixed[phase];
    let whole = run.costs.ahead(ahead, 1.0).time.0.max(1) as f64;
    let most = if waits { 1.0 } else { ahead.first };
    let read = most.min((begun.0 - free.0).saturating_sub(picked_up.0) as f64 / whole);
    let left = work.products().map_or(*work, Work::Share).after(ahead, read);
    match run.costs.cost(0, &left) {
        Cost::Shared(shared) => {
            let memory = match run.order.parts[part].kind {
                CoreKind::Aic => shared.hbm / (run.target.memory.hbm_gb_per_s / f64::from(run.target.cores.aic)) * 1e3,
                CoreKind::Aiv => 0.0,
            };
            let ended = (begun.0 + shared.time.0).max(begun.0 + memory as u64);
            (Time(ended), [read * ahead.hbm, shared.hbm])
        }
        _ => (begun + run.costs.alone(0, &left), [read * ahead.hbm, 0.0]),
    }
}

#[test]
fn entries_take_what_their_tiles_take_one_by_one() {
    let target = Target::ascend_a3();
    let uneven = Layer { tokens: 200, put: 8, ..Layer::DEEPSEEK };
    // A layer in which the last row tile of an expert is short, and its last column narrow.
    let narrow = Layer { hidden: 2880, inter: 2880, experts: 32, top_k: 4, tokens: 1000, ..Layer::DEEPSEEK };
    let in_chunks = chunked(&Layer { tokens: 256, ..uneven }, 4);
    // With few tokens, most pieces have no rows.
    let few = moe_ffn(&Layer { tokens: 4, ..uneven });
    let backward = moe_backward(&Layer { tokens: 200, put: 8, ..narrow });
    // An operator that declares its time.
    let external = moe_ffn(&uneven).changed(|graph| {
        let swiglu = graph.phases[PhaseId(3)].task;
        graph.tasks[swiglu].external = Some(External {
            file: "swiglu.h".to_owned(),
            function: "Swiglu".to_owned(),
            device_only: false,
            tolerance: 0.0,
            microseconds: Some(7.0),
            memory: Vec::new(),
        });
    });
    // A range of experts, dealt with a rotation.
    let many = moe_ffn(&Layer { experts: 256, tokens: 16, ..Layer::SMALL });
    let kernels = [moe_ffn(&narrow), backward, once(&uneven), in_chunks, few, external, many, three_puts()];
    let (mut waited, mut ranges) = (0, 0);
    for (checked, spread) in kernels.iter().flat_map(|checked| [Spread::Even, Spread::Uneven].map(|s| (checked, s))) {
        let ranks = 8;
        let mut schedule = with_orders(checked, &target, &Choices::default(), std::iter::once(ranks));
        for id in checked.graph().phases.ids() {
            let phase = &mut schedule.phases[id];
            phase.rotation = if phase.spans_experts { 7 } else { phase.rotation };
            ranges += u32::from(phase.spans_experts);
        }
        let order = schedule.order(ranks).unwrap();
        let groups = Groups::new(checked.graph(), ranks);
        let works = Works::of_phases(checked.graph());
        let mut run = Run::new(checked, &works, (&schedule, order), &target, spread);
        let mut taken = Taken::nothing(&run);
        for part in order.queues.ids() {
            // Tests the first walks, and one of each phase.
            let mut phases = BTreeSet::new();
            let walks = schedule.walks_of_ranges(checked.graph(), order, part);
            let walks = walks.filter(|(walk, _)| phases.insert(walk[0].phase) || phases.len() < 5);
            for (number, (walk, comes)) in walks.enumerate() {
                // Some rows are ready at once, others long after the cores are free.
                let latest = run.clocks[part].iter().max().unwrap().0;
                let mut ready = Ready::of(Share::ALL, Time(latest / 2));
                if number % 3 == 0 {
                    let graph = checked.graph();
                    let items = run.extents.items(walk[0], graph.phases[walk[0].phase].space).max(1);
                    ready.delay(Share::of(graph, ranks, walk[0], (items - 1, items)), Time(latest + 50_000_000));
                    waited += 1;
                }
                let wanted = one_by_one(&run, &mut taken, &groups, part, (walk, comes), &ready);
                let ends = run.walk(part, (walk, comes), &ready);
                assert_eq!(run.clocks[part], wanted.clocks, "{walk:?}");
                assert_eq!(ends, wanted.ends, "{walk:?}");
            }
        }
        assert_eq!((run.links.least(), run.hbm.least()), (taken.links.least(), taken.hbm.least()));
        // The end is that of the last core, unless memory or links take longer.
        let last = run.clocks.iter().flat_map(|(_, clocks)| clocks.iter().copied()).max().unwrap();
        assert_eq!(run.end(), last.max(taken.links.least()).max(taken.hbm.least()));
        let more = 2.0 * last.0 as f64 * run.hbm.bytes_per_ps();
        run.hbm.take(more, last, f64::INFINITY);
        assert!(run.end().0 >= 2 * last.0);
        (run.hbm, run.links) = (Taken::nothing(&run).hbm, Taken::nothing(&run).links);
        assert_eq!(run.end(), last);
    }
    assert!(waited > 40 && ranges > 3, "{waited}, {ranges}");
}

#[test]
fn all_entries_are_replayed_each_when_what_it_waits_for_is_there() {
    let target = Target::ascend_a3();
    for checked in [moe_ffn(&Layer::SMALL), chunked(&Layer::SMALL, 4)] {
        let ranks = 2;
        let even = estimate(&checked, &target, ranks, |_| false).unwrap();
        assert_eq!(even.uneven, None);
        let both = estimate(&checked, &target, ranks, |time| time == even.even).unwrap();
        assert_eq!(both.even, even.even);
        // An entry begins when the last entry that it waits for has ended.
        let schedule = with_orders(&checked, &target, &Choices::default(), std::iter::once(ranks));
        let order = schedule.order(ranks).unwrap();
        let groups = Groups::new(checked.graph(), ranks);
        let precedence = Precedence::new(&checked, &groups, ranks, None);
        let works = Works::of_phases(checked.graph());
        for (spread, whole) in [(Spread::Even, both.even), (Spread::Uneven, both.uneven.unwrap())] {
            let run = || Run::new(&checked, &works, (&schedule, order), &target, spread);
            let replayed = run().replayed(&groups, &precedence);
            assert_eq!(whole, Time::from_us(target.launch.kernel_us) + replayed);
            assert_eq!(replayed, in_order(run(), &groups));
        }
    }
    let layer = moe_ffn(&Layer::SMALL);
    let estimated = |ranks: &u32| estimate(&layer, &target, *ranks, |_| true).is_some();
    assert!(![0, 257].iter().any(estimated) && [1, 2, 3, 16, 256].iter().all(estimated));
    // A launch takes time itself.
    let mut later = target.clone();
    later.launch.kernel_us += 3.0;
    let time = |target: &Target| estimate(&layer, target, 4, |_| false).unwrap().even;
    assert_eq!(time(&later), time(&target) + Time::from_us(3.0));
}

#[test]
fn entries_that_are_walked_together_wait_for_what_any_of_them_needs() {
    let target = Target::ascend_a3();
    // Products take most of the time, so the run ends earlier if they begin earlier.
    let mut checked = moe_ffn(&Layer { hidden: 2048, inter: 2048, tile_n: 256, tokens: 64, ..Layer::SMALL });
    let [gate, up] = [1, 2].map(PhaseId);
    checked.dependencies_mut().retain(|dependency| dependency.after != up);
    let schedule = with_orders(&checked, &target, &Choices::default(), std::iter::once(2));
    assert!(schedule.phases[up].joins_previous, "up needs no more than gate does");
    let order = schedule.order(2).unwrap();
    let groups = Groups::new(checked.graph(), 2);
    let precedence = Precedence::new(&checked, &groups, 2, None);
    let waiting = |phase: PhaseId| groups.of_phase(phase).all(|e| precedence.incoming()[groups.number(e)] > 0);
    assert!(waiting(gate) && !waiting(up));
    let works = Works::of_phases(checked.graph());
    let run = || Run::new(&checked, &works, (&schedule, order), &target, Spread::Even);
    assert_eq!(run().replayed(&groups, &precedence), in_order(run(), &groups));
}

/// The end of a run of all queues in which an entry begins when all entries that it depends on have ended. Of the entries that can begin, the
/// one that begins first is run next.
fn in_order(mut run: Run, groups: &Groups) -> Time {
    let (checked, order) = (run.checked, run.order);
    let graph = checked.graph();
    let by_expert = |phase: PhaseId| !graph.spaces[graph.phases[phase].space].by_chunk();
    let chunk = |entry: Entry| crate::schedule::groups::chunk(graph, order.ranks, entry);
    let whole = |index: &crate::analyze::Index| {
        use crate::analyze::Index;
        matches!(index, Index::Block | Index::PieceBlocks | Index::Rank)
    };
    let frees = checked.reuse().map(|reuse| reuse.frees);
    // An entry depends on entries that signal a counter of its expert or chunk, and on the freed word of the chunk before the last.
    let needs = |after: Entry, before: Entry| {
        let waits = |d: &&crate::analyze::Dependency| (d.before, d.after) == (before.phase, after.phase);
        let by_counter = checked.dependencies().iter().filter(waits).any(|d| {
            if whole(&d.wait.index) {
                chunk(before) == chunk(after)
            } else {
                by_expert(before.phase) && before.expert == after.expert
            }
        });
        let reuses = checked.reuse().is_some_and(|reuse| reuse.waits[after.phase].is_some());
        let word = Some(before.phase) == frees && reuses && chunk(after) == chunk(before) + 2;
        let words = Some(before.phase) == frees && Some(after.phase) == frees && before.expert + 1 == after.expert;
        let adds = before.phase == after.phase && graph.adds_up(after.phase) && chunk(before) + 1 == chunk(after);
        by_counter || word || words || adds
    };
    let all: Vec<Entry> = groups.all().collect();
    let mut done: Vec<Option<Ready>> = vec![None; all.len()];
    let walks = |part| (part, run.schedule.walks_of_ranges(run.graph, order, part).collect());
    let mut left: Vec<(PartId, Walks<'_>)> = order.queues.ids().map(walks).collect();
    while left.iter().any(|(_, walks)| !walks.is_empty()) {
        let mut able = Vec::new();
        for (at, (part, walks)) in left.iter().enumerate() {
            let Some(&(walk, _)) = walks.first() else { continue };
            let needed = |other: &&Entry| walk.iter().any(|entry| needs(*entry, **other));
            let ready = all
                .iter()
                .filter(needed)
                .try_fold(Ready::default(), |ready, other| Some(ready.latest(done[groups.number(*other)]?)));
            let Some(ready) = ready else { continue };
            let items = run.extents.items(walk[0], graph.phases[walk[0].phase].space);
            let tiles = (0..items).map(|item| ready.at(Share::of(graph, order.ranks, walk[0], (item, items))));
            let arrived = tiles.min().unwrap_or(ready.at(Share::ALL));
            let free = *run.clocks[*part].iter().min().unwrap();
            able.push((arrived.max(free), at, ready));
        }
        able.sort_by_key(|&(begins, at, _)| (begins, at));
        let &(_, at, ready) = able.first().expect("entries don't wait for one another");
        let (part, walks) = &mut left[at];
        let (walk, comes) = walks.remove(0);
        let ends = run.walk(*part, (walk, comes), &ready);
        walk.iter().zip(ends).for_each(|(entry, end)| done[groups.number(*entry)] = Some(end));
    }
    run.end()
}

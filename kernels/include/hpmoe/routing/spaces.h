// The extents of iteration spaces, computed from a route.
#pragma once

#include "hpmoe/routing/tables.h"

namespace hpmoe {

constexpr uint32_t RAGGED_HEIGHT = 1u << 30; // height of a space whose items are all rows of an expert

HPMOE_INLINE bool MadeOnHost(uint32_t kind) { return kind == HPMOE_BLOCKS || kind == HPMOE_CHUNKS; }

// The part that has the rows of a kind of space.
HPMOE_INLINE uint32_t PartOf(uint32_t kind) { return kind == HPMOE_SENDS_ONCE || kind == HPMOE_ONCE_TILES ? 1 : 0; }

HPMOE_INLINE HpmoeSpace SpaceOf(const VectorCore &core, uint32_t space) {
    return Load<HpmoeSpace>(core.launch.spaces + space * sizeof(HpmoeSpace));
}

// Number of items that hold rows [at, at + rows) of each expert, if items are cut at multiples of `height` rows. `at`
// may be overwritten.
HPMOE_INLINE void Pieces(const RouteLists &lists, uint32_t out, uint32_t at, uint32_t rows, uint32_t height,
                         uint32_t scratch) {
    lists.Positive(scratch, rows);
    if (height >= RAGGED_HEIGHT) {
        lists.Copied(out, scratch);
        return;
    }
    lists.Plus(out, at, rows);
    lists.Shifted(out, out, static_cast<int32_t>(height) - 1);
    lists.Quotients(out, out, height);
    lists.Quotients(at, at, height);
    lists.Minus(out, out, at);
    lists.Times(out, out, scratch);
}

// Stores the number of items of each group of a space in the first scratch list. Groups are pairs or, for tiles, the local
// experts of all ranks.
template <class Share>
HPMOE_ROUTINE void ItemsOf(VectorCore &core, const Share &route, const RouteLists &lists, uint32_t kind,
                           uint32_t height) {
    const uint32_t items = lists[SCRATCH], at = lists[SCRATCH + 1], rows = lists[SCRATCH + 4],
                   scratch = lists[SCRATCH + 2];
    if (kind == HPMOE_EXPERTS) {
        lists.Filled(items, 1);
        return;
    }
    HPMOE_EXPECTS(kind != HPMOE_ARRIVALS || Share::Needs(NEEDS_ARRIVALS));
    if (Share::Needs(NEEDS_ARRIVALS) && kind == HPMOE_ARRIVALS) {
        Arrivals(core, route, lists, rows, at);
        Pieces(lists, items, at, rows, height, scratch);
        return;
    }
    const bool sends = kind == HPMOE_SENDS || kind == HPMOE_SENDS_ONCE;
    if (sends) {
        lists.Copied(at, lists[BEFORE]);
    } else {
        lists.Filled(at, 0);
    }
    Pieces(lists, items, at, lists[sends ? OWN : TOTAL], height, scratch);
}

// Number of items before each group, if groups are sorted by position in the order of queues, then by peer. `items` has
// a number for each of `peers` peers and each local expert. With `own`, the order of queues is this rank's for all
// peers; otherwise it is each peer's.
HPMOE_ROUTINE void CountedBefore(VectorCore &core, const RouteLists &lists, uint32_t items, uint32_t peers, bool own,
                                 uint32_t out) {
    const uint32_t local = core.launch.local_experts;
    const uint32_t mine = core.launch.rank * local;
    const RouteLists groups = lists.Of(peers * local);
    const uint32_t place = lists[SCRATCH + 2], peer = lists[SCRATCH + 3], expert = lists[SCRATCH + 4];
    // Moves numbers from the order of groups to the sorted order: to word position * peers + peer.
    groups.Remainders(peer, place, peers);
    groups.Scaled(peer, peer, static_cast<int32_t>(local));
    if (own) {
        groups.Shifted(expert, place, static_cast<int32_t>(mine));
    } else {
        groups.Plus(expert, place, peer);
    }
    groups.Scaled(expert, expert, 4);
    groups.Picked(place, lists[ORDER], expert, 0);
    groups.Plus(place, place, peer);
    groups.Scaled(place, place, 4);
    groups.Picked(expert, items, place, 0);
    SumsBefore(peer, expert, lists[WORDS], place, groups.count);
    // Moves numbers back to the order of groups.
    groups.Remainders(place, expert, local);
    if (own) {
        groups.Shifted(place, place, static_cast<int32_t>(mine));
        groups.Scaled(place, place, 4);
        groups.Picked(out, lists[PLACE], place, 0);
    } else {
        groups.Copied(out, lists[PLACE]);
    }
    groups.Scaled(out, out, static_cast<int32_t>(peers));
    groups.Plus(out, out, expert);
    groups.Scaled(out, out, 4);
    groups.Picked(place, peer, out, 0);
    groups.Copied(out, place);
}

HPMOE_INLINE bool InPieces(uint32_t kind) {
    return kind == HPMOE_SENDS || kind == HPMOE_SENDS_ONCE || kind == HPMOE_ARRIVALS;
}

// Stores the number of items before each group of a space. If groups are local experts, also stores the numbers of all
// ranks, which peers need.
template <class Share>
HPMOE_INLINE void StoreItems(VectorCore &core, const Share &route, const RouteLists &lists, const HpmoeSpace &space) {
    const uint32_t items = lists[SCRATCH], sums = lists[SCRATCH + 1], mine = lists[SCRATCH + 5];
    const uint32_t segments = lists[SCRATCH + 2], scratch = lists[SCRATCH + 3];
    const uint32_t local = core.launch.local_experts;
    lists.Of(lists.count + 1).Filled(items, 0); // the sums read one more
    ItemsOf(core, route, lists, space.kind, space.height);
    if (InPieces(space.kind)) {
        SumsBefore(sums, items, lists[WORDS], scratch, lists.count + 1);
        StoreWords(space.first_items, sums, lists.count + 1);
        return;
    }
    if (space.kind != HPMOE_EXPERTS) {
        Segments(lists, segments, local);
        SumsInSegments(lists, sums, items, segments, scratch);
        StoreWords(space.peer_items, sums, lists.count);
    }
    lists.Of(local + 1).Picked(mine, items, lists[WORDS], core.launch.rank * local * 4);
    SumsBefore(segments, mine, lists[WORDS], scratch, local + 1);
    StoreWords(space.first_items, segments, local + 1);
}

// Stores the number of items before each group in the order of queues.
template <class Share>
HPMOE_INLINE void StoreCounted(VectorCore &core, const Share &route, const RouteLists &lists, const HpmoeSpace &space) {
    const uint32_t items = lists[SCRATCH], sums = lists[SCRATCH + 1], mine = lists[SCRATCH + 5];
    const uint32_t local = core.launch.local_experts;
    ItemsOf(core, route, lists, space.kind, space.height);
    if (InPieces(space.kind)) {
        CountedBefore(core, lists, items, core.launch.ranks, space.kind == HPMOE_ARRIVALS, sums);
        StoreWords(space.counted, sums, lists.count);
        return;
    }
    const RouteLists own = lists.Of(local);
    own.Picked(mine, items, lists[WORDS], core.launch.rank * local * 4);
    if (space.height >= RAGGED_HEIGHT && route.Chunks(core) > 1 && space.kind == HPMOE_ROW_TILES) {
        // Each expert has the same number in every chunk, so that the same core adds to its matrices.
        own.Remainders(sums, items, core.launch.chunk_experts);
    } else {
        CountedBefore(core, lists, mine, 1, true, sums);
    }
    StoreWords(space.counted, sums, local);
}

} // namespace hpmoe

// Routes that one launch keeps for later ones, in the caller's memory (HpmoeKeptHead).
//
// A launch with a kept route needs no ids, and no counts of other ranks. Each rank sends one word, which identifies the
// launch that kept its route. So all ranks find either that the same launch kept all routes, or the same fault, before
// any row is sent.
#pragma once

#include "hpmoe/routing/placement.h"

namespace hpmoe {

constexpr uint32_t KEPT_WORDS = sizeof(HpmoeKeptHead) / 4;
constexpr uint32_t KEPT_LAUNCH = 1; // the head may have any launch number
constexpr uint32_t KEPT_GROUPS = 7; // and any group_slots, if this launch needs no groups
constexpr uint32_t KEPT_PLACEMENT = 8;
constexpr uint32_t COPIED_WORDS = 4096;

// Words from one rank's kept counts to the next one's.
template <class Share> HPMOE_INLINE uint32_t KeptPitch(const Share &route) {
    return AlignUp(route.experts, HPMOE_LINE / 4);
}

// A word that the head must have on this rank.
template <class Share> HPMOE_INLINE uint32_t HeadWord(const VectorCore &core, const Share &route, uint32_t word) {
    switch (word) {
    case 0: return HPMOE_KEPT;
    case KEPT_LAUNCH: return static_cast<uint32_t>(core.launch_number);
    case 2: return core.launch.ranks;
    case 3: return core.launch.rank;
    case 4: return route.experts;
    case 5: return route.from.top_k;
    case 6: return core.launch.tokens;
    case KEPT_GROUPS: return route.from.group_slots;
    case KEPT_PLACEMENT: return route.from.placement != 0 ? Word<uint32_t>(route.from.placement, 0) : 0;
    default: return 0;
    }
}

// The word that a rank sends about the route that it was given: the launch that kept it, or a fault with the number of
// a wrong word.
template <class Share> HPMOE_INLINE uint32_t KeptBy(const VectorCore &core, const Share &route) {
    for (uint32_t word = 0; word < KEPT_WORDS; ++word) {
        const bool any = word == KEPT_LAUNCH || (word == KEPT_GROUPS && route.from.group_slots == 0);
        if (!any && Word<uint32_t>(route.from.kept, word) != HeadWord(core, route, word)) {
            return FAULT_COUNT + word;
        }
    }
    return Word<uint32_t>(route.from.kept, KEPT_LAUNCH) % FAULT_COUNT;
}

// The exchange of these words: in place of the counts or, if counts are exchanged as well, of the digests.
template <class Share> HPMOE_INLINE Share KeptWords(const VectorCore &core, const Share &route) {
    return route.IsPlaced() ? Digests(core, route) : route;
}

template <class Share> HPMOE_INLINE uint64_t KeptCounts(const Share &route, uint32_t rank) {
    return route.from.kept + sizeof(HpmoeKeptHead) + static_cast<uint64_t>(rank) * KeptPitch(route) * 4;
}

// The counts of this core's experts, as an earlier launch has kept them, to UB_COUNTED.
template <class Share> HPMOE_INLINE void LoadKept(const VectorCore &core, const Share &route) {
    HPMOE_EXPECTS(route.Chunks(core) == 1);
    LoadWords(UB_COUNTED, KeptCounts(route, core.launch.rank) + route.first * 4, route.own);
    Lists{route.own}.Shifted(UB_COUNTED, UB_COUNTED, -1);
}

// The fault of the first rank that was given a wrong route, by the scalar unit.
HPMOE_INLINE RouteFault FaultOfKept(const VectorCore &core, const CountRows &rows) {
    RouteFault fault = {};
    const int32_t first = Ints(rows.Row(0)).GetValue(0) - 1;
    for (uint32_t rank = 0; rank < core.launch.ranks; ++rank) {
        const int32_t told = Ints(rows.Row(rank)).GetValue(0) - 1;
        if (told >= FAULT_COUNT) {
            fault.kind = HPMOE_ROUTE_KEPT;
            fault.rank = rank;
            fault.at = static_cast<uint32_t>(told - FAULT_COUNT);
            return fault;
        }
        if (fault.kind == HPMOE_ROUTE_MADE && told != first) {
            fault.kind = HPMOE_ROUTE_APART;
            fault.rank = rank;
        }
    }
    return fault;
}

// Waits until the words of all ranks have arrived and compares them. Then takes the counts of the kept route, unless
// ranks exchange counts again. False: leave at once.
template <class Share>
HPMOE_INLINE bool TakeKept(VectorCore &core, Share &route, const RouteLists &lists, RouteFault &fault) {
    const Share words = KeptWords(core, route);
    const CountRows rows = CountRows(lists.End(), 1).ToFold();
    if (!AwaitLast(core, words, rows) || !LoadAll(core, words, rows, 0, 0, core.launch.ranks)) {
        return false;
    }
    Lists{core.launch.ranks * rows.pitch}.Scaled(rows.at, rows.at, route.sign);
    AfterVector();
    fault = FaultOfKept(core, rows);
    BeforeVector();
    if (!route.Exchanges()) {
        route.told = KeptCounts(route, 0);
        route.sign = 1;
    }
    return true;
}

// Writes the head of the kept route; zeros if the launch has kept none.
template <class Share> HPMOE_ROUTINE void StoreHead(VectorCore &core, const Share &route, uint32_t at, bool made) {
    AfterVector();
    for (uint32_t word = 0; word < KEPT_WORDS; ++word) {
        Ints(at).SetValue(word, made ? static_cast<int32_t>(HeadWord(core, route, word)) : 0);
    }
    StoreScalars(route.from.kept, at, KEPT_WORDS);
    BeforeVector();
}

// From counts of columns, each plus one, to those of experts.
template <class Share> HPMOE_INLINE void SumColumns(const Share &route, const RouteLists &lists, uint32_t counts) {
    const uint32_t rows = lists[SCRATCH], sums = lists[SCRATCH + 1], scratch = lists[SCRATCH + 2],
                   firsts = lists[SCRATCH + 3], ends = lists[SCRATCH + 4];
    const RouteLists columns = lists.Of(route.columns), experts = lists.Of(route.experts);
    columns.Shifted(rows, counts, -1);
    SumsBefore(sums, rows, lists[WORDS], scratch, route.columns);
    LoadWords(firsts, PlacementAt(route, FIRST_COLUMNS), route.experts);
    LoadWords(ends, PlacementAt(route, FIRST_COLUMNS) + 4, route.experts);
    // The sum over the columns of each expert: up to its last one, less the sum before its first one.
    experts.Shifted(ends, ends, -1);
    experts.Scaled(ends, ends, 4);
    experts.Scaled(firsts, firsts, 4);
    columns.Plus(rows, rows, sums);
    experts.Picked(counts, rows, ends, 0);
    experts.Picked(scratch, sums, firsts, 0);
    experts.Minus(counts, counts, scratch);
    experts.Shifted(counts, counts, 1);
}

// Keeps the route for later launches, each core its share. Slots by expert are kept where they were placed.
template <class Share> HPMOE_ROUTINE void KeepRoute(VectorCore &core, const Share &route, const RouteLists &lists) {
    const CountRows rows(lists.End(), route.columns);
    if (route.IsPlaced()) {
        lists.Of(route.columns).Ramp(lists[WORDS], 4); // slots may have been there since
    }
    for (uint32_t rank = core.number; rank < core.launch.ranks; rank += core.launch.aiv) {
        rows.LoadRanks(route, 0, rank, 1);
        if (route.IsPlaced()) {
            SumColumns(route, lists, rows.at);
        }
        StoreWords(KeptCounts(route, rank), rows.at, route.experts);
    }
    const uint64_t ids = KeptCounts(route, core.launch.ranks);
    const uint32_t slots = core.launch.tokens * route.from.top_k;
    const uint32_t apart = core.launch.aiv * COPIED_WORDS;
    for (uint32_t at = core.number * COPIED_WORDS; at < slots; at += apart) {
        const uint32_t count = Min(COPIED_WORDS, slots - at);
        LoadWords(lists.End(), route.from.ids + static_cast<uint64_t>(at) * 4, count);
        StoreWords(ids + static_cast<uint64_t>(at) * 4, lists.End(), count);
    }
    if (core.number == 0) {
        StoreHead(core, route, lists.End(), true);
    }
}

} // namespace hpmoe

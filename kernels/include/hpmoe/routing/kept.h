// Routes that one launch keeps for later ones, in the caller's memory (HpmoeKeptHead).
//
// A launch with a kept route needs no ids, and no counts of other ranks. Each rank sends one word, which identifies the
// launch that kept its route. Before any row is sent, all ranks thus find either that the same launch kept all routes,
// or the same fault.
#pragma once

#include "hpmoe/routing/placement.h"

namespace hpmoe {

constexpr uint32_t KEPT_WORDS = sizeof(HpmoeKeptHead) / 4;
constexpr uint32_t KEPT_LAUNCH = 1; // the head may have any launch number
constexpr uint32_t KEPT_GROUPS = 7; // the head may have any group_slots if this launch needs no groups
constexpr uint32_t KEPT_PLACEMENT = 8;
constexpr uint32_t KEPT_CHUNKS = 9;
constexpr uint32_t COPIED_WORDS = 4096;

// Number of words from one rank's kept counts to the next rank's.
template <class Share> HPMOE_INLINE uint32_t KeptPitch(const Share &route) {
    return route.most_chunks * AlignUp(route.experts, HPMOE_LINE / 4);
}

// The value that word `word` of the head must have on this rank.
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
    case KEPT_CHUNKS: return route.KeepsApart() ? route.most_chunks : 0;
    default: return 0;
    }
}

// The word that a rank sends about its kept route: the launch that kept it or, if a word of the head is wrong, a fault
// with the number of that word.
template <class Share> HPMOE_INLINE uint32_t KeptBy(const VectorCore &core, const Share &route) {
    for (uint32_t word = 0; word < KEPT_WORDS; ++word) {
        const bool any = word == KEPT_LAUNCH || (word == KEPT_GROUPS && route.from.group_slots == 0);
        if (!any && Word<uint32_t>(route.from.kept, word) != HeadWord(core, route, word)) {
            return FAULT_COUNT + word;
        }
    }
    return Word<uint32_t>(route.from.kept, KEPT_LAUNCH) % FAULT_COUNT;
}

// The state for the exchange of the words that KeptBy returns. It replaces the exchange of counts or, if ranks exchange
// counts as well, that of digests.
template <class Share> HPMOE_INLINE Share KeptWords(const VectorCore &core, const Share &route) {
    return route.IsPlaced() ? Digests(core, route) : route;
}

template <class Share> HPMOE_INLINE uint64_t KeptCounts(const Share &route, uint32_t rank) {
    return route.from.kept + sizeof(HpmoeKeptHead) + static_cast<uint64_t>(rank) * KeptPitch(route) * 4;
}

// Address of the ids of this rank's slots in the kept route. The slots by expert follow them.
template <class Share> HPMOE_INLINE uint64_t KeptIds(const VectorCore &core, const Share &route) {
    return KeptCounts(route, core.launch.ranks);
}
template <class Share> HPMOE_INLINE uint64_t KeptOrder(const VectorCore &core, const Share &route) {
    return KeptIds(core, route) + AlignUp(core.launch.tokens * route.from.top_k, BLOCK_WORDS) * 4;
}

// Loads this core's counts from the kept route. The counts of each chunk start at a block. The vector unit must have
// ended its earlier work on the words at `to`.
template <class Share> HPMOE_INLINE void LoadKept(const VectorCore &core, const Share &route, uint32_t to) {
    const uint32_t pitch = AlignUp(route.own, BLOCK_WORDS), rest = pitch - route.own;
    DataCopyPad(Ints(to), Global<int32_t>(KeptCounts(route, core.launch.rank) + route.first * 4),
                DataCopyExtParams(static_cast<uint16_t>(route.most_chunks), route.own * 4,
                                  (route.experts - route.own) * 4, 0, 0),
                DataCopyPadExtParams<int32_t>(rest > 0, 0, static_cast<uint8_t>(rest), 1));
    SetFlag<HardEvent::MTE2_V>(2);
    WaitFlag<HardEvent::MTE2_V>(2);
    Lists{route.most_chunks * pitch}.Shifted(to, to, -1);
}

// The fault of the first rank whose kept route is wrong, found by the scalar unit.
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

// Waits until the words of all ranks have arrived, and compares them. Then takes the counts of the kept route, unless
// ranks exchange counts again. Returns false if the core must leave.
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
        route.from.count_pitch = KeptPitch(route);
        route.sign = 1;
    }
    return true;
}

// Writes the head of the kept route; zeros if the launch has made no route.
template <class Share> HPMOE_ROUTINE void StoreHead(VectorCore &core, const Share &route, uint32_t at, bool made) {
    AfterVector();
    for (uint32_t word = 0; word < KEPT_WORDS; ++word) {
        Ints(at).SetValue(word, made ? static_cast<int32_t>(HeadWord(core, route, word)) : 0);
    }
    StoreScalars(route.from.kept, at, KEPT_WORDS);
    BeforeVector();
}

// Sums a chunk's counts of columns to counts of experts, in the last scratch list. All counts are plus one.
template <class Share>
HPMOE_INLINE void SumColumns(const Share &route, const RouteLists &lists, uint32_t counts, uint32_t chunk) {
    const uint32_t rows = lists[SCRATCH], sums = lists[SCRATCH + 1], scratch = lists[SCRATCH + 2],
                   firsts = lists[SCRATCH + 3], ends = lists[SCRATCH + 4], out = lists[SCRATCH + 5];
    const RouteLists columns = lists.Of(route.counted), experts = lists.Of(route.experts);
    columns.Picked(rows, counts, lists[WORDS], chunk * route.counted * 4);
    columns.Shifted(rows, rows, -1);
    SumsBefore(sums, rows, lists[WORDS], scratch, route.counted);
    LoadWords(firsts, PlacementAt(route, FIRST_COLUMNS), route.experts);
    LoadWords(ends, PlacementAt(route, FIRST_COLUMNS) + 4, route.experts);
    // The sum over the columns of each expert: up to its last one, less the sum before its first one.
    experts.Shifted(ends, ends, -1);
    experts.Scaled(ends, ends, 4);
    experts.Scaled(firsts, firsts, 4);
    columns.Plus(rows, rows, sums);
    experts.Picked(out, rows, ends, 0);
    experts.Picked(scratch, sums, firsts, 0);
    experts.Minus(out, out, scratch);
    experts.Shifted(out, out, 1);
}

// Stores in UB_COUNTED, for each of this core's experts, the position of its first kept slot: after the slots of all
// experts with lower numbers, in all chunks.
template <class Share> HPMOE_INLINE void FirstKept(VectorCore &core, const Share &route, uint32_t first_places) {
    const LocalTensor<int32_t> first = Ints(first_places), next = Ints(UB_COUNTED);
    SetFlag<HardEvent::MTE3_S>(4); // counts were sent from there
    WaitFlag<HardEvent::MTE3_S>(4);
    AfterVector();
    for (uint32_t i = 0; i < route.own; ++i) {
        const uint32_t column = FirstColumn(route, route.first + i);
        int32_t before = 0;
        for (uint32_t chunk = 0; chunk < route.Chunks(core); ++chunk) {
            before += first.GetValue(chunk * route.counted + column) - first.GetValue(chunk * route.counted);
        }
        next.SetValue(i, before);
    }
}

// Stores slots of one of this core's experts, numbered from the rank's first slot, after its slots that were stored
// before.
template <class Share>
HPMOE_INLINE void KeepSlots(const VectorCore &core, const Share &route, uint32_t expert, uint32_t slots,
                            uint32_t count) {
    const LocalTensor<int32_t> next = Ints(UB_COUNTED);
    const int32_t place = next.GetValue(expert);
    StoreWords(KeptOrder(core, route) + static_cast<uint64_t>(place) * 4, slots, count);
    next.SetValue(expert, place + static_cast<int32_t>(count));
}

// Copies kept slots into the order of the launch: chunk by chunk, numbered from each chunk's first slot.
template <class Share>
HPMOE_ROUTINE void TakeSlots(VectorCore &core, const Share &route, const RouteLists &lists, uint32_t first_places) {
    if (route.own == 0) {
        return;
    }
    const LocalTensor<int32_t> next = Ints(UB_COUNTED), counts = Ints(UB_KEPT_SLOTS);
    const uint32_t merged = route.Merged(core), pitch = AlignUp(route.own, BLOCK_WORDS), slots = lists.End();
    LoadKept(core, route, UB_KEPT_SLOTS);
    FirstKept(core, route, first_places);
    for (uint32_t chunk = 0; chunk < route.Chunks(core); ++chunk) {
        const int32_t first_slot = static_cast<int32_t>(core.FirstToken(chunk) * route.from.top_k);
        for (uint32_t i = 0; i < route.own; ++i) {
            const uint32_t column = chunk * route.counted + FirstColumn(route, route.first + i);
            uint64_t from = KeptOrder(core, route) + static_cast<uint64_t>(next.GetValue(i)) * 4;
            uint64_t to = core.launch.order + static_cast<uint64_t>(Ints(first_places).GetValue(column)) * 4;
            int32_t count = 0;
            for (uint32_t part = chunk * merged; part < (chunk + 1) * merged; ++part) {
                count += counts.GetValue(part * pitch + i);
            }
            next.SetValue(i, next.GetValue(i) + count);
            for (uint32_t left = static_cast<uint32_t>(count); left > 0;) {
                const uint32_t some = Min(COPIED_WORDS, left);
                LoadWords(slots, from, some);
                Lists{some}.Shifted(slots, slots, -first_slot);
                StoreWords(to, slots, some);
                from += some * 4;
                to += some * 4;
                left -= some;
            }
        }
    }
    BeforeVector();
}

// Stores this core's share of the route for later launches. Slots by expert were stored when they were placed.
template <class Share> HPMOE_ROUTINE void KeepRoute(VectorCore &core, const Share &route, const RouteLists &lists) {
    const CountRows rows(lists.End(), route.CountedColumns());
    if (route.IsPlaced()) {
        lists.Of(route.counted).Ramp(lists[WORDS], 4); // slots may have overwritten the list
    }
    for (uint32_t rank = core.number; rank < core.launch.ranks; rank += core.launch.aiv) {
        rows.LoadRanks(route, 0, rank, 1);
        for (uint32_t chunk = 0; route.IsPlaced() && chunk < route.most_chunks; ++chunk) {
            SumColumns(route, lists, rows.at, chunk);
            const uint64_t to = KeptCounts(route, rank) + static_cast<uint64_t>(chunk) * route.experts * 4;
            StoreWords(to, lists[SCRATCH + 5], route.experts);
        }
        if (!route.IsPlaced()) {
            StoreWords(KeptCounts(route, rank), rows.at, route.CountedColumns());
        }
    }
    const uint64_t ids = KeptIds(core, route);
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

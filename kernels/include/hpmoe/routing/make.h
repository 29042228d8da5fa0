// Makes the tables of a route on the vector cores, as soon as all ids are complete. The host would make the same tables from
// the counts.
//
// Every core counts the slots of its share of the experts and sends the counts to all ranks. Then every core sums the
// counts of all ranks and finds the same faults; each table is made by one core. See HpmoeRouting in abi.h.
#pragma once

#include "hpmoe/routing/await.h"
#include "hpmoe/routing/choice.h"
#include "hpmoe/routing/arrival_order.h"
#include "hpmoe/routing/ids.h"
#include "hpmoe/routing/kept.h"
#include "hpmoe/routing/parts.h"
#include "hpmoe/worker.h"

namespace hpmoe {

// Deals tables to the vector cores, one after another.
struct Turns {
    uint32_t next;
    uint32_t number;
    uint32_t cores;

    HPMOE_INLINE bool Mine() { return next++ % cores == number; }
};

// The list with the position of each column's first slot among this rank's slots.
template <class Share> HPMOE_INLINE uint32_t FirstList(const Share &route) { return route.IsPlaced() ? ORDER : FIRST; }

// Stores the kept slots at their positions, which are `sent` slots after the positions in the list. The slots are still
// in UB as they were counted, block by block: the core has used this part of UB for nothing else.
template <class Share>
HPMOE_INLINE void PlaceKept(VectorCore &core, Share &route, const RouteLists &lists, uint32_t part, uint32_t sent) {
    const LocalTensor<int32_t> next = Ints(lists[SCRATCH]);
    lists.Of(route.columns).Shifted(lists[SCRATCH], lists[FirstList(route)], static_cast<int32_t>(sent));
    AfterVector(); // also waits for the slots to be stored, which the vector unit has made
    const uint32_t merged = route.Merged(core);
    for (uint32_t counted = 0; counted < route.Chunks(core) * merged; ++counted) {
        const uint32_t chunk = counted / merged;
        const uint32_t first_slot = core.FirstToken(chunk) * route.from.top_k;
        const uint32_t slots = route.TokensOf(core, counted) * route.from.top_k;
        for (uint32_t at = 0; at < slots;) {
            const SlotBlock block(route, part, route.FirstToken(core, counted), route.TokensOf(core, counted), at);
            for (uint32_t i = 0; i < route.own; ++i) {
                const uint32_t pair = chunk * route.counted + FirstColumn(route, route.first + i);
                const uint32_t count = static_cast<uint32_t>(Ints(UB_FRAGMENTS).GetValue(route.fragments + i));
                const int32_t place = next.GetValue(pair);
                const uint32_t kept = UB_KEPT_SLOTS + route.kept * 4;
                if (route.Keeps() && route.KeepsApart() && count > 0) {
                    KeepSlots(core, route, i, kept, count);
                }
                if (Share::CountsFromFirst() && first_slot != 0 && count > 0) {
                    Lists{count}.Shifted(kept, kept, -static_cast<int32_t>(first_slot));
                    AfterVector();
                }
                DataCopyPad(Global<int32_t>(core.launch.order + static_cast<uint64_t>(place) * 4), Ints(kept),
                            OneRow(count));
                if (merged > 1 || at + block.count < slots) {
                    next.SetValue(pair, place + static_cast<int32_t>(count));
                }
                route.kept += AlignUp(count, BLOCK_WORDS);
            }
            route.fragments += AlignUp(route.own, BLOCK_WORDS);
            at += block.count;
        }
    }
    BeforeVector();
}

// Address in UB of the next position of each of this core's experts in a part, if there was no room to keep the slots.
template <class Share> HPMOE_INLINE uint32_t NextPlaces(const VectorCore &core, const Share &route, uint32_t part) {
    return UB_KEPT_SLOTS + part * route.Chunks(core) * route.own * 4;
}

template <class Share>
HPMOE_INLINE void KeepPlaces(VectorCore &core, const Share &route, const RouteLists &lists, uint32_t part,
                             uint32_t sent) {
    const LocalTensor<int32_t> next = Ints(NextPlaces(core, route, part));
    AfterVector();
    for (uint32_t chunk = 0; chunk < route.Chunks(core); ++chunk) {
        for (uint32_t i = 0; i < route.own; ++i) {
            const uint32_t column = chunk * route.counted + FirstColumn(route, route.first + i);
            const int32_t first = Ints(lists[FirstList(route)]).GetValue(column);
            next.SetValue(chunk * route.own + i, first + static_cast<int32_t>(sent));
        }
    }
}

// Picks the slots again, and stores them at their positions.
template <class Share> HPMOE_INLINE void PlaceAgain(VectorCore &core, const Share &route, uint32_t part) {
    const LocalTensor<int32_t> next = Ints(NextPlaces(core, route, part));
    for (uint32_t chunk = 0; chunk < route.Chunks(core); ++chunk) {
        const uint32_t slots = core.ChunkTokens(chunk) * route.from.top_k;
        for (uint32_t at = 0; at < slots;) {
            const SlotBlock block(route, part, core.FirstToken(chunk), core.ChunkTokens(chunk), at);
            block.LoadIds(core, route, part);
            const uint32_t own = block.PickOwn(route);
            for (uint32_t i = 0; i < route.own; ++i) {
                const uint32_t count = SlotBlock::SlotsOf(route.first + i, own);
                const int32_t place = next.GetValue(chunk * route.own + i);
                Lists{count}.Shifted(UB_PICKED, UB_PICKED, static_cast<int32_t>(block.at));
                StoreWords(core.launch.order + static_cast<uint64_t>(place) * 4, UB_PICKED, count);
                next.SetValue(chunk * route.own + i, place + static_cast<int32_t>(count));
                if (route.Keeps() && route.KeepsApart() && count > 0) {
                    Lists{count}.Shifted(UB_PICKED, UB_PICKED, static_cast<int32_t>(block.begin - block.at));
                    KeepSlots(core, route, i, UB_PICKED, count);
                }
            }
            at += block.count;
        }
    }
}

// The scalar unit stores `starts` of each phase, which follow from the items of all spaces, and the number of chunks if
// the launch chose it.
template <class Share> HPMOE_INLINE void StoreStarts(VectorCore &core, const Share &route, const RouteLists &lists) {
    const LocalTensor<int32_t> totals = Ints(UB_TOTALS);
    const uint32_t local = core.launch.local_experts;
    for (uint32_t i = 0; i < route.from.spaces; ++i) {
        const HpmoeSpace space = SpaceOf(core, i);
        if (PartOf(space.kind) != 0) {
            continue;
        }
        if (MadeOnHost(space.kind)) {
            totals.SetValue(i, Word<int32_t>(space.first_items, core.launch.chunks));
            continue;
        }
        ItemsOf(core, route, lists, space.kind, space.height);
        const uint32_t items = lists[SCRATCH], mine = lists[SCRATCH + 1];
        if (InPieces(space.kind)) {
            totals.SetValue(i, TotalOf(items, lists.count));
            continue;
        }
        lists.Of(local).Picked(mine, items, lists[WORDS], core.launch.rank * local * 4);
        totals.SetValue(i, TotalOf(mine, local));
    }
    const LocalTensor<int32_t> starts = Ints(lists.End());
    AfterVector();
    const uint32_t before = route.from.before;
    for (uint32_t phase = before; phase < route.from.phases; ++phase) {
        uint32_t start = 0;
        const uint32_t end = Word<uint32_t>(route.from.first_pairs, phase + 1);
        for (uint32_t pair = Word<uint32_t>(route.from.first_pairs, phase); pair < end; ++pair) {
            const uint32_t space = Word<uint32_t>(route.from.start_pairs, 2 * pair);
            start +=
                static_cast<uint32_t>(totals.GetValue(space)) * Word<uint32_t>(route.from.start_pairs, 2 * pair + 1);
        }
        starts.SetValue(phase - before, static_cast<int32_t>(start));
    }
    uint32_t made = route.from.phases - before;
    if (route.Chooses(core)) {
        starts.SetValue(made, static_cast<int32_t>(core.launch.chunks));
        made += 1;
    }
    if (made > 0) {
        StoreScalars(core.launch.starts + static_cast<uint64_t>(before) * 4, lists.End(), made);
    }
    BeforeVector();
}

// Makes ORDER and PLACE on this core, if it makes a table from them.
template <class Share> HPMOE_ROUTINE void OrderExperts(VectorCore &core, Share &route, const RouteLists &lists) {
    if (route.ordered) {
        return;
    }
    route.ordered = true;
    const uint32_t order = route.from.expert_order;
    HPMOE_EXPECTS(Share::Needs(NeedsOf(order)) || order == HPMOE_BY_NUMBER);
    if (Share::Needs(NEEDS_LOAD | NEEDS_MIXED | NEEDS_LIGHTEST) && order != HPMOE_BY_NUMBER) {
        OrderByLoad<Share>(lists, core.launch.chunk_experts, core.launch.local_experts, order);
    } else {
        OrderByNumber(lists, core.launch.local_experts);
    }
}

template <class Share>
HPMOE_INLINE void StoreTables(VectorCore &core, Share &route, const RouteLists &lists, uint32_t part, Turns &turns) {
    if (turns.Mine()) {
        StoreSends(core, lists, part);
    }
    if (turns.Mine()) {
        StoreExperts(core, lists, part);
    }
    if (part == 0 && turns.Mine()) {
        StoreArrivals(core, route, lists);
    }
    if (Share::Needs(NEEDS_PLACEMENT) && route.from.sent != 0 && turns.Mine()) {
        StoreSent(route, lists);
    }
    if (part == 0 && turns.Mine()) {
        OrderExperts(core, route, lists);
        StoreWords(core.launch.expert_order, lists[ORDER], lists.count);
    }
    for (uint32_t i = 0; i < route.from.spaces; ++i) {
        const HpmoeSpace space = SpaceOf(core, i);
        if (MadeOnHost(space.kind) || PartOf(space.kind) != part) {
            continue;
        }
        if (turns.Mine()) {
            StoreItems(core, route, lists, space);
        }
        if (turns.Mine()) {
            OrderExperts(core, route, lists);
            StoreCounted(core, route, lists, space);
        }
        HPMOE_EXPECTS(space.arrival_order == 0 || Share::Needs(NEEDS_ARRIVAL_ORDER));
        if (Share::Needs(NEEDS_ARRIVAL_ORDER) && space.arrival_order != 0) {
            StoreArrivalOrder(core, route, lists, space);
        }
    }
    if (part == 0 && turns.Mine()) {
        StoreStarts(core, route, lists);
    }
}

// Records the reason why there is no route.
template <class Share> HPMOE_INLINE void RefuseRoute(VectorCore &core, const Share &route, const RouteFault &fault) {
    core.record.group = fault.kind;
    core.record.item = fault.rank;
    core.record.column = fault.at;
    if (route.Keeps() && core.number == 0) {
        StoreHead(core, route, UB_TOTALS, false);
    }
    if (Share::Needs(NEEDS_KEPT) && fault.kind == HPMOE_ROUTE_KEPT && fault.rank == core.launch.rank) {
        core.record.need = Word<int32_t>(route.from.kept, fault.at);
        core.record.have = static_cast<int32_t>(HeadWord(core, route, fault.at));
    }
    if ((fault.kind == HPMOE_ROUTE_ID || fault.kind == HPMOE_ROUTE_TWICE) && fault.rank == core.launch.rank) {
        core.record.need = Word<int32_t>(route.from.ids, fault.at);
        core.record.index = fault.at - fault.at % route.from.top_k;
        while (Word<int32_t>(route.from.ids, core.record.index) != core.record.need) {
            core.record.index += 1;
        }
    }
    core.LeaveUnrouted();
}

// Number of slots that this rank sends in the current part.
HPMOE_INLINE uint32_t SlotsSent(const RouteLists &lists) {
    AfterVector();
    const uint32_t last = lists.count - 1;
    return static_cast<uint32_t>(Ints(lists[FIRST]).GetValue(last) + Ints(lists[OWN]).GetValue(last));
}

// Makes the route. Returns false if there is none, or if the launch was given up: the core leaves at once.
template <uint32_t NEEDS> HPMOE_INLINE bool MakeRoute(VectorCore &core) {
    using Share = RouteShare<NEEDS>;
    Share route;
    route.Begin(core);
    core.record.phase = route.from.phases;
    const uint32_t ids = core.launch.tokens * route.from.ids_per_token;
    if (ids > 0 && !core.Await(route.from.ids_ready, 0, ids)) {
        return false;
    }
    core.Use(ROUTE_LAYOUT);
    RouteLists lists(route.pairs);
    RouteFault fault = {};
    if (core.number == 0 && route.IsKept()) {
        PutNumber(core, KeptWords(core, route), KeptBy(core, route));
    } else if (core.number == 0 && route.IsPlaced()) {
        PutNumber(core, Digests(core, route), Word<uint32_t>(route.from.placement, 0));
    }
    if (route.own > 0 && route.IsKept() && route.Exchanges()) {
        LoadKept(core, route, UB_COUNTED);
        TellCounts(core, route, true);
    } else if (route.own > 0 && !route.IsKept()) {
        const bool is_good = CountSlots(core, route);
        TellCounts(core, route, is_good);
    }
    route.kept = 0;
    route.fragments = 0;
    lists.Of(route.pairs + 1).Ramp(lists[WORDS], 4); // while counts are on their way to other ranks
    Segments(lists, lists[SEGMENT], core.launch.chunk_experts);
    if (route.IsKept() && !TakeKept(core, route, lists, fault)) {
        return false;
    }
    if (!route.IsKept() && route.IsPlaced() && !ComparePlacements(core, route, lists, fault)) {
        return false;
    }
    if (fault.kind != HPMOE_ROUTE_MADE) {
        RefuseRoute(core, route, fault);
        return false;
    }
    Turns turns{0, core.number, core.launch.aiv};
    uint32_t sent = 0; // slots that earlier parts send
    for (uint32_t part = 0; part < route.Parts(); ++part) {
        bool faulty = false;
        if (!SumCounts(core, route, lists.Of(route.columns), part, faulty)) {
            return false;
        }
        if (!faulty && route.Chooses(core)) {
            ChooseChunks(core, route, lists);
        }
        fault = faulty ? FaultOfCounts(core, route, lists) : PlaceRows(core, route, lists);
        if (fault.kind != HPMOE_ROUTE_MADE) {
            RefuseRoute(core, route, fault);
            return false;
        }
        if (route.Keeps() && route.KeepsApart()) {
            FirstKept(core, route, lists[FirstList(route)]);
        }
        // A kept route already has its slots by expert.
        if (route.IsKept() && route.KeepsApart()) {
            TakeSlots(core, route, lists, lists[FirstList(route)]);
        } else if (!route.IsKept() && route.keeps) {
            PlaceKept(core, route, lists, part, sent);
        } else if (!route.IsKept()) {
            KeepPlaces(core, route, lists, part, sent);
        }
        if (part + 1 < route.Parts()) {
            sent = SlotsSent(lists);
        } else if (part > 0) {
            lists.Shifted(lists[FIRST], lists[FIRST], static_cast<int32_t>(sent));
        }
        if (route.Chunks(core) > 1) {
            OrderByRank(core, route, lists);
        }
        if (part + 1 < route.Parts()) {
            OrderExperts(core, route, lists); // all parts use the order by the rows of the first part
        }
        StoreTables(core, route, lists, part, turns);
        if (route.AddsByParts(core)) {
            StoreParts(core, route, lists.End());
        }
    }
    if (!route.keeps) {
        Lists{IDS_BLOCK}.Ramp(UB_SLOTS, 1);
        for (uint32_t part = 0; part < route.Parts(); ++part) {
            PlaceAgain(core, route, part);
        }
    }
    if (route.Keeps()) {
        KeepRoute(core, route, lists);
    }
    core.Fence();
    core.Signal(route.from.made, 0, 1);
    return AwaitRoute(core);
}

} // namespace hpmoe

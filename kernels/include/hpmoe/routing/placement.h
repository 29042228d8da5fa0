// Placements: experts whose rows are spread over several places of the group (HpmoePlacementHead).
//
// If a source has n rows for an expert, a place of the expert takes its rows ⌊(n · from + t) / 4096⌋ to ⌊(n · to + t) /
// 4096⌋, where t is the source's turn: see placement/shares.rs of the host. If the launch chooses its number of chunks,
// t also depends on the counted chunk, and the rows of a chunk are the sum over its counted chunks. The formula needs
// no counts of other sources, so each rank divides its own counts before it sends them. A column is a place that holds
// an expert. The columns of an expert are consecutive, in the order of the slots that go there.
#pragma once

#include "hpmoe/routing/counts.h"

namespace hpmoe {

constexpr uint32_t SHARE_BITS = 12; // bits of a source's turn, and of the bounds of a place's share
// Number of words of the head. Each list starts at a multiple of this number of words.
constexpr uint32_t PLACEMENT_WORDS = sizeof(HpmoePlacementHead) / 4;

// The lists that follow the head.
enum PlacementList : uint32_t { PLACE_COUNTS, COLUMN_EXPERTS, COLUMN_BEGINS, COLUMN_ENDS, FIRST_COLUMNS };

// Number of bytes from one list to the next.
template <class Share> HPMOE_INLINE uint32_t PlacementPitch(const Share &route) {
    return AlignUp(route.CountedPairs() + 1, PLACEMENT_WORDS) * 4;
}

template <class Share> HPMOE_INLINE uint64_t PlacementAt(const Share &route, PlacementList list) {
    return route.from.placement + sizeof(HpmoePlacementHead) + list * PlacementPitch(route);
}

// The first column of an expert.
template <class Share> HPMOE_INLINE uint32_t FirstColumn(const Share &route, uint32_t expert) {
    return route.IsPlaced() ? Word<uint32_t>(PlacementAt(route, FIRST_COLUMNS), expert) : expert;
}

// The turn of a source: its number with reversed bits.
HPMOE_INLINE int32_t TurnOf(uint32_t source) {
    int32_t turn = 0;
    for (int32_t bit = 1 << (SHARE_BITS - 1); source != 0; source /= 2, bit /= 2) {
        turn += source % 2 != 0 ? bit : 0;
    }
    return turn;
}

// Divides the counts of this core's experts, in UB_COUNTED, among the experts' columns. If there is a fault, it
// replaces every count.
template <class Share> HPMOE_ROUTINE OwnColumns CutCounts(VectorCore &core, const Share &route, bool is_good) {
    const uint32_t first = FirstColumn(route, route.first);
    const OwnColumns own{first, FirstColumn(route, route.first + route.own) - first};
    const uint32_t pitch = AlignUp(own.count, BLOCK_WORDS), chunks = route.Chunks(core);
    const uint32_t experts = 0, begins = pitch * 4, ends = 2 * begins, rows = 3 * begins,
                   before = rows + chunks * begins;
    HPMOE_EXPECTS(before + chunks * begins <= UB_KEPT && chunks * pitch <= MOST_COUNTED);
    const Lists all{chunks * pitch};
    if (!is_good) {
        AfterVector();
        const int32_t fault = Ints(UB_COUNTED).GetValue(0);
        all.Filled(UB_COUNTED, fault);
        return own;
    }
    SetFlag<HardEvent::V_MTE2>(2);
    WaitFlag<HardEvent::V_MTE2>(2);
    DataCopyPad(Ints(experts), Global<int32_t>(PlacementAt(route, COLUMN_EXPERTS) + own.first * 4),
                DataCopyExtParams(3, own.count * 4, PlacementPitch(route) - own.count * 4, 0, 0),
                DataCopyPadExtParams<int32_t>());
    SetFlag<HardEvent::MTE2_V>(2);
    WaitFlag<HardEvent::MTE2_V>(2);
    const Lists columns{own.count};
    columns.Shifted(experts, experts, -4 * static_cast<int32_t>(route.first));
    all.Filled(rows, 0);
    all.Filled(before, 0);
    const uint32_t counted = AlignUp(route.own, BLOCK_WORDS) * 4;
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
        const uint32_t of_chunk = chunk * begins;
        columns.Picked(rows + of_chunk, UB_COUNTED + chunk * counted, experts, 0);
        columns.Times(before + of_chunk, rows + of_chunk, begins);
        columns.Times(rows + of_chunk, rows + of_chunk, ends);
    }
    const int32_t turn = TurnOf(core.launch.rank);
    if (route.Chooses(core)) {
        for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
            const int32_t turn_of_chunk = (turn + TurnOf(chunk)) & ((1 << SHARE_BITS) - 1);
            Lists{pitch}.Shifted(before + chunk * begins, before + chunk * begins, turn_of_chunk);
            Lists{pitch}.Shifted(rows + chunk * begins, rows + chunk * begins, turn_of_chunk);
        }
    } else {
        all.Shifted(before, before, turn);
        all.Shifted(rows, rows, turn);
    }
    ShiftRight(Ints(before), Ints(before), static_cast<int32_t>(SHARE_BITS), all.All());
    ShiftRight(Ints(rows), Ints(rows), static_cast<int32_t>(SHARE_BITS), all.All());
    PipeBarrier<PIPE_V>();
    all.Minus(UB_COUNTED, rows, before);
    return own;
}

// Sends the counts of this core to all ranks.
template <class Share> HPMOE_INLINE void TellCounts(VectorCore &core, const Share &route, bool is_good) {
    PutCounts(core, route, route.IsPlaced() ? CutCounts(core, route, is_good) : OwnColumns{route.first, route.own});
}

// Waits until the digests of all ranks have arrived, and compares them. Sets `fault` to the first rank whose placement
// differs from rank 0's. Returns false if the core must leave.
template <class Share>
HPMOE_INLINE bool ComparePlacements(VectorCore &core, const Share &route, const RouteLists &lists, RouteFault &fault) {
    const Share digests = Digests(core, route);
    const CountRows rows = CountRows(lists.End(), 1).ToFold();
    if (!LoadAll(core, digests, rows, 0, 0, core.launch.ranks)) {
        return false;
    }
    AfterVector();
    const int32_t first = Ints(rows.Row(0)).GetValue(0);
    for (uint32_t rank = 1; rank < core.launch.ranks && fault.kind == HPMOE_ROUTE_MADE; ++rank) {
        if (Ints(rows.Row(rank)).GetValue(0) != first) {
            fault.kind = HPMOE_ROUTE_PLACED;
            fault.rank = rank;
        }
    }
    BeforeVector();
    return true;
}

// Reorders OWN, BEFORE, FIRST and TOTAL from columns to places, chunk by chunk. ORDER then has FIRST by column.
template <class Share> HPMOE_ROUTINE void OrderByPlace(const Share &route, const RouteLists &lists) {
    const uint32_t counts = lists[PLACE], picked = lists[SCRATCH];
    LoadWords(counts, PlacementAt(route, PLACE_COUNTS), lists.count);
    lists.Of(route.columns).Copied(lists[ORDER], lists[FIRST]);
    const uint32_t by_column[] = {OWN, BEFORE, FIRST, TOTAL};
    for (uint32_t i = 0; i < 4; ++i) {
        lists.Picked(picked, lists[by_column[i]], counts, 0);
        lists.Copied(lists[by_column[i]], picked);
    }
}

// Stores the number of this rank's non-empty slots, the sum of OWN.
template <class Share> HPMOE_INLINE void StoreSent(const Share &route, const RouteLists &lists) {
    lists.Copied(lists[SCRATCH], lists[OWN]);
    Ints(lists.End()).SetValue(0, TotalOf(lists[SCRATCH], lists.count));
    StoreScalars(route.from.sent, lists.End(), 1);
    BeforeVector();
}

} // namespace hpmoe

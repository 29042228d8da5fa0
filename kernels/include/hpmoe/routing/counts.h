// The second step of a route: every core sends its counts to every rank, and sums the counts of all ranks.
//
// A count shows by itself that it has arrived. It is never zero, and its sign alternates each time its word is written,
// which is every second launch. So no fence, ready word or counter is needed. The table of counts has two halves, which
// launches use alternately. A rank writes its counts of a launch after it has read all counts of the launch before, in
// the other half. By then, no rank still reads the counts that it overwrites.
#pragma once

#include "hpmoe/routing/share.h"

namespace hpmoe {

// Copies words from UB to the heaps of all ranks, starting with this rank's, at offset `to` in bytes. Copies differ
// only in the address of the peer's heap, so each copy loads one value.
HPMOE_ROUTINE void PutToRanks(const VectorCore &core, uint64_t to, uint32_t from, const DataCopyExtParams &copy) {
    uint32_t peer = core.launch.rank;
    for (uint32_t i = 0; i < core.launch.ranks; ++i) {
        DataCopyPad(Global<int32_t>(core.Heap(peer) + to), Ints(from), copy);
        peer = peer + 1 < core.launch.ranks ? peer + 1 : 0;
    }
}

// The state for an exchange of one word per rank instead of counts: the digest of the rank's placement, or the number
// of the launch that kept its route.
template <class Share> HPMOE_INLINE Share Digests(const VectorCore &core, const Share &route) {
    Share digests = route;
    digests.from.counts = route.from.digests;
    digests.from.count_pitch = HPMOE_DIGEST_WORDS;
    digests.told = digests.Counts(core, core.launch.rank, 0);
    return digests;
}

// Sends a number to all ranks as if it were this rank's first count.
template <class Share> HPMOE_ROUTINE void PutNumber(const VectorCore &core, const Share &route, uint32_t number) {
    Ints(UB_TOTALS).SetValue(0, (static_cast<int32_t>(number) + 1) * route.sign);
    SetFlag<HardEvent::S_MTE3>(4);
    WaitFlag<HardEvent::S_MTE3>(4);
    PutToRanks(core, route.CountsInHeap(core, core.launch.rank), UB_TOTALS, OneRow(1));
    SetFlag<HardEvent::MTE3_S>(4);
    WaitFlag<HardEvent::MTE3_S>(4);
}

// The counts that a core sends to all ranks: consecutive columns of each chunk.
struct OwnColumns {
    uint32_t first;
    uint32_t count;
};

// Sends the counts in UB_COUNTED to all ranks: each plus one, so that no count is zero, with the sign of the launch.
template <class Share> HPMOE_ROUTINE void PutCounts(VectorCore &core, const Share &route, const OwnColumns &own) {
    const uint32_t pitch = AlignUp(own.count, BLOCK_WORDS);
    const Lists counted{route.Parts() * route.Chunks(core) * pitch};
    counted.Shifted(UB_COUNTED, UB_COUNTED, 1);
    counted.Scaled(UB_COUNTED, UB_COUNTED, route.sign);
    SetFlag<HardEvent::V_MTE3>(3);
    WaitFlag<HardEvent::V_MTE3>(3);
    const uint64_t first = route.CountsInHeap(core, core.launch.rank) + own.first * 4;
    const DataCopyExtParams chunks(static_cast<uint16_t>(route.Chunks(core)), own.count * 4, 0,
                                   (route.counted - own.count) * 4, 0);
    for (uint32_t part = 0; part < route.Parts(); ++part) {
        PutToRanks(core, first + part * route.columns * 4, UB_COUNTED + part * route.Chunks(core) * pitch * 4, chunks);
    }
}

// The minimum of `rows` rows of `pitch` words, each word times `sign`, with the precision of f32. Rows are folded into
// `to`, then each 64 lanes of the result, then their minima. Waits for the vector unit before it returns.
HPMOE_ROUTINE float LeastOf(uint32_t from, uint32_t rows, uint32_t pitch, uint32_t to, int32_t sign) {
    const LocalTensor<int32_t> out = Ints(to);
    const LocalTensor<float> numbers = UbFrom<float>(to);
    uint32_t left = rows - rows / 2;
    Adds(out, Ints(from), 0, static_cast<int32_t>(left * pitch));
    PipeBarrier<PIPE_V>();
    from += left * pitch * 4;
    for (uint32_t count = rows / 2; count > 0;) {
        const int32_t words = static_cast<int32_t>(count * pitch);
        if (sign > 0) {
            Min(out, out, Ints(from), words);
        } else {
            Max(out, out, Ints(from), words);
        }
        PipeBarrier<PIPE_V>();
        count = left / 2;
        left -= count;
        from = to + left * pitch * 4;
    }
    Cast(numbers, out, RoundMode::CAST_NONE, pitch);
    PipeBarrier<PIPE_V>();
    Muls(numbers, numbers, static_cast<float>(sign), static_cast<int32_t>(pitch));
    PipeBarrier<PIPE_V>();
    for (left = pitch; left > 1;) {
        const int32_t whole = static_cast<int32_t>(left / LANES), rest = static_cast<int32_t>(left % LANES);
        if (whole > 0) {
            WholeReduceMin(numbers, numbers, static_cast<int32_t>(LANES), whole, 1, 1, LANE_BLOCKS,
                           ReduceOrder::ORDER_ONLY_VALUE);
        }
        if (rest > 0) {
            WholeReduceMin(numbers[whole], numbers[left - rest], rest, 1, 1, 1, LANE_BLOCKS,
                           ReduceOrder::ORDER_ONLY_VALUE);
        }
        PipeBarrier<PIPE_V>();
        left = static_cast<uint32_t>(whole) + (rest > 0 ? 1 : 0);
    }
    AfterVector();
    return numbers.GetValue(0);
}

// The counts of several ranks in UB, in a row of `pitch` words per rank.
struct CountRows {
    uint32_t at;
    uint32_t words; // words in a row
    uint32_t pitch;
    uint32_t most; // largest number of ranks at a time

    HPMOE_INLINE CountRows(uint32_t begin, uint32_t columns)
        : at(begin), words(columns), pitch(AlignUp(columns, BLOCK_WORDS)), most((UB_KEPT - begin) / (pitch * 4)) {}

    // These rows with fewer ranks, so that a third of the room is left for folding rows.
    HPMOE_INLINE CountRows ToFold() const {
        CountRows rows = *this;
        rows.most = most * 2 / 3;
        return rows;
    }
    HPMOE_INLINE uint32_t Row(uint32_t row) const { return at + row * pitch * 4; }
    HPMOE_INLINE uint32_t Folded() const { return Row(most); }

    // Loads the counts of `rows` ranks, from `rank` on. Counts of this launch are then positive.
    template <class Share>
    HPMOE_INLINE void LoadRanks(const Share &route, uint32_t part, uint32_t rank, uint32_t rows) const {
        LoadSigned(route, part, rank, rows);
        Lists{rows * pitch}.Scaled(at, at, route.sign);
    }
    // Like LoadRanks, but counts keep their signs.
    template <class Share>
    HPMOE_ROUTINE void LoadSigned(const Share &route, uint32_t part, uint32_t rank, uint32_t rows) const {
        const uint32_t rest = pitch - words;
        SetFlag<HardEvent::V_MTE2>(2);
        WaitFlag<HardEvent::V_MTE2>(2);
        DataCopyPad(
            Ints(at), Global<int32_t>(route.Told(rank) + part * route.columns * 4),
            DataCopyExtParams(static_cast<uint16_t>(rows), words * 4, (route.from.count_pitch - words) * 4, 0, 0),
            DataCopyPadExtParams<int32_t>(rest > 0, 0, static_cast<uint8_t>(rest), route.sign));
        SetFlag<HardEvent::MTE2_V>(2);
        WaitFlag<HardEvent::MTE2_V>(2);
    }

    // Sums rows `from` to `end`, into row `from`.
    HPMOE_INLINE void Sum(uint32_t from, uint32_t end) const {
        for (uint32_t left = end - from; left > 1;) {
            const uint32_t half = left / 2;
            Lists{half * pitch}.Plus(Row(from), Row(from), Row(from + left - half));
            left -= half;
        }
    }

    // The minimum of `rows` rows, from row `first` on, as in LeastOf.
    HPMOE_INLINE float Least(uint32_t first, uint32_t rows, int32_t sign) const {
        return LeastOf(Row(first), rows, pitch, Folded(), sign);
    }

    // The first row in which a count has not arrived, by bisection. There must be one.
    HPMOE_INLINE uint32_t Missing(uint32_t rows, int32_t sign) const {
        uint32_t first = 0;
        for (uint32_t left = rows; left > 1;) {
            const uint32_t half = left / 2;
            const bool found = Least(first, half, sign) < 1.0f;
            first += found ? 0 : half;
            left = found ? half : left - half;
        }
        return first;
    }
};

// Waits until all counts of rank `rank` have arrived. Returns false if the launch was given up: the core leaves at
// once.
template <class Share>
HPMOE_ROUTINE bool AwaitCounts(VectorCore &core, const Share &route, const CountRows &rows, uint32_t part,
                               uint32_t rank) {
    const int64_t begin = GetSystemCycle();
    core.BeginWait();
    core.record.counter = HPMOE_COUNTS;
    core.record.index = rank;
    core.record.need = 1;
    core.record.have = 0;
    for (;;) {
        rows.LoadSigned(route, part, rank, 1);
        if (rows.Least(0, 1, route.sign) >= 1.0f) {
            return core.IsInTime();
        }
        if (!core.MayLook(begin)) {
            return false;
        }
    }
}

// Waits for the rank that sends to this rank last: after its counts, most likely all have arrived. Returns false if the
// core must leave.
template <class Share> HPMOE_INLINE bool AwaitLast(VectorCore &core, const Share &route, const CountRows &rows) {
    return AwaitCounts(core, route, rows, 0, (core.launch.rank + 1) % core.launch.ranks);
}

// Loads the counts of `count` ranks, from `rank` on, with their signs, as soon as all of these have arrived. Returns
// false if the core must leave.
template <class Share>
HPMOE_ROUTINE bool LoadAll(VectorCore &core, const Share &route, const CountRows &rows, uint32_t part, uint32_t rank,
                           uint32_t count) {
    for (;;) {
        rows.LoadSigned(route, part, rank, count);
        if (rows.Least(0, count, route.sign) >= 1.0f) {
            return true;
        }
        if (!AwaitCounts(core, route, rows, part, rank + rows.Missing(count, route.sign))) {
            return false;
        }
    }
}

// Sums the counts of a part over ranks, into OWN, BEFORE and TOTAL: chunk by chunk, and by column in each chunk. Sets
// `faulty` if a count is a fault. Returns false if the core must leave.
template <class Share>
HPMOE_INLINE bool SumCounts(VectorCore &core, const Share &route, const RouteLists &lists, uint32_t part,
                            bool &faulty) {
    // If launches choose their number of chunks, counts take the room of ORDER and later lists, which are not made yet.
    const uint32_t begin = Share::Needs(NEEDS_CHOICE) && part == 0 ? lists[ORDER] : lists.End();
    const CountRows rows = CountRows(begin, route.columns).ToFold();
    const uint32_t rank = core.launch.rank, ranks = core.launch.ranks;
    lists.Filled(lists[BEFORE], 0);
    lists.Filled(lists[TOTAL], 0);
    if (part == 0 && route.Exchanges() && !AwaitLast(core, route, rows)) {
        return false;
    }
    for (uint32_t from = 0; from < ranks; from += rows.most) {
        const uint32_t count = Min(rows.most, ranks - from);
        if (!LoadAll(core, route, rows, part, from, count)) {
            return false;
        }
        const uint32_t below = rank <= from ? 0 : Min(rank - from, count);
        if (below > 0) {
            rows.Sum(0, below);
            lists.Plus(lists[BEFORE], lists[BEFORE], rows.Row(0));
            lists.Plus(lists[TOTAL], lists[TOTAL], rows.Row(0));
        }
        if (rank >= from && rank < from + count) {
            lists.Copied(lists[OWN], rows.Row(below));
        }
        if (below < count) {
            rows.Sum(below, count);
            lists.Plus(lists[TOTAL], lists[TOTAL], rows.Row(below));
        }
    }
    lists.Scaled(lists[OWN], lists[OWN], route.sign);
    lists.Scaled(lists[BEFORE], lists[BEFORE], route.sign);
    lists.Scaled(lists[TOTAL], lists[TOTAL], route.sign);
    lists.Shifted(lists[OWN], lists[OWN], -1);
    lists.Shifted(lists[BEFORE], lists[BEFORE], -static_cast<int32_t>(rank));
    lists.Shifted(lists[TOTAL], lists[TOTAL], -static_cast<int32_t>(ranks));
    faulty = -LeastOf(lists[TOTAL], 1, lists.count, rows.at, -1) >= static_cast<float>(FAULT_COUNT);
    return true;
}

// The fault of the first rank that has one, found by the scalar unit. Each core of that rank has sent its own first
// fault.
template <class Share>
HPMOE_ROUTINE RouteFault FaultOfCounts(VectorCore &core, const Share &route, const RouteLists &lists) {
    const CountRows rows(lists.End(), route.columns);
    RouteFault fault = {};
    for (uint32_t rank = 0; rank < core.launch.ranks; ++rank) {
        int32_t first = 0;
        rows.LoadRanks(route, 0, rank, 1);
        AfterVector();
        for (uint32_t i = 0; i < route.columns; ++i) {
            const int32_t count = Ints(rows.at).GetValue(i) - 1;
            if (count >= FAULT_COUNT && (first == 0 || count < first)) {
                first = count;
            }
        }
        if (first != 0) {
            const uint32_t found = static_cast<uint32_t>(first - FAULT_COUNT);
            fault.kind = found % 2 == 0 ? HPMOE_ROUTE_ID : HPMOE_ROUTE_TWICE;
            fault.rank = rank;
            fault.at = found / 2;
            return fault;
        }
    }
    return fault;
}

} // namespace hpmoe

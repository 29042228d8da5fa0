// The third step of a route: where rows lie, from the counts of all ranks.
#pragma once

#include "hpmoe/routing/counts.h"

namespace hpmoe {

// out[i] = Σ a[j] for the j < i of the same segment: those from the word at `segments[i]` on.
HPMOE_INLINE void SumsInSegments(const RouteLists &lists, uint32_t out, uint32_t a, uint32_t segments,
                                 uint32_t scratch) {
    SumsBefore(out, a, lists[WORDS], scratch, lists.count);
    lists.Picked(scratch, out, segments, 0);
    lists.Minus(out, out, scratch);
}

// Offsets of the first of each `length` words.
HPMOE_INLINE void Segments(const RouteLists &lists, uint32_t out, uint32_t length) {
    lists.Numbers(out);
    lists.Quotients(out, out, length);
    lists.Scaled(out, out, static_cast<int32_t>(length) * 4);
}

// The first rank that would receive more rows of a chunk than there is room for, or none. Lists are chunk by chunk.
HPMOE_ROUTINE RouteFault FaultOfCapacity(VectorCore &core, const RouteShare &route, const RouteLists &lists) {
    const uint32_t ends = lists[SCRATCH], over = lists[SCRATCH + 1];
    RouteFault fault = {};
    lists.Plus(ends, lists[BASE], lists[TOTAL]);
    lists.Shifted(over, ends, -static_cast<int32_t>(route.from.capacity));
    lists.Positive(over, over);
    if (CountRows::ExtremeOf<true>(over, lists.count) < 1.0f) {
        return fault;
    }
    const uint32_t local = core.launch.chunk_experts;
    for (uint32_t rank = 0; rank < core.launch.ranks; ++rank) {
        uint32_t most = 0;
        for (uint32_t chunk = 0; chunk < core.launch.chunks; ++chunk) {
            const uint32_t rows =
                static_cast<uint32_t>(Ints(ends).GetValue(chunk * route.experts + (rank + 1) * local - 1));
            most = rows > most ? rows : most;
        }
        if (most > route.from.capacity) {
            fault.kind = HPMOE_ROUTE_CAPACITY;
            fault.rank = rank;
            fault.at = most;
            return fault;
        }
    }
    return fault;
}

// BASE and FIRST, chunk by chunk, as if memory had room for all chunks' first halves.
HPMOE_ROUTINE void PlaceRows(const RouteLists &lists, uint32_t local) {
    Segments(lists, lists[SEGMENT], local);
    SumsBefore(lists[FIRST], lists[OWN], lists[WORDS], lists[SCRATCH], lists.count);
    SumsInSegments(lists, lists[BASE], lists[TOTAL], lists[SEGMENT], lists[SCRATCH]);
}

// Odd chunks lie in the second half of memory. Then from the order of counts, chunk by chunk, to that of tables, rank by rank.
HPMOE_ROUTINE void OrderByRank(VectorCore &core, const RouteShare &route, const RouteLists &lists) {
    const uint32_t chunk = lists[SCRATCH], half = lists[SCRATCH + 1], rank = lists[SCRATCH + 2],
                   from = lists[SCRATCH + 3];
    const uint32_t local = core.launch.chunk_experts;
    lists.Numbers(chunk);
    lists.Quotients(chunk, chunk, route.experts);
    lists.Quotients(half, chunk, HPMOE_CHUNK_BUFFERS);
    lists.Scaled(half, half, -static_cast<int32_t>(HPMOE_CHUNK_BUFFERS));
    lists.Plus(half, half, chunk);
    lists.Scaled(half, half, static_cast<int32_t>(route.from.capacity));
    lists.Plus(lists[BASE], lists[BASE], half);
    // Word rank * chunks * local + chunk * local + e is word chunk * experts + rank * local + e.
    lists.Remainders(from, rank, core.launch.local_experts);
    lists.Quotients(chunk, from, local);
    lists.Scaled(chunk, chunk, static_cast<int32_t>(route.experts - local));
    lists.Scaled(rank, rank, static_cast<int32_t>(local));
    lists.Plus(from, from, chunk);
    lists.Plus(from, from, rank);
    lists.Scaled(from, from, 4);
    for (uint32_t list = OWN; list <= TOTAL; ++list) {
        lists.Picked(chunk, lists[list], from, 0);
        lists.Shifted(lists[list], chunk, 0);
    }
}

// ORDER and PLACE where queues name experts by their number.
HPMOE_INLINE void OrderByNumber(const RouteLists &lists, uint32_t local) {
    lists.Remainders(lists[ORDER], lists[PLACE], local);
    lists.Shifted(lists[PLACE], lists[ORDER], 0);
}

// PLACE: the number of experts with the same rank and chunk that have more rows, or as many and a lower number: those with a greater key,
// which no two have in common. `number` is that of each expert among these. ORDER: the expert that has that place.
HPMOE_ROUTINE void SortByRows(const RouteLists &lists, uint32_t number, uint32_t experts) {
    const uint32_t other = lists[SCRATCH + 1], key = lists[SCRATCH + 2];
    lists.Scaled(key, lists[TOTAL], static_cast<int32_t>(experts));
    lists.Minus(key, key, number);
    lists.Filled(lists[PLACE], 0);
    for (uint32_t expert = 0; expert < experts; ++expert) {
        lists.Picked(other, key, lists[SEGMENT], expert * 4);
        lists.Minus(other, other, key);
        lists.Positive(other, other);
        lists.Plus(lists[PLACE], lists[PLACE], other);
    }
    // Every expert less those that have another place.
    lists.Filled(lists[ORDER], static_cast<int32_t>(experts * (experts - 1) / 2));
    for (uint32_t expert = 1; expert < experts; ++expert) {
        lists.Picked(other, lists[PLACE], lists[SEGMENT], expert * 4);
        lists.Minus(other, other, number);
        lists.Times(other, other, other);
        Mins(Ints(other), Ints(other), 1, lists.All());
        PipeBarrier<PIPE_V>();
        lists.Scaled(other, other, static_cast<int32_t>(expert));
        lists.Minus(lists[ORDER], lists[ORDER], other);
    }
}

// Moves the last expert that has rows, where not all have equally many, to the first place, and those before it one further.
HPMOE_INLINE void LeastFirst(const RouteLists &lists, uint32_t number, uint32_t experts) {
    const uint32_t sorted = lists[SCRATCH + 1], last = lists[SCRATCH + 2], moves = lists[SCRATCH + 3];
    const uint32_t a = lists[SCRATCH + 4], b = lists[SCRATCH + 5];
    // The place of the last one: those with rows, less one. None of none.
    lists.Positive(a, lists[TOTAL]);
    SumsBefore(b, a, lists[WORDS], last, lists.count);
    lists.Picked(last, b, lists[SEGMENT], 0);
    lists.Plus(a, a, b);
    lists.Picked(b, a, lists[SEGMENT], (experts - 1) * 4);
    lists.Minus(last, b, last);
    lists.Shifted(last, last, -1);
    Maxs(Ints(last), Ints(last), 0, lists.All()); // done before the next call is
    // Whether it has fewer rows than the first.
    lists.Scaled(a, lists[ORDER], 4);
    lists.Plus(a, a, lists[SEGMENT]);
    lists.Picked(sorted, lists[TOTAL], a, 0);
    lists.Picked(moves, sorted, lists[SEGMENT], 0);
    lists.Scaled(a, last, 4);
    lists.Plus(a, a, lists[SEGMENT]);
    lists.Picked(b, sorted, a, 0);
    lists.Minus(moves, moves, b);
    lists.Positive(moves, moves);
    // ORDER: the first place takes from the last one's, places up to it from the one before.
    const uint32_t from = sorted;
    lists.Minus(a, last, number);
    lists.Shifted(a, a, 1);
    lists.Positive(a, a);
    lists.Positive(b, number);
    lists.Times(a, a, b);
    lists.Zeros(b, number);
    lists.Times(b, b, last);
    lists.Minus(b, b, a);
    lists.Times(b, b, moves);
    lists.Plus(b, b, number);
    lists.Scaled(b, b, 4);
    lists.Plus(b, b, lists[SEGMENT]);
    lists.Picked(from, lists[ORDER], b, 0);
    lists.Shifted(lists[ORDER], from, 0);
    // PLACE: one further before the last, which moves to the first.
    lists.Minus(a, last, lists[PLACE]);
    lists.Positive(b, a);
    lists.Zeros(a, a);
    lists.Times(a, a, lists[PLACE]);
    lists.Minus(b, b, a);
    lists.Times(b, b, moves);
    lists.Plus(lists[PLACE], lists[PLACE], b);
}

// ORDER and PLACE by load: see route/load.rs. Lists are in the order of tables.
HPMOE_ROUTINE void OrderByLoad(const RouteLists &lists, uint32_t experts, uint32_t local) {
    const uint32_t number = lists[SCRATCH], chunk = lists[SCRATCH + 1], rank = lists[SCRATCH + 2];
    lists.Remainders(number, chunk, experts);
    SortByRows(lists, number, experts);
    LeastFirst(lists, number, experts);
    // From places and numbers in a chunk to those of all chunks of the rank.
    lists.Remainders(chunk, rank, local);
    lists.Minus(chunk, chunk, number);
    lists.Plus(lists[ORDER], lists[ORDER], chunk);
    lists.Plus(lists[PLACE], lists[PLACE], chunk);
}

} // namespace hpmoe

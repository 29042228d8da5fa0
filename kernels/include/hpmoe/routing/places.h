// The third step of a route: computes the positions of rows from the counts of all ranks.
#pragma once

#include "hpmoe/routing/placement.h"

namespace hpmoe {

// out[i] = Σ a[j] for all j < i in the segment of i. Segment starts are given as offsets: segments[i] for word i.
HPMOE_INLINE void SumsInSegments(const RouteLists &lists, uint32_t out, uint32_t a, uint32_t segments,
                                 uint32_t scratch) {
    SumsBefore(out, a, lists[WORDS], scratch, lists.count);
    lists.Picked(scratch, out, segments, 0);
    lists.Minus(out, out, scratch);
}

// out[i] = the offset of the first word of i's segment. Each segment has `length` words.
HPMOE_INLINE void Segments(const RouteLists &lists, uint32_t out, uint32_t length) {
    lists.Quotient(out, length);
    lists.Scaled(out, out, static_cast<int32_t>(length) * 4);
}

// The fault of a rank that has no room for its rows of a chunk. Of several such ranks, it is the one with the most
// rows, and of equals the first. Lists are chunk by chunk.
template <class Share>
HPMOE_INLINE RouteFault FaultOfCapacity(VectorCore &core, const Share &route, const RouteLists &lists) {
    const uint32_t ends = lists[SCRATCH], over = lists[SCRATCH + 1];
    RouteFault fault = {};
    lists.Plus(ends, lists[BASE], lists[TOTAL]);
    lists.Shifted(over, ends, -static_cast<int32_t>(route.from.capacity));
    lists.Positive(over, over);
    if (-LeastOf(over, 1, lists.count, over, -1) < 1.0f) {
        return fault;
    }
    const uint32_t local = core.launch.chunk_experts;
    fault.kind = HPMOE_ROUTE_CAPACITY;
    for (uint32_t rank = 0; rank < core.launch.ranks; ++rank) {
        for (uint32_t chunk = 0; chunk < route.Chunks(core); ++chunk) {
            const uint32_t rows =
                static_cast<uint32_t>(Ints(ends).GetValue(chunk * route.places + (rank + 1) * local - 1));
            if (rows > fault.at) {
                fault.rank = rank;
                fault.at = rows;
            }
        }
    }
    return fault;
}

// Makes BASE and FIRST, chunk by chunk, as if the rows of all chunks lay in the first half of memory. Returns a fault
// if there is no route.
template <class Share>
HPMOE_INLINE RouteFault PlaceRows(VectorCore &core, const Share &route, const RouteLists &lists) {
    SumsBefore(lists[FIRST], lists[OWN], lists[WORDS], lists[SCRATCH], route.columns);
    if (route.IsPlaced()) {
        OrderByPlace(route, lists);
    }
    SumsInSegments(lists, lists[BASE], lists[TOTAL], lists[SEGMENT], lists[SCRATCH]);
    return FaultOfCapacity(core, route, lists);
}

// Moves the rows of odd chunks to the second half of memory. Then reorders lists: from chunk by chunk, the order of
// counts, to rank by rank, the order of tables.
template <class Share> HPMOE_INLINE void OrderByRank(VectorCore &core, const Share &route, const RouteLists &lists) {
    const uint32_t chunk = lists[SCRATCH], half = lists[SCRATCH + 1], rank = lists[SCRATCH + 2],
                   from = lists[SCRATCH + 3];
    const uint32_t local = core.launch.chunk_experts;
    lists.Quotient(chunk, route.places);
    lists.Quotients(half, chunk, HPMOE_CHUNK_BUFFERS);
    lists.Scaled(half, half, -static_cast<int32_t>(HPMOE_CHUNK_BUFFERS));
    lists.Plus(half, half, chunk);
    lists.Scaled(half, half, static_cast<int32_t>(route.from.capacity));
    lists.Plus(lists[BASE], lists[BASE], half);
    // Word rank * chunks * local + chunk * local + e is taken from word chunk * places + rank * local + e.
    lists.Remainders(from, rank, core.launch.local_experts);
    lists.Quotients(chunk, from, local);
    lists.Scaled(chunk, chunk, static_cast<int32_t>(route.places - local));
    lists.Scaled(rank, rank, static_cast<int32_t>(local));
    lists.Plus(from, from, chunk);
    lists.Plus(from, from, rank);
    lists.Scaled(from, from, 4);
    for (uint32_t list = OWN; list <= TOTAL; ++list) {
        lists.Picked(chunk, lists[list], from, 0);
        lists.Copied(lists[list], chunk);
    }
}

// Makes ORDER and PLACE if queues list experts by number.
HPMOE_INLINE void OrderByNumber(const RouteLists &lists, uint32_t local) {
    lists.Remainders(lists[ORDER], lists[PLACE], local);
    lists.Copied(lists[PLACE], lists[ORDER]);
}

constexpr int32_t LARGEST = 0x7fffffff;

// A list with a number for each expert and group, expert by expert, that can be rotated by some experts. A group is a
// rank and a chunk. If the groups fill whole blocks, the list is stored twice in a row, and rotating it only moves its
// start.
struct Turned {
    RouteLists lists;
    uint32_t groups;
    uint32_t at;   // room for two lists
    uint32_t next; // offsets of the next expert's numbers; zero if the list is stored twice

    HPMOE_INLINE Turned(const RouteLists &from, uint32_t count, uint32_t room, uint32_t offsets)
        : lists(from), groups(count), at(room), next(count % BLOCK_WORDS == 0 ? 0 : offsets) {
        if (next != 0) {
            // The first expert follows the last one.
            const int32_t all = lists.All(), last = all - static_cast<int32_t>(groups);
            lists.Shifted(at, lists[WORDS], -4 * (last - 1));
            lists.Positive(at, at);
            lists.Scaled(at, at, -4 * all);
            lists.Plus(next, at, lists[WORDS]);
            lists.Shifted(next, next, 4 * static_cast<int32_t>(groups));
        }
    }

    HPMOE_INLINE void Begin(uint32_t list) const {
        lists.Copied(at, list);
        if (next == 0) {
            lists.Copied(at + 4 * lists.count, list);
        }
    }
    // The list that contains, for each expert and group, the number of the expert that is `turn` experts later. Calls
    // must pass the turns 1, 2, 3, … in this order.
    HPMOE_INLINE uint32_t Later(uint32_t turn) const {
        if (next == 0) {
            return at + 4 * groups * turn;
        }
        const uint32_t even = at, odd = at + lists.bytes;
        lists.Picked(turn % 2 == 1 ? odd : even, turn % 2 == 1 ? even : odd, next, 0);
        return turn % 2 == 1 ? odd : even;
    }
};

// For each expert and group, the rows of the group's most loaded expert minus the rows of the expert.
HPMOE_INLINE void RowsToMost(const Turned &turned, uint32_t experts, uint32_t rows, uint32_t out) {
    const Lists &lists = turned.lists;
    turned.Begin(rows);
    lists.Copied(out, rows);
    for (uint32_t turn = 1; turn < experts; ++turn) {
        lists.Greater(out, out, turned.Later(turn));
    }
    lists.Minus(out, out, rows);
}

// Keys by which the experts of a group are ordered, the greatest key first: by rows, the most first, then by number.
// But the last expert that has rows comes first, unless all experts have the same number of rows. A group has no equal
// keys.
HPMOE_INLINE void KeysByLoad(const Turned &turned, uint32_t experts, uint32_t number, uint32_t rows, uint32_t key,
                             uint32_t least, uint32_t fewer, uint32_t work) {
    const Lists &lists = turned.lists;
    lists.Scaled(key, rows, static_cast<int32_t>(experts));
    lists.Minus(key, key, number);
    lists.Shifted(key, key, static_cast<int32_t>(experts) - 1);
    RowsToMost(turned, experts, rows, fewer);
    lists.Positive(fewer, fewer);
    // The least key of the experts that have rows.
    lists.Positive(work, rows);
    lists.Shifted(work, work, -1);
    lists.Scaled(work, work, -LARGEST);
    lists.Greater(work, work, key);
    turned.Begin(work);
    lists.Copied(least, work);
    for (uint32_t turn = 1; turn < experts; ++turn) {
        lists.Lesser(least, least, turned.Later(turn));
    }
    lists.Minus(work, work, least);
    lists.Positive(work, work);
    lists.Shifted(work, work, -1);
    lists.Times(work, work, fewer);
    lists.Scaled(work, work, -LARGEST);
    lists.Greater(key, key, work);
}

// Keys by which the experts of a group are ordered, the greatest key first: by rows, the fewest first, then by number.
// Experts without rows come last. A group has no equal keys.
HPMOE_INLINE void KeysFromLightest(const Lists &lists, uint32_t experts, uint32_t number, uint32_t rows, uint32_t key,
                                   uint32_t work) {
    const int32_t all = static_cast<int32_t>(experts);
    lists.Scaled(key, rows, all);
    lists.Plus(key, key, number);
    lists.Positive(work, rows);
    lists.Scaled(work, work, LARGEST - all);
    lists.Shifted(work, work, all);
    lists.Minus(key, work, key);
}

// The position of each expert in its group's order: the number of experts of the group with a greater key.
HPMOE_INLINE void PlacesOf(const Turned &turned, uint32_t experts, uint32_t key, uint32_t out, uint32_t work) {
    const Lists &lists = turned.lists;
    turned.Begin(key);
    lists.Filled(out, 0);
    for (uint32_t turn = 1; turn < experts; ++turn) {
        lists.Minus(work, turned.Later(turn), key);
        lists.Positive(work, work);
        lists.Plus(out, out, work);
    }
}

// Changes positions by load to those of the mixed order, in which two lighter experts follow each of the heaviest
// third; see route/load.rs.
HPMOE_INLINE void MixedPlaces(const Lists &lists, uint32_t experts, uint32_t place, uint32_t heavy_place,
                              uint32_t light_place) {
    const int32_t heavy = static_cast<int32_t>((experts - 1) / 3);
    lists.Shifted(heavy_place, place, -1 - heavy);
    lists.AtLeast(heavy_place, heavy_place, 0);
    lists.Quotients(light_place, heavy_place, 2);
    lists.Shifted(light_place, light_place, 1);
    lists.AtMost(light_place, light_place, heavy);
    lists.Plus(light_place, light_place, place);
    lists.Shifted(light_place, light_place, -heavy);
    lists.Scaled(heavy_place, place, 3);
    lists.Shifted(heavy_place, heavy_place, -2);
    lists.AtLeast(heavy_place, heavy_place, 0);
    // Selects one of the two.
    lists.Shifted(place, place, -heavy);
    lists.Positive(place, place);
    lists.Minus(light_place, light_place, heavy_place);
    lists.Times(light_place, light_place, place);
    lists.Plus(place, heavy_place, light_place);
}

// The expert at each position p: the expert p + t, modulo the number of experts, whose position is p. This turn t is
// the sum of all turns, minus the turns whose experts have other positions.
HPMOE_INLINE void ExpertsOf(const Turned &turned, uint32_t experts, uint32_t number, uint32_t place, uint32_t out,
                            uint32_t work) {
    const Lists &lists = turned.lists;
    const int32_t all = static_cast<int32_t>(experts);
    turned.Begin(place);
    lists.Shifted(out, number, all * (all - 1) / 2);
    for (uint32_t turn = 1; turn < experts; ++turn) {
        lists.Minus(work, turned.Later(turn), number);
        lists.Times(work, work, work);
        lists.AtMost(work, work, 1);
        lists.Scaled(work, work, static_cast<int32_t>(turn));
        lists.Minus(out, out, work);
    }
    lists.Shifted(work, out, 1 - all);
    lists.Positive(work, work);
    lists.Scaled(work, work, -all);
    lists.Plus(out, out, work);
}

// Makes ORDER and PLACE by load: see route/load.rs. Lists are in the order of tables.
template <class Share>
HPMOE_INLINE void OrderByLoad(const RouteLists &lists, uint32_t experts, uint32_t local, uint32_t expert_order) {
    const uint32_t number = lists[SCRATCH], rows = lists[SCRATCH + 3], key = lists[SCRATCH + 4],
                   work = lists[SCRATCH + 5], place = lists[PLACE], order = lists[ORDER];
    const uint32_t groups = lists.count / experts;
    const Turned turned(lists, groups, lists[SCRATCH + 1], lists.End() + LIST_FRONT);
    // Word group * experts + expert moves to word expert * groups + group.
    lists.Remainders(work, number, groups);
    lists.Scaled(work, work, static_cast<int32_t>(experts) * 4);
    lists.Scaled(key, number, 4);
    lists.Plus(work, work, key);
    lists.Picked(rows, lists[TOTAL], work, 0);
    if (Share::Needs(NEEDS_LIGHTEST) &&
        (!Share::Needs(NEEDS_LOAD | NEEDS_MIXED) || expert_order == HPMOE_LIGHTEST_FIRST)) {
        KeysFromLightest(lists, experts, number, rows, key, work);
    } else {
        KeysByLoad(turned, experts, number, rows, key, place, order, work);
    }
    PlacesOf(turned, experts, key, place, work);
    if (Share::Needs(NEEDS_MIXED) && expert_order == HPMOE_MIXED) {
        MixedPlaces(lists, experts, place, key, work);
    }
    ExpertsOf(turned, experts, number, place, order, work);
    // Moves the words back to the order of tables.
    lists.Remainders(number, key, experts);
    lists.Scaled(work, number, static_cast<int32_t>(groups) * 4);
    lists.Scaled(key, key, 4);
    lists.Plus(work, work, key);
    lists.Picked(rows, order, work, 0);
    lists.Picked(key, place, work, 0);
    lists.Copied(order, rows);
    lists.Copied(place, key);
    if (experts == local) {
        return;
    }
    // Converts positions and numbers within a chunk to those within all chunks of the rank.
    lists.Remainders(rows, work, local);
    lists.Minus(rows, rows, number);
    lists.Plus(order, order, rows);
    lists.Plus(place, place, rows);
}

} // namespace hpmoe

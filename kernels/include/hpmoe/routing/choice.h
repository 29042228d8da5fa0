// How a launch chooses its number of chunks: the smallest for which each rank has room for its rows of every chunk.
//
// Ranks count rows for the largest number of chunks. A chunk of a smaller number consists of several of these counted
// chunks. So all ranks find the same number of chunks from the counts that they have, without another exchange.
#pragma once

#include "hpmoe/routing/await.h"
#include "hpmoe/routing/placement.h"

namespace hpmoe {

// Reverses the bits of a number below `end`, a power of two.
HPMOE_INLINE uint32_t Reversed(uint32_t number, uint32_t end) {
    uint32_t reversed = 0;
    for (uint32_t bit = 1; bit < end; bit *= 2) {
        reversed = 2 * reversed + (number / bit) % 2;
    }
    return reversed;
}

// Computes the rows that each rank receives in each counted chunk: `pitch` words per chunk. Chunks are in the order of
// their bit-reversed numbers. Adding the second half of the chunks to the first half then yields the rows for half as
// many chunks, again in bit-reversed order.
template <class Share>
HPMOE_INLINE void RowsOfChunks(const VectorCore &core, const Share &route, const RouteLists &lists, uint32_t out,
                               uint32_t pitch) {
    const uint32_t rows = lists[BASE], sums = lists[SCRATCH], scratch = lists[SCRATCH + 1], begins = lists[SCRATCH + 2],
                   ends = lists[SCRATCH + 3], before = lists[SCRATCH + 4];
    const uint32_t rank = core.launch.chunk_experts * 4, chunk = route.places * 4;
    lists.Of(lists.count + 1).Filled(rows, 0);
    if (route.IsPlaced()) {
        LoadWords(scratch, PlacementAt(route, PLACE_COUNTS), lists.count);
        lists.Picked(rows, lists[TOTAL], scratch, 0);
    } else {
        lists.Copied(rows, lists[TOTAL]);
    }
    SumsBefore(sums, rows, lists[WORDS], scratch, lists.count + 1);
    const Lists ranks{pitch};
    ranks.Ramp(begins, static_cast<int32_t>(rank));
    ranks.Shifted(ends, begins, static_cast<int32_t>(rank));
    ranks.AtMost(begins, begins, static_cast<int32_t>(chunk));
    ranks.AtMost(ends, ends, static_cast<int32_t>(chunk));
    for (uint32_t i = 0; i < route.most_chunks; ++i) {
        const uint32_t first = Reversed(i, route.most_chunks) * chunk;
        ranks.Picked(out + i * pitch * 4, sums, ends, first);
        ranks.Picked(before + i * pitch * 4, sums, begins, first);
    }
    Lists{route.most_chunks * pitch}.Minus(out, out, before);
}

// The smallest number of chunks for which there is room; the largest number if there is room for none.
template <class Share>
HPMOE_INLINE uint32_t LeastChunks(const VectorCore &core, const Share &route, const RouteLists &lists) {
    const uint32_t rows = lists[FIRST], over = lists[SCRATCH];
    const uint32_t pitch = AlignUp(core.launch.ranks, BLOCK_WORDS);
    RowsOfChunks(core, route, lists, rows, pitch);
    uint32_t chunks = route.most_chunks;
    for (uint32_t fewer = chunks / 2; fewer > 0; fewer /= 2) {
        const Lists all{fewer * pitch};
        all.Plus(rows, rows, rows + fewer * pitch * 4);
        all.Shifted(over, rows, -static_cast<int32_t>(route.from.capacity));
        if (-LeastOf(over, 1, all.count, over, -1) >= 1.0f) {
            break;
        }
        chunks = fewer;
    }
    return chunks;
}

// Makes the counts for `chunks` chunks, by halving the number of chunks again and again.
template <class Share> HPMOE_INLINE void MergeChunks(const Share &route, const RouteLists &lists, uint32_t chunks) {
    const uint32_t from = lists[SCRATCH], even = lists[SCRATCH + 1], odd = lists[SCRATCH + 2];
    const uint32_t half = route.most_chunks / 2;
    // Word chunk * counted + column becomes the sum of the words of chunks 2 * chunk and 2 * chunk + 1.
    const RouteLists first = lists.Of(half * route.counted);
    first.Quotient(from, route.counted);
    first.Scaled(from, from, static_cast<int32_t>(route.counted) * 4);
    first.Plus(from, from, lists[WORDS]);
    const uint32_t merged[] = {OWN, BEFORE, TOTAL};
    for (uint32_t count = half; count >= chunks; count /= 2) {
        const Lists columns{count * route.counted};
        for (uint32_t i = 0; i < 3; ++i) {
            const uint32_t list = lists[merged[i]];
            columns.Picked(even, list, from, 0);
            columns.Picked(odd, list, from, route.counted * 4);
            columns.Plus(list, even, odd);
        }
    }
}

// Chooses the number of chunks, and changes the counts and the launch to that number.
template <class Share> HPMOE_ROUTINE void ChooseChunks(VectorCore &core, Share &route, RouteLists &lists) {
    const uint32_t chunks = LeastChunks(core, route, lists);
    if (chunks < route.most_chunks) {
        MergeChunks(route, lists, chunks);
    }
    TakeChunks(core, chunks);
    route.Resize(core);
    lists.count = route.pairs;
}

} // namespace hpmoe

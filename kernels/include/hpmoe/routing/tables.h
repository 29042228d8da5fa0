// Tables of a route in global memory, from the lists of a part.
#pragma once

#include "hpmoe/routing/places.h"

namespace hpmoe {

constexpr uint32_t PATTERN_WORDS = 1024; // offsets that interleave lists, as often as needed

// out[n * i + j] = word i of the j-th of `n` lists, `apart` bytes from one to the next, to global memory. The first word is `begin`
// bytes from the beginning of its list.
HPMOE_ROUTINE void StoreInterleaved(uint64_t to, uint32_t list, uint32_t begin, uint32_t apart, uint32_t n,
                                    uint32_t count, uint32_t scratch) {
    const LocalTensor<int32_t> pattern = Ints(scratch);
    const uint32_t out = scratch + PATTERN_WORDS * 4;
    AfterVector();
    for (uint32_t i = 0; i < BLOCK_WORDS; ++i) {
        for (uint32_t j = 0; j < n; ++j) {
            pattern.SetValue(i * n + j, static_cast<int32_t>(j * apart + i * 4));
        }
    }
    BeforeVector();
    for (uint32_t made = BLOCK_WORDS * n; made < PATTERN_WORDS; made *= 2) {
        Lists{Min(made, PATTERN_WORDS - made)}.Shifted(scratch + made * 4, scratch, static_cast<int32_t>(made / n * 4));
    }
    const uint32_t words = n * count;
    for (uint32_t done = 0; done < words; done += PATTERN_WORDS) {
        const Lists part{Min(PATTERN_WORDS, words - done)};
        part.Picked(out, list, scratch, begin + done / n * 4);
        StoreWords(to + static_cast<uint64_t>(done) * 4, out, part.count);
    }
}

// Of each source and own local expert, in the order of tables: how many rows, and the first among the expert's.
HPMOE_ROUTINE void Arrivals(VectorCore &core, const RouteShare &route, const RouteLists &lists, uint32_t rows_to,
                            uint32_t at_to) {
    const uint32_t local = core.launch.local_experts, ranks = core.launch.ranks;
    const uint32_t pitch = AlignUp(local, BLOCK_WORDS);
    const uint32_t padded = lists.End(); // of each source from a block on
    const CountRows rows(padded + ranks * pitch * 4, route.pairs);
    const uint32_t from = rows_to, chunk = at_to;
    // Where this rank's experts stand among a source's counts.
    const RouteLists own = lists.Of(local);
    own.Numbers(from);
    own.Quotients(chunk, from, core.launch.chunk_experts);
    own.Scaled(chunk, chunk, static_cast<int32_t>(route.experts - core.launch.chunk_experts));
    own.Plus(from, from, chunk);
    own.Shifted(from, from, static_cast<int32_t>(core.launch.rank * core.launch.chunk_experts));
    own.Scaled(from, from, 4);
    for (uint32_t source = 0; source < ranks; source += rows.most) {
        const uint32_t count = Min(rows.most, ranks - source);
        rows.LoadRanks(core, route, 0, source, count);
        for (uint32_t i = 0; i < count; ++i) {
            own.Picked(padded + (source + i) * pitch * 4, rows.at, from, i * rows.pitch * 4);
        }
    }
    Lists{ranks * pitch}.Shifted(padded, padded, -1);
    // Without the words between sources: how many, then how many up to there.
    const uint32_t dense = lists[SCRATCH + 2], scratch = lists[SCRATCH + 3];
    lists.Numbers(dense);
    lists.Quotients(scratch, dense, local);
    lists.Scaled(scratch, scratch, static_cast<int32_t>(pitch - local));
    lists.Plus(dense, dense, scratch);
    lists.Scaled(dense, dense, 4);
    lists.Picked(rows_to, padded, dense, 0);
    for (uint32_t source = 1; source < ranks; ++source) {
        const uint32_t row = padded + source * pitch * 4;
        own.Plus(row, row, row - pitch * 4);
    }
    lists.Picked(at_to, padded, dense, 0);
    lists.Minus(at_to, at_to, rows_to);
}

// For each pair, the offset of the pair of the same local expert on this rank.
HPMOE_INLINE void OwnWords(const VectorCore &core, const RouteLists &lists, uint32_t out, uint32_t scratch) {
    lists.Remainders(out, scratch, core.launch.local_experts);
    lists.Shifted(out, out, static_cast<int32_t>(core.launch.rank * core.launch.local_experts));
    lists.Scaled(out, out, 4);
}

HPMOE_ROUTINE void StoreArrivals(VectorCore &core, const RouteShare &route, const RouteLists &lists) {
    const uint32_t rows = lists[SCRATCH], at = lists[SCRATCH + 1], base = lists[SCRATCH + 2], none = lists[SCRATCH + 3];
    Arrivals(core, route, lists, rows, at);
    OwnWords(core, lists, none, base);
    lists.Picked(base, lists[BASE], none, 0);
    lists.Filled(none, 0);
    StoreInterleaved(core.launch.arrivals, rows, 0, at - rows, 4, lists.count, lists.End());
}

HPMOE_INLINE void StoreSends(VectorCore &core, const RouteLists &lists, uint32_t part) {
    const uint64_t to = core.launch.sends + static_cast<uint64_t>(part) * lists.count * sizeof(HpmoePair);
    StoreInterleaved(to, lists[OWN], 0, lists.bytes, 4, lists.count, lists.End());
}

HPMOE_INLINE void StoreExperts(VectorCore &core, const RouteLists &lists, uint32_t part) {
    const uint32_t local = core.launch.local_experts;
    const uint64_t to = core.launch.experts + static_cast<uint64_t>(part) * local * sizeof(HpmoeExpert);
    StoreInterleaved(to, lists[BASE], core.launch.rank * local * 4, lists[TOTAL] - lists[BASE], 2, local, lists.End());
}

} // namespace hpmoe

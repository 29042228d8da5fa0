// Writes the tables of a route to global memory, from the lists of a part.
#pragma once

#include "hpmoe/routing/places.h"

namespace hpmoe {

constexpr uint32_t PATTERN_WORDS = 1024; // words of the pattern of offsets that interleaves lists

// Stores `n` lists in global memory, interleaved: out[n * i + j] is word i of list j. The lists are `apart` bytes
// apart, and word 0 of each is `begin` bytes after the list's start.
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

// The counts of some sources for this rank's experts, in UB. Each chunk of a source starts at a block.
struct OwnCounts {
    uint32_t at;     // a row with the sums of all earlier sources
    uint32_t room;   // words in a chunk
    uint32_t pitch;  // words in a source
    uint32_t most;   // largest number of sources at a time: all, or a number whose words are whole blocks
    uint32_t places; // with a placement, a list of the offset of each place's count in a row of counts

    template <class Share>
    HPMOE_INLINE OwnCounts(const VectorCore &core, const Share &route, uint32_t begin)
        : at(begin), room(AlignUp(core.launch.chunk_experts, BLOCK_WORDS)), pitch(route.Chunks(core) * room),
          places(begin) {
        uint32_t words = (UB_KEPT - begin) / 4;
        const uint32_t merged = route.Merged(core);
        if (route.IsPlaced()) {
            LoadPlaces(core, route);
            at += pitch * 4;
            words -= pitch + AlignUp(route.CountedColumns(), BLOCK_WORDS); // the list of places, and a row of counts
            words -= merged > 1 ? pitch : 0;                               // the counts that are added to a source's
        }
        most = words / pitch - 1;
        most = merged > 1 && !route.IsPlaced() ? most / 2 : most; // the counts that are added to those of all sources
        const uint32_t low =
            core.launch.local_experts & (0u - core.launch.local_experts); // the greatest power of two that divides it
        const uint32_t apart = low < BLOCK_WORDS ? BLOCK_WORDS / low : 1;
        most = most < core.launch.ranks ? most / apart * apart : core.launch.ranks;
        HPMOE_EXPECTS(most > 0);
    }

    template <class Share> HPMOE_INLINE void LoadPlaces(const VectorCore &core, const Share &route) const {
        const uint32_t local = core.launch.chunk_experts;
        const uint64_t from = PlacementAt(route, PLACE_COUNTS) + static_cast<uint64_t>(core.launch.rank) * local * 4;
        SetFlag<HardEvent::V_MTE2>(2);
        WaitFlag<HardEvent::V_MTE2>(2);
        DataCopyPad(Ints(places), Global<int32_t>(from),
                    DataCopyExtParams(static_cast<uint16_t>(route.Chunks(core)), local * 4,
                                      (route.Merged(core) * route.places - local) * 4, 0, 0),
                    DataCopyPadExtParams<int32_t>(true, 0, static_cast<uint8_t>(room - local), 0));
        SetFlag<HardEvent::MTE2_V>(2);
        WaitFlag<HardEvent::MTE2_V>(2);
    }

    HPMOE_INLINE uint32_t Row(uint32_t source) const { return at + (source + 1) * pitch * 4; }

    template <class Share>
    HPMOE_INLINE void LoadSources(const VectorCore &core, const Share &route, uint32_t source, uint32_t count) const {
        const uint32_t merged = route.Merged(core);
        if (route.IsPlaced()) {
            return PickSources(route, source, count, merged);
        }
        const Lists all{count * pitch};
        LoadChunks(core, route, source, count, 0, Row(0));
        for (uint32_t more = 1; more < merged; ++more) {
            LoadChunks(core, route, source, count, more, Row(count));
            all.Plus(Row(0), Row(0), Row(count));
        }
        all.Scaled(Row(0), Row(0), route.sign);
        all.Shifted(Row(0), Row(0), -static_cast<int32_t>(merged));
    }

    // Loads one counted chunk for each chunk of the launch: the one with number `number` among those that make it up.
    template <class Share>
    HPMOE_INLINE void LoadChunks(const VectorCore &core, const Share &route, uint32_t source, uint32_t count,
                                 uint32_t number, uint32_t to) const {
        const uint32_t local = core.launch.chunk_experts, merged = route.Merged(core);
        const uint64_t from = route.Told(source) + core.launch.rank * local * 4;
        SetFlag<HardEvent::V_MTE2>(2);
        WaitFlag<HardEvent::V_MTE2>(2);
        for (uint32_t chunk = 0; chunk < route.Chunks(core); ++chunk) {
            DataCopyPad(Ints(to + chunk * room * 4),
                        Global<int32_t>(from + (chunk * merged + number) * route.experts * 4),
                        DataCopyExtParams(static_cast<uint16_t>(count), local * 4, (route.from.count_pitch - local) * 4,
                                          (pitch - room) / BLOCK_WORDS, 0),
                        DataCopyPadExtParams<int32_t>());
        }
        SetFlag<HardEvent::MTE2_V>(2);
        WaitFlag<HardEvent::MTE2_V>(2);
    }

    // Like LoadSources, for a launch with a placement: loads whole rows of counts, as many at a time as fit after the
    // sources.
    template <class Share>
    HPMOE_INLINE void PickSources(const Share &route, uint32_t source, uint32_t count, uint32_t merged) const {
        const uint32_t added = Row(count);
        const CountRows counts(merged > 1 ? Row(count + 1) : added, route.CountedColumns());
        for (uint32_t from = 0; from < count; from += counts.most) {
            const uint32_t loaded = Min(counts.most, count - from);
            counts.LoadRanks(route, 0, source + from, loaded);
            for (uint32_t i = 0; i < loaded; ++i) {
                Gather(Ints(Row(from + i)), Ints(counts.Row(i)), UbFrom<uint32_t>(places), 0, pitch);
                for (uint32_t more = 1; more < merged; ++more) {
                    Lists{pitch}.Picked(added, counts.Row(i), places, more * route.counted * 4);
                    Lists{pitch}.Plus(Row(from + i), Row(from + i), added);
                }
            }
            PipeBarrier<PIPE_V>();
        }
        Lists{count * pitch}.Shifted(Row(0), Row(0), -static_cast<int32_t>(merged));
    }

    // Adds to each source's counts the counts of all sources before it: in doubling steps, if there is room for a copy.
    HPMOE_INLINE void SumUp(uint32_t count) const {
        if (Row(2 * count) <= UB_KEPT) {
            Lists{pitch}.Plus(Row(0), Row(0), at);
            for (uint32_t step = 1; step < count; step *= 2) {
                const Lists later{(count - step) * pitch};
                later.Copied(Row(count), Row(0));
                later.Plus(Row(step), Row(step), Row(count));
            }
        } else {
            for (uint32_t source = 0; source < count; ++source) {
                Lists{pitch}.Plus(Row(source), Row(source), Row(source) - pitch * 4);
            }
        }
        Lists{pitch}.Copied(at, Row(count - 1));
    }
};

// For each source and each local expert of this rank, in the order of tables: the number of rows, and the position of
// the first of them among the expert's rows.
template <class Share>
HPMOE_ROUTINE void Arrivals(VectorCore &core, const Share &route, const RouteLists &lists, uint32_t rows_to,
                            uint32_t at_to) {
    const uint32_t local = core.launch.chunk_experts;
    const OwnCounts counts(core, route, lists.End());
    // Offsets of the loaded words, without the padding of chunks.
    const uint32_t dense = lists[SCRATCH + 2], scratch = lists[SCRATCH + 3];
    lists.Quotient(scratch, local);
    lists.Scaled(scratch, scratch, static_cast<int32_t>(counts.room - local) * 4);
    lists.Plus(dense, lists[WORDS], scratch);
    Lists{counts.pitch}.Filled(counts.at, 0);
    for (uint32_t source = 0; source < core.launch.ranks; source += counts.most) {
        const uint32_t count = Min(counts.most, core.launch.ranks - source);
        const Lists part{count * core.launch.local_experts};
        const uint32_t before = source * core.launch.local_experts * 4;
        counts.LoadSources(core, route, source, count);
        part.Picked(rows_to + before, counts.Row(0), dense, 0);
        counts.SumUp(count);
        part.Picked(at_to + before, counts.Row(0), dense, 0);
    }
    lists.Minus(at_to, at_to, rows_to);
}

// For each pair, the offset of this rank's pair with the same local expert.
HPMOE_INLINE void OwnWords(const VectorCore &core, const RouteLists &lists, uint32_t out, uint32_t scratch) {
    lists.Remainders(out, scratch, core.launch.local_experts);
    lists.Shifted(out, out, static_cast<int32_t>(core.launch.rank * core.launch.local_experts));
    lists.Scaled(out, out, 4);
}

template <class Share> HPMOE_INLINE void StoreArrivals(VectorCore &core, const Share &route, const RouteLists &lists) {
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

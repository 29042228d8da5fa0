// The rows of this rank's experts before each source and part of its tokens (HpmoeLaunch.parts), computed from the
// counts of all ranks. Each core does so for some of the experts.
#pragma once

#include "hpmoe/routing/placement.h"

namespace hpmoe {

// Offset in bytes of the count of one of this rank's experts among the counts of a source and part.
template <class Share>
HPMOE_INLINE uint32_t CountOfExpert(const VectorCore &core, const Share &route, uint32_t expert) {
    const uint32_t place = core.launch.rank * core.launch.chunk_experts + expert;
    return route.IsPlaced() ? Word<uint32_t>(PlacementAt(route, PLACE_COUNTS), place) : place * 4;
}

// Loads an expert's counts from `sources` sources: for each part and source, one word at the start of a block.
template <class Share>
HPMOE_INLINE void LoadPartCounts(const VectorCore &core, const Share &route, uint32_t expert, uint32_t source,
                                 uint32_t sources, uint32_t to) {
    const uint64_t from = route.Told(source) + CountOfExpert(core, route, expert);
    SetFlag<HardEvent::S_MTE2>(4);
    WaitFlag<HardEvent::S_MTE2>(4);
    for (uint32_t part = 0; part < route.most_chunks; ++part) {
        DataCopyPad(Ints(to + part * sources * BLOCK_BYTES),
                    Global<int32_t>(from + static_cast<uint64_t>(part) * route.counted * 4),
                    DataCopyExtParams(static_cast<uint16_t>(sources), 4, (route.from.count_pitch - 1) * 4, 0, 0),
                    DataCopyPadExtParams<int32_t>(true, 0, BLOCK_WORDS - 1, 0));
    }
    SetFlag<HardEvent::MTE2_S>(4);
    WaitFlag<HardEvent::MTE2_S>(4);
}

// Stores HpmoeLaunch.parts for this core's experts. Uses the scalar unit, because a core has few experts, if any.
template <class Share> HPMOE_ROUTINE void StoreParts(VectorCore &core, const Share &route, uint32_t scratch) {
    const uint32_t ranks = core.launch.ranks, chunks = route.Chunks(core), parts = core.launch.chunk_parts;
    const uint32_t row = ranks * parts + 1, pitch = AlignUp(row, BLOCK_WORDS), loaded = scratch + chunks * pitch * 4;
    const uint32_t most = Min(ranks, (UB_KEPT - loaded) / (route.most_chunks * BLOCK_BYTES));
    const LocalTensor<int32_t> before = Ints(scratch), counts = Ints(loaded);
    HPMOE_EXPECTS(parts == route.Merged(core) && most > 0);
    AfterVector();
    for (uint32_t expert = core.number; expert < core.launch.chunk_experts; expert += core.launch.aiv) {
        for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
            before.SetValue(chunk * pitch, 0);
        }
        for (uint32_t source = 0; source < ranks; source += most) {
            const uint32_t sources = Min(most, ranks - source);
            LoadPartCounts(core, route, expert, source, sources, loaded);
            for (uint32_t part = 0; part < route.most_chunks; ++part) {
                const uint32_t first = part / parts * pitch + source * parts + part % parts;
                for (uint32_t i = 0; i < sources; ++i) {
                    const int32_t count = counts.GetValue((part * sources + i) * BLOCK_WORDS) * route.sign - 1;
                    before.SetValue(first + i * parts + 1, count);
                }
            }
        }
        for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
            int32_t rows = 0;
            for (uint32_t i = chunk * pitch; i < chunk * pitch + row; ++i) {
                rows += before.GetValue(i);
                before.SetValue(i, rows);
            }
            const uint64_t number = static_cast<uint64_t>(chunk) * core.launch.chunk_experts + expert;
            StoreScalars(core.launch.parts + number * row * 4, scratch + chunk * pitch * 4, row);
        }
    }
    BeforeVector();
}

} // namespace hpmoe

// Row tiles in the order in which they are complete when all ranks send in turn: see route/coming.rs.
#pragma once

#include "hpmoe/routing/spaces.h"

namespace hpmoe {

// The rows of one expert from each rank, of which one lies `stride` words after the other, and its row tiles.
struct ComingTiles {
    LocalTensor<int32_t> rows;
    uint32_t stride, ranks, own, height, turn, tiles;
    uint32_t keys;   // of each tile: turns that some rank must have had, then how far that rank is
    uint32_t sorted; // keys in ascending order, then their tiles

    // Of the tile that has row `tile * height` of a source whose rows are [first, end).
    HPMOE_INLINE int32_t Key(uint32_t source, uint32_t first, uint32_t end, uint32_t tile) const {
        const uint32_t sent = Min(end, (tile + 1) * height) - first;
        const uint32_t far = (source + ranks - own) % ranks;
        return static_cast<int32_t>(CeilDiv(sent, turn) * MAX_RANKS + far);
    }

    HPMOE_INLINE void FindKeys() const {
        const LocalTensor<int32_t> all = Ints(keys);
        for (uint32_t tile = 0; tile < tiles; ++tile) {
            all.SetValue(tile, 0);
        }
        uint32_t first = 0;
        for (uint32_t source = 0; source < ranks; ++source) {
            const uint32_t end = first + static_cast<uint32_t>(rows.GetValue(source * stride));
            for (uint32_t tile = first / height; first < end && tile < CeilDiv(end, height); ++tile) {
                const int32_t key = Key(source, first, end, tile);
                if (key > all.GetValue(tile)) {
                    all.SetValue(tile, key);
                }
            }
            first = end;
        }
    }

    // Row by row of what each source sends, a turn or a tile at a time, so that tiles come in order, or nearly so where a turn is shorter
    // than a tile. Two tiles have the same key only if one turn completes both.
    HPMOE_INLINE void Sort() const {
        const LocalTensor<int32_t> all = Ints(keys);
        const uint32_t window = turn > height ? turn : height;
        uint32_t before = 0; // rows of the sources before this rank
        for (uint32_t source = 0; source < own; ++source) {
            before += static_cast<uint32_t>(rows.GetValue(source * stride));
        }
        uint32_t done = 0;
        for (uint32_t from = 0; done < tiles && from < tiles * height; from += window) {
            uint32_t first = before;
            for (uint32_t far = 0; far < ranks; ++far) {
                const uint32_t source = (own + far) % ranks;
                first = source == 0 ? 0 : first;
                const uint32_t end = first + static_cast<uint32_t>(rows.GetValue(source * stride));
                // Those whose last row of this source is among the window's.
                for (uint32_t tile = (first + from) / height; first + from < end && tile * height < end &&
                                                              Min(end, (tile + 1) * height) <= first + from + window;
                     ++tile) {
                    const int32_t key = Key(source, first, end, tile);
                    if (all.GetValue(tile) == key) {
                        Insert(done, key, static_cast<int32_t>(tile));
                        done += 1;
                    }
                }
                first = end;
            }
        }
    }

    HPMOE_INLINE void Insert(uint32_t done, int32_t key, int32_t tile) const {
        const LocalTensor<int32_t> before = Ints(sorted);
        uint32_t place = done;
        for (; place > 0 && before.GetValue(place - 1) > key; --place) {
            before.SetValue(place, before.GetValue(place - 1));
            before.SetValue(tiles + place, before.GetValue(tiles + place - 1));
        }
        before.SetValue(place, key);
        before.SetValue(tiles + place, tile);
    }
};

// Sorts the tiles of this core's share of the local experts, by the scalar unit.
HPMOE_ROUTINE void StoreComing(VectorCore &core, const RouteShare &route, const RouteLists &lists,
                               const HpmoeSpace &space) {
    const uint32_t local = core.launch.local_experts;
    const uint32_t mine = lists[SCRATCH + 5], firsts = lists[SCRATCH], rows = lists[SCRATCH + 4];
    if (core.number >= local) {
        return;
    }
    ItemsOf(core, route, lists, HPMOE_ROW_TILES, space.height);
    lists.Of(local).Picked(mine, lists[SCRATCH], lists[WORDS], core.launch.rank * local * 4);
    SumsBefore(firsts, mine, lists[WORDS], lists[SCRATCH + 1], local);
    Arrivals(core, route, lists, rows, lists[SCRATCH + 1]);
    AfterVector();
    for (uint32_t expert = core.number; expert < local; expert += core.launch.aiv) {
        const uint32_t tiles = static_cast<uint32_t>(Ints(mine).GetValue(expert));
        HPMOE_EXPECTS(tiles <= MOST_ROUTE_TILES);
        const uint32_t keys = lists.End();
        const uint32_t sorted = keys + AlignUp(tiles, BLOCK_WORDS) * 4;
        const ComingTiles coming{Ints(rows + expert * 4),
                                 local,
                                 core.launch.ranks,
                                 core.launch.rank,
                                 space.height,
                                 space.turn,
                                 tiles,
                                 keys,
                                 sorted};
        coming.FindKeys();
        coming.Sort();
        const uint64_t first = static_cast<uint64_t>(Ints(firsts).GetValue(expert));
        const uint32_t ordered = keys; // from a block on, as copies want it
        for (uint32_t place = 0; place < tiles; ++place) {
            Ints(ordered).SetValue(place, Ints(sorted).GetValue(tiles + place));
        }
        StoreScalars(space.coming + first * 4, ordered, tiles);
    }
    BeforeVector();
}

} // namespace hpmoe

// The order in which row tiles become complete if all ranks send in turns; see route/arrival_order.rs.
#pragma once

#include "hpmoe/routing/spaces.h"
#include "hpmoe/turns.h"

namespace hpmoe {

// The row tiles of one expert, and the rows that each rank sends to it: `stride` words from one rank's number to the
// next.
struct ArrivalOrder {
    LocalTensor<int32_t> rows;
    uint32_t stride, ranks, own, height, turn, tiles;
    uint32_t keys;   // for each tile: the last turn that it waits for, then the distance to the sending rank
    uint32_t sorted; // keys in ascending order, then their tiles

    // The key that a tile would have if it waited for this source only: the later of the turns of its first and its
    // last row from the source, then the source's distance.
    HPMOE_INLINE int32_t Key(uint32_t source, const PairTurns &turns, uint32_t tile) const {
        const uint32_t last = Min(turns.end, (tile + 1) * height) - 1;
        const uint32_t begun = tile * height < turns.start ? turns.start : tile * height;
        const uint32_t ends[] = {turns.Of(begun), turns.Of(last)};
        const uint32_t far = (source + ranks - own) % ranks;
        return static_cast<int32_t>((ends[0] < ends[1] ? ends[1] : ends[0]) * MAX_RANKS + far);
    }

    HPMOE_INLINE void FindKeys() const {
        const LocalTensor<int32_t> all = Ints(keys);
        for (uint32_t tile = 0; tile < tiles; ++tile) {
            all.SetValue(tile, 0);
        }
        uint32_t first = 0;
        for (uint32_t source = 0; source < ranks; ++source) {
            const PairTurns turns = PairTurnsOf(first, first + RowsOf(source), turn);
            for (uint32_t tile = first / height; tile * height < turns.end && first < turns.end; ++tile) {
                const int32_t key = Key(source, turns, tile);
                if (key > all.GetValue(tile)) {
                    all.SetValue(tile, key);
                }
            }
            first = turns.end;
        }
    }

    HPMOE_INLINE uint32_t RowsOf(uint32_t source) const {
        return static_cast<uint32_t>(rows.GetValue(source * stride));
    }

    // Finds the tiles, turn by turn and in each turn source by source. They are then in order or, if a turn is shorter
    // than a tile, nearly in order.
    HPMOE_INLINE void Sort() const {
        uint32_t before = 0; // rows of the sources before this rank
        for (uint32_t source = 0; source < own; ++source) {
            before += RowsOf(source);
        }
        uint32_t done = 0;
        for (uint32_t number = 0; done < tiles; ++number) {
            uint32_t first = before;
            for (uint32_t far = 0; far < ranks; ++far) {
                const uint32_t source = (own + far) % ranks;
                first = source == 0 ? 0 : first;
                const PairTurns turns = PairTurnsOf(first, first + RowsOf(source), turn);
                // The rows of this turn. The first turn also has the rows at both ends.
                const uint32_t later = turns.whole + (number + turns.at_first) * turn;
                const uint32_t from = number == 0 ? first : later - turn;
                done = Take(source, turns, from, Min(later, turns.behind), done);
                if (number == 0) {
                    done = Take(source, turns, turns.behind, turns.end, done);
                }
                first = turns.end;
            }
        }
    }

    // Inserts, once, each tile that has rows in [from, to) and waits longest for this source. Returns the number of
    // inserted tiles.
    HPMOE_INLINE uint32_t Take(uint32_t source, const PairTurns &turns, uint32_t from, uint32_t to,
                               uint32_t done) const {
        const LocalTensor<int32_t> all = Ints(keys);
        for (uint32_t tile = from / height; from < to && tile * height < to; ++tile) {
            const int32_t key = Key(source, turns, tile);
            if (all.GetValue(tile) == key) {
                all.SetValue(tile, TAKEN);
                Insert(done, key, static_cast<int32_t>(tile));
                done += 1;
            }
        }
        return done;
    }

    HPMOE_INLINE void Insert(uint32_t done, int32_t key, int32_t tile) const {
        const LocalTensor<int32_t> before = Ints(sorted);
        uint32_t place = done;
        for (; place > 0; --place) {
            const int32_t other = before.GetValue(place - 1), of = before.GetValue(tiles + place - 1);
            if (other < key || (other == key && of < tile)) {
                break;
            }
            before.SetValue(place, other);
            before.SetValue(tiles + place, of);
        }
        before.SetValue(place, key);
        before.SetValue(tiles + place, tile);
    }

    static constexpr int32_t TAKEN = -1;
};

// Stores the arrival order of the tiles of this core's share of the local experts, by the scalar unit.
template <class Share>
HPMOE_INLINE void StoreArrivalOrder(VectorCore &core, const Share &route, const RouteLists &lists,
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
        const ArrivalOrder order{Ints(rows + expert * 4),
                                 local,
                                 core.launch.ranks,
                                 core.launch.rank,
                                 space.height,
                                 space.turn,
                                 tiles,
                                 keys,
                                 sorted};
        order.FindKeys();
        order.Sort();
        const uint64_t first = static_cast<uint64_t>(Ints(firsts).GetValue(expert));
        const uint32_t ordered = keys; // begins a block, as copies require
        for (uint32_t place = 0; place < tiles; ++place) {
            Ints(ordered).SetValue(place, Ints(sorted).GetValue(tiles + place));
        }
        StoreScalars(space.arrival_order + first * 4, ordered, tiles);
    }
    BeforeVector();
}

} // namespace hpmoe

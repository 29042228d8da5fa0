// A core's way through its queue.
#pragma once

#include "hpmoe/cube.h"
#include "hpmoe/turns.h"
#include "hpmoe/vector_core.h"

namespace hpmoe {

HPMOE_INLINE HpmoePair PairOf(const Core &core, uint32_t kind, uint32_t group) {
    const uint64_t pairs = kind == HPMOE_ARRIVALS ? core.launch.arrivals : core.launch.sends;
    const uint32_t part = kind == HPMOE_SENDS_ONCE ? core.launch.ranks * core.launch.local_experts : 0;
    return Load<HpmoePair>(pairs + (part + group) * sizeof(HpmoePair));
}

HPMOE_INLINE Tile Resolve(const Core &core, const HpmoeDescriptor &entry, const HpmoeSpace &space, uint32_t group,
                          uint32_t expert, uint32_t first_item, const Place &place) {
    Tile tile = {};
    tile.phase = entry.phase;
    tile.group = group;
    tile.item = place.item;
    tile.column = place.column;
    tile.number = first_item + place.item;
    tile.chunk = entry.chunk;
    if (entry.kind == HPMOE_CHUNKS) {
        tile.rows = 1;
        return tile;
    }
    if (entry.kind == HPMOE_BLOCKS) {
        tile.first = place.item * space.height;
        tile.rows = core.BlockTokens(entry.chunk, place.item, space.height);
        return tile;
    }
    tile.expert = expert;
    if (entry.kind == HPMOE_EXPERTS) {
        tile.first = static_cast<uint32_t>(Word<int32_t>(core.launch.experts, 2 * expert));
        tile.rows = core.ExpertRows(expert);
        return tile;
    }
    if (entry.kind == HPMOE_ROW_TILES) {
        tile.at = place.item * space.height;
        tile.rows = core.TileRows(expert, tile.at, space.height);
        tile.first = static_cast<uint32_t>(Word<int32_t>(core.launch.experts, 2 * expert)) + tile.at;
        return tile;
    }
    tile.peer = group / core.launch.local_experts;
    CutPiece(tile, PairOf(core, entry.kind, group), space.height);
    return tile;
}

// Of an entry whose pieces take turns with those of others.
HPMOE_INLINE PieceTurns TurnsOf(const Core &core, const HpmoeDescriptor &entry, uint32_t group, uint32_t pieces,
                                uint32_t height) {
    const HpmoePair pair = PairOf(core, entry.kind, group);
    const uint32_t at = static_cast<uint32_t>(pair.at);
    return PiecesOf(PairTurnsOf(at, at + static_cast<uint32_t>(pair.rows), entry.turn), pieces, height);
}

// The distance from a core's tile, whose place in its round is given and moved on, to the core's tile in the next round.
HPMOE_INLINE uint32_t NextRound(const HpmoeDescriptor &entry, uint32_t &in_round) {
    const uint32_t from = in_round;
    in_round += in_round < entry.rotation ? entry.core_count - entry.rotation : -entry.rotation;
    return entry.core_count + in_round - from;
}

// Entries of its queue that a matrix core reads while it holds a tile. Others wait for that tile, so there are few.
constexpr uint32_t ENTRIES_AHEAD = 8;

// Runs a tile. False: leave.
template <class Program, class AnyCore> HPMOE_INLINE bool RunTile(AnyCore &core, const Tile &tile) {
    core.Enter(tile);
    if (!Program::Run(core, tile)) {
        return false;
    }
    core.record.tasks += 1;
    return true;
}

// Runs the tile that a core holds, if it holds one.
template <class Program, class AnyCore> HPMOE_ROUTINE bool RunHeld(AnyCore &core) {
    if constexpr (AnyCore::HOLDS) {
        const bool going = !core.holds || RunTile<Program>(core, core.held);
        core.holds = false;
        return going;
    } else {
        return true;
    }
}

// A tile comes next. A vector core runs it. A matrix core runs the one that it holds and holds this one: its first weights are on their
// way while that one ends, and while the tile after it is looked for.
template <class Program, class AnyCore> HPMOE_INLINE bool Take(AnyCore &core, const Tile &tile) {
    if constexpr (AnyCore::HOLDS) {
        if (!RunHeld<Program>(core)) {
            return false;
        }
        core.held = tile;
        core.holds = true;
        core.passed = 0;
        Program::Ahead(core, tile, 1);
        return true;
    } else {
        return RunTile<Program>(core, tile);
    }
}

// Another entry is read. False: leave.
template <class Program, class AnyCore> HPMOE_INLINE bool Pass(AnyCore &core) {
    if constexpr (AnyCore::HOLDS) {
        if (core.holds) {
            if (core.passed == ENTRIES_AHEAD) {
                return RunHeld<Program>(core);
            }
            core.passed += 1;
        }
    }
    return true;
}

// Entries that take turns with this one and follow it, itself included.
HPMOE_INLINE uint32_t EntriesOf(const HpmoeDescriptor &entry) { return entry.turn == 0 ? 1 : entry.run; }

// Whose turn it is.
struct Turn {
    uint32_t number;
    bool left; // whether the entry has further ones
};

// The tiles of one entry's turn that are this core's, one of each round. False: leave.
template <class Program, class AnyCore>
HPMOE_INLINE bool WalkEntry(AnyCore &core, const HpmoeDescriptor &entry, Turn &turn) {
    const HpmoeSpace space = Load<HpmoeSpace>(core.launch.spaces + entry.space * sizeof(HpmoeSpace));
    uint32_t group = entry.chunk;
    uint32_t expert = 0;
    if (entry.kind != HPMOE_BLOCKS && entry.kind != HPMOE_CHUNKS) {
        const uint32_t local = core.launch.local_experts;
        const uint32_t peer = (core.launch.rank + entry.peer_offset) % core.launch.ranks;
        const bool sends = entry.kind == HPMOE_SENDS || entry.kind == HPMOE_SENDS_ONCE;
        const uint32_t owner = sends ? peer : core.launch.rank;
        expert = static_cast<uint32_t>(Word<int32_t>(core.launch.expert_order, owner * local + entry.expert));
        group = sends || entry.kind == HPMOE_ARRIVALS ? peer * local + expert : expert;
    }
    const uint32_t first = static_cast<uint32_t>(Word<int32_t>(space.first_items, group));
    const uint32_t items = static_cast<uint32_t>(Word<int32_t>(space.first_items, group + 1)) - first;
    PieceTurns pieces = {items, 0, items, 1};
    if (entry.turn != 0) {
        pieces = TurnsOf(core, entry, group, items, space.height);
    }
    const uint32_t skipped = pieces.Begin(turn.number) * entry.columns;
    const uint32_t end = pieces.Begin(turn.number + 1);
    const uint32_t tiles = end * entry.columns;
    turn.left = end < items;
    // Numbers go on across groups in about the order of queues, so that work is even whatever the routing.
    const uint32_t core_number = core.number - entry.core_first;
    const uint32_t start = Word<uint32_t>(core.launch.starts, entry.phase);
    const uint32_t counted = static_cast<uint32_t>(Word<int32_t>(space.counted, group));
    const uint32_t base = start + counted * entry.columns + skipped;
    // Each round has one tile for each core. From round to round the cores move on, so that tiles a round apart, which may be
    // equally short, have different cores.
    const uint32_t round = base / entry.core_count;
    const uint32_t moved = round % entry.core_count * entry.rotation % entry.core_count;
    uint32_t in_round = (core_number + entry.core_count - moved) % entry.core_count;
    const uint32_t begun = base - round * entry.core_count;
    uint32_t t = skipped + in_round - begun;
    if (in_round < begun) {
        t += NextRound(entry, in_round);
    }
    if (t >= tiles) {
        return true;
    }
    core.record.entries += 1;
    // Row tiles are walked from the rank's own rows on: they are there first, and each rank's results go to another. A tile
    // that begins with rows of the rank before, which come last, comes last. Or they are walked as rows come from all ranks.
    uint32_t own = 0;
    const bool coming = entry.kind == HPMOE_ROW_TILES && entry.coming != 0;
    if (entry.kind == HPMOE_ROW_TILES && !coming) {
        const uint32_t pair = core.launch.rank * core.launch.local_experts + expert;
        const uint32_t at = static_cast<uint32_t>(PairOf(core, HPMOE_ARRIVALS, pair).at);
        own = (at + space.height - 1) / space.height % items;
    }
    for (; t < tiles; t += NextRound(entry, in_round)) {
        const uint32_t wide = entry.columns / entry.column_rows;
        Place place = Swizzle(t, items * entry.column_rows, wide, entry.band);
        place.column += place.item % entry.column_rows * wide;
        place.item = pieces.At((place.item / entry.column_rows + own) % items);
        if (coming) {
            place.item = static_cast<uint32_t>(Word<int32_t>(space.coming, first + place.item));
        }
        Tile tile = Resolve(core, entry, space, group, expert, first, place);
        for (const uint32_t last = tile.phase + entry.more; tile.phase <= last; ++tile.phase) {
            if (!Take<Program>(core, tile)) {
                return false;
            }
            // An expert without rows has its gradient set to zero, which is something to do.
            core.record.empty += tile.rows == 0 && entry.kind != HPMOE_EXPERTS ? 1 : 0;
        }
    }
    return true;
}

// An entry, or entries that take turns with one another, the first of which is given: a turn of each, then one more of each that has some
// left. False: leave.
template <class Program, class AnyCore>
HPMOE_INLINE bool WalkRun(AnyCore &core, const HpmoeDescriptor &first, uint64_t address) {
    Turn turn = {0, false};
    if constexpr (AnyCore::HOLDS) {
        HPMOE_EXPECTS(first.turn == 0);
        return WalkEntry<Program>(core, first, turn);
    } else {
        HPMOE_EXPECTS(EntriesOf(first) <= MAX_RANKS);
        uint64_t left[MAX_RANKS / 64];
        for (uint64_t &some : left) {
            some = ~0ull;
        }
        for (bool more = true; more; ++turn.number) {
            more = false;
            for (uint32_t i = 0; i < EntriesOf(first); ++i) {
                if ((left[i / 64] >> (i % 64) & 1) == 0) {
                    continue;
                }
                const HpmoeDescriptor entry =
                    i == 0 ? first : Load<HpmoeDescriptor>(address + i * sizeof(HpmoeDescriptor));
                if (!WalkEntry<Program>(core, entry, turn)) {
                    return false;
                }
                if (turn.left) {
                    more = true;
                } else {
                    left[i / 64] &= ~(1ull << (i % 64));
                }
            }
        }
        return true;
    }
}

// Kernels whose routing tables the host makes.
struct HostRoute {
    static constexpr bool IN_KERNEL = false;
};

template <class Program, class AnyCore, class Route = HostRoute> HPMOE_INLINE void Work(GM_ADDR argument) {
    AnyCore core;
    if (!core.Start(argument)) {
        return;
    }
    const HpmoeQueue queue = Load<HpmoeQueue>(core.launch.queues + core.slot * sizeof(HpmoeQueue));
    const uint64_t entries = core.launch.descriptors + static_cast<uint64_t>(queue.first) * sizeof(HpmoeDescriptor);
    bool going = true;
    for (uint32_t i = 0; going && i < queue.count;) {
        const uint64_t address = entries + static_cast<uint64_t>(i) * sizeof(HpmoeDescriptor);
        if (i + 1 < queue.count) {
            DataCachePreload(Global<uint64_t>(address), static_cast<int64_t>(sizeof(HpmoeDescriptor)));
        }
        const HpmoeDescriptor entry = Load<HpmoeDescriptor>(address);
        if constexpr (Route::IN_KERNEL) {
            if (entry.kind == HPMOE_ROUTE) {
                going = RunHeld<Program>(core) && Route::Make(core);
                i += 1;
                continue;
            }
        }
        going = Pass<Program>(core) && WalkRun<Program>(core, entry, address);
        i += EntriesOf(entry);
    }
    if (going && RunHeld<Program>(core)) {
        HPMOE_EXPECTS(core.record.state == HPMOE_RUNNING);
        core.record.state = HPMOE_DONE;
    }
    core.Leave();
}

} // namespace hpmoe

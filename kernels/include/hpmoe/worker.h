// How a core processes its queue.
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

// One group of an entry.
struct Group {
    uint32_t number; // number in the space
    uint32_t expert; // local expert, if the space's groups have one
};

// The group of an entry for a peer and the expert at `position` in its owner's order of experts.
HPMOE_INLINE Group GroupOf(const Core &core, const HpmoeDescriptor &entry, uint32_t peer, uint32_t position) {
    if (entry.kind == HPMOE_BLOCKS || entry.kind == HPMOE_CHUNKS) {
        return Group{entry.chunk, 0};
    }
    const uint32_t local = core.launch.local_experts;
    const bool sends = entry.kind == HPMOE_SENDS || entry.kind == HPMOE_SENDS_ONCE;
    const uint32_t owner = sends ? peer : core.launch.rank;
    const uint32_t expert = static_cast<uint32_t>(Word<int32_t>(core.launch.expert_order, owner * local + position));
    return Group{sends || entry.kind == HPMOE_ARRIVALS ? peer * local + expert : expert, expert};
}

HPMOE_INLINE Tile Resolve(const Core &core, const HpmoeDescriptor &entry, const HpmoeSpace &space, const Group &group,
                          uint32_t first_item, const Place &place) {
    const uint32_t expert = group.expert;
    Tile tile = {};
    tile.phase = entry.phase;
    tile.group = group.number;
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
    tile.peer = group.number / core.launch.local_experts;
    CutPiece(tile, PairOf(core, entry.kind, group.number), space.height);
    return tile;
}

// Divides the pieces of a group into turns.
HPMOE_INLINE PieceTurns TurnsOf(const Core &core, const HpmoeDescriptor &entry, uint32_t group, uint32_t pieces,
                                uint32_t height) {
    const HpmoePair pair = PairOf(core, entry.kind, group);
    const uint32_t at = static_cast<uint32_t>(pair.at);
    return PiecesOf(PairTurnsOf(at, at + static_cast<uint32_t>(pair.rows), entry.turn), pieces, height);
}

// Number of tiles from a core's tile to its tile in the next round. `in_round` is the position of the core's tile in
// its round, and is updated to the position in the next round.
HPMOE_INLINE uint32_t NextRound(const HpmoeDescriptor &entry, uint32_t &in_round) {
    const uint32_t from = in_round;
    in_round += in_round < entry.rotation ? entry.core_count - entry.rotation : -entry.rotation;
    return entry.core_count + in_round - from;
}

// Number of the first tile from number `from` on that belongs to the core at position `own` of its queue. `in_round` becomes
// the position of that tile in its round.
//
// Each round has one tile for each core. The deal moves on by `rotation` cores per round, so that tiles at the same
// position of consecutive rounds, which may be equally short, go to different cores.
HPMOE_INLINE uint32_t OwnFrom(const HpmoeDescriptor &entry, uint32_t own, uint32_t from, uint32_t &in_round) {
    const uint32_t round = from / entry.core_count;
    const uint32_t moved = round % entry.core_count * entry.rotation % entry.core_count;
    in_round = (own + entry.core_count - moved) % entry.core_count;
    const uint32_t number = round * entry.core_count + in_round;
    return number < from ? number + NextRound(entry, in_round) : number;
}

// Maximum number of entries that a matrix core reads while it holds a tile. Other cores wait for that tile, so the number is small.
constexpr uint32_t ENTRIES_AHEAD = 8;

// Runs a tile. Returns false if the core must leave.
template <class Program, class AnyCore> HPMOE_INLINE bool RunTile(AnyCore &core, const Tile &tile) {
    core.Enter(tile);
    if (!Program::Run(core, tile)) {
        return false;
    }
    core.record.tasks += 1;
    return true;
}

// Runs the tile that a core holds, if it holds one. Returns false if the core must leave.
template <class Program, class AnyCore> HPMOE_ROUTINE bool RunHeld(AnyCore &core) {
    if constexpr (AnyCore::HOLDS) {
        const bool going = !core.holds || RunTile<Program>(core, core.held);
        core.holds = false;
        return going;
    } else {
        return true;
    }
}

// Takes the next tile. A vector core runs it. A matrix core runs the tile that it holds and then holds the new one,
// whose first weights are loaded while the previous tile ends and while the core searches for the tile after it.
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

// Goes on to the next entry. Returns false if the core must leave.
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

// Number of a group's first tile in the numbering of the phase's tiles, which deals tiles to cores.
HPMOE_INLINE uint32_t CountOf(const Core &core, const HpmoeDescriptor &entry, const HpmoeSpace &space,
                              const Group &group) {
    const uint32_t start = Word<uint32_t>(core.launch.starts, entry.phase);
    return start + static_cast<uint32_t>(Word<int32_t>(space.counted, group.number)) * entry.columns;
}

// Number of tiles of a group.
HPMOE_INLINE uint32_t TilesOf(const HpmoeDescriptor &entry, const HpmoeSpace &space, const Group &group) {
    const int32_t first = Word<int32_t>(space.first_items, group.number);
    return static_cast<uint32_t>(Word<int32_t>(space.first_items, group.number + 1) - first) * entry.columns;
}

// One turn of a group.
struct Turn {
    uint32_t number;
    bool left; // whether the group has tiles in later turns
};

// Runs this core's tiles in one turn of a group, at most one per round. Many groups have no tile for a given core.
// Returns false if the core must leave.
template <class Program, class AnyCore>
HPMOE_INLINE bool WalkGroup(AnyCore &core, const HpmoeDescriptor &entry, const HpmoeSpace &space, const Group &group,
                            Turn &turn) {
    const uint32_t first = static_cast<uint32_t>(Word<int32_t>(space.first_items, group.number));
    const uint32_t items = static_cast<uint32_t>(Word<int32_t>(space.first_items, group.number + 1)) - first;
    turn.left = false;
    if (items == 0) {
        return true;
    }
    PieceTurns pieces = {items, 0, items, 1};
    if (entry.turn != 0) {
        pieces = TurnsOf(core, entry, group.number, items, space.height);
    }
    const uint32_t skipped = pieces.Begin(turn.number) * entry.columns;
    const uint32_t end = pieces.Begin(turn.number + 1);
    const uint32_t tiles = end * entry.columns;
    turn.left = end < items;
    // The numbering goes on from group to group, roughly in the order of queues, so that cores get equal shares for any
    // routing.
    const uint32_t core_number = core.number - entry.core_first;
    const uint32_t base = CountOf(core, entry, space, group) + skipped;
    uint32_t in_round;
    uint32_t t = skipped + OwnFrom(entry, core_number, base, in_round) - base;
    if (t >= tiles) {
        return true;
    }
    core.record.entries += 1;
    // Row tiles are processed starting with the rank's own rows, which are complete first. Ranks then also send results
    // to different peers at a time. A tile that starts with rows of the previous rank, which arrive last, comes last.
    // If the entry has an arrival turn, row tiles are processed in the order in which their rows arrive instead.
    uint32_t own = 0;
    const bool by_arrival = entry.kind == HPMOE_ROW_TILES && entry.arrival_turn != 0;
    if (entry.kind == HPMOE_ROW_TILES && !by_arrival) {
        const uint32_t pair = core.launch.rank * core.launch.local_experts + group.expert;
        const uint32_t at = static_cast<uint32_t>(PairOf(core, HPMOE_ARRIVALS, pair).at);
        own = (at + space.height - 1) / space.height % items;
    }
    for (; t < tiles; t += NextRound(entry, in_round)) {
        const uint32_t wide = entry.columns / entry.column_rows;
        Place place = Swizzle(t, items * entry.column_rows, wide, entry.band);
        place.column += place.item % entry.column_rows * wide;
        place.item = pieces.At((place.item / entry.column_rows + own) % items);
        if (by_arrival) {
            place.item = static_cast<uint32_t>(Word<int32_t>(space.arrival_order, first + place.item));
        }
        Tile tile = Resolve(core, entry, space, group, first, place);
        for (const uint32_t last = tile.phase + entry.more; tile.phase <= last; ++tile.phase) {
            if (!Take<Program>(core, tile)) {
                return false;
            }
            // For an expert without rows, the gradient is set to zero, so the tile is not empty.
            core.record.empty += tile.rows == 0 && entry.kind != HPMOE_EXPERTS ? 1 : 0;
        }
    }
    return true;
}

// The groups of an entry by position: one for each peer, or one for each expert.
struct EntryGroups {
    const Core &core;
    const HpmoeDescriptor &entry;
    const HpmoeSpace &space;

    HPMOE_INLINE uint32_t All() const { return entry.peers + entry.more_experts; }

    HPMOE_INLINE uint32_t Peer(uint32_t place) const {
        return (core.launch.rank + entry.peer_offset + place * entry.peer_step) % core.launch.ranks;
    }

    HPMOE_INLINE Group At(uint32_t place) const {
        const uint32_t position = entry.expert + (entry.more_experts == 0 ? 0 : place);
        return GroupOf(core, entry, Peer(place), position);
    }

    HPMOE_INLINE bool Ascends() const { return entry.peer_step == 1 || entry.more_experts != 0; }

    // End of the run of positions, from `place` on, along which the numbering of tiles is continuous. A run of peers ends
    // where ranks wrap around. Experts form one run.
    HPMOE_INLINE uint32_t RunEnd(uint32_t place) const {
        if (entry.more_experts != 0) {
            return All();
        }
        const uint32_t peer = Peer(place);
        return Min(entry.peers, place + (Ascends() ? core.launch.ranks - peer : peer + 1));
    }

    HPMOE_INLINE uint32_t Count(uint32_t place) const { return CountOf(core, entry, space, At(place)); }

    HPMOE_INLINE uint32_t Tiles(uint32_t place) const { return TilesOf(entry, space, At(place)); }

    // First position in [place, end), inside one run, with a tile for this core; `end` if there is none. Found by
    // binary search.
    HPMOE_INLINE uint32_t NextOfRun(uint32_t place, uint32_t end) const {
        const uint32_t own = core.number - entry.core_first, cores = entry.core_count;
        const uint32_t first = Count(place), behind = first + Tiles(place);
        HPMOE_EXPECTS(!Ascends() || Count(end - 1) >= first);
        uint32_t number; // number of the core's next tile
        if (Ascends()) {
            uint32_t in_round;
            number = OwnFrom(entry, own, first, in_round);
            if (number < behind) {
                return place;
            }
            if (number >= Count(end - 1) + Tiles(end - 1)) {
                return end;
            }
        } else {
            if (behind <= own) {
                return end;
            }
            number = own + (behind - 1 - own) / cores * cores;
            if (number >= first) {
                return place;
            }
            if (number < Count(end - 1)) {
                return end;
            }
        }
        // Finds the last position whose number is at most `number` if numbers ascend, or the first such position if
        // they descend.
        uint32_t low = place + 1, high = end;
        while (low < high) {
            const uint32_t middle = low + (high - low) / 2;
            if ((Count(middle) <= number) == Ascends()) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return Ascends() ? low - 1 : low;
    }

    // First position from `place` on with a tile for this core; the number of positions if there is none.
    HPMOE_INLINE uint32_t Next(uint32_t place) const {
        while (place < All()) {
            const uint32_t end = RunEnd(place);
            place = NextOfRun(place, end);
            if (place < end) {
                return place;
            }
        }
        return place;
    }
};

// Processes the groups of an entry that have tiles for this core. If peers take turns, each further pass processes the
// next turn of every such group that has tiles left. Returns false if the core must leave.
template <class Program, class AnyCore>
HPMOE_INLINE bool WalkGroups(AnyCore &core, const HpmoeDescriptor &entry, const HpmoeSpace &space) {
    const EntryGroups groups = {core, entry, space};
    HPMOE_EXPECTS(groups.All() == 1 || entry.rotation == 0 || entry.more_experts != 0);
    RankSet left; // positions of peers with tiles in later turns
    left.Clear();
    Turn turn = {0, false};
    for (bool more = true; more; ++turn.number) {
        more = false;
        for (uint32_t place = 0; place < groups.All(); ++place) {
            if (turn.number == 0 && groups.All() > 1) {
                place = groups.Next(place);
            }
            if (place == groups.All() || (turn.number > 0 && !left.Has(place))) {
                continue;
            }
            if (!WalkGroup<Program>(core, entry, space, groups.At(place), turn)) {
                return false;
            }
            if (turn.left) {
                left.Add(place);
                more = true;
            } else if (turn.number > 0) {
                left.Remove(place);
            }
        }
    }
    return true;
}

// Processes the groups of a matrix core's entry, which has one peer and one group for each expert. Returns false if the
// core must leave.
template <class Program, class AnyCore>
HPMOE_INLINE bool WalkExperts(AnyCore &core, const HpmoeDescriptor &entry, const HpmoeSpace &space) {
    const EntryGroups groups = {core, entry, space};
    Turn turn = {0, false};
    for (uint32_t place = 0; place <= entry.more_experts; ++place) {
        if (entry.more_experts != 0) {
            place = groups.Next(place);
        }
        if (place <= entry.more_experts && !WalkGroup<Program>(core, entry, space, groups.At(place), turn)) {
            return false;
        }
    }
    return true;
}

// Runs this core's tiles of an entry. A matrix core's entries have one peer. Returns false if the core must leave.
template <class Program, class AnyCore> HPMOE_INLINE bool WalkEntry(AnyCore &core, const HpmoeDescriptor &entry) {
    HPMOE_EXPECTS(entry.peers > 0 && entry.peers <= core.launch.ranks && entry.peer_step < core.launch.ranks);
    HPMOE_EXPECTS(entry.more_experts == 0 || (entry.peers == 1 && entry.turn == 0));
    const HpmoeSpace space = Load<HpmoeSpace>(core.launch.spaces + entry.space * sizeof(HpmoeSpace));
    if constexpr (AnyCore::HOLDS) {
        HPMOE_EXPECTS(entry.peers == 1 && entry.turn == 0);
        return WalkExperts<Program>(core, entry, space);
    } else {
        return WalkGroups<Program>(core, entry, space);
    }
}

HPMOE_INLINE HpmoeQueue QueueOf(const Core &core) {
    return Load<HpmoeQueue>(core.launch.queues + core.slot * sizeof(HpmoeQueue));
}

HPMOE_INLINE uint64_t EntriesOf(const Core &core, const HpmoeQueue &queue) {
    return core.launch.descriptors + static_cast<uint64_t>(queue.first) * sizeof(HpmoeDescriptor);
}

// The route of kernels whose routing tables the host makes.
struct HostRoute {
    static constexpr bool IN_KERNEL = false;
    static constexpr bool CHOOSES = false;
};

template <class Program, class AnyCore, class Route = HostRoute> HPMOE_INLINE void Work(GM_ADDR argument) {
    AnyCore core;
    if (!core.Start(argument)) {
        return;
    }
    HpmoeQueue queue = QueueOf(core);
    uint64_t entries = EntriesOf(core, queue);
    bool going = true;
    for (uint32_t i = 0; going && i < queue.count; ++i) {
        const uint64_t address = entries + static_cast<uint64_t>(i) * sizeof(HpmoeDescriptor);
        if (i + 1 < queue.count) {
            DataCachePreload(Global<uint64_t>(address), static_cast<int64_t>(sizeof(HpmoeDescriptor)));
        }
        const HpmoeDescriptor entry = Load<HpmoeDescriptor>(address);
        if constexpr (Route::IN_KERNEL) {
            if (entry.kind == HPMOE_ROUTE) {
                going = RunHeld<Program>(core) && Route::Make(core);
                if constexpr (Route::CHOOSES) { // the route is at the same position in the chosen launch's queue
                    queue = QueueOf(core);
                    entries = EntriesOf(core, queue);
                }
                continue;
            }
        }
        going = Pass<Program>(core) && WalkEntry<Program>(core, entry);
    }
    if (going && RunHeld<Program>(core)) {
        HPMOE_EXPECTS(core.record.state == HPMOE_RUNNING);
        core.record.state = HPMOE_DONE;
    }
    core.Leave();
}

} // namespace hpmoe

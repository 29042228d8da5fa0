// The making of a route: what all of its steps know, and where their lists lie in UB.
#pragma once

#include "hpmoe/routing/lists.h"
#include "hpmoe/routing/needs.h"
#include "hpmoe/vector_core.h"

namespace hpmoe {

constexpr uint32_t MOST_PAIRS = 2048;      // ranks * local_experts: experts of the group, once for each chunk
constexpr uint32_t MOST_ROUTE_CHUNKS = 64; // of a route that a kernel makes
constexpr uint32_t MOST_ROUTE_SPACES = 64;
constexpr uint32_t MOST_ROUTE_TILES = 2048; // row tiles of an expert whose order is that in which rows come
constexpr int32_t FAULT_COUNT = 1 << 22; // a count from here on is a fault: twice its slot, plus 1 if an id is repeated
constexpr uint32_t NO_FAULT = ~0u;
constexpr uint32_t ROUTE_LAYOUT = ~1u; // of UB, while a route is made

// What a core keeps until the places of its slots are known lies above all lists.
constexpr uint32_t UB_KEPT = 152 * 1024;
constexpr uint32_t UB_FRAGMENTS = UB_KEPT; // how many slots each kept list has
constexpr uint32_t MOST_FRAGMENTS = 960;
constexpr uint32_t UB_TOTALS = UB_FRAGMENTS + 4 * MOST_FRAGMENTS; // items of each space
constexpr uint32_t UB_COUNTED =
    UB_TOTALS + 4 * MOST_ROUTE_SPACES; // what this core has counted, for each part and chunk
constexpr uint32_t MOST_COUNTED = 2560;
constexpr uint32_t UB_KEPT_SLOTS = UB_COUNTED + 4 * MOST_COUNTED;
constexpr uint32_t KEPT_SLOTS = (UB_TASKS - UB_KEPT_SLOTS) / 4;

// Why there is no route.
struct RouteFault {
    uint32_t kind; // HpmoeRouteFaultKind
    uint32_t rank;
    uint32_t at; // a slot, or a number of rows
};

// A route in the making, as one vector core sees it. `part` 0 are the rows of every (token, k), part 1 those that are sent once.
template <uint32_t NEEDS> struct RouteShare {
    HpmoeRouting from;
    uint32_t experts;       // that ids may name
    uint32_t places;        // of the group: as many, unless there is a placement
    uint32_t counted;       // counts of a chunk: of all experts, or by a placement of all columns
    uint32_t columns;       // counts of a part: of all chunks
    uint32_t pairs;         // of a part: a number for each chunk and place
    uint32_t most_chunks;   // that the launch may have: ranks count these, whose tokens make up those of fewer chunks
    uint32_t most_pairs;    // of so many
    uint32_t most_tokens;   // of each of them on this rank; of the last ones fewer, or none
    uint32_t counting;      // vector cores that count
    uint32_t first;         // expert that this core counts first
    uint32_t own;           // how many it counts; none if the group has too few
    uint32_t kept = 0;      // slots in UB_KEPT_SLOTS
    uint32_t fragments = 0; // of them
    bool keeps = true;      // whether all of this core's slots are there
    bool ordered = false;   // whether this core knows the order of experts
    int32_t sign;           // of the counts of this launch in their half: the one before there had the other one
    uint64_t told;          // counts of all ranks: in this rank's heap, or in what an earlier launch has kept

    HPMOE_INLINE void Begin(const VectorCore &core) {
        from = Load<HpmoeRouting>(core.launch.routing);
        experts = from.experts;
        places = core.launch.ranks * core.launch.chunk_experts;
        counted = IsPlaced() ? Word<uint32_t>(from.placement, 1) : experts;
        columns = Chunks(core) * counted;
        pairs = core.launch.ranks * core.launch.local_experts;
        most_chunks = Chunks(core);
        most_pairs = pairs;
        most_tokens = core.launch.chunk_tokens;
        HPMOE_EXPECTS(IsPlaced() ? experts <= counted && counted <= places && Parts() == 1 : experts == places);
        HPMOE_EXPECTS(Fits(core));
        HPMOE_EXPECTS(pairs <= MOST_PAIRS && core.launch.chunks <= MOST_ROUTE_CHUNKS &&
                      from.spaces <= MOST_ROUTE_SPACES);
        const uint32_t share = CeilDiv(experts, core.launch.aiv);
        counting = CeilDiv(experts, share);
        first = core.number * share;
        own = core.number < counting ? Min(share, experts - first) : 0;
        sign = static_cast<uint32_t>(core.launch_number) / 2 % 2 == 0 ? 1 : -1;
        told = Counts(core, core.launch.rank, 0);
    }

    // Whether the kernel may need something.
    static constexpr bool Needs(uint32_t something) { return (NEEDS & something) != 0; }
    // Whether experts lie where a placement says.
    HPMOE_INLINE bool IsPlaced() const { return Needs(NEEDS_PLACEMENT) && from.placement != 0; }
    // Whether the route is one that an earlier launch has kept.
    HPMOE_INLINE bool IsKept() const { return Needs(NEEDS_KEPT) && from.is_kept != 0; }
    // Whether the route is kept for later launches.
    HPMOE_INLINE bool Keeps() const { return Needs(NEEDS_TO_KEEP) && from.kept != 0 && !IsKept(); }
    // Whether each group of experts has its own slots of a token.
    HPMOE_INLINE bool HasGroups() const { return Needs(NEEDS_GROUPS) && from.group_slots != 0; }
    // Parts of its tables.
    HPMOE_INLINE uint32_t Parts() const { return Needs(NEEDS_ONCE) && from.once != 0 ? 2 : 1; }
    HPMOE_INLINE uint32_t Chunks(const VectorCore &core) const { return Needs(NEEDS_CHUNKS) ? core.launch.chunks : 1; }
    // Whether a launch needs nothing that the kernel has no code for.
    HPMOE_INLINE bool Fits(const VectorCore &core) const {
        return core.launch.chunks == Chunks(core) && (from.once != 0) == (Parts() == 2) &&
               (from.group_slots != 0) == HasGroups() && (from.placement != 0) == IsPlaced() &&
               (from.is_kept != 0) == IsKept() && (from.kept != 0) == (IsKept() || Keeps()) &&
               (core.launch.choices != 0) == Chooses(core);
    }
    // Whether the launch chooses its number of chunks.
    HPMOE_INLINE bool Chooses(const VectorCore &core) const { return Needs(NEEDS_CHOICE) && core.launch.choices != 0; }
    // How many counted chunks make up one of the launch.
    HPMOE_INLINE uint32_t Merged(const VectorCore &core) const {
        return Needs(NEEDS_CHOICE) ? most_chunks / Chunks(core) : 1;
    }
    // Pairs of the counts, and by a placement of its lists.
    HPMOE_INLINE uint32_t CountedPairs() const { return Needs(NEEDS_CHOICE) ? most_pairs : pairs; }
    // Counts of a rank, of the first part.
    HPMOE_INLINE uint32_t CountedColumns() const { return Needs(NEEDS_CHOICE) ? most_chunks * counted : columns; }
    // Of the chunks that the launch has now.
    HPMOE_INLINE void Resize(const VectorCore &core) {
        columns = Chunks(core) * counted;
        pairs = core.launch.ranks * core.launch.local_experts;
    }
    // Tokens of this rank in a counted chunk, and those before it.
    HPMOE_INLINE uint32_t FirstToken(const VectorCore &core, uint32_t chunk) const {
        return Needs(NEEDS_CHOICE) ? Min(chunk * most_tokens, core.launch.tokens) : core.FirstToken(chunk);
    }
    HPMOE_INLINE uint32_t TokensOf(const VectorCore &core, uint32_t chunk) const {
        return Needs(NEEDS_CHOICE) ? Min(most_tokens, core.launch.tokens - FirstToken(core, chunk))
                                   : core.ChunkTokens(chunk);
    }
    // Whether ranks exchange counts.
    HPMOE_INLINE bool Exchanges() const { return !IsKept() || IsPlaced(); }

    // The counts that a rank sent, in this rank's heap or in a peer's.
    HPMOE_INLINE uint64_t Counts(const VectorCore &core, uint32_t heap, uint32_t rank) const {
        return core.Heap(heap) + CountsInHeap(core, rank);
    }
    // How far they are from the beginning of any heap.
    HPMOE_INLINE uint64_t CountsInHeap(const VectorCore &core, uint32_t rank) const {
        const uint64_t row = static_cast<uint64_t>(core.SetOf(0)) * core.launch.ranks + rank;
        return from.counts + row * from.count_pitch * 4;
    }
    // Those of a rank as this one knows them.
    HPMOE_INLINE uint64_t Told(uint32_t rank) const {
        return told + static_cast<uint64_t>(rank) * from.count_pitch * 4;
    }
    // Where this core's counts of a part begin in UB; each chunk begins a block.
    HPMOE_INLINE uint32_t Counted(const VectorCore &core, uint32_t part) const {
        HPMOE_EXPECTS(part < Parts());
        return UB_COUNTED + part * Chunks(core) * AlignUp(own, BLOCK_WORDS) * 4;
    }
};

// Lists of a word for each pair, while tables are made. Pairs are in the order of tables: by rank, chunk and expert of the rank.
enum RouteList : uint32_t {
    WORDS,   // offset of each word, in bytes
    SEGMENT, // offset of the first expert with the same rank and chunk
    OWN,     // rows that this rank sends: HpmoePair of `sends`, its words one list each
    BEFORE,  // rows that ranks before this one send
    BASE,    // the expert's first row
    FIRST,   // the first place among this rank's slots
    TOTAL,   // rows of the expert
    ORDER,   // by place in a rank's queues: its local expert
    PLACE,   // the place of each local expert
    SCRATCH, // and five more
    ROUTE_LISTS = SCRATCH + 6
};

struct RouteLists : Lists {
    uint32_t bytes; // from list to list

    HPMOE_INLINE explicit RouteLists(uint32_t pairs) : Lists{pairs}, bytes(ListBytes(pairs + 1)) {}

    HPMOE_INLINE uint32_t operator[](uint32_t list) const { return list * bytes + LIST_FRONT; }
    // The first byte after all lists.
    HPMOE_INLINE uint32_t End() const { return ROUTE_LISTS * bytes; }
    // The same lists, of fewer numbers or of one more.
    HPMOE_INLINE RouteLists Of(uint32_t numbers) const {
        RouteLists lists = *this;
        lists.count = numbers;
        return lists;
    }
    // out[i] = i mod by, where quotients[i] = ⌊i / by⌋ are made, too.
    HPMOE_INLINE void Remainders(uint32_t out, uint32_t quotients, uint32_t by) const {
        Quotient(quotients, by);
        Scaled(out, quotients, -4 * static_cast<int32_t>(by));
        Plus(out, out, (*this)[WORDS]);
        Quotients(out, out, 4);
    }
    // out[i] = ⌊i / by⌋.
    HPMOE_INLINE void Quotient(uint32_t out, uint32_t by) const { Quotients(out, (*this)[WORDS], 4 * by); }
};

// A copy of one row.
HPMOE_INLINE DataCopyExtParams OneRow(uint32_t words) { return DataCopyExtParams(1, words * 4, 0, 0, 0); }

// `count` words from global memory to UB, for the vector unit.
HPMOE_ROUTINE void LoadWords(uint32_t to, uint64_t from, uint32_t count) {
    SetFlag<HardEvent::V_MTE2>(2);
    WaitFlag<HardEvent::V_MTE2>(2);
    DataCopyPad(Ints(to), Global<int32_t>(from), OneRow(count), DataCopyPadExtParams<int32_t>());
    SetFlag<HardEvent::MTE2_V>(2);
    WaitFlag<HardEvent::MTE2_V>(2);
}

// `count` words from UB, made by the vector unit, to global memory. The vector unit may overwrite them after the call.
HPMOE_ROUTINE void StoreWords(uint64_t to, uint32_t from, uint32_t count) {
    SetFlag<HardEvent::V_MTE3>(2);
    WaitFlag<HardEvent::V_MTE3>(2);
    DataCopyPad(Global<int32_t>(to), Ints(from), OneRow(count));
    SetFlag<HardEvent::MTE3_V>(2);
    WaitFlag<HardEvent::MTE3_V>(2);
}

// The same of words that the scalar unit made, and may overwrite after the call.
HPMOE_ROUTINE void StoreScalars(uint64_t to, uint32_t from, uint32_t count) {
    SetFlag<HardEvent::S_MTE3>(4);
    WaitFlag<HardEvent::S_MTE3>(4);
    DataCopyPad(Global<int32_t>(to), Ints(from), OneRow(count));
    SetFlag<HardEvent::MTE3_S>(4);
    WaitFlag<HardEvent::MTE3_S>(4);
}

} // namespace hpmoe

// The state that all steps of making a route share, and the layout of their lists in UB.
#pragma once

#include "hpmoe/routing/lists.h"
#include "hpmoe/routing/needs.h"
#include "hpmoe/vector_core.h"

namespace hpmoe {

constexpr uint32_t MOST_PAIRS = 2048;      // ranks * local_experts: experts of the group, once per chunk
constexpr uint32_t MOST_ROUTE_CHUNKS = 64; // of a route that a kernel makes
constexpr uint32_t MOST_ROUTE_SPACES = 64;
constexpr uint32_t MOST_ROUTE_TILES = 2048; // row tiles of an expert in a space with an arrival order
// Counts that are at least this number are faults: this number, plus twice the slot, plus 1 if its id is a repeated
// one.
constexpr int32_t FAULT_COUNT = 1 << 22;
constexpr uint32_t NO_FAULT = ~0u;
constexpr uint32_t ROUTE_LAYOUT = ~1u; // layout of UB while a route is made

// Start of the part of UB, above all lists, in which a core keeps its slots and counts until the slots' positions are
// known.
constexpr uint32_t UB_KEPT = 152 * 1024;
constexpr uint32_t UB_FRAGMENTS = UB_KEPT; // number of slots of each kept list
constexpr uint32_t MOST_FRAGMENTS = 960;
constexpr uint32_t UB_TOTALS = UB_FRAGMENTS + 4 * MOST_FRAGMENTS;  // items of each space
constexpr uint32_t UB_COUNTED = UB_TOTALS + 4 * MOST_ROUTE_SPACES; // counts of this core, for each part and chunk
constexpr uint32_t MOST_COUNTED = 2560;
constexpr uint32_t UB_KEPT_SLOTS = UB_COUNTED + 4 * MOST_COUNTED;
constexpr uint32_t KEPT_SLOTS = (UB_TASKS - UB_KEPT_SLOTS) / 4;

// The reason why there is no route.
struct RouteFault {
    uint32_t kind; // HpmoeRouteFaultKind
    uint32_t rank;
    uint32_t at; // a slot, a number of rows, or a word of a kept route's head
};

// A route that is being made, as one vector core sees it. Part 0 has a row for every (token, k); part 1 has the rows
// that are sent once.
template <uint32_t NEEDS> struct RouteShare {
    HpmoeRouting from;
    uint32_t experts;       // number of experts that ids may name
    uint32_t places;        // number of places of the group; without a placement, equal to `experts`
    uint32_t counted;       // counts of a rank per chunk: of all experts, or with a placement of all columns
    uint32_t columns;       // counts of a rank per part: of all chunks
    uint32_t pairs;         // one for each chunk and place
    uint32_t most_chunks;   // largest number of chunks of the launch: ranks count the chunks of this number
    uint32_t most_pairs;    // pairs of this number of chunks
    uint32_t most_tokens;   // tokens of this rank per counted chunk; the last ones have fewer, or none
    uint32_t counting;      // number of vector cores that count
    uint32_t first;         // first expert that this core counts
    uint32_t own;           // number of experts that it counts; zero if other cores count all of them
    uint32_t kept = 0;      // words used in UB_KEPT_SLOTS
    uint32_t fragments = 0; // words used in UB_FRAGMENTS
    bool keeps = true;      // whether UB_KEPT_SLOTS has room for all slots of this core's experts
    bool ordered = false;   // whether ORDER and PLACE are made
    int32_t sign;           // sign of this launch's counts, the opposite of that two launches before
    uint64_t told;          // counts of all ranks: in this rank's heap, or in a kept route

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

    // Whether the kernel's routes may have the need `something`.
    static constexpr bool Needs(uint32_t something) { return (NEEDS & something) != 0; }
    // Whether a placement says where experts lie.
    HPMOE_INLINE bool IsPlaced() const { return Needs(NEEDS_PLACEMENT) && from.placement != 0; }
    // Whether an earlier launch kept the route.
    HPMOE_INLINE bool IsKept() const { return Needs(NEEDS_KEPT) && from.is_kept != 0; }
    // Whether this launch keeps the route for later ones.
    HPMOE_INLINE bool Keeps() const { return Needs(NEEDS_TO_KEEP) && from.kept != 0 && !IsKept(); }
    // Whether each group of experts has separate slots in every token.
    HPMOE_INLINE bool HasGroups() const { return Needs(NEEDS_GROUPS) && from.group_slots != 0; }
    // Number of parts: one, or two if tokens are sent once.
    HPMOE_INLINE uint32_t Parts() const { return Needs(NEEDS_ONCE) && from.once != 0 ? 2 : 1; }
    HPMOE_INLINE uint32_t Chunks(const VectorCore &core) const { return Needs(NEEDS_CHUNKS) ? core.launch.chunks : 1; }
    // Whether the kernel has the code for all needs of the launch.
    HPMOE_INLINE bool Fits(const VectorCore &core) const {
        return core.launch.chunks == Chunks(core) && (from.once != 0) == (Parts() == 2) &&
               (from.group_slots != 0) == HasGroups() && (from.placement != 0) == IsPlaced() &&
               (from.is_kept != 0) == IsKept() && (from.kept != 0) == (IsKept() || Keeps()) &&
               (core.launch.choices != 0) == Chooses(core) && (core.launch.parts != 0) == AddsByParts(core);
    }
    // Whether the launch chooses its number of chunks.
    HPMOE_INLINE bool Chooses(const VectorCore &core) const { return Needs(NEEDS_CHOICE) && core.launch.choices != 0; }
    // Whether sums are added up by parts of the tokens. These parts are the counted chunks.
    HPMOE_INLINE bool AddsByParts(const VectorCore &core) const { return Needs(NEEDS_PARTS) && core.launch.parts != 0; }
    // Number of counted chunks that make up a chunk of the launch.
    HPMOE_INLINE uint32_t Merged(const VectorCore &core) const {
        return Needs(NEEDS_CHOICE) ? most_chunks / Chunks(core) : 1;
    }
    // Number of pairs over all counted chunks. Each list of a placement has one word more.
    HPMOE_INLINE uint32_t CountedPairs() const { return Needs(NEEDS_CHOICE) ? most_pairs : pairs; }
    // Number of counts of a rank in the first part, over all counted chunks.
    HPMOE_INLINE uint32_t CountedColumns() const { return Needs(NEEDS_CHOICE) ? most_chunks * counted : columns; }
    // Sets the sizes for the current number of chunks.
    HPMOE_INLINE void Resize(const VectorCore &core) {
        columns = Chunks(core) * counted;
        pairs = core.launch.ranks * core.launch.local_experts;
    }
    // First token of a counted chunk on this rank, and number of its tokens there.
    HPMOE_INLINE uint32_t FirstToken(const VectorCore &core, uint32_t chunk) const {
        return Needs(NEEDS_CHOICE) ? Min(chunk * most_tokens, core.launch.tokens) : core.FirstToken(chunk);
    }
    HPMOE_INLINE uint32_t TokensOf(const VectorCore &core, uint32_t chunk) const {
        return Needs(NEEDS_CHOICE) ? Min(most_tokens, core.launch.tokens - FirstToken(core, chunk))
                                   : core.ChunkTokens(chunk);
    }
    // Whether slots are kept by expert, over all chunks, rather than in the order of the launch.
    HPMOE_INLINE bool KeepsApart() const { return Needs(NEEDS_CHUNKS) && most_chunks > 1; }
    // Whether slots in UB are numbered from the rank's first slot rather than from their chunk's first slot.
    static constexpr bool CountsFromFirst() {
        return Needs(NEEDS_CHOICE) || (Needs(NEEDS_CHUNKS) && Needs(NEEDS_TO_KEEP));
    }
    // Whether ranks exchange counts.
    HPMOE_INLINE bool Exchanges() const { return !IsKept() || IsPlaced(); }

    // Address of the counts that a rank sent, in the heap of this rank or of a peer.
    HPMOE_INLINE uint64_t Counts(const VectorCore &core, uint32_t heap, uint32_t rank) const {
        return core.Heap(heap) + CountsInHeap(core, rank);
    }
    // Offset of a rank's counts in every heap.
    HPMOE_INLINE uint64_t CountsInHeap(const VectorCore &core, uint32_t rank) const {
        const uint64_t row = static_cast<uint64_t>(core.SetOf(0)) * core.launch.ranks + rank;
        return from.counts + row * from.count_pitch * 4;
    }
    // Address at which this rank reads the counts of a rank.
    HPMOE_INLINE uint64_t Told(uint32_t rank) const {
        return told + static_cast<uint64_t>(rank) * from.count_pitch * 4;
    }
    // Address in UB of this core's counts of a part. The counts of each chunk start at a block.
    HPMOE_INLINE uint32_t Counted(const VectorCore &core, uint32_t part) const {
        HPMOE_EXPECTS(part < Parts());
        return UB_COUNTED + part * Chunks(core) * AlignUp(own, BLOCK_WORDS) * 4;
    }
};

// Lists with a word per pair, from which tables are made. In tables, pairs are ordered by rank, then chunk, then
// expert.
enum RouteList : uint32_t {
    WORDS,   // offset of each word, in bytes
    SEGMENT, // offset of the first pair with the same rank and chunk
    OWN,     // rows that this rank sends; OWN to FIRST are the words of the HpmoePair in `sends`
    BEFORE,  // rows that lower ranks send
    BASE,    // the expert's first row
    FIRST,   // position of the first slot in the order of this rank's slots
    TOTAL,   // rows of the expert
    ORDER,   // local expert at each place in a rank's queues
    PLACE,   // the place of each local expert
    SCRATCH, // the first of six scratch lists
    ROUTE_LISTS = SCRATCH + 6
};

struct RouteLists : Lists {
    uint32_t bytes; // from one list to the next

    HPMOE_INLINE explicit RouteLists(uint32_t pairs) : Lists{pairs}, bytes(ListBytes(pairs + 1)) {}

    HPMOE_INLINE uint32_t operator[](uint32_t list) const { return list * bytes + LIST_FRONT; }
    // The first byte after all lists.
    HPMOE_INLINE uint32_t End() const { return ROUTE_LISTS * bytes; }
    // These lists with another number of words, which is larger by at most one.
    HPMOE_INLINE RouteLists Of(uint32_t numbers) const {
        RouteLists lists = *this;
        lists.count = numbers;
        return lists;
    }
    // out[i] = i mod by; also quotients[i] = ⌊i / by⌋.
    HPMOE_INLINE void Remainders(uint32_t out, uint32_t quotients, uint32_t by) const {
        Quotient(quotients, by);
        Scaled(out, quotients, -4 * static_cast<int32_t>(by));
        Plus(out, out, (*this)[WORDS]);
        Quotients(out, out, 4);
    }
    // out[i] = ⌊i / by⌋.
    HPMOE_INLINE void Quotient(uint32_t out, uint32_t by) const { Quotients(out, (*this)[WORDS], 4 * by); }
};

// Parameters for copying one row.
HPMOE_INLINE DataCopyExtParams OneRow(uint32_t words) { return DataCopyExtParams(1, words * 4, 0, 0, 0); }

// Copies `count` words from global memory to UB, for the vector unit.
HPMOE_ROUTINE void LoadWords(uint32_t to, uint64_t from, uint32_t count) {
    SetFlag<HardEvent::V_MTE2>(2);
    WaitFlag<HardEvent::V_MTE2>(2);
    DataCopyPad(Ints(to), Global<int32_t>(from), OneRow(count), DataCopyPadExtParams<int32_t>());
    SetFlag<HardEvent::MTE2_V>(2);
    WaitFlag<HardEvent::MTE2_V>(2);
}

// Copies `count` words, which the vector unit made, from UB to global memory. It may overwrite them after the call.
HPMOE_ROUTINE void StoreWords(uint64_t to, uint32_t from, uint32_t count) {
    SetFlag<HardEvent::V_MTE3>(2);
    WaitFlag<HardEvent::V_MTE3>(2);
    DataCopyPad(Global<int32_t>(to), Ints(from), OneRow(count));
    SetFlag<HardEvent::MTE3_V>(2);
    WaitFlag<HardEvent::MTE3_V>(2);
}

// Like StoreWords, for words that the scalar unit made. It may overwrite them after the call.
HPMOE_ROUTINE void StoreScalars(uint64_t to, uint32_t from, uint32_t count) {
    SetFlag<HardEvent::S_MTE3>(4);
    WaitFlag<HardEvent::S_MTE3>(4);
    DataCopyPad(Global<int32_t>(to), Ints(from), OneRow(count));
    SetFlag<HardEvent::MTE3_S>(4);
    WaitFlag<HardEvent::MTE3_S>(4);
}

} // namespace hpmoe

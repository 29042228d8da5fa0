// Shared by all probes: the request, the observations, and words and blocks that are written and read by DMA.
//
// All files of this folder are one kernel, in the order in which `src/kernel.rs` joins them.
#include "hpmoe/matmul.h"
#include "hpmoe/vector_core.h"

namespace probe {

using namespace hpmoe;

// The same numbers as in `src/request.rs`.
enum Which : uint32_t {
    CORES = 0,
    POLL = 1,
    ADDS = 2,
    DATA_ORDER = 3,
    SUMS = 4,
    REACH = 5,
    PEER_ADDS = 6,
    LANDED = 7,
    READY = 8,
    STUCK = 9,
    TIME = 10,
    RELU = 11,
    ROWS = 12,
    FLAGS = 13,
};

// The request lies right after the launch structure in memory.
struct Request {
    uint32_t which;
    uint32_t rounds;
    uint32_t words; // in a block of data
    uint32_t mark;  // identifies this request
    uint64_t observations;
    uint64_t data; // this and the next fields: offsets in the heap
    uint64_t left;
    uint64_t right;
    uint64_t reserved[2];
};
static_assert(sizeof(Request) == 64, "one line");

// The result that a core reports, one line per core, matrix cores first.
struct Observation {
    uint32_t mark;
    uint32_t matrix; // whether it is a matrix core
    uint32_t index;  // this and the next two fields: values that the core reads
    uint32_t blocks;
    uint32_t ratio;
    uint32_t rounds;    // number of rounds that it finished
    uint32_t misses;    // number of wrong words
    uint32_t miss_word; // the first wrong word
    int32_t miss_have;
    int32_t miss_need;
    uint32_t miss_round;
    uint32_t cycles; // cycles of the system counter that a timed loop took
    uint32_t reserved[4];
};
static_assert(sizeof(Observation) == 64, "one line");

// UB holds a block that is sent, a block that is checked, and a line of ones.
constexpr uint32_t MOST_WORDS = 16 * 1024;
constexpr uint32_t SENT = 0;
constexpr uint32_t SEEN = MOST_WORDS * 4;
constexpr uint32_t ONES = 2 * MOST_WORDS * 4;
constexpr uint32_t LAYOUT = 1;
// One word of each line of the scalar cache is checked.
constexpr uint32_t STRIDE = 16;

HPMOE_INLINE LocalTensor<int32_t> Block(uint32_t address) { return Ub<int32_t>(address, MOST_WORDS * 4); }

HPMOE_INLINE void Tell(const Request &request, uint32_t slot, const Observation &observation) {
    union {
        Observation value;
        uint64_t words[sizeof(Observation) / 8];
    } copy;
    copy.value = observation;
    GlobalTensor<uint64_t> line = Global<uint64_t>(request.observations + slot * sizeof(Observation));
    for (uint32_t i = 0; i < sizeof(Observation) / 8; ++i) {
        line.SetValue(i, copy.words[i]);
    }
    DataCacheCleanAndInvalid<uint64_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(line);
}

HPMOE_INLINE void Miss(Observation &observation, uint32_t word, int32_t have, int32_t need) {
    if (observation.misses == 0) {
        observation.miss_word = word;
        observation.miss_have = have;
        observation.miss_need = need;
        observation.miss_round = observation.rounds;
    }
    observation.misses += 1;
}

// Gives all of UB to the probe.
HPMOE_INLINE void Prepare(VectorCore &core) {
    core.Use(LAYOUT);
    Duplicate(Ub<int32_t>(ONES, BLOCK_BYTES), 1, BLOCK_BYTES / 4);
    PipeBarrier<PIPE_ALL>();
}
HPMOE_INLINE void Prepare(CubeCore &) {}

// Writes 1 to a word, by a plain copy.
HPMOE_INLINE void Mark(VectorCore &, uint64_t address) {
    DataCopy(Global<int32_t>(address), Ub<int32_t>(ONES, BLOCK_BYTES), BLOCK_BYTES / 4);
}
HPMOE_INLINE void Mark(CubeCore &, uint64_t address) {
    DataCopy(Global<int32_t>(address), Local<int32_t>(TPosition::A1, L1_ONES, BLOCK_BYTES), BLOCK_BYTES / 4);
}

// Writes a block of equal words to global memory. The copy may still be in progress when the function returns.
HPMOE_ROUTINE void Send(uint64_t address, uint32_t words, int32_t value) {
    PipeBarrier<PIPE_ALL>();
    Duplicate(Block(SENT), value, static_cast<int32_t>(words));
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(Global<int32_t>(address), Block(SENT), words);
}

// Reads a block from global memory by DMA, and checks that all of its words have the same value.
HPMOE_ROUTINE void Look(Observation &observation, uint64_t address, uint32_t words, int32_t value) {
    PipeBarrier<PIPE_ALL>();
    const LocalTensor<int32_t> seen = Block(SEEN);
    DataCopy(seen, Global<int32_t>(address), words);
    PipeBarrier<PIPE_ALL>();
    for (uint32_t word = 0; word < words; word += STRIDE) {
        const int32_t have = seen.GetValue(word);
        if (have != value) {
            Miss(observation, word, have, value);
        }
    }
}

} // namespace probe

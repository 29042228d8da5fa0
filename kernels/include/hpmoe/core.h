// The part that matrix and vector cores have in common: waits for counters, and the core's record.
#pragma once

#include "hpmoe/control.h"
#include "hpmoe/launch.h"

namespace hpmoe {

// Number of vector cores per matrix core that the kernel is launched with. A matrix core can't query it.
constexpr uint32_t VECTOR_PER_MATRIX = 2;

// Maximum number of ranks that a kernel runs on.
constexpr uint32_t MAX_RANKS = 256;

// A set of ranks, as one bit per rank.
struct RankSet {
    static constexpr uint32_t WORDS = MAX_RANKS / 64;
    uint64_t words[WORDS];

    HPMOE_INLINE void Clear() {
        for (uint32_t i = 0; i < WORDS; ++i) {
            words[i] = 0;
        }
    }
    HPMOE_INLINE bool Has(uint32_t rank) const { return (words[rank / 64] >> rank % 64 & 1) != 0; }
    HPMOE_INLINE void Add(uint32_t rank) { words[rank / 64] |= 1ull << rank % 64; }
    HPMOE_INLINE void Remove(uint32_t rank) { words[rank / 64] &= ~(1ull << rank % 64); }
};

struct Core : Launch {
    static constexpr uint32_t RECORD_WORDS = sizeof(HpmoeRecord) / 8;

    HpmoeRecord record;
    uint64_t counters;        // offset in the heap of this launch's set of counters
    RankSet freed;            // peers that are known to have freed the memory that chunk `freed_chunk` reuses
    uint32_t freed_chunk = 0; // 0: none, because chunk 0 reuses no memory
    uint32_t number;          // number among the cores of its kind
    uint32_t slot;            // number among all cores, matrix cores first
    int32_t launch_number;    // number of this launch
    bool infinities;          // whether 16-bit floats kept infinities before this launch

    // Starts the launch on this core. Returns false if the number of cores differs from the schedule's or an earlier
    // launch was given up; the core must not touch any tile then. A matrix core does not know the number of vector
    // cores per matrix core.
    HPMOE_INLINE bool Open(GM_ADDR argument, bool matrix) {
        // The cache may hold stale lines, which were loaded for another kernel.
        DataCacheCleanAndInvalid<uint64_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(
            Global<uint64_t>(reinterpret_cast<uint64_t>(argument)));
        launch = Load<HpmoeLaunch>(reinterpret_cast<uint64_t>(argument));
        ids = launch.ids;
        number = static_cast<uint32_t>(GetBlockIdx());
        slot = matrix ? number : launch.aic + number;
        record = HpmoeRecord{};
        record.state = HPMOE_RUNNING;
        launch_number = 0;
        const bool expected = number < (matrix ? launch.aic : launch.aiv);
        if (expected) {
            launch_number = static_cast<int32_t>(static_cast<uint32_t>(LaunchWord().GetValue(0)) + 1);
            record.unrouted = Told(__builtin_offsetof(HpmoeRecord, unrouted));
        }
        counters = launch.counters + static_cast<uint64_t>(SetOf(0)) * launch.counter_count * HPMOE_LINE;
        const uint32_t blocks = static_cast<uint32_t>(GetBlockNum());
        const bool ratio = matrix || GetTaskRatio() == VECTOR_PER_MATRIX;
        if (!ratio || launch.aic != blocks || launch.aiv != blocks * VECTOR_PER_MATRIX) {
            record.state = HPMOE_REFUSED;
        } else if (IsGivenUp()) {
            record.state = HPMOE_STOPPED;
        } else {
            return true;
        }
        if (expected) {
            // The record of the launch that was given up is kept, because it says why.
            const uint32_t state = Told(__builtin_offsetof(HpmoeRecord, state));
            if (state == HPMOE_IDLE || state == HPMOE_DONE) {
                Publish();
            }
            KeepNumber();
        }
        return false;
    }

    // Makes 16-bit floats keep infinities and NaN, as in the reference. This is a mode of the core, and other kernels
    // may need the other mode.
    HPMOE_INLINE void KeepInfinities() {
        infinities = HasControl(KEEPS_INFINITIES);
        SetControl(KEEPS_INFINITIES, true);
    }

    HPMOE_INLINE void PutInfinitiesBack() const { SetControl(KEEPS_INFINITIES, infinities); }

    // Stores the launch number. Every core does so last, however it leaves, so that the next launch has another number.
    HPMOE_INLINE void KeepNumber() const {
        GlobalTensor<int32_t> word = LaunchWord();
        word.SetValue(0, launch_number);
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(word);
    }

    // Number of the set of counters that this launch (`later` = 0) or the next one (`later` = 1) uses.
    HPMOE_INLINE uint32_t SetOf(uint32_t later) const { return (static_cast<uint32_t>(launch_number) ^ later) & 1; }

    HPMOE_INLINE uint64_t Counter(uint32_t rank, uint32_t array, uint32_t index) const {
        const uint32_t base = Word<uint32_t>(launch.counter_bases, array);
        return Heap(rank) + counters + static_cast<uint64_t>(base + index) * HPMOE_LINE;
    }

    // Waits until a counter of this rank reaches `need`. Returns false if the launch was given up: the core leaves at
    // once.
    HPMOE_INLINE bool Await(uint32_t array, uint32_t index, uint32_t need) {
        return Await(Counter(launch.rank, array, index), array, index, static_cast<int32_t>(need));
    }

    // Reads a counter of this rank once. Returns whether it has reached `need`; this then counts as a wait.
    HPMOE_INLINE bool IsThere(uint32_t array, uint32_t index, uint32_t need) {
        const GlobalTensor<int32_t> word = Global<int32_t>(Counter(launch.rank, array, index));
        const bool there = Reached(Read(word), static_cast<int32_t>(need));
        record.waits += there ? 1 : 0;
        return there;
    }

    // Waits until `rank` no longer reads the chunk whose memory chunk `chunk` reuses. Returns false if the core must
    // leave.
    HPMOE_INLINE bool AwaitFreed(uint32_t rank, uint32_t chunk) {
        if (chunk < HPMOE_CHUNK_BUFFERS) {
            return true;
        }
        if (freed_chunk != chunk) {
            freed_chunk = chunk;
            freed.Clear();
        }
        if (freed.Has(rank)) {
            return true;
        }
        const uint64_t word = Heap(launch.rank) + launch.freed + rank * HPMOE_LINE;
        if (!Await(word, HPMOE_FREED_WORD, rank, FreedWord(chunk - HPMOE_CHUNK_BUFFERS + 1))) {
            return false;
        }
        freed.Add(rank);
        return true;
    }

    // The value that a freed word has when the first `chunks` chunks of this launch are no longer read.
    HPMOE_INLINE int32_t FreedWord(uint32_t chunks) const {
        return static_cast<int32_t>(static_cast<uint32_t>(launch_number) * launch.chunks + chunks);
    }

    HPMOE_ROUTINE bool Await(uint64_t address, uint32_t array, uint32_t index, int32_t need) {
        constexpr uint32_t SHORT = 16; // reads of the counter between checks for timeout and abort
        const GlobalTensor<int32_t> word = Global<int32_t>(address);
        BeginWait();
        int32_t have = Read(word);
        if (Reached(have, need)) {
            return IsInTime();
        }
        const int64_t begin = GetSystemCycle();
        record.counter = array;
        record.index = index;
        record.need = need;
        for (uint32_t looks = 1; !Reached(have, need); ++looks) {
            record.have = have;
            if (looks % SHORT == 0 && !MayLook(begin)) {
                return false;
            }
            have = Read(word);
        }
        return IsInTime();
    }

    // Records the tile that the core starts. A core does so for every tile, because a core that is stopped from outside
    // can't report anything afterwards. The stores stay in the cache.
    HPMOE_INLINE void Enter(const Tile &tile) {
        HPMOE_EXPECTS(record.state == HPMOE_RUNNING);
        record.phase = tile.phase;
        record.group = tile.group;
        record.item = tile.item;
        record.column = tile.column;
        Note(3); // state to column
    }

    // Writes the record to memory, where the host sees it.
    HPMOE_ROUTINE void Publish() const {
        const GlobalTensor<uint64_t> line = Note(RECORD_WORDS);
        DataCacheCleanAndInvalid<uint64_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(line);
    }

    // Begins a wait. A core that was told to leave must not begin one.
    HPMOE_INLINE void BeginWait() {
        HPMOE_EXPECTS(record.state == HPMOE_RUNNING);
        record.waits += 1;
    }

    // Ends a wait. Returns false if the launch was given up: the core leaves at once.
    HPMOE_INLINE bool IsInTime() {
        record.state = HPMOE_RUNNING;
        if (HPMOE_GIVES_UP()) {
            record.state = HPMOE_GAVE_UP;
        }
        return record.state == HPMOE_RUNNING;
    }

    // Whether a wait that began at time `begin` may continue. If not, the launch was given up; the core leaves at once.
    HPMOE_INLINE bool MayLook(int64_t begin) {
        if (record.state != HPMOE_WAITING) {
            record.state = HPMOE_WAITING;
            Publish();
        }
        return MayGoOn(begin);
    }

  private:
    // A word of this core's record, as an earlier launch left it.
    HPMOE_INLINE uint32_t Told(uint64_t offset) const {
        return Word<uint32_t>(launch.records + slot * sizeof(HpmoeRecord), offset / sizeof(uint32_t));
    }

    // Writes the first `count` 64-bit words of the record, into a line that only this core uses.
    HPMOE_INLINE GlobalTensor<uint64_t> Note(uint32_t count) const {
        union {
            HpmoeRecord value;
            uint64_t words[RECORD_WORDS];
        } copy;
        copy.value = record;
        GlobalTensor<uint64_t> line = Global<uint64_t>(launch.records + slot * sizeof(HpmoeRecord));
        for (uint32_t i = 0; i < count; ++i) {
            line.SetValue(i, copy.words[i]);
        }
        return line;
    }

    // Reads a word that other cores and ranks write by DMA, which bypasses this core's data cache. The load is
    // volatile, so that it is not optimized away. The empty asm statements keep it after the invalidation, and earlier
    // loads before it.
    HPMOE_INLINE int32_t Read(const GlobalTensor<int32_t> &word) const {
        asm volatile("" ::: "memory");
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(word);
        asm volatile("" ::: "memory");
        return static_cast<const volatile __gm__ int32_t &>(word(0));
    }

    // Compares modulo 2^32: words grow from launch to launch and wrap around, but `have` and `need` are close to each
    // other.
    static HPMOE_INLINE bool Reached(int32_t have, int32_t need) {
        return static_cast<int32_t>(static_cast<uint32_t>(have) - static_cast<uint32_t>(need)) >= 0;
    }

    // The word with the number of the last launch that this core has left. Only this core uses it.
    HPMOE_INLINE GlobalTensor<int32_t> LaunchWord() const {
        return Global<int32_t>(Heap(launch.rank) + launch.launches + static_cast<uint64_t>(slot) * HPMOE_LINE);
    }

    // Whether this launch or an earlier one was given up. The counters are then not valid for later launches.
    HPMOE_INLINE bool IsGivenUp() const { return Read(Global<int32_t>(Heap(launch.rank) + launch.abort)) != 0; }

    // Whether the vector cores of this rank have left because there is no route.
    HPMOE_INLINE bool IsUnrouted() const {
        return launch.routing != 0 && Read(Global<int32_t>(Counter(launch.rank, RouteMade(), 0))) < 0;
    }

    HPMOE_INLINE bool MayGoOn(int64_t begin) {
        if (IsGivenUp() || IsUnrouted()) {
            record.state = HPMOE_STOPPED;
        } else if (static_cast<uint64_t>(GetSystemCycle() - begin) > launch.time_limit) {
            record.state = HPMOE_GAVE_UP;
        }
        return record.state == HPMOE_WAITING;
    }
};

} // namespace hpmoe

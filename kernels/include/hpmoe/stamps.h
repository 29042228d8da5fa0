// Time stamps of tiles, in kernels that are built with them. The rest of the library does not depend on them.
#pragma once

#include "hpmoe/worker.h"

namespace hpmoe {

HPMOE_INLINE uint64_t Now() { return static_cast<uint64_t>(GetSystemCycle()); }

// Stores a structure of 64-bit words, in a cache line that only this core writes.
template <typename T> HPMOE_INLINE void Keep(uint64_t address, const T &value) {
    static_assert(sizeof(T) % 8 == 0, "structures of the ABI are whole 64-bit words");
    union {
        T value;
        uint64_t words[sizeof(T) / 8];
    } copy;
    copy.value = value;
    GlobalTensor<uint64_t> words = Global<uint64_t>(address);
    for (uint32_t i = 0; i < sizeof(T) / 8; ++i) {
        words.SetValue(i, copy.words[i]);
    }
}

HPMOE_INLINE uint64_t StampBytes(const HpmoeLaunch &launch) {
    return sizeof(HpmoeStampHead) + static_cast<uint64_t>(launch.stamp_room) * sizeof(HpmoeStamp);
}

HPMOE_INLINE void CompareClocks(CubeCore &) {}

// Compares clocks: the first vector cores of rank 0 and of each other rank write words to each other alternately, and
// record the times. They do so after all their tiles, so that the tiles' times don't change. Each word is waited for,
// so none is pending afterwards.
HPMOE_INLINE void CompareClocks(VectorCore &core) {
    const uint32_t rank = core.launch.rank;
    if (core.number != 0 || core.record.state != HPMOE_DONE) {
        return;
    }
    core.record.state = HPMOE_RUNNING;
    const uint64_t clocks = core.launch.stamps + (core.launch.aic + core.launch.aiv) * StampBytes(core.launch);
    const uint32_t last = rank == 0 ? core.launch.ranks : 1;
    for (uint32_t peer = rank == 0 ? 1 : 0; peer < last && peer != rank; ++peer) {
        const uint64_t own = core.Heap(rank) + core.launch.clocks + peer * HPMOE_LINE;
        const uint64_t other = core.Heap(peer) + core.launch.clocks + rank * HPMOE_LINE;
        for (uint32_t round = 0; round < HPMOE_CLOCK_ROUNDS; ++round) {
            const uint32_t number = static_cast<uint32_t>(core.launch_number) * HPMOE_CLOCK_ROUNDS + round + 1;
            const int32_t word = static_cast<int32_t>(number);
            HpmoeClock clock = {};
            core.FencePeer(); // this core's previous word has arrived, so no barrier delays the next one
            if (rank == 0) {
                clock.sent = Now();
                core.Store(other, word);
            }
            if (!core.Await(own, HPMOE_CLOCK_WORD, peer, word)) {
                return;
            }
            clock.got = Now();
            if (rank != 0) {
                clock.sent = Now();
                core.Store(other, word);
            }
            Keep(clocks + (peer * HPMOE_CLOCK_ROUNDS + round) * sizeof(HpmoeClock), clock);
        }
    }
    core.record.state = HPMOE_DONE;
}

// A core that records time stamps. It times waits inside tiles by shadowing the core's wait functions.
template <class Base> struct Stamped : Base {
    HpmoeStampHead head;
    uint64_t buffer; // address of the head; stamps follow
    uint64_t came;
    uint64_t waited;

    HPMOE_INLINE bool Start(GM_ADDR argument) {
        head = HpmoeStampHead{};
        head.begun = Now();
        if (!Base::Start(argument)) {
            return false;
        }
        buffer = this->launch.stamps + this->slot * StampBytes(this->launch);
        Begin();
        return true;
    }

    HPMOE_INLINE void Begin() {
        came = Now();
        waited = 0;
    }

    HPMOE_INLINE void End(const Tile &tile) {
        if (head.tiles < this->launch.stamp_room) {
            HpmoeStamp stamp = {};
            stamp.came = came;
            stamp.waited = Cycles(waited);
            stamp.lasted = Cycles(Now() - came);
            stamp.phase = tile.phase;
            stamp.group = tile.group;
            stamp.item = tile.item;
            stamp.column = tile.column;
            Keep(buffer + sizeof(HpmoeStampHead) + head.tiles * sizeof(HpmoeStamp), stamp);
        }
        head.tiles += 1;
    }

    template <typename... Arguments> HPMOE_INLINE bool Await(const Arguments &...arguments) {
        const uint64_t begin = Now();
        return Timed(begin, Base::Await(arguments...));
    }
    template <typename... Arguments> HPMOE_INLINE bool AwaitReady(const Arguments &...arguments) {
        const uint64_t begin = Now();
        return Timed(begin, Base::AwaitReady(arguments...));
    }
    template <typename... Arguments> HPMOE_INLINE bool AwaitFreed(const Arguments &...arguments) {
        const uint64_t begin = Now();
        return Timed(begin, Base::AwaitFreed(arguments...));
    }
    template <typename... Arguments> HPMOE_INLINE bool AwaitTokens(const Arguments &...arguments) {
        const uint64_t begin = Now();
        return Timed(begin, Base::AwaitTokens(arguments...));
    }

    HPMOE_INLINE void Leave() {
        if (this->record.state == HPMOE_DONE) {
            head.ended = Now();
        }
        CompareClocks(static_cast<Base &>(*this));
        Keep(buffer, head);
        DataCacheCleanAndInvalid<uint64_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(
            Global<uint64_t>(buffer));
        Base::Leave();
    }

  private:
    HPMOE_INLINE bool Timed(uint64_t begin, bool there) {
        waited += Now() - begin;
        return there;
    }

    static HPMOE_INLINE uint32_t Cycles(uint64_t cycles) { return cycles < ~0u ? static_cast<uint32_t>(cycles) : ~0u; }
};

// A program that records a time stamp for each tile.
template <class Program> struct StampedProgram {
    template <class AnyCore> static HPMOE_INLINE bool Run(AnyCore &core, const Tile &tile) {
        core.Begin();
        const bool going = Program::Run(core, tile);
        core.End(tile);
        return going;
    }
    static HPMOE_INLINE void Ahead(CubeCore &core, const Tile &tile, uint32_t stages) {
        Program::Ahead(core, tile, stages);
    }
};

// A route that the kernel makes, with a time stamp as if it were a tile of a phase after all others.
template <class Route> struct StampedRoute {
    static constexpr bool IN_KERNEL = Route::IN_KERNEL;
    static constexpr bool CHOOSES = Route::CHOOSES;

    template <class AnyCore> static HPMOE_INLINE bool Make(AnyCore &core) {
        core.Begin();
        const bool going = Route::Make(core);
        Tile tile = {};
        tile.phase = Word<uint32_t>(core.launch.routing, __builtin_offsetof(HpmoeRouting, phases) / sizeof(uint32_t));
        core.End(tile);
        return going;
    }
};

} // namespace hpmoe

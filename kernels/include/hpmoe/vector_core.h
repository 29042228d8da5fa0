// A vector core: signals with values of its own, readiness of peers, the start of a launch.
#pragma once

#include "hpmoe/core.h"
#include "hpmoe/memory.h"

namespace hpmoe {

// Between tiles these flags are set, and say that a buffer may be overwritten:
//   V_MTE2 0, 1       an input stage of a vector task     MTE3_V 0, 1  an output stage
//   MTE3_MTE2 0, 1    a half of a put                     MTE3_S 0 .. 3  a signal line
struct VectorCore : Core {
    static constexpr bool HOLDS = false;    // it has no weights to read
    static constexpr uint32_t NOBODY = ~0u; // a layout: no task relies on what is in UB

    static constexpr uint32_t NO_ROUTE = 3u << 30; // below zero: never what is awaited

    RankSet ready;   // peers that are known to be ready for this launch
    uint32_t layout; // whose buffers are in UB, or NOBODY's
    uint32_t half;   // of the next rows of a put
    uint32_t line;   // of the next signal

    HPMOE_INLINE bool Start(GM_ADDR argument) {
        if (!Open(argument, false)) {
            if (record.state == HPMOE_REFUSED) {
                Refuse();
            }
            return false;
        }
        InitSocState();
        KeepInfinities();
        ready.Clear();
        ready.Add(launch.rank); // whatever this rank did before this launch is over
        layout = NOBODY;
        half = 0;
        line = 0;
        Duplicate(Ub<int32_t>(0, UB_ZEROS), 0, UB_ZEROS / 4);
        Duplicate(Ub<int32_t>(UB_TASKS, UB_LINES * BLOCK_BYTES), 0, UB_LINES * BLOCK_BYTES / 4);
        PipeBarrier<PIPE_ALL>();
        FreeStages();
        for (uint32_t i = 0; i < UB_LINES; ++i) {
            SetFlag<HardEvent::MTE3_S>(static_cast<int32_t>(i));
        }
        for (uint32_t peer = number; peer < launch.ranks; peer += launch.aiv) {
            Store(Heap(peer) + launch.ready + launch.rank * HPMOE_LINE, launch_number);
        }
        ClearNextCounters();
        return true;
    }

    // UB changes hands: what the last task left there is no longer in use. The first call also ends the clearing of
    // counters.
    HPMOE_INLINE void Use(uint32_t next) {
        if (layout != next) {
            PipeBarrier<PIPE_ALL>();
            layout = next;
        }
    }

    // An external operator gets the core: all pipes are idle, and but for those of signal lines no flag is set.
    HPMOE_INLINE void Lend() {
        AwaitStages();
        PipeBarrier<PIPE_ALL>();
        layout = NOBODY;
    }

    // Its flags may be those of stages: a pipe has passed its last wait for one before the flag is set again.
    HPMOE_INLINE void TakeBack() {
        SetAtomicNone();
        ResetMask();
        PipeBarrier<PIPE_ALL>();
        FreeStages();
    }

    // What this core wrote on its own rank is in global memory before the signals that follow.
    HPMOE_INLINE void Fence() { PipeBarrier<PIPE_MTE3>(); }
    // The same for what it put to a peer. Follows every put that anyone is told of, so that the buffer of (token, k) is free
    // for the next one.
    HPMOE_INLINE void FencePeer() { PipeBarrier<PIPE_ALL>(); }

    HPMOE_INLINE void Signal(uint32_t array, uint32_t index, uint32_t amount) {
        SignalPeer(launch.rank, array, index, amount);
    }

    HPMOE_ROUTINE void SignalPeer(uint32_t peer, uint32_t array, uint32_t index, uint32_t amount) {
        const uint64_t address = Counter(peer, array, index);
        const LocalTensor<int32_t> value = Write(static_cast<int32_t>(amount));
        SetAtomicAdd<int32_t>();
        DataCopy(Global<int32_t>(address), value, BLOCK_BYTES / sizeof(int32_t));
        SetAtomicNone();
        Release();
    }

    // A peer has started this launch: its buffers and its counters may be written. False: leave at once.
    HPMOE_INLINE bool AwaitReady(uint32_t peer) {
        if (ready.Has(peer)) {
            return true;
        }
        const uint64_t word = Heap(launch.rank) + launch.ready + peer * HPMOE_LINE;
        if (!Await(word, HPMOE_READY_WORD, peer, launch_number)) {
            return false;
        }
        ready.Add(peer);
        return true;
    }

    // Writes a word of this rank or of a peer.
    HPMOE_ROUTINE void Store(uint64_t address, int32_t value) {
        DataCopy(Global<int32_t>(address), Write(value), BLOCK_BYTES / sizeof(int32_t));
        Release();
    }

    // Tells every rank that this one no longer reads its memory of a chunk. One core writes all of these words, so that no word
    // is overtaken by an earlier one.
    HPMOE_INLINE void FreeChunk(uint32_t chunk) {
        FencePeer();
        for (uint32_t rank = 0; rank < launch.ranks; ++rank) {
            Store(Heap(rank) + launch.freed + launch.rank * HPMOE_LINE, FreedWord(chunk + 1));
        }
    }

    // The tokens of a row tile are there, each counted `per_row` times. A token is sent for the first of this rank's experts
    // that it goes to, in a row tile of `height` such rows. False: leave at once.
    HPMOE_ROUTINE bool AwaitTokens(const Tile &tile, uint32_t array, uint32_t space, uint32_t height,
                                   uint32_t per_row) {
        const uint64_t list = RowsOnce(tile);
        uint32_t last = ~0u;
        for (uint32_t i = 0; i < tile.rows; ++i) {
            const uint32_t row = static_cast<uint32_t>(Word<int32_t>(list, i));
            uint32_t expert = tile.expert;
            while (row < FirstRowOnce(expert)) {
                --expert;
            }
            const uint32_t at = (row - FirstRowOnce(expert)) / height;
            const uint32_t index = FirstTile(space, expert) + at;
            if (index == last) {
                continue;
            }
            if (!Await(array, index, Min(height, ExpertRowsOnce(expert) - at * height) * per_row)) {
                return false;
            }
            last = index;
        }
        return true;
    }

    // There is no route, which all ranks find by themselves: this rank's other cores, which wait for one, are told to leave.
    HPMOE_INLINE void LeaveUnrouted() {
        record.state = HPMOE_UNROUTED;
        record.unrouted += 1;
        if (number == 0) {
            Signal(RouteMade(), 0, NO_ROUTE);
        }
    }

    HPMOE_INLINE void Leave() {
        if (record.state == HPMOE_GAVE_UP) {
            for (uint32_t rank = 0; rank < launch.ranks; ++rank) {
                TellToLeave(rank);
            }
        }
        AwaitStages();
        for (uint32_t i = 0; i < UB_LINES; ++i) {
            WaitFlag<HardEvent::MTE3_S>(static_cast<int32_t>(i));
        }
        PipeBarrier<PIPE_ALL>();
        ResetMask();
        PutInfinitiesBack();
        Publish();
        KeepNumber();
    }

  private:
    HPMOE_INLINE void AwaitStages() {
        for (int32_t stage = 0; stage < 2; ++stage) {
            WaitFlag<HardEvent::V_MTE2>(stage);
            WaitFlag<HardEvent::MTE3_V>(stage);
            WaitFlag<HardEvent::MTE3_MTE2>(stage);
        }
    }

    HPMOE_INLINE void FreeStages() {
        for (int32_t stage = 0; stage < 2; ++stage) {
            SetFlag<HardEvent::V_MTE2>(stage);
            SetFlag<HardEvent::MTE3_V>(stage);
            SetFlag<HardEvent::MTE3_MTE2>(stage);
        }
    }

    // Matrix cores, which may not see what is wrong, and peers have begun to wait: they are told to leave.
    HPMOE_INLINE void Refuse() {
        if (number != 0) {
            return;
        }
        InitSocState();
        Duplicate(Line(0), 1, BLOCK_BYTES / 4);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        for (uint32_t rank = 0; rank < launch.ranks; ++rank) {
            DataCopy(Global<int32_t>(Heap(rank) + launch.abort), Line(0), BLOCK_BYTES / sizeof(int32_t));
        }
        PipeBarrier<PIPE_ALL>();
    }

    // Several cores may say so at once, so all of them write the same line, as matrix cores do. No signal follows.
    HPMOE_INLINE void TellToLeave(uint32_t rank) {
        const LocalTensor<int32_t> words = Write(1, BLOCK_BYTES / sizeof(int32_t));
        DataCopy(Global<int32_t>(Heap(rank) + launch.abort), words, BLOCK_BYTES / sizeof(int32_t));
        Release();
    }

    HPMOE_INLINE LocalTensor<int32_t> Line(uint32_t which) const {
        return Ub<int32_t>(UB_TASKS + which * BLOCK_BYTES, BLOCK_BYTES);
    }

    // Puts a value into the first words of the next line, once the copy that used it last has read it.
    HPMOE_INLINE LocalTensor<int32_t> Write(int32_t value, uint32_t count = 1) {
        const int32_t id = static_cast<int32_t>(line);
        const LocalTensor<int32_t> words = Line(line);
        WaitFlag<HardEvent::MTE3_S>(id);
        for (uint32_t i = 0; i < count; ++i) {
            words.SetValue(i, value);
        }
        SetFlag<HardEvent::S_MTE3>(id);
        WaitFlag<HardEvent::S_MTE3>(id);
        return words;
    }

    HPMOE_INLINE void Release() {
        SetFlag<HardEvent::MTE3_S>(static_cast<int32_t>(line));
        line = (line + 1) % UB_LINES;
    }

    // The set of counters of the next launch, of which every vector core takes its share.
    HPMOE_INLINE void ClearNextCounters() {
        constexpr uint32_t MOST = UB_ZEROS / BLOCK_BYTES; // one line of zeros for each counter of a copy
        const uint32_t share = CeilDiv(launch.counter_count, launch.aiv);
        const uint32_t end = Min((number + 1) * share, launch.counter_count);
        const uint64_t set = static_cast<uint64_t>(SetOf(1)) * launch.counter_count;
        const uint64_t begin = Heap(launch.rank) + launch.counters + set * HPMOE_LINE;
        for (uint32_t i = number * share; i < end; i += MOST) {
            const uint16_t count = static_cast<uint16_t>(Min(MOST, end - i));
            DataCopyPad(Global<int32_t>(begin + static_cast<uint64_t>(i) * HPMOE_LINE), Ub<int32_t>(0, UB_ZEROS),
                        DataCopyExtParams(count, BLOCK_BYTES, 0, HPMOE_LINE - BLOCK_BYTES, 0));
        }
    }
};

} // namespace hpmoe

// A vector core: signals of any amount, readiness of peers, and the start of a launch.
#pragma once

#include "hpmoe/core.h"
#include "hpmoe/memory.h"

namespace hpmoe {

// Flags that are set between tiles. Each says that a buffer may be overwritten:
//   V_MTE2 0, 1       an input stage of a vector task     MTE3_V 0, 1  an output stage
//   MTE3_MTE2 0, 1    a half of a put                     MTE3_S 0 .. 3  a signal line
struct VectorCore : Core {
    static constexpr bool HOLDS = false;    // a vector core has no weights to read ahead
    static constexpr uint32_t NOBODY = ~0u; // value of `layout`: no task relies on the contents of UB

    static constexpr uint32_t NO_ROUTE = 3u << 30; // negative, so that no wait for the route ends

    RankSet ready;   // peers that are known to be ready for this launch
    uint32_t layout; // the task whose buffers are in UB, or NOBODY
    uint32_t half;   // half of UB for the next rows of a put
    uint32_t line;   // line for the next signal

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
        ready.Add(launch.rank); // this rank has finished everything before this launch
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

    // Gives UB to the next task, after all uses of the previous task's buffers have ended. The first call also waits
    // until counters are cleared.
    HPMOE_INLINE void Use(uint32_t next) {
        if (layout != next) {
            PipeBarrier<PIPE_ALL>();
            layout = next;
        }
    }

    // Hands the core over to an external operator. All pipes are idle, and no flag is set except those of signal lines.
    HPMOE_INLINE void Lend() {
        AwaitStages();
        PipeBarrier<PIPE_ALL>();
        layout = NOBODY;
    }

    // Takes the core back from an external operator, which may have used the flags of stages. Each pipe has passed its
    // last wait for a flag before the flag is set again.
    HPMOE_INLINE void TakeBack() {
        SetAtomicNone();
        ResetMask();
        PipeBarrier<PIPE_ALL>();
        FreeStages();
    }

    // Waits until this core's writes to its own rank are in global memory, before it signals.
    HPMOE_INLINE void Fence() { PipeBarrier<PIPE_MTE3>(); }
    // Waits until this core's puts have arrived, before it signals a peer. Every put that is signalled is followed by
    // this fence, or by puts that are joined to it and then this fence, so that the buffer of (token, k) is free for
    // the next piece.
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

    // Waits until a peer has started this launch, so that its buffers and counters may be written. Returns false if the
    // core must leave.
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

    // Tells every rank that this one no longer reads its memory of a chunk. One core writes all these words, so that no
    // word overtakes an earlier one.
    HPMOE_INLINE void FreeChunk(uint32_t chunk) {
        FencePeer();
        for (uint32_t rank = 0; rank < launch.ranks; ++rank) {
            Store(Heap(rank) + launch.freed + launch.rank * HPMOE_LINE, FreedWord(chunk + 1));
        }
    }

    // Waits until the tokens of a row tile have arrived. `array` counts each token `per_row` times. A token is stored
    // under the first of this rank's experts that it goes to, in row tiles of `height` once-sent rows. Returns false if
    // the core must leave.
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

    // Leaves because there is no route. Every rank finds this out by itself; core 0 signals it to the rank's other
    // cores, which wait for the route.
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

    // Refuses the launch. Matrix cores and peers may not see the reason and may already wait, so this core tells them
    // to leave.
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

    // Writes the abort word of a rank. Several cores, including matrix cores, may do so at once, so all of them write
    // the same line. No signal follows.
    HPMOE_INLINE void TellToLeave(uint32_t rank) {
        const LocalTensor<int32_t> words = Write(1, BLOCK_BYTES / sizeof(int32_t));
        DataCopy(Global<int32_t>(Heap(rank) + launch.abort), words, BLOCK_BYTES / sizeof(int32_t));
        Release();
    }

    HPMOE_INLINE LocalTensor<int32_t> Line(uint32_t which) const {
        return Ub<int32_t>(UB_TASKS + which * BLOCK_BYTES, BLOCK_BYTES);
    }

    // Writes a value to the first `count` words of the next signal line, once the last copy from that line has ended.
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

    // Clears the next launch's set of counters. Each vector core clears its share.
    HPMOE_INLINE void ClearNextCounters() {
        constexpr uint32_t MOST = UB_ZEROS / BLOCK_BYTES; // one line of zeros per counter of a copy
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

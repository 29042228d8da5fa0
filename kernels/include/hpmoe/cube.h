// A matrix core: its buffers for products, and its signals, which follow Fixpipe's writes.
#pragma once

#include "hpmoe/core.h"
#include "hpmoe/memory.h"

namespace hpmoe {

// Flags that are set between tiles. Each says that a buffer may be overwritten:
//   MTE1_MTE2 0, 1  an L1 stage      M_MTE1 0, 1  an L0A and an L0B stage
// and MTE3_S 0, which says that no FIX_MTE3 0 is pending. The flag of an L1 stage with weights that were read ahead is
// not set.
struct CubeCore : Core {
    static constexpr bool HOLDS = true; // the core holds a tile until it has found the next one (worker.h)
    uint32_t l1_stage;
    uint32_t l0_stage;
    uint32_t ahead;       // L1 stages, from `l1_stage` on, that already hold the right operand of the next product
    uint32_t ahead_block; // contraction length of such a stage
    uint64_t ahead_of;    // address of that operand
    Tile held;            // the tile to be run next, if `holds`
    bool holds;
    uint32_t passed; // entries read since the core holds it

    HPMOE_INLINE bool Start(GM_ADDR argument) {
        if (!Open(argument, true)) {
            return false;
        }
        InitSocState();
        KeepInfinities();
        SetMMLayoutTransform(true);
        SetHF32Mode(false); // multiply f32 operands as f32, whatever an earlier kernel has set
        l1_stage = 0;
        l0_stage = 0;
        ahead = 0;
        holds = false;
        // A product of few rows also multiplies stale rows of L1. The results are not used, but the operands must be
        // numbers, and not NaN.
        FillL1(0, L1_STAGES * L1_STAGE, 0);
        FillL1(L1_ONES, BLOCK_BYTES, 1);
        PipeBarrier<PIPE_ALL>();
        FreeStages();
        SetFlag<HardEvent::MTE3_S>(0);
        return true;
    }

    // Waits until this core's writes are in global memory, before it signals.
    HPMOE_INLINE void Fence() {
        WaitFlag<HardEvent::MTE3_S>(0);
        SetFlag<HardEvent::FIX_MTE3>(0);
        WaitFlag<HardEvent::FIX_MTE3>(0);
        SetFlag<HardEvent::MTE3_S>(0);
    }

    // Adds one to a counter. A copy moves 32 bytes, so it also changes the seven words after the counter; counters lie
    // farther apart than that.
    HPMOE_INLINE void Signal(uint32_t array, uint32_t index) {
        const LocalTensor<int32_t> ones = Local<int32_t>(TPosition::A1, L1_ONES, BLOCK_BYTES);
        SetAtomicAdd<int32_t>();
        DataCopy(Global<int32_t>(Counter(launch.rank, array, index)), ones, BLOCK_BYTES / sizeof(int32_t));
        SetAtomicNone();
    }

    // Hands the core over to an external operator. All pipes are idle, and no flag is set except MTE3_S 0.
    HPMOE_INLINE void Lend() {
        AwaitStages();
        PipeBarrier<PIPE_ALL>();
    }

    HPMOE_INLINE void TakeBack() {
        SetAtomicNone();
        PipeBarrier<PIPE_ALL>();
        FreeStages();
    }

    HPMOE_INLINE void Leave() {
        AwaitStages();
        WaitFlag<HardEvent::MTE3_S>(0);
        if (record.state == HPMOE_GAVE_UP) {
            const LocalTensor<int32_t> ones = Local<int32_t>(TPosition::A1, L1_ONES, BLOCK_BYTES);
            for (uint32_t rank = 0; rank < launch.ranks; ++rank) {
                DataCopy(Global<int32_t>(Heap(rank) + launch.abort), ones, BLOCK_BYTES / sizeof(int32_t));
            }
        }
        PipeBarrier<PIPE_ALL>();
        SetMMLayoutTransform(false); // the next kernel on this core may rely on it
        PutInfinitiesBack();
        Publish();
        KeepNumber();
    }

  private:
    HPMOE_INLINE void AwaitStages() {
        for (uint32_t i = 0; i < L1_STAGES; ++i) {
            // If the stage was filled ahead for a product that is not run, its flag has already been waited for.
            if (i >= ahead) {
                WaitFlag<HardEvent::MTE1_MTE2>(static_cast<int32_t>(l1_stage ^ i));
            }
            WaitFlag<HardEvent::M_MTE1>(static_cast<int32_t>(i));
        }
    }

    HPMOE_INLINE void FreeStages() {
        for (int32_t stage = 0; stage < 2; ++stage) {
            SetFlag<HardEvent::MTE1_MTE2>(stage);
            SetFlag<HardEvent::M_MTE1>(stage);
        }
    }

    HPMOE_INLINE void FillL1(uint32_t address, uint32_t bytes, int32_t value) {
        InitConstValue(Local<int32_t>(TPosition::A1, address, bytes), BlocksOf(bytes / BLOCK_BYTES, value));
    }
};

} // namespace hpmoe

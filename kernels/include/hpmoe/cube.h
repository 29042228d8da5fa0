// A matrix core: the buffers of the product, and signals after what Fixpipe wrote.
#pragma once

#include "hpmoe/core.h"
#include "hpmoe/memory.h"

namespace hpmoe {

// Between tiles these flags are set, and say that a buffer may be overwritten:
//   MTE1_MTE2 0, 1  an L1 stage      M_MTE1 0, 1  an L0A and an L0B stage
// and MTE3_S 0 that FIX_MTE3 0 is not under way. An L1 stage that holds weights which were read ahead has its flag no longer.
struct CubeCore : Core {
    static constexpr bool HOLDS = true; // a tile, until the next one is found (worker.h)
    uint32_t l1_stage;
    uint32_t l0_stage;
    uint32_t ahead;       // L1 stages, from `l1_stage` on, that hold the right operand of the next product already
    uint32_t ahead_block; // contraction of such a stage
    uint64_t ahead_of;    // address of that operand
    Tile held;            // the next one to be run, if `holds`
    bool holds;
    uint32_t passed; // entries that were read while it is held

    HPMOE_INLINE bool Start(GM_ADDR argument) {
        if (!Open(argument, true)) {
            return false;
        }
        InitSocState();
        KeepInfinities();
        SetMMLayoutTransform(true);
        SetHF32Mode(false); // f32 operands are multiplied as they are, whatever an earlier kernel has left
        l1_stage = 0;
        l0_stage = 0;
        ahead = 0;
        holds = false;
        // A product of few rows takes stale rows of L1 along. Nobody reads what becomes of them, but they must be
        // numbers.
        FillL1(0, L1_STAGES * L1_STAGE, 0);
        FillL1(L1_ONES, BLOCK_BYTES, 1);
        PipeBarrier<PIPE_ALL>();
        FreeStages();
        SetFlag<HardEvent::MTE3_S>(0);
        return true;
    }

    // What this core wrote is in global memory before the signals that follow.
    HPMOE_INLINE void Fence() {
        WaitFlag<HardEvent::MTE3_S>(0);
        SetFlag<HardEvent::FIX_MTE3>(0);
        WaitFlag<HardEvent::FIX_MTE3>(0);
        SetFlag<HardEvent::MTE3_S>(0);
    }

    // Adds one. A copy moves 32 bytes, so the seven words next to the counter grow too: counters lie farther apart.
    HPMOE_INLINE void Signal(uint32_t array, uint32_t index) {
        const LocalTensor<int32_t> ones = Local<int32_t>(TPosition::A1, L1_ONES, BLOCK_BYTES);
        SetAtomicAdd<int32_t>();
        DataCopy(Global<int32_t>(Counter(launch.rank, array, index)), ones, BLOCK_BYTES / sizeof(int32_t));
        SetAtomicNone();
    }

    // An external operator gets the core: all pipes are idle, and but for MTE3_S 0 no flag is set.
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
        SetMMLayoutTransform(false); // the next kernel on this core may take it for granted
        PutInfinitiesBack();
        Publish();
        KeepNumber();
    }

  private:
    HPMOE_INLINE void AwaitStages() {
        for (uint32_t i = 0; i < L1_STAGES; ++i) {
            // A stage that was filled ahead, for a product that does not come, has been waited for.
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

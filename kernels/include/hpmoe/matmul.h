// The product of a tile of rows with a tile of transposed weights, through L1, L0 and L0C.
#pragma once

#include "hpmoe/cube.h"

namespace hpmoe {

// How a product is cut. Rows and columns are multiples of 16, and so is k_step; k_block is a multiple of k_step.
struct MatmulPlan {
    uint32_t rows;    // accumulated in L0C at a time
    uint32_t k_block; // contraction of an L1 stage
    uint32_t k_step;  // contraction of an L0 stage
};

// One L1 stage: x in NZ with `mp` rows, behind it w in NZ with `np` rows.
struct MatmulStage {
    LocalTensor<bfloat16_t> x;
    LocalTensor<bfloat16_t> w;
};

__aicore__ inline MatmulStage StageOf(uint32_t stage, uint32_t mp, uint32_t k_block) {
    const uint32_t split = mp * k_block * static_cast<uint32_t>(sizeof(bfloat16_t));
    return MatmulStage{Local<bfloat16_t>(TPosition::A1, stage * L1_STAGE, split),
                       Local<bfloat16_t>(TPosition::B1, stage * L1_STAGE + split, L1_STAGE - split)};
}

// Contraction [k0, k0 + length) of both operands to L1.
__aicore__ inline void LoadStage(uint32_t stage, const MatmulStage &to, const View<bfloat16_t> &x,
                                 const View<bfloat16_t> &w, uint32_t k0, uint32_t length) {
    const uint16_t mp = static_cast<uint16_t>(AlignUp(x.rows, 16));
    const uint16_t np = static_cast<uint16_t>(AlignUp(w.rows, 16));
    const uint16_t columns = static_cast<uint16_t>(length);
    WaitFlag<HardEvent::MTE1_MTE2>(static_cast<int32_t>(stage));
    DataCopy(to.x, x.At(0, k0),
             Nd2NzParams(1, static_cast<uint16_t>(x.rows), columns, 0, static_cast<uint16_t>(x.pitch), mp, 1, 0));
    DataCopy(to.w, w.At(0, k0),
             Nd2NzParams(1, static_cast<uint16_t>(w.rows), columns, 0, static_cast<uint16_t>(w.pitch), np, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(static_cast<int32_t>(stage));
}

// Contraction [k0, k0 + depth) of an L1 stage: to L0, and added to L0C. `first` starts from zero, `last` hands L0C
// over to Fixpipe.
__aicore__ inline void Accumulate(CubeCore &core, const MatmulStage &from, uint32_t m, uint32_t n, uint32_t k0,
                                  uint32_t depth, bool first, bool last) {
    const uint32_t mp = AlignUp(m, 16);
    const uint32_t np = AlignUp(n, 16);
    const uint32_t k1 = CeilDiv(depth, 16);
    const int32_t stage = static_cast<int32_t>(core.l0_stage);
    const LocalTensor<bfloat16_t> a = Local<bfloat16_t>(TPosition::A2, core.l0_stage * L0_STAGE, L0_STAGE);
    const LocalTensor<bfloat16_t> b = Local<bfloat16_t>(TPosition::B2, core.l0_stage * L0_STAGE, L0_STAGE);
    WaitFlag<HardEvent::M_MTE1>(stage);
    // NZ to zZ: one call for each 16 columns of x. W's NZ already is the nZ of its transpose.
    for (uint32_t i = 0; i < k1; ++i) {
        LoadData(a[i * 256], from.x[(k0 + i * 16) * mp],
                 LoadData2DParams(0, static_cast<uint8_t>(mp / 16), 1, 0, static_cast<uint16_t>(k1 - 1), false, 0));
    }
    LoadData(b, from.w[k0 * np], LoadData2DParams(0, static_cast<uint8_t>(np / 16 * k1), 1, 0, 0, false, 0));
    SetFlag<HardEvent::MTE1_M>(stage);
    WaitFlag<HardEvent::MTE1_M>(stage);
    // One row would make the cube read x as a plain vector.
    const uint32_t rows = m == 1 ? 16 : m;
    Mmad(Local<float>(TPosition::CO1, 0, L0C_BYTES), a, b,
         MmadParams(static_cast<uint16_t>(rows), static_cast<uint16_t>(n), static_cast<uint16_t>(depth), last ? 3 : 2,
                    false, first));
    // So small a product is over before the next one would see its sums.
    if ((rows / 16) * (n / 16) < 10) {
        PipeBarrier<PIPE_M>();
    }
    SetFlag<HardEvent::M_MTE1>(stage);
    core.l0_stage ^= 1;
}

template <typename Out> struct FixpipeRounding;
template <> struct FixpipeRounding<bfloat16_t> {
    static constexpr QuantMode_t mode = F322BF16;
};
template <> struct FixpipeRounding<float> {
    static constexpr QuantMode_t mode = NoQuant;
};

// y = x · wᵀ for at most `plan.rows` rows: sums in f32 in ascending k, rounded once. Buffers go on alternating from
// product to product; unit flags let the next product start while Fixpipe still reads L0C.
template <typename Out>
__aicore__ inline void MatmulPanel(CubeCore &core, const View<bfloat16_t> &x, const View<bfloat16_t> &w,
                                   const View<Out> &y, const MatmulPlan &plan) {
    const uint32_t mp = AlignUp(x.rows, 16);
    const uint32_t k = x.cols;
    LoadStage(core.l1_stage, StageOf(core.l1_stage, mp, plan.k_block), x, w, 0, Min(plan.k_block, k));
    for (uint32_t k0 = 0; k0 < k; k0 += plan.k_block) {
        const uint32_t length = Min(plan.k_block, k - k0);
        const uint32_t next = k0 + length;
        if (next < k) {
            const uint32_t stage = core.l1_stage ^ 1;
            LoadStage(stage, StageOf(stage, mp, plan.k_block), x, w, next, Min(plan.k_block, k - next));
        }
        const MatmulStage from = StageOf(core.l1_stage, mp, plan.k_block);
        WaitFlag<HardEvent::MTE2_MTE1>(static_cast<int32_t>(core.l1_stage));
        for (uint32_t step = 0; step < length; step += plan.k_step) {
            const uint32_t depth = Min(plan.k_step, length - step);
            Accumulate(core, from, x.rows, w.rows, step, depth, k0 + step == 0, k0 + step + depth == k);
        }
        SetFlag<HardEvent::MTE1_MTE2>(static_cast<int32_t>(core.l1_stage));
        core.l1_stage ^= 1;
    }
    Fixpipe<Out, float, CFG_ROW_MAJOR>(
        y.At(0, 0), Local<float>(TPosition::CO1, 0, L0C_BYTES),
        FixpipeParamsV220(static_cast<uint16_t>(w.rows), static_cast<uint16_t>(x.rows), static_cast<uint16_t>(mp),
                          y.pitch, false, FixpipeRounding<Out>::mode, 0, 1, 0, 0, 3));
}

// y[rows, n] = x[rows, k] · w[n, k]ᵀ. Rows beyond `plan.rows` are further panels.
template <typename Out>
HPMOE_ROUTINE void MatmulT(CubeCore &core, const View<bfloat16_t> &x, const View<bfloat16_t> &w, const View<Out> &y,
                           const MatmulPlan &plan) {
    core.record.empty += w.rows == 0 || x.cols == 0 ? 1 : 0;
    for (uint32_t row = 0; row < x.rows; row += plan.rows) {
        MatmulPanel(core, x.Rows(row, plan.rows), w, y.Rows(row, plan.rows), plan);
    }
}

} // namespace hpmoe

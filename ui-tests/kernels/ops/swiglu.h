// silu(gate) · up of a whole tile.
#pragma once

#include "tile.h"

HPMOE_INLINE void swiglu(const hpmoe::View<bfloat16_t> &gate, const hpmoe::View<bfloat16_t> &up,
                         const hpmoe::View<bfloat16_t> &h) {
    using namespace hpmoe;
    const LocalTensor<bfloat16_t> gate_in = ops::Slot<bfloat16_t>(0);
    const LocalTensor<bfloat16_t> up_in = ops::Slot<bfloat16_t>(1);
    const LocalTensor<float> g = ops::Slot<float>(2);
    const LocalTensor<float> u = ops::Slot<float>(3);
    const LocalTensor<float> power = ops::Slot<float>(4);
    const int32_t count = UbCount(h.rows, h.cols);
    LoadRows(gate_in, gate, 0, h.rows);
    LoadRows(up_in, up, 0, h.rows);
    SetFlag<HardEvent::MTE2_V>(4);
    WaitFlag<HardEvent::MTE2_V>(4);
    Cast(g, gate_in, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    Cast(u, up_in, RoundMode::CAST_NONE, static_cast<uint32_t>(count));
    PipeBarrier<PIPE_V>();
    Muls(power, g, -1.0f, count);
    PipeBarrier<PIPE_V>();
    Exp(power, power, count);
    PipeBarrier<PIPE_V>();
    Adds(power, power, 1.0f, count);
    PipeBarrier<PIPE_V>();
    Div(g, g, power, count);
    PipeBarrier<PIPE_V>();
    Mul(g, g, u, count);
    PipeBarrier<PIPE_V>();
    Cast(gate_in, g, RoundMode::CAST_RINT, static_cast<uint32_t>(count));
    SetFlag<HardEvent::V_MTE3>(4);
    WaitFlag<HardEvent::V_MTE3>(4);
    StoreRows(h, 0, h.rows, gate_in);
    // As at the end of a loop over pieces; the library uses the same flag.
    SetFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(0);
}

// Comparisons of values in UB, and the choice between two values by a mask.
//
// A comparison runs over whole repeats and produces bits. The numbers after the last whole repeat are copied to
// scratch, padded with zeros, and compared there, so that nothing beyond the value is read.
#pragma once

#include "hpmoe/vector.h"

namespace hpmoe {

constexpr uint32_t MOST_COMPARED = 4096;              // most elements whose bits fit into the scratch
constexpr uint32_t COMPARED_BITS = MOST_COMPARED / 8; // bytes of those bits
constexpr uint32_t REST_BYTES = LANES * 4;            // bytes of one operand
constexpr uint32_t COMPARE_SCRATCH = COMPARED_BITS + 2 * REST_BYTES;

// Copies the elements that follow the last whole repeat, from `from` on, and pads them with zeros to a repeat.
HPMOE_INLINE void CopyRest(const LocalTensor<float> &to, const LocalTensor<float> &from, uint32_t rest) {
    Duplicate(to, 0.0f, static_cast<int32_t>(LANES));
    PipeBarrier<PIPE_V>();
    Copy(to, from, static_cast<uint64_t>(rest), 1, CopyRepeatParams(1, 1, LANE_BLOCKS, LANE_BLOCKS));
}

// out[i] = 1 if bit i is set, else 0.
HPMOE_INLINE void Truth(const LocalTensor<float> &out, const LocalTensor<uint8_t> &bits, uint32_t count) {
    Duplicate(out, 1.0f, static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
    Select(out, bits, out, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);
}

// out[i] = 1 if a[i] and b[i] compare as MODE says, else 0. `scratch` has COMPARE_SCRATCH bytes.
template <CMPMODE MODE>
HPMOE_INLINE void CompareValues(uint32_t out_at, uint32_t a_at, uint32_t b_at, uint32_t scratch_at, int32_t count) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> a = UbFrom<float>(a_at);
    const LocalTensor<float> b = UbFrom<float>(b_at);
    const LocalTensor<uint8_t> bits = UbFrom<uint8_t>(scratch_at);
    const uint32_t rest = static_cast<uint32_t>(count) % LANES;
    const uint32_t whole = static_cast<uint32_t>(count) - rest;
    for (uint32_t first = 0; first < whole; first += MOST_COMPARED) {
        const uint32_t part = Min(MOST_COMPARED, whole - first);
        Compare(bits, a[first], b[first], MODE, part);
        Truth(out[first], bits, part);
    }
    if (rest > 0) {
        const LocalTensor<float> left = UbFrom<float>(scratch_at + COMPARED_BITS);
        const LocalTensor<float> right = UbFrom<float>(scratch_at + COMPARED_BITS + REST_BYTES);
        CopyRest(left, a[whole], rest);
        CopyRest(right, b[whole], rest);
        PipeBarrier<PIPE_V>();
        Compare(bits, left, right, MODE, LANES);
        Truth(out[whole], bits, rest);
    }
}

HPMOE_ROUTINE void Less(uint32_t out_at, uint32_t a_at, uint32_t b_at, uint32_t scratch_at, int32_t count) {
    CompareValues<CMPMODE::LT>(out_at, a_at, b_at, scratch_at, count);
}

HPMOE_ROUTINE void LessEqual(uint32_t out_at, uint32_t a_at, uint32_t b_at, uint32_t scratch_at, int32_t count) {
    CompareValues<CMPMODE::LE>(out_at, a_at, b_at, scratch_at, count);
}

HPMOE_ROUTINE void Greater(uint32_t out_at, uint32_t a_at, uint32_t b_at, uint32_t scratch_at, int32_t count) {
    CompareValues<CMPMODE::GT>(out_at, a_at, b_at, scratch_at, count);
}

HPMOE_ROUTINE void GreaterEqual(uint32_t out_at, uint32_t a_at, uint32_t b_at, uint32_t scratch_at, int32_t count) {
    CompareValues<CMPMODE::GE>(out_at, a_at, b_at, scratch_at, count);
}

HPMOE_ROUTINE void Equal(uint32_t out_at, uint32_t a_at, uint32_t b_at, uint32_t scratch_at, int32_t count) {
    CompareValues<CMPMODE::EQ>(out_at, a_at, b_at, scratch_at, count);
}

HPMOE_ROUTINE void NotEqual(uint32_t out_at, uint32_t a_at, uint32_t b_at, uint32_t scratch_at, int32_t count) {
    CompareValues<CMPMODE::NE>(out_at, a_at, b_at, scratch_at, count);
}

// out[i] = mask[i] ≠ 0 ? a[i] : b[i]. `scratch` has COMPARE_SCRATCH bytes.
HPMOE_ROUTINE void Choose(uint32_t out_at, uint32_t mask_at, uint32_t a_at, uint32_t b_at, uint32_t scratch_at,
                          int32_t count) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> mask = UbFrom<float>(mask_at);
    const LocalTensor<float> a = UbFrom<float>(a_at);
    const LocalTensor<float> b = UbFrom<float>(b_at);
    const LocalTensor<uint8_t> bits = UbFrom<uint8_t>(scratch_at);
    const uint32_t rest = static_cast<uint32_t>(count) % LANES;
    const uint32_t whole = static_cast<uint32_t>(count) - rest;
    for (uint32_t first = 0; first < whole; first += MOST_COMPARED) {
        const uint32_t part = Min(MOST_COMPARED, whole - first);
        CompareScalar(bits, mask[first], 0.0f, CMPMODE::NE, part);
        PipeBarrier<PIPE_V>();
        Select(out[first], bits, a[first], b[first], SELMODE::VSEL_TENSOR_TENSOR_MODE, part);
    }
    if (rest > 0) {
        const LocalTensor<float> left = UbFrom<float>(scratch_at + COMPARED_BITS);
        CopyRest(left, mask[whole], rest);
        PipeBarrier<PIPE_V>();
        CompareScalar(bits, left, 0.0f, CMPMODE::NE, LANES);
        PipeBarrier<PIPE_V>();
        Select(out[whole], bits, a[whole], b[whole], SELMODE::VSEL_TENSOR_TENSOR_MODE, rest);
    }
}

} // namespace hpmoe

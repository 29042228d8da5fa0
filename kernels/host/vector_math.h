// The arithmetic of vector calls, on plain arrays.
#pragma once

#include <cstdint>

#include "ascendc/bridge.h"

namespace AscendC::host {

/// dst[i] = op(a[i], b[i], scalar) for i < n. a and b may equal dst, or be null if op has no such source. Returns false
/// if op does not exist for the type.
bool elementwise(VOp op, Dt type, void *dst, const void *a, const void *b, uint64_t scalar, uint32_t n);
bool elementwiseExists(VOp op, Dt type);

/// dst[i] = src[i], converted. Returns false if the pair of types or the mode does not exist.
bool convert(Dt to, Dt from, RoundMode mode, void *dst, const void *src, uint32_t n);

// convert.cpp: the most frequent conversions
void widenFromBf16(float *dst, const uint16_t *src, uint32_t n);
void narrowToBf16(uint16_t *dst, const float *src, uint32_t n);

// functions.cpp
void expOf(float *dst, const float *src, uint32_t n);
void lnOf(float *dst, const float *src, uint32_t n);

} // namespace AscendC::host

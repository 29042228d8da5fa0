// Cast: the valid pairs and rounding modes, and their results. Integers saturate; a NaN becomes 0.
#include <cmath>
#include <limits>
#include <type_traits>

#include "clones.h"
#include "vector_math.h"

namespace AscendC::host {

namespace {

using M = RoundMode;
constexpr uint32_t bit(M mode) { return 1u << static_cast<uint32_t>(mode); }
constexpr uint32_t kNone = bit(M::CAST_NONE);
constexpr uint32_t kFive =
    bit(M::CAST_RINT) | bit(M::CAST_FLOOR) | bit(M::CAST_CEIL) | bit(M::CAST_ROUND) | bit(M::CAST_TRUNC);
constexpr uint32_t kOdd = bit(M::CAST_ODD);

template <M mode> double toWhole(double x) {
    switch (mode) {
    case M::CAST_FLOOR: return std::floor(x);
    case M::CAST_CEIL: return std::ceil(x);
    case M::CAST_ROUND: return std::round(x);
    case M::CAST_TRUNC: return std::trunc(x);
    default: return std::nearbyint(x); // the rounding mode of the process is to nearest even
    }
}

/// Rounds a float to a multiple of `unit`, the value of the last bit kept.
template <M mode> float toUnit(float x, float unit) {
    double scaled = static_cast<double>(x) / unit;
    if (mode == M::CAST_ODD) {
        double whole = std::trunc(scaled);
        if (whole != scaled && std::fmod(whole, 2.0) == 0) whole += x < 0 ? -1 : 1;
        return static_cast<float>(whole * unit);
    }
    return static_cast<float>(toWhole<mode>(scaled) * unit);
}

/// The value of the last bit that is kept of x, in a format with this many mantissa bits and this smallest exponent.
float unitOf(float x, int bits, int least) {
    int exponent = static_cast<int>((bitsOf(x) >> 23) & 0xFFu) - 127;
    return std::ldexp(1.0f, (exponent < least ? least : exponent) - bits);
}

/// The float that `mode` rounds x to, if `nearest` is the nearest float and inexact.
template <M mode> float directed(double x, float nearest) {
    float down = static_cast<double>(nearest) > x ? std::nextafter(nearest, -INFINITY) : nearest;
    float up = std::nextafter(down, INFINITY);
    double low = x - down, high = up - x;
    switch (mode) {
    case M::CAST_FLOOR: return down;
    case M::CAST_CEIL: return up;
    case M::CAST_TRUNC: return x < 0 ? up : down;
    case M::CAST_ROUND: return low < high ? down : high < low ? up : x < 0 ? down : up;
    default: return nearest;
    }
}

/// Converts a number to T. Every source type but int64 is exact as a double.
template <typename T, M mode> T to(double x) {
    constexpr bool nearest = mode == M::CAST_RINT || mode == M::CAST_NONE;
    if constexpr (std::is_same_v<T, bfloat16_t> || std::is_same_v<T, half>) {
        float single = static_cast<float>(x);
        if (nearest || !std::isfinite(single)) return T(single);
        constexpr bool b = std::is_same_v<T, bfloat16_t>;
        return T(toUnit<mode>(single, unitOf(single, b ? 7 : 10, b ? -126 : -14)));
    } else if constexpr (std::is_same_v<T, float>) {
        float single = static_cast<float>(x);
        return nearest || static_cast<double>(single) == x ? single : directed<mode>(x, single);
    } else {
        if (x != x) return 0;
        double whole = toWhole<mode>(x);
        constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
        constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
        if (whole <= low) return std::numeric_limits<T>::min();
        return whole >= high ? std::numeric_limits<T>::max() : static_cast<T>(whole);
    }
}

template <typename U> double wide(U x) {
    if constexpr (std::is_arithmetic_v<U>) return static_cast<double>(x);
    else return static_cast<double>(static_cast<float>(x));
}

template <typename T, typename U, M mode> void loop(void *dst, const void *src, uint32_t n) {
    T *d = static_cast<T *>(dst);
    const U *s = static_cast<const U *>(src);
    constexpr bool wholes = std::is_same_v<T, float> && std::is_same_v<U, float>;
    constexpr bool plain = std::is_same_v<T, float> || (std::is_same_v<U, float> && !std::is_integral_v<T>);
    for (uint32_t i = 0; i < n; ++i) {
        if constexpr (wholes) d[i] = static_cast<float>(toWhole<mode>(s[i]));
        // The most frequent pairs: widening, and rounding to nearest.
        else if constexpr (plain && !std::is_integral_v<U> && (mode == M::CAST_NONE || mode == M::CAST_RINT))
            d[i] = static_cast<T>(static_cast<float>(s[i]));
        else d[i] = to<T, mode>(wide(s[i]));
    }
}

template <typename T, typename U> bool pair(uint32_t modes, RoundMode mode, void *dst, const void *src, uint32_t n) {
    if (!(modes & bit(mode))) return false;
    switch (mode) {
    case M::CAST_NONE: loop<T, U, M::CAST_NONE>(dst, src, n); break;
    case M::CAST_RINT: loop<T, U, M::CAST_RINT>(dst, src, n); break;
    case M::CAST_FLOOR: loop<T, U, M::CAST_FLOOR>(dst, src, n); break;
    case M::CAST_CEIL: loop<T, U, M::CAST_CEIL>(dst, src, n); break;
    case M::CAST_ROUND: loop<T, U, M::CAST_ROUND>(dst, src, n); break;
    case M::CAST_TRUNC: loop<T, U, M::CAST_TRUNC>(dst, src, n); break;
    case M::CAST_ODD: loop<T, U, M::CAST_ODD>(dst, src, n); break;
    }
    return true;
}

constexpr uint32_t key(Dt to, Dt from) { return static_cast<uint32_t>(to) * 16 + static_cast<uint32_t>(from); }

} // namespace

HPMOE_CLONES void widenFromBf16(float *dst, const uint16_t *src, uint32_t n) {
#pragma GCC ivdep
    for (uint32_t i = 0; i < n; ++i) dst[i] = fromBf16(src[i]);
}

HPMOE_CLONES void narrowToBf16(uint16_t *dst, const float *src, uint32_t n) {
#pragma GCC ivdep
    for (uint32_t i = 0; i < n; ++i) { // toBf16, without a branch
        uint32_t x = bitsOf(src[i]), rounded = (x + 0x7FFFu + ((x >> 16) & 1u)) >> 16, quiet = (x >> 16) | 0x40u;
        dst[i] = static_cast<uint16_t>((x & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
    }
}

namespace {

/// Widens the lower half of each byte, then the upper half.
bool widenNibbles(RoundMode mode, half *dst, const uint8_t *src, uint32_t n) {
    if (mode != M::CAST_NONE) return false;
    for (uint32_t i = 0; i < n; ++i) {
        const int number = src[i / 2] >> (i % 2 * 4) & 15;
        dst[i] = half(static_cast<float>(number < 8 ? number : number - 16));
    }
    return true;
}

} // namespace

bool convert(Dt to, Dt from, RoundMode mode, void *dst, const void *src, uint32_t n) {
    switch (key(to, from)) {
    case key(Dt::F32, Dt::F16): return pair<float, half>(kNone, mode, dst, src, n);
    case key(Dt::F32, Dt::BF16):
        if (mode != M::CAST_NONE) return false;
        widenFromBf16(static_cast<float *>(dst), static_cast<const uint16_t *>(src), n);
        return true;
    case key(Dt::F16, Dt::I8): return pair<half, int8_t>(kNone, mode, dst, src, n);
    case key(Dt::F16, Dt::I4):
        return widenNibbles(mode, static_cast<half *>(dst), static_cast<const uint8_t *>(src), n);
    case key(Dt::F16, Dt::U8): return pair<half, uint8_t>(kNone, mode, dst, src, n);
    case key(Dt::F32, Dt::I16): return pair<float, int16_t>(kNone, mode, dst, src, n);
    case key(Dt::I64, Dt::I32): return pair<int64_t, int32_t>(kNone, mode, dst, src, n);
    case key(Dt::BF16, Dt::F32):
        if (mode != M::CAST_RINT) return pair<bfloat16_t, float>(kFive, mode, dst, src, n);
        narrowToBf16(static_cast<uint16_t *>(dst), static_cast<const float *>(src), n);
        return true;
    case key(Dt::F16, Dt::F32): return pair<half, float>(kFive | kOdd | kNone, mode, dst, src, n);
    case key(Dt::I32, Dt::F32): return pair<int32_t, float>(kFive, mode, dst, src, n);
    case key(Dt::I16, Dt::F32): return pair<int16_t, float>(kFive, mode, dst, src, n);
    case key(Dt::I64, Dt::F32): return pair<int64_t, float>(kFive, mode, dst, src, n);
    case key(Dt::F32, Dt::F32): return pair<float, float>(kFive, mode, dst, src, n);
    case key(Dt::I32, Dt::BF16): return pair<int32_t, bfloat16_t>(kFive, mode, dst, src, n);
    case key(Dt::I32, Dt::F16): return pair<int32_t, half>(kFive, mode, dst, src, n);
    case key(Dt::I16, Dt::F16): return pair<int16_t, half>(kFive, mode, dst, src, n);
    case key(Dt::I8, Dt::F16): return pair<int8_t, half>(kFive | kNone, mode, dst, src, n);
    case key(Dt::U8, Dt::F16): return pair<uint8_t, half>(kFive | kNone, mode, dst, src, n);
    case key(Dt::F16, Dt::I16): return pair<half, int16_t>(kFive | kNone, mode, dst, src, n);
    case key(Dt::F32, Dt::I32): return pair<float, int32_t>(kFive | kNone, mode, dst, src, n);
    case key(Dt::I16, Dt::I32): return pair<int16_t, int32_t>(kNone, mode, dst, src, n);
    case key(Dt::I32, Dt::I64): return pair<int32_t, int64_t>(kNone, mode, dst, src, n);
    default: return false;
    }
}

} // namespace AscendC::host

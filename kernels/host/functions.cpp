// Exp and Ln for float: one documented algorithm each, without fused operations, so that any implementation of the same
// steps in IEEE arithmetic gives the same bits.
#include <cstdint>
#include <cstring>
#include <limits>

#include "ascendc/numbers.h"
#include "clones.h"
#include "lanes.h"
#include "vector_math.h"

namespace AscendC::host {

/// exp(x): NaN gives NaN, above 88.72284 infinity, below -103.97208 zero. Otherwise
///   n = floor(x * log2(e) + 0.5), r = x - n * 0.693359375 - n * -2.12194440e-4,
///   y = (p(r) * (r * r) + r) + 1 with a polynomial p of degree 5 in Horner's form,
///   and y * 2^trunc(n/2) * 2^(n - trunc(n/2)).
HPMOE_CLONES void expOf(float *dst, const float *src, uint32_t n) {
    const Float8 high = Float8{} + floatOf(0x42B17218u), low = Float8{} + floatOf(0xC2CFF1B5u);
    const Float8 infinity = Float8{} + std::numeric_limits<float>::infinity();
    for (uint32_t i = 0; i < n; i += 8) {
        const uint32_t part = n - i < 8 ? n - i : 8;
        Float8 x = {};
        if (part == 8) std::memcpy(&x, src + i, sizeof x);
        else std::memcpy(&x, src + i, part * sizeof(float));
        Float8 in = x > high ? high : x;
        in = in < low ? low : in;
        in = in == in ? in : Float8{};
        const Float8 scaled = in * 1.44269504f + 0.5f;
        // floor(scaled) as a float: SSE2 has no floor, and this has the same bits except for -0.
        Float8 scale = __builtin_convertvector(__builtin_convertvector(scaled, Int8), Float8);
        scale = scale > scaled ? scale - 1.0f : scale;
        Float8 r = in - scale * 0.693359375f;
        r = r - scale * -2.12194440e-4f;
        Float8 p = Float8{} + 1.9875691500e-4f;
        p = p * r + 1.3981999507e-3f;
        p = p * r + 8.3334519073e-3f;
        p = p * r + 4.1665795894e-2f;
        p = p * r + 1.6666665459e-1f;
        p = p * r + 5.0000001201e-1f;
        const Float8 y = p * (r * r) + r + 1.0f;
        const Int8 whole = __builtin_convertvector(scale, Int8), first = (whole - (whole >> 31)) >> 1;
        Float8 result = y * reinterpret_cast<Float8>((first + 127) << 23);
        result = result * reinterpret_cast<Float8>((whole - first + 127) << 23);
        result = x > high ? infinity : result;
        result = x < low ? Float8{} : result;
        result = x == x ? result : x + x;
        if (part == 8) std::memcpy(dst + i, &result, sizeof result);
        else std::memcpy(dst + i, &result, part * sizeof(float));
    }
}

/// ln(x): x = m * 2^e with m in [sqrt(1/2), sqrt(2)), f = m - 1,
///   y = f * (f * f) * p(f) with a polynomial p of degree 8 in Horner's form,
///   y += e * -2.12194440e-4, y -= 0.5 * (f * f), then (f + y) + e * 0.693359375.
/// Subnormals are scaled by 2^24 first. 0 gives -infinity, below 0 NaN, infinity and NaN themselves.
HPMOE_CLONES void lnOf(float *dst, const float *src, uint32_t n) {
#pragma GCC ivdep
    for (uint32_t i = 0; i < n; ++i) {
        float x = src[i];
        bool tiny = x < 1.17549435e-38f;
        float in = tiny ? x * 16777216.0f : x;
        uint32_t bits = bitsOf(in);
        // Exponent for which the mantissa lies in [sqrt(1/2), sqrt(2)): 0x3F3504F3 is sqrt(1/2).
        int32_t exponent = static_cast<int32_t>(bits - 0x3F3504F3u) >> 23;
        float f = floatOf(bits - (static_cast<uint32_t>(exponent) << 23)) - 1.0f;
        float e = static_cast<float>(tiny ? exponent - 24 : exponent);
        float z = f * f, p = 7.0376836292e-2f;
        p = p * f - 1.1514610310e-1f;
        p = p * f + 1.1676998740e-1f;
        p = p * f - 1.2420140846e-1f;
        p = p * f + 1.4249322787e-1f;
        p = p * f - 1.6668057665e-1f;
        p = p * f + 2.0000714765e-1f;
        p = p * f - 2.4999993993e-1f;
        p = p * f + 3.3333331174e-1f;
        float y = f * z * p;
        y = y + e * -2.12194440e-4f;
        y = y - 0.5f * z;
        float result = f + y + e * 0.693359375f;
        result = x == 0.0f ? -std::numeric_limits<float>::infinity() : result;
        result = x == std::numeric_limits<float>::infinity() ? x : result;
        result = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : result;
        dst[i] = x == x ? result : x + x;
    }
}

} // namespace AscendC::host

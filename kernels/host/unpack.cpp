#include "unpack.h"

#include <cstring>

#include "lanes.h"

namespace AscendC::host {

namespace {

/// An element of a fractal as a float. Integers of 8 bits are exact.
template <Dt type> float element(const uint8_t *at) {
    uint32_t word = 0;
    std::memcpy(&word, at, sizeOf(type));
    if constexpr (type == Dt::F32) return floatOf(word);
    else if constexpr (type == Dt::F16) return fromHalf(static_cast<uint16_t>(word));
    else if constexpr (type == Dt::BF16) return fromBf16(static_cast<uint16_t>(word));
    else return static_cast<float>(static_cast<int8_t>(word));
}

/// Element `e` of each of four words.
template <Dt type> inline Float4 elements(Word4 words, uint32_t e) {
    if constexpr (type == Dt::F32) return reinterpret_cast<Float4>(words);
    else if constexpr (type == Dt::BF16) return reinterpret_cast<Float4>(e == 0 ? words << 16 : words & 0xFFFF0000u);
    else if constexpr (type == Dt::I8)
        return __builtin_convertvector(reinterpret_cast<Int4>(words << (24 - 8 * e)) >> 24, Float4);
    else {
        Float4 all;
        for (int i = 0; i < 4; ++i) all[i] = fromHalf(static_cast<uint16_t>(words[i] >> (16 * e)));
        return all;
    }
}

inline Word4 loadWords(const uint8_t *from) {
    Word4 words;
    std::memcpy(&words, from, sizeof words);
    return words;
}

/// Four words of each of four lines of a fractal, the lines 32 bytes apart: k by k to `to`, 16 floats for each k.
template <Dt type> inline void transpose(float *to, const uint8_t *from) {
    constexpr uint32_t perWord = 4 / sizeOf(type);
    Word4 a = loadWords(from), b = loadWords(from + 32), c = loadWords(from + 64), d = loadWords(from + 96);
    Word4 abLow = HPMOE_SHUFFLE(a, b, 0, 4, 1, 5), abHigh = HPMOE_SHUFFLE(a, b, 2, 6, 3, 7);
    Word4 cdLow = HPMOE_SHUFFLE(c, d, 0, 4, 1, 5), cdHigh = HPMOE_SHUFFLE(c, d, 2, 6, 3, 7);
    const Word4 words[4] = {HPMOE_SHUFFLE(abLow, cdLow, 0, 1, 4, 5), HPMOE_SHUFFLE(abLow, cdLow, 2, 3, 6, 7),
                            HPMOE_SHUFFLE(abHigh, cdHigh, 0, 1, 4, 5), HPMOE_SHUFFLE(abHigh, cdHigh, 2, 3, 6, 7)};
    for (uint32_t w = 0; w < 4; ++w)
        for (uint32_t e = 0; e < perWord; ++e) {
            Float4 floats = elements<type>(words[w], e);
            std::memcpy(to + (w * perWord + e) * 16, &floats, sizeof floats);
        }
}

/// A strip of `k1` fractals that are `step` bytes apart.
template <Dt type> void unpackStrip(float *to, const uint8_t *from, uint32_t k1, size_t step) {
    constexpr uint32_t c0 = 32 / sizeOf(type);
    for (uint32_t g = 0; g < k1; ++g) {
        const uint8_t *fractal = from + g * step;
        float *first = to + size_t(g) * c0 * 16, *second = first + c0 / 2 * 16;
        for (uint32_t j = 0; j < 16; j += 4) {
            transpose<type>(first + j, fractal + j * 32);
            transpose<type>(second + j, fractal + j * 32 + 16);
        }
    }
}

/// Fractals of a strip.
template <Dt type> uint32_t fractals(const MmadArgs &p) { return unpackedDepth(p) * sizeOf(type) / 32; }

template <Dt type> void left(float *to, const uint8_t *from, const MmadArgs &p) {
    const uint32_t k1 = fractals<type>(p), strips = (p.m + 15u) / 16;
    if (p.m == 1)
        for (uint32_t k = 0; k < p.k; ++k) to[k * 16] = element<type>(from + k * sizeOf(type));
    else
        for (uint32_t s = 0; s < strips; ++s)
            unpackStrip<type>(to + size_t(s) * unpackedDepth(p) * 16, from + s * k1 * 512, k1, 512);
}

template <Dt type> void right(float *to, const uint8_t *from, uint32_t strip, const MmadArgs &p) {
    unpackStrip<type>(to, from + strip * 512, fractals<type>(p), (p.n + 15u) / 16 * 512);
}

} // namespace

void unpackLeft(float *to, const uint8_t *from, const MmadArgs &p) {
    switch (p.type) {
    case Dt::F32: return left<Dt::F32>(to, from, p);
    case Dt::F16: return left<Dt::F16>(to, from, p);
    case Dt::I8: return left<Dt::I8>(to, from, p);
    default: return left<Dt::BF16>(to, from, p);
    }
}

void unpackRight(float *to, const uint8_t *from, uint32_t strip, const MmadArgs &p) {
    switch (p.type) {
    case Dt::F32: return right<Dt::F32>(to, from, strip, p);
    case Dt::F16: return right<Dt::F16>(to, from, strip, p);
    case Dt::I8: return right<Dt::I8>(to, from, strip, p);
    default: return right<Dt::BF16>(to, from, strip, p);
    }
}

} // namespace AscendC::host

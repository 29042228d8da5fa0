#include "unpack.h"

#include <cstring>

#include "clones.h"
#include "lanes.h"

namespace AscendC::host {

namespace {

/// An element of a fractal as a float. 8-bit integers are exact.
template <Dt type> float element(const uint8_t *at) {
    uint32_t word = 0;
    std::memcpy(&word, at, sizeOf(type));
    if constexpr (type == Dt::F32) return floatOf(word);
    else if constexpr (type == Dt::F16) return fromHalf(static_cast<uint16_t>(word));
    else if constexpr (type == Dt::BF16) return fromBf16(static_cast<uint16_t>(word));
    else return static_cast<float>(static_cast<int8_t>(word));
}

/// Four words at a time, which every machine supports.
struct Fours {
    using Words = Word4;
    using Ints = Int4;
    using Floats = Float4;
    static constexpr uint32_t count = 4;
};

/// Transposes a square of words.
HPMOE_IN_CLONES void turn(Word4 (&w)[4]) {
    const Word4 low = HPMOE_SHUFFLE(w[0], w[1], 0, 4, 1, 5), high = HPMOE_SHUFFLE(w[0], w[1], 2, 6, 3, 7),
                low2 = HPMOE_SHUFFLE(w[2], w[3], 0, 4, 1, 5), high2 = HPMOE_SHUFFLE(w[2], w[3], 2, 6, 3, 7);
    w[0] = HPMOE_SHUFFLE(low, low2, 0, 1, 4, 5), w[1] = HPMOE_SHUFFLE(low, low2, 2, 3, 6, 7);
    w[2] = HPMOE_SHUFFLE(high, high2, 0, 1, 4, 5), w[3] = HPMOE_SHUFFLE(high, high2, 2, 3, 6, 7);
}

#ifdef HPMOE_X86
/// Eight words at a time.
struct Eights {
    using Words = Word8;
    using Ints = Int8;
    using Floats = Float8;
    static constexpr uint32_t count = 8;
};

HPMOE_IN_CLONES void turn(Word8 (&w)[8]) {
    Word8 pairs[8], fours[8];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 8; i += 2) {
        pairs[i] = HPMOE_SHUFFLE(w[i], w[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        pairs[i + 1] = HPMOE_SHUFFLE(w[i], w[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; ++i) {
        const Word8 first = pairs[i / 2 * 4 + i % 2], second = pairs[i / 2 * 4 + i % 2 + 2];
        fours[i * 2] = HPMOE_SHUFFLE(first, second, 0, 1, 8, 9, 4, 5, 12, 13);
        fours[i * 2 + 1] = HPMOE_SHUFFLE(first, second, 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; ++i) {
        w[i] = HPMOE_SHUFFLE(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        w[i + 4] = HPMOE_SHUFFLE(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}
#endif

/// Element `e` of each word, as consecutive floats.
template <Dt type, typename Lanes>
HPMOE_IN_CLONES void storeElements(float *to, const typename Lanes::Words &words, uint32_t e) {
    typename Lanes::Floats floats;
    if constexpr (type == Dt::F32) std::memcpy(&floats, &words, sizeof floats);
    else if constexpr (type == Dt::BF16)
        floats = reinterpret_cast<typename Lanes::Floats>(e == 0 ? words << 16 : words & 0xFFFF0000u);
    else if constexpr (type == Dt::I8)
        floats = __builtin_convertvector(reinterpret_cast<typename Lanes::Ints>(words << (24 - 8 * e)) >> 24,
                                         typename Lanes::Floats);
    else
        for (uint32_t i = 0; i < Lanes::count; ++i) floats[i] = fromHalf(static_cast<uint16_t>(words[i] >> (16 * e)));
    std::memcpy(to, &floats, sizeof floats);
}

/// Transposes a square of words, taken from lines of a fractal that are 32 bytes apart: writes 16 floats for each k to
/// `to`.
template <Dt type, typename Lanes> HPMOE_IN_CLONES void transpose(float *to, const uint8_t *from) {
    constexpr uint32_t perWord = 4 / sizeOf(type);
    typename Lanes::Words words[Lanes::count];
#pragma GCC unroll 8
    for (uint32_t line = 0; line < Lanes::count; ++line)
        std::memcpy(&words[line], from + line * 32, sizeof words[line]);
    turn(words);
#pragma GCC unroll 8
    for (uint32_t w = 0; w < Lanes::count; ++w)
#pragma GCC unroll 4
        for (uint32_t e = 0; e < perWord; ++e) storeElements<type, Lanes>(to + (w * perWord + e) * 16, words[w], e);
}

/// Unpacks a strip of `k1` fractals that are `step` bytes apart.
template <Dt type, typename Lanes>
HPMOE_IN_CLONES void unpackSquares(float *to, const uint8_t *from, uint32_t k1, size_t step) {
    constexpr uint32_t c0 = 32 / sizeOf(type), deep = Lanes::count * 4 / sizeOf(type);
    for (uint32_t g = 0; g < k1; ++g, to += c0 * 16, from += step)
        for (uint32_t line = 0; line < 16; line += Lanes::count)
            for (uint32_t k = 0; k < c0; k += deep)
                transpose<type, Lanes>(to + k * 16 + line, from + line * 32 + k * sizeOf(type));
}

#ifdef HPMOE_X86
template <Dt type>
__attribute__((target("avx2"))) void unpackStripAvx2(float *to, const uint8_t *from, uint32_t k1, size_t step) {
    unpackSquares<type, Eights>(to, from, k1, step);
}
#endif

template <Dt type> void unpackStrip(float *to, const uint8_t *from, uint32_t k1, size_t step) {
#ifdef HPMOE_X86
    static const bool wide = __builtin_cpu_supports("avx2");
    if (wide) return unpackStripAvx2<type>(to, from, k1, step);
#endif
    unpackSquares<type, Fours>(to, from, k1, step);
}

/// Number of fractals in a strip.
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

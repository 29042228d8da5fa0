// The loops of multiply.cpp, which includes this file once per way of rounding a product and its sum.

/// Consecutive rows of a strip of a. Their sums stay in registers, one `Lanes` each.
template <typename Lanes, uint32_t rows>
HPMOE_IN_CLONES void multiplyRows(float *c, const float *a, const float *b, uint32_t depth, bool fromZero) {
    constexpr uint32_t wide = sizeof(Lanes) / sizeof(float), parts = 16 / wide;
    Lanes sums[rows * parts] = {};
    // One at a time: g++ only keeps arrays in registers that are never copied.
#pragma GCC unroll 16
    for (uint32_t s = 0; s < rows * parts; ++s)
        if (!fromZero) std::memcpy(&sums[s], c + s * wide, sizeof(Lanes));
    for (const float *end = b + size_t(depth) * 16; b != end; a += 16, b += 16) {
        Lanes bk[parts];
#pragma GCC unroll 4
        for (uint32_t p = 0; p < parts; ++p) std::memcpy(&bk[p], b + p * wide, sizeof(Lanes));
#pragma GCC unroll 16
        for (uint32_t s = 0; s < rows * parts; ++s) sums[s] = sums[s] + a[s / parts] * bk[s % parts];
    }
#pragma GCC unroll 16
    for (uint32_t s = 0; s < rows * parts; ++s) std::memcpy(c + s * wide, &sums[s], sizeof(Lanes));
}

/// Multiplies strip by strip: first as many rows at a time as fit into registers, then four at a time, then single ones.
template <typename Lanes, uint32_t atATime>
HPMOE_IN_CLONES void multiplyAll(float *c, const float *a, const float *b, uint32_t rows, uint32_t depth,
                                 uint32_t pitch, bool fromZero) {
    for (uint32_t strip = 0; strip < rows; strip += 16, c += 16 * 16, a += size_t(pitch) * 16) {
        const uint32_t end = rows - strip < 16 ? rows - strip : 16;
        uint32_t i = 0;
        for (; i + atATime <= end; i += atATime) multiplyRows<Lanes, atATime>(c + i * 16, a + i, b, depth, fromZero);
        if constexpr (atATime > 4)
            for (; i + 4 <= end; i += 4) multiplyRows<Lanes, 4>(c + i * 16, a + i, b, depth, fromZero);
        for (; i < end; ++i) multiplyRows<Lanes, 1>(c + i * 16, a + i, b, depth, fromZero);
    }
}

inline void multiplyPlain(float *c, const float *a, const float *b, uint32_t rows, uint32_t depth, uint32_t pitch,
                          bool fromZero) {
    multiplyAll<Float4, 2>(c, a, b, rows, depth, pitch, fromZero);
}

#ifdef HPMOE_X86
__attribute__((target("avx2,fma"))) inline void multiplyAvx2(float *c, const float *a, const float *b, uint32_t rows,
                                                             uint32_t depth, uint32_t pitch, bool fromZero) {
    // Twelve sums: with eight, each addition would wait for the one before it.
    multiplyAll<Float8, 6>(c, a, b, rows, depth, pitch, fromZero);
}

__attribute__((target("avx512f"))) inline void multiplyAvx512(float *c, const float *a, const float *b, uint32_t rows,
                                                              uint32_t depth, uint32_t pitch, bool fromZero) {
    multiplyAll<Float16, 16>(c, a, b, rows, depth, pitch, fromZero);
}

inline Multiply best() {
    if (__builtin_cpu_supports("avx512f")) return multiplyAvx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiplyAvx2 : multiplyPlain;
}
#else
inline Multiply best() { return multiplyPlain; }
#endif

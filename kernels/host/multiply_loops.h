// The loops of multiply.cpp, which includes them once for each way to round a product and its addition.

/// Some consecutive rows of a strip of a. Their sums stay in registers.
template <uint32_t rows>
HPMOE_INLINE void multiplyRows(float *c, const float *a, const float *b, uint32_t depth, bool fromZero) {
    Row sums[rows] = {};
    if (!fromZero) std::memcpy(sums, c, sizeof sums);
    for (uint32_t k = 0; k < depth; ++k) {
        Row bk;
        std::memcpy(&bk, b + k * 16, sizeof bk);
#pragma GCC unroll 16
        for (uint32_t r = 0; r < rows; ++r) sums[r] = sums[r] + a[k * 16 + r] * bk;
    }
    std::memcpy(c, sums, sizeof sums);
}

/// As many rows at a time as registers hold, and the rest one by one.
template <uint32_t atATime>
HPMOE_INLINE void multiplyAll(float *c, const float *a, const float *b, uint32_t rows, uint32_t depth, uint32_t pitch,
                              bool fromZero) {
    uint32_t i = 0;
    for (; i + atATime <= rows; i += atATime)
        multiplyRows<atATime>(c + i * 16, a + size_t(i / 16) * pitch * 16 + i % 16, b, depth, fromZero);
    for (; i < rows; ++i) multiplyRows<1>(c + i * 16, a + size_t(i / 16) * pitch * 16 + i % 16, b, depth, fromZero);
}

inline void multiplyPlain(float *c, const float *a, const float *b, uint32_t rows, uint32_t depth, uint32_t pitch,
                          bool fromZero) {
    multiplyAll<2>(c, a, b, rows, depth, pitch, fromZero);
}

#ifdef HPMOE_X86
__attribute__((target("avx2,fma"))) inline void multiplyAvx2(float *c, const float *a, const float *b, uint32_t rows,
                                                             uint32_t depth, uint32_t pitch, bool fromZero) {
    multiplyAll<4>(c, a, b, rows, depth, pitch, fromZero);
}

__attribute__((target("avx512f"))) inline void multiplyAvx512(float *c, const float *a, const float *b, uint32_t rows,
                                                              uint32_t depth, uint32_t pitch, bool fromZero) {
    const uint32_t strips = rows / 16 * 16;
    multiplyAll<16>(c, a, b, strips, depth, pitch, fromZero);
    multiplyAll<4>(c + strips * 16, a + size_t(strips) * pitch, b, rows - strips, depth, pitch, fromZero);
}

inline Multiply best() {
    if (__builtin_cpu_supports("avx512f")) return multiplyAvx512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiplyAvx2 : multiplyPlain;
}
#else
inline Multiply best() { return multiplyPlain; }
#endif

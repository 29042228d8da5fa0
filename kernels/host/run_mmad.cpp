// Mmad: operands are unpacked from their fractals to plain float rows, then multiplied strip by strip.
//
// The order of sums is part of the model: for each element one product and one addition per k, in
// ascending k, each rounded to float (products of two bf16 or half are exact). Nothing may contract
// them: compile with -ffp-contract=off.
#include <cstring>
#include <vector>

#include "clones.h"
#include "core.h"

namespace AscendC::host {

namespace {

/// Sixteen columns of C: one strip of L0C is 16 wide, and one AVX-512 register holds 16 floats.
typedef float Row __attribute__((vector_size(64), aligned(64)));

float element(const uint8_t *at, Dt type) {
    uint32_t word;
    uint16_t halfWord;
    switch (type) {
    case Dt::F32: std::memcpy(&word, at, 4); return floatOf(word);
    case Dt::F16: std::memcpy(&halfWord, at, 2); return fromHalf(halfWord);
    default: std::memcpy(&halfWord, at, 2); return fromBf16(halfWord);
    }
}

struct Scratch {
    std::vector<float> a, b;
};
Scratch &scratch() {
    static thread_local Scratch one;
    return one;
}

/// A in zZ to rows of k; with m = 1 a plain vector.
void unpackA(float *to, const uint8_t *from, const MmadArgs &p) {
    uint32_t size = sizeOf(p.type), c0 = 32 / size, k1 = (p.k + c0 - 1) / c0;
    for (uint32_t i = 0; i < p.m; ++i)
        for (uint32_t kk = 0; kk < p.k; kk += c0) {
            const uint8_t *run = p.m == 1 ? from + kk * size : from + ((i / 16) * k1 + kk / c0) * 512 + (i % 16) * 32;
            uint32_t n = p.k - kk < c0 ? p.k - kk : c0;
            for (uint32_t e = 0; e < n; ++e) to[i * p.k + kk + e] = element(run + e * size, p.type);
        }
}

/// B in nZ to strips of 16 columns, each k rows of 16.
void unpackB(float *to, const uint8_t *from, const MmadArgs &p) {
    uint32_t size = sizeOf(p.type), c0 = 32 / size, n1 = (p.n + 15u) / 16;
    for (uint32_t s = 0; s < n1; ++s)
        for (uint32_t kk = 0; kk < p.k; kk += c0) {
            const uint8_t *fractal = from + ((kk / c0) * n1 + s) * 512;
            uint32_t n = p.k - kk < c0 ? p.k - kk : c0;
            for (uint32_t e = 0; e < n; ++e)
                for (uint32_t j = 0; j < 16; ++j)
                    to[(s * p.k + kk + e) * 16 + j] = element(fractal + j * 32 + e * size, p.type);
        }
}

} // namespace

/// c[i][0..16] += sum over k of a[i][k] * b[k][0..16], for `rows` rows.
HPMOE_CLONES void multiplyStrip(float *c, const float *a, const float *b, uint32_t rows, uint32_t depth) {
    uint32_t i = 0;
    for (; i + 8 <= rows; i += 8) {
        Row sum[8];
        std::memcpy(sum, c + i * 16, sizeof sum);
        const float *ai = a + i * depth;
        for (uint32_t kk = 0; kk < depth; ++kk) {
            Row bk;
            std::memcpy(&bk, b + kk * 16, sizeof bk);
            for (uint32_t r = 0; r < 8; ++r) {
                Row product = ai[r * depth + kk] * bk;
                sum[r] = sum[r] + product;
            }
        }
        std::memcpy(c + i * 16, sum, sizeof sum);
    }
    for (; i < rows; ++i) {
        Row sum;
        std::memcpy(&sum, c + i * 16, sizeof sum);
        for (uint32_t kk = 0; kk < depth; ++kk) {
            Row bk;
            std::memcpy(&bk, b + kk * 16, sizeof bk);
            Row product = a[i * depth + kk] * bk;
            sum = sum + product;
        }
        std::memcpy(c + i * 16, &sum, sizeof sum);
    }
}

namespace {

void multiplyBytes(int32_t *c, const int8_t *a, const int8_t *b, const MmadArgs &p) {
    uint32_t k1 = (p.k + 31u) / 32, n1 = (p.n + 15u) / 16, m16 = roundUp(p.m, 16);
    for (uint32_t i = 0; i < p.m; ++i)
        for (uint32_t j = 0; j < p.n; ++j) {
            int64_t sum = c[(j / 16) * m16 * 16 + i * 16 + j % 16];
            for (uint32_t kk = 0; kk < p.k; ++kk) {
                int8_t left = p.m == 1 ? a[kk] : a[((i / 16) * k1 + kk / 32) * 512 + (i % 16) * 32 + kk % 32];
                sum += left * b[((kk / 32) * n1 + j / 16) * 512 + (j % 16) * 32 + kk % 32];
            }
            c[(j / 16) * m16 * 16 + i * 16 + j % 16] = static_cast<int32_t>(sum > INT32_MAX   ? INT32_MAX
                                                                            : sum < INT32_MIN ? INT32_MIN
                                                                                              : sum);
        }
}

} // namespace

bool mmadMayStart(Core &core, const MmadArgs &a) {
    if (!a.unitFlag) return true;
    uint32_t first = a.c / 512, count = roundUp(a.m, 16) * roundUp(a.n, 16) * 4 / 512;
    for (uint32_t i = first; i < first + count; ++i)
        if (core.marks[i]) return false;
    return true;
}

void runMmad(Core &core, Call &call) {
    const MmadArgs &p = call.mmad;
    if (p.unitFlag) call.clock.join(core.drained);
    uint32_t size = sizeOf(p.type), m16 = roundUp(p.m, 16), n16 = roundUp(p.n, 16), k0 = roundUp(p.k, 32 / size);
    uint32_t cBytes = m16 * n16 * 4;
    touch(core, call, Mem::L0A, p.a, p.m == 1 ? p.k * size : m16 * k0 * size, false);
    touch(core, call, Mem::L0B, p.b, k0 * n16 * size, false);
    if (p.init == MmadArgs::OldC) touch(core, call, Mem::L0C, p.c, cBytes, false);
    if (p.init == MmadArgs::Bias) touch(core, call, Mem::BT, p.bias, n16 * 4, false);
    touch(core, call, Mem::L0C, p.c, cBytes, true);
    ++core.counters.mmads;
    core.counters.mmadFlops += 2ull * p.m * p.n * p.k;

    uint8_t *c = core.memories.data(Mem::L0C) + p.c;
    const uint8_t *a = core.memories.data(Mem::L0A) + p.a, *b = core.memories.data(Mem::L0B) + p.b;
    const uint8_t *bias = core.memories.data(Mem::BT) + p.bias;
    for (uint32_t s = 0; s < n16 / 16; ++s)
        for (uint32_t i = 0; i < m16; ++i) {
            uint8_t *row = c + (s * m16 + i) * 64;
            if (i >= p.m) std::memset(row, 0xFF, 64); // undefined on the device
            else if (p.init == MmadArgs::Zero) std::memset(row, 0, 64);
            else if (p.init == MmadArgs::Bias) std::memcpy(row, bias + s * 64, 64);
        }
    if (p.type == Dt::I8) {
        multiplyBytes(reinterpret_cast<int32_t *>(c), reinterpret_cast<const int8_t *>(a),
                      reinterpret_cast<const int8_t *>(b), p);
    } else {
        Scratch &s = scratch();
        if (s.a.size() < size_t(p.m) * p.k) s.a.resize(size_t(p.m) * p.k);
        if (s.b.size() < size_t(n16) * p.k) s.b.resize(size_t(n16) * p.k);
        unpackA(s.a.data(), a, p);
        unpackB(s.b.data(), b, p);
        for (uint32_t strip = 0; strip < n16 / 16; ++strip)
            multiplyStrip(reinterpret_cast<float *>(c) + strip * m16 * 16, s.a.data(),
                          s.b.data() + size_t(strip) * p.k * 16, p.m, p.k);
    }
    for (uint32_t j = p.n; j < n16; ++j) // undefined on the device, too
        for (uint32_t i = 0; i < p.m; ++i) std::memset(c + ((j / 16) * m16 * 16 + i * 16 + j % 16) * 4, 0xFF, 4);
    if (p.unitFlag == 3) {
        for (uint32_t i = p.c / 512; i < (p.c + cBytes) / 512; ++i) core.marks[i] = true;
        core.filled.join(call.clock);
        core.filled.at[PIPE_M] = call.seq;
    }
}

} // namespace AscendC::host

// Executes Mmad: operands are unpacked from fractals to floats and multiplied strip by strip.
//
// The order of sums is part of the model: for each element, one product and one sum per k, in ascending k, each rounded
// to float. They must not be contracted (compile with -ffp-contract=off), unless products are exact: then a fused step
// rounds like the two steps.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "core.h"
#include "exact.h"
#include "multiply.h"
#include "unpack.h"

namespace AscendC::host {

namespace {

struct Scratch {
    std::vector<float> a, b, sums;
    std::vector<int32_t> total;
};
Scratch &scratch() {
    static thread_local Scratch one;
    return one;
}

float *room(std::vector<float> &floats, size_t count) {
    if (floats.size() < count) floats.resize(count);
    return floats.data();
}

/// Sums of this many products of two int8 numbers are exact in float: none exceeds 2^24.
constexpr uint32_t kExactDepth = 1024;

/// Like multiplyStrip, for integers. They saturate only once, at the end.
void multiplyStripOfBytes(int32_t *c, const float *a, const float *b, uint32_t rows, uint32_t depth, uint32_t pitch) {
    const size_t count = size_t(rows) * 16;
    float *sums = room(scratch().sums, count);
    std::vector<int32_t> &total = scratch().total;
    total.assign(count, 0);
    for (uint32_t k = 0; k < depth; k += kExactDepth) {
        multiplyStrip(sums, a + k * 16, b + k * 16, rows, std::min(depth - k, kExactDepth), pitch, true, true);
        for (size_t i = 0; i < count; ++i) total[i] += static_cast<int32_t>(sums[i]);
    }
    constexpr int64_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
    for (size_t i = 0; i < count; ++i) c[i] = static_cast<int32_t>(std::clamp(int64_t(c[i]) + total[i], low, high));
}

/// Fills the rows and columns that the product starts from: with zeros, their old contents, or the bias. Rows beyond m
/// are undefined on the device.
void prepareSums(uint8_t *c, const uint8_t *bias, const MmadArgs &p) {
    uint32_t m16 = roundUp(p.m, 16), strips = roundUp(p.n, 16) / 16;
    for (uint32_t s = 0; s < strips; ++s) {
        uint8_t *strip = c + s * m16 * 64;
        if (p.init == MmadArgs::Zero && p.type == Dt::I8) std::memset(strip, 0, p.m * 64u);
        else if (p.init == MmadArgs::Bias)
            for (uint32_t i = 0; i < p.m; ++i) std::memcpy(strip + i * 64, bias + s * 64, 64);
        std::memset(strip + p.m * 64u, 0xFF, (m16 - p.m) * 64u);
    }
}

/// The range of magnitudes of A in zZ format, or of a plain vector if m = 1.
Exponents exponentsOfLeft(const uint8_t *a, const MmadArgs &p) {
    if (p.m == 1) return exponentsOf(a, p.k, 1, 32);
    Exponents all;
    for (uint32_t row = 0; row < p.m; row += 16)
        all.join(exponentsOf(a + size_t(row) * unpackedDepth(p) * 2, p.k, std::min(p.m - row, 16u), 512));
    return all;
}

/// The range of magnitudes of up to 16 columns of B in nZ format.
Exponents exponentsOfRight(const uint8_t *b, uint32_t strip, const MmadArgs &p) {
    return exponentsOf(b + strip * 512, p.k, std::min(p.n - strip * 16, 16u), roundUp(p.n, 16) / 16 * size_t(512));
}

void multiply(uint8_t *c, const uint8_t *a, const uint8_t *b, const MmadArgs &p) {
    uint32_t m16 = roundUp(p.m, 16), strips = roundUp(p.n, 16) / 16, depth = unpackedDepth(p);
    float *left = room(scratch().a, size_t(roundUp(p.m, 16)) * depth), *columns = room(scratch().b, size_t(depth) * 16);
    unpackLeft(left, a, p);
    const Exponents exponents = p.type == Dt::BF16 ? exponentsOfLeft(a, p) : Exponents{};
    for (uint32_t s = 0; s < strips; ++s) {
        uint8_t *strip = c + s * m16 * 64;
        unpackRight(columns, b, s, p);
        if (p.type == Dt::I8) {
            multiplyStripOfBytes(reinterpret_cast<int32_t *>(strip), left, columns, p.m, p.k, depth);
            continue;
        }
        // A float holds the product of any two halves exactly.
        const bool exact =
            p.type == Dt::F16 || (p.type == Dt::BF16 && productsAreExact(exponents, exponentsOfRight(b, s, p)));
        multiplyStrip(reinterpret_cast<float *>(strip), left, columns, p.m, p.k, depth, p.init == MmadArgs::Zero,
                      exact);
    }
    // Columns beyond n are undefined on the device, too.
    if (uint32_t real = p.n % 16)
        for (uint32_t i = 0; i < p.m; ++i)
            std::memset(c + ((strips - 1) * m16 + i) * 64 + real * 4, 0xFF, (16 - real) * 4);
}

/// Rounds sums, for a test that makes them less exact.
void roundSums(uint8_t *c, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) std::memset(c + i * 4u, 0, 2);
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
    prepareSums(c, core.memories.data(Mem::BT) + p.bias, p);
    multiply(c, core.memories.data(Mem::L0A) + p.a, core.memories.data(Mem::L0B) + p.b, p);
    if (core.rank->breaks(HPMOE_HOST_BREAK_SUMS) && p.type != Dt::I8) roundSums(c, m16 * n16);
    if (p.unitFlag == 3) {
        for (uint32_t i = p.c / 512; i < (p.c + cBytes) / 512; ++i) core.marks[i] = true;
        core.filled.join(call.clock);
        core.filled.at[PIPE_M] = call.seq;
    }
}

} // namespace AscendC::host

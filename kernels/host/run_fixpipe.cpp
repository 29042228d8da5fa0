// Executes Fixpipe: L0C to global memory with a conversion, and unit flags on both sides.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core.h"
#include "vector_math.h"

namespace AscendC::host {

namespace {

/// Calls `visit(first mark, marks)` for the 512 B blocks of every strip that Fixpipe drains. Rows are rounded up to 16,
/// because an incomplete last fractal counts as drained.
template <typename F> bool eachMarks(const FixpipeArgs &a, F visit, uint32_t unit = 16) {
    uint32_t rows = roundUp(a.p.mSize, unit), strips = (a.p.nSize + 15u) / 16;
    for (uint32_t s = 0; s < strips; ++s) {
        uint32_t first = (a.src + s * a.p.srcStride * 64u) / 512, count = rows * 64 / 512;
        if (first + count > 256) count = 256 - first;
        if (!visit(first, count)) return false;
    }
    return true;
}

/// Collects rows from all strips; the last strip may be cut short.
void collectRows(float *to, const uint8_t *l0c, uint32_t rows, const FixpipeParamsV220 &p) {
    const uint32_t strips = (p.nSize + 15u) / 16;
    for (uint32_t s = 0; s < strips; ++s)
        for (uint32_t r = 0; r < rows; ++r) {
            float *part = to + (r * strips + s) * 16;
            const uint8_t *from = l0c + (s * p.srcStride + r) * 64u;
            if (p.nSize - s * 16 >= 16) std::memcpy(part, from, 64);
            else std::memcpy(part, from, (p.nSize - s * 16) * 4);
        }
}

/// Sets negative numbers to zero. The row holds floats, or integers in their place.
void relu(float *row, uint32_t n, bool integers) {
    for (uint32_t j = 0; j < n; ++j)
        if (integers ? bitsOf(row[j]) >> 31 != 0 : row[j] <= 0) row[j] = 0.0f;
}

/// Multiplies negative numbers by zero, which is how some documents describe relu.
void timesZero(float *row, uint32_t n) {
    for (uint32_t j = 0; j < n; ++j)
        if (row[j] < 0) row[j] *= 0.0f;
}

void narrow(uint16_t *to, const float *row, uint32_t n, Dt type) {
    if (type == Dt::BF16) return narrowToBf16(to, row, n);
    for (uint32_t j = 0; j < n; ++j) to[j] = toHalf(row[j]);
}

} // namespace

bool fixpipeMayStart(Core &core, const FixpipeArgs &a) {
    if (!a.p.unitFlag) return true;
    return eachMarks(a, [&](uint32_t first, uint32_t count) {
        for (uint32_t i = first; i < first + count; ++i)
            if (!core.marks[i]) return false;
        return true;
    });
}

void runFixpipe(Core &core, Call &call) {
    const FixpipeArgs &a = call.fix;
    const FixpipeParamsV220 &p = a.p;
    if (p.unitFlag) call.clock.join(core.filled);
    ++core.counters.dmas;
    const uint8_t *l0c = core.memories.data(Mem::L0C) + a.src;
    uint32_t strips = (p.nSize + 15u) / 16, size = sizeOf(a.type);
    for (uint32_t s = 0; s < strips; ++s)
        touch(core, call, Mem::L0C, a.src + s * p.srcStride * 64u, p.mSize * 64u, false);
    bool remote = isRemote(core, a.gm);
    Access *by = beginWrites(core, call, remote);
    // Several rows at a time, because strips lie far apart.
    constexpr uint32_t most = 8;
    static thread_local std::vector<float> block;
    block.resize(most * strips * 16);
    uint16_t narrowed[4096];
    for (uint32_t i = 0; i < p.mSize; ++i) {
        float *row = block.data() + i % most * strips * 16;
        if (i % most == 0) collectRows(row, l0c + i * 64u, std::min(p.mSize - i, most), p);
        if (p.reluEn && core.rank->breaks(HPMOE_HOST_BREAK_RELU)) timesZero(row, p.nSize);
        else if (p.reluEn) relu(row, p.nSize, a.type == Dt::I32);
        if (size == 2) narrow(narrowed, row, p.nSize, a.type);
        const void *result = size == 2 ? static_cast<const void *>(narrowed) : row;
        writeGlobal(core, by, call.atomic, remote, a.gm + uint64_t(i) * p.dstStride * size, result, p.nSize * size);
    }
    endWrites(core, by, remote, a.gm, uint64_t(p.nSize) * size);
    if (p.unitFlag == 3) {
        const auto clear = [&](uint32_t first, uint32_t count) {
            for (uint32_t i = first; i < first + count; ++i) core.marks[i] = false;
            return true;
        };
        eachMarks(a, clear, core.rank->breaks(HPMOE_HOST_BREAK_ROWS) ? 8 : 16);
        core.drained.join(call.clock);
        core.drained.at[PIPE_FIX] = call.seq;
    }
}

} // namespace AscendC::host

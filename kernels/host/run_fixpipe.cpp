// Fixpipe: L0C to global memory with a conversion, and the unit flags of both its sides.
#include "core.h"

namespace AscendC::host {

namespace {

/// Calls `visit(first mark, marks)` for the 512 B blocks of every strip that Fixpipe drains. Rows are
/// rounded up to 16: a ragged last fractal counts as drained.
template <typename F> bool eachMarks(const FixpipeArgs &a, F visit) {
    uint32_t rows = roundUp(a.p.mSize, 16), strips = (a.p.nSize + 15u) / 16;
    for (uint32_t s = 0; s < strips; ++s) {
        uint32_t first = (a.src + s * a.p.srcStride * 64u) / 512, count = rows * 64 / 512;
        if (first + count > 256) count = 256 - first;
        if (!visit(first, count)) return false;
    }
    return true;
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
    uint8_t row[4096 * 4];
    for (uint32_t i = 0; i < p.mSize; ++i) {
        for (uint32_t j = 0; j < p.nSize; ++j) {
            const auto *word =
                reinterpret_cast<const uint32_t *>(l0c + ((j / 16) * p.srcStride * 16u + i * 16u + j % 16) * 4u);
            uint32_t bits = *word;
            if (p.reluEn && (a.type == Dt::I32 ? bits >> 31 != 0 : floatOf(bits) < 0)) bits = 0;
            if (size == 4) {
                reinterpret_cast<uint32_t *>(row)[j] = bits;
                continue;
            }
            float value = floatOf(bits);
            reinterpret_cast<uint16_t *>(row)[j] = a.type == Dt::BF16 ? toBf16(value) : toHalf(value);
        }
        writeGlobal(core, call.atomic, remote, a.gm + uint64_t(i) * p.dstStride * size, row, p.nSize * size);
    }
    if (p.unitFlag == 3) {
        eachMarks(a, [&](uint32_t first, uint32_t count) {
            for (uint32_t i = first; i < first + count; ++i) core.marks[i] = false;
            return true;
        });
        core.drained.join(call.clock);
        core.drained.at[PIPE_FIX] = call.seq;
    }
}

} // namespace AscendC::host

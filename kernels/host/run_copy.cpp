// Executes copies.
#include <algorithm>
#include <cstring>

#include "clones.h"
#include "core.h"
#include "lanes.h"

namespace AscendC::host {

void runCall(Core &core, Call &call) {
    switch (call.op) {
    case Op::Transfer: return runTransfer(core, call);
    case Op::Move: return runMove(core, call);
    case Op::Nd2Nz: return runNd2Nz(core, call);
    case Op::Fill: return runFill(core, call);
    case Op::LoadData: return runLoadData(core, call);
    case Op::Mmad: return runMmad(core, call);
    case Op::Fixpipe: return runFixpipe(core, call);
    case Op::Vector: return runVector(core, call);
    case Op::SetFlag:
    case Op::WaitFlag:
    case Op::Barrier: break; // handled by the engine
    }
}

namespace {

/// Sets bytes [from, to) of a row to the padding value, or to repetitions of the row's first element.
void pad(uint8_t *row, uint32_t from, uint32_t to, const TransferArgs &a) {
    uint32_t size = sizeOf(a.type);
    for (uint32_t i = from; i < to; i += size)
        std::memcpy(row + i, a.padWithValue ? reinterpret_cast<const uint8_t *>(&a.padValue) : row + a.lead, size);
}

/// Marks the blocks of L1 that rows are written to: several columns, which may follow each other without gaps.
void touchColumns(Core &core, Call &call, uint32_t to, uint32_t columns, const Nd2NzParams &p) {
    const uint32_t bytes = p.nValue * 32u, step = p.dstNzC0Stride * 32u;
    const bool dense = p.dstNzNStride <= 1;
    if (dense && step == bytes) return touch(core, call, Mem::L1, to, columns * bytes, true);
    for (uint32_t c = 0; c < columns; ++c, to += step)
        if (dense) touch(core, call, Mem::L1, to, bytes, true);
        else
            for (uint32_t r = 0; r < p.nValue; ++r) touch(core, call, Mem::L1, to + r * p.dstNzNStride * 32u, 32, true);
}

} // namespace

void runTransfer(Core &core, Call &call) {
    const TransferArgs &a = call.transfer;
    ++core.counters.dmas;
    uint8_t *local = core.memories.data(a.mem) + a.local;
    bool remote = a.toGm && isRemote(core, a.gm);
    Access *by = a.toGm ? beginWrites(core, call, remote) : nullptr;
    if (!a.toGm) readsGlobal(core, call, a.gm, a.rows, a.rowBytes, a.gmStep);
    bool dense = a.rows == 1 || (a.localStep == a.padded && a.padded % 32 == 0);
    if (dense) touch(core, call, a.mem, a.local, a.rows * a.padded, !a.toGm);
    for (uint32_t r = 0; r < a.rows; ++r, local += a.localStep) {
        if (!dense) touch(core, call, a.mem, a.local + r * a.localStep, a.padded, !a.toGm);
        uint64_t gm = a.gm + r * a.gmStep;
        if (a.toGm) {
            writeGlobal(core, by, call.atomic, remote, gm, local, a.rowBytes);
            continue;
        }
        readGlobal(local + a.lead, gm, a.rowBytes);
        if (a.padded != a.rowBytes) {
            pad(local, 0, a.lead, a);
            pad(local, a.lead + a.rowBytes, a.padded, a);
        }
    }
    if (a.toGm) endWrites(core, by, remote, a.gm, a.rowBytes);
    else core.counters.dmaBytes += uint64_t(a.rows) * a.rowBytes;
}

void runMove(Core &core, Call &call) {
    const MoveArgs &a = call.move;
    uint8_t *dst = core.memories.data(a.dstMem), *src = core.memories.data(a.srcMem);
    for (uint32_t r = 0; r < a.rows; ++r) {
        uint32_t to = a.dst + r * a.dstStep, from = a.src + r * a.srcStep;
        touch(core, call, a.srcMem, from, a.rowBytes, false);
        touch(core, call, a.dstMem, to, a.rowBytes, true);
        std::memcpy(dst + to, src + from, a.rowBytes);
    }
}

/// Copies rows of `bytes` bytes, `pitch` apart, to columns of 32-byte blocks: `c0Step` from one column to the next,
/// `nStep` from one row to the next. The rest of the last block becomes zero.
HPMOE_CLONES void rowsToColumns(uint8_t *to, const uint8_t *from, uint32_t rows, uint32_t bytes, size_t pitch,
                                size_t c0Step, size_t nStep) {
    const uint32_t whole = bytes / 64 * 64;
    for (uint32_t c = 0; c < whole; c += 64)
        for (uint32_t r = 0; r < rows; ++r) {
            const uint8_t *pair = from + r * pitch + c;
            uint8_t *block = to + c / 32 * c0Step + r * nStep;
            __builtin_prefetch(pair + 16 * pitch);
            // One register each: g++ would copy sixteen bytes at a time.
            Word8 first, second;
            std::memcpy(&first, pair, sizeof first);
            std::memcpy(&second, pair + 32, sizeof second);
            std::memcpy(block, &first, sizeof first);
            std::memcpy(block + c0Step, &second, sizeof second);
        }
    for (uint32_t c = whole; c < bytes; c += 32)
        for (uint32_t r = 0; r < rows; ++r) {
            const uint32_t part = bytes - c < 32 ? bytes - c : 32;
            uint8_t *block = to + c / 32 * c0Step + r * nStep;
            std::memcpy(block, from + r * pitch + c, part);
            std::memset(block + part, 0, 32 - part);
        }
}

void runNd2Nz(Core &core, Call &call) {
    const Nd2NzArgs &a = call.nd2nz;
    const Nd2NzParams &p = a.p;
    ++core.counters.dmas;
    core.counters.dmaBytes += uint64_t(p.ndNum) * p.nValue * p.dValue * a.bytes;
    uint8_t *l1 = core.memories.data(Mem::L1);
    uint32_t rowBytes = uint32_t(p.dValue) * a.bytes, columns = (rowBytes + 31) / 32;
    for (uint32_t i = 0; i < p.ndNum; ++i) {
        uint64_t gm = a.gm + uint64_t(i) * p.srcNdMatrixStride * a.bytes;
        uint32_t to = a.local + uint32_t(i) * p.dstNzMatrixStride * a.bytes;
        readsGlobal(core, call, gm, p.nValue, rowBytes, uint64_t(p.srcDValue) * a.bytes);
        touchColumns(core, call, to, columns, p);
        const auto *from = reinterpret_cast<const uint8_t *>(gm);
        const size_t pitch = size_t(p.srcDValue) * a.bytes, c0Step = p.dstNzC0Stride * 32u,
                     nStep = p.dstNzNStride * 32u;
        // Sixteen rows at a time, so that those of one fractal column stay in this machine's cache.
        for (uint32_t r = 0; r < p.nValue; r += 16)
            rowsToColumns(l1 + to + r * nStep, from + r * pitch, std::min(p.nValue - r, 16u), rowBytes, pitch, c0Step,
                          nStep);
    }
}

void runFill(Core &core, Call &call) {
    const FillArgs &a = call.fill;
    const uint32_t pattern = a.bytes == 4 ? a.value : (a.value & 0xFFFFu) * 0x10001u;
    for (uint32_t r = 0; r < a.repeat; ++r) {
        uint32_t at = a.dst + r * a.step;
        touch(core, call, a.mem, at, a.run, true);
        core.memories.contents(a.mem).fill(at, at + a.run, pattern);
    }
}

/// Transposes a square of 8 x 8 16-bit numbers; rows are 32 bytes apart.
static void turnSquare(uint8_t *to, const uint8_t *from) {
    Half8 rows[8], mixed[8];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) std::memcpy(&rows[i], from + i * 32, sizeof rows[i]);
        // Each round of interleaving moves one bit of the row's number to the column's number.
#pragma GCC unroll 3
    for (uint32_t round = 0; round < 3; ++round) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; ++i) {
            mixed[2 * i] = HPMOE_SHUFFLE(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            mixed[2 * i + 1] = HPMOE_SHUFFLE(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
#pragma GCC unroll 8
        for (uint32_t i = 0; i < 8; ++i) rows[i] = mixed[i];
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < 8; ++i) std::memcpy(to + i * 32, &rows[i], sizeof rows[i]);
}

/// Transposes a fractal of 16-bit numbers.
static void turnFractal(uint8_t *to, const uint8_t *from) {
    for (uint32_t row = 0; row < 2; ++row)
        for (uint32_t column = 0; column < 2; ++column)
            turnSquare(to + column * 256 + row * 16, from + row * 256 + column * 16);
}

/// Copies a fractal. g++ makes `rep movsq` of a memcpy of 512 bytes, which takes longer to start than to copy them.
static void copyFractal(uint8_t *to, const uint8_t *from) {
    for (uint32_t part = 0; part < 512; part += 128) {
        Word8 words[4];
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; ++i) std::memcpy(&words[i], from + part + i * 32, sizeof words[i]);
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 4; ++i) std::memcpy(to + part + i * 32, &words[i], sizeof words[i]);
    }
}

void runLoadData(Core &core, Call &call) {
    const LoadDataArgs &a = call.load;
    uint8_t *dst = core.memories.data(a.mem), *src = core.memories.data(Mem::L1);
    if (a.p.srcStride == 1 && a.p.dstGap == 0 && !a.p.ifTranspose) { // one contiguous run
        uint32_t from = a.src + a.p.startIndex * 512u, bytes = a.p.repeatTimes * 512u;
        touch(core, call, Mem::L1, from, bytes, false);
        touch(core, call, a.mem, a.dst, bytes, true);
        std::memcpy(dst + a.dst, src + from, bytes);
        return;
    }
    bool dense = a.p.srcStride == 1, packed = a.p.dstGap == 0;
    if (dense) touch(core, call, Mem::L1, a.src + a.p.startIndex * 512u, a.p.repeatTimes * 512u, false);
    if (packed) touch(core, call, a.mem, a.dst, a.p.repeatTimes * 512u, true);
    for (uint32_t i = 0; i < a.p.repeatTimes; ++i) {
        uint32_t from = a.src + (a.p.startIndex + i * a.p.srcStride) * 512u, to = a.dst + i * (a.p.dstGap + 1u) * 512u;
        if (!dense) touch(core, call, Mem::L1, from, 512, false);
        if (!packed) touch(core, call, a.mem, to, 512, true);
        if (a.p.ifTranspose) turnFractal(dst + to, src + from);
        else copyFractal(dst + to, src + from);
    }
}

} // namespace AscendC::host

// Copies as calls: checks them and queues them. run_copy.cpp executes them.
#include "core.h"

namespace AscendC::host {

namespace {

constexpr const char *kCopy = "DataCopy";
constexpr const char *kPad = "DataCopyPad";

uint64_t span(uint64_t rows, uint64_t bytes, uint64_t step) { return rows ? (rows - 1) * step + bytes : 0; }

/// The device would round the count and silently drop elements; here, this is an error.
uint32_t wholeBlocks(Core &core, Where where, uint32_t count, Dt type) {
    uint64_t bytes = uint64_t(count) * sizeOf(type);
    if (bytes % 32)
        fail(core, where, kCopy,
             "count %u x %u B = %llu B is not a multiple of 32 B, and the rest would be dropped: use DataCopyPad",
             count, sizeOf(type), static_cast<unsigned long long>(bytes));
    if (bytes > (1u << 20)) fail(core, where, kCopy, "count %u is more than any on-chip memory holds", count);
    return static_cast<uint32_t>(bytes);
}

void startsAt(Core &core, Where where, const char *name, uint64_t address, Dt type) {
    if (address % sizeOf(type))
        fail(core, where, name, "global address %#llx is not aligned to its %u-byte elements",
             static_cast<unsigned long long>(address), sizeOf(type));
}

void checkAtomic(Core &core, Where where, const char *name, uint64_t address, uint64_t step, uint32_t bytes, Dt type) {
    needRegisters(core, where, name);
    if (core.registers.atomic == Atomic::None) return;
    Dt wanted = core.registers.atomic == Atomic::I32 ? Dt::I32 : Dt::F32;
    if (type != wanted)
        fail(core, where, name, "SetAtomicAdd is on for %s, but the data copied have another type",
             wanted == Dt::I32 ? "int32_t" : "float");
    if (address % 4 || step % 4 || bytes % 4)
        fail(core, where, name, "an atomic copy must start, step and end at multiples of 4 bytes");
}

void transfer(Core &core, const char *name, Where where, const TransferArgs &args) {
    uint64_t bytes = span(args.rows, args.rowBytes, args.gmStep);
    checkGlobal(core, where, name, args.gm, bytes, args.toGm ? AccessKind::DmaWrite : AccessKind::DmaRead);
    if (args.toGm) {
        checkAtomic(core, where, name, args.gm, args.gmStep, args.rowBytes, args.type);
        if (args.rows > 1 && args.gmStep < args.rowBytes)
            fail(core, where, name, "rows of %u B at a pitch of %llu B overlap in global memory", args.rowBytes,
                 static_cast<unsigned long long>(args.gmStep));
    }
    Call &call = issue(core, args.toGm ? PIPE_MTE3 : PIPE_MTE2, Op::Transfer, name, where);
    call.transfer = args;
}

TransferArgs rowsOf(Core &core, const char *name, Where where, const char *what, const Local &local,
                    const Global &global, bool toGm, uint32_t rows, uint32_t rowBytes, uint64_t gmStep,
                    uint64_t localStep) {
    TransferArgs args = {};
    args.mem = checkLocal(core, where, name, what, local, span(rows, roundUp(rowBytes, 32), localStep));
    if (args.mem != Mem::UB && args.mem != Mem::L1)
        fail(core, where, name, "there is no path between global memory and %s", kMemNames[static_cast<int>(args.mem)]);
    args.gm = global.address, args.gmStep = gmStep;
    args.local = local.address, args.localStep = static_cast<uint32_t>(localStep);
    args.rows = rows, args.rowBytes = rowBytes, args.padded = rowBytes;
    args.type = local.type, args.toGm = toGm;
    return args;
}

void rows(const Local &local, const Global &global, bool toGm, uint32_t count, uint32_t blocks, uint32_t gmGap,
          uint32_t localGap, Where where) {
    Core &core = enterCall();
    checkRange(core, where, kCopy, "blockCount", count, 0, 4095);
    startsAt(core, where, kCopy, global.address, global.type);
    uint32_t bytes = blocks * 32;
    TransferArgs args =
        rowsOf(core, kCopy, where, toGm ? "the source" : "the destination", local, global, toGm, count, bytes,
               uint64_t(bytes) + uint64_t(gmGap) * 32, uint64_t(bytes) + uint64_t(localGap) * 32);
    if (count && bytes) transfer(core, kCopy, where, args);
}

void move(Core &core, const Local &dst, const Local &src, uint32_t count, uint32_t bytes, uint64_t dstStep,
          uint64_t srcStep, uint32_t dstAlignment, Where where) {
    MoveArgs args = {};
    args.dstMem = checkLocal(core, where, kCopy, "the destination", dst, span(count, bytes, dstStep), dstAlignment);
    args.srcMem = checkLocal(core, where, kCopy, "the source", src, span(count, bytes, srcStep));
    if (args.dstMem == Mem::UB && args.srcMem == Mem::UB)
        fail(core, where, kCopy, "from UB to UB it takes event ids of a TPipe, but there is no TPipe: use Copy");
    if (args.dstMem != Mem::BT || args.srcMem != Mem::L1)
        fail(core, where, kCopy, "there is no path from %s to %s", kMemNames[static_cast<int>(args.srcMem)],
             kMemNames[static_cast<int>(args.dstMem)]);
    if (!count || !bytes) return;
    args.dst = dst.address, args.src = src.address, args.rows = count, args.rowBytes = bytes;
    args.dstStep = static_cast<uint32_t>(dstStep), args.srcStep = static_cast<uint32_t>(srcStep);
    issue(core, PIPE_MTE1, Op::Move, kCopy, where).move = args;
}

} // namespace

void copyIn(const Local &dst, const Global &src, const DataCopyParams &p, Where where) {
    rows(dst, src, false, p.blockCount, p.blockLen, p.srcGap, p.dstGap, where);
}

void copyOut(const Global &dst, const Local &src, const DataCopyParams &p, Where where) {
    rows(src, dst, true, p.blockCount, p.blockLen, p.dstGap, p.srcGap, where);
}

void copyInCount(const Local &dst, const Global &src, uint32_t count, Where where) {
    rows(dst, src, false, 1, wholeBlocks(current(), where, count, dst.type) / 32, 0, 0, where);
}

void copyOutCount(const Global &dst, const Local &src, uint32_t count, Where where) {
    rows(src, dst, true, 1, wholeBlocks(current(), where, count, src.type) / 32, 0, 0, where);
}

void copyLocalCount(const Local &dst, const Local &src, uint32_t count, Where where) {
    Core &core = enterCall();
    uint32_t bytes = wholeBlocks(core, where, count, dst.type);
    if (dst.position == TPosition::C2)
        fail(core, where, kCopy, "L1 to the bias table takes DataCopyParams (blockLen in units of 64 B)");
    move(core, dst, src, 1, bytes, bytes, bytes, 32, where);
}

void copyLocal(const Local &dst, const Local &src, const DataCopyParams &p, Where where) {
    Core &core = enterCall();
    checkRange(core, where, kCopy, "blockCount", p.blockCount, 0, 4095);
    bool bias = dst.position == TPosition::C2;
    if (bias && dst.type != Dt::F32 && dst.type != Dt::I32)
        fail(core, where, kCopy, "the bias table holds float or int32_t");
    uint32_t unit = bias ? 64 : 32, bytes = p.blockLen * unit;
    move(core, dst, src, p.blockCount, bytes, uint64_t(bytes) + uint64_t(p.dstGap) * unit,
         uint64_t(bytes) + uint64_t(p.srcGap) * 32, unit, where);
}

void checkBlocks(Core &core, const DataCopyExtParams &p, Where where) {
    needKind(core, where, kPad, false);
    checkRange(core, where, kPad, "blockCount", p.blockCount, 0, 4095);
    checkRange(core, where, kPad, "blockLen", p.blockLen, 0, 2097151);
    if (p.rsv) fail(core, where, kPad, "rsv is reserved: leave it 0");
}

void padIn(const Local &dst, const Global &src, const DataCopyExtParams &p, bool isPad, uint8_t left, uint8_t right,
           uint64_t value, Where where) {
    Core &core = enterCall();
    uint32_t size = sizeOf(dst.type);
    checkBlocks(core, p, where);
    checkRange(core, where, kPad, "leftPadding", left, 0, 32 / size);
    checkRange(core, where, kPad, "rightPadding", right, 0, 32 / size);
    if (p.blockLen % size)
        fail(core, where, kPad, "blockLen %u is not a multiple of the element's %u B", p.blockLen, size);
    if (size == 8 && value) fail(core, where, kPad, "paddingValue must be 0 for 64-bit elements");
    if (!isPad && (left || right))
        fail(core, where, kPad, "paddings without isPad take an undefined value: set isPad and paddingValue");
    uint32_t padded = roundUp((uint32_t(left) + right) * size + p.blockLen, 32);
    TransferArgs args = rowsOf(core, kPad, where, "the destination", dst, src, false, p.blockCount, padded,
                               uint64_t(p.blockLen) + p.srcStride, padded + uint64_t(p.dstStride) * 32);
    args.rowBytes = p.blockLen, args.padded = padded, args.lead = left * size;
    args.padWithValue = isPad, args.padValue = value;
    if (p.blockCount && p.blockLen) transfer(core, kPad, where, args);
}

void padOut(const Global &dst, const Local &src, const DataCopyExtParams &p, Where where) {
    Core &core = enterCall();
    checkBlocks(core, p, where);
    TransferArgs args =
        rowsOf(core, kPad, where, "the source", src, dst, true, p.blockCount, p.blockLen,
               uint64_t(p.blockLen) + p.dstStride, roundUp(p.blockLen, 32) + uint64_t(p.srcStride) * 32);
    if (p.blockCount && p.blockLen) transfer(core, kPad, where, args);
}

void copyNd2Nz(const Local &dst, const Global &src, const Nd2NzParams &p, Where where) {
    Core &core = enterCall();
    needKind(core, where, kCopy, true);
    checkRange(core, where, kCopy, "ndNum", p.ndNum, 0, 4095);
    checkRange(core, where, kCopy, "nValue", p.nValue, 0, 16384);
    if (!p.ndNum || !p.nValue || !p.dValue) return;
    uint64_t size = sizeOf(dst.type), c0 = 32 / size, columns = (p.dValue + c0 - 1) / c0;
    if (size == 8) fail(core, where, kCopy, "ND to NZ takes elements of 8, 16 or 32 bit");
    // A single row has no pitch: callers whose pitch exceeds 16 bits copy row by row and pass 0.
    uint16_t least = p.nValue == 1 ? 0 : 1;
    checkRange(core, where, kCopy, "srcDValue", p.srcDValue, least, 65535);
    checkRange(core, where, kCopy, "dstNzC0Stride", p.dstNzC0Stride, 1, 16384);
    checkRange(core, where, kCopy, "dstNzNStride", p.dstNzNStride, least, 16384);
    uint64_t elements = (p.ndNum - 1) * uint64_t(p.dstNzMatrixStride) + (columns - 1) * p.dstNzC0Stride * c0 +
                        (p.nValue - 1) * uint64_t(p.dstNzNStride) * c0 + c0;
    if (checkLocal(core, where, kCopy, "the destination", dst, elements * size) != Mem::L1)
        fail(core, where, kCopy, "ND to NZ writes L1 only");
    if (columns > 1 && p.nValue > 1 && p.dstNzNStride == 1 && p.dstNzC0Stride < p.nValue)
        fail(core, where, kCopy, "dstNzC0Stride = %u is less than nValue = %u: columns of L1 overlap", p.dstNzC0Stride,
             p.nValue);
    if (p.ndNum > 1 && p.dstNzMatrixStride == 0)
        fail(core, where, kCopy, "dstNzMatrixStride = 0: %u matrices lie at one place of L1", p.ndNum);
    uint64_t read = (p.ndNum - 1) * uint64_t(p.srcNdMatrixStride) + (p.nValue - 1) * uint64_t(p.srcDValue) + p.dValue;
    checkGlobal(core, where, kCopy, src.address, read * size, AccessKind::DmaRead);
    Nd2NzArgs args = {src.address, dst.address, static_cast<uint32_t>(size), p};
    issue(core, PIPE_MTE2, Op::Nd2Nz, kCopy, where).nd2nz = args;
}

void fill(const Local &dst, uint16_t repeat, uint16_t blocks, uint16_t gap, uint64_t value, Where where) {
    constexpr const char *name = "InitConstValue";
    Core &core = enterCall();
    needKind(core, where, name, true);
    checkRange(core, where, name, "repeatTimes", repeat, 0, 32767);
    checkRange(core, where, name, "blockNum", blocks, 0, 32767);
    checkRange(core, where, name, "dstGap", gap, 0, 32767);
    uint32_t size = sizeOf(dst.type);
    if (size != 2 && size != 4) fail(core, where, name, "elements of 16 or 32 bit only");
    bool l1 = dst.position != TPosition::A2 && dst.position != TPosition::B2;
    uint32_t unit = l1 ? 32 : 512;
    uint64_t step = uint64_t(blocks + gap) * unit;
    Mem mem = checkLocal(core, where, name, "the destination", dst, span(repeat, uint64_t(blocks) * unit, step), unit);
    if (l1 && mem != Mem::L1) fail(core, where, name, "fills L1, L0A and L0B only");
    if (!repeat || !blocks) return;
    FillArgs args = {mem,
                     static_cast<uint8_t>(size),
                     dst.address,
                     repeat,
                     blocks * unit,
                     static_cast<uint32_t>(step),
                     static_cast<uint32_t>(value)};
    issue(core, l1 ? PIPE_MTE2 : PIPE_MTE1, Op::Fill, name, where).fill = args;
}

} // namespace AscendC::host

// LoadData, Mmad and Fixpipe as calls: checks them and queues them.
#include "core.h"

namespace AscendC::host {

void loadData(const Local &dst, const Local &src, const LoadData2DParams &p, Where where) {
    constexpr const char *name = "LoadData";
    Core &core = enterCall();
    needKind(core, where, name, true);
    if (p.addrMode) fail(core, where, name, "addrMode must be 0 (ascending)");
    if (p.sid) fail(core, where, name, "sid is reserved: leave it 0");
    if (p.ifTranspose && sizeOf(dst.type) != 2)
        fail(core, where, name, "ifTranspose works on 16-bit elements only, these have %u B", sizeOf(dst.type));
    if (!p.repeatTimes) return;
    uint64_t last = p.repeatTimes - 1u;
    uint64_t read = (p.startIndex + last * p.srcStride + 1) * 512, written = (last * (p.dstGap + 1u) + 1) * 512;
    Mem mem = checkLocal(core, where, name, "the destination", dst, written, 512);
    if (mem != Mem::L0A && mem != Mem::L0B) fail(core, where, name, "the destination must be L0A (A2) or L0B (B2)");
    if (checkLocal(core, where, name, "the source", src, read) != Mem::L1)
        fail(core, where, name, "the source must be L1 (A1 or B1)");
    LoadDataArgs args = {mem, dst.address, src.address, p};
    issue(core, PIPE_MTE1, Op::LoadData, name, where).load = args;
}

void mmad(const Local &c, const Local &a, const Local &b, const Local *bias, const MmadParams &p, Where where) {
    constexpr const char *name = "Mmad";
    Core &core = enterCall();
    needKind(core, where, name, true);
    checkRange(core, where, name, "m", p.m, 0, 4095);
    checkRange(core, where, name, "n", p.n, 0, 4095);
    checkRange(core, where, name, "k", p.k, 0, 4095);
    if (p.unitFlag == 1 || p.unitFlag > 3) fail(core, where, name, "unitFlag = %u must be 0, 2 or 3", p.unitFlag);
    bool floats = a.type == Dt::BF16 || a.type == Dt::F16 || a.type == Dt::F32, bytes = a.type == Dt::I8;
    if (a.type != b.type || !((floats && c.type == Dt::F32) || (bytes && c.type == Dt::I32)))
        fail(core, where, name,
             "types: A and B are both bfloat16_t, half or float with a float result, or both int8_t with an "
             "int32_t one");
    if (!p.m || !p.n || !p.k) return;
    uint32_t size = sizeOf(a.type), c0 = 32 / size;
    uint64_t m16 = roundUp(p.m, 16), n16 = roundUp(p.n, 16), k0 = roundUp(p.k, c0);
    // m = 1 makes it a matrix-vector product, which reads A as a plain vector.
    uint64_t aBytes = p.m == 1 ? uint64_t(p.k) * size : m16 * k0 * size;
    if (checkLocal(core, where, name, "A", a, aBytes, 512) != Mem::L0A)
        fail(core, where, name, "A must be in L0A (A2)");
    if (checkLocal(core, where, name, "B", b, k0 * n16 * size, 512) != Mem::L0B)
        fail(core, where, name, "B must be in L0B (B2)");
    if (checkLocal(core, where, name, "C", c, m16 * n16 * 4, 1024) != Mem::L0C)
        fail(core, where, name, "C must be in L0C (CO1)");
    MmadArgs args = {a.address, b.address, c.address, 0, p.m, p.n, p.k, p.unitFlag, MmadArgs::Zero, a.type};
    if (!p.cmatrixInitVal || p.isBias) {
        args.init = MmadArgs::OldC;
        if (bias) {
            if (bias->type != c.type) fail(core, where, name, "the bias must have the type of C");
            if (bias->position != TPosition::CO1) {
                if (checkLocal(core, where, name, "the bias", *bias, n16 * 4, 64) != Mem::BT)
                    fail(core, where, name, "the bias must be in the bias table (C2) or L0C (CO1)");
                args.init = MmadArgs::Bias, args.bias = bias->address;
            } else if (bias->address != c.address) {
                fail(core, where, name, "a bias in L0C must be C itself");
            }
        } else if (p.cmatrixSource) {
            args.init = MmadArgs::Bias;
        }
    } else if (bias) {
        fail(core, where, name, "a bias takes part only with cmatrixInitVal = false");
    }
    needInfinities(core, where, name, a.type);
    needWholeFloats(core, where, name, a.type);
    issue(core, PIPE_M, Op::Mmad, name, where).mmad = args;
}

void fixpipe(const Global &dst, const Local &src, const FixpipeParamsV220 &p, Where where) {
    constexpr const char *name = "Fixpipe";
    Core &core = enterCall();
    needKind(core, where, name, true);
    checkRange(core, where, name, "nSize", p.nSize, 0, 4095);
    checkRange(core, where, name, "mSize", p.mSize, 0, 8192);
    checkRange(core, where, name, "ndNum (the model knows one matrix)", p.ndNum, 0, 1);
    if (p.unitFlag == 1 || p.unitFlag > 3) fail(core, where, name, "unitFlag = %u must be 0, 2 or 3", p.unitFlag);
    if (p.isChannelSplit) fail(core, where, name, "isChannelSplit belongs to NZ output");
    bool plain = p.quantPre == NoQuant && src.type == dst.type && (dst.type == Dt::F32 || dst.type == Dt::I32);
    bool toHalf = p.quantPre == F322F16 && src.type == Dt::F32 && dst.type == Dt::F16;
    bool toBf16 = p.quantPre == F322BF16 && src.type == Dt::F32 && dst.type == Dt::BF16;
    if (!plain && !toHalf && !toBf16)
        fail(core, where, name,
             "quantPre does not fit the types: NoQuant for float or int32_t, F322F16 for float to half, "
             "F322BF16 for float to bfloat16_t");
    if (!p.nSize || !p.mSize || !p.ndNum) return;
    uint32_t size = sizeOf(dst.type), strips = (p.nSize + 15u) / 16;
    if (p.mSize > 1) {
        checkRange(core, where, name, "dstStride", p.dstStride, 1, ~0u);
        if (p.dstStride < p.nSize)
            fail(core, where, name, "dstStride = %u is less than nSize = %u: rows overlap in global memory",
                 p.dstStride, p.nSize);
    }
    uint64_t read = (uint64_t(strips - 1) * p.srcStride + p.mSize) * 64;
    if (checkLocal(core, where, name, "the source", src, read, 64) != Mem::L0C)
        fail(core, where, name, "the source must be in L0C (CO1)");
    if (strips > 1 && p.srcStride < p.mSize)
        fail(core, where, name, "srcStride = %u is less than mSize = %u: it is m of the Mmad, rounded up to 16",
             p.srcStride, p.mSize);
    uint64_t written = ((p.mSize - 1) * uint64_t(p.dstStride) + p.nSize) * size;
    checkGlobal(core, where, name, dst.address, written, AccessKind::DmaWrite);
    if (dst.address % size) fail(core, where, name, "the destination is not aligned to its %u-byte elements", size);
    needRegisters(core, where, name);
    needInfinities(core, where, name, dst.type);
    Atomic atomic = core.registers.atomic;
    if (atomic != Atomic::None && dst.type != (atomic == Atomic::I32 ? Dt::I32 : Dt::F32))
        fail(core, where, name, "SetAtomicAdd is on for a different type than the one written");
    FixpipeArgs args = {dst.address, src.address, dst.type, p};
    issue(core, PIPE_FIX, Op::Fixpipe, name, where).fix = args;
}

} // namespace AscendC::host

// Vector calls: checks and queues them. run_vector.cpp executes them.
#include "core.h"
#include "vector_math.h"

namespace AscendC::host {

namespace {

struct Checker {
    Core &core;
    Where where;
    const VectorCall &call;

    uint32_t lanes(Dt type) const { return 256 / sizeOf(type); }

    void local(const char *what, const Local &at, uint64_t bytes, uint32_t alignment = 32) const {
        if (checkLocal(core, where, call.name, what, at, bytes, alignment) != Mem::UB)
            fail(core, where, call.name, "%s must be in UB", what);
    }

    /// Number of bytes from a tensor's start to the end of its last active block.
    uint64_t reach(Dt type, uint32_t blk, uint32_t rep) const {
        uint32_t active = 0, perBlk = 32 / sizeOf(type);
        for (uint32_t lane = 0; lane < lanes(type); ++lane)
            if (call.mask[lane / 64] >> (lane % 64) & 1) active = lane / perBlk + 1;
        if (!active || !call.repeat) return 0;
        return (uint64_t(call.repeat - 1) * rep + uint64_t(active - 1) * blk + 1) * 32;
    }

    void mask(Dt type) const {
        uint32_t most = lanes(type);
        checkRange(core, where, call.name, "mask (lanes of a repeat)", static_cast<uint64_t>(call.count), 0, most);
        if (most <= 64 && call.mask[1])
            fail(core, where, call.name, "mask[1] must be 0: a repeat has only %u lanes of this type", most);
        checkRange(core, where, call.name, "repeatTime", call.repeat, 0, 255);
    }

    /// Checks that, in count form, a source equals the destination or does not overlap it.
    void apart(const char *what, const Local &src, uint64_t srcBytes, uint64_t dstBytes, bool mayBeSame) const {
        bool same = mayBeSame && src.address == call.dst.address && srcBytes == dstBytes;
        if (same || src.address >= call.dst.address + dstBytes || call.dst.address >= src.address + srcBytes) return;
        fail(core, where, call.name, "%s (bytes %u..%llu of UB) and the destination (from byte %u) overlap %s", what,
             src.address, static_cast<unsigned long long>(src.address + srcBytes), call.dst.address,
             mayBeSame ? "in part: they must be the same or apart" : "and must not");
    }
};

/// Checks that, in mask form, the source blocks of a repeat equal its destination blocks or don't overlap them, and
/// that no repeat reads what an earlier one wrote, except for sums that accumulate in one place.
void apartByBlocks(const Checker &c, const char *what, const Local &src, uint32_t blk, uint32_t rep) {
    const VectorCall &v = c.call;
    uint64_t written = c.reach(v.dst.type, v.dstBlk, v.dstRep), read = c.reach(v.dst.type, blk, rep);
    if (src.address >= v.dst.address + written || v.dst.address >= src.address + read) return;
    uint32_t perBlk = 32 / sizeOf(v.dst.type);
    uint16_t writer[192 * 32] = {}; // repeat * 8 + block + 1 of the first that writes a block of UB
    auto each = [&](const Local &at, uint32_t blkStride, uint32_t repStride, auto visit) {
        for (uint32_t r = 0; r < v.repeat; ++r)
            for (uint32_t b = 0; b < 8; ++b)
                if (v.mask[b * perBlk / 64] >> (b * perBlk % 64) & ((1u << perBlk) - 1u))
                    visit(at.address / 32 + r * repStride + b * blkStride, static_cast<uint16_t>(r * 8 + b + 1));
    };
    each(v.dst, v.dstBlk, v.dstRep, [&](uint32_t at, uint16_t who) {
        if (!writer[at]) writer[at] = who;
    });
    each(src, blk, rep, [&](uint32_t at, uint16_t who) {
        uint16_t first = writer[at];
        bool later = first && (first - 1) / 8 > (who - 1) / 8;
        if (first && first != who && !later)
            fail(c.core, c.where, v.name,
                 "repeat %u reads bytes %u.. of UB (%s), which repeat %u writes: they must be the same "
                 "blocks of one repeat, or apart",
                 (who - 1u) / 8, at * 32, what, (first - 1u) / 8);
    });
}

bool hasA(VOp op) { return op != VOp::Duplicate; }
bool hasB(VOp op) { return op <= VOp::Min || op == VOp::Axpy; }

void checkElementwise(const Checker &c) {
    const VectorCall &v = c.call;
    if (!elementwiseExists(v.op, v.dst.type)) {
        if (v.dst.type == Dt::BF16)
            fail(c.core, c.where, v.name,
                 "there is no vector arithmetic on bfloat16_t: Cast to float, compute, Cast back");
        fail(c.core, c.where, v.name, "does not exist for this element type");
    }
    if (v.op == VOp::ShiftRight)
        checkRange(c.core, c.where, v.name, "scalarValue", v.scalar, 0, 8 * sizeOf(v.dst.type) - 1);
    if (v.op != VOp::Copy && v.op != VOp::Duplicate) needInfinities(c.core, c.where, v.name, v.dst.type);
    if (!v.masked) {
        uint64_t bytes = static_cast<uint64_t>(v.count) * sizeOf(v.dst.type);
        c.local("the destination", v.dst, bytes);
        if (hasA(v.op)) c.local("the first source", v.a, bytes), c.apart("the first source", v.a, bytes, bytes, true);
        if (hasB(v.op)) c.local("the second source", v.b, bytes), c.apart("the second source", v.b, bytes, bytes, true);
        return;
    }
    c.mask(v.dst.type);
    if (v.dstBlk == 0 && v.op != VOp::Copy) fail(c.core, c.where, v.name, "dstBlkStride must not be 0");
    c.local("the destination", v.dst, c.reach(v.dst.type, v.dstBlk, v.dstRep));
    if (hasA(v.op)) {
        c.local("the first source", v.a, c.reach(v.dst.type, v.aBlk, v.aRep));
        apartByBlocks(c, "the first source", v.a, v.aBlk, v.aRep);
    }
    if (hasB(v.op)) {
        c.local("the second source", v.b, c.reach(v.dst.type, v.bBlk, v.bRep));
        bool runsOn = v.bRep == 0 || v.dstRep == 0;
        if (!runsOn) apartByBlocks(c, "the second source", v.b, v.bBlk, v.bRep);
    }
}

void checkCast(const Checker &c) {
    const VectorCall &v = c.call;
    RoundMode mode = static_cast<RoundMode>(v.mode);
    if (!convert(v.dst.type, v.a.type, mode, nullptr, nullptr, 0)) {
        if (v.dst.type == Dt::BF16 && v.a.type == Dt::F32 && mode == RoundMode::CAST_NONE)
            fail(c.core, c.where, v.name, "float to bfloat16_t does not take CAST_NONE: use CAST_RINT");
        fail(c.core, c.where, v.name, "this pair of types does not exist, or not with this RoundMode (%u)", v.mode);
    }
    uint64_t count = static_cast<uint64_t>(v.count), to = count * sizeOf(v.dst.type), from = bytesOf(v.a.type, count);
    if (v.a.type == Dt::I4 && count % 2)
        fail(c.core, c.where, v.name, "count is %llu, and two numbers of four bits lie in a byte: take an even count",
             static_cast<unsigned long long>(count));
    c.local("the destination", v.dst, to), c.local("the source", v.a, from);
    // In place only if no element is overwritten before it is read, so never to a wider type.
    c.apart("the source", v.a, from, to, to == from);
    needInfinities(c.core, c.where, v.name, v.dst.type);
}

void checkMasks(const Checker &c) {
    const VectorCall &v = c.call;
    uint64_t bytes = static_cast<uint64_t>(v.count) * sizeOf(v.a.type), bits = (static_cast<uint64_t>(v.count) + 7) / 8;
    bool real = v.a.type == Dt::F16 || v.a.type == Dt::F32;
    const bool compares = v.op == VOp::Compare || v.op == VOp::CompareScalar;
    const bool scalar = v.op == VOp::CompareScalar || v.op == VOp::SelectScalar;
    if (compares) {
        if (!real && !(v.a.type == Dt::I32 && static_cast<CMPMODE>(v.mode) == CMPMODE::EQ))
            fail(c.core, c.where, v.name, "takes half and float, and int32_t with EQ");
        if (bytes % 256)
            fail(c.core, c.where, v.name,
                 "count * size = %llu B is not a multiple of 256 B, and the rest would not be computed",
                 static_cast<unsigned long long>(bytes));
        c.local("the destination", v.dst, bits);
        c.apart("the first source", v.a, bytes, bits, false);
        if (!scalar) c.apart("the second source", v.b, bytes, bits, false);
    } else {
        if (!real) fail(c.core, c.where, v.name, "takes half and float only");
        const SELMODE mode = scalar ? SELMODE::VSEL_TENSOR_SCALAR_MODE : SELMODE::VSEL_TENSOR_TENSOR_MODE;
        if (static_cast<SELMODE>(v.mode) != mode)
            fail(c.core, c.where, v.name, "the model knows %s only for these sources",
                 scalar ? "VSEL_TENSOR_SCALAR_MODE" : "VSEL_TENSOR_TENSOR_MODE");
        c.local("the destination", v.dst, bytes), c.local("the mask", v.c, bits);
        c.apart("the mask", v.c, bits, bytes, false);
        c.apart("the first source", v.a, bytes, bytes, true);
        if (!scalar) c.apart("the second source", v.b, bytes, bytes, true);
    }
    c.local("the first source", v.a, bytes);
    if (!scalar) c.local("the second source", v.b, bytes);
}

void checkGather(const Checker &c) {
    const VectorCall &v = c.call;
    uint32_t size = sizeOf(v.dst.type);
    if (size != 2 && size != 4) fail(c.core, c.where, v.name, "takes elements of 16 or 32 bit");
    uint64_t bytes = static_cast<uint64_t>(v.count) * size, offsets = static_cast<uint64_t>(v.count) * 4;
    c.local("the destination", v.dst, bytes), c.local("the offsets", v.b, offsets), c.local("the source", v.a, 32);
    c.apart("the offsets", v.b, offsets, bytes, false), c.apart("the source", v.a, size, bytes, false);
}

/// Reports a call without elements: the documentation does not say what the call and the register of counts then do.
void checkGathered(const Checker &c) {
    checkRange(c.core, c.where, c.call.name, "mask", static_cast<uint64_t>(c.call.count), 1, ~0u);
}

void checkGatherMask(const Checker &c) {
    const VectorCall &v = c.call;
    uint32_t size = sizeOf(v.dst.type);
    if (size != 2 && size != 4) fail(c.core, c.where, v.name, "takes elements of 16 or 32 bit");
    checkRange(c.core, c.where, v.name, "src0Pattern", v.mode, 1, 7);
    checkGathered(c);
    if (!v.repeat) return;
    uint64_t blocks = (static_cast<uint64_t>(v.count) * size + 31) / 32, written = kept(v) * size;
    uint64_t read = (uint64_t(v.repeat - 1) * v.aRep + (blocks - 1) * v.aBlk + 1) * 32;
    c.local("the destination", v.dst, written), c.local("the source", v.a, read);
    c.apart("the source", v.a, read, written, false);
}

void checkGatherBits(const Checker &c) {
    const VectorCall &v = c.call;
    uint32_t size = sizeOf(v.dst.type);
    if (size != 2 && size != 4) fail(c.core, c.where, v.name, "takes elements of 16 or 32 bit");
    if (v.repeat > 1) fail(c.core, c.where, v.name, "the model knows one repeat of a pattern in a tensor");
    if (v.aBlk != 1)
        fail(c.core, c.where, v.name, "src0BlockStride = %u: the model knows blocks one after the other, of stride 1",
             v.aBlk);
    checkGathered(c);
    uint64_t count = static_cast<uint64_t>(v.count), bytes = count * size, bits = (count + 7) / 8;
    c.local("the destination", v.dst, bytes), c.local("the source", v.a, bytes), c.local("the pattern", v.c, bits);
    c.apart("the source", v.a, bytes, bytes, false), c.apart("the pattern", v.c, bits, bytes, false);
}

void checkBrcb(const Checker &c) {
    const VectorCall &v = c.call;
    uint32_t size = sizeOf(v.dst.type);
    if (size != 2 && size != 4) fail(c.core, c.where, v.name, "takes elements of 16 or 32 bit");
    if (!v.dstBlk) fail(c.core, c.where, v.name, "dstBlkStride must not be 0");
    checkRange(c.core, c.where, v.name, "repeatTime", v.repeat, 0, 254);
    if (!v.repeat) return;
    uint64_t written = (uint64_t(v.repeat - 1) * v.dstRep + 7u * v.dstBlk + 1) * 32,
             read = uint64_t(v.repeat) * 8 * size;
    c.local("the destination", v.dst, written), c.local("the source", v.a, read);
    c.apart("the source", v.a, read, written, false);
}

void checkReduce(const Checker &c) {
    const VectorCall &v = c.call;
    if (v.a.type != Dt::F16 && v.a.type != Dt::F32) fail(c.core, c.where, v.name, "takes half and float only");
    needInfinities(c.core, c.where, v.name, v.a.type);
    c.mask(v.a.type);
    uint32_t size = sizeOf(v.a.type);
    bool found = v.op != VOp::WholeReduceSum;
    bool pairs = found && v.mode <= static_cast<uint8_t>(ReduceOrder::ORDER_INDEX_VALUE);
    bool index = found && v.mode == static_cast<uint8_t>(ReduceOrder::ORDER_ONLY_INDEX);
    uint32_t unit = pairs ? 2 * size : index ? 4 : size;
    uint64_t written = v.repeat ? (uint64_t(v.repeat - 1) * v.dstRep + 1) * unit : 0;
    c.local("the destination", v.dst, written, unit), c.local("the source", v.a, c.reach(v.a.type, v.aBlk, v.aRep));
}

} // namespace

int64_t gathered(Where where) {
    Core &core = enterCall();
    if (core.gatherMask > core.known[PIPE_S].at[PIPE_V])
        fail(core, where, "GetGatherMaskRemainCount",
             "the last GatherMask may not have run yet: SetFlag and WaitFlag<HardEvent::V_S> after it");
    return core.gathered;
}

void vector(const VectorCall &v, Where where) {
    Core &core = enterCall();
    needKind(core, where, v.name, false);
    bool repeats = v.masked || v.op == VOp::Brcb || v.op == VOp::GatherMask || v.op == VOp::GatherBits;
    if (!repeats || v.masked) checkRange(core, where, v.name, "count", static_cast<uint64_t>(v.count), 0, 192 * 1024);
    Checker checker{core, where, v};
    switch (v.op) {
    case VOp::Cast: checkCast(checker); break;
    case VOp::Compare:
    case VOp::CompareScalar:
    case VOp::Select:
    case VOp::SelectScalar: checkMasks(checker); break;
    case VOp::Gather: checkGather(checker); break;
    case VOp::GatherMask: checkGatherMask(checker); break;
    case VOp::GatherBits: checkGatherBits(checker); break;
    case VOp::Brcb: checkBrcb(checker); break;
    case VOp::WholeReduceSum:
    case VOp::WholeReduceMax:
    case VOp::WholeReduceMin: checkReduce(checker); break;
    default: checkElementwise(checker);
    }
    if (repeats ? v.repeat == 0 || (v.masked && !(v.mask[0] | v.mask[1])) : v.count == 0) return;
    needRegisters(core, where, v.name);
    // The count form and Brcb switch all lanes on again.
    core.registers.masked = repeats && v.op != VOp::Brcb, core.registers.maskedAt = where;
    Call &call = issue(core, PIPE_V, Op::Vector, v.name, where);
    call.vec = v;
    if (v.op == VOp::GatherMask || v.op == VOp::GatherBits) core.gatherMask = call.seq;
}

} // namespace AscendC::host

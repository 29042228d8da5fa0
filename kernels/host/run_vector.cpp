// Executes vector calls.
#include <cstring>

#include "core.h"
#include "vector_math.h"

namespace AscendC::host {

namespace {

struct Run {
    Core &core;
    Call &call;
    const VectorCall &v;
    uint8_t *ub;

    const uint8_t *read(uint32_t at, uint32_t bytes) const {
        return touch(core, call, Mem::UB, at, bytes, false), ub + at;
    }
    uint8_t *write(uint32_t at, uint32_t bytes) const { return touch(core, call, Mem::UB, at, bytes, true), ub + at; }
    bool active(uint32_t lane) const { return v.mask[lane / 64] >> (lane % 64) & 1; }
    /// The active lanes of a block, one bit each.
    uint64_t activeOf(uint32_t block, uint32_t perBlk) const {
        const uint32_t lane = block * perBlk;
        return v.mask[lane / 64] >> (lane % 64) & ((uint64_t(1) << perBlk) - 1);
    }
    /// Whether all lanes of a repeat are active.
    bool allActive(uint32_t lanes) const { return !~v.mask[0] && (lanes <= 64 || !~v.mask[1]); }
};

/// The blocks of one repeat that have an active lane, packed: block b is at `packed[b*32..]`.
void gatherRepeat(const Run &r, const Local &from, uint32_t blk, uint32_t rep, uint32_t repeat, uint8_t *packed) {
    const uint32_t perBlk = 32 / sizeOf(from.type), first = from.address + repeat * rep * 32;
    if (blk == 1 && r.allActive(8 * perBlk)) {
        std::memcpy(packed, r.read(first, 256), 256);
        return;
    }
    for (uint32_t b = 0; b < 8; ++b)
        if (r.activeOf(b, perBlk)) std::memcpy(packed + b * 32, r.read(first + b * blk * 32, 32), 32);
}

void runMasked(const Run &r) {
    const VectorCall &v = r.v;
    uint32_t size = sizeOf(v.dst.type), lanes = 256 / size, perBlk = 32 / size;
    alignas(64) uint8_t a[256] = {}, b[256] = {}, d[256];
    bool two = v.op <= VOp::Min;
    const bool dense = v.dstBlk == 1 && r.allActive(lanes);
    for (uint32_t repeat = 0; repeat < v.repeat; ++repeat) {
        if (v.op != VOp::Duplicate) gatherRepeat(r, v.a, v.aBlk, v.aRep, repeat, a);
        if (two) gatherRepeat(r, v.b, v.bBlk, v.bRep, repeat, b);
        elementwise(v.op, v.dst.type, d, a, two ? b : nullptr, v.scalar, lanes);
        if (dense) {
            std::memcpy(r.write(v.dst.address + repeat * v.dstRep * 32, 256), d, 256);
            continue;
        }
        for (uint32_t lane = 0; lane < lanes; ++lane) {
            if (!r.active(lane)) continue;
            uint32_t run = 1; // lanes of one block that are written together
            while ((lane + run) % perBlk && r.active(lane + run)) ++run;
            uint32_t at = v.dst.address + (repeat * v.dstRep + lane / perBlk * v.dstBlk) * 32 + lane % perBlk * size;
            std::memcpy(r.write(at, run * size), d + lane * size, run * size);
            lane += run - 1;
        }
    }
}

void runElementwise(const Run &r) {
    const VectorCall &v = r.v;
    if (v.masked) return runMasked(r);
    uint32_t n = static_cast<uint32_t>(v.count), bytes = n * sizeOf(v.dst.type);
    const uint8_t *a = v.op == VOp::Duplicate ? nullptr : r.read(v.a.address, bytes);
    const uint8_t *b = v.op <= VOp::Min || v.op == VOp::Axpy ? r.read(v.b.address, bytes) : nullptr;
    elementwise(v.op, v.dst.type, r.write(v.dst.address, bytes), a, b, v.scalar, n);
}

void runCast(const Run &r) {
    const VectorCall &v = r.v;
    uint32_t n = static_cast<uint32_t>(v.count);
    const uint8_t *src = r.read(v.a.address, static_cast<uint32_t>(bytesOf(v.a.type, n)));
    convert(v.dst.type, v.a.type, static_cast<RoundMode>(v.mode), r.write(v.dst.address, n * sizeOf(v.dst.type)), src,
            n);
}

template <typename T> bool holds(CMPMODE mode, T x, T y) {
    switch (mode) {
    case CMPMODE::LT: return x < y;
    case CMPMODE::GT: return x > y;
    case CMPMODE::EQ: return x == y;
    case CMPMODE::LE: return x <= y;
    case CMPMODE::GE: return x >= y;
    case CMPMODE::NE: return x != y;
    }
    return false;
}

/// The second operand for element i, of `size` bytes: an element, or the scalar.
const uint8_t *second(const VectorCall &v, const uint8_t *b, uint32_t i, size_t size) {
    return b ? b + i * size : reinterpret_cast<const uint8_t *>(&v.scalar);
}

template <typename T> void compare(const VectorCall &v, uint8_t *dst, const uint8_t *a, const uint8_t *b) {
    for (uint32_t byte = 0; byte < v.count / 8; ++byte) {
        uint32_t bits = 0;
        for (uint32_t i = 8 * byte; i < 8 * byte + 8; ++i) {
            T y;
            std::memcpy(&y, second(v, b, i, sizeof(T)), sizeof(T));
            bits |= uint32_t(holds(static_cast<CMPMODE>(v.mode), reinterpret_cast<const T *>(a)[i], y)) << (i % 8);
        }
        dst[byte] = static_cast<uint8_t>(bits);
    }
}

void runCompare(const Run &r) {
    const VectorCall &v = r.v;
    uint32_t bytes = static_cast<uint32_t>(v.count) * sizeOf(v.a.type);
    const uint8_t *a = r.read(v.a.address, bytes);
    const uint8_t *b = v.op == VOp::Compare ? r.read(v.b.address, bytes) : nullptr;
    uint8_t *dst = r.write(v.dst.address, static_cast<uint32_t>(v.count) / 8);
    if (v.a.type == Dt::F32) compare<float>(v, dst, a, b);
    else if (v.a.type == Dt::I32) compare<int32_t>(v, dst, a, b);
    else {
        for (uint32_t i = 0; i < v.count / 8; ++i) dst[i] = 0;
        for (uint32_t i = 0; i < v.count; ++i) {
            float x = static_cast<float>(reinterpret_cast<const half *>(a)[i]);
            half y;
            std::memcpy(static_cast<void *>(&y), second(v, b, i, 2), 2);
            if (holds(static_cast<CMPMODE>(v.mode), x, static_cast<float>(y)))
                dst[i / 8] = static_cast<uint8_t>(dst[i / 8] | (1u << (i % 8)));
        }
    }
}

void runSelect(const Run &r) {
    const VectorCall &v = r.v;
    uint32_t n = static_cast<uint32_t>(v.count), size = sizeOf(v.dst.type);
    const uint8_t *a = r.read(v.a.address, n * size);
    const uint8_t *b = v.op == VOp::Select ? r.read(v.b.address, n * size) : nullptr;
    const uint8_t *mask = r.read(v.c.address, (n + 7) / 8);
    uint8_t *dst = r.write(v.dst.address, n * size);
    for (uint32_t i = 0; i < n; ++i)
        std::memmove(dst + i * size, mask[i / 8] >> (i % 8) & 1 ? a + i * size : second(v, b, i, size), size);
}

constexpr uint32_t kMostBlocks = 192 * 1024 / 32; // blocks of UB

void runGather(const Run &r) {
    const VectorCall &v = r.v;
    uint32_t n = static_cast<uint32_t>(v.count), size = sizeOf(v.dst.type);
    const auto *offsets = reinterpret_cast<const uint32_t *>(r.read(v.b.address, n * 4));
    uint8_t *dst = r.write(v.dst.address, n * size);
    uint64_t seen[kMostBlocks / 64] = {}; // blocks that are already marked as read
    for (uint32_t i = 0; i < n; ++i) {
        uint64_t at = v.a.address + v.scalar + offsets[i];
        if (offsets[i] % size || at + size > kMemBytes[0])
            fail(r.core, r.call.where, v.name,
                 "offset %u (element %u) with base %u is not aligned to %u B or leaves UB", offsets[i], i,
                 static_cast<uint32_t>(v.scalar), size);
        if (at + size > v.dst.address && at < v.dst.address + uint64_t(n) * size)
            fail(r.core, r.call.where, v.name, "offset %u (element %u) reads the destination", offsets[i], i);
        const uint64_t block = at / 32, bit = uint64_t(1) << (block % 64);
        if (!(seen[block / 64] & bit)) {
            seen[block / 64] |= bit;
            r.read(static_cast<uint32_t>(block * 32), 32);
        }
        std::memcpy(dst + i * size, r.ub + at, size);
    }
}

bool chosen(uint32_t pattern, uint32_t i) {
    return pattern == 7 || (pattern <= 2 ? i % 2 == pattern - 1 : i % 4 == pattern - 3);
}

void runGatherMask(const Run &r) {
    const VectorCall &v = r.v;
    r.core.gathered = static_cast<int64_t>(kept(v));
    uint32_t n = static_cast<uint32_t>(v.count), size = sizeOf(v.dst.type), perBlk = 32 / size;
    uint8_t *dst = r.write(v.dst.address, static_cast<uint32_t>(kept(v)) * size);
    for (uint32_t repeat = 0; repeat < v.repeat; ++repeat)
        for (uint32_t first = 0; first < n; first += perBlk) {
            const uint8_t *src = r.read(v.a.address + (repeat * v.aRep + first / perBlk * v.aBlk) * 32, 32);
            for (uint32_t i = first; i < n && i < first + perBlk; ++i)
                if (chosen(v.mode, i)) std::memcpy(dst, src + i % perBlk * size, size), dst += size;
        }
}

void runGatherBits(const Run &r) {
    const VectorCall &v = r.v;
    uint32_t n = static_cast<uint32_t>(v.count), size = sizeOf(v.dst.type), packed = 0;
    const uint8_t *src = r.read(v.a.address, n * size), *bits = r.read(v.c.address, (n + 7) / 8);
    auto set = [bits](uint32_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; };
    for (uint32_t i = 0; i < n; ++i) packed += set(i);
    r.core.gathered = packed;
    if (!packed) return;
    uint8_t *dst = r.write(v.dst.address, packed * size);
    for (uint32_t i = 0; i < n; ++i)
        if (set(i)) std::memcpy(dst, src + i * size, size), dst += size;
}

void runBrcb(const Run &r) {
    const VectorCall &v = r.v;
    uint32_t size = sizeOf(v.dst.type);
    const uint8_t *src = r.read(v.a.address, v.repeat * 8 * size);
    for (uint32_t i = 0; i < v.repeat * 8; ++i) {
        uint8_t *dst = r.write(v.dst.address + (i / 8 * v.dstRep + i % 8 * v.dstBlk) * 32, 32);
        for (uint32_t e = 0; e < 32; e += size) std::memcpy(dst + e, src + i * size, size);
    }
}

float lane(const uint8_t *packed, Dt type, uint32_t i) {
    return type == Dt::F32 ? reinterpret_cast<const float *>(packed)[i]
                           : float(reinterpret_cast<const half *>(packed)[i]);
}

void put(uint8_t *to, Dt type, float value) {
    if (type == Dt::F32) std::memcpy(to, &value, 4);
    else *reinterpret_cast<half *>(to) = half(value);
}

/// Sums neighbours in a binary tree, each sum rounded to the type; lanes outside the mask are 0.
float sumOf(const Run &r, const uint8_t *packed) {
    Dt type = r.v.a.type;
    float x[128];
    uint32_t n = 256 / sizeOf(type);
    if (type == Dt::F32 && r.allActive(n)) std::memcpy(x, packed, n * 4);
    else
        for (uint32_t i = 0; i < n; ++i) x[i] = r.active(i) ? lane(packed, type, i) : 0.0f;
    for (; n > 1; n /= 2)
        for (uint32_t i = 0; i < n / 2; ++i) {
            float sum = x[2 * i] + x[2 * i + 1];
            x[i] = type == Dt::F32 ? sum : float(half(sum));
        }
    return x[0];
}

void runReduce(const Run &r) {
    const VectorCall &v = r.v;
    Dt type = v.a.type;
    uint32_t size = sizeOf(type);
    ReduceOrder order = v.op == VOp::WholeReduceSum ? ReduceOrder::ORDER_ONLY_VALUE : static_cast<ReduceOrder>(v.mode);
    for (uint32_t repeat = 0; repeat < v.repeat; ++repeat) {
        alignas(64) uint8_t packed[256] = {};
        gatherRepeat(r, v.a, v.aBlk, v.aRep, repeat, packed);
        float value = 0;
        uint32_t best = ~0u;
        if (v.op == VOp::WholeReduceSum) value = sumOf(r, packed);
        else
            for (uint32_t i = 0; i < 256 / size; ++i)
                if (r.active(i) && (best == ~0u || (v.op == VOp::WholeReduceMax ? lane(packed, type, i) > value
                                                                                : lane(packed, type, i) < value)))
                    value = lane(packed, type, i), best = i;
        uint32_t unit = order <= ReduceOrder::ORDER_INDEX_VALUE  ? 2 * size
                        : order == ReduceOrder::ORDER_ONLY_INDEX ? 4
                                                                 : size;
        uint8_t *dst = r.write(v.dst.address + repeat * v.dstRep * unit, unit);
        switch (order) {
        case ReduceOrder::ORDER_VALUE_INDEX: put(dst, type, value), std::memcpy(dst + size, &best, size); break;
        case ReduceOrder::ORDER_INDEX_VALUE: std::memcpy(dst, &best, size), put(dst + size, type, value); break;
        case ReduceOrder::ORDER_ONLY_VALUE: put(dst, type, value); break;
        case ReduceOrder::ORDER_ONLY_INDEX: std::memcpy(dst, &best, 4); break;
        }
    }
}

} // namespace

uint64_t kept(const VectorCall &v) {
    uint64_t n = static_cast<uint64_t>(v.count), one = 0;
    switch (v.mode) {
    case 1: one = (n + 1) / 2; break;
    case 2: one = n / 2; break;
    case 7: one = n; break;
    default: one = v.mode >= 3 && v.mode <= 6 ? (n + 6 - v.mode) / 4 : 0;
    }
    return one * v.repeat;
}

void runVector(Core &core, Call &call) {
    ++core.counters.vectorCalls;
    Run run{core, call, call.vec, core.memories.data(Mem::UB)};
    switch (call.vec.op) {
    case VOp::Cast: return runCast(run);
    case VOp::Compare:
    case VOp::CompareScalar: return runCompare(run);
    case VOp::Select:
    case VOp::SelectScalar: return runSelect(run);
    case VOp::Gather: return runGather(run);
    case VOp::GatherMask: return runGatherMask(run);
    case VOp::GatherBits: return runGatherBits(run);
    case VOp::Brcb: return runBrcb(run);
    case VOp::WholeReduceSum:
    case VOp::WholeReduceMax:
    case VOp::WholeReduceMin: return runReduce(run);
    default: return runElementwise(run);
    }
}

} // namespace AscendC::host

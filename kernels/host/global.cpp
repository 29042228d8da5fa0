// Global memory: which bytes a core may touch, and how copies reach them.
#include <cstring>

#include "core.h"

namespace AscendC::host {

namespace {

const char *const kVerbs[] = {"reads", "writes", "reads (scalar)", "writes (scalar)"};

const char *nameOf(const HpmoeHostRegion &region) { return region.name ? region.name : "without a name"; }

[[noreturn]] void outside(Core &core, Where where, const char *name, uint64_t address, uint64_t bytes, Access access) {
    const HpmoeHostRegion *nearest = nullptr;
    uint64_t best = ~uint64_t(0);
    for (const HpmoeHostRegion &r : core.rank->regions) {
        uint64_t base = reinterpret_cast<uint64_t>(r.base), end = base + r.bytes;
        uint64_t distance = address < base ? base - address : address >= end ? address - end + 1 : 0;
        if (distance < best) best = distance, nearest = &r;
    }
    const char *verb = kVerbs[static_cast<int>(access)];
    if (!nearest)
        fail(core, where, name, "%s global memory at %#llx, but this launch has no region", verb,
             static_cast<unsigned long long>(address));
    long long offset = static_cast<long long>(address - reinterpret_cast<uint64_t>(nearest->base));
    fail(core, where, name,
         "%s %llu bytes of global memory outside every region: they start at byte %lld of region %s (rank %u), "
         "which has %llu bytes",
         verb, static_cast<unsigned long long>(bytes), offset, nameOf(*nearest), nearest->rank,
         static_cast<unsigned long long>(nearest->bytes));
}

} // namespace

static uint64_t baseOf(const HpmoeHostRegion &region) { return reinterpret_cast<uint64_t>(region.base); }

static const HpmoeHostRegion *regionAt(Core &core, uint64_t address) {
    const auto &regions = core.rank->regions;
    size_t low = core.lastRegion, high = regions.size();
    // Most calls go where the last one went.
    if (low < high && baseOf(regions[low]) <= address && (low + 1 == high || address < baseOf(regions[low + 1])))
        return &regions[low];
    low = 0;
    while (low < high) { // the last region that starts at or before the address
        size_t middle = (low + high) / 2;
        if (baseOf(regions[middle]) <= address) low = middle + 1;
        else high = middle;
    }
    if (!low) return nullptr;
    core.lastRegion = static_cast<uint32_t>(low - 1);
    return &regions[low - 1];
}

const HpmoeHostRegion &checkGlobal(Core &core, Where where, const char *name, uint64_t address, uint64_t bytes,
                                   Access access) {
    const HpmoeHostRegion *r = regionAt(core, address);
    if (!r || address + bytes > reinterpret_cast<uint64_t>(r->base) + r->bytes || address + bytes < address)
        outside(core, where, name, address, bytes, access);
    if (r->rank != core.rank->options.rank) {
        if (access != Access::DmaWrite)
            fail(core, where, name,
                 "%s memory of rank %u (region %s): a rank reaches its peers by copies that write, only",
                 kVerbs[static_cast<int>(access)], r->rank, nameOf(*r));
        if (r->kind != HPMOE_HOST_SYMMETRIC)
            fail(core, where, name,
                 "writes private memory of rank %u (region %s): only symmetric memory can be reached", r->rank,
                 nameOf(*r));
    }
    if (!r->writable && (access == Access::DmaWrite || access == Access::ScalarWrite))
        fail(core, where, name, "%s region %s of rank %u, which is read-only", kVerbs[static_cast<int>(access)],
             nameOf(*r), r->rank);
    return *r;
}

bool isRemote(Core &core, uint64_t address) {
    const HpmoeHostRegion *r = regionAt(core, address);
    return r && r->rank != core.rank->options.rank;
}

void applyWrite(Atomic atomic, uint8_t *to, const uint8_t *from, uint32_t bytes) {
    if (atomic == Atomic::None) {
        std::memcpy(to, from, bytes);
        return;
    }
    for (uint32_t i = 0; i < bytes; i += 4) {
        auto *word = reinterpret_cast<uint32_t *>(to + i);
        uint32_t operand;
        std::memcpy(&operand, from + i, 4);
        if (atomic == Atomic::I32) {
            if (operand) __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
            continue;
        }
        uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED), sum;
        do sum = bitsOf(floatOf(old) + floatOf(operand));
        while (!__atomic_compare_exchange_n(word, &old, sum, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    }
}

void writeGlobal(Core &core, Atomic atomic, bool remote, uint64_t to, const void *from, uint32_t bytes) {
    core.counters.dmaBytes += bytes;
    if (remote) core.remote.send(core.random, atomic, to, static_cast<const uint8_t *>(from), bytes);
    else applyWrite(atomic, reinterpret_cast<uint8_t *>(to), static_cast<const uint8_t *>(from), bytes);
}

} // namespace AscendC::host

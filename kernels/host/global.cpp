// Global memory: the bytes that a core may access, and how copies reach them.
#include <algorithm>
#include <cstring>

#include "core.h"

namespace AscendC::host {

namespace {

const char *const kVerbs[] = {"reads", "writes", "reads (scalar)", "writes (scalar)"};

const char *nameOf(const HpmoeHostRegion &region) { return region.name ? region.name : "without a name"; }

[[noreturn]] void outside(Core &core, Where where, const char *name, uint64_t address, uint64_t bytes,
                          AccessKind access) {
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

static bool isIn(const HpmoeHostRegion &region, uint64_t address) { return address - baseOf(region) < region.bytes; }

static const HpmoeHostRegion *regionAt(Core &core, uint64_t address) {
    const auto &regions = core.rank->regions;
    uint32_t(&last)[4] = core.lastRegions;
    if (regions.empty()) return nullptr;
    // Most calls access one of the last regions again: descriptors, tables and counters alternate.
    if (isIn(regions[last[0]], address)) return &regions[last[0]];
    for (uint32_t i = 1; i < 4; ++i)
        if (isIn(regions[last[i]], address)) {
            std::rotate(last, last + i, last + i + 1);
            return &regions[last[0]];
        }
    size_t low = 0, high = regions.size();
    while (low < high) { // the last region that starts at or before the address
        size_t middle = (low + high) / 2;
        if (baseOf(regions[middle]) <= address) low = middle + 1;
        else high = middle;
    }
    if (!low) return nullptr;
    std::rotate(last, last + 3, last + 4);
    last[0] = static_cast<uint32_t>(low - 1);
    return &regions[low - 1];
}

const HpmoeHostRegion &checkGlobal(Core &core, Where where, const char *name, uint64_t address, uint64_t bytes,
                                   AccessKind access) {
    const HpmoeHostRegion *r = regionAt(core, address);
    if (!r || address + bytes > reinterpret_cast<uint64_t>(r->base) + r->bytes || address + bytes < address)
        outside(core, where, name, address, bytes, access);
    if (r->rank != core.rank->options.rank) {
        if (access != AccessKind::DmaWrite)
            fail(core, where, name,
                 "%s memory of rank %u (region %s): a rank reaches its peers by copies that write, only",
                 kVerbs[static_cast<int>(access)], r->rank, nameOf(*r));
        if (r->kind != HPMOE_HOST_SYMMETRIC)
            fail(core, where, name,
                 "writes private memory of rank %u (region %s): only symmetric memory can be reached", r->rank,
                 nameOf(*r));
    }
    if (!r->writable && (access == AccessKind::DmaWrite || access == AccessKind::ScalarWrite))
        fail(core, where, name, "%s region %s of rank %u, which is read-only", kVerbs[static_cast<int>(access)],
             nameOf(*r), r->rank);
    return *r;
}

bool isRemote(Core &core, uint64_t address) {
    const HpmoeHostRegion *r = regionAt(core, address);
    return r && r->rank != core.rank->options.rank;
}

static GlobalShadow *shadowAt(Core &core, uint64_t address) {
    if (!core.rank->races || !regionAt(core, address)) return nullptr;
    return core.rank->shadows[core.lastRegions[0]];
}

/// An access as messages name it: the call, its core and pipe, and its source position.
static std::string nameOf(Core &core, const Access &access) {
    const uint32_t cores = core.rank->races->coresOfRank(), aics = core.rank->options.aic;
    const uint32_t slot = access.core % cores;
    char text[320];
    std::snprintf(text, sizeof text, "%s (rank %u, %s %u, PIPE_%s, %s:%d)", access.name, access.core / cores,
                  slot < aics ? "AIC" : "AIV", slot < aics ? slot : slot - aics, kPipeNames[access.pipe],
                  access.where.file, access.where.line);
    return text;
}

static void expectNone(Core &core, const Access &by, uint64_t address, const Conflict &conflict) {
    if (!conflict.other) return;
    static const char *const verbs[] = {"reads what", "overwrites what", "overwrites what"};
    static const char *const ends[] = {"wrote", "wrote", "reads"};
    const int kind = static_cast<int>(conflict.kind);
    const bool own = conflict.other->core == by.core;
    const HpmoeHostRegion &region = *regionAt(core, address);
    fail(core, by.where, by.name,
         "race in region %s (rank %u), bytes %llu..%llu: this call (PIPE_%s) %s %s %s, and nothing orders the two. %s",
         nameOf(region), region.rank, static_cast<unsigned long long>(conflict.from),
         static_cast<unsigned long long>(conflict.from + conflict.bytes), kPipeNames[by.pipe], verbs[kind],
         nameOf(core, *conflict.other).c_str(), ends[kind],
         own ? "Put a flag or a PipeBarrier between them"
             : "Let that core signal a counter once it is done, and this one wait for it before the call is issued");
}

static Access accessOf(Core &core, const Call &call) {
    Done done = {core.rank->launchNumber, call.clock, call.landed, call.scalar};
    bool atomic = call.atomic != Atomic::None;
    return Access{core.numberOfAll(), call.pipe,  false, atomic,     call.seq,
                  call.name,          call.where, done,  call.heard, nullptr};
}

static Access scalarAccess(Core &core, Where where, const char *name, const Heard &heard) {
    Done done = {core.rank->launchNumber, core.known[PIPE_S], core.landed, ++core.scalar};
    return Access{core.numberOfAll(), PIPE_S, false, false, core.scalar, name, where, done, heard, nullptr};
}

Access *beginWrites(Core &core, const Call &call, bool remote) {
    if (!core.rank->races) return nullptr;
    Access access = accessOf(core, call);
    if (remote) access.remote = true, access.seq = ++core.sent;
    return &core.rank->races->note(std::move(access), true);
}

void endWrites(Core &core, Access *by, bool remote, uint64_t to, uint64_t rowBytes) {
    GlobalShadow *shadow = by && !remote && rowBytes > Cache::kLine ? shadowAt(core, to) : nullptr;
    if (shadow) core.rank->races->forget(*shadow, *by);
}

static_assert(static_cast<int>(Atomic::None) == HPMOE_HOST_PUT && static_cast<int>(Atomic::I32) == HPMOE_HOST_ADD_I32 &&
                  static_cast<int>(Atomic::F32) == HPMOE_HOST_ADD_F32,
              "numbers of the interface");

/// Lets the caller of the launch make a write to another rank's memory, or an addition to this rank's symmetric memory.
/// Returns whether the caller has made it.
static bool isWrittenFor(Core &core, Atomic atomic, uint64_t to, const uint8_t *from, uint32_t bytes) {
    const HpmoeHostPeers *peers = core.rank->options.peers;
    const HpmoeHostRegion *region = peers ? regionAt(core, to) : nullptr;
    if (!region) return false;
    const bool own = region->rank == core.rank->options.rank;
    if (own && (atomic == Atomic::None || region->kind != HPMOE_HOST_SYMMETRIC)) return false;
    const int32_t answer = peers->write(peers->context, region->rank, reinterpret_cast<void *>(to), from, bytes,
                                        static_cast<uint32_t>(atomic));
    if (answer == HPMOE_HOST_GONE)
        fail(core, core.lastIssue, "a write to a peer", "the memory of rank %u (region %s) is gone", region->rank,
             nameOf(*region));
    return answer == HPMOE_HOST_WRITTEN;
}

void landGlobal(Core &core, const Access *by, Atomic atomic, uint64_t to, const uint8_t *from, uint32_t bytes) {
    if (isWrittenFor(core, atomic, to, from, bytes)) return;
    GlobalShadow *shadow = by ? shadowAt(core, to) : nullptr;
    if (!shadow) return applyWrite(atomic, reinterpret_cast<uint8_t *>(to), from, bytes);
    expectNone(core, *by, to, core.rank->races->write(*shadow, *by, atomic, to, from, bytes));
}

void readsGlobal(Core &core, const Call &call, uint64_t from, uint32_t rows, uint64_t bytes, uint64_t pitch) {
    GlobalShadow *shadow = shadowAt(core, from);
    if (!shadow) return;
    Access &by = core.rank->races->note(accessOf(core, call), false);
    expectNone(core, by, from, core.rank->races->read(*shadow, by, from, rows, bytes, pitch));
}

const Heard *learnt(Core &core, uint64_t address) { return shadowAt(core, address) ? &core.heard : nullptr; }

void scalarReads(Core &core, Where where, const char *name, uint64_t address, uint32_t bytes, const Heard &heard) {
    GlobalShadow *shadow = shadowAt(core, address);
    if (!shadow) return;
    Access &by = core.rank->races->note(scalarAccess(core, where, name, heard), false);
    expectNone(core, by, address, core.rank->races->read(*shadow, by, address, 1, bytes, bytes));
}

void scalarWrites(Core &core, Where where, const char *name, uint64_t address, uint32_t bytes) {
    GlobalShadow *shadow = shadowAt(core, address);
    if (!shadow) return;
    const Access &by = core.rank->races->note(scalarAccess(core, where, name, core.heard), true);
    expectNone(core, by, address, core.rank->races->store(*shadow, by, address, bytes));
}

bool pollGlobal(Core &core, Where where, const char *name, uint64_t address, uint64_t *value) {
    GlobalShadow *shadow = shadowAt(core, address);
    if (!shadow) return false;
    Access by = scalarAccess(core, where, name, core.heard);
    *value = core.rank->races->poll(*shadow, by, core.random, address, &core.heard);
    return true;
}

} // namespace AscendC::host

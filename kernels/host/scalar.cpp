// The scalar unit: loads and stores of global memory through or around the cache, accesses of UB, and queries of the
// core.
#include <cstring>
#include <ctime>

#include "core.h"

namespace AscendC::host {

bool isAic() { return current().aic; }

namespace {

uint64_t endOf(const HpmoeHostRegion &region) { return reinterpret_cast<uint64_t>(region.base) + region.bytes; }

void aligned(Core &core, Where where, const char *name, uint64_t address, uint32_t bytes) {
    if (address % bytes)
        fail(core, where, name, "global address %#llx is not aligned to the %u bytes accessed",
             static_cast<unsigned long long>(address), bytes);
}

/// Checks that the line of an address is current: cache lines outlive a kernel and hide later changes of memory.
void currentLine(Core &core, Where where, const char *name, uint64_t address) {
    if (!core.cache.current(address))
        fail(core, where, name,
             "the scalar cache may hold this line as an earlier kernel left it: DataCacheCleanAndInvalid<T, "
             "CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT> once when the kernel begins");
}

/// Includes accesses of UB by the scalar unit in the search for races, like those of any call.
uint8_t *touchLocal(const Local &at, Where where, const char *name, bool write) {
    Core &core = enterCall();
    uint32_t bytes = sizeOf(at.type);
    Mem mem = checkLocal(core, where, name, "the tensor", at, bytes, bytes);
    if (mem != Mem::UB)
        fail(core, where, name, "the scalar unit reaches UB only, not %s", kMemNames[static_cast<int>(mem)]);
    Call call;
    call.pipe = PIPE_S, call.name = name, call.where = where;
    call.clock = core.known[PIPE_S];
    call.seq = ++core.seq[PIPE_S];
    core.memories.traces(PIPE_S).keep(Trace{call.seq, false, name, where});
    touch(core, call, mem, at.address, bytes, write);
    return core.memories.data(mem) + at.address;
}

/// Calls `access` with an integer type of `bytes` bytes.
template <typename F> auto withWidth(uint32_t bytes, F access) {
    switch (bytes) {
    case 1: return access(uint8_t());
    case 2: return access(uint16_t());
    case 4: return access(uint32_t());
    default: return access(uint64_t());
    }
}

/// A word of global memory, read around the cache.
uint64_t loadMemory(uint64_t address, uint32_t bytes) {
    return withWidth(bytes, [address](auto word) -> uint64_t {
        return __atomic_load_n(reinterpret_cast<decltype(word) *>(address), __ATOMIC_ACQUIRE);
    });
}

void storeMemory(uint64_t address, uint32_t bytes, uint64_t value) {
    withWidth(bytes, [address, value](auto word) {
        __atomic_store_n(reinterpret_cast<decltype(word) *>(address), static_cast<decltype(word)>(value),
                         __ATOMIC_RELEASE);
        return 0;
    });
}

} // namespace

uint64_t loadGlobal(uint64_t address, uint32_t bytes, Where where) {
    Core &core = enterLoad();
    const HpmoeHostRegion &region = checkGlobal(core, where, "GetValue", address, bytes, AccessKind::ScalarRead);
    aligned(core, where, "GetValue", address, bytes);
    const bool polls = bytes == 4 && core.polled == address;
    core.polled = 0;
    if (!polls) core.looks.forget();
    if (!core.checks) {
        const uint64_t value = loadMemory(address, bytes);
        if (polls) core.looks.end(address, static_cast<uint32_t>(value));
        return value;
    }
    currentLine(core, where, "GetValue", address);
    uint64_t value = core.cache.load(address, bytes, endOf(region), learnt(core, address));
    if (!polls || !pollGlobal(core, where, "GetValue", address, &value))
        scalarReads(core, where, "GetValue", address, bytes, core.cache.heard(address));
    if (polls) core.looks.end(address, static_cast<uint32_t>(value));
    return value;
}

void storeGlobal(uint64_t address, uint32_t bytes, uint64_t value, Where where) {
    Core &core = enterCall();
    const HpmoeHostRegion &region = checkGlobal(core, where, "SetValue", address, bytes, AccessKind::ScalarWrite);
    aligned(core, where, "SetValue", address, bytes);
    if (!core.checks) return storeMemory(address, bytes, value);
    currentLine(core, where, "SetValue", address);
    scalarWrites(core, where, "SetValue", address, bytes);
    core.cache.store(address, bytes, value, endOf(region), learnt(core, address), where);
}

uint64_t loadLocal(const Local &from, Where where) {
    uint64_t value = 0;
    std::memcpy(&value, touchLocal(from, where, "GetValue", false), sizeOf(from.type));
    return value;
}

void storeLocal(const Local &to, uint64_t value, Where where) {
    std::memcpy(touchLocal(to, where, "SetValue", true), &value, sizeOf(to.type));
}

void cleanAndInvalidate(uint64_t address, CacheLine line, DcciDst, Where where) {
    Looks &looks = current().looks;
    if (line == CacheLine::ENTIRE_DATA_CACHE) looks.forget();
    else looks.begin(address);
    Core &core = enterPoll();
    if (line == CacheLine::ENTIRE_DATA_CACHE) {
        core.cache.cleanAll();
        return;
    }
    checkGlobal(core, where, "DataCacheCleanAndInvalid", address, 1, AccessKind::ScalarRead);
    if (core.checks) core.cache.clean(address, core.rank->breaks(HPMOE_HOST_BREAK_POLL));
    core.polled = address;
}

void preload(uint64_t address, Where where) {
    Core &core = enterCall();
    const HpmoeHostRegion &region = checkGlobal(core, where, "DataCachePreload", address, 1, AccessKind::ScalarRead);
    if (!core.checks) return;
    currentLine(core, where, "DataCachePreload", address);
    core.cache.fetch(address, endOf(region), learnt(core, address));
}

void syncMemory(MemDsbT, Where) {
    enterCall();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

uint64_t loadAround(uint64_t address, uint32_t bytes, Where where) {
    current().looks.begin(address);
    Core &core = enterPoll();
    checkGlobal(core, where, "ReadGmByPassDCache", address, bytes, AccessKind::ScalarRead);
    aligned(core, where, "ReadGmByPassDCache", address, bytes);
    uint64_t value = 0;
    if (bytes != 4 || !pollGlobal(core, where, "ReadGmByPassDCache", address, &value)) {
        scalarReads(core, where, "ReadGmByPassDCache", address, bytes, core.heard);
        value = loadMemory(address, bytes);
    }
    if (bytes == 4) core.looks.end(address, static_cast<uint32_t>(value));
    else core.looks.forget();
    return value;
}

void storeAround(uint64_t address, uint32_t bytes, uint64_t value, Where where) {
    Core &core = enterCall();
    checkGlobal(core, where, "WriteGmByPassDCache", address, bytes, AccessKind::ScalarWrite);
    aligned(core, where, "WriteGmByPassDCache", address, bytes);
    scalarWrites(core, where, "WriteGmByPassDCache", address, bytes);
    storeMemory(address, bytes, value);
}

int64_t blockIdx() { return current().index; }

int64_t blockNum() {
    const HpmoeHostOptions &o = current().rank->options;
    return o.aic ? o.aic : o.aiv;
}

int64_t subBlockNum() {
    const HpmoeHostOptions &o = current().rank->options;
    return current().aic || !o.aic ? 1 : o.aiv / o.aic;
}

int64_t subBlockIdx() { return current().aic ? 0 : current().index % subBlockNum(); }

int64_t systemCycle(Where) {
    current().looks.pause();
    if (enterPoll().rank->breaks(HPMOE_HOST_BREAK_STUCK)) return 0;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t(now.tv_sec) * 50000000 + now.tv_nsec / 20;
}

} // namespace AscendC::host

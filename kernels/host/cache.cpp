#include "cache.h"

#include <cstring>

namespace AscendC::host {

namespace {

// Lines travel in words, so that a poller never sees half a counter.
void readLine(uint8_t *to, uint64_t from, uint32_t bytes) {
    uint32_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word = __atomic_load_n(reinterpret_cast<uint64_t *>(from + i), __ATOMIC_ACQUIRE);
        std::memcpy(to + i, &word, 8);
    }
    for (; i < bytes; ++i) to[i] = __atomic_load_n(reinterpret_cast<uint8_t *>(from + i), __ATOMIC_ACQUIRE);
}

void writeLine(uint64_t to, const uint8_t *from, uint32_t bytes) {
    uint32_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word;
        std::memcpy(&word, from + i, 8);
        __atomic_store_n(reinterpret_cast<uint64_t *>(to + i), word, __ATOMIC_RELEASE);
    }
    for (; i < bytes; ++i) __atomic_store_n(reinterpret_cast<uint8_t *>(to + i), from[i], __ATOMIC_RELEASE);
}

} // namespace

void Cache::clear() {
    for (Line &line : lines_) line.tag = 0, line.dirty = false;
}

Cache::Line &Cache::find(uint64_t address, uint64_t end) {
    uint64_t tag = address & ~uint64_t(kLine - 1);
    uint32_t slot = static_cast<uint32_t>(tag / kLine % kLines);
    Line &line = lines_[slot];
    if (line.tag == tag) return line;
    evict(slot);
    line.tag = tag;
    line.bytes = end - tag < kLine ? static_cast<uint32_t>(end - tag) : kLine;
    readLine(line.data, tag, line.bytes);
    return line;
}

uint64_t Cache::load(uint64_t address, uint32_t bytes, uint64_t end) {
    uint64_t value = 0;
    std::memcpy(&value, find(address, end).data + address % kLine, bytes);
    return value;
}

void Cache::store(uint64_t address, uint32_t bytes, uint64_t value, uint64_t end, Where where) {
    Line &line = find(address, end);
    std::memcpy(line.data + address % kLine, &value, bytes);
    line.dirty = true;
    line.where = where;
}

void Cache::evict(uint32_t slot) {
    Line &line = lines_[slot];
    if (line.tag && line.dirty) writeLine(line.tag, line.data, line.bytes);
    line.tag = 0;
    line.dirty = false;
}

void Cache::clean(uint64_t address) {
    uint64_t tag = address & ~uint64_t(kLine - 1);
    uint32_t slot = static_cast<uint32_t>(tag / kLine % kLines);
    if (lines_[slot].tag == tag) evict(slot);
}

void Cache::cleanAll() {
    for (uint32_t slot = 0; slot < kLines; ++slot) evict(slot);
}

const Where *Cache::dirty(uint64_t *address) const {
    for (const Line &line : lines_)
        if (line.tag && line.dirty) return *address = line.tag, &line.where;
    return nullptr;
}

} // namespace AscendC::host

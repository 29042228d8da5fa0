#include "cache.h"

#include <algorithm>
#include <cstring>

namespace AscendC::host {

namespace {

// Lines are copied word by word, so that a poller never sees half a counter.
void readLine(uint8_t *to, uint64_t from, uint32_t bytes) {
    uint32_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        uint64_t word = __atomic_load_n(reinterpret_cast<uint64_t *>(from + i), __ATOMIC_ACQUIRE);
        std::memcpy(to + i, &word, 8);
    }
    for (; i < bytes; ++i) to[i] = __atomic_load_n(reinterpret_cast<uint8_t *>(from + i), __ATOMIC_ACQUIRE);
}

template <typename T> void storeWord(uint64_t to, const uint8_t *from) {
    T word;
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(reinterpret_cast<T *>(to), word, __ATOMIC_RELEASE);
}

} // namespace

void storeWords(uint64_t to, const uint8_t *from, uint32_t bytes) {
    for (uint32_t i = 0, size = 0; i < bytes; i += size) {
        const uint64_t at = to + i;
        const uint32_t left = bytes - i;
        size = at % 8 == 0 && left >= 8 ? 8 : at % 4 == 0 && left >= 4 ? 4 : 1;
        if (size == 8) storeWord<uint64_t>(at, from + i);
        else if (size == 4) storeWord<uint32_t>(at, from + i);
        else storeWord<uint8_t>(at, from + i);
    }
}

void Cache::clear() {
    dropAll();
    forgot_ = false;
    cleaned_.clear();
    owed_.clear();
}

bool Cache::current(uint64_t address) const {
    uint64_t tag = address & ~uint64_t(kLine - 1);
    return forgot_ || std::find(cleaned_.begin(), cleaned_.end(), tag) != cleaned_.end();
}

Cache::Line &Cache::find(uint64_t address, uint64_t end, const Heard *heard) {
    uint64_t tag = address & ~uint64_t(kLine - 1);
    uint32_t slot = slotOf(tag);
    Line &line = lines_[slot];
    if (tags_[slot] == tag) return line;
    if (tags_[slot]) evict(slot);
    tags_[slot] = tag;
    full_[slot / 64] |= uint64_t(1) << slot % 64;
    if (heard) line.heard = *heard;
    line.bytes = end - tag < kLine ? static_cast<uint32_t>(end - tag) : kLine;
    readLine(line.data, tag, line.bytes);
    return line;
}

uint64_t Cache::load(uint64_t address, uint32_t bytes, uint64_t end, const Heard *heard) {
    uint64_t value = 0;
    std::memcpy(&value, find(address, end, heard).data + address % kLine, bytes);
    return value;
}

void Cache::store(uint64_t address, uint32_t bytes, uint64_t value, uint64_t end, const Heard *heard, Where where) {
    Line &line = find(address, end, heard);
    std::memcpy(line.data + address % kLine, &value, bytes);
    line.where = where;
    uint32_t slot = slotOf(address);
    dirty_[slot / 64] |= uint64_t(1) << slot % 64;
}

void Cache::evict(uint32_t slot) {
    if (isDirty(slot)) owed_.push_back(Owed{tags_[slot], lines_[slot].where});
    drop(slot);
}

void Cache::drop(uint32_t slot) {
    if (isDirty(slot)) storeWords(tags_[slot], lines_[slot].data, lines_[slot].bytes);
    tags_[slot] = 0;
    lines_[slot].heard.reset();
    const uint64_t others = ~(uint64_t(1) << slot % 64);
    full_[slot / 64] &= others, dirty_[slot / 64] &= others;
}

void Cache::clean(uint64_t address, bool onlyStored) {
    uint64_t tag = address & ~uint64_t(kLine - 1);
    if (tags_[slotOf(tag)] == tag && (isDirty(slotOf(tag)) || !onlyStored)) drop(slotOf(tag));
    auto same = [tag](const Owed &owed) { return owed.tag == tag; };
    owed_.erase(std::remove_if(owed_.begin(), owed_.end(), same), owed_.end());
    if (!current(tag)) cleaned_.push_back(tag);
}

void Cache::cleanAll() {
    cleanLines();
    owed_.clear();
    forgot_ = true;
}

void Cache::salvage() { cleanLines(); }

void Cache::cleanLines() {
    each(dirty_, [this](uint32_t slot) { drop(slot); });
    dropAll();
}

void Cache::dropAll() {
    each(full_, [this](uint32_t slot) { tags_[slot] = 0, lines_[slot].heard.reset(); });
    std::fill_n(full_, kLines / 64, 0);
    std::fill_n(dirty_, kLines / 64, 0);
}

const Where *Cache::dirty() const {
    for (uint32_t i = 0; i < kLines / 64; ++i)
        if (dirty_[i]) return &lines_[i * 64 + static_cast<uint32_t>(__builtin_ctzll(dirty_[i]))].where;
    return owed_.empty() ? nullptr : &owed_.front().where;
}

} // namespace AscendC::host

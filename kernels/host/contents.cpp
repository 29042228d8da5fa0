#include "contents.h"

#include <algorithm>

namespace AscendC::host {

Contents::Contents(uint32_t bytes) : groups_((bytes + kGroup - 1) / kGroup) {
    patterns_.reset(new uint32_t[groups_]);
    bytes_.reset(new (kAlignment) uint8_t[groups_ * kGroup]);
}

void Contents::poison() {
    std::fill_n(settled_, kMost / 64, 0);
    std::fill_n(patterns_.get(), groups_, ~0u);
}

void Contents::settleGroup(uint32_t group, uint32_t first, uint32_t end, bool write) {
    const uint32_t begin = group * kGroup;
    const uint64_t bit = uint64_t(1) << group % 64;
    if (settled_[group / 64] & bit) return;
    settled_[group / 64] |= bit;
    if (!write || first > begin || end < begin + kGroup)
        std::fill_n(reinterpret_cast<uint32_t *>(bytes_.get() + begin), kGroup / 4, patterns_[group]);
}

void Contents::fill(uint32_t first, uint32_t end, uint32_t pattern) {
    for (uint32_t at = first; at < end;) {
        const uint32_t group = at / kGroup, next = std::min(end, (group + 1) * kGroup);
        if (next - at == kGroup) {
            settled_[group / 64] &= ~(uint64_t(1) << group % 64);
            patterns_[group] = pattern;
        } else {
            settle(at, next, true);
            std::fill_n(reinterpret_cast<uint32_t *>(bytes_.get() + at), (next - at) / 4, pattern);
        }
        at = next;
    }
}

} // namespace AscendC::host

// The bytes of an on-chip memory. A launch starts with 0xFF in all of them, and kernels fill most of L1 before they
// load anything. To save time, a group of bytes is written only when a call touches a part of it.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace AscendC::host {

class Contents {
  public:
    explicit Contents(uint32_t bytes);
    /// The address of the bytes. Only bytes that were settled hold the memory's contents.
    uint8_t *bytes() { return bytes_.get(); }

    /// Sets all bytes to 0xFF.
    void poison();
    /// Sets bytes [first, end), which are whole 32-byte blocks, to a 32-bit pattern.
    void fill(uint32_t first, uint32_t end, uint32_t pattern);
    /// Prepares bytes [first, end) for a call that reads them, or that writes all of them.
    void settle(uint32_t first, uint32_t end, bool write) {
        for (uint32_t group = first / kGroup; group * kGroup < end;) {
            const uint32_t in = group % 64, left = (end - 1) / kGroup - group + 1,
                           count = left < 64 - in ? left : 64 - in;
            const uint64_t wanted = (~uint64_t(0) >> (64 - count)) << in;
            if (wanted & ~settled_[group / 64])
                for (uint32_t g = group; g < group + count; ++g) settleGroup(g, first, end, write);
            group += count;
        }
    }

  private:
    static constexpr uint32_t kGroup = 512; ///< bytes
    static constexpr uint32_t kMost = 1024; ///< groups of the largest memory
    /// A cache line of this machine, so that blocks and strips are aligned to cache lines, too.
    static constexpr std::align_val_t kAlignment{64};
    struct Release {
        void operator()(uint8_t *bytes) const { ::operator delete[](bytes, kAlignment); }
    };
    void settleGroup(uint32_t group, uint32_t first, uint32_t end, bool write);

    uint64_t settled_[kMost / 64];         ///< bit per group: its bytes hold the contents
    std::unique_ptr<uint32_t[]> patterns_; ///< contents of the other groups
    std::unique_ptr<uint8_t[], Release> bytes_;
    uint32_t groups_;
};

} // namespace AscendC::host

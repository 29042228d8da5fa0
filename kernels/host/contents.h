// The bytes of an on-chip memory. A launch begins with 0xFF in all of them, and kernels fill most of L1 before they load
// anything. Bytes that nobody looks at need not be written: a group of them is, when a call touches a part of it.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace AscendC::host {

class Contents {
  public:
    explicit Contents(uint32_t bytes);
    /// Where the bytes lie. Only those that were settled are what the memory holds.
    uint8_t *bytes() { return bytes_.get(); }

    /// All bytes become 0xFF.
    void poison();
    /// Bytes [first, end), which are whole 32-byte blocks, become a pattern of 32 bits.
    void fill(uint32_t first, uint32_t end, uint32_t pattern);
    /// A call reads bytes [first, end), or writes every one of them.
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
    /// Blocks and strips begin where lines of the machine's cache do.
    static constexpr std::align_val_t kAlignment{64};
    struct Release {
        void operator()(uint8_t *bytes) const { ::operator delete[](bytes, kAlignment); }
    };
    void settleGroup(uint32_t group, uint32_t first, uint32_t end, bool write);

    uint64_t settled_[kMost / 64];         ///< bit per group: its bytes are what the memory holds
    std::unique_ptr<uint32_t[]> patterns_; ///< what other groups hold
    std::unique_ptr<uint8_t[], Release> bytes_;
    uint32_t groups_;
};

} // namespace AscendC::host

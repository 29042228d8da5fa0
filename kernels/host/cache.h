// The scalar data cache of a core: 32 KiB in 64 B lines, written back whole, not coherent.
#pragma once

#include <cstdint>
#include <vector>

#include "call.h"

namespace AscendC::host {

/// Writes to global memory word by word, so that a poller never sees half a word.
void storeWords(uint64_t to, const uint8_t *from, uint32_t bytes);

class Cache {
  public:
    static constexpr uint32_t kLine = 64, kLines = 512;

    /// Starts a kernel: lines of earlier kernels are gone from the model, although the kernel has not invalidated them.
    void clear();
    /// Whether the kernel has invalidated the whole cache, or the line of this address.
    bool current(uint64_t address) const;
    /// Reads inside one line. `end` is the end of the region, which may cut the line short. `heard` is what the core
    /// has learnt of other cores; null if the memory is not searched for races.
    uint64_t load(uint64_t address, uint32_t bytes, uint64_t end, const Heard *heard);
    void store(uint64_t address, uint32_t bytes, uint64_t value, uint64_t end, const Heard *heard, Where where);
    /// What the core had learnt of other cores when it fetched the line of an address that it just loaded.
    const Heard &heard(uint64_t address) const { return lines_[slotOf(address)].heard; }
    void fetch(uint64_t address, uint64_t end, const Heard *heard) { find(address, end, heard); }
    /// Writes back and drops the line of an address; with `onlyStored`, only if the line was stored to.
    void clean(uint64_t address, bool onlyStored);
    void cleanAll();
    /// Writes back the lines that a stopped core still holds, so that the fault can be examined.
    void salvage();
    void evict(uint32_t slot);
    /// The place of a store that was never written back; null if there is none.
    const Where *dirty() const;

  private:
    struct Line {
        uint8_t data[kLine];
        uint32_t bytes;
        Where where; ///< place of the store in the source
        Heard heard;
    };
    Line &find(uint64_t address, uint64_t end, const Heard *heard);
    struct Owed {
        uint64_t tag;
        Where where;
    };
    static uint32_t slotOf(uint64_t tag) { return static_cast<uint32_t>(tag / kLine % kLines); }
    bool isDirty(uint32_t slot) const { return dirty_[slot / 64] >> slot % 64 & 1; }
    /// Calls `visit` with each line in a set of lines.
    template <typename F> static void each(const uint64_t (&set)[kLines / 64], F visit) {
        for (uint32_t i = 0; i < kLines / 64; ++i)
            for (uint64_t left = set[i]; left; left &= left - 1)
                visit(i * 64 + static_cast<uint32_t>(__builtin_ctzll(left)));
    }
    void drop(uint32_t slot);
    void dropAll();
    void cleanLines();
    uint64_t tags_[kLines] = {};       ///< addresses of the lines; 0: empty
    uint64_t full_[kLines / 64] = {};  ///< bit per line: it is in use
    uint64_t dirty_[kLines / 64] = {}; ///< bit per line: it was stored to
    Line lines_[kLines];
    std::vector<Owed> owed_;        ///< lines that were written back only by chance
    bool forgot_;                   ///< the whole cache was invalidated
    std::vector<uint64_t> cleaned_; ///< lines that were invalidated one by one before that
};

} // namespace AscendC::host

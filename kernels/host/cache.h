// The scalar data cache of a core: 32 KiB of 64 B lines, written back whole, coherent with nobody.
#pragma once

#include <cstdint>
#include <vector>

#include "call.h"

namespace AscendC::host {

/// Writes to global memory word by word, so that whoever polls one never sees half of it.
void storeWords(uint64_t to, const uint8_t *from, uint32_t bytes);

class Cache {
  public:
    static constexpr uint32_t kLine = 64, kLines = 512;

    /// A kernel begins: what earlier ones left is there no more, but nobody told the core.
    void clear();
    /// Whether the kernel has told the core to forget what it holds of an address.
    bool current(uint64_t address) const;
    /// Reads inside one line; `end` is where the region ends (a line may be cut short by it). `heard` is what the core has learnt of
    /// others, null for memory in which nobody searches for races.
    uint64_t load(uint64_t address, uint32_t bytes, uint64_t end, const Heard *heard);
    void store(uint64_t address, uint32_t bytes, uint64_t value, uint64_t end, const Heard *heard, Where where);
    /// What the core had learnt of others when it fetched the line of an address that it has just loaded.
    const Heard &heard(uint64_t address) const { return lines_[slotOf(address)].heard; }
    void fetch(uint64_t address, uint64_t end, const Heard *heard) { find(address, end, heard); }
    /// Writes back and drops the line of an address; if `onlyStored`, only a line that was stored to.
    void clean(uint64_t address, bool onlyStored);
    void cleanAll();
    /// Writes back what a core that was stopped still held, for those who look for the fault.
    void salvage();
    void evict(uint32_t slot);
    /// A store that nobody asked to be written back; null if there is none.
    const Where *dirty() const;

  private:
    struct Line {
        uint8_t data[kLine];
        uint32_t bytes;
        Where where; ///< of the store
        Heard heard;
    };
    Line &find(uint64_t address, uint64_t end, const Heard *heard);
    struct Owed {
        uint64_t tag;
        Where where;
    };
    static uint32_t slotOf(uint64_t tag) { return static_cast<uint32_t>(tag / kLine % kLines); }
    bool isDirty(uint32_t slot) const { return dirty_[slot / 64] >> slot % 64 & 1; }
    /// Calls `visit` with each slot of a set.
    template <typename F> static void each(const uint64_t (&set)[kLines / 64], F visit) {
        for (uint32_t i = 0; i < kLines / 64; ++i)
            for (uint64_t left = set[i]; left; left &= left - 1)
                visit(i * 64 + static_cast<uint32_t>(__builtin_ctzll(left)));
    }
    void drop(uint32_t slot);
    void dropAll();
    void cleanLines();
    uint64_t tags_[kLines] = {};       ///< addresses of the lines; 0: empty
    uint64_t full_[kLines / 64] = {};  ///< bit per line: it is not empty
    uint64_t dirty_[kLines / 64] = {}; ///< bit per line
    Line lines_[kLines];
    std::vector<Owed> owed_;        ///< lines that were written back by chance alone
    bool forgot_;                   ///< all of it
    std::vector<uint64_t> cleaned_; ///< single lines, until then
};

} // namespace AscendC::host

// The scalar data cache of a core: 32 KiB of 64 B lines, written back whole, coherent with nobody.
#pragma once

#include <cstdint>

#include "ascendc/base.h"

namespace AscendC::host {

class Cache {
  public:
    static constexpr uint32_t kLine = 64, kLines = 512;

    void clear();
    /// Reads inside one line; `end` is where the region ends (a line may be cut short by it).
    uint64_t load(uint64_t address, uint32_t bytes, uint64_t end);
    void store(uint64_t address, uint32_t bytes, uint64_t value, uint64_t end, Where where);
    void fetch(uint64_t address, uint64_t end) { find(address, end); }
    /// Writes back and drops the line of an address.
    void clean(uint64_t address);
    void cleanAll();
    void evict(uint32_t slot);
    /// A line whose stores were never written back; null if there is none.
    const Where *dirty(uint64_t *address) const;

  private:
    struct Line {
        uint64_t tag; ///< address of the line; 0: empty
        uint32_t bytes;
        bool dirty;
        Where where; ///< of the store
        uint8_t data[kLine];
    };
    Line &find(uint64_t address, uint64_t end);
    Line lines_[kLines];
};

} // namespace AscendC::host

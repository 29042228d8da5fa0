// The words that a core polls while it does nothing else. Until one of them changes, polling again finds nothing new.
#pragma once

#include <cstdint>

namespace AscendC::host {

class Looks {
  public:
    /// Tells that the core does something other than polling.
    void forget() { count_ = 0, again_ = false; }
    /// Tells that the core is about to poll a word. If it has polled the word before, it has polled all its words once.
    void begin(uint64_t address) { again_ = find(address) < count_; }
    /// Tells that the core is about to query something else that can change.
    void pause() { again_ = false; }
    /// Tells the value that the poll returned.
    void end(uint64_t address, uint32_t value) {
        uint32_t at = find(address);
        if (at == kMost) return forget();
        if (at == count_) ++count_;
        addresses_[at] = address, values_[at] = value;
    }
    /// Whether the core has polled all its words.
    bool again() const { return again_; }
    /// Whether the core has polled all its words, and none has changed since.
    bool isInVain() const {
        for (uint32_t i = 0; again_ && i < count_; ++i)
            if (__atomic_load_n(reinterpret_cast<uint32_t *>(addresses_[i]), __ATOMIC_ACQUIRE) != values_[i])
                return false;
        return again_;
    }

  private:
    static constexpr uint32_t kMost = 4;
    uint32_t find(uint64_t address) const {
        uint32_t i = 0;
        while (i < count_ && addresses_[i] != address) ++i;
        return i;
    }
    uint64_t addresses_[kMost];
    uint32_t values_[kMost];
    uint32_t count_ = 0;
    bool again_ = false;
};

} // namespace AscendC::host

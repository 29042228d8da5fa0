// The generator behind every random choice: small, seeded, one per core.
#pragma once

#include <cstdint>

namespace AscendC::host {

class Random {
  public:
    explicit Random(uint64_t seed = 0) : state_(seed) {}

    uint64_t next() { // splitmix64
        uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
    bool oneIn(uint32_t n) { return below(n) == 0; }

  private:
    uint64_t state_;
};

} // namespace AscendC::host

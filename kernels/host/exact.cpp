#include "exact.h"

#include <algorithm>
#include <cstring>

#include "clones.h"
#include "lanes.h"

namespace AscendC::host {

namespace {

constexpr uint32_t kBias = 127, kFraction = 7, kSmallest = 149;

} // namespace

void Exponents::join(Exponents other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
}

HPMOE_CLONES Exponents exponentsOf(const float *rows, uint32_t depth, uint32_t lanes) {
    uint32_t smallest = ~0u, largest = 0;
    for (uint32_t first = 0; first < lanes; first += 8) {
        // A zero, less one, is larger than any number.
        Word8 least = Word8{} - 1, most{};
        for (uint32_t k = 0; k < depth; ++k) {
            Word8 words;
            std::memcpy(&words, rows + k * 16 + first, sizeof words);
            const Word8 magnitudes = words & 0x7FFFFFFF, lessOne = magnitudes - 1;
            least = lessOne < least ? lessOne : least;
            most = magnitudes > most ? magnitudes : most;
        }
        for (uint32_t i = 0; i < lanes - first && i < 8; ++i) {
            smallest = std::min<uint32_t>(smallest, least[i]);
            largest = std::max<uint32_t>(largest, most[i]);
        }
    }
    return {smallest == ~0u ? 255 : (smallest + 1) >> 23, largest >> 23};
}

bool productsAreExact(Exponents a, Exponents b) {
    // Infinities and NaNs have the exponent 255, and nothing is claimed about them.
    if (std::max(a.most, b.most) == 255) return false;
    // Subnormal numbers have the last place of the smallest normal ones.
    const uint32_t least = std::max(a.least, 1u) + std::max(b.least, 1u);
    // The last place of a product is that of one factor times that of the other; every product is below two to the
    // (a.most - bias + 1) + (b.most - bias + 1).
    return least + kSmallest >= 2 * (kBias + kFraction) && a.most + b.most + 2 <= 128 + 2 * kBias;
}

} // namespace AscendC::host

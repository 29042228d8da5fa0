#include "exact.h"

#include <algorithm>
#include <cstring>

#include "clones.h"
#include "lanes.h"

namespace AscendC::host {

namespace {

constexpr uint32_t kBias = 127, kFraction = 7, kSmallest = 149;
constexpr uint32_t kLine = 16; // numbers of a fractal's line

} // namespace

void Exponents::join(Exponents other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
}

HPMOE_CLONES Exponents exponentsOf(const uint8_t *fractals, uint32_t depth, uint32_t lines, size_t step) {
    // A zero, less one, is larger than any number; so is what lies beyond `depth`, which counts as zero.
    Half16 least = Half16{} - 1, most{};
    for (uint32_t k = 0; k < depth; k += kLine, fractals += step) {
        Half16 magnitude{};
        for (uint32_t i = 0; i < kLine; ++i) magnitude[i] = k + i < depth ? 0x7FFF : 0;
        for (uint32_t line = 0; line < lines; ++line) {
            Half16 words;
            std::memcpy(&words, fractals + line * sizeof words, sizeof words);
            const Half16 magnitudes = words & magnitude, lessOne = magnitudes - 1;
            least = lessOne < least ? lessOne : least;
            most = magnitudes > most ? magnitudes : most;
        }
    }
    uint16_t smallest = 0xFFFF, largest = 0;
    for (uint32_t i = 0; i < kLine; ++i) {
        smallest = std::min<uint16_t>(smallest, least[i]);
        largest = std::max<uint16_t>(largest, most[i]);
    }
    return {smallest == 0xFFFF ? 255u : (smallest + 1u) >> kFraction, uint32_t(largest) >> kFraction};
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

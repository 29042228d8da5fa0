#include "exact.h"

#include <algorithm>
#include <cstring>

#include "clones.h"
#include "lanes.h"

namespace AscendC::host {

namespace {

constexpr uint32_t kBias = 127, kFraction = 7, kSmallest = 149;
constexpr uint32_t kLine = 16; // numbers in one line of a fractal

} // namespace

void Exponents::join(Exponents other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
}

HPMOE_CLONES Exponents exponentsOf(const uint8_t *fractals, uint32_t depth, uint32_t lines, size_t step) {
    // Zero minus one is larger than any number, and numbers beyond `depth` count as zero, so `least` ignores both.
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
    // Infinities and NaNs have the exponent 255; no claim is made about them.
    if (std::max(a.most, b.most) == 255) return false;
    // The last bit of a subnormal number has the same value as that of the smallest normal numbers.
    const uint32_t least = std::max(a.least, 1u) + std::max(b.least, 1u);
    // The value of a product's last bit is that of one factor's last bit times the other's. Every product is less than
    // two to the power (a.most - bias + 1) + (b.most - bias + 1).
    return least + kSmallest >= 2 * (kBias + kFraction) && a.most + b.most + 2 <= 128 + 2 * kBias;
}

} // namespace AscendC::host

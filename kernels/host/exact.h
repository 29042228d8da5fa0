// Whether floats can be multiplied without rounding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace AscendC::host {

/// The magnitudes of some floats that are bf16: biased exponents of the smallest one that is not zero and of the largest.
/// Without a number other than zero: 255 and 0.
struct Exponents {
    uint32_t least = 255, most = 0;

    void join(Exponents other);
};

/// Of the first `lines` lines of a strip of fractals that are `step` bytes apart: `depth` numbers of each.
Exponents exponentsOf(const uint8_t *fractals, uint32_t depth, uint32_t lines, size_t step);

/// Whether a float holds the product of any bf16 of one range and any of the other: its 16 bits lie between the last place of the
/// smallest subnormal number and the largest finite one.
bool productsAreExact(Exponents a, Exponents b);

} // namespace AscendC::host

// Whether floats can be multiplied without rounding.
#pragma once

#include <cstdint>

namespace AscendC::host {

/// The magnitudes of some floats that are bf16: biased exponents of the smallest one that is not zero and of the largest.
/// Without a number other than zero: 255 and 0.
struct Exponents {
    uint32_t least = 255, most = 0;

    void join(Exponents other);
};

/// Of the first `lanes` of each of `depth` rows of 16 floats.
Exponents exponentsOf(const float *rows, uint32_t depth, uint32_t lanes);

/// Whether a float holds the product of any bf16 of one range and any of the other: its 16 bits lie between the last place of the
/// smallest subnormal number and the largest finite one.
bool productsAreExact(Exponents a, Exponents b);

} // namespace AscendC::host

// Whether floats can be multiplied without rounding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace AscendC::host {

/// The range of magnitudes of a set of bf16 floats: the biased exponents of the smallest non-zero float and of the
/// largest one. They are 255 and 0 if all floats are zero.
struct Exponents {
    uint32_t least = 255, most = 0;

    void join(Exponents other);
};

/// The range of the first `lines` lines of a strip of fractals. Fractals are `step` bytes apart, and a line has `depth`
/// numbers.
Exponents exponentsOf(const uint8_t *fractals, uint32_t depth, uint32_t lines, size_t step);

/// Whether a float holds the product of any bf16 of one range with any of the other exactly: the 16 bits of each
/// product lie between the last bit of the smallest subnormal number and the first bit of the largest finite number.
bool productsAreExact(Exponents a, Exponents b);

} // namespace AscendC::host

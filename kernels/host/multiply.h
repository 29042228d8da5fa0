// The arithmetic of Mmad, on unpacked operands.
#pragma once

#include <cstdint>

namespace AscendC::host {

/// c[i][0..16] += sum over k of a[i][k] * b[k][0..16], for `rows` rows: one product and one addition per k, in ascending k.
/// With `fromZero`, c counts as zero. Strips of 16 rows of a are `pitch` columns long, of which `depth` take part.
///
/// Where every product is `exact`, rounding it changes nothing: product and addition may then be one step of half the time, with
/// the same bits.
void multiplyStrip(float *c, const float *a, const float *b, uint32_t rows, uint32_t depth, uint32_t pitch,
                   bool fromZero, bool exact);

} // namespace AscendC::host

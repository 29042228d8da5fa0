// The arithmetic of Mmad, on unpacked operands.
#pragma once

#include <cstdint>

namespace AscendC::host {

/// c[i][0..16] += sum over k of a[i][k] * b[k][0..16], for `rows` rows: one product and one sum per k, in ascending k.
/// With `fromZero`, c starts at zero. A strip of 16 rows of a has `pitch` columns, of which the first `depth` are used.
///
/// If every product is `exact`, rounding a product changes nothing. Product and sum may then be one fused step, which
/// takes half the time and gives the same bits.
void multiplyStrip(float *c, const float *a, const float *b, uint32_t rows, uint32_t depth, uint32_t pitch,
                   bool fromZero, bool exact);

} // namespace AscendC::host

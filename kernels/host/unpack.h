// Unpacks operands of Mmad to floats: fractals become strips of 16 rows or columns, which a loop reads k by k.
#pragma once

#include "call.h"

namespace AscendC::host {

/// Contraction length of an unpacked operand: that of the Mmad, rounded up to whole fractals.
inline uint32_t unpackedDepth(const MmadArgs &p) {
    uint32_t c0 = 32 / sizeOf(p.type);
    return (p.k + c0 - 1) / c0 * c0;
}

/// Unpacks A from zZ format to strips of 16 rows, with `unpackedDepth` columns of 16 floats each. If m = 1, A is a
/// plain vector and only one row of a strip is used.
void unpackLeft(float *to, const uint8_t *from, const MmadArgs &p);

/// Unpacks 16 columns of B from nZ format: `unpackedDepth` rows of 16 floats.
void unpackRight(float *to, const uint8_t *from, uint32_t strip, const MmadArgs &p);

} // namespace AscendC::host

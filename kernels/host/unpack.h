// Operands of a Mmad as floats: what lies in fractals becomes strips of 16 that a loop can walk, k by k.
#pragma once

#include "call.h"

namespace AscendC::host {

/// Contraction of an unpacked operand: that of the Mmad, rounded up to whole fractals.
inline uint32_t unpackedDepth(const MmadArgs &p) {
    uint32_t c0 = 32 / sizeOf(p.type);
    return (p.k + c0 - 1) / c0 * c0;
}

/// A in zZ to strips of 16 rows, each `unpackedDepth` columns of 16 floats. With m = 1, A is a plain vector, and a strip has
/// one row that counts.
void unpackLeft(float *to, const uint8_t *from, const MmadArgs &p);

/// A strip of 16 columns of B in nZ: `unpackedDepth` rows of 16 floats.
void unpackRight(float *to, const uint8_t *from, uint32_t strip, const MmadArgs &p);

} // namespace AscendC::host

// The state registers of a core, which calls set for later calls and for the next kernel.
#pragma once

#include "call.h"

namespace AscendC::host {

/// Numbers of the control register's bits that calls set.
constexpr int kRoundsFloatsBit = 46, kInfinitiesBit = 48, kRowMajorBit = 51;

struct Registers {
    bool known = false; ///< set by InitSocState; until then, the next two have the values that an earlier kernel left
    Atomic atomic = Atomic::None;
    bool masked = false;       ///< some lanes of vector calls are off
    bool rowMajor = false;     ///< a control bit that InitSocState does not reset
    bool roundsFloats = false; ///< control bit: products use fewer bits of f32 operands (HF32)
    bool floatsSet = false;    ///< whether this kernel has set that bit; until then, it is as an earlier kernel left it
    bool keepsInfinities = false; ///< control bit: 16-bit floats keep infinities and NaN
    bool keptThemBefore = false;  ///< the bit's value when the kernel began, which must be restored
    bool infinitiesSet = false;   ///< whether this kernel has set that bit
    uint64_t others = 0;          ///< other control bits, as an earlier kernel left them
    Where atomicAt = {}, maskedAt = {}, rowMajorAt = {}, floatsAt = {}, infinitiesAt = {};
};

} // namespace AscendC::host

// The state registers of a core: what calls set for those that follow, and for the next kernel.
#pragma once

#include "call.h"

namespace AscendC::host {

/// Bits of the control register that calls set.
constexpr int kRoundsFloatsBit = 46, kInfinitiesBit = 48, kRowMajorBit = 51;

struct Registers {
    bool known = false; ///< by InitSocState; until then the first two are as an earlier kernel left them
    Atomic atomic = Atomic::None;
    bool masked = false;          ///< some lanes of vector calls are off
    bool rowMajor = false;        ///< a control bit, which InitSocState leaves alone
    bool roundsFloats = false;    ///< another one: products take f32 operands with fewer bits (HF32)
    bool floatsSet = false;       ///< by this kernel; until then it is as an earlier one left it
    bool keepsInfinities = false; ///< another one: infinities and NaN of 16-bit floats are kept
    bool keptThemBefore = false;  ///< its value when the kernel began, which another one needs
    bool infinitiesSet = false;   ///< by this kernel
    uint64_t others = 0;          ///< control bits that no call here sets, as an earlier kernel left them
    Where atomicAt = {}, maskedAt = {}, rowMajorAt = {}, floatsAt = {}, infinitiesAt = {};
};

} // namespace AscendC::host

// Bits of a core's control register, through the functions of the compiler that every version of CANN has from 8.5 on.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// If the bit is set, 16-bit floats keep infinities and NaN; if not, the largest number and zero take their place.
constexpr int64_t KEEPS_INFINITIES = 48;

HPMOE_INLINE bool HasControl(int64_t bit) { return (static_cast<uint64_t>(get_ctrl()) >> bit & 1) != 0; }

HPMOE_INLINE void SetControl(int64_t bit, bool on) {
    const uint64_t now = static_cast<uint64_t>(get_ctrl());
    set_ctrl(on ? sbitset1(now, bit) : sbitset0(now, bit));
}

} // namespace hpmoe

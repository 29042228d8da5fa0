// Bits of a core's control register, set through compiler functions that exist in every version of CANN from 8.5 on.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// If this bit is set, 16-bit floats keep infinities and NaN; if not, they become the largest number and zero.
constexpr int64_t KEEPS_INFINITIES = 48;

HPMOE_INLINE bool HasControl(int64_t bit) { return (static_cast<uint64_t>(get_ctrl()) >> bit & 1) != 0; }

HPMOE_INLINE void SetControl(int64_t bit, bool on) {
    const uint64_t now = static_cast<uint64_t>(get_ctrl());
    set_ctrl(on ? sbitset1(now, bit) : sbitset0(now, bit));
}

} // namespace hpmoe

#include "multiply.h"

#include <cstring>

#include "clones.h"
#include "lanes.h"

namespace AscendC::host {

namespace {

using Multiply = void (*)(float *, const float *, const float *, uint32_t, uint32_t, uint32_t, bool);

// At least x86-64-v2, whatever the other clones use: below it, g++ splits every product and sum into two instructions.
#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("O2")
#endif
/// Each product is rounded, then each sum.
namespace rounded {
#include "multiply_loops.h"
} // namespace rounded

#ifdef __clang__
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif
/// Product and sum are one instruction, if the machine has one, which rounds once.
namespace fused {
#include "multiply_loops.h"
} // namespace fused
#ifdef __clang__
#pragma clang fp contract(off)
#else
#pragma GCC pop_options
#endif

} // namespace

void multiplyStrip(float *c, const float *a, const float *b, uint32_t rows, uint32_t depth, uint32_t pitch,
                   bool fromZero, bool exact) {
    static const Multiply apart = rounded::best(), together = fused::best();
    (exact ? together : apart)(c, a, b, rows, depth, pitch, fromZero);
}

} // namespace AscendC::host

// Keywords of the device compiler, and the source position that every call carries on the host.
#pragma once

#include <cfloat>
#include <cstdint>

// Results have the reference's bits only if the compiler follows IEEE 754 and keeps the order of operations. hpmoe-cxx
// appends flags for this after the flags of the environment.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||                               \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error                                                                                                                 \
    "hpmoe: this compiler changes arithmetic (-ffast-math, -Ofast or one of their parts), so kernels would compute different bits: leave it out of the flags"
#endif
#if FLT_EVAL_METHOD != 0
#error                                                                                                                 \
    "hpmoe: this compiler computes float with more bits than float has, so kernels would compute different bits: leave out -mfpmath=387"
#endif

#define __global__
#define __aicore__
#define __gm__
#define __ubuf__
// The number of matrix and vector cores of a group, on the entry point of a kernel. A ratio other than 1:2 does not
// compile.
#define __mix__(matrix, vector) HPMOE_MIX_##matrix##_##vector
#define HPMOE_MIX_1_2
#define GM_ADDR __gm__ uint8_t *

namespace AscendC::host {

/// The source position of a call in a kernel. It is the default argument of every call of the subset.
struct Where {
    const char *file;
    int line;
    static constexpr Where here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
        return Where{file, line};
    }
};

bool isAic();

} // namespace AscendC::host

// Kernels write this without parentheses (`if ASCEND_IS_AIC { }`). On the device the macro expands to `constexpr (..)`;
// here it is a condition on the running core. Neither is an expression.
#define ASCEND_IS_AIC (const bool aic = ::AscendC::host::isAic(); aic)
#define ASCEND_IS_AIV (const bool aic = ::AscendC::host::isAic(); !aic)

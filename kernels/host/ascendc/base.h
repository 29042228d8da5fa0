// Keywords of the device compiler, and the source position that every call carries on the host.
#pragma once

#include <cstdint>

#define __global__
#define __aicore__
#define __gm__
#define __ubuf__
#define GM_ADDR __gm__ uint8_t *

namespace AscendC::host {

/// Where a kernel made a call: the default argument of every call of the subset.
struct Where {
    const char *file;
    int line;
    static constexpr Where here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
        return Where{file, line};
    }
};

bool isAic();

} // namespace AscendC::host

// Written without parentheses in kernels (`if ASCEND_IS_AIC { }`): on the device the macro brings
// `constexpr (..)`, here a condition of the core that runs.
#define ASCEND_IS_AIC (::AscendC::host::isAic())
#define ASCEND_IS_AIV (!::AscendC::host::isAic())

enum KernelType { KERNEL_TYPE_MIX_AIC_1_2 };
#define KERNEL_TASK_TYPE_DEFAULT(type) static_assert((type) == KERNEL_TYPE_MIX_AIC_1_2, "1:2 only")

// Enumerations of AscendC, with the device's names.
#pragma once

#include <cstdint>

enum pipe_t : uint8_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL };
enum QuantMode_t { NoQuant, F322F16, F322BF16 };

namespace AscendC {

enum class TPosition : uint8_t { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC };

// clang-format off
/// A pair of pipes: source * 8 + destination. Calls check whether the core has both pipes.
enum class HardEvent : uint8_t {
#define HPMOE_EVENT(src, dst) src##_##dst = PIPE_##src * 8 + PIPE_##dst
    HPMOE_EVENT(MTE2, MTE1), HPMOE_EVENT(MTE1, MTE2), HPMOE_EVENT(MTE1, M), HPMOE_EVENT(M, MTE1),
    HPMOE_EVENT(M, FIX), HPMOE_EVENT(FIX, M), HPMOE_EVENT(MTE2, M), HPMOE_EVENT(M, MTE2),
    HPMOE_EVENT(MTE2, MTE3), HPMOE_EVENT(MTE3, MTE2), HPMOE_EVENT(MTE1, MTE3), HPMOE_EVENT(MTE3, MTE1),
    HPMOE_EVENT(MTE1, FIX), HPMOE_EVENT(FIX, MTE1), HPMOE_EVENT(MTE2, FIX), HPMOE_EVENT(FIX, MTE2),
    HPMOE_EVENT(FIX, MTE3), HPMOE_EVENT(FIX, FIX), HPMOE_EVENT(S, MTE2), HPMOE_EVENT(MTE2, S),
    HPMOE_EVENT(S, MTE3), HPMOE_EVENT(MTE3, S), HPMOE_EVENT(FIX, S), HPMOE_EVENT(M, S),
    HPMOE_EVENT(MTE2, V), HPMOE_EVENT(V, MTE2), HPMOE_EVENT(V, MTE3), HPMOE_EVENT(MTE3, V),
    HPMOE_EVENT(S, V), HPMOE_EVENT(V, S), HPMOE_EVENT(V, V),
#undef HPMOE_EVENT
};
// clang-format on

enum class RoundMode : uint8_t { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class MemDsbT : uint8_t { ALL, DDR, UB, SEQ };
enum class CO2Layout : uint8_t { NZ, ROW_MAJOR };

struct FixpipeConfig {
    CO2Layout format;
};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};

} // namespace AscendC

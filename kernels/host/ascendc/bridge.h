// The interface between the thin templates that kernels include and the code that is compiled once. All types are
// plain: addresses are in bytes, element types are codes.
#pragma once

#include <cstdint>

#include "ascendc/base.h"
#include "ascendc/enums.h"
#include "ascendc/numbers.h"
#include "ascendc/params.h"

namespace AscendC::host {

/// A range of an on-chip memory, from an address to the end of its tensor.
struct Local {
    TPosition position;
    Dt type;
    uint32_t address; ///< bytes
    uint32_t end;     // end of the tensor, in bytes
};

/// An address in global memory.
struct Global {
    uint64_t address;
    Dt type;
};

// clang-format off
enum class VOp : uint8_t {
    Add, Sub, Mul, Div, Max, Min,             // two sources
    Adds, Muls, Maxs, Mins, ShiftRight, Axpy, // a source and a scalar
    Exp, Ln, Sqrt, Rsqrt, Reciprocal, Abs, Relu, Copy, // one source
    Duplicate,                                // none
    Cast, Compare, CompareScalar, Select, SelectScalar, Gather, GatherMask, GatherBits, Brcb,
    WholeReduceSum, WholeReduceMax, WholeReduceMin,
};
// clang-format on

/// One vector call. In count form, `masked` is false and strides are unused.
struct VectorCall {
    const char *name;
    VOp op;
    Local dst, a, b, c;
    uint64_t scalar;
    int64_t count;
    bool masked;
    uint8_t mode; ///< RoundMode, CMPMODE, ReduceOrder, or GatherMask's pattern
    uint64_t mask[2];
    uint32_t repeat;
    uint16_t dstBlk, aBlk, bBlk; // in units of 32 B
    uint16_t dstRep, aRep, bRep; // in units of 32 B; for reductions dstRep counts results
};

// tensor.h
uint64_t loadGlobal(uint64_t address, uint32_t bytes, Where where);
void storeGlobal(uint64_t address, uint32_t bytes, uint64_t value, Where where);
uint64_t loadLocal(const Local &from, Where where);
void storeLocal(const Local &to, uint64_t value, Where where);

// copy.h
void copyIn(const Local &dst, const Global &src, const DataCopyParams &params, Where where);
void copyInCount(const Local &dst, const Global &src, uint32_t count, Where where);
void copyOut(const Global &dst, const Local &src, const DataCopyParams &params, Where where);
void copyOutCount(const Global &dst, const Local &src, uint32_t count, Where where);
void copyLocal(const Local &dst, const Local &src, const DataCopyParams &params, Where where);
void copyLocalCount(const Local &dst, const Local &src, uint32_t count, Where where);
void copyNd2Nz(const Local &dst, const Global &src, const Nd2NzParams &params, Where where);
void padIn(const Local &dst, const Global &src, const DataCopyExtParams &params, bool isPad, uint8_t left,
           uint8_t right, uint64_t value, Where where);
void padOut(const Global &dst, const Local &src, const DataCopyExtParams &params, Where where);
void fill(const Local &dst, uint16_t repeat, uint16_t blocks, uint16_t gap, uint64_t value, Where where);
void setAtomic(bool add, Dt type, Where where);

// cube.h
void setRowMajor(bool on, Where where);
void loadData(const Local &dst, const Local &src, const LoadData2DParams &params, Where where);
void mmad(const Local &c, const Local &a, const Local &b, const Local *bias, const MmadParams &params, Where where);
void fixpipe(const Global &dst, const Local &src, const FixpipeParamsV220 &params, Where where);

// vector.h
void resetMask(Where where);
void vector(const VectorCall &call, Where where);
/// Number of elements that a GatherMask with a built-in pattern keeps.
uint64_t kept(const VectorCall &call);
/// Number of elements that the last GatherMask kept.
int64_t gathered(Where where);

// sync.h
void setFlag(HardEvent event, int32_t id, Where where);
void waitFlag(HardEvent event, int32_t id, Where where);
void barrier(pipe_t pipe, Where where);

// scalar.h
void initSocState(Where where);
void setRoundsFloats(bool on, Where where);
void setControl(uint64_t value, Where where);
uint64_t control();

/// A hand-written operator, with the number of bytes, from address 0 on, that it may use: of UB, or of L1, L0A, L0B and
/// L0C.
struct Operator {
    const char *name = nullptr;
    uint32_t bytes[4] = {};
};
void operatorBegins(const Operator &begun);
void operatorEnds();
/// Whether a test makes the core give up a wait that has just ended.
bool givesUp();
/// Reports an error unless the condition holds; `text` is the condition.
void expects(bool holds, const char *text, Where where = Where::here());
void cleanAndInvalidate(uint64_t address, CacheLine line, DcciDst dst, Where where);
void preload(uint64_t address, Where where);
void syncMemory(MemDsbT what, Where where);
uint64_t loadAround(uint64_t address, uint32_t bytes, Where where);
void storeAround(uint64_t address, uint32_t bytes, uint64_t value, Where where);
int64_t blockIdx();
int64_t blockNum();
int64_t subBlockIdx();
int64_t subBlockNum();
int64_t systemCycle(Where where);

} // namespace AscendC::host

// A call in a pipe's queue: everything that it needs is captured when it is issued.
#pragma once

#include <memory>
#include <vector>

#include "ascendc/bridge.h"

namespace AscendC::host {

constexpr uint32_t kPipes = 7;
using Pipe = pipe_t;
inline constexpr const char *kPipeNames[kPipes + 1] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};

enum class Mem : uint8_t { UB, L1, L0A, L0B, L0C, BT, Count };
constexpr uint32_t kMems = static_cast<uint32_t>(Mem::Count);
inline constexpr const char *kMemNames[kMems] = {"UB", "L1", "L0A", "L0B", "L0C", "bias table"};
inline constexpr uint32_t kMemBytes[kMems] = {184 * 1024 - 256, 512 * 1024 - 256, 64 * 1024,
                                              64 * 1024,        128 * 1024,       1024};

/// For each pipe, the number of its last call that is known to be complete.
struct Clock {
    uint32_t at[kPipes];
    void join(const Clock &other) {
        for (uint32_t p = 0; p < kPipes; ++p)
            if (other.at[p] > at[p]) at[p] = other.at[p];
    }
};

struct Release;
/// For each core of all ranks, its last release that this core has learnt of by polling a word; null if there is none.
/// Never changed once made.
using Heard = std::shared_ptr<const std::vector<const Release *>>;

enum class Op : uint8_t { SetFlag, WaitFlag, Barrier, Transfer, Move, Nd2Nz, Fill, LoadData, Mmad, Fixpipe, Vector };
enum class Atomic : uint8_t { None, I32, F32 };

struct FlagArgs {
    HardEvent event;
    uint8_t id;
};

/// Rows between global memory and UB or L1.
struct TransferArgs {
    uint64_t gm, gmStep;
    uint32_t local, localStep;
    uint32_t rows, rowBytes;
    uint32_t lead, padded; ///< in UB: bytes before a row's data, bytes of the whole row
    uint64_t padValue;
    Mem mem;
    Dt type;
    bool toGm;
    bool padWithValue; ///< else it is padded with the row's first element
};

/// Rows from L1 to the bias table.
struct MoveArgs {
    Mem dstMem, srcMem;
    uint32_t dst, src, rows, rowBytes, dstStep, srcStep;
};

struct Nd2NzArgs {
    uint64_t gm;
    uint32_t local;
    uint32_t bytes; // bytes of an element
    Nd2NzParams p;
};

struct FillArgs {
    Mem mem;
    uint8_t bytes;
    uint32_t dst, repeat, run, step; ///< bytes of a repeat, bytes from one repeat to the next
    uint32_t value;
};

struct LoadDataArgs {
    Mem mem;
    uint32_t dst, src;
    LoadData2DParams p;
};

struct MmadArgs {
    uint32_t a, b, c, bias;
    uint16_t m, n, k;
    uint8_t unitFlag;
    enum Init : uint8_t { Zero, OldC, Bias } init;
    Dt type; ///< of A and B
};

struct FixpipeArgs {
    uint64_t gm;
    uint32_t src;
    Dt type; ///< in global memory
    FixpipeParamsV220 p;
};

struct Call {
    Op op;
    Pipe pipe;
    bool done;
    bool stamped; ///< `clock` already holds what the pipe knew when the call started
    Atomic atomic;
    uint32_t seq; ///< number on its pipe, from 1
    const char *name;
    Where where;
    Clock clock;
    Heard heard;     ///< what the core had learnt when it issued the call
    uint32_t landed; ///< writes to other ranks that had landed then
    uint32_t scalar; ///< scalar accesses of global memory before the call
    union {
        FlagArgs flag;
        TransferArgs transfer;
        MoveArgs move;
        Nd2NzArgs nd2nz;
        FillArgs fill;
        LoadDataArgs load;
        MmadArgs mmad;
        FixpipeArgs fix;
        VectorCall vec;
    };
    Call() {}
};

} // namespace AscendC::host

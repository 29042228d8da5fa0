// One core: its memories, queues, flags, cache, and the fiber that runs its scalar program.
#pragma once

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "cache.h"
#include "call.h"
#include "fiber.h"
#include "launch.h"
#include "looks.h"
#include "races.h"
#include "random.h"
#include "registers.h"
#include "remote.h"
#include "shadow.h"

namespace AscendC::host {

constexpr uint32_t kQueue = 32;

struct Queue {
    Call ring[kQueue];
    uint32_t head = 0, tail = 0;
    Call &at(uint32_t i) { return ring[i % kQueue]; }
};

struct Flag {
    uint32_t owed;     ///< waits that continued without it: HPMOE_HOST_BREAK_FLAGS
    uint32_t lastWait; ///< number of the last wait on the destination pipe
    Clock clock;
    Where setAt;
};

/// The state that the cores of one launch on one rank share.
struct Rank {
    HpmoeHostOptions options;
    HpmoeHostKernel entry;
    uint8_t *launch;
    std::vector<HpmoeHostRegion> regions; // sorted by base
    Races *races = nullptr;
    std::vector<GlobalShadow *> shadows; // shadows of the regions, if races are searched for
    uint64_t launchNumber = 0;           // number of this rank's launch since the search began
    Heard heard;                         // what is known of other ranks when the launch begins
    std::atomic<bool> failed{false};
    volatile int32_t ownStop = 0;
    volatile int32_t *stop = nullptr;
    HpmoeHostResult *result = nullptr;

    /// Whether the host searches for on-chip races, and randomises every order that flags leave open.
    bool checks() const { return !options.unchecked; }
    /// Whether a test breaks this assumption about hardware (HPMOE_HOST_BREAK_...).
    bool breaks(uint32_t assumption) const { return options.fault == assumption; }
};

struct Counters {
    uint64_t calls, dmaBytes, dmas, mmads, mmadFlops, vectorCalls, flagWaits;
};

struct Core {
    Rank *rank = nullptr;
    bool aic = false;
    uint32_t index = 0;
    Fiber fiber;
    bool finished = false;
    bool busy = false; ///< the last slice ended with something left to do besides polling

    Random random;
    Memories memories;
    Queue queues[kPipes];
    uint8_t nonEmpty;          ///< bit per pipe: its queue holds calls
    uint32_t seq[kPipes] = {}; ///< number of the last call; continues from launch to launch
    uint32_t firstSeq[kPipes]; ///< number of the last call before this launch
    Clock known[kPipes];       ///< what is complete for calls that a pipe starts from now on
    Flag flags[kPipes][kPipes][8];
    uint8_t raised[kPipes][kPipes]; ///< bit per flag: it is set
    bool tidy = false;              ///< the last kernel finished, and left no flag and no mark set
    uint32_t scalarBarrier;         ///< scalar accesses up to this one precede a PIPE_ALL
    uint32_t gatherMask;            ///< number of the last GatherMask
    int64_t gathered;               ///< elements that it kept
    bool unfinished;                ///< something was issued since the last PIPE_ALL
    Where lastIssue;
    Registers registers;
    Operator lent;         ///< the operator that has the core, if any
    bool marks[256];       ///< unit flags of the 512 B blocks of L0C; true: readable
    Clock drained, filled; ///< what unit flags hand over
    Cache cache;
    Remote remote;
    Counters counters;

    // How this core orders what it is free to order; redrawn at random moments.
    uint8_t pipeOrder[kPipes];
    enum class Pace : uint8_t { Eager, Lazy, Mixed } pace;
    enum class Pick : uint8_t { Oldest, Newest, Any } pick;
    Heard heard;             // what this core has learnt of other cores
    uint32_t sent;           ///< writes to other ranks
    uint32_t landed;         ///< writes to other ranks before the last PIPE_ALL
    uint32_t scalar;         ///< scalar accesses of global memory
    uint64_t polled;         ///< address of the last dcci of a line
    Looks looks;             ///< polls of words that others write
    uint32_t lastRegions[4]; ///< where the last global addresses were found, the last one first
    uint32_t lingers;        // times that it waited for other cores to see a signal that came too early
    int32_t slice;           ///< calls left until the fiber lets others run
    bool starves;            ///< a test makes its calls run out of memory
    bool checks;             ///< see `Rank::checks`
    uint32_t waits;          ///< number of the wait that a test makes it give up; 0: none

    /// Assigns the core to a launch, with this kind and number. Throws NoStack.
    void take(Rank &owner, bool matrix, uint32_t number);
    /// Prepares the core: its fiber will call `run` with it.
    void prepare(void (*run)(void *core));
    /// Continues the core's program on this thread until it yields.
    void enter();
    /// Number of the core among the cores of all ranks.
    uint32_t numberOfAll() const {
        const HpmoeHostOptions &o = rank->options;
        return o.rank * (o.aic + o.aiv) + (aic ? index : o.aic + index);
    }
    void numberCalls();
    void drawHabits();
};

/// The core whose program runs on this thread.
Core &current();

// error.cpp
[[noreturn]] void fail(Core &core, Where where, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/// Ends the launch because a call found no memory.
[[noreturn]] void starve(Core &core);
[[noreturn]] void leaveForEver(Core &core);
std::string describe(const Call &call);

// engine.cpp
/// The next free slot of a pipe, with everything but the arguments filled in. Runs other work while the queue is full.
Call &issue(Core &core, Pipe pipe, Op op, const char *name, Where where);
/// Runs one queued call on any pipe. Returns false if none can run.
bool step(Core &core);
/// Entry of every call: handles stops, lets other fibers run, and runs some of the queued calls.
Core &enterCall();
/// Entry of a load, which may poll a word.
Core &enterLoad();
/// Entry of a call with which a kernel polls.
Core &enterPoll();
void drainAll(Core &core, Where where, const char *name);
[[noreturn]] void deadlock(Core &core, Where where, const char *name, const char *waitingFor);

// finish.cpp
/// Reports anything that a kernel leaves behind when it ends on a core.
void finishCore(Core &core);

// run_flags.cpp
Flag &flagOf(Core &core, const FlagArgs &args);
bool isSet(const Core &core, const FlagArgs &args);
void clearFlag(Core &core, const FlagArgs &args);
/// Sets a flag that is clear.
void raiseFlag(Core &core, const FlagArgs &args, const Clock &clock, const char *name, Where where);
bool canRunWait(Core &core, const Call &call);
void runSetFlag(Core &core, Call &call);
void runWaitFlag(Core &core, Call &call);

// operators.cpp
/// Reports bytes that the operator on the core has not declared.
void checkLentMemory(Core &core, Where where, const char *name, const char *what, Mem mem, uint64_t first,
                     uint64_t end);
/// Reports a flag of the library, while an operator has the core.
void checkLentFlag(Core &core, Where where, const char *name, HardEvent event, int32_t id);

// registers.cpp
/// Reports calls that depend on registers that the kernel has not set.
void needRegisters(Core &core, Where where, const char *name);
/// For a call that computes numbers of this type: reports 16-bit floats unless the mode that keeps infinities is set.
void needInfinities(Core &core, Where where, const char *name, Dt type);
/// For a product of this type: reports f32 operands unless the mode that uses all of their bits is set.
void needWholeFloats(Core &core, Where where, const char *name, Dt type);
void checkRegistersAtEnd(Core &core);

// global.cpp
enum class AccessKind : uint8_t { DmaRead, DmaWrite, ScalarRead, ScalarWrite };
const HpmoeHostRegion &checkGlobal(Core &core, Where where, const char *name, uint64_t address, uint64_t bytes,
                                   AccessKind access);
/// Begins a copy into global memory, whose rows are then written one by one. Returns null if the memory is not searched
/// for races.
Access *beginWrites(Core &core, const Call &call, bool remote);
/// Ends a copy that beginWrites began. All of its rows, of `rowBytes` bytes each, have been written.
void endWrites(Core &core, Access *by, bool remote, uint64_t to, uint64_t rowBytes);
/// Writes a row, or a piece of one, to memory.
void landGlobal(Core &core, const Access *by, Atomic atomic, uint64_t to, const uint8_t *from, uint32_t bytes);
/// Checks a copy out of global memory: all writers of its bytes must be ordered before it.
void readsGlobal(Core &core, const Call &call, uint64_t from, uint32_t rows, uint64_t bytes, uint64_t pitch);
inline void readGlobal(void *to, uint64_t from, uint32_t bytes) {
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
}
/// Checks a load of the scalar unit in the same way as readsGlobal. The cached line may be old, so `heard` is what the
/// core had learnt of other cores when it fetched the line.
void scalarReads(Core &core, Where where, const char *name, uint64_t address, uint32_t bytes, const Heard &heard);
void scalarWrites(Core &core, Where where, const char *name, uint64_t address, uint32_t bytes);
/// What a core has learnt of other cores; null if the memory is not searched for races.
const Heard *learnt(Core &core, uint64_t address);
/// Gets the value of a word that the core polls, to use instead of its cached value. Returns false if the memory is not
/// searched for races.
bool pollGlobal(Core &core, Where where, const char *name, uint64_t address, uint64_t *value);
bool isRemote(Core &core, uint64_t address);

// apply.cpp
void applyWrite(Atomic atomic, uint8_t *to, const uint8_t *from, uint32_t bytes);

// write_global.cpp
/// Writes one row: applies atomics, and delays writes to other ranks' memory.
void writeGlobal(Core &core, const Access *by, Atomic atomic, bool remote, uint64_t to, const void *from,
                 uint32_t bytes);

// check.cpp
/// The memory behind a tensor. Fails if the core does not have that memory, the start is not aligned, or `bytes` bytes
/// from there exceed the tensor.
Mem checkLocal(Core &core, Where where, const char *name, const char *what, const Local &local, uint64_t bytes,
               uint32_t alignment = 32);
void checkRange(Core &core, Where where, const char *name, const char *field, uint64_t value, uint64_t low,
                uint64_t high);
void needKind(Core &core, Where where, const char *name, bool aic);

// run_*.cpp
void runCall(Core &core, Call &call);
void runTransfer(Core &core, Call &call);
void runMove(Core &core, Call &call);
void runNd2Nz(Core &core, Call &call);
void runFill(Core &core, Call &call);
void runLoadData(Core &core, Call &call);
void runMmad(Core &core, Call &call);
bool mmadMayStart(Core &core, const MmadArgs &args);
void runFixpipe(Core &core, Call &call);
bool fixpipeMayStart(Core &core, const FixpipeArgs &args);
void runVector(Core &core, Call &call);

// shadow.cpp
void touch(Core &core, Call &call, Mem mem, uint32_t offset, uint32_t bytes, bool write);

inline uint32_t roundUp(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }
inline Pipe sourceOf(HardEvent event) { return static_cast<Pipe>(static_cast<uint8_t>(event) / 8); }
inline Pipe targetOf(HardEvent event) { return static_cast<Pipe>(static_cast<uint8_t>(event) % 8); }

} // namespace AscendC::host

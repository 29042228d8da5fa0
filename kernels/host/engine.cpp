// The queues of a core: which calls may run next, and the adversary that chooses among them.
//
// The pipes' work runs on the core's own fiber, during the core's own calls, because a pipe depends on nothing outside
// its core. Between two barriers, copies and Fixpipes of a pipe may finish in any order; V and M work in order. At
// random moments the engine chooses anew how far the scalar program runs ahead, which pipe goes first, and which of
// several copies runs. It keeps each choice for a while, because a steady bias finds more errors than a fair coin.
//
// Without checks nothing is random: calls run in the order in which they were issued, as soon as flags let them.
#include <ctime>
#include <new>

#include "core.h"

namespace AscendC::host {

namespace {

constexpr int32_t kTurn = 1024; // calls until another core's turn, without checks

bool inOrder(const Call &call) { return call.pipe == PIPE_V || call.pipe == PIPE_M || call.op == Op::Fixpipe; }

bool mayStart(Core &core, const Call &call) {
    if (call.op == Op::Mmad) return mmadMayStart(core, call.mmad);
    if (call.op == Op::Fixpipe) return fixpipeMayStart(core, call.fix);
    return true;
}

/// Positions in a queue whose calls may run now.
uint32_t candidates(Core &core, Pipe pipe, uint32_t *out) {
    Queue &queue = core.queues[pipe];
    uint32_t n = 0;
    bool workDone = true, allDone = true;
    for (uint32_t i = queue.head; i != queue.tail; ++i) {
        Call &call = queue.at(i);
        if (call.done) continue;
        switch (call.op) {
        case Op::SetFlag:
            if (workDone) out[n++] = i;
            break;
        case Op::WaitFlag:
            if (canRunWait(core, call)) out[n++] = i;
            return n;
        case Op::Barrier:
            if (allDone) out[n++] = i;
            return n;
        default:
            if ((workDone || !inOrder(call)) && mayStart(core, call)) out[n++] = i;
            workDone = false;
        }
        allDone = false;
    }
    return n;
}

/// Calls before a wait or barrier have started, so they know only what the pipe has known so far.
void stampBefore(Core &core, Pipe pipe, uint32_t position) {
    Queue &queue = core.queues[pipe];
    for (uint32_t i = queue.head; i != position; ++i) {
        Call &call = queue.at(i);
        if (call.done || call.stamped) continue;
        call.clock.join(core.known[pipe]);
        call.stamped = true;
    }
}

void stopIfAsked(Core &core) {
    if (__atomic_load_n(core.rank->stop, __ATOMIC_RELAXED)) leaveForEver(core);
}

/// Lets all other cores run. A signal has overtaken data, so a core that takes the signal for the data gets time to
/// read. Cores of other ranks may be asleep in a poll, so this takes real time.
void linger(Core &core, bool remote) {
    timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    bool more = remote;
    for (uint32_t left = core.random.below(64); left || more; left -= left != 0) {
        core.busy = false;
        core.fiber.leave();
        stopIfAsked(core);
        clock_gettime(CLOCK_MONOTONIC, &now);
        more = remote && (now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 10000000;
    }
}

/// Whether a copy that adds has run before an earlier plain copy of the same pipe.
bool overtook(Queue &queue, uint32_t position) {
    const Call &call = queue.at(position);
    if (call.op != Op::Transfer || call.atomic == Atomic::None) return false;
    for (uint32_t i = queue.head; i != position; ++i) {
        const Call &earlier = queue.at(i);
        if (!earlier.done && earlier.op == Op::Transfer && earlier.atomic == Atomic::None) return true;
    }
    return false;
}

/// Runs the first call of a queue, if it can run. What a call knows of other cores matters only to checks.
bool runFront(Core &core, Pipe pipe) {
    Queue &queue = core.queues[pipe];
    Call &call = queue.at(queue.head);
    switch (call.op) {
    case Op::SetFlag: runSetFlag(core, call); break;
    case Op::WaitFlag:
        if (!canRunWait(core, call)) return false;
        clearFlag(core, call.flag);
        break;
    case Op::Barrier: break;
    default:
        if (!mayStart(core, call)) return false;
        runCall(core, call);
    }
    if (++queue.head == queue.tail) core.nonEmpty &= static_cast<uint8_t>(~(1u << pipe));
    return true;
}

/// Runs one call of the queues in the order of issue. Returns false if none can run.
bool stepInOrder(Core &core) {
    for (uint32_t pipes = core.nonEmpty; pipes; pipes &= pipes - 1)
        if (runFront(core, static_cast<Pipe>(__builtin_ctz(pipes)))) return true;
    return false;
}

void runAt(Core &core, Pipe pipe, uint32_t position) {
    Queue &queue = core.queues[pipe];
    Call &call = queue.at(position);
    if (!call.stamped) call.clock.join(core.known[pipe]);
    switch (call.op) {
    case Op::SetFlag: runSetFlag(core, call); break;
    case Op::WaitFlag:
        stampBefore(core, pipe, position);
        runWaitFlag(core, call);
        break;
    case Op::Barrier: core.known[pipe].at[pipe] = call.seq; break;
    default:
        if (call.op == Op::Fixpipe) call.clock.at[PIPE_FIX] = call.seq - 1; // it includes its own barrier
        const bool small = call.op == Op::Mmad && (call.mmad.m / 16) * (call.mmad.n / 16) < 10;
        core.memories.traces(pipe).keep(Trace{call.seq, small, call.name, call.where});
        runCall(core, call);
    }
    call.done = true;
    call.heard.reset();
    bool early = overtook(queue, position);
    while (queue.head != queue.tail && queue.at(queue.head).done) ++queue.head;
    if (queue.head == queue.tail) core.nonEmpty &= static_cast<uint8_t>(~(1u << pipe));
    bool remote = core.remote.overtook();
    if ((early || remote) && core.lingers++ < 16) linger(core, remote);
}

void runSome(Core &core) {
    if (!core.checks) {
        while (core.nonEmpty && stepInOrder(core)) {}
        return;
    }
    const uint64_t draw = core.random.next(); // each choice uses other bits
    switch (core.pace) {
    case Core::Pace::Eager:
        while (step(core)) {}
        break;
    case Core::Pace::Lazy: break;
    case Core::Pace::Mixed:
        for (uint64_t n = draw & 3; n && step(core); --n) {}
    }
    if (!core.remote.empty() && !(draw >> 2 & 7)) core.remote.landSome(core, 4);
    if (!(draw >> 5 & 255) && !core.rank->breaks(HPMOE_HOST_BREAK_POLL))
        core.cache.evict(core.random.below(Cache::kLines));
    if (!(draw >> 13 & 127)) core.drawHabits();
}

int32_t drawSlice(Core &core) {
    static constexpr uint32_t longest[] = {4, 64, 64, 1024};
    if (!core.checks) return kTurn;
    return 1 + static_cast<int32_t>(core.random.below(longest[core.random.below(4)]));
}

} // namespace

bool step(Core &core) {
    if (!core.nonEmpty) return false;
    if (!core.checks) return stepInOrder(core);
    uint32_t found[kQueue];
    for (uint8_t pipe : core.pipeOrder) {
        if (!(core.nonEmpty >> pipe & 1)) continue;
        uint32_t n = candidates(core, static_cast<Pipe>(pipe), found);
        if (!n) continue;
        uint32_t chosen = core.pick == Core::Pick::Oldest   ? 0
                          : core.pick == Core::Pick::Newest ? n - 1
                                                            : core.random.below(n);
        runAt(core, static_cast<Pipe>(pipe), found[chosen]);
        return true;
    }
    return false;
}

Core &enterCall() {
    Core &core = enterLoad();
    core.looks.forget();
    return core;
}

Core &enterLoad() {
    Core &core = current();
    stopIfAsked(core);
    ++core.counters.calls;
    if (--core.slice < 0) {
        if (core.starves) throw std::bad_alloc();
        core.slice = drawSlice(core);
        core.busy = true;
        core.fiber.leave();
        stopIfAsked(core);
    }
    runSome(core);
    return core;
}

Core &enterPoll() {
    Core &core = current();
    stopIfAsked(core);
    ++core.counters.calls;
    core.busy = !core.remote.empty() || core.nonEmpty;
    if (!core.checks) {
        runSome(core);
        // The first poll may already succeed.
        if (!core.looks.again() && --core.slice > 0) return core;
        core.slice = kTurn;
    } else if (core.random.oneIn(4)) {
        step(core);
        core.remote.landSome(core, 1 + core.random.below(4));
    }
    if (core.checks) runSome(core);
    core.fiber.leave();
    stopIfAsked(core);
    return core;
}

Call &issue(Core &core, Pipe pipe, Op op, const char *name, Where where) {
    Queue &queue = core.queues[pipe];
    while (queue.tail - queue.head == kQueue)
        if (!step(core)) deadlock(core, where, name, "room in its queue");
    // Recently used slots are in this machine's cache.
    if (queue.head == queue.tail) queue.head = queue.tail = 0;
    Call &call = queue.at(queue.tail++);
    core.nonEmpty |= static_cast<uint8_t>(1u << pipe);
    call.op = op, call.pipe = pipe, call.done = false, call.stamped = false;
    call.atomic = core.registers.atomic;
    call.seq = ++core.seq[pipe];
    call.name = name, call.where = where;
    core.unfinished = true;
    core.lastIssue = where;
    if (!core.checks) return call;
    call.clock = core.known[PIPE_S];
    call.clock.at[PIPE_S] = core.scalarBarrier;
    call.heard = core.heard;
    call.landed = core.landed, call.scalar = core.scalar;
    return call;
}

void drainAll(Core &core, Where where, const char *name) {
    while (core.nonEmpty)
        if (!step(core)) deadlock(core, where, name, "all pipes to finish");
    if (!core.rank->breaks(HPMOE_HOST_BREAK_LANDED)) core.remote.landAll(core);
    core.landed = core.sent;
    for (uint32_t p = 1; p < kPipes; ++p) core.known[PIPE_S].at[p] = core.seq[p];
    core.scalarBarrier = core.seq[PIPE_S];
    core.unfinished = false;
}

void deadlock(Core &core, Where where, const char *name, const char *waitingFor) {
    std::string fronts;
    for (uint32_t p = 0; p < kPipes; ++p) {
        Queue &queue = core.queues[p];
        for (uint32_t i = queue.head; i != queue.tail; ++i)
            if (!queue.at(i).done) {
                fronts += std::string("; in front of PIPE_") + kPipeNames[p] + ": " + describe(queue.at(i));
                break;
            }
    }
    fail(core, where, name, "deadlock: the scalar unit waits for %s, and no pipe can go on%s", waitingFor,
         fronts.c_str());
}

} // namespace AscendC::host

// SetFlag, WaitFlag, PipeBarrier.
#include "core.h"

namespace AscendC::host {

namespace {

constexpr uint64_t bit(HardEvent event) { return uint64_t(1) << static_cast<uint8_t>(event); }

constexpr uint64_t kBoth = bit(HardEvent::MTE2_MTE3) | bit(HardEvent::MTE3_MTE2) | bit(HardEvent::S_MTE2) |
                           bit(HardEvent::MTE2_S) | bit(HardEvent::S_MTE3) | bit(HardEvent::MTE3_S);
constexpr uint64_t kAiv = kBoth | bit(HardEvent::MTE2_V) | bit(HardEvent::V_MTE2) | bit(HardEvent::V_MTE3) |
                          bit(HardEvent::MTE3_V) | bit(HardEvent::S_V) | bit(HardEvent::V_S) | bit(HardEvent::V_V);
constexpr uint64_t kAic = kBoth | bit(HardEvent::MTE2_MTE1) | bit(HardEvent::MTE1_MTE2) | bit(HardEvent::MTE1_M) |
                          bit(HardEvent::M_MTE1) | bit(HardEvent::M_FIX) | bit(HardEvent::FIX_M) |
                          bit(HardEvent::MTE2_M) | bit(HardEvent::M_MTE2) | bit(HardEvent::MTE1_MTE3) |
                          bit(HardEvent::MTE3_MTE1) | bit(HardEvent::MTE1_FIX) | bit(HardEvent::FIX_MTE1) |
                          bit(HardEvent::MTE2_FIX) | bit(HardEvent::FIX_MTE2) | bit(HardEvent::FIX_MTE3) |
                          bit(HardEvent::FIX_FIX) | bit(HardEvent::FIX_S) | bit(HardEvent::M_S);

void check(Core &core, Where where, const char *name, HardEvent event, int32_t id) {
    if (!((core.aic ? kAic : kAiv) & bit(event)))
        fail(core, where, name, "an %s has no event %s_%s", core.aic ? "AIC" : "AIV", kPipeNames[sourceOf(event)],
             kPipeNames[targetOf(event)]);
    checkRange(core, where, name, "the flag's id", static_cast<uint64_t>(static_cast<int64_t>(id)), 0, 7);
    checkLentFlag(core, where, name, event, id);
}

} // namespace

void setFlag(HardEvent event, int32_t id, Where where) {
    Core &core = enterCall();
    check(core, where, "SetFlag", event, id);
    FlagArgs args{event, static_cast<uint8_t>(id)};
    Pipe from = sourceOf(event);
    if (from == PIPE_S) {
        Clock clock = core.known[PIPE_S];
        clock.at[PIPE_S] = ++core.seq[PIPE_S];
        raiseFlag(core, args, clock, "SetFlag", where);
        return;
    }
    issue(core, from, Op::SetFlag, "SetFlag", where).flag = args;
}

void waitFlag(HardEvent event, int32_t id, Where where) {
    Core &core = enterCall();
    check(core, where, "WaitFlag", event, id);
    ++core.counters.flagWaits;
    FlagArgs args{event, static_cast<uint8_t>(id)};
    Pipe to = targetOf(event);
    if (to != PIPE_S) {
        issue(core, to, Op::WaitFlag, "WaitFlag", where).flag = args;
        return;
    }
    Flag &flag = flagOf(core, args);
    if (!isSet(core, args) && core.aic && event == HardEvent::MTE3_S && id != 0 &&
        core.rank->breaks(HPMOE_HOST_BREAK_FLAGS)) {
        ++flag.owed;
        return;
    }
    while (!isSet(core, args))
        if (!step(core)) {
            std::string what = std::string("flag ") + kPipeNames[sourceOf(event)] + "_S " + std::to_string(id);
            deadlock(core, where, "WaitFlag", what.c_str());
        }
    clearFlag(core, args);
    core.known[PIPE_S].join(flag.clock);
}

void barrier(pipe_t pipe, Where where) {
    Core &core = enterCall();
    bool vectorPipe = pipe == PIPE_V, cubePipe = pipe == PIPE_M || pipe == PIPE_MTE1 || pipe == PIPE_FIX;
    if (core.aic ? vectorPipe : cubePipe)
        fail(core, where, "PipeBarrier", "an %s has no PIPE_%s", core.aic ? "AIC" : "AIV", kPipeNames[pipe]);
    if (pipe == PIPE_ALL) drainAll(core, where, "PipeBarrier<PIPE_ALL>");
    else issue(core, pipe, Op::Barrier, "PipeBarrier", where);
}

} // namespace AscendC::host

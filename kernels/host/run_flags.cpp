// Executes flags: pipes set them and wait for them.
#include "core.h"

namespace AscendC::host {

Flag &flagOf(Core &core, const FlagArgs &args) {
    return core.flags[sourceOf(args.event)][targetOf(args.event)][args.id];
}

bool isSet(const Core &core, const FlagArgs &args) {
    return core.raised[sourceOf(args.event)][targetOf(args.event)] >> args.id & 1;
}

void clearFlag(Core &core, const FlagArgs &args) {
    core.raised[sourceOf(args.event)][targetOf(args.event)] &= static_cast<uint8_t>(~(1u << args.id));
}

void raiseFlag(Core &core, const FlagArgs &args, const Clock &clock, const char *name, Where where) {
    Flag &flag = flagOf(core, args);
    Pipe from = sourceOf(args.event), to = targetOf(args.event);
    if (flag.owed) {
        --flag.owed;
        return;
    }
    if (isSet(core, args))
        fail(core, where, name, "flag %s_%s %u is set twice without a wait between (first at %s:%d)", kPipeNames[from],
             kPipeNames[to], args.id, flag.setAt.file, flag.setAt.line);
    if (core.checks && to != PIPE_S && to != from && clock.at[to] < flag.lastWait)
        fail(
            core, where, name,
            "flag %s_%s %u may be set twice: nothing tells PIPE_%s that the wait for the last one has happened on PIPE_%s",
            kPipeNames[from], kPipeNames[to], args.id, kPipeNames[from], kPipeNames[to]);
    core.raised[from][to] |= static_cast<uint8_t>(1u << args.id);
    flag.clock = clock;
    flag.setAt = where;
}

bool canRunWait(Core &core, const Call &call) { return isSet(core, call.flag); }

void runSetFlag(Core &core, Call &call) {
    Clock clock = call.clock;
    clock.at[call.pipe] = call.seq;
    raiseFlag(core, call.flag, clock, call.name, call.where);
}

void runWaitFlag(Core &core, Call &call) {
    Flag &flag = flagOf(core, call.flag);
    clearFlag(core, call.flag);
    flag.lastWait = call.seq;
    core.known[call.pipe].join(flag.clock);
    core.known[call.pipe].join(call.clock);
}

} // namespace AscendC::host

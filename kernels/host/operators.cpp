// Checks that hand-written operators keep to their memory and flags, and that routines of the library get valid
// arguments.
#include "core.h"

namespace AscendC::host {

void operatorBegins(const Operator &begun) { enterCall().lent = begun; }

void operatorEnds() { enterCall().lent = {}; }

void expects(bool holds, const char *text, Where where) {
    if (!holds) fail(enterCall(), where, "a routine of the device library", "expects %s, but this does not hold", text);
}

bool givesUp() {
    Core &core = current();
    return core.waits && !--core.waits;
}

void checkLentMemory(Core &core, Where where, const char *name, const char *what, Mem mem, uint64_t first,
                     uint64_t end) {
    // Operators don't get the bias table, and the library keeps nothing there.
    if (!core.lent.name || mem == Mem::BT) return;
    const char *const arguments[] = {"ub", "l1", "l0a", "l0b", "l0c"};
    uint32_t number = static_cast<uint32_t>(mem), own = core.lent.bytes[core.aic ? number - 1 : 0];
    if (end <= own) return;
    fail(core, where, name,
         "%s takes bytes %llu..%llu of %s, of which the external operator `%s` has %u from address 0 on: use less, or "
         "declare more at its task (`%s = ..`)",
         what, static_cast<unsigned long long>(first), static_cast<unsigned long long>(end), kMemNames[number],
         core.lent.name, own, arguments[number]);
}

void checkLentFlag(Core &core, Where where, const char *name, HardEvent event, int32_t id) {
    if (!core.lent.name) return;
    const int32_t lines = core.aic ? 1 : 4;
    if (id <= 5 && (event != HardEvent::MTE3_S || id >= lines)) return;
    fail(
        core, where, name,
        "flag %s_%s %d is the library's, but the external operator `%s` uses it: an operator has ids 0 to 5, of MTE3_S "
        "%d to 5",
        kPipeNames[sourceOf(event)], kPipeNames[targetOf(event)], id, core.lent.name, lines);
}

} // namespace AscendC::host

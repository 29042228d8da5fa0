// Writes a row to global memory: at once, or as a pending write to a peer. Tests may delay or lose it.
#include "core.h"

namespace AscendC::host {

/// Whether a test makes a write get lost.
static bool isLost(Core &core, Atomic atomic, bool remote, uint32_t bytes) {
    switch (core.rank->options.fault) {
    case HPMOE_HOST_BREAK_ADDS: return atomic != Atomic::None && !remote && core.random.oneIn(64);
    case HPMOE_HOST_BREAK_PEER_ADDS: return atomic != Atomic::None && remote && core.random.oneIn(64);
    case HPMOE_HOST_BREAK_READY: return atomic == Atomic::None && remote && bytes <= 32 && core.random.oneIn(4);
    default: return false;
    }
}

/// Whether a test delays a write to the rank's own memory.
static bool isLate(Core &core, Atomic atomic, uint32_t bytes) {
    return core.rank->breaks(HPMOE_HOST_BREAK_ORDER) && atomic == Atomic::None && bytes > Cache::kLine;
}

void writeGlobal(Core &core, const Access *by, Atomic atomic, bool remote, uint64_t to, const void *from,
                 uint32_t bytes) {
    core.counters.dmaBytes += bytes;
    if (isLost(core, atomic, remote, bytes)) return;
    if ((remote && core.checks) || isLate(core, atomic, bytes))
        core.remote.send(core, by, atomic, to, static_cast<const uint8_t *>(from), bytes);
    else landGlobal(core, by, atomic, to, static_cast<const uint8_t *>(from), bytes);
}

} // namespace AscendC::host

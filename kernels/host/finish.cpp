// Checks the end of a kernel on a core: nothing may be left for the next kernel.
#include "core.h"

namespace AscendC::host {

void finishCore(Core &core) {
    Where end{"the end of the kernel", 0};
    if (core.unfinished)
        fail(
            core, core.lastIssue, "end of kernel",
            "work was still queued when the kernel ended (this is the last call issued): finish with PipeBarrier<PIPE_ALL>()");
    for (uint32_t from = 0; from < kPipes; ++from)
        for (uint32_t to = 0; to < kPipes; ++to)
            for (int id = 0; core.raised[from][to] && id < 8; ++id)
                if (core.raised[from][to] >> id & 1)
                    fail(core, core.flags[from][to][id].setAt, "SetFlag",
                         "flag %s_%s %d was still set when the kernel ended: every SetFlag needs its WaitFlag",
                         kPipeNames[from], kPipeNames[to], id);
    for (uint32_t block = 0; block < 256; ++block)
        if (core.marks[block])
            fail(
                core, end, "Mmad",
                "the unit flag of L0C bytes %u..%u was still set when the kernel ended: Fixpipe with unitFlag 3 must drain what Mmad with unitFlag 3 filled",
                block * 512, block * 512 + 512);
    core.remote.landAll(core); // the last PIPE_ALL waited for them, unless a test breaks that
    checkRegistersAtEnd(core);
    if (const Where *store = core.cache.dirty())
        fail(core, *store, "SetValue",
             "the cache line of this store was never written back: DataCacheCleanAndInvalid it before the kernel ends");
    core.tidy = !core.rank->breaks(HPMOE_HOST_BREAK_FLAGS);
}

} // namespace AscendC::host

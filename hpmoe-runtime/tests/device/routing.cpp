// A kernel that makes a route, and nothing else, by code for little that the launch does not need. Records tell as `have` whether the core
// looks at ids because some slot is empty.
#include "hpmoe/kernel.h"
#include "hpmoe/routing/make.h"

#ifndef ENTRY
#define ENTRY routing
// For what there is code.
#define CODE                                                                                                           \
    SPACES, SPACES | NEEDS_LOAD, SPACES | NEEDS_MIXED, SPACES | NEEDS_LIGHTEST, SPACES | NEEDS_ONCE | NEEDS_GROUPS,    \
        SPACES | NEEDS_CHUNKS, SPACES | NEEDS_CHUNKS | NEEDS_CHOICE | NEEDS_PARTS, SPACES | NEEDS_PLACEMENT,           \
        SPACES | NEEDS_TO_KEEP, SPACES | NEEDS_KEPT, NEEDS_ALL
#endif

namespace {

using namespace hpmoe;

// What kernels of all cases have.
constexpr uint32_t SPACES = NEEDS_ARRIVALS | NEEDS_ARRIVAL_ORDER;

uint32_t NeedsOfLaunch(const VectorCore &core) {
    const HpmoeRouting from = Load<HpmoeRouting>(core.launch.routing);
    uint32_t needs = SPACES | NeedsOf(from.expert_order);
    needs |= from.once != 0 ? NEEDS_ONCE : 0;
    needs |= core.launch.chunks > 1 ? NEEDS_CHUNKS : 0;
    needs |= core.launch.choices != 0 ? NEEDS_CHOICE : 0;
    needs |= core.launch.parts != 0 ? NEEDS_PARTS : 0;
    needs |= from.group_slots != 0 ? NEEDS_GROUPS : 0;
    needs |= from.placement != 0 ? NEEDS_PLACEMENT : 0;
    needs |= from.is_kept != 0 ? NEEDS_KEPT : 0;
    needs |= from.is_kept == 0 && from.kept != 0 ? NEEDS_TO_KEEP : 0;
    return needs;
}

// By the first code that has all.
template <uint32_t FIRST, uint32_t... OTHERS> bool Make(VectorCore &core, uint32_t needs) {
    if constexpr (sizeof...(OTHERS) != 0) {
        if ((needs & ~FIRST) != 0) {
            return Make<OTHERS...>(core, needs);
        }
    }
    return MakeRoute<FIRST>(core);
}

} // namespace

extern "C" __global__ __aicore__ void ENTRY(GM_ADDR argument) {
    if ASCEND_IS_AIC {
        CubeCore core;
        if (!core.Start(argument)) {
            return;
        }
        if (AwaitRoute<true>(core)) {
            core.record.have = core.ids != 0 ? 1 : 0;
            core.record.state = HPMOE_DONE;
        }
        core.Leave();
    } else {
        VectorCore core;
        if (!core.Start(argument)) {
            return;
        }
        if (Make<CODE>(core, NeedsOfLaunch(core))) {
            core.record.have = core.ids != 0 ? 1 : 0;
            core.record.state = HPMOE_DONE;
        }
        core.Leave();
    }
}

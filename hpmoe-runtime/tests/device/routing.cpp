// A kernel that only makes a route. It contains code for several sets of needs, and runs the first that covers the needs of the launch.
// In the records, `have` says whether the core reads ids because a slot is empty.
#include "hpmoe/kernel.h"
#include "hpmoe/routing/make.h"

#ifndef ENTRY
#define ENTRY routing
// The sets of needs that the kernel has code for.
#define CODE                                                                                                           \
    SPACES, SPACES | NEEDS_LOAD, SPACES | NEEDS_MIXED, SPACES | NEEDS_LIGHTEST, SPACES | NEEDS_ONCE | NEEDS_GROUPS,    \
        SPACES | NEEDS_CHUNKS, SPACES | NEEDS_CHUNKS | NEEDS_CHOICE | NEEDS_PARTS, SPACES | NEEDS_PLACEMENT,           \
        SPACES | NEEDS_TO_KEEP, SPACES | NEEDS_KEPT, NEEDS_ALL
#endif

namespace {

using namespace hpmoe;

// The needs that kernels of all cases have.
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

// Makes the route by the code for the first set that covers `needs`; if there is none, by the code for the last set.
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

// A kernel that makes a route, and nothing else. Records tell as `have` whether the core looks at ids because some slot is empty.
#include "hpmoe/kernel.h"
#include "hpmoe/routing/make.h"

extern "C" __global__ __aicore__ void routing(GM_ADDR argument) {
    using namespace hpmoe;
    if ASCEND_IS_AIC {
        CubeCore core;
        if (!core.Start(argument)) {
            return;
        }
        if (AwaitRoute(core)) {
            core.record.have = core.ids != 0 ? 1 : 0;
            core.record.state = HPMOE_DONE;
        }
        core.Leave();
    } else {
        VectorCore core;
        if (!core.Start(argument)) {
            return;
        }
        if (MakeRoute(core)) {
            core.record.have = core.ids != 0 ? 1 : 0;
            core.record.state = HPMOE_DONE;
        }
        core.Leave();
    }
}

// Kernels that make their route.
#pragma once

#include "hpmoe/routing/await.h"

#ifdef HPMOE_ROUTING_APART

namespace hpmoe {

// Made of the same text, once for many kernels: what makes routes knows nothing of the kernel.
bool MakeRouteApart(VectorCore &core);
HPMOE_INLINE bool MakeRoute(VectorCore &core) { return MakeRouteApart(core); }

} // namespace hpmoe

#else
#include "hpmoe/routing/make.h"
#endif

namespace hpmoe {

struct KernelRoute {
    static constexpr bool IN_KERNEL = true;

    static HPMOE_INLINE bool Make(VectorCore &core) { return MakeRoute(core); }
    static HPMOE_INLINE bool Make(CubeCore &core) { return AwaitRoute(core); }
};

} // namespace hpmoe

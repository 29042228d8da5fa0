// Kernels that make their route.
#pragma once

#include "hpmoe/routing/await.h"
#include "hpmoe/routing/needs.h"

#ifdef HPMOE_ROUTING_APART

namespace hpmoe {

// Makes a route like MakeRoute, by code that was compiled separately. Kernels whose routes have the same needs share
// one copy of it, because it depends on nothing else of a kernel.
template <uint32_t NEEDS> bool MakeRouteApart(VectorCore &core);

} // namespace hpmoe

#else
#include "hpmoe/routing/make.h"
#endif

namespace hpmoe {

template <uint32_t NEEDS> struct KernelRoute {
    static constexpr bool IN_KERNEL = true;
    static constexpr bool CHOOSES = (NEEDS & NEEDS_CHOICE) != 0;

#ifdef HPMOE_ROUTING_APART
    static HPMOE_INLINE bool Make(VectorCore &core) { return MakeRouteApart<NEEDS>(core); }
#else
    static HPMOE_INLINE bool Make(VectorCore &core) { return MakeRoute<NEEDS>(core); }
#endif
    static HPMOE_INLINE bool Make(CubeCore &core) { return AwaitRoute<CHOOSES>(core); }
};

} // namespace hpmoe

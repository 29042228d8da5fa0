// The wait of every core for the route, before its first task that needs the route.
#pragma once

#include "hpmoe/worker.h"

namespace hpmoe {

// Changes the launch to another number of chunks, which is one of its choices.
HPMOE_ROUTINE void TakeChunks(Core &core, uint32_t chunks) {
    uint64_t launch = core.launch.choices;
    for (uint32_t fewer = 1; fewer < chunks; fewer *= 2) {
        launch += sizeof(HpmoeLaunch);
    }
    core.launch = Load<HpmoeLaunch>(launch);
    core.record.chunks = chunks;
}

// Waits until all tables are made; another core may have waited for them before. Returns false if the core must leave.
template <bool CHOOSES = false, class AnyCore> HPMOE_INLINE bool AwaitRoute(AnyCore &core) {
    const HpmoeRouting from = Load<HpmoeRouting>(core.launch.routing);
    core.record.phase = from.phases;
    if (!core.Await(from.made, 0, core.launch.aiv)) {
        return false;
    }
    DataCacheCleanAndInvalid<uint64_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(
        Global<uint64_t>(core.launch.routing));
    if constexpr (CHOOSES && AnyCore::HOLDS) {
        if (core.launch.choices != 0) {
            TakeChunks(core, Word<uint32_t>(core.launch.starts, from.phases));
        }
    }
    // If this rank sends fewer rows than it has slots, some slot is empty, and tasks check ids.
    const uint32_t pairs = core.launch.ranks * core.launch.local_experts;
    const HpmoePair last = Load<HpmoePair>(core.launch.sends + (pairs - 1) * sizeof(HpmoePair));
    const int32_t sent = from.sent != 0 ? Word<int32_t>(from.sent, 0) : last.order + last.rows;
    core.ids = static_cast<uint32_t>(sent) == core.launch.tokens * from.top_k ? 0 : from.ids;
    return true;
}

} // namespace hpmoe

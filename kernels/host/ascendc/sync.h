// Order between the pipes of one core.
#pragma once

#include "ascendc/bridge.h"

namespace AscendC {

template <HardEvent event> inline void SetFlag(int32_t id, host::Where where = host::Where::here()) {
    host::setFlag(event, id, where);
}

template <HardEvent event> inline void WaitFlag(int32_t id, host::Where where = host::Where::here()) {
    host::waitFlag(event, id, where);
}

template <pipe_t pipe> inline void PipeBarrier(host::Where where = host::Where::here()) {
    static_assert(pipe != PIPE_S, "PipeBarrier<PIPE_S> does not exist");
    host::barrier(pipe, where);
}

} // namespace AscendC

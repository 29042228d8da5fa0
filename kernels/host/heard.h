// What a core knows of other cores' calls. It learns from the words that it polls.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "call.h"

namespace AscendC::host {

struct Access;

/// The calls of one core that another core knows to be complete.
struct Done {
    uint64_t launch; ///< of this core; everything in earlier launches is complete
    Clock clock;     ///< calls of its pipes
    uint32_t landed; ///< writes to other ranks that a PIPE_ALL waited for
    uint32_t scalar; ///< scalar accesses
    bool covers(const Access &access) const;
};

/// A write that another core may see, with the calls that are complete for a core that sees it.
struct Release {
    uint64_t number; ///< number among the releases of its core
    Done done;
};

/// One call that reads or writes global memory.
struct Access {
    uint32_t core;
    Pipe pipe;
    bool remote; ///< a write to another rank; these have their own numbers
    bool atomic;
    uint32_t seq;
    const char *name;
    Where where;
    Done done; ///< what was complete when it started
    Heard heard;
    const Release *release; ///< its release, if it is a write
};

/// Whether a core knows that an earlier access is complete.
bool knows(uint32_t core, const Done &done, const Heard &heard, const Access &earlier);
inline bool knows(const Access &by, const Access &earlier) { return knows(by.core, by.done, by.heard, earlier); }
Heard join(const Heard &a, const Heard &b);
/// What is known after learning of `release`, among `cores` cores.
Heard with(const Heard &heard, size_t cores, uint32_t core, const Release *release);

} // namespace AscendC::host

// What a core knows of the calls of others: it learns by the words that it polls.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "call.h"

namespace AscendC::host {

struct Access;

/// What is complete on one core, as somebody knows it.
struct Done {
    uint64_t launch; ///< of this core; earlier ones are complete
    Clock clock;     ///< calls of its pipes
    uint32_t landed; ///< writes to other ranks: by a PIPE_ALL
    uint32_t scalar; ///< scalar accesses
    bool covers(const Access &access) const;
};

/// A write that another core may learn of, and what is complete once it has.
struct Release {
    uint64_t number; ///< among those of its core
    Done done;
};

/// One call that reads or writes global memory.
struct Access {
    uint32_t core;
    Pipe pipe;
    bool remote; ///< a write to another rank, numbered among these
    bool atomic;
    uint32_t seq;
    const char *name;
    Where where;
    Done done; ///< when it started
    Heard heard;
    const Release *release; ///< of a write
};

/// Whether all of an earlier access is complete, as a core knows it.
bool knows(uint32_t core, const Done &done, const Heard &heard, const Access &earlier);
inline bool knows(const Access &by, const Access &earlier) { return knows(by.core, by.done, by.heard, earlier); }
Heard join(const Heard &a, const Heard &b);
/// Adds the release of an access, among `cores` cores.
Heard with(const Heard &heard, size_t cores, uint32_t core, const Release *release);

} // namespace AscendC::host

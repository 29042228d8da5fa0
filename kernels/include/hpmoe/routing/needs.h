// The parts of the route code that a kernel can need.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// What the routes of a kernel may need. A kernel that makes its route names it, so that there is no code for anything else.
constexpr uint32_t NEEDS_NOTHING = 0;
constexpr uint32_t NEEDS_ONCE = 1u << 0;          // tables of tokens that are sent once to each rank
constexpr uint32_t NEEDS_CHUNKS = 1u << 1;        // more than one chunk
constexpr uint32_t NEEDS_GROUPS = 1u << 2;        // groups of experts that have slots of their own
constexpr uint32_t NEEDS_ARRIVALS = 1u << 3;      // spaces of what comes from each rank
constexpr uint32_t NEEDS_ARRIVAL_ORDER = 1u << 4; // row tiles in the order in which rows come
constexpr uint32_t NEEDS_LOAD = 1u << 5;          // experts by load
constexpr uint32_t NEEDS_MIXED = 1u << 6;         // experts mixed, on some numbers of ranks
constexpr uint32_t NEEDS_LIGHTEST = 1u << 7;      // experts from the fewest rows on, on some numbers of ranks
constexpr uint32_t NEEDS_PLACEMENT = 1u << 8;     // experts where a placement says
constexpr uint32_t NEEDS_TO_KEEP = 1u << 9;       // routes that are kept for later launches
constexpr uint32_t NEEDS_KEPT = 1u << 10;         // routes that earlier launches have kept
constexpr uint32_t NEEDS_CHOICE = 1u << 11;       // a number of chunks that each launch chooses
constexpr uint32_t NEEDS_ALL = NEEDS_CHOICE * 2 - 1;

// What a kernel needs for an order of experts.
constexpr uint32_t NeedsOf(uint32_t expert_order) {
    return expert_order == HPMOE_BY_LOAD          ? NEEDS_LOAD
           : expert_order == HPMOE_MIXED          ? NEEDS_MIXED
           : expert_order == HPMOE_LIGHTEST_FIRST ? NEEDS_LIGHTEST
                                                  : NEEDS_NOTHING;
}

} // namespace hpmoe

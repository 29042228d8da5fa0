// The parts of the route code that a kernel can need.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// Needs of a kernel's routes, one bit each. A kernel that makes its routes names its needs, and lacks the code for all
// others.
constexpr uint32_t NEEDS_NOTHING = 0;
constexpr uint32_t NEEDS_ONCE = 1u << 0;          // tables of tokens that are sent once to each rank
constexpr uint32_t NEEDS_CHUNKS = 1u << 1;        // more than one chunk
constexpr uint32_t NEEDS_GROUPS = 1u << 2;        // groups of experts with their own slots
constexpr uint32_t NEEDS_ARRIVALS = 1u << 3;      // spaces of kind HPMOE_ARRIVALS
constexpr uint32_t NEEDS_ARRIVAL_ORDER = 1u << 4; // row tiles in arrival order
constexpr uint32_t NEEDS_LOAD = 1u << 5;          // experts in the order HPMOE_BY_LOAD
constexpr uint32_t NEEDS_MIXED = 1u << 6;         // HPMOE_MIXED, for some numbers of ranks
constexpr uint32_t NEEDS_LIGHTEST = 1u << 7;      // HPMOE_LIGHTEST_FIRST, for some numbers of ranks
constexpr uint32_t NEEDS_PLACEMENT = 1u << 8;     // a placement of experts
constexpr uint32_t NEEDS_TO_KEEP = 1u << 9;       // routes that are kept for later launches
constexpr uint32_t NEEDS_KEPT = 1u << 10;         // routes that earlier launches have kept
constexpr uint32_t NEEDS_CHOICE = 1u << 11;       // a number of chunks that each launch chooses
constexpr uint32_t NEEDS_PARTS = 1u << 12;        // sums that are added up by parts of the tokens
constexpr uint32_t NEEDS_ALL = NEEDS_PARTS * 2 - 1;

// The need that an order of experts implies.
constexpr uint32_t NeedsOf(uint32_t expert_order) {
    return expert_order == HPMOE_BY_LOAD          ? NEEDS_LOAD
           : expert_order == HPMOE_MIXED          ? NEEDS_MIXED
           : expert_order == HPMOE_LIGHTEST_FIRST ? NEEDS_LIGHTEST
                                                  : NEEDS_NOTHING;
}

} // namespace hpmoe

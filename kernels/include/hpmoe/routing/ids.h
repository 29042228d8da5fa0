// The first step of a route: each core checks its share of the tokens for faults, and counts the slots of its share of
// the experts.
#pragma once

#include "hpmoe/routing/share.h"

namespace hpmoe {

constexpr uint32_t IDS_BLOCK = 8192;     // largest number of slots in UB
constexpr uint32_t CHECKED_BLOCK = 4096; // the same during the check for faults

constexpr uint32_t UB_IDS = 0;
constexpr uint32_t UB_SLOTS = UB_IDS + 4 * IDS_BLOCK;              // 0, 1, 2, …
constexpr uint32_t UB_BITS = UB_SLOTS + 4 * IDS_BLOCK;             // result of a comparison
constexpr uint32_t UB_OWN = UB_BITS + IDS_BLOCK / 8;               // ids of this core's experts
constexpr uint32_t UB_OWN_SLOTS = UB_OWN + 4 * IDS_BLOCK;          // slots with these ids
constexpr uint32_t UB_BLOCK_COUNTS = UB_OWN_SLOTS + 4 * IDS_BLOCK; // number of slots of each expert
constexpr uint32_t UB_PICKED = UB_IDS;                             // slots of one expert, after the ids are packed
constexpr uint32_t UB_WORK = UB_OWN + LIST_FRONT; // lists of the check and of SentOnce, before the ids are packed
constexpr uint32_t WORK_BYTES = 4 * CHECKED_BLOCK + LIST_FRONT;
constexpr uint32_t ONCE_BLOCK = 2048; // as IDS_BLOCK, for once-sent rows
constexpr uint32_t ONCE_BYTES = 4 * ONCE_BLOCK + LIST_FRONT;
static_assert(UB_WORK + 5 * WORK_BYTES <= UB_KEPT && UB_WORK + 8 * ONCE_BYTES <= UB_KEPT &&
                  UB_BLOCK_COUNTS + 4 * MOST_COUNTED <= UB_KEPT,
              "below what is kept");

// Packs those of the first `count` words of `from` whose bits were set by the last comparison. Returns their number.
HPMOE_ROUTINE uint32_t PickSet(uint32_t out, uint32_t from, uint32_t count) {
    uint64_t early{}; // the intrinsic sets it before the vector unit is done
    PipeBarrier<PIPE_V>();
    GatherMask(Ints(out), Ints(from), UbFrom<uint32_t>(UB_BITS), true, count, GatherMaskParams(1, 1, LANE_BLOCKS, 1),
               early);
    AfterVector();
    return static_cast<uint32_t>(GetGatherMaskRemainCount());
}

// Compares two lists, number by number.
HPMOE_ROUTINE void CompareLists(uint32_t a, uint32_t b, uint32_t count) {
    Compare(UbFrom<uint8_t>(UB_BITS), Ints(a), Ints(b), CMPMODE::EQ, AlignUp(count, LANES));
}

// Number of positions at which two lists are equal.
HPMOE_INLINE uint32_t CountEqual(uint32_t a, uint32_t b, uint32_t scratch, uint32_t count) {
    CompareLists(a, b, count);
    return PickSet(scratch, a, count);
}

// Packs those words of `from` into `out` whose counterparts in `list` equal `number`. Returns their number.
HPMOE_ROUTINE uint32_t PickEqual(uint32_t out, uint32_t from, uint32_t list, int32_t number, uint32_t count) {
    CompareScalar(UbFrom<uint8_t>(UB_BITS), Ints(list), number, CMPMODE::EQ, AlignUp(count, LANES));
    return PickSet(out, from, count);
}

// The first fault among the slots in UB, found by the scalar unit: twice the slot's number, plus 1 if its id is a
// repeated one.
template <class Share>
HPMOE_ROUTINE uint32_t FirstFault(const Share &route, uint32_t first, uint32_t count, int32_t least) {
    const LocalTensor<int32_t> ids = Ints(UB_IDS);
    const uint32_t top_k = route.from.top_k;
    for (uint32_t i = 0; i < count; ++i) {
        const int32_t id = ids.GetValue(i);
        if (id < least || id >= static_cast<int32_t>(route.experts)) {
            return 2 * (first + i);
        }
        if (route.HasGroups() && id >= 0 &&
            static_cast<uint32_t>(id) / route.from.group_experts != i % top_k / route.from.group_slots) {
            return 2 * (first + i);
        }
        for (uint32_t earlier = i - i % top_k; id >= 0 && earlier < i; ++earlier) {
            if (ids.GetValue(earlier) == id) {
                return 2 * (first + i) + 1;
            }
        }
    }
    return NO_FAULT;
}

// For each slot, the offset of the next slot of its token. The first slot follows the last one.
HPMOE_ROUTINE void NextOfToken(const Lists &lists, uint32_t out, uint32_t token, uint32_t following, uint32_t top_k) {
    lists.Quotients(token, UB_SLOTS, top_k);
    lists.Shifted(out, UB_SLOTS, 1);
    lists.Quotients(following, out, top_k);
    lists.Minus(following, following, token);
    lists.Scaled(following, following, -static_cast<int32_t>(top_k));
    lists.Plus(out, out, following);
    lists.Scaled(out, out, 4);
}

// For each slot, the first expert of its group. Each group has its own slots of a token.
template <class Share>
HPMOE_INLINE void GroupsOfSlots(const Lists &lists, const Share &route, uint32_t out, uint32_t scratch) {
    lists.Quotients(scratch, UB_SLOTS, route.from.top_k);
    lists.Scaled(scratch, scratch, -static_cast<int32_t>(route.from.top_k));
    lists.Plus(scratch, scratch, UB_SLOTS);
    lists.Quotients(out, scratch, route.from.group_slots);
    lists.Scaled(out, out, static_cast<int32_t>(route.from.group_experts));
}

// Whether each id in UB belongs to the group of its slot. Empty slots are ignored.
template <class Share>
HPMOE_INLINE bool InGroups(const Lists &lists, const Share &route, uint32_t groups, uint32_t near, uint32_t last,
                           uint32_t scratch) {
    lists.Shifted(last, groups, static_cast<int32_t>(route.from.group_experts) - 1);
    lists.Greater(near, UB_IDS, groups);
    lists.Lesser(near, near, last);
    uint32_t good = CountEqual(UB_IDS, near, scratch, lists.count);
    if (route.from.gaps != 0) {
        good += PickEqual(scratch, UB_IDS, UB_IDS, -1, lists.count);
    }
    return good == lists.count;
}

// The first fault among the slots of this core's share of the tokens, in the form of FirstFault: an id that is out of
// range, that belongs to another group, or that its token has twice. To find repeated ids, the slots of each token are
// rotated top_k / 2 times; each time, no id may equal the id that is rotated to its position. Empty slots (-1) become
// -2 in the rotated list, so that two of them are not equal.
template <class Share> HPMOE_ROUTINE uint32_t CheckIds(VectorCore &core, const Share &route) {
    const uint32_t top_k = route.from.top_k;
    const int32_t least = route.from.gaps != 0 ? -1 : 0;
    const uint32_t block = CHECKED_BLOCK / top_k * top_k;
    const uint32_t share = CeilDiv(core.launch.tokens, route.counting) * top_k;
    const uint32_t begin = core.number * share;
    const uint32_t end = Min(begin + share, core.launch.tokens * top_k);
    const uint32_t next = UB_WORK, turned = UB_WORK + WORK_BYTES, other = turned + WORK_BYTES,
                   scratch = other + WORK_BYTES, groups = scratch + WORK_BYTES;
    if (begin >= end) {
        return NO_FAULT;
    }
    const Lists longest{Min(block, end - begin)};
    if (route.HasGroups()) {
        GroupsOfSlots(longest, route, groups, turned);
    }
    NextOfToken(longest, next, turned, other, top_k);
    for (uint32_t at = begin; at < end; at += block) {
        const Lists lists{Min(block, end - at)};
        LoadWords(UB_IDS, route.from.ids + static_cast<uint64_t>(at) * 4, lists.count);
        lists.Limited(turned, UB_IDS, least, static_cast<int32_t>(route.experts) - 1);
        bool good = CountEqual(UB_IDS, turned, scratch, lists.count) == lists.count;
        if (good && route.HasGroups()) {
            good = InGroups(lists, route, groups, turned, other, scratch);
        }
        lists.AtMost(turned, UB_IDS, 0);
        lists.Plus(turned, turned, UB_IDS);
        for (uint32_t turn = 1; good && turn <= top_k / 2; ++turn) {
            const uint32_t from = turn % 2 == 1 ? turned : other;
            const uint32_t to = turn % 2 == 1 ? other : turned;
            lists.Picked(to, from, next, 0);
            good = CountEqual(UB_IDS, to, scratch, lists.count) == 0;
        }
        if (!good) { // Some slot of the block is a fault: find the first one.
            const uint32_t fault = FirstFault(route, at, lists.count, least);
            HPMOE_EXPECTS(fault != NO_FAULT);
            return fault;
        }
    }
    return NO_FAULT;
}

// Keeps those ids in UB whose slots are sent once: the token has no slot with a lower-numbered expert of the same rank.
// All other ids become -1.
HPMOE_ROUTINE void SentOnce(const Lists &lists, uint32_t top_k, uint32_t local) {
    const uint32_t next = UB_WORK, turned = next + ONCE_BYTES, other = turned + ONCE_BYTES, least = other + ONCE_BYTES;
    const uint32_t sent = least + ONCE_BYTES, lower = sent + ONCE_BYTES, same = lower + ONCE_BYTES;
    NextOfToken(lists, next, turned, other, top_k);
    lists.Copied(turned, UB_IDS);
    // For each id, the first expert on the rank of the id's expert.
    lists.AtLeast(least, UB_IDS, 0);
    lists.Quotients(least, least, local);
    lists.Scaled(least, least, static_cast<int32_t>(local));
    lists.Filled(sent, 0);
    for (uint32_t turn = 1; turn < top_k; ++turn) {
        const uint32_t from = turn % 2 == 1 ? turned : other;
        const uint32_t to = turn % 2 == 1 ? other : turned;
        lists.Picked(to, from, next, 0);
        lists.Minus(lower, UB_IDS, to);
        lists.Positive(lower, lower);
        lists.Minus(same, to, least);
        lists.Shifted(same, same, 1);
        lists.Positive(same, same);
        lists.Times(lower, lower, same);
        lists.Plus(sent, sent, lower);
    }
    lists.Positive(sent, sent);
    lists.Shifted(lower, UB_IDS, 1);
    lists.Times(lower, lower, sent);
    lists.Minus(UB_IDS, UB_IDS, lower);
}

// A block of a chunk's slots. The chunk has `tokens` tokens on this rank, from `first_token` on. `begin` is the number
// of the block's first slot, counted from the rank's first slot; `at` is the same, counted from the chunk's first slot.
struct SlotBlock {
    uint32_t begin;
    uint32_t at;
    uint32_t count;

    template <class Share>
    HPMOE_INLINE SlotBlock(const Share &route, uint32_t part, uint32_t first_token, uint32_t tokens, uint32_t first)
        : begin(first_token * route.from.top_k + first), at(first),
          count(Min((part == 0 ? IDS_BLOCK : ONCE_BLOCK) / route.from.top_k * route.from.top_k,
                    tokens * route.from.top_k - first)) {}

    template <class Share> HPMOE_INLINE void LoadIds(const VectorCore &core, const Share &route, uint32_t part) const {
        LoadWords(UB_IDS, route.from.ids + static_cast<uint64_t>(begin) * 4, count);
        if (Share::Needs(NEEDS_ONCE) && part != 0) {
            SentOnce(Lists{count}, route.from.top_k, core.launch.chunk_experts);
        }
    }
    // Packs those ids in UB that name this core's experts, and their slots, which are counted from the block's first
    // slot. Returns their number. Few ids are then left to compare with each expert.
    template <class Share> HPMOE_INLINE uint32_t PickOwn(const Share &route) const {
        const int32_t first = static_cast<int32_t>(route.first), last = first + static_cast<int32_t>(route.own) - 1;
        Lists{count}.Limited(UB_OWN, UB_IDS, first, last);
        CompareLists(UB_OWN, UB_IDS, count);
        PickSet(UB_OWN_SLOTS, UB_SLOTS, count);
        return PickSet(UB_OWN, UB_IDS, count);
    }
    // Packs the slots of an expert into UB_PICKED, out of the `own` slots that were packed. Returns their number.
    static HPMOE_INLINE uint32_t SlotsOf(uint32_t expert, uint32_t own) {
        return own == 0 ? 0 : PickEqual(UB_PICKED, UB_OWN_SLOTS, UB_OWN, static_cast<int32_t>(expert), own);
    }
};

// Keeps the picked slots, unless there is no room for all slots of this core's experts. Slots are numbered from the
// chunk's first slot; from the rank's first slot if their chunk is not known yet or the route is kept.
template <class Share> HPMOE_INLINE void KeepPicked(Share &route, const SlotBlock &block, uint32_t count) {
    const uint32_t room = AlignUp(count, BLOCK_WORDS);
    route.keeps = route.keeps && route.kept + room <= KEPT_SLOTS;
    if (!route.keeps) {
        return;
    }
    const uint32_t before = Share::CountsFromFirst() ? block.begin : block.at;
    Lists{count}.Shifted(UB_KEPT_SLOTS + route.kept * 4, UB_PICKED, static_cast<int32_t>(before));
    route.kept += room;
}

// Adds the counts of a block of slots to the core's counts, and keeps them together with the slots if there is room.
// Each list of counts starts at a multiple of 32 bytes.
template <class Share> HPMOE_INLINE void AddCounts(Share &route, uint32_t counted) {
    const Lists own{route.own};
    const uint32_t room = AlignUp(route.own, BLOCK_WORDS);
    BeforeVector();
    own.Plus(counted, counted, UB_BLOCK_COUNTS);
    route.keeps = route.keeps && route.fragments + room <= MOST_FRAGMENTS;
    if (route.keeps) {
        own.Copied(UB_FRAGMENTS + route.fragments * 4, UB_BLOCK_COUNTS);
        route.fragments += room;
    }
}

template <class Share> HPMOE_INLINE void CountPart(VectorCore &core, Share &route, uint32_t part) {
    const uint32_t counted = route.Counted(core, part);
    const uint32_t pitch = AlignUp(route.own, BLOCK_WORDS);
    for (uint32_t chunk = 0; chunk < route.Chunks(core); ++chunk) {
        const uint32_t slots = core.ChunkTokens(chunk) * route.from.top_k;
        for (uint32_t at = 0; at < slots;) {
            const SlotBlock block(route, part, core.FirstToken(chunk), core.ChunkTokens(chunk), at);
            block.LoadIds(core, route, part);
            const uint32_t own = block.PickOwn(route);
            for (uint32_t i = 0; i < route.own; ++i) {
                const uint32_t count = SlotBlock::SlotsOf(route.first + i, own);
                Ints(UB_BLOCK_COUNTS).SetValue(i, static_cast<int32_t>(count));
                KeepPicked(route, block, count);
            }
            AddCounts(route, counted + chunk * pitch * 4);
            at += block.count;
        }
    }
}

// Counts the slots of this core's experts, into UB_COUNTED. If there is a fault, it replaces every count. Returns
// whether there is no fault.
template <class Share> HPMOE_INLINE bool CountSlots(VectorCore &core, Share &route) {
    Lists{Min(IDS_BLOCK, core.launch.tokens * route.from.top_k)}.Ramp(UB_SLOTS, 1);
    const Lists counted{route.Parts() * route.Chunks(core) * AlignUp(route.own, BLOCK_WORDS)};
    counted.Filled(UB_COUNTED, 0);
    const uint32_t fault = CheckIds(core, route);
    if (fault != NO_FAULT) {
        counted.Filled(UB_COUNTED, FAULT_COUNT + static_cast<int32_t>(fault));
    }
    for (uint32_t part = 0; fault == NO_FAULT && part < route.Parts(); ++part) {
        CountPart(core, route, part);
    }
    return fault == NO_FAULT;
}

} // namespace hpmoe

// Lists of int32 in UB: sums, quotients, prefix sums and permutations.
//
// A list starts at a multiple of 32 bytes, after a block of zeros that belongs to it. Gather reads numbers at shifted
// positions, and may read from that block, too.
#pragma once

#include "hpmoe/vector.h"

namespace hpmoe {

constexpr uint32_t LIST_FRONT = BLOCK_BYTES; // bytes of zeros before a list
constexpr uint32_t BLOCK_WORDS = BLOCK_BYTES / 4;

HPMOE_INLINE LocalTensor<int32_t> Ints(uint32_t at) { return UbFrom<int32_t>(at); }

// Bytes from a list of `count` numbers to the next list.
HPMOE_INLINE uint32_t ListBytes(uint32_t count) { return AlignUp(count, LANES) * 4 + LIST_FRONT; }

HPMOE_INLINE void AfterVector() {
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
}

HPMOE_INLINE void BeforeVector() {
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
}

// Operations on lists of `count` numbers, whose addresses are passed. Each may read the results of the operation
// before.
//
// They are routines and not inlined. Code that makes a route runs once per launch, and fetching another inlined copy at
// each of some 200 calls takes longer than a jump to a routine.
HPMOE_ROUTINE void AddLists(uint32_t out, uint32_t a, uint32_t b, uint32_t count) {
    Add(Ints(out), Ints(a), Ints(b), static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void SubtractLists(uint32_t out, uint32_t a, uint32_t b, uint32_t count) {
    Sub(Ints(out), Ints(a), Ints(b), static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void MultiplyLists(uint32_t out, uint32_t a, uint32_t b, uint32_t count) {
    Mul(Ints(out), Ints(a), Ints(b), static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void GreaterOfLists(uint32_t out, uint32_t a, uint32_t b, uint32_t count) {
    Max(Ints(out), Ints(a), Ints(b), static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void LesserOfLists(uint32_t out, uint32_t a, uint32_t b, uint32_t count) {
    Min(Ints(out), Ints(a), Ints(b), static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void AddToList(uint32_t out, uint32_t a, int32_t number, uint32_t count) {
    Adds(Ints(out), Ints(a), number, static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void MultiplyList(uint32_t out, uint32_t a, int32_t number, uint32_t count) {
    Muls(Ints(out), Ints(a), number, static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void RaiseList(uint32_t out, uint32_t a, int32_t least, uint32_t count) {
    Maxs(Ints(out), Ints(a), least, static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void LowerList(uint32_t out, uint32_t a, int32_t most, uint32_t count) {
    Mins(Ints(out), Ints(a), most, static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void LimitList(uint32_t out, uint32_t a, int32_t least, int32_t most, uint32_t count) {
    Maxs(Ints(out), Ints(a), least, static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
    Mins(Ints(out), Ints(out), most, static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void FillList(uint32_t out, int32_t number, uint32_t count) {
    Duplicate(Ints(out), number, static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void PickFromList(uint32_t out, uint32_t from, uint32_t offsets, uint32_t base, uint32_t count) {
    Gather(Ints(out), Ints(from), UbFrom<uint32_t>(offsets), base, count);
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void DivideList(uint32_t out, uint32_t a, uint32_t by, uint32_t count) {
    const LocalTensor<float> numbers = UbFrom<float>(out);
    const int32_t all = static_cast<int32_t>(count);
    Cast(numbers, Ints(a), RoundMode::CAST_NONE, count);
    PipeBarrier<PIPE_V>();
    Adds(numbers, numbers, 0.5f, all);
    PipeBarrier<PIPE_V>();
    Muls(numbers, numbers, 1.0f / static_cast<float>(by), all);
    PipeBarrier<PIPE_V>();
    Cast(Ints(out), numbers, RoundMode::CAST_FLOOR, count);
    PipeBarrier<PIPE_V>();
}

HPMOE_ROUTINE void RampList(uint32_t out, int32_t step, uint32_t count) {
    const LocalTensor<int32_t> numbers = Ints(out);
    AfterVector();
    for (uint32_t i = 0; i < BLOCK_WORDS; ++i) {
        numbers.SetValue(i, static_cast<int32_t>(i) * step);
    }
    BeforeVector();
    for (uint32_t made = BLOCK_WORDS; made < count; made *= 2) {
        Adds(numbers[made], numbers, static_cast<int32_t>(made) * step,
             static_cast<int32_t>(hpmoe::Min(made, count - made)));
        PipeBarrier<PIPE_V>();
    }
}

// The operations above, on lists of `count` numbers each.
struct Lists {
    uint32_t count;

    HPMOE_INLINE int32_t All() const { return static_cast<int32_t>(count); }

    HPMOE_INLINE void Plus(uint32_t out, uint32_t a, uint32_t b) const { AddLists(out, a, b, count); }
    HPMOE_INLINE void Minus(uint32_t out, uint32_t a, uint32_t b) const { SubtractLists(out, a, b, count); }
    HPMOE_INLINE void Times(uint32_t out, uint32_t a, uint32_t b) const { MultiplyLists(out, a, b, count); }
    HPMOE_INLINE void Greater(uint32_t out, uint32_t a, uint32_t b) const { GreaterOfLists(out, a, b, count); }
    HPMOE_INLINE void Lesser(uint32_t out, uint32_t a, uint32_t b) const { LesserOfLists(out, a, b, count); }
    HPMOE_INLINE void Shifted(uint32_t out, uint32_t a, int32_t number) const { AddToList(out, a, number, count); }
    HPMOE_INLINE void Copied(uint32_t out, uint32_t a) const { AddToList(out, a, 0, count); }
    HPMOE_INLINE void Scaled(uint32_t out, uint32_t a, int32_t number) const { MultiplyList(out, a, number, count); }
    HPMOE_INLINE void Limited(uint32_t out, uint32_t a, int32_t least, int32_t most) const {
        LimitList(out, a, least, most, count);
    }
    HPMOE_INLINE void AtLeast(uint32_t out, uint32_t a, int32_t number) const { RaiseList(out, a, number, count); }
    HPMOE_INLINE void AtMost(uint32_t out, uint32_t a, int32_t number) const { LowerList(out, a, number, count); }
    HPMOE_INLINE void Filled(uint32_t out, int32_t number) const { FillList(out, number, count); }
    // out[i] = 0 if a[i] < 1, else 1.
    HPMOE_INLINE void Positive(uint32_t out, uint32_t a) const { Limited(out, a, 0, 1); }
    // out[i] = the number at address from + base + offsets[i], in bytes.
    HPMOE_INLINE void Picked(uint32_t out, uint32_t from, uint32_t offsets, uint32_t base) const {
        PickFromList(out, from, offsets, base, count);
    }
    // out[i] = ⌊a[i] / by⌋ for 0 <= a[i] < 2^22. The error of f32 is less than the half that is added.
    HPMOE_INLINE void Quotients(uint32_t out, uint32_t a, uint32_t by) const { DivideList(out, a, by, count); }
    // out[i] = i · step.
    HPMOE_INLINE void Ramp(uint32_t out, int32_t step) const { RampList(out, step, count); }
};

// out[i] = Σ a[j] for j < i, computed as the sum up to a[i], minus a[i]. `words` has the offset of each word, 4 * i.
// `scratch` is another list.
HPMOE_ROUTINE void SumsBefore(uint32_t out, uint32_t a, uint32_t words, uint32_t scratch, uint32_t count) {
    const Lists lists{count};
    Lists{BLOCK_WORDS}.Filled(a - LIST_FRONT, 0);
    Lists{BLOCK_WORDS}.Filled(out - LIST_FRONT, 0);
    lists.Picked(scratch, a - LIST_FRONT, words, LIST_FRONT - 4);
    lists.Plus(out, a, scratch);
    for (uint32_t step = 2; step < BLOCK_WORDS; step *= 2) {
        lists.Picked(scratch, out - LIST_FRONT, words, LIST_FRONT - 4 * step);
        lists.Plus(out, out, scratch);
    }
    for (uint32_t step = BLOCK_WORDS; step < count; step *= 2) {
        const Lists rest{count - step};
        rest.Copied(scratch, out);
        rest.Plus(out + step * 4, out + step * 4, scratch);
    }
    lists.Minus(out, out, a);
}

// Σ a[i]. The list is overwritten: its halves are added repeatedly. Waits for the vector unit before it returns.
HPMOE_ROUTINE int32_t TotalOf(uint32_t a, uint32_t count) {
    const LocalTensor<int32_t> numbers = Ints(a);
    const uint32_t blocks = count / BLOCK_WORDS;
    for (uint32_t left = blocks; left > 1;) {
        const uint32_t half = left / 2;
        Lists{half * BLOCK_WORDS}.Plus(a, a, a + (left - half) * BLOCK_BYTES);
        left -= half;
    }
    AfterVector();
    int32_t sum = 0;
    for (uint32_t i = 0; blocks > 0 && i < BLOCK_WORDS; ++i) {
        sum += numbers.GetValue(i);
    }
    for (uint32_t i = blocks * BLOCK_WORDS; i < count; ++i) {
        sum += numbers.GetValue(i);
    }
    return sum;
}

} // namespace hpmoe

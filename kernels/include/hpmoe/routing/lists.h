// Lists of int32 in UB: sums, quotients, sums of what comes before, order.
//
// A list begins on 32 bytes, after a block of zeros that belongs to it: what lies at other places is read by Gather, also from before
// the first number.
#pragma once

#include "hpmoe/vector.h"

namespace hpmoe {

constexpr uint32_t LIST_FRONT = BLOCK_BYTES; // zeros before a list
constexpr uint32_t BLOCK_WORDS = BLOCK_BYTES / 4;

HPMOE_INLINE LocalTensor<int32_t> Ints(uint32_t at) { return UbFrom<int32_t>(at); }

// Bytes from one list of this many numbers to the next.
HPMOE_INLINE uint32_t ListBytes(uint32_t count) { return AlignUp(count, LANES) * 4 + LIST_FRONT; }

HPMOE_INLINE void AfterVector() {
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
}

HPMOE_INLINE void BeforeVector() {
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
}

// Calls on lists of `count` numbers, told where these begin. What one wrote the next may read.
struct Lists {
    uint32_t count;

    HPMOE_INLINE int32_t All() const { return static_cast<int32_t>(count); }

    HPMOE_INLINE void Plus(uint32_t out, uint32_t a, uint32_t b) const {
        Add(Ints(out), Ints(a), Ints(b), All());
        PipeBarrier<PIPE_V>();
    }
    HPMOE_INLINE void Minus(uint32_t out, uint32_t a, uint32_t b) const {
        Sub(Ints(out), Ints(a), Ints(b), All());
        PipeBarrier<PIPE_V>();
    }
    HPMOE_INLINE void Times(uint32_t out, uint32_t a, uint32_t b) const {
        Mul(Ints(out), Ints(a), Ints(b), All());
        PipeBarrier<PIPE_V>();
    }
    HPMOE_INLINE void Shifted(uint32_t out, uint32_t a, int32_t number) const {
        Adds(Ints(out), Ints(a), number, All());
        PipeBarrier<PIPE_V>();
    }
    HPMOE_INLINE void Scaled(uint32_t out, uint32_t a, int32_t number) const {
        Muls(Ints(out), Ints(a), number, All());
        PipeBarrier<PIPE_V>();
    }
    HPMOE_INLINE void AtLeast(uint32_t out, uint32_t a, int32_t number) const {
        Maxs(Ints(out), Ints(a), number, All());
        PipeBarrier<PIPE_V>();
    }
    HPMOE_INLINE void AtMost(uint32_t out, uint32_t a, int32_t number) const {
        Mins(Ints(out), Ints(a), number, All());
        PipeBarrier<PIPE_V>();
    }
    HPMOE_INLINE void Filled(uint32_t out, int32_t number) const {
        Duplicate(Ints(out), number, All());
        PipeBarrier<PIPE_V>();
    }
    // 0 for numbers below 1, 1 for all others.
    HPMOE_INLINE void Positive(uint32_t out, uint32_t a) const {
        AtMost(out, a, 1);
        AtLeast(out, out, 0);
    }
    // out[i] = the number that lies offsets[i] bytes after from + base.
    HPMOE_INLINE void Picked(uint32_t out, uint32_t from, uint32_t offsets, uint32_t base) const {
        Gather(Ints(out), Ints(from), UbFrom<uint32_t>(offsets), base, count);
        PipeBarrier<PIPE_V>();
    }

    // out[i] = ⌊a[i] / by⌋ for 0 <= a[i] < 2^22: f32 is off by less than the half that is added.
    HPMOE_INLINE void Quotients(uint32_t out, uint32_t a, uint32_t by) const {
        const LocalTensor<float> numbers = UbFrom<float>(out);
        Cast(numbers, Ints(a), RoundMode::CAST_NONE, count);
        PipeBarrier<PIPE_V>();
        Adds(numbers, numbers, 0.5f, All());
        PipeBarrier<PIPE_V>();
        Muls(numbers, numbers, 1.0f / static_cast<float>(by), All());
        PipeBarrier<PIPE_V>();
        Cast(Ints(out), numbers, RoundMode::CAST_FLOOR, count);
        PipeBarrier<PIPE_V>();
    }

    // out[i] = i · step.
    HPMOE_INLINE void Ramp(uint32_t out, int32_t step) const {
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
};

// out[i] = Σ a[j] for j < i: of sums that end with a[i], less that. `words` counts by four: a word's offset. `scratch` is another list.
HPMOE_ROUTINE void SumsBefore(uint32_t out, uint32_t a, uint32_t words, uint32_t scratch, uint32_t count) {
    const Lists lists{count};
    const LocalTensor<int32_t> sums = Ints(out);
    const LocalTensor<int32_t> moved = Ints(scratch);
    Duplicate(Ints(a - LIST_FRONT), 0, static_cast<int32_t>(BLOCK_WORDS));
    Duplicate(Ints(out - LIST_FRONT), 0, static_cast<int32_t>(BLOCK_WORDS));
    PipeBarrier<PIPE_V>();
    lists.Picked(scratch, a - LIST_FRONT, words, LIST_FRONT - 4);
    lists.Plus(out, a, scratch);
    for (uint32_t step = 2; step < BLOCK_WORDS; step *= 2) {
        lists.Picked(scratch, out - LIST_FRONT, words, LIST_FRONT - 4 * step);
        lists.Plus(out, out, scratch);
    }
    for (uint32_t step = BLOCK_WORDS; step < count; step *= 2) {
        const int32_t rest = static_cast<int32_t>(count - step);
        Adds(moved, sums, 0, rest);
        PipeBarrier<PIPE_V>();
        Add(sums[step], sums[step], moved, rest);
        PipeBarrier<PIPE_V>();
    }
    lists.Minus(out, out, a);
}

// Σ a[i], by halves: the list is overwritten. Ends with the vector unit having come here.
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

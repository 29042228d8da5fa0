// Mmad for every operand type: ragged sizes, the order of sums, saturating integers.
#include <algorithm>
#include <cstring>
#include <limits>

#include "harness.h"

using namespace AscendC;

namespace {

struct Sizes {
    uint32_t m, n, k;
    uint32_t times; ///< number of times that the product is added
};

/// c = times * (a * w^T) on one matrix core; a is m x k, w is n x k.
template <typename T, typename S> void product(const Sizes &p, T *a, T *w, S *c) {
    constexpr uint32_t c0 = 32 / sizeof(T);
    const uint32_t mp = (p.m + 15) / 16 * 16, np = (p.n + 15) / 16 * 16, k1 = (p.k + c0 - 1) / c0;
    LocalTensor<T> l1A(TPosition::A1, 0, mp * k1 * c0), l0A(TPosition::A2, 0, mp * k1 * c0);
    LocalTensor<T> l1W(TPosition::B1, 128 * 1024, np * k1 * c0), l0W(TPosition::B2, 0, np * k1 * c0);
    LocalTensor<S> sums(TPosition::CO1, 0, mp * np);
    auto rows = [&](uint32_t count, uint32_t padded) {
        return Nd2NzParams(1, static_cast<uint16_t>(count), static_cast<uint16_t>(p.k), 0, static_cast<uint16_t>(p.k),
                           static_cast<uint16_t>(padded), 1, 0);
    };
    if (p.m == 1) DataCopy(l1A, global(a), p.k); // read as a plain vector
    else DataCopy(l1A, global(a), rows(p.m, mp));
    DataCopy(l1W, global(w), rows(p.n, np));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    const uint16_t gap = static_cast<uint16_t>(k1 - 1);
    if (p.m == 1)
        LoadData(l0A, l1A, LoadData2DParams(0, static_cast<uint8_t>(p.k * sizeof(T) / 512), 1, 0, 0, false, 0));
    else
        for (uint32_t i = 0; i < k1; ++i)
            LoadData(l0A[i * 16 * c0], l1A[i * mp * c0],
                     LoadData2DParams(0, static_cast<uint8_t>(mp / 16), 1, 0, gap, false, 0));
    LoadData(l0W, l1W, LoadData2DParams(0, static_cast<uint8_t>(np / 16 * k1), 1, 0, 0, false, 0));
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    for (uint32_t i = 0; i < p.times; ++i) {
        Mmad(sums, l0A, l0W,
             MmadParams(static_cast<uint16_t>(p.m), static_cast<uint16_t>(p.n), static_cast<uint16_t>(p.k), 0, false,
                        i == 0));
        PipeBarrier<PIPE_M>();
    }
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    Fixpipe<S, S, CFG_ROW_MAJOR>(global(c), sums,
                                 FixpipeParamsV220(static_cast<uint16_t>(p.n), static_cast<uint16_t>(p.m),
                                                   static_cast<uint16_t>(mp), p.n, false));
    PipeBarrier<PIPE_ALL>();
}

/// One element of the result: k ascends, and each step is rounded. Integers saturate after each of the products.
template <typename T> float expected(const Sizes &p, const T *a, const T *w, float) {
    float sum = 0;
    for (uint32_t i = 0; i < p.times * p.k; ++i) {
        float product = float(a[i % p.k]) * float(w[i % p.k]);
        sum = sum + product;
    }
    return sum;
}

int32_t expected(const Sizes &p, const int8_t *a, const int8_t *w, int32_t) {
    int64_t sum = 0, dot = 0;
    for (uint32_t k = 0; k < p.k; ++k) dot += a[k] * w[k];
    for (uint32_t i = 0; i < p.times; ++i)
        sum = std::clamp<int64_t>(sum + dot, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    return static_cast<int32_t>(sum);
}

/// Whether two results have the same bits or are both NaN.
template <typename S> bool same(S a, S b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

template <typename T, typename S> void check(const Sizes &p, Buffer<T> &a, Buffer<T> &w) {
    Buffer<S> c(p.m * p.n);
    Setup setup;
    setup.aiv = 0;
    setup.regions = {a.region("a", false), w.region("w", false), c.region("c")};
    HpmoeHostResult result = launch(setup, [&] { product(p, a.data, w.data, c.data); });
    EXPECT(result.code == 0, result.message);
    for (uint32_t i = 0; i < p.m; ++i)
        for (uint32_t j = 0; j < p.n; ++j)
            EXPECT(same(c[i * p.n + j], expected(p, a.data + i * p.k, w.data + j * p.k, S())),
                   "row " + std::to_string(i) + ", column " + std::to_string(j));
}

template <typename T> void checkReal(const Sizes &p) {
    Buffer<T> a(p.m * p.k), w(p.n * p.k);
    Data data{p.k};
    for (size_t i = 0; i < a.count; ++i) a[i] = T(data.next());
    for (size_t i = 0; i < w.count; ++i) w[i] = T(data.next());
    check<T, float>(p, a, w);
}

CASE(products_of_reals_add_in_ascending_k) {
    for (const Sizes &p :
         {Sizes{16, 16, 16, 1}, Sizes{19, 21, 37, 2}, Sizes{3, 40, 100, 1}, Sizes{37, 5, 9, 3}, Sizes{1, 21, 512, 2}}) {
        checkReal<bfloat16_t>(p);
        checkReal<half>(p);
        checkReal<float>(p);
    }
}

/// A random bf16 whose biased exponent is `exponent` or one more.
bfloat16_t near(uint32_t exponent, uint32_t &state) {
    state = state * 1664525 + 1013904223;
    bfloat16_t value;
    const uint16_t bits = static_cast<uint16_t>((state >> 16 & 0x807F) | ((exponent + (state >> 15 & 1)) << 7));
    std::memcpy(static_cast<void *>(&value), &bits, sizeof bits);
    return value;
}

/// Exponents, and sums of two biased exponents, near the limits beyond which a float can't hold every product. Such a product is
/// rounded, infinite or zero before it is added, and the model must do the same.
CASE(products_of_bf16_are_rounded_where_a_float_can_not_hold_them) {
    const Sizes p = {19, 21, 37, 2};
    uint32_t state = 1;
    for (uint32_t sum : {2, 60, 116, 117, 118, 119, 120, 200, 378, 379, 380, 381, 400})
        for (uint32_t least : {0, 1, 58, 130, 253, 254}) {
            if (sum < least || sum - least > 254) continue;
            Buffer<bfloat16_t> a(p.m * p.k), w(p.n * p.k);
            for (size_t i = 0; i < a.count; ++i) a[i] = i % 11 == 0 ? bfloat16_t(0.0f) : near(least, state);
            for (size_t i = 0; i < w.count; ++i) w[i] = near(sum - least, state);
            check<bfloat16_t, float>(p, a, w);
        }
}

CASE(products_of_any_bits) {
    const Sizes p = {19, 21, 37, 1};
    for (uint32_t state = 0; state < 20; ++state) {
        Buffer<bfloat16_t> a(p.m * p.k), w(p.n * p.k);
        uint32_t seed = state;
        for (size_t i = 0; i < a.count; ++i) a[i] = near(seed >> 8 & 0xFF, seed);
        for (size_t i = 0; i < w.count; ++i) w[i] = near(seed >> 8 & 0xFF, seed);
        check<bfloat16_t, float>(p, a, w);
    }
}

CASE(products_of_int8_are_exact_at_any_depth) {
    for (const Sizes &p :
         {Sizes{16, 16, 32, 1}, Sizes{19, 5, 1025, 2}, Sizes{21, 16, 2048, 1}, Sizes{1, 16, 1024, 1}}) {
        Buffer<int8_t> a(p.m * p.k), w(p.n * p.k);
        Data data{p.k};
        for (size_t i = 0; i < a.count; ++i) a[i] = static_cast<int8_t>(data.next() * 32.0f);
        for (size_t i = 0; i < w.count; ++i) w[i] = static_cast<int8_t>(data.next() * 32.0f);
        // The largest possible sums of either sign.
        std::fill_n(a.data, p.k, int8_t(-128)), std::fill_n(w.data, p.k, int8_t(-128));
        std::fill_n(w.data + p.k, p.k, int8_t(127));
        check<int8_t, int32_t>(p, a, w);
    }
}

CASE(products_of_int8_saturate) {
    const Sizes p = {16, 16, 2048, 70};
    Buffer<int8_t> a(p.m * p.k, -128), w(p.n * p.k, -128);
    std::fill_n(w.data + p.k, p.k, int8_t(127));
    check<int8_t, int32_t>(p, a, w);
}

} // namespace

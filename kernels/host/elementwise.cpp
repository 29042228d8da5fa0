// Elementwise operations by operation and type. half computes in float and rounds once; integers wrap.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "vector_math.h"

namespace AscendC::host {

namespace {

/// The type in which elements are computed.
template <typename T> struct Wide { using Type = T; };
template <> struct Wide<half> { using Type = float; };

template <typename T, typename F> void map(void *dst, const void *a, const void *b, uint32_t n, F f) {
    using W = typename Wide<T>::Type;
    T *d = static_cast<T *>(dst);
    const T *x = static_cast<const T *>(a), *y = static_cast<const T *>(b ? b : a);
#pragma GCC ivdep
    for (uint32_t i = 0; i < n; ++i) d[i] = static_cast<T>(f(static_cast<W>(x[i]), static_cast<W>(y[i])));
}

/// Integers add and multiply modulo 2^bits, like unsigned numbers.
template <typename W, typename F> W wrapped(W x, W y, F f) {
    if constexpr (std::is_integral_v<W>) return static_cast<W>(f(static_cast<uint32_t>(x), static_cast<uint32_t>(y)));
    else return f(x, y);
}

template <typename T> bool numbers(VOp op, void *dst, const void *a, const void *b, uint64_t scalar, uint32_t n) {
    using W = typename Wide<T>::Type;
    T operand;
    std::memcpy(static_cast<void *>(&operand), &scalar, sizeof(T));
    const W s = static_cast<W>(operand);
    auto add = [](auto x, auto y) { return x + y; };
    auto sub = [](auto x, auto y) { return x - y; };
    auto mul = [](auto x, auto y) { return x * y; };
    switch (op) {
    case VOp::Add: map<T>(dst, a, b, n, [=](W x, W y) { return wrapped(x, y, add); }); return true;
    case VOp::Sub: map<T>(dst, a, b, n, [=](W x, W y) { return wrapped(x, y, sub); }); return true;
    case VOp::Mul: map<T>(dst, a, b, n, [=](W x, W y) { return wrapped(x, y, mul); }); return true;
    case VOp::Max: map<T>(dst, a, b, n, [](W x, W y) { return x > y ? x : y; }); return true;
    case VOp::Min: map<T>(dst, a, b, n, [](W x, W y) { return x < y ? x : y; }); return true;
    case VOp::Adds: map<T>(dst, a, b, n, [=](W x, W) { return wrapped(x, s, add); }); return true;
    case VOp::Muls: map<T>(dst, a, b, n, [=](W x, W) { return wrapped(x, s, mul); }); return true;
    case VOp::Maxs: map<T>(dst, a, b, n, [=](W x, W) { return x > s ? x : s; }); return true;
    case VOp::Mins: map<T>(dst, a, b, n, [=](W x, W) { return x < s ? x : s; }); return true;
    case VOp::ShiftRight:
        if constexpr (std::is_integral_v<W>) {
            map<T>(dst, a, b, n, [=](W x, W) { return static_cast<W>(x >> s); });
            return true;
        }
        return false;
    case VOp::Relu:
        if constexpr (!std::is_same_v<T, int16_t>) {
            map<T>(dst, a, b, n, [](W x, W) { return x > W(0) ? x : x == x ? W(0) : x; });
            return true;
        }
        return false;
    default: return false;
    }
}

template <typename T> bool reals(VOp op, void *dst, const void *a, const void *b, uint64_t scalar, uint32_t n) {
    T operand;
    std::memcpy(static_cast<void *>(&operand), &scalar, sizeof(T));
    const float s = static_cast<float>(operand);
    switch (op) {
    case VOp::Div: map<T>(dst, a, b, n, [](float x, float y) { return x / y; }); return true;
    case VOp::Sqrt: map<T>(dst, a, b, n, [](float x, float) { return std::sqrt(x); }); return true;
    case VOp::Rsqrt: map<T>(dst, a, b, n, [](float x, float) { return 1.0f / std::sqrt(x); }); return true;
    case VOp::Reciprocal: map<T>(dst, a, b, n, [](float x, float) { return 1.0f / x; }); return true;
    case VOp::Abs: map<T>(dst, a, b, n, [](float x, float) { return floatOf(bitsOf(x) & 0x7FFFFFFFu); }); return true;
    case VOp::Axpy: // a is the addend's factor, b the old dst
        map<T>(dst, a, b, n, [=](float x, float old) {
            float product = x * s;
            return old + product;
        });
        return true;
    case VOp::Exp:
    case VOp::Ln: {
        auto f = op == VOp::Exp ? expOf : lnOf;
        if constexpr (std::is_same_v<T, float>) {
            f(static_cast<float *>(dst), static_cast<const float *>(a), n);
        } else {
            float buffer[256];
            for (uint32_t i = 0; i < n; i += 256) {
                uint32_t part = n - i < 256 ? n - i : 256;
                for (uint32_t e = 0; e < part; ++e) buffer[e] = static_cast<float>(static_cast<const T *>(a)[i + e]);
                f(buffer, buffer, part);
                for (uint32_t e = 0; e < part; ++e) static_cast<T *>(dst)[i + e] = static_cast<T>(buffer[e]);
            }
        }
        return true;
    }
    default: return numbers<T>(op, dst, a, b, scalar, n);
    }
}

} // namespace

bool elementwise(VOp op, Dt type, void *dst, const void *a, const void *b, uint64_t scalar, uint32_t n) {
    uint32_t size = sizeOf(type);
    if (op == VOp::Copy || op == VOp::Duplicate) { // moves bits: any 16- or 32-bit type
        if (size != 2 && size != 4) return false;
        if (op == VOp::Copy && n) std::memmove(dst, a, size_t(n) * size);
        if (op == VOp::Duplicate)
            for (uint32_t i = 0; i < n; ++i) std::memcpy(static_cast<uint8_t *>(dst) + i * size, &scalar, size);
        return true;
    }
    switch (type) {
    case Dt::F32: return reals<float>(op, dst, a, b, scalar, n);
    case Dt::F16: return reals<half>(op, dst, a, b, scalar, n);
    case Dt::I32: return numbers<int32_t>(op, dst, a, b, scalar, n);
    case Dt::I16: return numbers<int16_t>(op, dst, a, b, scalar, n);
    default: return false;
    }
}

bool elementwiseExists(VOp op, Dt type) { return elementwise(op, type, nullptr, nullptr, nullptr, 0, 0); }

} // namespace AscendC::host

// The 16-bit floating point types: storage with explicit conversions from and to float, nothing else. Rounding is to
// nearest, ties to even; overflow gives infinity, NaN stays NaN.
#pragma once

#include <cstdint>
#include <cstring>

namespace AscendC::host {

inline uint32_t bitsOf(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

inline float floatOf(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

inline uint16_t toBf16(float value) {
    uint32_t x = bitsOf(value);
    if ((x & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
    return static_cast<uint16_t>((x + 0x7FFFu + ((x >> 16) & 1u)) >> 16);
}

inline float fromBf16(uint16_t bits) { return floatOf(static_cast<uint32_t>(bits) << 16); }

inline uint16_t toHalf(float value) {
    uint32_t x = bitsOf(value), sign = (x >> 16) & 0x8000u;
    x &= 0x7FFFFFFFu;
    if (x > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u | ((x >> 13) & 0x3FFu));
    if (x >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);
    if (x < 0x38800000u) {
        // Adding 0.5 lines the mantissa up with half's subnormals, and the FPU rounds it.
        float aligned = floatOf(x) + 0.5f;
        return static_cast<uint16_t>(sign | (bitsOf(aligned) - 0x3F000000u));
    }
    uint32_t rounded = x + 0xFFFu + ((x >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float fromHalf(uint16_t bits) {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, rest = bits & 0x7FFFu;
    if (rest >= 0x7C00u) return floatOf(sign | 0x7F800000u | ((rest & 0x3FFu) << 13));
    if (rest >= 0x0400u) return floatOf(sign | ((rest << 13) + 0x38000000u));
    float small = static_cast<float>(rest) * 5.9604644775390625e-8f; // 2^-24
    return floatOf(sign | bitsOf(small));
}

} // namespace AscendC::host

class bfloat16_t {
  public:
    bfloat16_t() = default;
    explicit bfloat16_t(float value) : bits_(AscendC::host::toBf16(value)) {}
    explicit operator float() const { return AscendC::host::fromBf16(bits_); }

  private:
    uint16_t bits_;
};

class half {
  public:
    half() = default;
    explicit half(float value) : bits_(AscendC::host::toHalf(value)) {}
    explicit operator float() const { return AscendC::host::fromHalf(bits_); }

  private:
    uint16_t bits_;
};

namespace AscendC {

/// Four bits in two's complement. A byte has two of them, the first in its lower half; a tensor counts numbers, not
/// bytes.
class int4b_t {
    uint8_t bits_;
};

} // namespace AscendC

namespace AscendC::host {

/// Element types, as codes for the part of the model that is not templates.
enum class Dt : uint8_t { U8, I8, U16, I16, F16, BF16, U32, I32, F32, U64, I64, I4 };

template <typename T> struct DtOf;
template <> struct DtOf<uint8_t> { static constexpr Dt value = Dt::U8; };
template <> struct DtOf<int8_t> { static constexpr Dt value = Dt::I8; };
template <> struct DtOf<uint16_t> { static constexpr Dt value = Dt::U16; };
template <> struct DtOf<int16_t> { static constexpr Dt value = Dt::I16; };
template <> struct DtOf<half> { static constexpr Dt value = Dt::F16; };
template <> struct DtOf<bfloat16_t> { static constexpr Dt value = Dt::BF16; };
template <> struct DtOf<uint32_t> { static constexpr Dt value = Dt::U32; };
template <> struct DtOf<int32_t> { static constexpr Dt value = Dt::I32; };
template <> struct DtOf<float> { static constexpr Dt value = Dt::F32; };
template <> struct DtOf<uint64_t> { static constexpr Dt value = Dt::U64; };
template <> struct DtOf<int64_t> { static constexpr Dt value = Dt::I64; };
template <> struct DtOf<int4b_t> { static constexpr Dt value = Dt::I4; };
template <typename T> inline constexpr Dt dtOf = DtOf<T>::value;

/// Number of bytes of an element. For 4-bit numbers, use bytesOf.
inline constexpr uint32_t sizeOf(Dt type) {
    return type <= Dt::I8 ? 1u : type <= Dt::BF16 ? 2u : type <= Dt::F32 ? 4u : 8u;
}

/// Number of bytes of `count` elements.
inline constexpr uint64_t bytesOf(Dt type, uint64_t count) {
    return type == Dt::I4 ? (count + 1) / 2 : count * sizeOf(type);
}

/// A scalar operand as raw bits (at most 64).
template <typename T> inline uint64_t rawBits(const T &value) {
    static_assert(sizeof(T) <= 8, "a scalar operand has at most 64 bits");
    uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const void *>(&value), sizeof(T));
    return bits;
}

} // namespace AscendC::host

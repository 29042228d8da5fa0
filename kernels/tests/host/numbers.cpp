// Results of Exp, bit for bit against its documented steps, and of Ln and conversions.
#include <cmath>
#include <limits>

#include "harness.h"
#include "vector_math.h"

using namespace AscendC;

namespace {

uint32_t bits(float x) { return host::bitsOf(x); }

/// Runs one unary call over `in` on a vector core.
template <typename T, typename U>
void through(Buffer<T> &out, Buffer<U> &in,
             const std::function<void(const LocalTensor<T> &, const LocalTensor<U> &)> &call) {
    Setup setup;
    setup.aic = 0, setup.aiv = 1;
    setup.regions = {in.region("in"), out.region("out")};
    const uint32_t n = static_cast<uint32_t>(in.count), blocks = (n + 31) / 32 * 32; // whole blocks for any type
    HpmoeHostResult result = launch(setup, [&] {
        LocalTensor<U> a(TPosition::VECIN, 0, blocks);
        LocalTensor<T> b(TPosition::VECOUT, 65536, blocks);
        DataCopyPad(a, global(in.data), DataCopyExtParams(1, n * uint32_t(sizeof(U)), 0, 0, 0),
                    DataCopyPadExtParams<U>());
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        call(b, a);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopyPad(global(out.data), b, DataCopyExtParams(1, n * uint32_t(sizeof(T)), 0, 0, 0));
        PipeBarrier<PIPE_ALL>();
    });
    EXPECT(result.code == 0, result.message);
}

/// The documented steps of Exp, each rounded once, written independently of the model.
float expSteps(float x) {
    if (x != x) return x + x;
    if (x > host::floatOf(0x42B17218u)) return std::numeric_limits<float>::infinity();
    if (x < host::floatOf(0xC2CFF1B5u)) return 0.0f;
    volatile float t = x * 1.44269504f;
    t = t + 0.5f;
    const float n = std::floor(t);
    volatile float r = n * 0.693359375f;
    r = x - r;
    volatile float s = n * -2.12194440e-4f;
    r = r - s;
    const float c[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f};
    volatile float p = 1.9875691500e-4f;
    for (float next : c) {
        p = p * r;
        p = p + next;
    }
    volatile float y = r * r;
    y = p * y;
    y = y + r;
    y = y + 1.0f;
    int whole = static_cast<int>(n), first = whole / 2;
    y = y * std::ldexp(1.0f, first);
    y = y * std::ldexp(1.0f, whole - first);
    return y;
}

CASE(exp_has_the_documented_bits) {
    constexpr uint32_t n = 1000;
    Buffer<float> in(n), out(n);
    for (uint32_t i = 0; i < n; ++i) in[i] = -110.0f + static_cast<float>(i) * 0.2f;
    constexpr float inf = std::numeric_limits<float>::infinity();
    const float special[] = {0.0f,   -0.0f,  88.72284f, 88.7229f, -103.97208f, -103.9721f,
                             1e-30f, -87.5f, -100.0f,   88.0f,    inf,         -inf};
    for (size_t i = 0; i < sizeof special / sizeof *special; ++i) in[i * 7] = special[i];
    through<float, float>(out, in, [&](const LocalTensor<float> &b, const LocalTensor<float> &a) { Exp(b, a, n); });
    uint64_t sum = 0xCBF29CE484222325ull;
    for (uint32_t i = 0; i < n; ++i) {
        EXPECT(bits(out[i]) == bits(expSteps(in[i])), std::to_string(in[i]));
        sum = (sum ^ bits(out[i])) * 0x100000001B3ull;
        double want = std::exp(static_cast<double>(in[i]));
        if (want > 1.2e-38 && want < 3e38) EXPECT(std::fabs(out[i] / want - 1.0) < 3e-7, std::to_string(in[i]));
    }
    std::printf("    checksum of 1000 values %016llx\n", static_cast<unsigned long long>(sum));
    EXPECT(sum == 0xE476FE168D3DF0FFull, "checksum");
    in[0] = std::numeric_limits<float>::quiet_NaN();
    through<float, float>(out, in, [&](const LocalTensor<float> &b, const LocalTensor<float> &a) { Exp(b, a, n); });
    EXPECT(out[0] != out[0], "NaN");
}

/// The checksum equals that of `hpmoe_kernels::math` over the same inputs: all signs and exponents, and both limits.
CASE(exp_has_the_bits_of_the_rust_one) {
    const char *want = std::getenv("HPMOE_EXP_CHECKSUM");
    if (!want) return std::puts("    skipped: HPMOE_EXP_CHECKSUM is not set"), void();
    uint64_t sum = 0xCBF29CE484222325ull;
    auto add = [&](uint32_t in) {
        float x = host::floatOf(in), y;
        host::expOf(&y, &x, 1);
        sum = (sum ^ (y != y ? 0x7FC00000u : bits(y))) * 0x100000001B3ull;
    };
    for (uint32_t i = 0; i < 65536; ++i) add((i << 16) | ((i * 40503u) & 0xFFFFu));
    for (uint32_t end : {0x42B17218u, 0xC2CFF1B5u})
        for (uint32_t in = end - 1; in <= end + 1; ++in) add(in);
    EXPECT(sum == std::strtoull(want, nullptr, 16), want);
}

CASE(ln_is_close_and_has_its_special_values) {
    constexpr uint32_t n = 1000;
    Buffer<float> in(n), out(n);
    for (uint32_t i = 0; i < n; ++i) in[i] = std::exp(-87.0f + static_cast<float>(i) * 0.17f);
    in[0] = 0.0f, in[1] = -1.0f, in[2] = std::numeric_limits<float>::infinity(), in[3] = 1e-41f, in[4] = 1.0f;
    in[5] = std::numeric_limits<float>::quiet_NaN();
    through<float, float>(out, in, [&](const LocalTensor<float> &b, const LocalTensor<float> &a) { Ln(b, a, n); });
    EXPECT(out[0] == -std::numeric_limits<float>::infinity(), "0");
    EXPECT(out[1] != out[1] && out[5] != out[5] && out[2] == in[2] && out[4] == 0.0f, "specials");
    for (uint32_t i = 6; i < n; ++i) {
        double want = std::log(static_cast<double>(in[i]));
        EXPECT(std::fabs(out[i] - want) <= 2e-7 * std::fabs(want) + 1e-7, std::to_string(in[i]));
    }
    EXPECT(std::fabs(out[3] - std::log(1e-41)) < 1e-3, "subnormal");
}

CASE(half_converts_exactly_and_rounds_to_even) {
    for (uint32_t x = 0; x < 65536; ++x) {
        float wide = host::fromHalf(static_cast<uint16_t>(x));
        if (wide == wide) EXPECT(host::toHalf(wide) == x, std::to_string(x));
    }
    EXPECT(host::toHalf(2049.0f) == host::toHalf(2048.0f) && host::toHalf(2051.0f) == host::toHalf(2052.0f), "ties");
    EXPECT(host::toHalf(65519.0f) == 0x7BFF && host::toHalf(65520.0f) == 0x7C00, "overflow");
    EXPECT(host::toBf16(host::floatOf(0x3F808000u)) == 0x3F80 && host::toBf16(host::floatOf(0x3F818000u)) == 0x3F82,
           "ties");
}

CASE(cast_rounds_by_mode) {
    Buffer<float> in(8);
    const float values[] = {1.5f, 2.5f, -1.5f, -2.5f, 0.3f, -0.3f, 3e9f, -3e9f};
    for (int i = 0; i < 8; ++i) in[static_cast<size_t>(i)] = values[i];
    auto whole = [&](RoundMode mode, std::vector<int32_t> want) {
        Buffer<int32_t> out(8);
        through<int32_t, float>(
            out, in, [&](const LocalTensor<int32_t> &b, const LocalTensor<float> &a) { Cast(b, a, mode, 8); });
        for (size_t i = 0; i < 8; ++i) EXPECT(out[i] == want[i], std::to_string(i));
    };
    constexpr int32_t high = std::numeric_limits<int32_t>::max(), low = std::numeric_limits<int32_t>::min();
    whole(RoundMode::CAST_RINT, {2, 2, -2, -2, 0, 0, high, low});
    whole(RoundMode::CAST_ROUND, {2, 3, -2, -3, 0, 0, high, low});
    whole(RoundMode::CAST_FLOOR, {1, 2, -2, -3, 0, -1, high, low});
    whole(RoundMode::CAST_CEIL, {2, 3, -1, -2, 1, 0, high, low});
    whole(RoundMode::CAST_TRUNC, {1, 2, -1, -2, 0, 0, high, low});
    Buffer<bfloat16_t> narrow(8);
    auto bf16 = [&](RoundMode mode) {
        through<bfloat16_t, float>(
            narrow, in, [&](const LocalTensor<bfloat16_t> &b, const LocalTensor<float> &a) { Cast(b, a, mode, 8); });
    };
    in[0] = host::floatOf(0x3F808000u), in[1] = host::floatOf(0xBF808001u);
    bf16(RoundMode::CAST_RINT);
    EXPECT(AscendC::host::rawBits(narrow[0]) == 0x3F80 && AscendC::host::rawBits(narrow[1]) == 0xBF81, "rint");
    bf16(RoundMode::CAST_FLOOR);
    EXPECT(AscendC::host::rawBits(narrow[0]) == 0x3F80 && AscendC::host::rawBits(narrow[1]) == 0xBF81, "floor");
    bf16(RoundMode::CAST_CEIL);
    EXPECT(AscendC::host::rawBits(narrow[0]) == 0x3F81 && AscendC::host::rawBits(narrow[1]) == 0xBF80, "ceil");
    bf16(RoundMode::CAST_ROUND);
    EXPECT(AscendC::host::rawBits(narrow[0]) == 0x3F81 && AscendC::host::rawBits(narrow[1]) == 0xBF81, "round");
}

CASE(four_bits_are_numbers_of_the_lower_half_first) {
    Buffer<uint8_t> in(512); // only the first half is converted
    for (uint32_t i = 0; i < 512; ++i) in[i] = static_cast<uint8_t>(i);
    Buffer<half> out(512);
    through<half, uint8_t>(out, in, [&](const LocalTensor<half> &b, const LocalTensor<uint8_t> &a) {
        const LocalTensor<int4b_t> numbers = a.ReinterpretCast<int4b_t>();
        if (numbers.GetSize() == 1024) Cast(b, numbers, RoundMode::CAST_NONE, 512);
    });
    for (int i = 0; i < 512; ++i) {
        const int byte = i / 2, bits = i % 2 ? byte / 16 : byte % 16;
        const float number = static_cast<float>(bits < 8 ? bits : bits - 16);
        EXPECT(static_cast<float>(out[static_cast<size_t>(i)]) == number, std::to_string(i));
    }
}

} // namespace

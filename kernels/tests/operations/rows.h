// Runs operations of the table on one vector core, with code that a test generates from their rows. Reads cases from a file,
// and writes the results to another file.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "hpmoe/kernel.h"

#include "launch.h"

constexpr uint32_t kMost = 4; // operands, numbers, scratch values

/// The parameters of a row's code: addresses in UB, and sizes.
struct Frame {
    uint32_t out, in[kMost], scratch[kMost];
    uint32_t outRows, outCols, cols, terms, size; // `cols`: of the first operand; `size`: the first size operand
    int32_t count;                                // elements of the result in UB, with the padding of rows
    float number[kMost];

    static AscendC::LocalTensor<float> at(uint32_t address) { return hpmoe::UbFrom<float>(address); }
};

using Code = void (*)(const Frame &);

/// The size to which operands are spread before a row's code runs: none, that of the result, or its number of rows.
enum class Spreads { Nothing, Result, Rows };

/// A generated row: its code, whether a barrier is needed between the writes of its operands and the code, and how operands are
/// spread first.
struct Row {
    Code code;
    bool barrier;
    Spreads spreads;
};
extern const Row kRows[];

struct Matrix {
    uint32_t rows, cols;
    std::vector<float> data;
};

struct Case {
    uint32_t row, seed, terms, size;
    uint32_t whole; ///< whether no call is left out; if so, only written elements are read
    Matrix out;
    std::vector<float> numbers;
    std::vector<Matrix> scratch, in;
};

static const Case *g_case;
static float *g_in[kMost], *g_out;

/// Allocates `rows` rows of `cols` elements in UB, with a gap after them that nothing may touch.
static uint32_t take(uint32_t &next, uint32_t rows, uint32_t cols) {
    const uint32_t at = next;
    next += rows * hpmoe::UbPitch(cols) * 4 + hpmoe::BLOCK_BYTES;
    return at;
}

extern "C" __global__ __aicore__ void operation(GM_ADDR) {
    using namespace AscendC;
    InitSocState();
    const bool infinities = hpmoe::HasControl(hpmoe::KEEPS_INFINITIES);
    hpmoe::SetControl(hpmoe::KEEPS_INFINITIES, true);
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(GlobalTensor<int32_t>());
    const Case &c = *g_case;
    Frame frame = {};
    uint32_t next = 0, staged[kMost];
    for (size_t i = 0; i < c.in.size(); ++i) {
        const Matrix &m = c.in[i];
        staged[i] = take(next, m.rows, m.cols);
        frame.in[i] = take(next, m.rows, m.cols);
        const hpmoe::View<float> view = {reinterpret_cast<uint64_t>(g_in[i]), m.rows, m.cols, m.cols};
        hpmoe::LoadRows(hpmoe::UbFrom<float>(staged[i]), view, 0, m.rows);
    }
    frame.out = take(next, c.out.rows, c.out.cols);
    for (size_t i = 0; i < c.scratch.size(); ++i) frame.scratch[i] = take(next, c.scratch[i].rows, c.scratch[i].cols);
    for (size_t i = 0; i < c.numbers.size(); ++i) frame.number[i] = c.numbers[i];
    frame.outRows = c.out.rows, frame.outCols = c.out.cols, frame.cols = c.in[0].cols;
    frame.terms = c.terms, frame.size = c.size;
    frame.count = hpmoe::UbCount(c.out.rows, c.out.cols);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    for (size_t i = 0; i < c.in.size(); ++i)
        hpmoe::CopyValues(frame.in[i], staged[i], hpmoe::UbCount(c.in[i].rows, c.in[i].cols));
    if (kRows[c.row].barrier) PipeBarrier<PIPE_V>();
    for (size_t i = 0; i < c.in.size() && kRows[c.row].spreads != Spreads::Nothing; ++i) {
        const uint32_t cols = kRows[c.row].spreads == Spreads::Rows ? c.in[i].cols : c.out.cols;
        const bool row = c.in[i].rows != c.out.rows, col = c.in[i].cols != cols;
        if (!row && !col) continue;
        const uint32_t from = frame.in[i], to = take(next, c.out.rows, cols);
        if (row && col) hpmoe::SpreadNumber(to, from, c.out.rows, cols);
        else if (row) hpmoe::SpreadRow(to, from, c.out.rows, cols);
        else hpmoe::SpreadColumn(to, from, c.out.rows, cols);
        PipeBarrier<PIPE_V>();
        frame.in[i] = to;
    }
    kRows[c.row].code(frame);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    hpmoe::StoreRows(hpmoe::View<float>{reinterpret_cast<uint64_t>(g_out), c.out.rows, c.out.cols, c.out.cols}, 0,
                     c.out.rows, hpmoe::UbFrom<float>(frame.out));
    PipeBarrier<PIPE_ALL>();
    ResetMask();
    hpmoe::SetControl(hpmoe::KEEPS_INFINITIES, infinities);
}

/// Reads the words of a file in order.
struct Words {
    FILE *file;
    uint32_t next() {
        uint32_t word;
        if (std::fread(&word, 4, 1, file) != 1) std::fprintf(stderr, "the file of cases ends early\n"), std::exit(2);
        return word;
    }
    float number() {
        const uint32_t word = next();
        float value;
        std::memcpy(&value, &word, 4);
        return value;
    }
    Matrix matrix(bool data) {
        Matrix m = {next(), next(), {}};
        m.data.resize(size_t(m.rows) * m.cols);
        if (data)
            for (float &x : m.data) x = number();
        return m;
    }
};

static Case readCase(Words &words) {
    Case c = {words.next(), words.next(), words.next(), words.next(), words.next(), words.matrix(false), {}, {}, {}};
    for (uint32_t n = words.next(); n > 0; --n) c.numbers.push_back(words.number());
    for (uint32_t n = words.next(); n > 0; --n) c.scratch.push_back(words.matrix(false));
    for (uint32_t n = words.next(); n > 0; --n) c.in.push_back(words.matrix(true));
    return c;
}

static float *allocated(size_t count) {
    return static_cast<float *>(std::aligned_alloc(512, (count * sizeof(float) + 511) / 512 * 512));
}

/// Runs a case on the model of a vector core, with checks and without, which must give the same bits (NaNs are equal) if no call is left out.
/// Elements that are not written stay NaN.
static void run(Case &c) {
    std::vector<HpmoeHostRegion> regions;
    auto region = [&](float *base, size_t count, bool writable) {
        regions.push_back({base, count * sizeof(float), 0, HPMOE_HOST_PRIVATE, writable ? 1u : 0u, 0, "rows"});
    };
    for (size_t i = 0; i < c.in.size(); ++i) {
        g_in[i] = allocated(c.in[i].data.size());
        std::memcpy(g_in[i], c.in[i].data.data(), c.in[i].data.size() * sizeof(float));
        region(g_in[i], c.in[i].data.size(), false);
    }
    g_out = allocated(c.out.data.size());
    region(g_out, c.out.data.size(), true);
    g_case = &c;
    HpmoeHostOptions options = {};
    options.aiv = 1, options.threads = 1, options.seed = c.seed;
    options.regions = regions.data(), options.region_count = regions.size();
    for (options.unchecked = 0; options.unchecked < 2; ++options.unchecked) {
        std::memset(g_out, 0xFF, c.out.data.size() * sizeof(float));
        HpmoeHostResult result;
        if (hpmoe_host_run(operation, nullptr, &options, &result) != HPMOE_HOST_OK) {
            std::fprintf(stderr, "row %u of %ux%u: %s\n", c.row, c.out.rows, c.out.cols, result.message);
            std::exit(1);
        }
        for (size_t i = 0; options.unchecked && c.whole && i < c.out.data.size(); ++i) {
            const float with = c.out.data[i], without = g_out[i];
            if ((with == with || without == without) && std::memcmp(&with, &without, sizeof with) != 0) {
                std::fprintf(stderr, "row %u of %ux%u: without checks, number %zu is %a instead of %a\n", c.row,
                             c.out.rows, c.out.cols, i, without, with);
                std::exit(1);
            }
        }
        std::memcpy(c.out.data.data(), g_out, c.out.data.size() * sizeof(float));
    }
    for (size_t i = 0; i < c.in.size(); ++i) std::free(g_in[i]);
    std::free(g_out);
}

/// Arguments: the file of cases, the file for results.
int main(int, char **arguments) {
    Words words = {std::fopen(arguments[1], "rb")};
    FILE *results = std::fopen(arguments[2], "wb");
    if (!words.file || !results) return 2;
    for (uint32_t left = words.next(); left > 0; --left) {
        Case c = readCase(words);
        run(c);
        std::fwrite(c.out.data.data(), sizeof(float), c.out.data.size(), results);
    }
    return std::fclose(results) == 0 ? 0 : 2;
}

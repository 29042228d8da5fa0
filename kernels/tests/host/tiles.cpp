// Tiles in the device library: the pieces into which vector cores cut them, and products of every layout and type, with ragged sizes, inside
// larger tensors. Numbers are small integers, so that sums are exact in any order.
#include "cores.h"

using namespace AscendC;
using hpmoe::Contracted;

namespace {

struct Sizes {
    uint32_t m, n, k;
};

/// Numbers of rows and columns near 16; contractions near a fractal (16), an L0 step (32) and an L1 block (64).
constexpr Sizes kSizes[] = {{1, 1, 1},    {1, 16, 16},  {2, 17, 15},  {16, 16, 32},  {17, 33, 40},
                            {33, 20, 64}, {32, 48, 65}, {70, 8, 100}, {48, 40, 129}, {40, 16, 200}};

/// An operand of a product. Its tile has one row per free element or one row per contracted element.
template <Contracted way, typename T> struct Operand {
    Framed<T> tile;
    Operand(uint32_t free, uint32_t depth, uint32_t seed)
        : tile(way == Contracted::Columns ? free : depth, way == Contracted::Columns ? depth : free, T(7.0f)) {
        for (uint32_t i = 0; i < free; ++i)
            for (uint32_t j = 0; j < depth; ++j) at(i, j) = T(static_cast<float>((i * 7 + j * 5 + seed) % 9) - 4.0f);
    }
    T &at(uint32_t free, uint32_t depth) {
        return way == Contracted::Columns ? tile.at(free, depth) : tile.at(depth, free);
    }
};

template <Contracted X, Contracted W, typename T> struct Factors {
    uint32_t depth;
    Operand<X, T> x;
    Operand<W, T> w;
    Factors(const Sizes &of, uint32_t depth, uint32_t seed)
        : depth(depth), x(of.m, depth, seed), w(of.n, depth, seed + 4) {}
    hpmoe::Term<X, W, T> term() { return {x.tile.view(), w.tile.view()}; }
    float sum(uint32_t row, uint32_t col) {
        float all = 0;
        for (uint32_t k = 0; k < depth; ++k) all += static_cast<float>(x.at(row, k)) * static_cast<float>(w.at(col, k));
        return all;
    }
};

/// Checks one product, the sum of two, and a sum that is added to earlier contents.
template <Contracted X, Contracted W, typename T, typename Out> void products(const hpmoe::MatmulPlan &plan) {
    for (const Sizes &of : kSizes) {
        Factors<X, W, T> first(of, of.k, 1), second(of, of.k / 2 + 3, 2);
        Framed<Out> one(of.m, of.n, Out(77.0f)), two(of.m, of.n, Out(77.0f)), onto(of.m, of.n, Out(77.0f));
        for (uint32_t i = 0; i < of.m * of.n; ++i) onto.at(i / of.n, i % of.n) = Out(5.0f);
        Setup setup;
        setup.aiv = 0, setup.seed = of.k;
        setup.regions = {first.x.tile.all.region("x", false),
                         first.w.tile.all.region("w", false),
                         second.x.tile.all.region("v", false),
                         second.w.tile.all.region("u", false),
                         one.all.region("one"),
                         two.all.region("two"),
                         onto.all.region("onto")};
        HpmoeHostResult result = launch(setup, [&] {
            MatrixCore core;
            hpmoe::Matmul(core, one.view(), plan, first.term());
            hpmoe::Matmul(core, two.view(), plan, first.term(), second.term());
            if constexpr (std::is_same_v<Out, float>)
                hpmoe::MatmulOnto(core, onto.view(), plan, first.term(), second.term());
            EXPECT(core.record.empty == 0);
        });
        const std::string sizes = std::to_string(of.m) + "x" + std::to_string(of.n) + "x" + std::to_string(of.k);
        EXPECT(result.code == HPMOE_HOST_OK, sizes + ": " + result.message);
        for (uint32_t row = 0; row < of.m; ++row)
            for (uint32_t col = 0; col < of.n; ++col) {
                const float a = first.sum(row, col), both = a + second.sum(row, col);
                EXPECT(static_cast<float>(one.at(row, col)) == static_cast<float>(Out(a)), sizes);
                EXPECT(static_cast<float>(two.at(row, col)) == static_cast<float>(Out(both)), sizes);
                if constexpr (std::is_same_v<Out, float>) EXPECT(onto.at(row, col) == 5.0f + both, sizes);
            }
        EXPECT(one.kept() && two.kept() && onto.kept(), sizes);
    }
}

constexpr hpmoe::MatmulPlan kOfHalves{32, 64, 32}, kOfBytes{32, 128, 64}, kOfFloats{32, 48, 16};

CASE(products_of_16_bits_along_columns_and_rows) {
    products<Contracted::Columns, Contracted::Columns, bfloat16_t, bfloat16_t>(kOfHalves);
    products<Contracted::Columns, Contracted::Rows, bfloat16_t, float>(kOfHalves);
    products<Contracted::Rows, Contracted::Columns, half, half>(kOfHalves);
    products<Contracted::Rows, Contracted::Rows, bfloat16_t, float>(kOfHalves);
}

CASE(products_of_bytes_and_of_f32) {
    products<Contracted::Columns, Contracted::Columns, int8_t, int32_t>(kOfBytes);
    products<Contracted::Columns, Contracted::Columns, float, float>(kOfFloats);
}

/// A contraction over the rows of an expert without rows stores zeros or adds nothing, and doesn't count as empty.
CASE(products_of_nothing) {
    using Factor = Factors<Contracted::Rows, Contracted::Rows, bfloat16_t>;
    for (const Sizes &of : kSizes) {
        Factor none(of, 0, 1);
        Framed<float> stored(of.m, of.n, 77.0f), onto(of.m, of.n, 77.0f);
        Setup setup;
        setup.aiv = 0;
        setup.regions = {none.x.tile.all.region("x", false), none.w.tile.all.region("w", false),
                         stored.all.region("stored"), onto.all.region("onto")};
        HpmoeHostResult result = launch(setup, [&] {
            MatrixCore core;
            hpmoe::Matmul(core, stored.view(), kOfHalves, none.term());
            hpmoe::MatmulOnto(core, onto.view(), kOfHalves, none.term());
            EXPECT(core.record.empty == 0);
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        bool zero = true, kept = true;
        for (uint32_t i = 0; i < of.m * of.n; ++i) {
            zero &= stored.at(i / of.n, i % of.n) == 0.0f;
            kept &= onto.at(i / of.n, i % of.n) == 77.0f;
        }
        EXPECT(zero && kept && stored.kept() && onto.kept());
    }
}

/// Sums over an expert's rows, part by part: each part's rows, from all sources, are summed from zero, and the sums are added in the order of
/// parts. Sums are inexact, so that another order, or one sum over all rows, gives other bits.
CASE(products_by_parts) {
    constexpr uint32_t kSources = 3, kParts = 4;
    for (const Sizes &of : kSizes) {
        // Some sources have no rows of a part, and one part has no rows. The table starts with another expert.
        Buffer<int32_t> bounds(2 * (kSources * kParts + 1), -1);
        int32_t *own = &bounds[kSources * kParts + 1];
        own[0] = 0;
        for (uint32_t i = 0; i < kSources * kParts; ++i)
            own[i + 1] =
                own[i] + static_cast<int32_t>(i % kParts == 2 || i == 5 ? 0 : (of.k * (i + 3)) / 7 % 70 + i % 2);
        const uint32_t rows = static_cast<uint32_t>(own[kSources * kParts]);
        Framed<bfloat16_t> x(rows, of.m, bfloat16_t(7.0f)), w(rows, of.n, bfloat16_t(7.0f));
        for (uint32_t row = 0; row < rows; ++row) {
            for (uint32_t i = 0; i < of.m; ++i)
                x.at(row, i) = bfloat16_t(static_cast<float>((row * 37 + i * 11) % 101) / 7.0f - 5.0f);
            for (uint32_t i = 0; i < of.n; ++i)
                w.at(row, i) = bfloat16_t(static_cast<float>((row * 53 + i * 5) % 89) / 9.0f - 4.0f);
        }
        Framed<float> onto(of.m, of.n, 77.0f), whole(of.m, of.n, 77.0f);
        for (uint32_t i = 0; i < of.m * of.n; ++i) onto.at(i / of.n, i % of.n) = whole.at(i / of.n, i % of.n) = 0.3f;
        Setup setup;
        setup.aiv = 0, setup.seed = of.k;
        setup.regions = {bounds.region("bounds", false), x.all.region("x", false), w.all.region("w", false),
                         onto.all.region("onto"), whole.all.region("whole")};
        HpmoeHostResult result = launch(setup, [&] {
            MatrixCore core;
            core.launch.ranks = kSources, core.launch.chunk_parts = kParts, core.launch.parts = address(bounds.data);
            core.record.group = 1;
            const hpmoe::Term<Contracted::Rows, Contracted::Rows> term = {x.view(), w.view()};
            hpmoe::MatmulOnto(core, whole.view(), kOfHalves, term);
            // Last, so that the host reports it if the atomic mode stays on.
            hpmoe::MatmulOntoByParts(core, onto.view(), kOfHalves, term);
            EXPECT(core.record.empty == 0);
        });
        const std::string sizes = std::to_string(of.m) + "x" + std::to_string(of.n) + " of " + std::to_string(rows);
        EXPECT(result.code == HPMOE_HOST_OK, sizes + ": " + result.message);
        uint32_t others = 0;
        for (uint32_t i = 0; i < of.m; ++i)
            for (uint32_t j = 0; j < of.n; ++j) {
                float all = 0.3f;
                for (uint32_t part = 0; part < kParts; ++part) {
                    float sum = 0;
                    for (uint32_t source = 0; source < kSources; ++source)
                        for (int32_t row = own[source * kParts + part]; row < own[source * kParts + part + 1]; ++row)
                            sum += static_cast<float>(x.at(static_cast<uint32_t>(row), i)) *
                                   static_cast<float>(w.at(static_cast<uint32_t>(row), j));
                    all += sum;
                }
                EXPECT(onto.at(i, j) == all, sizes);
                others += whole.at(i, j) != all ? 1 : 0;
            }
        EXPECT(onto.kept() && (rows < 40 || others > 0), sizes);
    }
}

CASE(products_of_no_columns_are_noted) {
    using Product = hpmoe::Term<Contracted::Columns, Contracted::Columns>;
    Buffer<bfloat16_t> x(16 * 32), w(32);
    Buffer<float> y(16);
    Setup setup;
    setup.aiv = 0;
    setup.regions = {x.region("x", false), w.region("w", false), y.region("y")};
    HpmoeHostResult result = launch(setup, [&] {
        MatrixCore core;
        const Product nothing = {{address(x.data), 0, 32, 32}, {address(w.data), 0, 32, 32}};
        hpmoe::Matmul(core, hpmoe::View<float>{address(y.data), 0, 0, 16}, kOfHalves, nothing);
        EXPECT(core.record.empty == 1, std::to_string(core.record.empty));
        hpmoe::MatmulOnto(core, hpmoe::View<float>{address(y.data), 0, 0, 16}, kOfHalves, nothing);
        EXPECT(core.record.empty == 2, std::to_string(core.record.empty));
    });
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
}

/// Pieces cover the rows in order, only the last may be shorter, and they alternate between two stages.
CASE(pieces_of_a_tile) {
    for (uint32_t rows : {1u, 7u, 8u, 9u, 31u, 32u, 100u}) {
        uint32_t at = 0;
        for (uint32_t number = 0; number < (rows + 7) / 8; ++number) {
            const hpmoe::Piece piece = hpmoe::PieceOf(rows, 8, number);
            EXPECT(piece.first == at && piece.stage == (number & 1), std::to_string(rows));
            EXPECT(piece.rows == (rows - at < 8 ? rows - at : 8), std::to_string(rows));
            at += piece.rows;
        }
        EXPECT(at == rows);
    }
}

/// Tiles whose sizes don't match are refused, because the resulting numbers might not show the mistake.
CASE(tiles_of_other_sizes_are_refused) {
    Buffer<bfloat16_t> x(64 * 64), w(64 * 64);
    Buffer<float> y(64 * 64);
    const auto part = [](auto &of, uint32_t rows, uint32_t cols) {
        return hpmoe::View<std::remove_reference_t<decltype(of[0])>>{address(of.data), rows, cols, 64};
    };
    using Product = hpmoe::Term<Contracted::Columns, Contracted::Columns>;
    const auto message = [&](bool aic, const std::function<void()> &body) {
        Setup setup;
        setup.aic = aic ? 1 : 0, setup.aiv = aic ? 0 : 1;
        setup.regions = {x.region("x", false), w.region("w", false), y.region("y")};
        return std::string(launch(setup, body).message);
    };
    const auto product = [&](uint32_t rows, uint32_t cols, uint32_t depth) {
        return message(true, [&] {
            MatrixCore core;
            hpmoe::Matmul(core, part(y, rows, cols), kOfHalves, Product{part(x, 16, 32), part(w, 16, depth)});
        });
    };
    EXPECT(product(16, 16, 32).empty(), product(16, 16, 32));
    for (const std::string &told : {product(17, 16, 32), product(16, 15, 32)})
        EXPECT(contains(told.c_str(), "expects y.rows == term.Rows() && y.cols == n"), told);
    EXPECT(contains(product(16, 16, 33).c_str(), "== term.Contraction()"), product(16, 16, 33));
    const auto rows = [&](uint32_t first, uint32_t count) {
        return message(false, [&] {
            VectorCore core;
            hpmoe::LoadRows(hpmoe::UbFrom<bfloat16_t>(0), part(x, 8, 16), first, count);
        });
    };
    EXPECT(rows(3, 5).empty(), rows(3, 5));
    EXPECT(contains(rows(4, 5).c_str(), "expects first + rows <= from.rows"), rows(4, 5));
}

/// Rows of a tile are loaded to UB, where their pitch is a multiple of 16 elements and of a block, and stored again.
template <typename T> void rowsThroughUb() {
    for (uint32_t cols : {1u, 7u, 8u, 15u, 16u, 17u, 31u, 32u, 33u, 100u}) {
        Framed<T> from(9, cols, T(1)), to(9, cols, T(2));
        for (uint32_t i = 0; i < 9 * cols; ++i) from.at(i / cols, i % cols) = T(static_cast<float>(i % 120));
        constexpr uint32_t block = sizeof(T) == 1 ? 32 : 16;
        const uint32_t pitch = (cols + block - 1) / block * block, size = static_cast<uint32_t>(sizeof(T));
        bool right = true;
        Setup setup;
        setup.aic = 0, setup.aiv = 1;
        setup.regions = {from.all.region("from", false), to.all.region("to")};
        HpmoeHostResult result = launch(setup, [&] {
            const LocalTensor<T> ub = hpmoe::Ub<T>(64, 5 * pitch * size);
            hpmoe::LoadRows(ub, from.view(), 3, 5);
            SetFlag<HardEvent::MTE2_S>(0);
            WaitFlag<HardEvent::MTE2_S>(0);
            for (uint32_t i = 0; i < 5 * cols; ++i) {
                const T number = ub.GetValue(i / cols * pitch + i % cols), &wanted = from.at(3 + i / cols, i % cols);
                right &= std::memcmp(&number, &wanted, sizeof(T)) == 0;
            }
            SetFlag<HardEvent::S_MTE3>(0);
            WaitFlag<HardEvent::S_MTE3>(0);
            hpmoe::StoreRows(to.view(), 2, 5, ub);
            PipeBarrier<PIPE_ALL>();
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        const T untouched(2);
        for (uint32_t i = 0; i < 9 * cols; ++i) {
            const uint32_t row = i / cols, col = i % cols;
            const T &wanted = row >= 2 && row < 7 ? from.at(row + 1, col) : untouched;
            right &= std::memcmp(&to.at(row, col), &wanted, sizeof(T)) == 0;
        }
        EXPECT(right && to.kept(), std::to_string(cols) + " columns of " + std::to_string(size) + " bytes");
    }
}

CASE(rows_of_every_type_come_to_ub_and_go_back) {
    rowsThroughUb<int8_t>();
    rowsThroughUb<half>();
    rowsThroughUb<float>();
    rowsThroughUb<int32_t>();
}

} // namespace

// Weights that a matrix core reads before the rows of its tile have arrived.
#include "cores.h"

#include <memory>

using namespace AscendC;
using hpmoe::Contracted;

namespace {

template <Contracted W> using Product = hpmoe::Term<Contracted::Columns, W>;

template <typename T> hpmoe::View<T> view(Buffer<T> &of, uint32_t rows, uint32_t cols) {
    return hpmoe::View<T>{reinterpret_cast<uint64_t>(of.data), rows, cols, cols};
}

constexpr uint32_t kColumns = 256;
constexpr hpmoe::MatmulPlan kPlan{128, 256, 64};

/// Operands of a product, and three results.
struct Operands {
    uint32_t rows, depth;
    Buffer<bfloat16_t> x{rows * depth}, w{kColumns * depth};
    Buffer<float> y{3 * rows * kColumns, 0.0f};

    Operands(uint32_t rows, uint32_t depth) : rows(rows), depth(depth) {
        Data data{rows * 31 + depth};
        for (size_t i = 0; i < x.count; ++i) x[i] = bfloat16_t(data.next());
        for (size_t i = 0; i < w.count; ++i) w[i] = bfloat16_t(data.next());
    }
    /// Weights are stored as N x K, or as K x N.
    template <Contracted W> Product<W> product() {
        const bool columns = W == Contracted::Columns;
        const hpmoe::View<bfloat16_t> weights = view(w, columns ? kColumns : depth, columns ? depth : kColumns);
        return Product<W>{view(x, rows, depth), weights};
    }
    hpmoe::View<float> result(uint32_t which) {
        const hpmoe::View<float> all = view(y, 3 * rows, kColumns);
        return all.Rows(which * rows, rows);
    }
    std::vector<HpmoeHostRegion> regions() { return {x.region("x", false), w.region("w", false), y.region("y")}; }
};

template <Contracted W> void sameProducts() {
    // Each of the two stages has room for 320 contracted elements of weights next to 128 rows, and for 448 next to 16.
    for (uint32_t rows : {1u, 16u, 40u, 128u, 200u}) {
        for (uint32_t depth : {48u, 320u, 704u, 1312u}) {
            for (uint64_t seed = 0; seed < 4; ++seed) {
                const uint32_t stages = seed % 2 + 1; // one before the tile begins, or a second one while it waits
                Operands of(rows, depth);
                Setup setup;
                setup.aic = 1, setup.aiv = 0, setup.seed = seed, setup.regions = of.regions();
                uint32_t filled = 0;
                HpmoeHostResult result = launch(setup, [&] {
                    MatrixCore core;
                    hpmoe::Matmul(core, of.result(0), kPlan, of.product<W>());
                    hpmoe::ReadAhead(core, kPlan, of.product<W>(), 1);
                    EXPECT(core.ahead == 1, std::to_string(core.ahead));
                    for (uint32_t wait = 0; wait < 3; ++wait) // the rows have not arrived
                        hpmoe::ReadAhead(core, kPlan, of.product<W>(), std::min(stages, wait + 1));
                    filled = core.ahead;
                    hpmoe::Matmul(core, of.result(1), kPlan, of.product<W>());
                    EXPECT(core.ahead == 0, std::to_string(core.ahead));
                    hpmoe::Matmul(core, of.result(2), kPlan, of.product<W>());
                });
                EXPECT(result.code == HPMOE_HOST_OK, result.message);
                const uint32_t block = rows <= 16 ? 448 : rows <= 48 ? 384 : 320;
                EXPECT(filled == (depth <= block ? 1 : stages), std::to_string(rows) + ": " + std::to_string(filled));
                const size_t bytes = rows * kColumns * sizeof(float);
                for (uint32_t other : {1u, 2u})
                    EXPECT(std::memcmp(&of.y[0], &of.y[other * rows * kColumns], bytes) == 0, "other bits");
            }
        }
    }
}

CASE(products_are_the_same_whether_weights_were_read_ahead_or_not) {
    sameProducts<Contracted::Columns>();
    sameProducts<Contracted::Rows>();
}

CASE(a_tile_without_rows_reads_nothing_ahead) {
    Operands of(16, 256);
    Setup setup;
    setup.aic = 1, setup.aiv = 0, setup.regions = of.regions();
    HpmoeHostResult result = launch(setup, [&] {
        MatrixCore core;
        Product<Contracted::Columns> product = of.product<Contracted::Columns>();
        product.x.rows = 0;
        hpmoe::ReadAhead(core, kPlan, product, hpmoe::L1_STAGES);
        EXPECT(core.ahead == 0, std::to_string(core.ahead));
    });
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
}

/// A vector core writes the weights and signals; a matrix core waits for the signal and multiplies. `early`: it reads weights before it waits.
HpmoeHostResult multiplied(bool early, uint64_t seed) {
    Operands of(16, 256);
    Buffer<int32_t> counters(256, 0);
    std::unique_ptr<HpmoeHostRaces, decltype(&hpmoe_host_races_free)> races(hpmoe_host_races_new(1, 2),
                                                                            hpmoe_host_races_free);
    Setup setup;
    setup.aic = 1, setup.aiv = 1, setup.seed = seed, setup.races = races.get();
    setup.regions = {of.x.region("x", false), of.w.region("w"), of.y.region("y"), counters.region("counters")};
    return launch(setup, [&] {
        if ASCEND_IS_AIV {
            const LocalTensor<bfloat16_t> rows(TPosition::VECIN, 0, 16 * 256);
            Duplicate(rows, bfloat16_t(1.0f), 16 * 256);
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);
            for (uint32_t row = 0; row < kColumns; row += 16) DataCopy(global(&of.w[row * 256]), rows, 16 * 256);
            PipeBarrier<PIPE_ALL>();
            addFromVector(&counters[0], 1);
            PipeBarrier<PIPE_ALL>();
        }
        if ASCEND_IS_AIC {
            MatrixCore core;
            if (early) hpmoe::ReadAhead(core, kPlan, of.product<Contracted::Columns>(), 1);
            EXPECT(await(global(&counters[0]), 1), "a word that never came");
            hpmoe::Matmul(core, of.result(0), kPlan, of.product<Contracted::Columns>());
        }
    });
}

CASE(weights_that_another_core_makes_race_if_they_are_read_ahead) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
        HpmoeHostResult result = multiplied(false, seed);
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        result = multiplied(true, seed);
        EXPECT(result.code != HPMOE_HOST_OK && contains(result.message, "nothing orders"), result.message);
    }
}

} // namespace

// The areas into which the device library divides on-chip memories: each has the size that plans assume (hpmoe-core/src/plan), and the next
// one begins at its end.
#include "cores.h"

#include <algorithm>

using namespace AscendC;
using hpmoe::Contracted;

namespace {

std::string onCore(bool matrix, std::vector<HpmoeHostRegion> regions, const std::function<void()> &body) {
    Setup setup;
    setup.aic = matrix ? 1 : 0, setup.aiv = matrix ? 0 : 1;
    setup.regions = std::move(regions);
    return launch(setup, body).message;
}

/// The library uses each memory up to the scratch area of AscendC's headers.
CASE(the_library_takes_all_of_a_memory) {
    const auto fillUb = [](uint32_t at) {
        return onCore(false, {}, [at] {
            Duplicate(hpmoe::Ub<int32_t>(at, 32), 1, 8);
            PipeBarrier<PIPE_ALL>();
        });
    };
    const uint32_t lines = hpmoe::UB_LINES * hpmoe::BLOCK_BYTES;
    EXPECT(fillUb(hpmoe::UB_TASKS + lines - 32).empty(), fillUb(hpmoe::UB_TASKS + lines - 32));
    EXPECT(contains(fillUb(hpmoe::UB_TASKS + lines).c_str(), "usable"), fillUb(hpmoe::UB_TASKS + lines));
    const auto fillL1 = [](uint32_t at) {
        return onCore(true, {}, [at] {
            InitConstValue(hpmoe::Local<int32_t>(TPosition::A1, at, 32), hpmoe::BlocksOf(1, 1));
            PipeBarrier<PIPE_ALL>();
        });
    };
    EXPECT(fillL1(hpmoe::L1_ONES).empty(), fillL1(hpmoe::L1_ONES));
    EXPECT(contains(fillL1(hpmoe::L1_ONES + 32).c_str(), "usable"), fillL1(hpmoe::L1_ONES + 32));
    const uint32_t stages = hpmoe::L1_STAGES * hpmoe::L1_STAGE;
    EXPECT(stages <= hpmoe::L1_ONES && stages + 1024 > hpmoe::L1_ONES, std::to_string(stages));
}

/// Four signals can be pending while MTE3 is blocked; a fifth one waits for the first.
CASE(four_signals_are_under_way_at_a_time) {
    for (uint32_t signals : {4u, 5u}) {
        Buffer<int32_t> words(signals * 8, 0);
        const std::string message = onCore(false, {words.region("words")}, [&] {
            VectorCore core;
            WaitFlag<HardEvent::V_MTE3>(7);
            for (uint32_t i = 0; i < signals; ++i) core.Store(address(&words[i * 8]), static_cast<int32_t>(i + 1));
            SetFlag<HardEvent::V_MTE3>(7);
        });
        EXPECT(message.empty() == (signals == 4), message);
        for (uint32_t i = 0; signals == 4 && i < signals; ++i) EXPECT(words[i * 8] == static_cast<int32_t>(i + 1));
    }
}

constexpr uint32_t kHalf = 88 * 1024; // bytes of a half of the put buffer
constexpr uint32_t kOrigins = 1952;   // (token, k) of the longest piece

/// The longest row of a put fills a half of the put buffer. UB above it holds the (token, k) of the longest piece.
CASE(a_put_has_rows_and_pieces_as_long_as_plans_say) {
    EXPECT(hpmoe::UB_HALF == kHalf, "another half, in which a row would never fit");
    if (hpmoe::UB_HALF != kHalf) return;
    Buffer<uint8_t> from(3 * kHalf), to(3 * kHalf, 0);
    for (uint32_t i = 0; i < 3 * kHalf; ++i) from[i] = static_cast<uint8_t>(i % 251);
    Buffer<int32_t> order(kOrigins + 8), told(kOrigins + 8, -1), list(3);
    for (uint32_t i = 0; i < kOrigins + 8; ++i) order[i] = static_cast<int32_t>(7 * i);
    for (int32_t i = 0; i < 3; ++i) list[i] = 2 - i;
    const auto put = [&](uint32_t origins) {
        HpmoeLaunch launch = {};
        launch.order = address(order.data);
        return onCore(false,
                      {from.region("from", false), to.region("to"), order.region("order", false), told.region("told"),
                       list.region("list", false)},
                      [&] {
                          VectorCore core(launch);
                          hpmoe::Tile piece = {};
                          piece.rows = 3;
                          const hpmoe::ByteRows rows = {address(from.data), kHalf, kHalf};
                          const hpmoe::ByteRows there = {address(to.data), kHalf, kHalf};
                          hpmoe::PutGathered(core, piece, rows, address(list.data), 1, there);
                          piece.rows = origins;
                          hpmoe::PutOrigins(core, piece, hpmoe::View<int32_t>{address(told.data), origins, 1, 1});
                          core.FencePeer();
                      });
    };
    EXPECT(put(kOrigins).empty(), put(kOrigins));
    for (uint32_t row = 0; row < 3; ++row)
        EXPECT(std::memcmp(&to[row * kHalf], &from[(2 - row) * kHalf], kHalf) == 0, std::to_string(row));
    for (uint32_t i = 0; i < kOrigins; ++i) EXPECT(told[i] == static_cast<int32_t>(7 * i), std::to_string(i));
    EXPECT(told[kOrigins] == -1);
    EXPECT(contains(put(kOrigins + 1).c_str(), "the tensor ends at byte"), put(kOrigins + 1));
}

/// Checks a product of small integers, on a core that has read this number of stages of weights ahead.
template <Contracted way = Contracted::Columns>
void product(uint32_t m, uint32_t n, uint32_t k, const hpmoe::MatmulPlan &plan, uint32_t ahead = 0) {
    using Product = hpmoe::Term<way, way>;
    Buffer<bfloat16_t> x(m * k), w(n * k);
    Buffer<float> y(m * n, 77.0f);
    const bool columns = way == Contracted::Columns;
    const auto number = [](uint32_t row, uint32_t col) { return static_cast<float>((row * 7 + col * 5) % 5) - 2.0f; };
    for (uint32_t i = 0; i < m * k; ++i) x[i] = bfloat16_t(columns ? number(i / k, i % k) : number(i % m, i / m));
    for (uint32_t i = 0; i < n * k; ++i)
        w[i] = bfloat16_t(columns ? number(i / k + 1, i % k) : number(i % n + 1, i / n));
    const std::string message = onCore(true, {x.region("x", false), w.region("w", false), y.region("y")}, [&] {
        MatrixCore core;
        const uint32_t pitches[] = {columns ? k : m, columns ? k : n};
        const Product term = {{address(x.data), columns ? m : k, pitches[0], pitches[0]},
                              {address(w.data), columns ? n : k, pitches[1], pitches[1]}};
        if (ahead > 0) hpmoe::ReadAhead(core, plan, term, ahead);
        EXPECT(core.ahead == ahead, std::to_string(core.ahead));
        hpmoe::Matmul(core, hpmoe::View<float>{address(y.data), m, n, n}, plan, term);
    });
    EXPECT(message.empty(), message);
    bool right = true;
    for (uint32_t i = 0; i < m * n; ++i) {
        float sum = 0;
        for (uint32_t j = 0; j < k; ++j) sum += number(i / n, j) * number(i % n + 1, j);
        right &= y[i] == sum;
    }
    EXPECT(right, std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
}

/// Products that fill both stages of L1, both of L0A or L0B, or all of L0C.
CASE(products_fill_the_memories_of_a_matrix_core) {
    constexpr Contracted Rows = Contracted::Rows;
    product(16, 96, 2 * 1168, hpmoe::MatmulPlan{16, 1168, 16}); // (16 + 96) * 1168 * 2 B = 511 * 512 B
    product(128, 128, 256, hpmoe::MatmulPlan{128, 256, 128});   // 128 * 128 * 2 B = 32 KiB of either operand
    product(256, 128, 128, hpmoe::MatmulPlan{256, 128, 64});    // 256 * 128 * 4 B = 128 KiB
    product<Rows>(256, 128, 128, hpmoe::MatmulPlan{256, 128, 64});
    product<Rows>(128, 256, 128, hpmoe::MatmulPlan{128, 128, 64});
}

/// Weights that are read ahead leave room for rows in their stage, whatever the number of rows.
CASE(weights_that_are_read_ahead_fill_stages) {
    for (uint32_t n : {16u, 17u, 96u, 100u})
        for (uint32_t m : {1u, 16u, 17u, 40u}) product(m, n, 6000, hpmoe::MatmulPlan{48, 256, 64}, 2);
}

/// Products near ten fractals: below that, the next product does not see their sums without a barrier.
CASE(products_of_few_fractals) {
    for (auto [m, n] : {std::pair(30u, 90u), std::pair(90u, 30u), std::pair(48u, 48u), std::pair(16u, 144u),
                        std::pair(32u, 80u), std::pair(47u, 63u), std::pair(144u, 30u)})
        product(m, n, 256, hpmoe::MatmulPlan{144, 128, 32});
}

} // namespace

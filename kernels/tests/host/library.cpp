// The device library by itself: launches that it refuses, and how cores leave that give up.
#include "hpmoe/kernel.h"

#include "harness.h"

#include <array>
#include <atomic>
#include <type_traits>

using namespace AscendC;

namespace {

constexpr uint32_t kCores = 3;
constexpr int32_t kLaunch = 7;

struct ReadsNothing {
    static void Ahead(hpmoe::CubeCore &, const hpmoe::Tile &, uint32_t) {}
};

/// Every core has one tile, and waits for a counter that nobody adds to.
struct Waits : ReadsNothing {
    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        return core.Await(0, tile.number, 1);
    }
};

/// One rank that has started, and another whose heap alone is there.
struct Ranks {
    Buffer<uint8_t> heap{64 * HPMOE_LINE, 0}, peer{64 * HPMOE_LINE, 0};
    Buffer<uint64_t> peers{2};
    Buffer<HpmoeQueue> queues{3 * kCores};
    Buffer<HpmoeDescriptor> descriptors{1};
    Buffer<HpmoeSpace> spaces{1};
    Buffer<int32_t> numbers{4, 0};
    Buffer<uint32_t> zeros{16, 0};
    Buffer<HpmoeRecord> records{3 * kCores};
    Buffer<HpmoeLaunch> launch{1};

    static constexpr uint64_t kAbort = 60 * HPMOE_LINE, kLaunches = 16 * HPMOE_LINE;

    explicit Ranks(uint64_t timeLimit) {
        for (uint32_t i = 0; i < 3 * kCores; ++i) word(heap, kLaunches + i * HPMOE_LINE) = kLaunch - 1;
        peers[0] = address(heap.data), peers[1] = address(peer.data);
        for (uint32_t i = 0; i < 3 * kCores; ++i) queues[i] = HpmoeQueue{0, 1}, records[i] = HpmoeRecord{};
        HpmoeDescriptor entry = {};
        entry.kind = HPMOE_BLOCKS, entry.band = 1, entry.columns = 1, entry.column_rows = 1, entry.core_count = 1;
        descriptors[0] = entry;
        numbers[1] = 1; // one block of tokens
        HpmoeSpace space = {};
        space.first_items = address(numbers.data), space.counted = address(zeros.data);
        space.kind = HPMOE_BLOCKS, space.height = 1;
        spaces[0] = space;
        HpmoeLaunch all = {};
        all.peers = address(peers.data), all.queues = address(queues.data), all.records = address(records.data);
        all.descriptors = address(descriptors.data), all.spaces = address(spaces.data);
        all.starts = all.counter_bases = address(zeros.data);
        all.launches = kLaunches, all.ready = 8 * HPMOE_LINE, all.abort = kAbort, all.time_limit = timeLimit;
        all.counter_count = 2, all.ranks = 2, all.tokens = all.chunk_tokens = 1, all.chunks = 1;
        all.aic = kCores, all.aiv = 2 * kCores;
        launch[0] = all;
    }

    std::vector<HpmoeHostRegion> regions() {
        return {heap.region("heap", true, 0, true),
                peer.region("peer", true, 1, true),
                peers.region("peers", false),
                queues.region("queues", false),
                descriptors.region("descriptors", false),
                spaces.region("spaces", false),
                numbers.region("numbers", false),
                zeros.region("zeros", false),
                records.region("records"),
                launch.region("launch", false)};
    }

    template <class Program = Waits>
    HpmoeHostResult run(uint32_t aic, uint32_t aiv, const std::vector<HpmoeHostRegion> &others = {}) {
        Setup setup;
        // Queues count cores that share them from `core_first`, which is each core itself here.
        setup.aic = aic, setup.aiv = aiv, setup.threads = 2, setup.bare = true, setup.regions = regions();
        setup.regions.insert(setup.regions.end(), others.begin(), others.end());
        GM_ADDR argument = reinterpret_cast<uint8_t *>(launch.data);
        return ::launch(setup, [argument] {
            if ASCEND_IS_AIC {
                hpmoe::Work<Program, hpmoe::CubeCore>(argument);
            } else {
                hpmoe::Work<Program, hpmoe::VectorCore>(argument);
            }
        });
    }

    int32_t &word(Buffer<uint8_t> &of, uint64_t at) { return *reinterpret_cast<int32_t *>(of.data + at); }

    bool aborted() { return word(heap, kAbort) == 1 && word(peer, kAbort) == 1; }

    /// Whether cores `from` to `to` have left with the number of a launch, and the others have not run.
    bool left(uint32_t from, uint32_t to, int32_t number) {
        bool all = true;
        for (uint32_t i = 0; i < 3 * kCores; ++i)
            all &= word(heap, kLaunches + i * HPMOE_LINE) == (from <= i && i < to ? number : kLaunch - 1);
        return all;
    }

    uint32_t count(uint32_t from, uint32_t to, uint32_t state) {
        uint32_t found = 0;
        for (uint32_t i = from; i < to; ++i) found += records[i].state == state;
        return found;
    }

    template <typename T> static uint64_t address(T *at) { return reinterpret_cast<uint64_t>(at); }
};

constexpr uint64_t kMinute = 60ull * 50000000;

CASE(one_vector_core_to_a_matrix_core_is_refused_and_told_to_all) {
    Ranks ranks(kMinute);
    HpmoeHostResult result = ranks.run(kCores, kCores);
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    // Matrix cores see nothing wrong: they begin to wait, and leave when they are told.
    EXPECT(ranks.count(0, kCores, HPMOE_STOPPED) == kCores);
    EXPECT(ranks.count(kCores, 2 * kCores, HPMOE_REFUSED) == kCores);
    EXPECT(ranks.aborted() && ranks.left(0, 2 * kCores, kLaunch));
}

CASE(another_number_of_cores_is_refused_and_told_to_all) {
    Ranks ranks(kMinute);
    HpmoeHostResult result = ranks.run(kCores - 1, 2 * (kCores - 1));
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    EXPECT(ranks.count(0, kCores - 1, HPMOE_REFUSED) == kCores - 1);
    EXPECT(ranks.count(kCores, 3 * kCores, HPMOE_REFUSED) == 2 * (kCores - 1));
    EXPECT(ranks.aborted());
    for (uint32_t i = 0; i < 3 * kCores; ++i) {
        const bool ran = i < kCores - 1 || (kCores <= i && i < kCores + 2 * (kCores - 1));
        EXPECT(ranks.word(ranks.heap, Ranks::kLaunches + i * HPMOE_LINE) == (ran ? kLaunch : kLaunch - 1));
    }
}

/// The matrix core that makes each tile, in the order of tiles; a tile that several make is none's.
struct Makes : ReadsNothing {
    static inline std::array<std::atomic<int32_t>, 64> maker;
    static constexpr int32_t kNobody = -1, kSeveral = -2;

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        int32_t expected = kNobody;
        if (!maker[tile.item].compare_exchange_strong(expected, static_cast<int32_t>(core.number))) {
            maker[tile.item] = kSeveral;
        }
        return true;
    }
};

/// Tile n of all belongs to core (n + n div cores * rotation) mod cores.
CASE(tiles_move_on_from_round_to_round) {
    for (uint32_t rotation = 0; rotation < kCores; ++rotation) {
        for (uint32_t before = 0; before < 3 * kCores; ++before) {
            for (uint32_t tiles : {1u, 2u, 3u, 7u, 20u}) {
                for (auto &maker : Makes::maker) maker = Makes::kNobody;
                Ranks ranks(kMinute);
                Buffer<uint32_t> starts{16, before};
                ranks.descriptors[0].core_count = kCores, ranks.descriptors[0].rotation = rotation;
                ranks.numbers[1] = static_cast<int32_t>(tiles);
                ranks.launch[0].starts = Ranks::address(starts.data);
                ranks.launch[0].tokens = ranks.launch[0].chunk_tokens = tiles;
                for (uint32_t i = kCores; i < 3 * kCores; ++i) ranks.queues[i] = HpmoeQueue{0, 0};
                HpmoeHostResult result = ranks.run<Makes>(kCores, 2 * kCores, {starts.region("starts", false)});
                EXPECT(result.code == HPMOE_HOST_OK, result.message);
                for (uint32_t tile = 0; tile < tiles; ++tile) {
                    const uint32_t number = before + tile;
                    const uint32_t maker = (number + number / kCores * rotation) % kCores;
                    EXPECT(Makes::maker[tile] == static_cast<int32_t>(maker),
                           "tile " + std::to_string(number) + " has core " + std::to_string(Makes::maker[tile]));
                }
                EXPECT(Makes::maker[tiles] == Makes::kNobody);
            }
        }
    }
}

/// Registers, flags and cache lines are left as the next kernel expects them, or the host says so.
CASE(cores_that_give_up_leave_nothing_behind) {
    Ranks ranks(500000); // 10 ms
    HpmoeHostResult result = ranks.run(kCores, 2 * kCores);
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    uint32_t gaveUp = ranks.count(0, 3 * kCores, HPMOE_GAVE_UP), stopped = ranks.count(0, 3 * kCores, HPMOE_STOPPED);
    uint32_t done = ranks.count(0, 3 * kCores, HPMOE_DONE);
    EXPECT(gaveUp >= 1 && gaveUp + stopped + done == 3 * kCores, std::to_string(gaveUp) + " gave up");
    EXPECT(ranks.aborted() && ranks.left(0, 3 * kCores, kLaunch));
    // Counters fit no launch any more: the next one touches no tile, though nothing keeps it waiting. Records say why it was given up.
    for (auto &maker : Makes::maker) maker = Makes::kNobody;
    result = ranks.run<Makes>(kCores, 2 * kCores);
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    EXPECT(ranks.count(0, 3 * kCores, HPMOE_GAVE_UP) == gaveUp && Makes::maker[0] == Makes::kNobody);
    EXPECT(ranks.count(0, 3 * kCores, HPMOE_STOPPED) == 3 * kCores - gaveUp);
    EXPECT(ranks.left(0, 3 * kCores, kLaunch + 1));
}

/// Matrix cores read weights ahead of rows that don't come.
struct ReadsAhead {
    static inline hpmoe::View<bfloat16_t> weights;

    static inline bool waits;

    static void Ahead(hpmoe::CubeCore &core, const hpmoe::Tile &, uint32_t stages) {
        using Product = hpmoe::Term<hpmoe::Contracted::Columns, hpmoe::Contracted::Columns>;
        hpmoe::ReadAhead(core, hpmoe::MatmulPlan{16, 256, 64}, Product{weights.Rows(0, 16), weights}, stages);
    }
    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        if constexpr (std::is_same_v<AnyCore, hpmoe::CubeCore>) {
            EXPECT(core.ahead == 1, std::to_string(core.ahead));
            if (waits && !core.IsThere(0, tile.number, 1)) Ahead(core, tile, hpmoe::L1_STAGES);
        }
        return core.Await(0, tile.number, 1);
    }
};

CASE(what_was_read_ahead_is_left_behind_by_cores_that_give_up) {
    // One stage for a tile whose rows are there, and both for one that waits, if the contraction is long enough.
    for (auto [depth, waits] : {std::pair(256u, true), std::pair(1024u, false), std::pair(1024u, true)}) {
        Ranks ranks(500000);
        ReadsAhead::waits = waits;
        Buffer<bfloat16_t> weights(256 * depth, bfloat16_t(1.0f));
        ReadsAhead::weights = {Ranks::address(weights.data), 256, depth, depth};
        HpmoeHostResult result = ranks.run<ReadsAhead>(kCores, 2 * kCores, {weights.region("weights", false)});
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        EXPECT(ranks.aborted() && ranks.left(0, 3 * kCores, kLaunch));
    }
}

/// How many entries each matrix core has read since it found the tile that it runs, by phase.
struct Passes : ReadsNothing {
    static inline uint32_t passed[kCores][2];

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        if constexpr (std::is_same_v<AnyCore, hpmoe::CubeCore>) passed[core.number][tile.phase] = core.passed;
        return true;
    }
};

CASE(a_tile_is_held_for_few_entries) {
    for (uint32_t gap : {0u, 1u, 7u, 8u, 20u}) { // entries without a tile between those of the two phases
        Ranks ranks(kMinute);
        Buffer<HpmoeDescriptor> descriptors(gap + 3);
        for (uint32_t i = 0; i < gap + 3; ++i) {
            const bool tile = i == 0 || i == gap + 1; // the last entry has none
            descriptors[i] = ranks.descriptors[0];
            descriptors[i].columns = tile ? 1 : 0, descriptors[i].phase = i == 0 ? 0 : 1;
        }
        ranks.launch[0].descriptors = Ranks::address(descriptors.data);
        for (uint32_t i = 0; i < 3 * kCores; ++i) ranks.queues[i] = HpmoeQueue{0, gap + 3};
        HpmoeHostResult result = ranks.run<Passes>(kCores, 2 * kCores, {descriptors.region("entries", false)});
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        for (const auto &passed : Passes::passed) {
            EXPECT(passed[0] == std::min(gap + 1, hpmoe::ENTRIES_AHEAD), std::to_string(passed[0]));
            EXPECT(passed[1] == 1, std::to_string(passed[1]));
        }
        EXPECT(ranks.count(0, 3 * kCores, HPMOE_DONE) == 3 * kCores);
        for (uint32_t i = 0; i < 3 * kCores; ++i) EXPECT(ranks.records[i].tasks == 2);
    }
}

/// Every core waits for the other rank: vector cores until it has started, all of them until it has freed its first chunk.
struct Words : ReadsNothing {
    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &) {
        if constexpr (std::is_same_v<AnyCore, hpmoe::VectorCore>) {
            if (!core.AwaitReady(1)) return false;
        }
        return core.AwaitFreed(1, HPMOE_CHUNK_BUFFERS);
    }
};

/// Numbers go on after the greatest: words of peers and of chunks that are one launch old don't count, and those of this one do.
CASE(launches_are_numbered_past_the_greatest_number) {
    for (int32_t before : {0, 5, INT32_MAX - 1, INT32_MAX, -2, -1}) {
        for (int32_t ahead : {-1, 0, 1}) {
            Ranks ranks(ahead < 0 ? 500000 : kMinute);
            const uint32_t number = static_cast<uint32_t>(before) + 1, chunks = 4;
            for (uint32_t i = 0; i < 3 * kCores; ++i)
                ranks.word(ranks.heap, Ranks::kLaunches + i * HPMOE_LINE) = before;
            ranks.launch[0].chunks = chunks, ranks.launch[0].freed = 32 * HPMOE_LINE;
            ranks.word(ranks.heap, 9 * HPMOE_LINE) = static_cast<int32_t>(number + ahead);
            ranks.word(ranks.heap, 33 * HPMOE_LINE) = static_cast<int32_t>(number * chunks + 1 + ahead);
            HpmoeHostResult result = ranks.run<Words>(kCores, 2 * kCores);
            EXPECT(result.code == HPMOE_HOST_OK, result.message);
            EXPECT(ranks.count(0, 3 * kCores, HPMOE_DONE) == (ahead < 0 ? 0 : 3 * kCores), std::to_string(before));
            EXPECT(ranks.word(ranks.heap, Ranks::kLaunches) == static_cast<int32_t>(number));
        }
    }
}

} // namespace

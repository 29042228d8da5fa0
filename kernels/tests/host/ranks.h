// Launches of the device library alone, without a compiled kernel.
#pragma once

#include "hpmoe/kernel.h"

#include "harness.h"

constexpr uint32_t kCores = 3;
constexpr int32_t kLaunch = 7;

struct ReadsNothing {
    static void Ahead(hpmoe::CubeCore &, const hpmoe::Tile &, uint32_t) {}
};

/// One rank that runs, and another rank that is only a heap.
struct Ranks {
    Buffer<uint8_t> heap{64 * HPMOE_LINE, 0}, peer{64 * HPMOE_LINE, 0};
    Buffer<uint64_t> peers{2};
    Buffer<HpmoeQueue> queues{3 * kCores};
    Buffer<HpmoeDescriptor> descriptors{2};
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
        // An entry of one core: each core runs all tiles of its own queue.
        entry.kind = HPMOE_BLOCKS, entry.band = 1, entry.columns = 1, entry.column_rows = 1, entry.core_count = 1;
        entry.peers = 1;
        descriptors[0] = descriptors[1] = entry;
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

    /// Runs a program on cores of these types.
    template <class Program, class Matrix = hpmoe::CubeCore, class Vector = hpmoe::VectorCore,
              class Route = hpmoe::HostRoute>
    HpmoeHostResult run(uint32_t aic, uint32_t aiv, const std::vector<HpmoeHostRegion> &others = {}) {
        Setup setup;
        setup.aic = aic, setup.aiv = aiv, setup.threads = 2, setup.bare = true, setup.regions = regions();
        setup.regions.insert(setup.regions.end(), others.begin(), others.end());
        GM_ADDR argument = reinterpret_cast<uint8_t *>(launch.data);
        return ::launch(setup, [argument] {
            if ASCEND_IS_AIC {
                hpmoe::Work<Program, Matrix, Route>(argument);
            } else {
                hpmoe::Work<Program, Vector, Route>(argument);
            }
        });
    }

    int32_t &word(Buffer<uint8_t> &of, uint64_t at) { return *reinterpret_cast<int32_t *>(of.data + at); }

    /// Whether the abort words of both ranks are set. A core that gives up writes eight equal words.
    bool aborted() {
        bool all = true;
        for (uint32_t i = 0; i < 8; ++i) all &= word(heap, kAbort + 4 * i) == 1 && word(peer, kAbort + 4 * i) == 1;
        return all;
    }

    /// Whether cores [from, to) have this number in their launch words, and the other cores have not run.
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

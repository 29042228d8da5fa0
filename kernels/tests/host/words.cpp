// Words of the heap: ready words and cleared counters at the start of a launch, and counters of once-sent tokens.
#include "ranks.h"

#include <algorithm>

using namespace AscendC;

namespace {

struct Nothing : ReadsNothing {
    template <class AnyCore> static bool Run(AnyCore &, const hpmoe::Tile &) { return true; }
};

/// A rank writes its ready word at every rank, also if there are more ranks than cores.
CASE(all_ranks_are_told_that_one_has_started) {
    for (uint32_t count : {2u, 6u, 7u, 20u}) {
        Ranks ranks(kMinute);
        Buffer<uint64_t> peers(count);
        const uint32_t rank = count - 2;
        for (uint32_t i = 0; i < count; ++i)
            peers[i] = i == rank ? Ranks::address(ranks.heap.data) : Ranks::address(&ranks.peer[i * HPMOE_LINE]);
        ranks.launch[0].peers = Ranks::address(peers.data), ranks.launch[0].ranks = count, ranks.launch[0].rank = rank;
        HpmoeHostResult result = ranks.run<Nothing>(kCores, 2 * kCores, {peers.region("all peers", false)});
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        for (uint32_t i = 0; i < 44; ++i) {
            // The heap of rank i begins at line i of `peer`; its ready word for this rank is 8 + `rank` lines further on.
            const bool told = i >= 8 + rank && i < 8 + rank + count && i != 8 + 2 * rank;
            for (uint32_t word = 0; word < 8; ++word) {
                const int32_t found = ranks.word(ranks.peer, i * HPMOE_LINE + 4 * word);
                EXPECT(found == (told && word == 0 ? kLaunch : 0), std::to_string(i) + ": " + std::to_string(found));
            }
        }
        EXPECT(ranks.word(ranks.heap, (8 + rank) * HPMOE_LINE) == kLaunch);
    }
}

/// Cores clear the next launch's counters, each a share that may take several copies, and nothing next to them.
CASE(counters_of_the_next_launch_are_cleared) {
    for (uint32_t count : {1u, 5u, 6u, 7u, 300u, 256u * 6, 2000u}) {
        for (int32_t launch : {kLaunch, kLaunch + 1}) {
            Ranks ranks(kMinute);
            constexpr int32_t before = 0x7777;
            const uint32_t lines = 2 * count + 2;
            Buffer<int32_t> heap(lines * HPMOE_LINE / 4, before);
            // The counters are in a buffer of their own, and their offset is its distance from the heap.
            HpmoeLaunch &all = ranks.launch[0];
            all.counters = Ranks::address(heap.data) + HPMOE_LINE - Ranks::address(ranks.heap.data);
            all.counter_count = count;
            for (uint32_t i = 0; i < 3 * kCores; ++i)
                ranks.word(ranks.heap, Ranks::kLaunches + i * HPMOE_LINE) = launch - 1;
            HpmoeHostResult result = ranks.run<Nothing>(kCores, 2 * kCores, {heap.region("counters", true, 0, true)});
            EXPECT(result.code == HPMOE_HOST_OK, result.message);
            const uint32_t first = 1 + static_cast<uint32_t>(launch + 1) % 2 * count;
            bool right = true;
            for (uint32_t i = 0; i < lines * HPMOE_LINE / 4; ++i) {
                const uint32_t line = i / (HPMOE_LINE / 4), word = i % (HPMOE_LINE / 4);
                const bool cleared = line >= first && line < first + count && word < 8;
                right &= heap[i] == (cleared ? 0 : before);
            }
            EXPECT(right, std::to_string(count));
        }
    }
}

/// Waits for the tokens of a row tile, rows [first, first + rows) of `rows_once`. A once-sent row tile has eight rows.
struct Tokens : ReadsNothing {
    static constexpr uint32_t kHeight = 8, kPerRow = 3, kExpert = 2, kArray = 1, kSpace = 1;
    static inline uint32_t first, rows, waits;

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &) {
        if constexpr (!AnyCore::HOLDS) {
            hpmoe::Tile tile = {};
            tile.first = first, tile.rows = rows, tile.expert = kExpert;
            const bool there = core.AwaitTokens(tile, kArray, kSpace, kHeight, kPerRow);
            waits = core.record.waits;
            return there;
        }
        return true;
    }
};

/// A core waits for the row tile of each token until it is complete; consecutive tokens of one row tile share a wait.
CASE(tokens_of_a_tile_are_awaited) {
    // Three experts have 9, 20 and 5 rows, starting at 0, 9 and 29, in 2, 3 and 1 tiles. Lists ascend, as the rows of a tile do.
    const uint32_t begins[] = {0, 9, 29}, sizes[] = {9, 20, 5}, tiles[] = {0, 2, 5, 6};
    const std::vector<int32_t> lists[] = {{0, 1, 8}, {0, 7, 8, 9, 16, 17, 28}, {29, 30, 33}, {9}, {8, 25, 29}, {3, 33}};
    for (const std::vector<int32_t> &list : lists) {
        std::vector<uint32_t> needed;
        for (int32_t row : list) {
            uint32_t expert = 2;
            while (static_cast<uint32_t>(row) < begins[expert]) --expert;
            const uint32_t tile = tiles[expert] + (static_cast<uint32_t>(row) - begins[expert]) / Tokens::kHeight;
            if (needed.empty() || needed.back() != tile) needed.push_back(tile);
        }
        // Either all needed tiles are complete, or the counter of one of them is short by one.
        for (size_t missing = 0; missing <= needed.size(); ++missing) {
            Ranks ranks(missing < needed.size() ? 250000 : kMinute);
            Buffer<int32_t> rowsOnce(16, -1), experts(12, 0), firsts(4);
            Buffer<uint32_t> bases{16, 0};
            Buffer<HpmoeSpace> spaces(2);
            Tokens::first = 4, Tokens::rows = static_cast<uint32_t>(list.size());
            for (size_t i = 0; i < list.size(); ++i) rowsOnce[4 + i] = list[i];
            for (uint32_t e = 0; e < 3; ++e)
                experts[2 * (3 + e)] = static_cast<int32_t>(begins[e]),
                                 experts[2 * (3 + e) + 1] = static_cast<int32_t>(sizes[e]);
            for (uint32_t i = 0; i < 4; ++i) firsts[i] = static_cast<int32_t>(tiles[i]);
            spaces[0] = ranks.spaces[0], spaces[1] = HpmoeSpace{}, spaces[1].first_items = Ranks::address(firsts.data);
            bases[Tokens::kArray] = 2;
            HpmoeLaunch &all = ranks.launch[0];
            all.rows_once = Ranks::address(rowsOnce.data), all.experts = Ranks::address(experts.data);
            all.spaces = Ranks::address(spaces.data), all.local_experts = 3;
            all.counter_bases = Ranks::address(bases.data), all.counters = 28 * HPMOE_LINE, all.counter_count = 10;
            const uint64_t set = all.counters + kLaunch % 2 * 10 * HPMOE_LINE;
            for (uint32_t e = 0; e < 3; ++e)
                for (uint32_t tile = tiles[e]; tile < tiles[e + 1]; ++tile) {
                    const uint32_t rows = std::min(Tokens::kHeight, sizes[e] - (tile - tiles[e]) * Tokens::kHeight);
                    const bool awaited = std::find(needed.begin(), needed.end(), tile) != needed.end();
                    const bool lacks = missing < needed.size() && needed[missing] == tile;
                    ranks.word(ranks.heap, set + (2 + tile) * HPMOE_LINE) =
                        awaited ? static_cast<int32_t>(rows * Tokens::kPerRow - lacks) : 0;
                }
            for (uint32_t i = 0; i < 3 * kCores; ++i) ranks.queues[i] = HpmoeQueue{0, i == kCores ? 1u : 0u};
            HpmoeHostResult result = ranks.run<Tokens>(
                kCores, 2 * kCores,
                {rowsOnce.region("rows once", false), experts.region("experts", false), firsts.region("firsts", false),
                 bases.region("bases", false), spaces.region("more spaces", false)});
            EXPECT(result.code == HPMOE_HOST_OK, result.message);
            const HpmoeRecord &record = ranks.records[kCores];
            const bool there = missing == needed.size();
            EXPECT(record.state == (there ? HPMOE_DONE : HPMOE_GAVE_UP), std::to_string(record.state));
            EXPECT(record.waits == std::min(missing + 1, needed.size()), std::to_string(record.waits));
            if (!there) EXPECT(record.index == needed[missing] && record.counter == Tokens::kArray);
        }
    }
}

} // namespace

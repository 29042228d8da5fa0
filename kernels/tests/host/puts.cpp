// Puts of the device library: gathered rows, scattered rows, and the signals after them; and queries of the launch tables that describe
// rows.
#include <algorithm>

#include "cores.h"

using namespace AscendC;

namespace {

constexpr uint32_t kRows = 20;

/// The heaps of rank 0, which puts, and of rank 1, with the tables of a launch.
struct Ranks {
    Buffer<uint8_t> own{64 * HPMOE_LINE, 0}, peer{64 * HPMOE_LINE, 0};
    Buffer<uint64_t> peers{2};
    Buffer<uint32_t> bases{4, 0};
    Buffer<int32_t> order{64, 0};
    Buffer<HpmoeRecord> records{1};

    static constexpr uint64_t kCounters = 8 * HPMOE_LINE;

    Ranks() {
        peers[0] = address(own.data), peers[1] = address(peer.data);
        bases[2] = 3;
        for (uint32_t i = 0; i < 64; ++i) order[i] = static_cast<int32_t>(100 + i);
    }
    HpmoeLaunch launch() {
        HpmoeLaunch all = {};
        all.peers = address(peers.data), all.counter_bases = address(bases.data), all.order = address(order.data);
        all.ranks = 2, all.counter_count = 32;
        return all;
    }
    HpmoeHostResult run(std::vector<HpmoeHostRegion> more, const std::function<void(VectorCore &)> &body) {
        Setup setup;
        setup.aic = 0, setup.aiv = 1, setup.seed = more.size();
        setup.regions = {own.region("own", true, 0, true), peer.region("peer", true, 1, true),
                         peers.region("peers", false),     bases.region("bases", false),
                         order.region("order", false),     records.region("records")};
        setup.regions.insert(setup.regions.end(), more.begin(), more.end());
        return ::launch(setup, [&] {
            VectorCore core(launch());
            core.counters = kCounters;
            body(core);
            core.FencePeer();
        });
    }
    int32_t counter(uint32_t number) {
        return *reinterpret_cast<int32_t *>(peer.data + kCounters + number * HPMOE_LINE);
    }
};

hpmoe::Tile pieceOf(uint32_t rows) {
    hpmoe::Tile piece = {};
    piece.rows = rows, piece.peer = 1;
    return piece;
}

int16_t number(uint32_t row, uint32_t col) { return static_cast<int16_t>(row * 311 + col); }

Framed<int16_t> rowsOf(uint32_t cols) {
    Framed<int16_t> rows(kRows, cols, -1);
    for (uint32_t i = 0; i < kRows * cols; ++i) rows.at(i / cols, i % cols) = number(i / cols, i % cols);
    return rows;
}

/// Columns near a 32-byte block, and of long rows: four fill a half of the put buffer, three leave some room, one fills it.
const uint32_t kColumns[] = {1, 15, 16, 17, hpmoe::UB_HALF / 8, hpmoe::UB_HALF / 7, hpmoe::UB_HALF / 2};

CASE(rows_are_gathered_by_a_list_of_slots) {
    for (uint32_t cols : kColumns) {
        for (uint32_t count : {1u, 3u, 4u, 5u, 8u, 13u, 300u}) {
            if (count > 255 && cols > 16) continue; // more rows in one copy than 8 bits can count, for short rows only
            for (uint32_t slots : {1u, 3u}) {       // per row
                Ranks ranks;
                Framed<int16_t> from = rowsOf(cols), to(count, cols, -2);
                Buffer<int32_t> list(count);
                for (uint32_t i = 0; i < count; ++i) list[i] = static_cast<int32_t>(i * 7 % kRows * slots + i % slots);
                HpmoeHostResult result = ranks.run(
                    {from.all.region("from", false), to.all.region("to", true, 1, true), list.region("list", false)},
                    [&](VectorCore &core) {
                        for (int again = 0; again < 2; ++again)
                            hpmoe::PutGathered(core, pieceOf(count), hpmoe::Bytes(from.view()), address(list.data),
                                               slots, hpmoe::Bytes(to.view()));
                    });
                EXPECT(result.code == HPMOE_HOST_OK, result.message);
                bool right = true;
                for (uint32_t i = 0; i < count * cols; ++i) {
                    const uint32_t row = i / cols, col = i % cols;
                    right &= to.at(row, col) == number(row * 7 % kRows, col);
                }
                EXPECT(right && to.kept(), std::to_string(cols) + " columns, " + std::to_string(count) + " rows");
            }
        }
    }
}

CASE(rows_are_scattered_to_their_places) {
    for (uint32_t cols : kColumns) {
        for (uint32_t count : {1u, 3u, 4u, 5u, 8u, 13u}) {
            Ranks ranks;
            Framed<int16_t> from = rowsOf(cols), to(kRows, cols, -2);
            Buffer<int32_t> places(count);
            for (uint32_t i = 0; i < count; ++i) places[i] = static_cast<int32_t>((i * 7 + 3) % kRows);
            HpmoeHostResult result = ranks.run(
                {from.all.region("from", false), to.all.region("to", true, 1, true), places.region("places", false)},
                [&](VectorCore &core) {
                    const hpmoe::View<int32_t> origins = {address(places.data), count, 1, 1};
                    for (int again = 0; again < 2; ++again) {
                        hpmoe::PutScattered(core, pieceOf(count), hpmoe::Bytes(from.view()), hpmoe::Bytes(to.view()),
                                            origins);
                        core.FencePeer();
                    }
                });
            EXPECT(result.code == HPMOE_HOST_OK, result.message);
            bool right = true;
            for (uint32_t i = 0; i < count; ++i)
                for (uint32_t col = 0; col < cols; ++col) right &= to.at((i * 7 + 3) % kRows, col) == number(i, col);
            for (uint32_t i = count; i < kRows; ++i)
                for (uint32_t col = 0; col < cols; ++col) right &= to.at((i * 7 + 3) % kRows, col) == -2;
            EXPECT(right && to.kept(), std::to_string(cols) + " columns, " + std::to_string(count) + " rows");
        }
    }
}

/// PutOrigins writes one word per row of the piece, and nothing after them.
CASE(places_of_a_piece_are_sent_to_the_peer) {
    for (uint32_t count : {1u, 7u, 8u, 9u, 30u}) {
        Ranks ranks;
        Buffer<int32_t> places(40, -2);
        HpmoeHostResult result = ranks.run({places.region("places", true, 1, true)}, [&](VectorCore &core) {
            hpmoe::Tile piece = pieceOf(count);
            piece.order = 5;
            hpmoe::PutOrigins(core, piece, hpmoe::View<int32_t>{address(places.data + 1), count, 1, 1});
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        for (uint32_t i = 0; i < 40; ++i) {
            const bool inside = i >= 1 && i <= count;
            EXPECT(places[i] == (inside ? static_cast<int32_t>(100 + 5 + i - 1) : -2), std::to_string(i));
        }
    }
}

/// The counter of each block of slots grows by the number of the piece's rows in that block.
CASE(blocks_are_told_how_many_rows_came) {
    constexpr uint32_t kSlots = 6, kFirst = 2;
    const std::vector<std::vector<int32_t>> pieces = {{0},       {5}, {6}, {0, 1, 5, 6}, {3, 7, 8, 13, 30, 31, 35},
                                                      {5, 6, 12}};
    for (const std::vector<int32_t> &slots : pieces) {
        const uint32_t count = static_cast<uint32_t>(slots.size());
        Ranks ranks;
        Framed<int16_t> from = rowsOf(16), to(36, 16, -2);
        Buffer<int32_t> places(count);
        for (uint32_t i = 0; i < count; ++i) places[i] = slots[i];
        HpmoeHostResult result = ranks.run(
            {from.all.region("from", false), to.all.region("to", true, 1, true), places.region("places", false)},
            [&](VectorCore &core) {
                hpmoe::PutScattered(core, pieceOf(count), hpmoe::Bytes(from.view()), hpmoe::Bytes(to.view()),
                                    hpmoe::View<int32_t>{address(places.data), count, 1, 1});
                core.FencePeer();
                hpmoe::SignalBlocks(core, pieceOf(count), 2, kFirst, kSlots);
            });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        for (int32_t block = 0; block < 12; ++block) {
            int32_t rows = 0;
            for (int32_t slot : slots) rows += slot / static_cast<int32_t>(kSlots) + 3 + int32_t(kFirst) == block;
            EXPECT(ranks.counter(static_cast<uint32_t>(block)) == rows, std::to_string(block));
        }
    }
}

/// Queries of tasks: chunks of tokens, empty slots, rows and tiles of experts.
CASE(tables_of_a_launch_are_read) {
    constexpr uint32_t kChunks = 3, kExperts = 2, kLocal = kChunks * kExperts, kTopK = 3, kTokens = 22, kChunk = 10;
    Ranks ranks;
    Buffer<int32_t> ids(kTokens * kTopK, 0), experts(4 * kLocal, 0), tiles(2 * kLocal + 1, 0), once(8, 0);
    Buffer<HpmoePair> sends(2 * kLocal);
    Buffer<HpmoeSpace> spaces(2);
    for (uint32_t i = 0; i < kTokens * kTopK; i += 4) ids[i] = -1;
    int32_t first = 0;
    for (uint32_t i = 0; i < 2 * kLocal; ++i) {
        const int32_t rows = static_cast<int32_t>(3 * i % 7);
        experts[2 * i] = first, experts[2 * i + 1] = rows, first += rows;
        tiles[i + 1] = tiles[i] + (rows + 3) / 4;
        sends[i] = HpmoePair{static_cast<int32_t>(i + 1), 0, 0, 0};
    }
    spaces[1].first_items = spaces[1].peer_items = address(tiles.data);
    std::vector<HpmoeHostRegion> regions = {ids.region("ids", false),     experts.region("experts", false),
                                            tiles.region("tiles", false), sends.region("sends", false),
                                            once.region("once", false),   spaces.region("spaces", false)};
    HpmoeHostResult result = ranks.run(regions, [&](VectorCore &core) {
        core.launch.tokens = kTokens, core.launch.chunk_tokens = kChunk, core.launch.chunk_experts = kExperts;
        core.launch.local_experts = kLocal, core.launch.experts = address(experts.data);
        core.launch.sends = address(sends.data), core.launch.spaces = address(spaces.data);
        core.launch.rows_once = address(once.data), core.launch.origins = address(ids.data);
        for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
            const uint32_t tokens = chunk == 2 ? 2 : 10;
            EXPECT(core.FirstToken(chunk) == 10 * chunk && core.ChunkTokens(chunk) == tokens);
            for (uint32_t block = 0; 4 * block < tokens; ++block)
                EXPECT(core.BlockTokens(chunk, block, 4) == std::min(4u, tokens - 4 * block));
            for (bool gaps : {false, true}) {
                core.ids = gaps ? address(ids.data) : 0;
                uint32_t full = 0, sent = 0;
                for (uint32_t slot = 1 * kTopK; slot < tokens * kTopK; ++slot)
                    full += !gaps || ids[chunk * kChunk * kTopK + slot] >= 0;
                EXPECT(core.FullSlots(chunk, 1, tokens - 1, kTopK) == full, std::to_string(chunk));
                for (uint32_t peer = 0; peer < 2; ++peer)
                    for (uint32_t expert = 0; expert < kExperts; ++expert)
                        sent += peer * kLocal + chunk * kExperts + expert + 1;
                EXPECT(core.SlotsSent(chunk, kTopK) == (gaps ? sent : tokens * kTopK), std::to_string(chunk));
                EXPECT(core.Ids(chunk, 1, kTopK) == (gaps ? address(&ids[(chunk * kChunk + 1) * kTopK]) : 0));
            }
            uint32_t rows = 0;
            for (uint32_t expert = chunk * kExperts; expert < (chunk + 1) * kExperts; ++expert)
                rows += core.ExpertRows(expert);
            EXPECT(core.ReceivedRows(chunk) == rows, std::to_string(chunk));
            const int32_t from = tiles[chunk * kExperts], to = tiles[(chunk + 1) * kExperts];
            EXPECT(core.RowTiles(1, chunk) == static_cast<uint32_t>(to - from));
        }
        for (uint32_t expert = 0; expert < kLocal; ++expert) {
            EXPECT(core.ExpertRows(expert) == 3 * expert % 7);
            EXPECT(core.ExpertRowsOnce(expert) == 3 * (kLocal + expert) % 7);
            EXPECT(core.FirstRowOnce(expert) == static_cast<uint32_t>(experts[2 * (kLocal + expert)]));
            EXPECT(core.FirstTile(1, expert) == static_cast<uint32_t>(tiles[expert]));
            EXPECT(core.FirstTileAt(1, 1, expert) == static_cast<uint32_t>(tiles[kLocal + expert]));
            for (uint32_t at = 0; at < core.ExpertRows(expert); ++at)
                EXPECT(core.TileRows(expert, at, 4) == std::min(4u, core.ExpertRows(expert) - at / 4 * 4));
            hpmoe::Tile tile = pieceOf(2);
            tile.chunk = expert / kExperts, tile.expert = expert, tile.order = expert, tile.first = expert;
            EXPECT(core.OwnExpert(tile) == expert % kExperts);
            EXPECT(core.Sent(tile) == address(&ranks.order[expert]) && core.RowsOnce(tile) == address(&once[expert]));
            EXPECT(core.Origins(tile).address == address(&ids[expert]) && core.Origins(tile).rows == 2);
        }
    });
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
}

/// Byte offsets of rows and counters may exceed 32 bits.
CASE(lists_and_counters_may_lie_far_away) {
    Ranks ranks;
    HpmoeHostResult result = ranks.run({}, [&](VectorCore &core) {
        constexpr uint64_t kList = 1ull << 40, kRow = (1ull << 30) + 5, kCounter = 1ull << 24;
        core.launch.order = core.launch.rows_once = core.launch.origins = kList;
        hpmoe::Tile tile = pieceOf(2);
        tile.order = tile.first = static_cast<uint32_t>(kRow);
        EXPECT(core.Sent(tile) == kList + 4 * kRow && core.RowsOnce(tile) == kList + 4 * kRow);
        EXPECT(core.Origins(tile).address == kList + 4 * kRow);
        const uint64_t first = core.Counter(1, 2, 0);
        EXPECT(core.Counter(1, 2, static_cast<uint32_t>(kCounter)) == first + kCounter * HPMOE_LINE);
        const hpmoe::View<float> rows = {kList, ~0u, 16, 1u << 12};
        const uint64_t row = kList + 4 * (kRow << 12);
        EXPECT(rows.AddressOf(static_cast<uint32_t>(kRow), 3) == row + 4 * 3);
        EXPECT(rows.Rows(static_cast<uint32_t>(kRow), 2).address == row);
        EXPECT(rows.From(static_cast<uint32_t>(kRow)).address == row);
    });
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
}

/// A row tile waits for each of its tokens at the counter of the once-sent row tile that contains the token.
CASE(tokens_that_were_sent_once_are_awaited) {
    constexpr uint32_t kExperts = 3;
    // The experts have 6, 5 and 3 once-sent rows, starting at 0, 6 and 11. The tile of expert 2 has tokens from all three.
    const int32_t table[] = {0, 0, 0, 0, 0, 0, 0, 6, 6, 5, 11, 3}, rows[] = {1, 5, 7, 10, 11, 13};
    for (int32_t missing : {-1, 0, 1, 3, 4}) {
        Ranks ranks;
        Buffer<int32_t> experts(12), once(8), tiles(8, 0);
        Buffer<HpmoeSpace> spaces(1);
        for (uint32_t i = 0; i < 12; ++i) experts[i] = table[i];
        for (uint32_t i = 0; i < 6; ++i) once[1 + i] = rows[i];
        for (uint32_t i = 0; i < 4; ++i) tiles[i] = static_cast<int32_t>(2 * i); // of at most four rows
        spaces[0].first_items = address(tiles.data);
        // Tiles 0 and 1 belong to expert 0, tiles 2 and 3 to expert 1, tile 4 to expert 2. Each row counts twice.
        const int32_t counts[] = {8, 4, 8, 2, 6};
        for (int32_t tile = 0; tile < 5; ++tile) {
            const uint64_t at = Ranks::kCounters + static_cast<uint64_t>(3 + tile) * HPMOE_LINE;
            *reinterpret_cast<int32_t *>(ranks.own.data + at) = counts[tile] - (tile == missing);
        }
        bool there = false;
        HpmoeHostResult result =
            ranks.run({experts.region("experts", false), once.region("once", false), tiles.region("tiles", false),
                       spaces.region("spaces", false)},
                      [&](VectorCore &core) {
                          core.launch.local_experts = kExperts, core.launch.experts = address(experts.data);
                          core.launch.rows_once = address(once.data), core.launch.spaces = address(spaces.data);
                          core.launch.time_limit = 50000;
                          core.launch.records = address(ranks.records.data), core.record.state = HPMOE_RUNNING;
                          hpmoe::Tile tile = pieceOf(6);
                          tile.expert = 2, tile.first = 1;
                          there = core.AwaitTokens(tile, 2, 0, 4, 2);
                          EXPECT(!there || core.record.waits == 5, std::to_string(core.record.waits));
                      });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        EXPECT(there == (missing < 0), std::to_string(missing));
    }
}

CASE(a_chunk_is_freed_at_every_rank) {
    Ranks ranks;
    HpmoeHostResult result = ranks.run({}, [&](VectorCore &core) {
        core.launch.freed = 2 * HPMOE_LINE, core.launch.chunks = 5, core.launch_number = 3, core.launch.rank = 0;
        core.FreeChunk(1);
    });
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    for (auto *heap : {&ranks.own, &ranks.peer})
        for (uint32_t line = 0; line < 4; ++line)
            EXPECT(*reinterpret_cast<int32_t *>(heap->data + line * HPMOE_LINE) == (line == 2 ? 17 : 0));
}

} // namespace

// Time stamps of a launch: of the tiles that each core ran, and of the words with which ranks compare their clocks.
#include "hpmoe/stamps.h"

#include <algorithm>
#include <ctime>

#include "ranks.h"

using namespace AscendC;

namespace {

enum class Wait { Counter, Ready, Freed, Tokens };

/// Every core runs these tiles in order, each with a wait of kind `wait`. Matrix cores have no waits for ready words or tokens, so they
/// wait for the counter instead.
struct Tiles : ReadsNothing {
    static constexpr uint32_t kItems = 3, kColumns = 2, kTiles = kItems * kColumns, kPhase = 4, kArray = 1;
    static inline Wait wait;

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        const uint32_t peer = 1 - core.launch.rank;
        if constexpr (!AnyCore::HOLDS) {
            if (wait == Wait::Ready) return core.AwaitReady(peer);
            if (wait == Wait::Tokens) return core.AwaitTokens(tile, kArray, 0, 1, 1);
        }
        return wait == Wait::Freed ? core.AwaitFreed(peer, HPMOE_CHUNK_BUFFERS) : core.Await(kArray, 0, 1);
    }
};

/// A launch of a kernel with room for `room` time stamps per core. All of its waits are satisfied.
struct StampedLaunch : Ranks {
    static constexpr uint64_t kClocks = 40 * HPMOE_LINE, kFreed = 32 * HPMOE_LINE;
    static constexpr uint64_t kCounter = 29 * HPMOE_LINE; // in this launch's set
    static constexpr uint64_t kUntouched = 0x5a5a5a5a5a5a5a5a;
    static constexpr uint32_t kRounds = HPMOE_CLOCK_ROUNDS, kAll = 3 * kCores;

    uint32_t room;
    Buffer<uint64_t> stamps;
    Buffer<uint32_t> bases{16, 0};
    Buffer<int32_t> experts{2};
    Buffer<HpmoeRouting> routing{1};

    StampedLaunch(uint32_t rank, uint32_t room, uint64_t timeLimit)
        : Ranks(timeLimit), room(room), stamps(kAll * ofCore() + 2 * kRounds * 2 + 8, kUntouched) {
        descriptors[0].columns = Tiles::kColumns, descriptors[0].phase = Tiles::kPhase;
        numbers[1] = Tiles::kItems;
        bases[Tiles::kArray] = 1;
        experts[0] = 0, experts[1] = 1;
        HpmoeLaunch &all = launch[0];
        all.rank = rank, all.tokens = all.chunk_tokens = Tiles::kItems;
        peers[rank] = address(heap.data), peers[1 - rank] = address(peer.data);
        all.counters = kCounter - (1 + kLaunch % 2 * all.counter_count) * HPMOE_LINE;
        all.counter_bases = address(bases.data), all.experts = address(experts.data);
        all.rows_once = address(zeros.data), all.freed = kFreed, all.chunks = 4;
        all.stamps = address(stamps.data), all.stamp_room = room, all.clocks = kClocks;
        word(heap, all.ready + (1 - rank) * HPMOE_LINE) = kLaunch;
        word(heap, kFreed + (1 - rank) * HPMOE_LINE) = kLaunch * 4 + 1;
        word(heap, kCounter) = 1;
        hear(kRounds);
    }

    /// Number of 64-bit words of a core's stamps and their head.
    size_t ofCore() const { return (sizeof(HpmoeStampHead) + room * sizeof(HpmoeStamp)) / 8; }
    const HpmoeStampHead &head(uint32_t core) { return *reinterpret_cast<HpmoeStampHead *>(&stamps[core * ofCore()]); }
    const HpmoeStamp &stamp(uint32_t core, uint32_t tile) {
        const size_t at = core * ofCore() + (sizeof(HpmoeStampHead) + tile * sizeof(HpmoeStamp)) / 8;
        return *reinterpret_cast<HpmoeStamp *>(&stamps[at]);
    }
    const HpmoeClock &clock(uint32_t peer, uint32_t round) {
        return *reinterpret_cast<HpmoeClock *>(&stamps[kAll * ofCore() + (peer * kRounds + round) * 2]);
    }

    /// The word that ranks write to each other in a round.
    static int32_t told(uint32_t round) { return static_cast<int32_t>(kLaunch * kRounds + round + 1); }
    /// Sets this rank's word to what the peer has written after this number of rounds.
    void hear(uint32_t rounds) { word(heap, kClocks + (1 - launch[0].rank) * HPMOE_LINE) = told(rounds) - 1; }
    /// The last word that this rank wrote at the peer.
    int32_t said() { return word(peer, kClocks + launch[0].rank * HPMOE_LINE); }

    HpmoeHostResult run(Wait wait) {
        Tiles::wait = wait;
        return runProgram<Tiles>();
    }

    template <class Program, class Route = hpmoe::HostRoute> HpmoeHostResult runProgram() {
        return Ranks::run<hpmoe::StampedProgram<Program>, hpmoe::Stamped<hpmoe::CubeCore>,
                          hpmoe::Stamped<hpmoe::VectorCore>, hpmoe::StampedRoute<Route>>(
            kCores, 2 * kCores,
            {stamps.region("stamps"), bases.region("bases", false), experts.region("experts", false),
             routing.region("routing", false)});
    }
};

constexpr Wait kWaits[] = {Wait::Counter, Wait::Ready, Wait::Freed, Wait::Tokens};
constexpr uint64_t kShort = 500000; // 10 ms

/// The system counter, as cores see it.
uint64_t cycles() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 50000000 + static_cast<uint64_t>(now.tv_nsec) / 20;
}

/// Each tile has its own stamp, in the order in which the core ran the tiles. Tiles without room are only counted.
CASE(tiles_have_stamps_as_long_as_there_is_room) {
    for (uint32_t room : {0u, 2u, Tiles::kTiles, 2 * Tiles::kTiles}) {
        for (Wait wait : kWaits) {
            StampedLaunch launch(0, room, kMinute);
            const uint64_t before = cycles();
            HpmoeHostResult result = launch.run(wait);
            const uint64_t after = cycles();
            EXPECT(result.code == HPMOE_HOST_OK, result.message);
            for (uint32_t core = 0; core < 3 * kCores; ++core) {
                const HpmoeStampHead &head = launch.head(core);
                EXPECT(head.tiles == Tiles::kTiles && before <= head.begun && head.ended <= after);
                uint64_t now = head.begun;
                for (uint32_t tile = 0; tile < std::min(room, Tiles::kTiles); ++tile) {
                    const HpmoeStamp &stamp = launch.stamp(core, tile);
                    EXPECT(now <= stamp.came && stamp.waited <= stamp.lasted, std::to_string(tile));
                    EXPECT(stamp.phase == Tiles::kPhase && stamp.group == 0);
                    EXPECT(stamp.item == tile / Tiles::kColumns && stamp.column == tile % Tiles::kColumns);
                    now = stamp.came + stamp.lasted;
                }
                EXPECT(now <= head.ended, std::to_string(core));
                for (uint32_t tile = Tiles::kTiles; tile < room; ++tile)
                    EXPECT(launch.stamp(core, tile).came == StampedLaunch::kUntouched, std::to_string(tile));
            }
        }
    }
}

/// A tile that gave up has waited at least the time limit, for whatever kind of word; the head of its core has no end time.
CASE(stamps_tell_how_long_a_tile_has_waited) {
    for (Wait wait : kWaits) {
        StampedLaunch launch(0, 2, kShort);
        launch.word(launch.heap, launch.launch[0].ready + HPMOE_LINE) = kLaunch - 1;
        launch.word(launch.heap, StampedLaunch::kFreed + HPMOE_LINE) = 0;
        launch.word(launch.heap, StampedLaunch::kCounter) = 0;
        HpmoeHostResult result = launch.run(wait);
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        uint32_t gaveUp = 0;
        for (uint32_t core = 0; core < 3 * kCores; ++core) {
            // A core that starts after another one has given up runs no tile.
            if (launch.head(core).begun == StampedLaunch::kUntouched) continue;
            const HpmoeStamp &stamp = launch.stamp(core, 0);
            EXPECT(launch.head(core).tiles == 1 && launch.head(core).ended == 0);
            EXPECT(stamp.waited <= stamp.lasted);
            if (launch.records[core].state != HPMOE_GAVE_UP) continue;
            ++gaveUp;
            EXPECT(stamp.waited >= kShort, std::to_string(stamp.waited));
        }
        EXPECT(gaveUp > 0);
    }
}

void passTime(uint64_t cycles) {
    for (const uint64_t begin = hpmoe::Now(); hpmoe::Now() - begin < cycles;) {}
}

/// Tiles and a route that take some time.
struct Lasts : ReadsNothing {
    static constexpr bool IN_KERNEL = true;
    static constexpr bool CHOOSES = false;
    static constexpr uint64_t kTime = 50; // 1 µs

    template <class AnyCore> static bool Run(AnyCore &, const hpmoe::Tile &) { return passTime(kTime), true; }
    template <class AnyCore> static bool Make(AnyCore &) { return passTime(kTime), true; }
};

/// The making of a route has a stamp after that of the tile before it, with a phase that no tile has.
CASE(the_making_of_a_route_has_a_stamp) {
    StampedLaunch launch(0, 2, kMinute);
    launch.descriptors[0].columns = 1, launch.numbers[1] = 1;
    launch.descriptors[1].kind = HPMOE_ROUTE;
    launch.routing[0] = HpmoeRouting{};
    launch.routing[0].phases = Tiles::kPhase + 1, launch.launch[0].routing = Ranks::address(launch.routing.data);
    for (uint32_t i = 0; i < 3 * kCores; ++i) launch.queues[i] = HpmoeQueue{0, 2};
    HpmoeHostResult result = launch.runProgram<Lasts, Lasts>();
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    for (uint32_t core = 0; core < 3 * kCores; ++core) {
        const HpmoeStampHead &head = launch.head(core);
        const HpmoeStamp &tile = launch.stamp(core, 0), &route = launch.stamp(core, 1);
        EXPECT(head.tiles == 2 && tile.phase == Tiles::kPhase && route.phase == Tiles::kPhase + 1);
        EXPECT(tile.came + tile.lasted <= route.came && route.came + route.lasted <= head.ended, std::to_string(core));
        EXPECT(tile.lasted >= Lasts::kTime && route.lasted >= Lasts::kTime);
    }
}

/// The first vector core waits twice in a tile: until the second one signals, which takes long, and then not at all.
struct WaitsTwice : ReadsNothing {
    static constexpr uint64_t kLong = 100000; // 2 ms

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &) {
        if constexpr (!AnyCore::HOLDS) {
            if (core.number == 0) {
                core.Signal(0, 0, 1);
                return core.Await(Tiles::kArray, 0, 2) && core.Await(Tiles::kArray, 0, 2);
            }
            if (!core.Await(0, 0, 1)) return false;
            passTime(kLong);
            core.Signal(Tiles::kArray, 0, 1);
        }
        return true;
    }
};

/// On a busy machine, the first core may reach its wait after the signal, so one of several launches must show the sum.
CASE(waits_of_a_tile_are_added_up) {
    bool added = false;
    for (uint32_t turn = 0; turn < 20 && !added; ++turn) {
        StampedLaunch launch(0, 2, kMinute);
        launch.descriptors[0].columns = 1, launch.numbers[1] = 1;
        for (uint32_t i = 0; i < 3 * kCores; ++i)
            launch.queues[i] = HpmoeQueue{0, i == kCores || i == kCores + 1 ? 1u : 0u};
        HpmoeHostResult result = launch.runProgram<WaitsTwice>();
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        const HpmoeStamp &stamp = launch.stamp(kCores, 0);
        EXPECT(stamp.waited <= stamp.lasted, std::to_string(stamp.waited));
        added = stamp.waited >= WaitsTwice::kLong * 9 / 10;
    }
    EXPECT(added);
}

/// Tiles that pretend to have waited for these numbers of cycles.
struct LastsLong : ReadsNothing {
    static constexpr uint64_t kMost = ~0u;
    static constexpr uint64_t kWaited[Tiles::kTiles] = {kMost - 2, kMost - 1, kMost, kMost + 1, 2 * kMost, 8 * kMost};

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        core.waited = kWaited[tile.item * Tiles::kColumns + tile.column];
        core.came -= core.waited;
        return true;
    }
};

/// Times that don't fit 32 bits are stamped as the largest word; all others are exact.
CASE(a_stamp_tells_no_more_than_it_holds) {
    StampedLaunch launch(0, Tiles::kTiles, kMinute);
    HpmoeHostResult result = launch.runProgram<LastsLong>();
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    for (uint32_t tile = 0; tile < Tiles::kTiles; ++tile) {
        const HpmoeStamp &stamp = launch.stamp(kCores, tile);
        const uint64_t told = std::min(LastsLong::kWaited[tile], LastsLong::kMost);
        EXPECT(stamp.waited == told, std::to_string(stamp.waited));
        EXPECT(stamp.lasted >= told, std::to_string(stamp.lasted));
    }
}

/// Ranks exchange words round by round, as long as the other rank answers.
CASE(ranks_compare_their_clocks) {
    for (uint32_t rank : {0u, 1u}) {
        for (uint32_t heard : {0u, 1u, 3u, StampedLaunch::kRounds}) {
            const bool all = heard == StampedLaunch::kRounds;
            StampedLaunch launch(rank, 2, all ? kMinute : kShort);
            launch.hear(heard);
            HpmoeHostResult result = launch.run(Wait::Counter);
            EXPECT(result.code == HPMOE_HOST_OK, result.message);
            const HpmoeRecord &first = launch.records[kCores];
            EXPECT(first.state == (all ? HPMOE_DONE : HPMOE_GAVE_UP), std::to_string(first.state));
            if (!all) {
                EXPECT(first.counter == HPMOE_CLOCK_WORD && first.index == 1 - rank);
                EXPECT(first.need == StampedLaunch::told(heard));
            }
            // Rank 0 writes first in each round; the other rank answers.
            const uint32_t spoken = rank == 0 && !all ? heard + 1 : heard;
            EXPECT(launch.said() == (spoken == 0 ? 0 : StampedLaunch::told(spoken - 1)), std::to_string(launch.said()));
            uint64_t now = launch.head(kCores).ended;
            EXPECT(now != 0);
            for (uint32_t round = 0; round < StampedLaunch::kRounds; ++round) {
                const HpmoeClock &clock = launch.clock(1 - rank, round), &own = launch.clock(rank, round);
                EXPECT(own.sent == StampedLaunch::kUntouched && own.got == StampedLaunch::kUntouched);
                if (round >= heard) {
                    EXPECT(clock.sent == StampedLaunch::kUntouched && clock.got == StampedLaunch::kUntouched);
                    continue;
                }
                const uint64_t begin = rank == 0 ? clock.sent : clock.got, end = rank == 0 ? clock.got : clock.sent;
                EXPECT(now <= begin && begin <= end, std::to_string(round));
                now = end;
            }
            // No other core gives up, whether it starts before or after the first core does.
            for (uint32_t core = 0; core < 3 * kCores; ++core) {
                const uint32_t state = launch.records[core].state;
                EXPECT(core == kCores || state == HPMOE_DONE || (!all && state == HPMOE_STOPPED), std::to_string(core));
            }
        }
    }
}

} // namespace

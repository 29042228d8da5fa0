// The device library alone: launches that it refuses, how cores walk queues, and how they give up.
#include "ranks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <type_traits>

using namespace AscendC;

namespace {

/// A tile waits for a counter to which no core adds.
struct Waits : ReadsNothing {
    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        return core.Await(0, tile.number, 1);
    }
};

CASE(one_vector_core_to_a_matrix_core_is_refused_and_told_to_all) {
    Ranks ranks(kMinute);
    HpmoeHostResult result = ranks.run<Waits>(kCores, kCores);
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    // Matrix cores can't see the ratio: they begin to wait, and leave when the abort word is set.
    EXPECT(ranks.count(0, kCores, HPMOE_STOPPED) == kCores);
    EXPECT(ranks.count(kCores, 2 * kCores, HPMOE_REFUSED) == kCores);
    EXPECT(ranks.aborted() && ranks.left(0, 2 * kCores, kLaunch));
}

CASE(another_number_of_cores_is_refused_and_told_to_all) {
    Ranks ranks(kMinute);
    HpmoeHostResult result = ranks.run<Waits>(kCores - 1, 2 * (kCores - 1));
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    EXPECT(ranks.count(0, kCores - 1, HPMOE_REFUSED) == kCores - 1);
    EXPECT(ranks.count(kCores, 3 * kCores, HPMOE_REFUSED) == 2 * (kCores - 1));
    EXPECT(ranks.aborted());
    for (uint32_t i = 0; i < 3 * kCores; ++i) {
        const bool ran = i < kCores - 1 || (kCores <= i && i < kCores + 2 * (kCores - 1));
        EXPECT(ranks.word(ranks.heap, Ranks::kLaunches + i * HPMOE_LINE) == (ran ? kLaunch : kLaunch - 1));
    }
}

CASE(another_number_of_cores_of_one_kind_is_refused_and_told_to_all) {
    for (bool matrix : {true, false}) {
        Ranks ranks(kMinute / 60); // a core that is not refused waits
        (matrix ? ranks.launch[0].aic : ranks.launch[0].aiv) -= 1;
        HpmoeHostResult result = ranks.run<Waits>(kCores, 2 * kCores);
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        EXPECT(ranks.count(0, 3 * kCores - 1, HPMOE_REFUSED) == 3 * kCores - 1);
        EXPECT(ranks.aborted() && ranks.left(0, 3 * kCores - 1, kLaunch));
    }
}

/// Cores that the launch does not know write no words.
CASE(more_cores_than_expected_are_refused_and_told_to_all) {
    Ranks ranks(kMinute);
    HpmoeHostResult result = ranks.run<Waits>(kCores + 1, 2 * (kCores + 1));
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    EXPECT(ranks.count(0, 3 * kCores, HPMOE_REFUSED) == 3 * kCores);
    EXPECT(ranks.aborted() && ranks.left(0, 3 * kCores, kLaunch));
    for (uint32_t i = 3 * kCores; i < 3 * kCores + 4; ++i)
        EXPECT(ranks.word(ranks.heap, Ranks::kLaunches + i * HPMOE_LINE) == 0, std::to_string(i));
}

/// Copies the stages of L1 from the first matrix core at the beginning of a launch.
struct ReadsL1 : ReadsNothing {
    static inline const uint32_t bytes = hpmoe::L1_STAGES * hpmoe::L1_STAGE;
    static inline int32_t *found;

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &) {
        if constexpr (std::is_same_v<AnyCore, hpmoe::CubeCore>) {
            const LocalTensor<int32_t> stages = hpmoe::Local<int32_t>(TPosition::A1, 0, bytes);
            if (core.number == 0) DataCopy(global(found), stages, bytes / 4);
        }
        return true;
    }
};

/// Products also read rows of L1 that were never loaded. They are zeros, so they can't be NaN.
CASE(stages_of_l1_begin_with_zeros) {
    Ranks ranks(kMinute);
    Buffer<int32_t> found(ReadsL1::bytes / 4, 7);
    ReadsL1::found = found.data;
    HpmoeHostResult result = ranks.run<ReadsL1>(kCores, 2 * kCores, {found.region("found")});
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    bool zero = true;
    for (uint32_t i = 0; i < found.count; ++i) zero &= found[i] == 0;
    EXPECT(zero);
}

/// Notes the core that runs each tile, or kSeveral if several cores do.
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

/// Tile n of a phase belongs to core (n + n div cores * rotation) mod cores.
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
                for (uint32_t core = 0; core < kCores; ++core) {
                    const bool has = std::count(Makes::maker.begin(), Makes::maker.begin() + tiles, int32_t(core)) > 0;
                    EXPECT(ranks.records[core].entries == (has ? 1 : 0), std::to_string(core));
                }
            }
        }
    }
}

/// The host checks that such cores leave registers, flags and cache lines as the next kernel expects them.
CASE(cores_that_give_up_leave_nothing_behind) {
    Ranks ranks(500000); // 10 ms
    HpmoeHostResult result = ranks.run<Waits>(kCores, 2 * kCores);
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    uint32_t gaveUp = ranks.count(0, 3 * kCores, HPMOE_GAVE_UP), stopped = ranks.count(0, 3 * kCores, HPMOE_STOPPED);
    uint32_t done = ranks.count(0, 3 * kCores, HPMOE_DONE);
    EXPECT(gaveUp >= 1 && gaveUp + stopped + done == 3 * kCores, std::to_string(gaveUp) + " gave up");
    EXPECT(ranks.aborted() && ranks.left(0, 3 * kCores, kLaunch));
    // Counters are no longer valid, so the next launch runs no tile, though nothing would block it. Records still say why.
    for (auto &maker : Makes::maker) maker = Makes::kNobody;
    result = ranks.run<Makes>(kCores, 2 * kCores);
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    EXPECT(ranks.count(0, 3 * kCores, HPMOE_GAVE_UP) == gaveUp && Makes::maker[0] == Makes::kNobody);
    EXPECT(ranks.count(0, 3 * kCores, HPMOE_STOPPED) == 3 * kCores - gaveUp);
    EXPECT(ranks.left(0, 3 * kCores, kLaunch + 1));
}

/// Only cores of one kind have tiles, so only they can tell all ranks.
CASE(cores_of_either_kind_that_give_up_tell_all_ranks) {
    for (uint32_t which = 0; which < 4; ++which) {
        const bool matrix = which % 2 == 0;
        Ranks ranks(500000);
        if (which >= 2) { // the last rank tells the first
            ranks.launch[0].rank = 1;
            std::swap(ranks.peers[0], ranks.peers[1]);
        }
        const uint32_t from = matrix ? 0 : kCores, to = matrix ? kCores : 3 * kCores;
        for (uint32_t i = 0; i < 3 * kCores; ++i)
            if (i < from || i >= to) ranks.queues[i] = HpmoeQueue{0, 0};
        HpmoeHostResult result = ranks.run<Waits>(kCores, 2 * kCores);
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        EXPECT(ranks.count(from, to, HPMOE_GAVE_UP) >= 1);
        // The other cores have no tile, or start after the launch was given up.
        for (uint32_t i = 0; i < 3 * kCores; ++i) {
            const uint32_t state = ranks.records[i].state;
            EXPECT((from <= i && i < to) || state == HPMOE_DONE || state == HPMOE_STOPPED, std::to_string(i));
        }
        EXPECT(ranks.aborted() && ranks.left(0, 3 * kCores, kLaunch));
    }
}

/// Matrix cores read weights ahead for rows that never arrive.
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
    // A core reads one stage before its tile begins, and the second one while the tile waits if the contraction is long enough.
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

/// The number of entries that each matrix core read between finding and running a tile, by phase.
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
            const bool tile = i == 0 || i == gap + 1; // the last entry has no tile, either
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

/// Notes what each core does, in order: the phases of its tiles, and "r" for the route.
struct Turns : ReadsNothing {
    static inline std::string of[3 * kCores];

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        of[core.slot] += std::to_string(tile.phase);
        return true;
    }
};

struct MadeInTurn {
    static constexpr bool IN_KERNEL = true;
    static constexpr bool CHOOSES = false;
    static inline bool made;

    template <class AnyCore> static bool Make(AnyCore &core) {
        Turns::of[core.slot] += "r";
        if (!made) core.record.state = HPMOE_STOPPED;
        return made;
    }
};

/// A held tile may write ids, so a matrix core runs it before it waits for the route.
CASE(tiles_before_the_route_are_run_before_it_is_made) {
    for (bool made : {true, false}) {
        Ranks ranks(kMinute);
        Buffer<HpmoeDescriptor> descriptors(4);
        for (uint32_t i = 0; i < 4; ++i) descriptors[i] = ranks.descriptors[0], descriptors[i].phase = i;
        descriptors[2].kind = HPMOE_ROUTE;
        ranks.launch[0].descriptors = Ranks::address(descriptors.data);
        for (uint32_t i = 0; i < 3 * kCores; ++i) ranks.queues[i] = HpmoeQueue{0, 4}, Turns::of[i].clear();
        MadeInTurn::made = made;
        HpmoeHostResult result = ranks.run<Turns, hpmoe::CubeCore, hpmoe::VectorCore, MadeInTurn>(
            kCores, 2 * kCores, {descriptors.region("entries", false)});
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        for (const std::string &turns : Turns::of) EXPECT(turns == (made ? "01r3" : "01r"), turns);
        EXPECT(ranks.count(0, 3 * kCores, made ? HPMOE_DONE : HPMOE_STOPPED) == 3 * kCores);
    }
}

/// Every core waits until the other rank has freed its first chunk; vector cores first wait until it has started.
struct Words : ReadsNothing {
    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &) {
        if constexpr (std::is_same_v<AnyCore, hpmoe::VectorCore>) {
            if (!core.AwaitReady(1)) return false;
        }
        return core.AwaitFreed(1, HPMOE_CHUNK_BUFFERS);
    }
};

/// Each core waits twice for the same words.
struct Asks : ReadsNothing {
    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        return Words::Run(core, tile) && Words::Run(core, tile);
    }
};

CASE(a_rank_that_is_known_to_be_ready_or_free_is_not_asked_again) {
    Ranks ranks(kMinute);
    ranks.launch[0].chunks = 4, ranks.launch[0].freed = 32 * HPMOE_LINE;
    ranks.word(ranks.heap, 9 * HPMOE_LINE) = kLaunch;
    ranks.word(ranks.heap, 33 * HPMOE_LINE) = kLaunch * 4 + 1;
    HpmoeHostResult result = ranks.run<Asks>(kCores, 2 * kCores);
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    for (uint32_t i = 0; i < 3 * kCores; ++i)
        EXPECT(ranks.records[i].waits == (i < kCores ? 1 : 2), std::to_string(ranks.records[i].waits));
}

/// A tile that goes on after its wait has failed.
struct GoesOn : ReadsNothing {
    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        Words::Run(core, tile);
        return true;
    }
};

CASE(a_core_that_has_given_up_runs_nothing_more) {
    Ranks ranks(500000);
    ranks.launch[0].chunks = 4, ranks.launch[0].freed = 32 * HPMOE_LINE;
    HpmoeHostResult result = ranks.run<GoesOn>(kCores, 2 * kCores);
    EXPECT(result.code == HPMOE_HOST_BROKEN_RULE && contains(result.message, "record.state == HPMOE_RUNNING"),
           result.message);
}

/// Launch numbers wrap around. Ready and freed words that are one too low don't end a wait; equal and higher ones do.
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

/// Each tile of a matrix core waits for the signal of the vector core with the same number.
struct Counts : ReadsNothing {
    static constexpr uint32_t kArray = 1;

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        if constexpr (std::is_same_v<AnyCore, hpmoe::VectorCore>) {
            core.Signal(kArray, tile.number, 2);
            return true;
        } else {
            return core.IsThere(kArray, tile.number, 1) || core.Await(kArray, tile.number, 2);
        }
    }
};

/// Records count each core's tiles, waits, and entries with a tile for it.
CASE(records_count_what_cores_have_done) {
    for (uint64_t rounds : {1u, 4u}) {
        Ranks ranks(kMinute);
        Buffer<uint32_t> bases{16, 0};
        bases[Counts::kArray] = 1;
        const uint32_t tiles = static_cast<uint32_t>(rounds) * kCores;
        ranks.launch[0].counter_bases = Ranks::address(bases.data), ranks.launch[0].counter_count = 1 + tiles;
        ranks.launch[0].counters = 28 * HPMOE_LINE;
        ranks.descriptors[0].core_count = kCores;
        ranks.numbers[1] = static_cast<int32_t>(tiles);
        ranks.launch[0].tokens = ranks.launch[0].chunk_tokens = tiles;
        // One vector core per matrix core signals; the others have no queue entries.
        for (uint32_t i = 2 * kCores; i < 3 * kCores; ++i) ranks.queues[i] = HpmoeQueue{0, 0};
        HpmoeHostResult result = ranks.run<Counts>(kCores, 2 * kCores, {bases.region("bases", false)});
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        for (uint32_t i = 0; i < 3 * kCores; ++i) {
            const HpmoeRecord &record = ranks.records[i];
            const bool matrix = i < kCores, idle = i >= 2 * kCores;
            EXPECT(record.state == HPMOE_DONE);
            EXPECT(record.tasks == (idle ? 0 : rounds) && record.entries == (idle ? 0 : 1) && record.empty == 0);
            EXPECT(record.waits == (matrix ? rounds : 0), std::to_string(i) + ": " + std::to_string(record.waits));
        }
        for (uint32_t tile = 0; tile < tiles; ++tile) {
            // The counters of this launch have what was signalled.
            const uint64_t set = ranks.launch[0].counters + kLaunch % 2 * (1 + tiles) * HPMOE_LINE;
            const int32_t told = ranks.word(ranks.heap, set + (1 + tile) * HPMOE_LINE);
            EXPECT(told == 2, std::to_string(rounds) + " " + std::to_string(tile) + ": " + std::to_string(told));
            // A signal copies seven more words, which are zero.
            for (uint32_t i = 1; i < 8; ++i)
                EXPECT(ranks.word(ranks.heap, set + (1 + tile) * HPMOE_LINE + 4 * i) == 0, std::to_string(i));
        }
    }
}

/// Every core waits for a counter that is one short of its threshold.
struct WaitsForMore : ReadsNothing {
    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &) { return core.Await(1, 2, 5); }
};

/// Records show what each core waited for, and its tile.
CASE(records_tell_what_was_waited_for) {
    // Half a second, so that all cores begin to wait before the first one gives up, also on a busy machine.
    Ranks ranks(25000000);
    Buffer<uint32_t> bases{16, 0};
    bases[1] = 3;
    ranks.launch[0].counter_bases = Ranks::address(bases.data), ranks.launch[0].counter_count = 8;
    ranks.launch[0].counters = 28 * HPMOE_LINE;
    const uint64_t counter = 28 * HPMOE_LINE + (kLaunch % 2 * 8 + 3 + 2) * HPMOE_LINE;
    ranks.word(ranks.heap, counter) = 4;
    ranks.descriptors[0].columns = 6, ranks.descriptors[0].column_rows = 2, ranks.descriptors[0].core_count = kCores;
    ranks.descriptors[0].phase = 3;
    HpmoeHostResult result = ranks.run<WaitsForMore>(kCores, 2 * kCores, {bases.region("bases", false)});
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    for (uint32_t i = 0; i < 2 * kCores; ++i) {
        const HpmoeRecord &record = ranks.records[i];
        EXPECT(record.state == HPMOE_GAVE_UP || record.state == HPMOE_STOPPED);
        EXPECT(record.phase == 3 && record.group == 0 && record.item == 0 && record.column == i % kCores);
        EXPECT(record.counter == 1 && record.index == 2 && record.need == 5 && record.have == 4);
        EXPECT(record.waits == 1 && record.tasks == 0 && record.entries == 1);
    }
}

/// Collects the tiles that a core runs, in order, and checks that its record in memory names each tile when it begins.
struct Walk : ReadsNothing {
    static inline std::vector<hpmoe::Tile> tiles;
    static inline bool noted;

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        tiles.push_back(tile);
        const uint32_t words[] = {HPMOE_RUNNING, tile.phase, tile.group, tile.item, tile.column};
        for (uint32_t i = 0; i < 5; ++i)
            noted &= hpmoe::Word<uint32_t>(core.launch.records + core.slot * sizeof(HpmoeRecord), i) == words[i];
        return true;
    }
};

/// Tables of rank 0 of two ranks with two experts each, for a queue of one entry.
struct Tables {
    static constexpr uint32_t kHeight = 4;
    Buffer<int32_t> first{8, 0}, order{4}, experts{8}, arrivalOrder{16, 0};
    Buffer<HpmoePair> sends{8}, arrivals{4};

    Tables() {
        const int32_t orders[] = {1, 0, 0, 1}, rows[] = {0, 6, 32, 18, 100, 3, 200, 5};
        for (uint32_t i = 0; i < 4; ++i) order[i] = orders[i];
        for (uint32_t i = 0; i < 8; ++i) experts[i] = rows[i];
        for (int32_t i = 0; i < 8; ++i) sends[i] = HpmoePair{7 + i, 6 + i, 100 * i, 40 * i};
        for (int32_t i = 0; i < 4; ++i) arrivals[i] = HpmoePair{9 + i, 5 + 2 * i, 50 * i, 0};
    }

    /// One core walks the entry.
    void walk(const HpmoeDescriptor &entry, const std::vector<int32_t> &items, uint32_t core = 0) {
        Ranks ranks(kMinute);
        for (size_t i = 0; i < items.size(); ++i) first[i] = items[i];
        for (uint32_t i = 0; i < 3 * kCores; ++i) ranks.queues[i] = HpmoeQueue{0, 0};
        ranks.queues[core].count = 1;
        ranks.descriptors[0] = entry;
        ranks.descriptors[0].core_count = 1, ranks.descriptors[0].phase = 3;
        ranks.spaces[0].kind = entry.kind, ranks.spaces[0].height = kHeight;
        ranks.spaces[0].first_items = Ranks::address(first.data),
        ranks.spaces[0].arrival_order = Ranks::address(arrivalOrder.data);
        HpmoeLaunch &all = ranks.launch[0];
        all.local_experts = all.chunk_experts = 2, all.tokens = 22, all.chunk_tokens = 10, all.chunks = 3;
        all.expert_order = Ranks::address(order.data), all.experts = Ranks::address(experts.data);
        all.sends = Ranks::address(sends.data), all.arrivals = Ranks::address(arrivals.data);
        Walk::tiles.clear(), Walk::noted = true;
        HpmoeHostResult result =
            ranks.run<Walk>(kCores, 2 * kCores,
                            {first.region("first", false), order.region("order", false),
                             experts.region("experts", false), arrivalOrder.region("arrival order", false),
                             sends.region("sends", false), arrivals.region("arrivals", false)});
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        EXPECT(Walk::noted && ranks.records[core].tasks == Walk::tiles.size());
        uint32_t empty = 0;
        for (const hpmoe::Tile &tile : Walk::tiles) empty += tile.rows == 0 && entry.kind != HPMOE_EXPERTS;
        EXPECT(ranks.records[core].empty == empty);
    }
};

HpmoeDescriptor entryOf(uint16_t kind) {
    HpmoeDescriptor entry = {};
    entry.kind = kind, entry.band = 1, entry.columns = 1, entry.column_rows = 1, entry.peers = 1;
    return entry;
}

/// Places of an entry's tiles, in order: bands of items, each column by column.
std::vector<hpmoe::Place> swizzled(uint32_t items, uint32_t columns, uint32_t band) {
    std::vector<hpmoe::Place> places;
    for (uint32_t first = 0; first < items; first += band)
        for (uint32_t column = 0; column < columns; ++column)
            for (uint32_t item = first; item < first + band && item < items; ++item) places.push_back({item, column});
    return places;
}

CASE(row_tiles_are_walked_from_own_rows_on_or_by_arrival) {
    for (uint32_t byArrival : {0u, 1u}) {
        for (uint32_t columnRows : {1u, 2u}) {
            for (uint16_t band : {1, 2, 3, 100}) {
                Tables tables;
                HpmoeDescriptor entry = entryOf(HPMOE_ROW_TILES);
                entry.band = band, entry.columns = 4, entry.column_rows = columnRows, entry.arrival_turn = byArrival;
                const int32_t comes[] = {-1, -1, 3, 0, 4, 1, 2};
                for (uint32_t i = 0; i < 7; ++i) tables.arrivalOrder[i] = comes[i];
                tables.walk(entry, {0, 2, 7});
                // Expert 1 has 18 rows, from row 32 on, in tiles 2 to 6. This rank's own rows begin at its row 7.
                const uint32_t wide = 4 / columnRows, turn = 2;
                const std::vector<hpmoe::Place> places = swizzled(5 * columnRows, wide, band);
                EXPECT(Walk::tiles.size() == 20);
                for (uint32_t t = 0; t < Walk::tiles.size() && t < 20; ++t) {
                    const hpmoe::Tile &tile = Walk::tiles[t];
                    const uint32_t place = places[t].item / columnRows;
                    const uint32_t item = byArrival ? static_cast<uint32_t>(comes[2 + place]) : (place + turn) % 5;
                    const uint32_t column = places[t].column + places[t].item % columnRows * wide;
                    EXPECT(tile.item == item && tile.column == column, std::to_string(t));
                    EXPECT(tile.at == 4 * item && tile.rows == (item == 4 ? 2 : 4) && tile.first == 32 + 4 * item);
                    EXPECT(tile.group == 1 && tile.expert == 1 && tile.number == 2 + item && tile.phase == 3);
                }
            }
        }
    }
}

CASE(tiles_without_rows_are_counted) {
    Tables tables;
    tables.experts[3] = 0;
    HpmoeDescriptor entry = entryOf(HPMOE_ROW_TILES);
    entry.columns = 3;
    tables.walk(entry, {0, 1, 2});
    EXPECT(Walk::tiles.size() == 3);
    for (const hpmoe::Tile &tile : Walk::tiles) EXPECT(tile.rows == 0, std::to_string(tile.rows));
}

/// Pieces are cut at the receiver's row tiles.
CASE(pieces_of_a_pair_are_walked) {
    const std::pair<uint16_t, uint32_t> kinds[] = {{HPMOE_SENDS, 0}, {HPMOE_SENDS_ONCE, 4}, {HPMOE_ARRIVALS, 0}};
    for (const auto &[kind, part] : kinds) {
        for (uint32_t offset : {0u, 1u, 2u, 3u}) {
            for (uint32_t place : {0u, 1u}) {
                Tables tables;
                const bool arrives = kind == HPMOE_ARRIVALS;
                const uint32_t peer = offset % 2, owner = arrives ? 0 : peer;
                const uint32_t expert = static_cast<uint32_t>(tables.order[owner * 2 + place]),
                               pair = peer * 2 + expert;
                const HpmoePair of = arrives ? tables.arrivals[pair] : tables.sends[part + pair];
                HpmoeDescriptor entry = entryOf(kind);
                entry.peer_offset = offset, entry.expert = place;
                std::vector<int32_t> items(5, 0);
                const int32_t count = (of.at + of.rows - 1) / 4 - of.at / 4 + 1;
                for (uint32_t i = 0; i < 5; ++i) items[i] = 1 + static_cast<int32_t>(i > pair) * count;
                tables.walk(entry, items);
                EXPECT(Walk::tiles.size() == static_cast<size_t>(count));
                int32_t row = 0;
                for (const hpmoe::Tile &tile : Walk::tiles) {
                    const int32_t rows = std::min(of.rows - row, 4 - (of.at + row) % 4);
                    EXPECT(tile.rows == static_cast<uint32_t>(rows) && tile.at == static_cast<uint32_t>(of.at + row));
                    EXPECT(tile.first == static_cast<uint32_t>(of.base + of.at + row));
                    EXPECT(tile.order == static_cast<uint32_t>(of.order + row));
                    EXPECT(tile.peer == peer && tile.expert == expert && tile.group == pair);
                    row += rows;
                }
                EXPECT(row == of.rows);
            }
        }
    }
}

/// Two peers take turns of eight rows, in pieces of four. The first turn of rows 5 to 33 has their two ends. The first turn of rows 6 to 23
/// also has eight whole rows, because the ends are short. Rows 2 to 8 take one turn.
CASE(peers_take_turns) {
    using Pieces = std::vector<std::pair<uint32_t, uint32_t>>;
    struct {
        HpmoePair pairs[2];
        std::vector<uint32_t> pieces;
        Pieces walked;
    } cases[] = {
        {{{29, 5, 0, 0}, {7, 2, 0, 0}},
         {8, 3},
         {{0, 7}, {0, 0}, {1, 0}, {1, 1}, {1, 2}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}}},
        {{{7, 2, 0, 0}, {18, 6, 0, 0}}, {3, 5}, {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}}},
        {{{0, 5, 0, 0}, {24, 8, 0, 0}}, {0, 6}, {{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}}},
    };
    for (const auto &[kind, part] : {std::pair{HPMOE_SENDS, 0u}, {HPMOE_SENDS_ONCE, 4u}, {HPMOE_ARRIVALS, 0u}}) {
        for (const auto &[pairs, pieces, walked] : cases) {
            Tables tables;
            tables.order[0] = tables.order[2] = 0;
            HpmoeDescriptor entry = entryOf(static_cast<uint16_t>(kind));
            entry.turn = 8, entry.peers = 2, entry.peer_step = 1;
            for (uint32_t peer : {0u, 1u})
                (kind == HPMOE_ARRIVALS ? tables.arrivals[2 * peer] : tables.sends[part + 2 * peer]) = pairs[peer];
            const int32_t first = static_cast<int32_t>(pieces[0]), all = first + static_cast<int32_t>(pieces[1]);
            tables.walk(entry, {0, first, first, all, all}, kCores);
            Pieces found;
            for (const hpmoe::Tile &tile : Walk::tiles) found.push_back({tile.peer, tile.item});
            EXPECT(found == walked, std::to_string(kind) + ", " + std::to_string(found.size()));
        }
    }
}

/// Notes the group and item of each tile of a vector core, in order.
struct Comes : ReadsNothing {
    static inline std::vector<std::pair<uint32_t, uint32_t>> at[2 * kCores];

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        if constexpr (std::is_same_v<AnyCore, hpmoe::VectorCore>) at[core.number].push_back({tile.group, tile.item});
        return true;
    }
};

/// Among several ranks with two experts each, every core finds its own tiles, peer after peer or one piece of each peer in turn, however
/// many each peer has. An entry may begin at any peer, ascend or descend, and leave peers out.
CASE(tiles_are_found_among_those_of_many_peers) {
    uint32_t state = 1;
    const auto random = [&](uint32_t below) { return ((state = state * 1664525 + 1013904223) >> 8) % below; };
    for (uint32_t round = 0; round < 120; ++round) {
        constexpr uint32_t kMost = 9;
        const uint32_t count = 2 + round % (kMost - 1), rank = random(count), groups = 2 * count;
        const uint32_t place = random(2), columns = 1 + random(3), cores = 1 + random(2 * kCores - 1);
        const bool arrives = round % 3 == 2, up = random(2) == 0, in_turn = random(2) == 0;
        Ranks ranks(kMinute);
        Buffer<uint64_t> peers{kMost};
        Buffer<int32_t> order{2 * kMost}, first{2 * kMost + 1, 0}, counted{2 * kMost}, experts{4, 0};
        Buffer<HpmoePair> pairs{4 * kMost};
        for (uint32_t i = 0; i < kMost; ++i) peers[i] = Ranks::address(i == rank ? ranks.heap.data : ranks.peer.data);
        for (uint32_t i = 0; i < 2 * kMost; i += 2)
            order[i] = static_cast<int32_t>(random(2)), order[i + 1] = 1 - order[i];
        const uint32_t most = 1 + random(12), height = 4;
        for (uint32_t i = 0; i < groups; ++i) {
            const int32_t items = static_cast<int32_t>(random(2) == 0 ? 0 : random(most));
            first[i + 1] = first[i] + items;
            pairs[i] = pairs[groups + i] = HpmoePair{items * static_cast<int32_t>(height), 0, 0, 0};
        }
        const auto group = [&](uint32_t peer, uint32_t at) {
            return 2 * peer + static_cast<uint32_t>(order[2 * (arrives ? rank : peer) + at]);
        };
        int32_t sum = 0;
        for (uint32_t at : {0u, 1u})
            for (uint32_t peer = 0; peer < count; ++peer) {
                counted[group(peer, at)] = sum;
                sum += first[group(peer, at) + 1] - first[group(peer, at)];
            }
        HpmoeDescriptor entry = entryOf(arrives ? HPMOE_ARRIVALS : round % 3 == 1 ? HPMOE_SENDS_ONCE : HPMOE_SENDS);
        entry.expert = place, entry.columns = columns, entry.core_count = static_cast<uint16_t>(cores);
        entry.peer_offset = random(count), entry.peers = 1 + random(count), entry.peer_step = up ? 1 : count - 1;
        entry.turn = in_turn ? height : 0;
        ranks.descriptors[0] = entry;
        for (uint32_t i = 0; i < 3 * kCores; ++i)
            ranks.queues[i] = HpmoeQueue{0, i < kCores || i >= kCores + cores ? 0u : 1u};
        ranks.spaces[0].kind = entry.kind, ranks.spaces[0].height = height;
        ranks.spaces[0].first_items = Ranks::address(first.data),
        ranks.spaces[0].counted = Ranks::address(counted.data);
        HpmoeLaunch &all = ranks.launch[0];
        all.ranks = count, all.rank = rank, all.peers = Ranks::address(peers.data);
        all.local_experts = all.chunk_experts = 2, all.expert_order = Ranks::address(order.data);
        all.experts = Ranks::address(experts.data), all.sends = all.arrivals = Ranks::address(pairs.data);
        for (auto &at : Comes::at) at.clear();
        HpmoeHostResult result = ranks.run<Comes>(kCores, 2 * kCores,
                                                  {peers.region("all peers", false), order.region("order", false),
                                                   first.region("first", false), counted.region("counted", false),
                                                   experts.region("experts", false), pairs.region("pairs", false)});
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        for (uint32_t core = 0; core < cores; ++core) {
            std::vector<std::pair<uint32_t, uint32_t>> wanted;
            for (uint32_t turn = 0; turn < (in_turn ? most : 1); ++turn)
                for (uint32_t i = 0; i < entry.peers; ++i) {
                    const uint32_t of = group((rank + entry.peer_offset + i * entry.peer_step) % count, place);
                    const uint32_t tiles = static_cast<uint32_t>(first[of + 1] - first[of]) * columns;
                    const std::vector<hpmoe::Place> places = swizzled(tiles / columns, columns, 1);
                    const uint32_t end = in_turn ? std::min(tiles, (turn + 1) * columns) : tiles;
                    for (uint32_t t = turn * columns; t < end; ++t)
                        if ((static_cast<uint32_t>(counted[of]) * columns + t) % cores == core)
                            wanted.push_back({of, places[t].item});
                }
            EXPECT(Comes::at[core] == wanted, std::to_string(round) + ", core " + std::to_string(core) + ": " +
                                                  std::to_string(Comes::at[core].size()) + " of " +
                                                  std::to_string(wanted.size()));
        }
    }
}

/// Notes the group and item of each tile of each kind of core, in order.
struct OfBoth : ReadsNothing {
    static inline std::vector<std::pair<uint32_t, uint32_t>> at[2][2 * kCores];

    template <class AnyCore> static bool Run(AnyCore &core, const hpmoe::Tile &tile) {
        at[std::is_same_v<AnyCore, hpmoe::VectorCore>][core.number].push_back({tile.group, tile.item});
        return true;
    }
};

/// An entry of several experts gives every core, matrix or vector, its own tiles, expert after expert, however many each expert has and
/// by however many cores the deal of tiles moves.
CASE(tiles_are_found_among_those_of_many_experts) {
    uint32_t state = 7;
    const auto random = [&](uint32_t below) { return ((state = state * 1664525 + 1013904223) >> 8) % below; };
    for (uint32_t round = 0; round < 240; ++round) {
        const uint32_t experts = 2 + random(300), columns = 1 + random(3);
        const bool vector = round % 2 == 1, whole = round % 3 == 1, sends = vector && round % 3 == 2;
        const uint32_t cores = 1 + random(vector ? 2 * kCores : kCores), begin = random(experts);
        const uint32_t most = random(4) == 0 ? 40 : 1 + random(3);
        Ranks ranks(kMinute);
        Buffer<uint64_t> peers{1};
        Buffer<int32_t> order{experts}, first{experts + 1, 0}, counted{experts}, rows{2 * experts, 0};
        Buffer<HpmoePair> pairs{2 * experts};
        peers[0] = Ranks::address(ranks.heap.data);
        for (uint32_t i = 0; i < experts; ++i) order[i] = static_cast<int32_t>(i);
        for (uint32_t i = experts - 1; i > 0; --i) std::swap(order[i], order[random(i + 1)]);
        for (uint32_t i = 0; i < 2 * experts; ++i) pairs[i] = HpmoePair{64, 0, 0, 0};
        for (uint32_t i = 0; i < experts; ++i)
            first[i + 1] = first[i] + static_cast<int32_t>(whole ? 1 : random(2) == 0 ? 0 : random(most + 1));
        int32_t sum = 0;
        for (uint32_t at = 0; at < experts; ++at) {
            const int32_t of = order[at];
            counted[static_cast<uint32_t>(of)] = sum;
            sum += first[static_cast<uint32_t>(of) + 1] - first[static_cast<uint32_t>(of)];
        }
        HpmoeDescriptor entry = entryOf(whole ? HPMOE_EXPERTS : sends ? HPMOE_SENDS : HPMOE_ROW_TILES);
        entry.expert = begin, entry.columns = columns, entry.core_count = static_cast<uint16_t>(cores);
        entry.more_experts = random(experts - begin), entry.rotation = random(cores);
        if (sends && entry.more_experts == 0) entry.rotation = 0;
        ranks.descriptors[0] = entry;
        const uint32_t from = vector ? kCores : 0;
        for (uint32_t i = 0; i < 3 * kCores; ++i)
            ranks.queues[i] = HpmoeQueue{0, i < from || i >= from + cores ? 0u : 1u};
        ranks.spaces[0].kind = entry.kind, ranks.spaces[0].height = 4;
        ranks.spaces[0].first_items = Ranks::address(first.data),
        ranks.spaces[0].counted = Ranks::address(counted.data);
        HpmoeLaunch &all = ranks.launch[0];
        all.ranks = 1, all.rank = 0, all.peers = Ranks::address(peers.data);
        all.local_experts = all.chunk_experts = experts, all.expert_order = Ranks::address(order.data);
        all.experts = Ranks::address(rows.data), all.sends = all.arrivals = Ranks::address(pairs.data);
        for (auto &kind : OfBoth::at)
            for (auto &at : kind) at.clear();
        HpmoeHostResult result = ranks.run<OfBoth>(kCores, 2 * kCores,
                                                   {peers.region("all peers", false), order.region("order", false),
                                                    first.region("first", false), counted.region("counted", false),
                                                    rows.region("rows", false), pairs.region("pairs", false)});
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        for (uint32_t core = 0; core < cores; ++core) {
            std::vector<std::pair<uint32_t, uint32_t>> wanted;
            for (uint32_t at = begin; at <= begin + entry.more_experts; ++at) {
                const uint32_t of = static_cast<uint32_t>(order[at]);
                const uint32_t tiles = static_cast<uint32_t>(first[of + 1] - first[of]) * columns;
                const std::vector<hpmoe::Place> places = swizzled(tiles / columns, columns, 1);
                for (uint32_t t = 0; t < tiles; ++t) {
                    const uint32_t n = static_cast<uint32_t>(counted[of]) * columns + t;
                    if ((n + n / cores * entry.rotation) % cores == core) wanted.push_back({of, places[t].item});
                }
            }
            const auto &found = OfBoth::at[vector][core];
            EXPECT(found == wanted, std::to_string(round) + ", core " + std::to_string(core) + ": " +
                                        std::to_string(found.size()) + " of " + std::to_string(wanted.size()));
        }
    }
}

/// Entries of a chunk's token blocks, of the one tile of a chunk, and of all rows of an expert.
CASE(blocks_experts_and_chunks_are_walked) {
    for (uint32_t chunk : {0u, 1u, 2u}) { // of 10, 10 and 2 tokens
        Tables tables;
        HpmoeDescriptor entry = entryOf(HPMOE_BLOCKS);
        entry.chunk = chunk;
        tables.walk(entry, {0, 3, 6, 7});
        EXPECT(Walk::tiles.size() == (chunk == 2 ? 1 : 3));
        for (uint32_t i = 0; i < Walk::tiles.size(); ++i) {
            const hpmoe::Tile &tile = Walk::tiles[i];
            EXPECT(tile.first == 4 * i && tile.rows == (chunk == 2 || i == 2 ? 2 : 4) && tile.number == 3 * chunk + i);
            EXPECT(tile.chunk == chunk && tile.group == chunk);
        }
        entry.kind = HPMOE_CHUNKS;
        tables.walk(entry, {0, 1, 2, 3});
        EXPECT(Walk::tiles.size() == 1 && Walk::tiles[0].rows == 1 && Walk::tiles[0].number == chunk);
    }
    for (int32_t rows : {0, 18}) {
        Tables tables;
        tables.experts[3] = rows;
        HpmoeDescriptor entry = entryOf(HPMOE_EXPERTS);
        entry.more = 2; // two more phases on the same tile
        tables.walk(entry, {0, 1, 2});
        EXPECT(Walk::tiles.size() == 3);
        for (uint32_t i = 0; i < Walk::tiles.size(); ++i) {
            const hpmoe::Tile &tile = Walk::tiles[i];
            EXPECT(tile.phase == 3 + i && tile.first == 32 && tile.rows == static_cast<uint32_t>(rows));
            EXPECT(tile.expert == 1 && tile.number == 1);
        }
    }
}

/// A set has exactly the ranks that were added, for every rank that a kernel may have.
CASE(sets_of_ranks_have_who_was_added) {
    hpmoe::RankSet set;
    set.Clear();
    for (uint32_t added = 0; added < hpmoe::MAX_RANKS; ++added) {
        const uint32_t rank = added * 37 % hpmoe::MAX_RANKS;
        EXPECT(!set.Has(rank));
        set.Add(rank);
        for (uint32_t other = 0; other < hpmoe::MAX_RANKS; ++other)
            EXPECT(set.Has(other) == (other * 173 % hpmoe::MAX_RANKS <= added), std::to_string(other));
    }
    set.Clear();
    for (uint32_t rank = 0; rank < hpmoe::MAX_RANKS; ++rank) EXPECT(!set.Has(rank));
}

} // namespace

// Races in global memory: found in every order of events, and never reported if words order both calls.
#include <memory>
#include <thread>

#include "harness.h"

using namespace AscendC;

namespace {

constexpr uint32_t kCount = 1024;

using Search = std::unique_ptr<HpmoeHostRaces, decltype(&hpmoe_host_races_free)>;
Search search(uint32_t ranks, uint32_t cores) {
    return Search(hpmoe_host_races_new(ranks, cores), hpmoe_host_races_free);
}

/// Polls until the word reaches `need`.
void reach(int32_t *word, int32_t need) { EXPECT(await(global(word), need), "a word that never came"); }

LocalTensor<float> rows() { return LocalTensor<float>(TPosition::VECIN, 0, kCount); }

/// Copies ones from UB to a box.
void fill(float *box, uint32_t count = kCount) {
    Duplicate(rows(), 1.0f, static_cast<int32_t>(kCount));
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(global(box), rows(), count);
}

void take(float *box, uint32_t count = kCount) { DataCopy(rows(), global(box), count); }

void signal(int32_t *word) { addFromVector(word, 1); }

/// Result of running vector cores of one rank in 30 orders: the number of refused runs, and the last message.
struct Outcome {
    int refused = 0;
    std::string said;
};

constexpr int kOrders = 30;

Outcome run(uint32_t cores, const std::function<void(int64_t core, float *box, int32_t *word)> &body) {
    Outcome outcome;
    for (uint64_t seed = 0; seed < kOrders; ++seed) {
        Buffer<float> box(kCount, 0.0f);
        Buffer<int32_t> words(128, 0);
        Search races = search(1, cores);
        Setup setup;
        setup.aic = 0, setup.aiv = cores, setup.seed = seed, setup.races = races.get();
        setup.threads = seed % 2 ? 2 : 1;
        setup.regions = {box.region("box"), words.region("words")};
        HpmoeHostResult result = launch(setup, [&] {
            body(GetBlockIdx(), box.data, words.data);
            PipeBarrier<PIPE_ALL>();
        });
        outcome.refused += result.code == HPMOE_HOST_BROKEN_RULE;
        if (result.code) outcome.said = result.message;
    }
    return outcome;
}

CASE(a_counter_orders_what_two_cores_do) {
    Outcome outcome = run(3, [](int64_t core, float *box, int32_t *word) {
        if (core == 0) {
            fill(box);
            PipeBarrier<PIPE_MTE3>();
            signal(word);
        } else {
            reach(word, static_cast<int32_t>(core));
            take(box);
            PipeBarrier<PIPE_ALL>(); // the next core overwrites what this core has read
            signal(word);
            if (core == 2) fill(box);
        }
    });
    EXPECT(outcome.refused == 0, outcome.said);
}

CASE(a_read_without_a_wait_is_refused_in_every_order) {
    Outcome outcome = run(2, [](int64_t core, float *box, int32_t *word) {
        if (core == 0) {
            fill(box);
            PipeBarrier<PIPE_MTE3>();
            signal(word);
        } else {
            take(box);
        }
    });
    EXPECT(outcome.refused == kOrders, std::to_string(outcome.refused));
    EXPECT(contains(outcome.said.c_str(), "race in region box (rank 0), bytes 0..32: this call (PIPE_MTE"),
           outcome.said);
    EXPECT(contains(outcome.said.c_str(), "DataCopy (rank 0, AIV "), outcome.said);
    EXPECT(contains(outcome.said.c_str(), "Let that core signal a counter once it is done, and this one wait for it"),
           outcome.said);
}

CASE(a_signal_without_its_barrier_is_refused_in_every_order) {
    Outcome outcome = run(2, [](int64_t core, float *box, int32_t *word) {
        if (core == 0) {
            fill(box);
            signal(word);
        } else {
            reach(word, 1);
            take(box);
        }
    });
    EXPECT(outcome.refused == kOrders, std::to_string(outcome.refused));
}

CASE(a_copy_issued_before_its_wait_is_refused_in_every_order) {
    Outcome outcome = run(2, [](int64_t core, float *box, int32_t *word) {
        if (core == 0) {
            fill(box);
            PipeBarrier<PIPE_MTE3>();
            signal(word);
        } else {
            take(box);
            reach(word, 1);
        }
    });
    EXPECT(outcome.refused == kOrders, std::to_string(outcome.refused));
}

CASE(a_wait_for_one_of_two_signals_is_refused) {
    auto two = [](int32_t need) {
        return run(3, [need](int64_t core, float *box, int32_t *word) {
            if (core == 2) {
                reach(word, need);
                take(box);
                return;
            }
            fill(box + core * (kCount / 2), kCount / 2);
            PipeBarrier<PIPE_MTE3>();
            signal(word);
        });
    };
    Outcome enough = two(2), early = two(1);
    EXPECT(enough.refused == 0, enough.said);
    // A core that sees both signals at once has waited for both.
    std::printf("    refused in %d of %d orders\n", early.refused, kOrders);
    EXPECT(early.refused >= kOrders / 2, std::to_string(early.refused));
}

CASE(what_is_still_read_is_not_overwritten) {
    Outcome outcome = run(2, [](int64_t core, float *box, int32_t *word) {
        if (core == 0) {
            take(box);
            signal(word); // before the copy is complete
        } else {
            reach(word, 1);
            fill(box);
        }
    });
    EXPECT(outcome.refused == kOrders, std::to_string(outcome.refused));
    EXPECT(contains(outcome.said.c_str(), "overwrites what DataCopy") || contains(outcome.said.c_str(), "reads what"),
           outcome.said);
}

CASE(a_read_by_the_scalar_unit_says_nothing_of_an_earlier_copy) {
    auto both = [](bool barrier) {
        return run(2, [barrier](int64_t core, float *box, int32_t *word) {
            if (core == 0) {
                DataCopyPad(rows(), global(box), DataCopyExtParams(1, 4, 0, 0, 0), DataCopyPadExtParams<float>());
                if (barrier) PipeBarrier<PIPE_ALL>();
                static_cast<void>(global(box).GetValue(0));
                signal(word);
                return;
            }
            reach(word, 1);
            Duplicate(rows(), 1.0f, 64);
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);
            DataCopyPad(global(box), rows(), DataCopyExtParams(1, 4, 0, 0, 0));
        });
    };
    Outcome over = both(true), early = both(false);
    EXPECT(over.refused == 0, over.said);
    EXPECT(early.refused == kOrders, std::to_string(early.refused));
    EXPECT(contains(early.said.c_str(), "overwrites what DataCopy"), early.said);
}

CASE(bytes_that_nobody_shares_race_with_nobody) {
    Outcome outcome = run(4, [](int64_t core, float *box, int32_t *) {
        Duplicate(rows(), 1.0f, 64);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        // Each core writes twelve bytes, so two or three cores write to the same block.
        DataCopyPad(global(box)[static_cast<uint64_t>(core) * 3], rows(), DataCopyExtParams(1, 12, 0, 0, 0));
    });
    EXPECT(outcome.refused == 0, outcome.said);
    outcome = run(2, [](int64_t core, float *box, int32_t *) {
        Duplicate(rows(), static_cast<float>(core), 64);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopyPad(global(box)[static_cast<uint64_t>(core) * 2], rows(), DataCopyExtParams(1, 12, 0, 0, 0));
    });
    EXPECT(outcome.refused == kOrders && contains(outcome.said.c_str(), "bytes 8..12"), outcome.said);
}

CASE(two_copies_of_one_pipe_have_no_order_without_a_barrier) {
    auto twice = [](bool barrier) {
        return run(1, [barrier](int64_t, float *box, int32_t *) {
            fill(box);
            if (barrier) PipeBarrier<PIPE_MTE3>();
            DataCopy(global(box), rows(), kCount);
        });
    };
    EXPECT(twice(true).refused == 0);
    Outcome outcome = twice(false);
    EXPECT(outcome.refused == kOrders, std::to_string(outcome.refused));
    EXPECT(contains(outcome.said.c_str(), "Put a flag or a PipeBarrier between them"), outcome.said);
}

CASE(atomics_are_ordered_with_each_other_but_not_with_reads) {
    auto add = [](float *box) {
        Duplicate(rows(), 1.0f, static_cast<int32_t>(kCount));
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        SetAtomicAdd<float>();
        DataCopy(global(box), rows(), kCount);
        SetAtomicNone();
        PipeBarrier<PIPE_MTE3>();
    };
    auto both = [add](int32_t need) {
        return run(3, [need, add](int64_t core, float *box, int32_t *word) {
            if (core == 2) {
                reach(word, need);
                take(box);
                return;
            }
            add(box);
            signal(word + core * 16);
        });
    };
    Outcome outcome = run(2, [add](int64_t, float *box, int32_t *) { add(box); });
    EXPECT(outcome.refused == 0, outcome.said);
    EXPECT(both(1).refused == kOrders, "the second adder is not waited for");
}

CASE(a_word_may_be_seen_late_but_never_backwards) {
    int late = 0, backwards = 0;
    Outcome outcome = run(2, [&](int64_t core, float *, int32_t *word) {
        if (core == 0) {
            for (int i = 0; i < 40; ++i) signal(word);
            return;
        }
        int32_t last = 0;
        while (last < 40) {
            int32_t present = last;
            while (present == last) {
                GetSystemCycle();
                present = __atomic_load_n(word, __ATOMIC_SEQ_CST);
            }
            int32_t seen = look(global(word));
            late += seen < present;
            backwards += seen < last;
            last = seen;
        }
    });
    std::printf("    seen late %d times\n", late);
    EXPECT(outcome.refused == 0 && late > 0 && backwards == 0, outcome.said);
}

CASE(a_word_whose_write_is_known_to_have_landed_is_seen) {
    int older = 0;
    Outcome outcome = run(2, [&](int64_t core, float *, int32_t *word) {
        if (core == 0) {
            for (int i = 1; i <= 20; ++i) {
                signal(word + 32);
                PipeBarrier<PIPE_ALL>();
                signal(word);
            }
            return;
        }
        look(global(word + 32));
        for (int32_t i = 1; i <= 20; ++i) {
            reach(word, i);
            older += look(global(word + 32)) < i;
        }
    });
    EXPECT(outcome.refused == 0 && older == 0, outcome.said + std::to_string(older));
}

/// In each of `launches` launches, rank 0 puts rows to rank 1 and signals; rank 1 frees its inbox by a word at rank 0. `landed`: the put has
/// landed before the signal. `frees`: rank 0 waits for the word. Returns the number of refused orders.
int putRows(bool landed, bool frees, int launches, std::string *message) {
    int refused = 0;
    for (uint64_t seed = 0; seed < kOrders; ++seed) {
        Buffer<float> inbox(kCount, 0.0f);
        Buffer<int32_t> there(64, 0), back(64, 0);
        volatile int32_t stop = 0;
        std::vector<HpmoeHostRegion> regions = {inbox.region("inbox", true, 1, true),
                                                there.region("there", true, 1, true),
                                                back.region("back", true, 0, true)};
        Search races = search(2, 1);
        static thread_local uint32_t me;
        static thread_local int32_t turn;
        g_body = [&] {
            begin();
            if (me == 0) {
                if (frees) reach(back.data, turn);
                else // keeps the order of events, but without a wait that the search knows of
                    while (__atomic_load_n(back.data, __ATOMIC_SEQ_CST) < turn) GetSystemCycle();
                fill(inbox.data);
                if (landed) PipeBarrier<PIPE_ALL>();
                else PipeBarrier<PIPE_MTE3>();
                signal(there.data);
            } else {
                reach(there.data, turn + 1);
                take(inbox.data);
                PipeBarrier<PIPE_ALL>();
                signal(back.data);
            }
            PipeBarrier<PIPE_ALL>();
            end();
        };
        HpmoeHostResult results[2];
        auto rank = [&](uint32_t r) {
            me = r;
            for (turn = 0; turn < launches; ++turn) {
                HpmoeHostOptions options = {};
                options.rank = r, options.aiv = 1, options.seed = seed, options.stop = &stop,
                options.races = races.get();
                options.regions = regions.data(), options.region_count = regions.size();
                if (hpmoe_host_run([](uint8_t *) { g_body(); }, nullptr, &options, &results[r])) return;
            }
        };
        std::thread other(rank, 1);
        rank(0);
        other.join();
        bool broken = results[0].code == HPMOE_HOST_BROKEN_RULE || results[1].code == HPMOE_HOST_BROKEN_RULE;
        refused += broken;
        if (broken) *message = std::string(results[0].message) + results[1].message;
    }
    return refused;
}

CASE(ranks_are_ordered_by_words_through_many_launches) {
    std::string message;
    EXPECT(putRows(true, true, 6, &message) == 0, message);
    int unlanded = putRows(false, true, 1, &message);
    EXPECT(unlanded == kOrders, std::to_string(unlanded));
    int unfreed = putRows(true, false, 2, &message);
    EXPECT(unfreed == kOrders, std::to_string(unfreed));
    EXPECT(contains(message.c_str(), "(rank 1)") && contains(message.c_str(), "rank 0, AIV 0"), message);
}

CASE(launches_of_a_rank_follow_each_other) {
    Buffer<float> box(kCount, 0.0f);
    Search races = search(1, 2);
    Setup setup;
    setup.aic = 0, setup.aiv = 2, setup.races = races.get(), setup.regions = {box.region("box")};
    for (int64_t writer : {0, 1, 0}) {
        HpmoeHostResult result = launch(setup, [&] {
            if (GetBlockIdx() == writer) fill(box.data);
            PipeBarrier<PIPE_ALL>();
        });
        EXPECT(result.code == 0, result.message);
        result = launch(setup, [&] {
            take(box.data);
            PipeBarrier<PIPE_ALL>();
        });
        EXPECT(result.code == 0, result.message);
    }
}

CASE(a_search_is_for_the_ranks_and_cores_that_it_was_made_for) {
    Search races = search(1, 2);
    Setup setup;
    setup.aic = 0, setup.aiv = 3, setup.races = races.get();
    HpmoeHostResult result = launch(setup, [] {});
    EXPECT(result.code == HPMOE_HOST_BROKEN_RULE && contains(result.message, "other ranks and cores"), result.message);
}

} // namespace

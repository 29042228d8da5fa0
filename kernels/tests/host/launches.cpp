// The threads and turns that a launch takes, launches without checks, and the callback that a launch calls.
#include <mutex>
#include <set>
#include <sys/resource.h>
#include <thread>

#include "harness.h"

using namespace AscendC;

namespace {

constexpr uint32_t kCount = 1024;

LocalTensor<float> rows() { return LocalTensor<float>(TPosition::VECIN, 0, kCount); }

/// Copies ones to a box. Unless `ordered`, the flag between both calls is missing, and they race in UB.
void fill(float *box, bool ordered) {
    Duplicate(rows(), 1.0f, static_cast<int32_t>(kCount));
    if (ordered) {
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
    }
    DataCopy(global(box), rows(), kCount);
    PipeBarrier<PIPE_ALL>();
}

/// Keeps a core busy with many calls.
void work(uint32_t calls) {
    for (uint32_t i = 0; i < calls; ++i) {
        SetFlag<HardEvent::V_S>(1);
        WaitFlag<HardEvent::V_S>(1);
    }
}

} // namespace

CASE(a_launch_without_checks_does_not_look_for_races) {
    int refused[2] = {0, 0};
    for (uint64_t seed = 0; seed < 10; ++seed)
        for (bool unchecked : {false, true}) {
            Buffer<float> box(kCount, 0.0f);
            Setup setup;
            setup.aic = 0, setup.aiv = 1, setup.seed = seed, setup.unchecked = unchecked;
            setup.regions = {box.region("box")};
            HpmoeHostResult result = launch(setup, [&] { fill(box.data, false); });
            refused[unchecked] += result.code == HPMOE_HOST_BROKEN_RULE;
            // Without checks, calls run in the order of issue, so the race does no harm.
            EXPECT(!unchecked || (box[0] == 1.0f && box[kCount - 1] == 1.0f));
        }
    EXPECT(refused[false] == 10 && refused[true] == 0);
}

CASE(a_launch_without_checks_keeps_to_its_memory) {
    Buffer<float> box(kCount, 0.0f);
    Setup setup;
    setup.aic = 0, setup.aiv = 1, setup.unchecked = true;
    setup.regions = {box.region("box")};
    HpmoeHostResult result = launch(setup, [&] { fill(box.data + 8, true); });
    EXPECT(result.code == HPMOE_HOST_BROKEN_RULE);
    EXPECT(contains(result.message, "outside every region"), result.message);
    result = launch(setup, [&] {
        SetFlag<HardEvent::V_MTE3>(0);
        PipeBarrier<PIPE_ALL>();
    });
    EXPECT(contains(result.message, "was still set when the kernel ended"), result.message);
}

CASE(cores_wait_for_each_other_without_checks) {
    for (uint32_t threads : {1, 3}) {
        Buffer<int32_t> words(64 * 16, 0);
        Setup setup;
        setup.aic = 0, setup.aiv = 8, setup.threads = threads, setup.unchecked = true;
        setup.regions = {words.region("words")};
        // Each core waits for the one after it; the last core starts the chain.
        HpmoeHostResult result = launch(setup, [&] {
            const int64_t core = GetBlockIdx();
            if (core < 7) EXPECT(await(global(words.data + core * 16), 1));
            if (core > 0) addFromVector(words.data + (core - 1) * 16, 1);
            PipeBarrier<PIPE_ALL>();
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        EXPECT(words[0] == 1 && words[6 * 16] == 1);
    }
}

CASE(launches_after_the_first_start_no_threads) {
    Buffer<float> box(kCount, 0.0f);
    Setup setup;
    setup.aic = 0, setup.aiv = 4, setup.threads = 4;
    setup.regions = {box.region("box")};
    const auto run = [&] { return launch(setup, [] { work(10); }).threads; };
    EXPECT(run() <= 3);
    for (int i = 0; i < 5; ++i) EXPECT(run() == 0);
}

CASE(other_threads_come_when_a_launch_lasts) {
    Buffer<float> box(kCount, 0.0f);
    Setup setup;
    setup.aic = 0, setup.aiv = 4, setup.threads = 2, setup.alone_us = 60000000;
    setup.regions = {box.region("box")};
    std::mutex lock;
    std::set<std::thread::id> seen;
    const auto here = [&] {
        std::lock_guard<std::mutex> guard(lock);
        seen.insert(std::this_thread::get_id());
        return seen.size();
    };
    launch(setup, [&] { work(1000), here(); });
    EXPECT(seen.size() == 1);
    for (bool unchecked : {false, true}) {
        setup.alone_us = 1, setup.unchecked = unchecked;
        seen.clear();
        launch(setup, [&] {
            for (int64_t begin = GetSystemCycle(); here() < 2 && GetSystemCycle() - begin < 500000000;) work(100);
        });
        EXPECT(seen.size() == 2);
    }
}

CASE(cores_that_wait_take_no_turns) {
    constexpr uint32_t kCores = 40;
    for (bool unchecked : {false, true}) {
        Buffer<int32_t> word(64, 0);
        Setup setup;
        setup.aic = 0, setup.aiv = kCores, setup.unchecked = unchecked;
        setup.regions = {word.region("word")};
        HpmoeHostResult result = launch(setup, [&] {
            if (GetBlockIdx()) {
                EXPECT(await(global(word.data), 1));
                return;
            }
            work(30000);
            addFromVector(word.data, 1);
            PipeBarrier<PIPE_ALL>();
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        // The working core's slices are about 140 calls long, and each of the other cores polls a few times when it begins.
        EXPECT(result.switches < 30000 * 2 / 140 * 2 + kCores * 16, std::to_string(result.switches));
    }
}

CASE(a_lone_thread_waits_for_nobody) {
    // A core whose signal overtakes data lingers for many passes, in which no core of the launch has anything to do.
    Buffer<float> box(kCount, 0.0f);
    Buffer<int32_t> word(64, 0);
    Setup setup;
    setup.aic = 0, setup.aiv = 2;
    setup.regions = {box.region("box"), word.region("word")};
    rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    for (setup.seed = 0; setup.seed < 200; ++setup.seed) {
        HpmoeHostResult result = launch(setup, [&] {
            if (GetBlockIdx()) {
                EXPECT(await(global(word.data), 1));
                return;
            }
            for (int i = 0; i < 16; ++i) DataCopy(global(box.data), rows(), kCount), addFromVector(word.data + 16, 1);
            PipeBarrier<PIPE_ALL>();
            addFromVector(word.data, 1);
            PipeBarrier<PIPE_ALL>();
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
    }
    getrusage(RUSAGE_THREAD, &after);
    // Each sleep of a thread is a voluntary context switch.
    EXPECT(after.ru_nvcsw - before.ru_nvcsw < 20, std::to_string(after.ru_nvcsw - before.ru_nvcsw));
}

CASE(the_caller_is_asked_and_can_end_a_launch) {
    Buffer<int32_t> word(64, 0);
    struct Asked {
        std::thread::id by;
        int times = 0;
    } asked;
    Setup setup;
    setup.aic = 0, setup.aiv = 2, setup.threads = 2;
    setup.regions = {word.region("word")};
    setup.attended = &asked;
    setup.attend = [](void *context) -> int32_t {
        Asked &asked = *static_cast<Asked *>(context);
        asked.by = std::this_thread::get_id();
        return ++asked.times == 2;
    };
    HpmoeHostResult result = launch(setup, [&] { await(global(word.data), 1); });
    EXPECT(result.code == HPMOE_HOST_STOPPED, result.message);
    EXPECT(asked.times == 2 && asked.by == std::this_thread::get_id());
}

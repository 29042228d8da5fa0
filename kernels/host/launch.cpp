// A launch: cores made ready, spread over worker threads, run until all have left.
#include "launch.h"

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstring>
#include <new>
#include <sched.h>
#include <system_error>
#include <thread>
#include <time.h>

#include "arithmetic.h"
#include "core.h"
#include "cores.h"
#include "crew.h"

namespace AscendC::host {

namespace {

/// False when one of the kernel's calls found no memory. No other fiber may run while the exception is handled, so that
/// what follows is up to the caller.
bool runKernel(Core &core) {
    try {
        core.rank->entry(core.rank->launch);
        finishCore(core);
        return true;
    } catch (const std::bad_alloc &) {
        return false;
    }
}

/// The scalar program of a core's fiber.
void runCore(void *argument) {
    Core &core = *static_cast<Core *>(argument);
    core.finished = runKernel(core);
    if (!core.finished) starve(core);
    leaveForEver(core);
}

/// Threads whose cores all poll give the machine to those that have work.
void rest(uint32_t idlePasses) {
    if (idlePasses < 4) return;
    if (idlePasses < 32) {
        sched_yield();
        return;
    }
    timespec pause = {0, 20000L * static_cast<long>(std::min(idlePasses - 31, 10u))};
    nanosleep(&pause, nullptr);
}

/// Nothing says how fast a core is: now and then one stands still for so long that others may have nothing left to do.
class Nap {
  public:
    Nap(Random &random, uint32_t patience) : left_(random.below(MOST + 1)), patience_(patience) {}
    void begin(Random &random, const std::vector<Core *> &cores) {
        if (asleep_ || !left_ || cores.empty() || random.below(APART)) return;
        uint32_t count = static_cast<uint32_t>(cores.size());
        asleep_ = cores[random.below(count)];
        passes_ = 1 + random.below(LONGEST) / count, --left_;
    }
    bool holds(const Core *core) const { return core == asleep_; }
    void end(uint32_t idlePasses) {
        if (asleep_ && (!--passes_ || idlePasses > patience_)) asleep_ = nullptr;
    }

  private:
    static constexpr uint32_t MOST = 2;        // in a launch
    static constexpr uint32_t APART = 64;      // passes, on average
    static constexpr uint32_t LONGEST = 16384; // turns of other cores
    const Core *asleep_ = nullptr;
    uint32_t passes_ = 0;
    uint32_t left_;
    uint32_t patience_;
};

/// Passes without work after which a core stands still no longer. Other ranks have a millisecond to go on too; without them, the
/// rank's other threads have the time to look once.
uint32_t patience(const Rank &rank) {
    const bool alone = std::all_of(rank.regions.begin(), rank.regions.end(),
                                   [&](const HpmoeHostRegion &region) { return region.rank == rank.options.rank; });
    return alone ? 34 : 40;
}

/// Of so many turns of a core that polls one is taken, while other cores of its thread have work.
constexpr uint32_t POLLS = 4;

/// Thread `own` of the crew runs its cores in turn, those that it begins with and those that it is given.
void work(Rank &rank, Crew &crew, uint32_t own, std::vector<Core *> cores, uint64_t seed) {
    StandardArithmetic arithmetic;
    for (Core *core : cores) core->prepare(runCore);
    Random random(seed);
    Nap nap(random, patience(rank));
    uint32_t idle = 0;
    size_t busy = 0; // cores that had work in the last pass
    while (crew.hasWork() && !__atomic_load_n(rank.stop, __ATOMIC_RELAXED)) {
        if (Core *core = crew.take(own)) cores.push_back(core);
        size_t before = busy;
        busy = 0;
        nap.begin(random, cores);
        for (size_t i = cores.size(); i > 1; --i)
            std::swap(cores[i - 1], cores[random.below(static_cast<uint32_t>(i))]);
        for (size_t i = 0; i < cores.size();) {
            if (__atomic_load_n(rank.stop, __ATOMIC_RELAXED)) return;
            if (nap.holds(cores[i])) {
                ++i;
                continue;
            }
            if (crew.isAsked() && cores[i]->busy && before > 1 && crew.give(cores[i])) {
                cores[i] = cores.back(), cores.pop_back(), --before;
                continue;
            }
            // While others have work, a core that polls does so now and then.
            if (before && !cores[i]->busy && random.below(POLLS)) {
                ++i;
                continue;
            }
            cores[i]->enter();
            busy += cores[i]->busy;
            if (!cores[i]->finished) ++i;
            else ++busy, crew.hasFinished(), cores[i] = cores.back(), cores.pop_back();
        }
        idle = busy ? 0 : idle + 1;
        if (busy) crew.askNoMore(own);
        else crew.ask(own);
        nap.end(idle);
        rest(idle);
    }
}

const char *refuse(const HpmoeHostOptions &o) {
    if (o.aic + o.aiv == 0) return "a launch needs cores";
    if (o.aic && o.aiv % o.aic) return "aiv must be a multiple of aic";
    if (o.aic && o.aiv > 2 * o.aic) return "aiv must be at most twice aic";
    if (o.races && !reinterpret_cast<Races *>(o.races)->isFor(o.rank, o.aic + o.aiv))
        return "races are searched for among other ranks and cores";
    for (uint64_t i = 0; i < o.region_count; ++i)
        if (reinterpret_cast<uint64_t>(o.regions[i].base) % 64) return "a region must start at a multiple of 64 bytes";
    return nullptr;
}

/// Runs each share on a thread of its own, the first one on the calling thread. When a thread can't be started, those that
/// run already are stopped.
void runShares(Rank &rank, const std::vector<std::vector<Core *>> &shares) {
    std::vector<std::thread> workers;
    size_t cores = 0;
    for (const std::vector<Core *> &share : shares) cores += share.size();
    Crew crew(static_cast<uint32_t>(shares.size()), cores);
    uint64_t seed = rank.options.seed;
    try {
        workers.reserve(shares.size());
        for (uint32_t t = 1; t < shares.size(); ++t) {
            if (isMissing(rank, HPMOE_HOST_FAULT_THREAD, t))
                throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
            workers.emplace_back(work, std::ref(rank), std::ref(crew), t, shares[t], seed + t);
        }
        work(rank, crew, 0, shares[0], seed);
    } catch (...) {
        __atomic_store_n(rank.stop, 1, __ATOMIC_SEQ_CST);
        for (std::thread &worker : workers) worker.join();
        throw;
    }
    for (std::thread &worker : workers) worker.join();
}

void runRank(HpmoeHostKernel entry, void *launch, const HpmoeHostOptions &options, HpmoeHostResult &result) {
    Rank rank;
    rank.options = options;
    rank.entry = entry, rank.launch = static_cast<uint8_t *>(launch), rank.result = &result;
    rank.stop = options.stop ? options.stop : &rank.ownStop;
    rank.regions.assign(options.regions, options.regions + options.region_count);
    std::sort(rank.regions.begin(), rank.regions.end(),
              [](const HpmoeHostRegion &a, const HpmoeHostRegion &b) { return a.base < b.base; });
    if (auto *races = reinterpret_cast<Races *>(options.races)) {
        rank.races = races;
        rank.launchNumber = races->begin(options.rank, &rank.heard);
        for (const HpmoeHostRegion &region : rank.regions) rank.shadows.push_back(races->shadowOf(region));
    }
    Cores cores(rank);
    runShares(rank, cores.shares(std::max(1u, std::min(options.threads, options.aic + options.aiv))));
    if (!cores.finish(result) && result.code == HPMOE_HOST_OK) {
        result.code = HPMOE_HOST_STOPPED;
        std::snprintf(result.message, sizeof result.message, "rank %u: stopped because another rank was", options.rank);
    }
}

/// The rank can't go on for want of a resource, and the others need not wait for it.
void lack(const HpmoeHostOptions &options, HpmoeHostResult &result, int32_t code, const char *answer) {
    result.code = code;
    std::snprintf(result.message, sizeof result.message, "%s", answer);
    if (options.stop) __atomic_store_n(options.stop, 1, __ATOMIC_SEQ_CST);
}

} // namespace

} // namespace AscendC::host

using namespace AscendC::host;

HpmoeHostRaces *hpmoe_host_races_new(uint32_t ranks, uint32_t cores) {
    try {
        return reinterpret_cast<HpmoeHostRaces *>(new Races(ranks, cores));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void hpmoe_host_arithmetic_begin(HpmoeHostArithmetic *before) {
    static_assert(sizeof(std::fenv_t) <= sizeof before->state, "the state of a thread has room");
    std::fenv_t state;
    std::fegetenv(&state);
    std::memcpy(before->state, &state, sizeof state);
    std::fesetenv(FE_DFL_ENV);
}

void hpmoe_host_arithmetic_end(const HpmoeHostArithmetic *before) {
    std::fenv_t state;
    std::memcpy(&state, before->state, sizeof state);
    std::fesetenv(&state);
}

void hpmoe_host_races_free(HpmoeHostRaces *races) { delete reinterpret_cast<Races *>(races); }

int32_t hpmoe_host_run(HpmoeHostKernel entry, void *launch, const HpmoeHostOptions *options, HpmoeHostResult *result) {
    std::memset(result, 0, sizeof *result);
    if (const char *reason = refuse(*options)) {
        std::snprintf(result->message, sizeof result->message, "rank %u: %s", options->rank, reason);
        return result->code = HPMOE_HOST_BROKEN_RULE;
    }
    try {
        runRank(entry, launch, *options, *result);
    } catch (const NoStack &stack) {
        lack(*options, *result, HPMOE_HOST_NO_STACK, std::strerror(stack.error));
    } catch (const std::bad_alloc &) {
        lack(*options, *result, HPMOE_HOST_NO_MEMORY, std::strerror(ENOMEM));
    } catch (const std::system_error &thread) {
        lack(*options, *result, HPMOE_HOST_NO_THREAD, std::strerror(thread.code().value()));
    }
    return result->code;
}

// A launch: prepares cores, distributes them over worker threads, and runs until all have left.
#include "launch.h"

#include <algorithm>
#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstring>
#include <new>
#include <sched.h>
#include <system_error>
#include <time.h>

#include "arithmetic.h"
#include "core.h"
#include "cores.h"
#include "crew.h"
#include "helpers.h"

namespace AscendC::host {

namespace {

/// Runs the kernel on a core. Returns false if a call ran out of memory. No other fiber may run while the exception is
/// handled, so the caller does the rest.
bool runKernel(Core &core) {
    try {
        core.rank->entry(core.rank->launch);
        finishCore(core);
        return true;
    } catch (const std::bad_alloc &) {
        return false;
    }
}

/// The scalar program of a core, which its fiber runs.
void runCore(void *argument) {
    Core &core = *static_cast<Core *>(argument);
    core.finished = runKernel(core);
    if (!core.finished) starve(core);
    leaveForEver(core);
}

/// Number of passes without work after which a thread waits for other threads and ranks. A single thread has no other
/// to wait for, but time must pass.
constexpr uint32_t SPINS = 4, SPINS_ALONE = 256;

/// Makes a thread whose cores all poll yield to threads that have work.
void rest(uint32_t idlePasses) {
    if (idlePasses < 28) {
        sched_yield();
        return;
    }
    timespec pause = {0, 20000L * static_cast<long>(std::min(idlePasses - 27, 10u))};
    nanosleep(&pause, nullptr);
}

/// Makes one core pause at times, until others may have run out of work, because a core may be arbitrarily slow.
class Nap {
  public:
    Nap(Random &random, const Rank &rank, uint32_t patience)
        : left_(rank.checks() ? random.below(MOST + 1) : 0), patience_(patience) {}
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
    static constexpr uint32_t MOST = 2;        // maximum number of pauses per launch
    static constexpr uint32_t APART = 64;      // average number of passes between them
    static constexpr uint32_t LONGEST = 16384; // maximum length, in turns of other cores
    const Core *asleep_ = nullptr;
    uint32_t passes_ = 0;
    uint32_t left_;
    uint32_t patience_;
};

/// Whether this rank runs alone.
bool isAlone(const Rank &rank) {
    return std::all_of(rank.regions.begin(), rank.regions.end(),
                       [&](const HpmoeHostRegion &region) { return region.rank == rank.options.rank; });
}

/// Number of passes without work after which a paused core continues. With other ranks, this gives them a millisecond
/// to go on; without them, it gives other threads of the rank time to poll once.
uint32_t patience(const Rank &rank, uint32_t threads) { return !isAlone(rank) ? 40 : threads > 1 ? 34 : SPINS; }

/// While other cores of its thread have work, a polling core gets one turn in this number of passes.
constexpr uint32_t POLLS = 4;

/// Number of microseconds between two calls of `attend`.
constexpr int64_t ASKED = 50000;

int64_t microseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
}

/// Other duties of the calling thread. It starts the other threads late, so that a small launch needs none, and calls
/// `attend` from time to time.
class Attendance {
  public:
    Attendance(Rank &rank, std::function<void()> call) : rank_(rank), call_(std::move(call)) {}
    void look() {
        if (!call_ && !rank_.options.attend) return;
        const int64_t now = microseconds() - begin_;
        if (call_ && now >= rank_.options.alone_us) call_(), call_ = nullptr;
        if (!rank_.options.attend || now < next_) return;
        next_ = now + ASKED;
        if (rank_.options.attend(rank_.options.attended)) __atomic_store_n(rank_.stop, 1, __ATOMIC_SEQ_CST);
    }

  private:
    Rank &rank_;
    std::function<void()> call_; ///< calls the other threads, once
    const int64_t begin_ = microseconds();
    int64_t next_ = ASKED;
};

/// One thread of a crew. It gives turns to its cores: its initial ones and those that other threads have given it.
class Worker {
  public:
    Worker(Rank &rank, Crew &crew, uint32_t own, std::vector<Core *> cores)
        : rank_(rank), crew_(crew), own_(own), cores_(std::move(cores)), random_(rank.options.seed + own),
          nap_(random_, rank, patience(rank, crew.threads())),
          spins_(crew.threads() == 1 && isAlone(rank) ? SPINS_ALONE : SPINS), owes_(cores_.empty()) {}

    /// Runs until all cores of the launch have finished or must stop; calls `attend` before each pass.
    template <typename F> void run(F attend) {
        StandardArithmetic arithmetic;
        for (Core *core : cores_) core->prepare(runCore);
        while (crew_.hasWork() && !isStopped()) {
            attend();
            if (Core *core = crew_.take(own_)) cores_.push_back(core);
            owes_ = owes_ && cores_.size() < crew_.share();
            pass();
            idle_ = busy_ ? 0 : idle_ + 1;
            if (busy_ && !owes_) crew_.askNoMore(own_);
            else crew_.ask(own_);
            nap_.end(idle_);
            if (idle_ >= spins_) rest(idle_ - spins_);
        }
        __atomic_fetch_add(&rank_.result->switches, turns_, __ATOMIC_RELAXED);
    }

  private:
    bool isStopped() const { return __atomic_load_n(rank_.stop, __ATOMIC_RELAXED) != 0; }

    /// Gives a turn to each core that may have something to do.
    void pass() {
        size_t before = busy_;
        busy_ = 0;
        nap_.begin(random_, cores_);
        if (rank_.checks())
            for (size_t i = cores_.size(); i > 1; --i)
                std::swap(cores_[i - 1], cores_[random_.below(static_cast<uint32_t>(i))]);
        for (size_t i = 0; i < cores_.size();) {
            if (isStopped()) return;
            Core &core = *cores_[i];
            if (nap_.holds(&core)) {
                ++i;
                continue;
            }
            if (crew_.isAsked() && core.busy && before > 1 && crew_.give(&core)) {
                remove(i), --before;
                continue;
            }
            if (!core.busy && polls(core, before)) {
                ++i;
                continue;
            }
            core.enter();
            ++turns_;
            busy_ += core.busy;
            if (!core.finished) ++i;
            else ++busy_, crew_.hasFinished(), remove(i);
        }
    }

    /// Whether a core that only polls skips this turn, because its words have not changed, or because other cores have
    /// work and it polls only sometimes. In the long run every core polls, because time must pass.
    bool polls(const Core &core, size_t before) {
        if (idle_ < spins_ && core.looks.isInVain()) return true;
        return rank_.checks() && before && random_.below(POLLS);
    }

    void remove(size_t i) { cores_[i] = cores_.back(), cores_.pop_back(); }

    Rank &rank_;
    Crew &crew_;
    const uint32_t own_;
    std::vector<Core *> cores_;
    Random random_;
    Nap nap_;
    const uint32_t spins_; ///< passes without work before it waits for others
    bool owes_;            ///< it started late, and has not got its share of cores yet
    uint32_t idle_ = 0;
    size_t busy_ = 0; ///< cores that had work in the last pass
    uint64_t turns_ = 0;
};

const char *refuse(const HpmoeHostOptions &o) {
    if (o.aic + o.aiv == 0) return "a launch needs cores";
    if (o.aic && o.aiv % o.aic) return "aiv must be a multiple of aic";
    if (o.aic && o.aiv > 2 * o.aic) return "aiv must be at most twice aic";
    if (o.races && o.unchecked) return "races are searched for, but nothing is to be checked";
    if (o.races && !reinterpret_cast<Races *>(o.races)->isFor(o.rank, o.aic + o.aiv))
        return "races are searched for among other ranks and cores";
    for (uint64_t i = 0; i < o.region_count; ++i)
        if (reinterpret_cast<uint64_t>(o.regions[i].base) % 64) return "a region must start at a multiple of 64 bytes";
    return nullptr;
}

/// Runs all cores on `threads` threads, including the calling one. If a thread can't be started, the running ones are
/// stopped.
void runCores(Rank &rank, Cores &cores, uint32_t threads) {
    const bool late = rank.options.alone_us != 0;
    const std::vector<std::vector<Core *>> shares = cores.shares(threads, late);
    Crew crew(threads, cores.count());
    Helpers helpers; // its destructor waits for threads before their data is destroyed
    const auto call = [&] {
        for (uint32_t t = 1; t < threads; ++t) {
            if (isMissing(rank, HPMOE_HOST_FAULT_THREAD, t))
                throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
            helpers.add([&rank, &crew, &shares, t] { Worker(rank, crew, t, shares[t]).run([] {}); });
        }
        rank.result->threads = helpers.started();
    };
    try {
        if (!late) call();
        Attendance attendance(rank, late && threads > 1 ? std::function<void()>(call) : nullptr);
        Worker(rank, crew, 0, shares[0]).run([&] { attendance.look(); });
    } catch (...) {
        __atomic_store_n(rank.stop, 1, __ATOMIC_SEQ_CST);
        throw;
    }
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
    runCores(rank, cores, std::max(1u, std::min(options.threads, options.aic + options.aiv)));
    if (!cores.finish(result) && result.code == HPMOE_HOST_OK) {
        result.code = HPMOE_HOST_STOPPED;
        std::snprintf(result.message, sizeof result.message, "rank %u: stopped because another rank was", options.rank);
    }
}

/// Ends the rank because of a missing resource, and stops all other ranks.
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

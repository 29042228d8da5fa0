// The state of a core at launch, and the core that a thread runs.
#include "core.h"

#include <algorithm>
#include <cstring>

namespace AscendC::host {

namespace {

thread_local Core *t_current = nullptr;

} // namespace

/// Makes the numbers of calls continue from earlier launches. All of the earlier calls are complete.
void Core::numberCalls() {
    constexpr uint32_t most = 1u << 31;
    if (std::any_of(seq, seq + kPipes, [](uint32_t last) { return last >= most; })) {
        memories.forgetHistory();
        std::fill(seq, seq + kPipes, 0);
        tidy = false;
    }
    std::copy(seq, seq + kPipes, firstSeq);
    for (Clock &clock : known) std::copy(seq, seq + kPipes, clock.at);
}

void Core::take(Rank &owner, bool matrix, uint32_t number) {
    rank = &owner, aic = matrix, index = number;
    fiber.reserve();
}

void Core::prepare(void (*run)(void *core)) {
    const HpmoeHostOptions &options = rank->options;
    finished = false, busy = true, checks = rank->checks();
    const uint64_t who = (uint64_t(options.rank) << 32) | (uint64_t(aic) << 31) | index;
    random = Random(options.seed ^ Random(who).next());
    if (checks) memories.forget();
    for (Queue &queue : queues) queue.head = queue.tail = 0;
    nonEmpty = 0;
    numberCalls();
    if (!tidy) {
        std::memset(static_cast<void *>(flags), 0, sizeof flags);
        std::memset(raised, 0, sizeof raised);
        std::memset(marks, 0, sizeof marks);
    }
    tidy = false;
    drained = filled = Clock{};
    counters = Counters{};
    gatherMask = 0, gathered = 0;
    scalarBarrier = seq[PIPE_S], unfinished = false, lingers = 0, std::fill_n(lastRegions, 4, 0u),
    registers = Registers{}, lent = {};
    // Control bits as an earlier kernel or the runtime left them: random.
    Random earlier(options.seed ^ who);
    registers.keepsInfinities = registers.keptThemBefore = earlier.oneIn(2);
    registers.others = earlier.next();
    waits = options.fault == HPMOE_HOST_FAULT_WAIT ? 1 + Random(~options.seed ^ who).below(options.fault_at) : 0;
    slice = static_cast<int32_t>(random.below(64));
    heard = rank->heard, sent = landed = scalar = 0, polled = 0;
    looks.forget();
    cache.clear();
    remote.clear();
    drawHabits();
    fiber.prepare(run, this);
}

void Core::drawHabits() {
    for (uint8_t i = 0; i < kPipes; ++i) pipeOrder[i] = i;
    for (uint32_t i = kPipes - 1; i; --i) std::swap(pipeOrder[i], pipeOrder[random.below(i + 1)]);
    pace = static_cast<Pace>(random.below(3));
    pick = static_cast<Pick>(random.below(3));
}

void Core::enter() {
    t_current = this;
    fiber.enter();
}

// Not inlined: a fiber may continue on another thread, so each call must find the current thread again.
__attribute__((noinline)) Core &current() {
    __asm__ volatile("");
    return *t_current;
}

} // namespace AscendC::host

// The cores of a launch, and those that are kept between launches.
#pragma once

#include <cerrno>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "core.h"

namespace AscendC::host {

/// Cores are kept from launch to launch, because their memories are large.
class Pool {
  public:
    std::unique_ptr<Core> take() {
        std::lock_guard<std::mutex> guard(lock_);
        if (free_.empty()) return std::make_unique<Core>();
        std::unique_ptr<Core> core = std::move(free_.back());
        free_.pop_back();
        return core;
    }
    /// Takes a core back, or frees it if there is no room to keep it.
    void give(std::unique_ptr<Core> core) noexcept {
        try {
            std::lock_guard<std::mutex> guard(lock_);
            free_.push_back(std::move(core));
        } catch (const std::bad_alloc &) {}
    }

  private:
    std::mutex lock_;
    std::vector<std::unique_ptr<Core>> free_;
};

inline Pool &pool() {
    static Pool *one = new Pool; // never destroyed: launches may outlive static destructors
    return *one;
}

inline void addCounters(HpmoeHostResult &result, const Counters &c) {
    result.calls += c.calls, result.dma_bytes += c.dmaBytes, result.dmas += c.dmas, result.mmads += c.mmads;
    result.mmad_flops += c.mmadFlops, result.vector_calls += c.vectorCalls, result.flag_waits += c.flagWaits;
}

/// Whether a test makes the resource with this number unavailable.
inline bool isMissing(const Rank &rank, uint32_t fault, uint32_t number) {
    return rank.options.fault == fault && rank.options.fault_at == number;
}

/// The cores of a launch, taken from the pool and always given back.
class Cores {
  public:
    explicit Cores(Rank &rank) {
        uint32_t aic = rank.options.aic, count = aic + rank.options.aiv;
        for (uint32_t i = 0; i < count; ++i) {
            if (isMissing(rank, HPMOE_HOST_FAULT_CORE, i)) throw std::bad_alloc();
            cores_.push_back(pool().take());
            if (isMissing(rank, HPMOE_HOST_FAULT_STACK, i)) throw NoStack{ENOMEM};
            cores_[i]->take(rank, i < aic, i < aic ? i : i - aic);
            cores_[i]->starves = isMissing(rank, HPMOE_HOST_FAULT_CALL, i);
        }
    }
    ~Cores() {
        for (auto &core : cores_) pool().give(std::move(core));
    }
    size_t count() const { return cores_.size(); }
    /// The cores of each thread: thread i gets cores i, i + threads, i + 2 * threads and so on; or the first thread
    /// gets all.
    std::vector<std::vector<Core *>> shares(uint32_t threads, bool allForFirst) {
        std::vector<std::vector<Core *>> shares(threads);
        for (size_t i = 0; i < cores_.size(); ++i) shares[allForFirst ? 0 : i % threads].push_back(cores_[i].get());
        return shares;
    }
    /// Sums the cores' counts. Returns false if a core did not finish its kernel.
    bool finish(HpmoeHostResult &result) {
        bool left = true;
        std::vector<Heard> heard;
        for (auto &core : cores_) {
            heard.push_back(std::move(core->heard));
            if (!core->finished) core->cache.salvage(); // a stopped core would lose what it did not write back
            left &= core->finished;
            addCounters(result, core->counters);
        }
        if (Races *races = cores_.empty() ? nullptr : cores_[0]->rank->races)
            races->end(cores_[0]->rank->options.rank, heard);
        return left;
    }

  private:
    std::vector<std::unique_ptr<Core>> cores_;
};

} // namespace AscendC::host

// The worker threads of a launch, and how they share its cores.
#pragma once

#include <atomic>
#include <vector>

namespace AscendC::host {

struct Core;

/// Each thread has its own cores. Because the cores that have work change all the time, a thread whose cores only poll
/// asks for work, and a thread that has several cores with work gives it one.
class Crew {
  public:
    Crew(uint32_t threads, size_t cores) : places_(threads), share_(cores / threads), left_(cores) {}

    uint32_t threads() const { return static_cast<uint32_t>(places_.size()); }
    /// Number of cores per thread, if all threads have the same number.
    size_t share() const { return share_; }

    /// Whether a core of the launch has not finished yet.
    bool hasWork() const { return left_.load(std::memory_order_relaxed) != 0; }
    void hasFinished() { left_.fetch_sub(1, std::memory_order_relaxed); }

    /// Whether a thread asks for a core. This is checked before each turn of a core.
    bool isAsked() const { return asking_.load(std::memory_order_relaxed) != 0; }

    /// Asks for a core for thread `own`, until the thread gets one or withdraws.
    void ask(uint32_t own) {
        Place &place = places_[own];
        if (place.asks || place.comes) return;
        place.comes = true, asking_.fetch_add(1, std::memory_order_relaxed);
        place.asks.store(true, std::memory_order_relaxed);
    }
    void askNoMore(uint32_t own) {
        Place &place = places_[own];
        if (!place.asks.exchange(false, std::memory_order_relaxed)) return; // it did not ask, or a core is on its way
        place.comes = false, asking_.fetch_sub(1, std::memory_order_relaxed);
    }

    /// Gives a core to a thread that asks. Returns false if none asks any more. The giver must have left the core's
    /// fiber.
    bool give(Core *core) {
        for (Place &place : places_) {
            if (!place.asks.load(std::memory_order_relaxed) || !place.asks.exchange(false, std::memory_order_relaxed))
                continue;
            asking_.fetch_sub(1, std::memory_order_relaxed);
            place.given.store(core, std::memory_order_release);
            return true;
        }
        return false;
    }

    /// The core that thread `own` was given; null if it was given none.
    Core *take(uint32_t own) {
        Place &place = places_[own];
        if (!place.comes) return nullptr;
        Core *core = place.given.load(std::memory_order_acquire);
        if (core) place.given.store(nullptr, std::memory_order_relaxed), place.comes = false;
        return core;
    }

  private:
    struct alignas(64) Place {
        std::atomic<bool> asks{false};
        std::atomic<Core *> given{nullptr};
        bool comes = false; ///< read and written only by the thread itself: a core may be on its way
    };
    std::vector<Place> places_;
    const size_t share_;
    std::atomic<uint32_t> asking_{0};
    std::atomic<size_t> left_;
};

} // namespace AscendC::host

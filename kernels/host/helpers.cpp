#include "helpers.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace AscendC::host {

class Helper {
  public:
    Helper() {
        std::thread([this] { work(); }).detach();
    }
    void begin(std::function<void()> task) {
        std::lock_guard<std::mutex> guard(lock_);
        task_ = std::move(task);
        changed_.notify_all();
    }
    /// Waits until the helper has finished its task.
    void wait() {
        std::unique_lock<std::mutex> guard(lock_);
        changed_.wait(guard, [this] { return !task_; });
    }

  private:
    void work() {
        // A thread_local with a destructor keeps the library of its code loaded as long as the thread lives.
        static thread_local std::unique_ptr<int> loaded;
        loaded.reset(new int(0));
        std::unique_lock<std::mutex> guard(lock_);
        for (;;) {
            changed_.wait(guard, [this] { return bool(task_); });
            guard.unlock();
            task_();
            guard.lock();
            task_ = nullptr;
            changed_.notify_all();
        }
    }
    std::mutex lock_;
    std::condition_variable changed_;
    std::function<void()> task_;
};

namespace {

/// Helpers without a task.
struct Idle {
    std::mutex lock;
    std::vector<Helper *> helpers;
    pid_t process = getpid();
};

/// Never destroyed: launches may outlive static destructors.
Idle &idle() {
    static Idle *one = new Idle;
    return *one;
}

} // namespace

void Helpers::add(std::function<void()> task) {
    Idle &kept = idle();
    busy_.reserve(busy_.size() + 1);
    Helper *helper = nullptr;
    {
        std::lock_guard<std::mutex> guard(kept.lock);
        // A forked process has none of its parent's threads.
        if (kept.process != getpid()) kept.helpers.clear(), kept.process = getpid();
        if (!kept.helpers.empty()) helper = kept.helpers.back(), kept.helpers.pop_back();
    }
    if (!helper) helper = new Helper, ++started_;
    busy_.push_back(helper);
    helper->begin(std::move(task));
}

Helpers::~Helpers() {
    for (Helper *helper : busy_) helper->wait();
    Idle &kept = idle();
    std::lock_guard<std::mutex> guard(kept.lock);
    // If there is no memory to keep its address, the helper sleeps for ever.
    try {
        kept.helpers.insert(kept.helpers.end(), busy_.begin(), busy_.end());
    } catch (const std::bad_alloc &) {}
}

} // namespace AscendC::host

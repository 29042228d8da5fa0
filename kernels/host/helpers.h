// Threads that help launches, kept from one launch to the next.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace AscendC::host {

/// A thread that sleeps until it gets a task.
class Helper;

/// The helpers of one launch. The destructor waits for them and gives them back.
class Helpers {
  public:
    Helpers() = default;
    Helpers(const Helpers &) = delete;
    ~Helpers();
    /// Lets another helper run a task, which must not throw. Throws std::system_error if the helper's thread can't be
    /// started.
    void add(std::function<void()> task);
    /// Number of threads that were started.
    size_t started() const { return started_; }

  private:
    std::vector<Helper *> busy_;
    size_t started_ = 0;
};

} // namespace AscendC::host

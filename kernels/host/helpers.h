// Threads that help launches, kept from one to the next.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace AscendC::host {

/// A thread that sleeps until it is given something to do.
class Helper;

/// The helpers of one launch. They go back when it is over, and are waited for.
class Helpers {
  public:
    Helpers() = default;
    Helpers(const Helpers &) = delete;
    ~Helpers();
    /// Has another helper do something that throws nothing. Throws std::system_error if its thread can't be started.
    void add(std::function<void()> task);
    /// Threads that were started.
    size_t started() const { return started_; }

  private:
    std::vector<Helper *> busy_;
    size_t started_ = 0;
};

} // namespace AscendC::host

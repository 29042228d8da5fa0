// The floating-point state of a thread that computes.
#pragma once

#include "launch.h"

namespace AscendC::host {

/// Rounds to nearest, keeps subnormal numbers and raises no signals, until it is destroyed: then the thread has the state that it had
/// before. A thread that a caller made may have any state, and threads begin with that of the thread that starts them.
class StandardArithmetic {
  public:
    StandardArithmetic() { hpmoe_host_arithmetic_begin(&before_); }
    ~StandardArithmetic() { hpmoe_host_arithmetic_end(&before_); }
    StandardArithmetic(const StandardArithmetic &) = delete;
    StandardArithmetic &operator=(const StandardArithmetic &) = delete;

  private:
    HpmoeHostArithmetic before_;
};

} // namespace AscendC::host

// The floating-point state of a thread that computes.
#pragma once

#include "launch.h"

namespace AscendC::host {

/// While an object of this class exists, its thread rounds to nearest, keeps subnormal numbers and raises no
/// floating-point signals. Afterwards, the earlier state is restored. A caller's thread may have any state, and new
/// threads inherit the state of the thread that starts them.
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

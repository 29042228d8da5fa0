// A stack of execution that can be left and entered again, from any thread.
#pragma once

#include <cstddef>

#include "sanitizer.h"

namespace AscendC::host {

/// Thrown if a fiber gets no stack; contains the system's error number.
struct NoStack {
    int error;
};

class Fiber {
  public:
    using Body = void (*)(void *argument);

    Fiber() = default;
    Fiber(const Fiber &) = delete;
    Fiber &operator=(const Fiber &) = delete;
    ~Fiber();

    /// Allocates the fiber's stack, which is kept from one use to the next. Throws NoStack if the system refuses.
    void reserve();
    /// Prepares the fiber to run `body(argument)`, which must end in `leave` and never return. The stack must be
    /// reserved.
    void prepare(Body body, void *argument);
    /// Runs the fiber until it leaves. Called by a worker.
    void enter();
    /// Switches back to the worker. Called inside the fiber.
    void leave();

  private:
    static void run(void *fiber);

    void *map_ = nullptr;
    size_t mapBytes_ = 0;
    void *inside_ = nullptr;  // saved context of the fiber
    void *outside_ = nullptr; // saved context of the worker
    KnownStack stack_;
    KnownStack worker_; // of the worker that has entered it
    Body body_ = nullptr;
    void *argument_ = nullptr;
};

} // namespace AscendC::host

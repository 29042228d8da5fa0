// One stack of execution that can be left and entered again, from any thread.
#pragma once

#include <cstddef>

#include "sanitizer.h"

namespace AscendC::host {

/// Why a fiber has no stack: an error number of the system.
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

    /// Gives it a stack, which is kept from one use to the next. Throws NoStack when the system gives none.
    void reserve();
    /// Makes it ready to run `body(argument)`, which must end in `leave` and never return. It has a stack.
    void prepare(Body body, void *argument);
    /// Runs it until it leaves. Called by a worker.
    void enter();
    /// Goes back to the worker. Called inside the fiber.
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

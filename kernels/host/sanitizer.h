// Sanitizers follow threads and their stacks, so fibers must be announced to them. They start after the functions that
// choose an instruction set have run.
#pragma once

#include <cstddef>

#ifdef __has_feature
#define HPMOE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define HPMOE_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_THREAD__) || HPMOE_HAS_FEATURE(thread_sanitizer)
#define HPMOE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#elif defined(__SANITIZE_ADDRESS__) || HPMOE_HAS_FEATURE(address_sanitizer)
#define HPMOE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace AscendC::host {

#ifdef HPMOE_THREAD_SANITIZER
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

/// A stack of execution, as the sanitizer in use knows it: a fiber's stack, or the stack of the thread that has entered
/// the fiber.
class KnownStack {
  public:
#ifdef HPMOE_THREAD_SANITIZER
    /// Tells the sanitizer that a fiber starts on this memory.
    void begin(void *, size_t) { fiber_ = __tsan_create_fiber(0); }
    /// Tells the sanitizer that the fiber on this memory has ended.
    void end() {
        if (fiber_) __tsan_destroy_fiber(fiber_);
        fiber_ = nullptr;
    }
    /// Called right before execution leaves this stack for another.
    void leaveFor(KnownStack &other) {
        fiber_ = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(other.fiber_, 0);
    }
    /// Called right after execution enters this stack from another.
    void arriveFrom(KnownStack &) {}

  private:
    void *fiber_ = nullptr;
#elif defined(HPMOE_ADDRESS_SANITIZER)
    void begin(void *bottom, size_t bytes) { bottom_ = bottom, bytes_ = bytes, frames_ = nullptr; }
    /// Releases the memory, including frames that were never left.
    void end() { __asan_unpoison_memory_region(bottom_, bytes_); }
    void leaveFor(KnownStack &other) { __sanitizer_start_switch_fiber(&frames_, other.bottom_, other.bytes_); }
    void arriveFrom(KnownStack &other) { __sanitizer_finish_switch_fiber(frames_, &other.bottom_, &other.bytes_); }

  private:
    const void *bottom_ = nullptr;
    size_t bytes_ = 0;
    void *frames_ = nullptr; ///< where the sanitizer keeps frames that must not be used after their function returns
#else
    void begin(void *, size_t) {}
    void end() {}
    void leaveFor(KnownStack &) {}
    void arriveFrom(KnownStack &) {}
#endif
};

} // namespace AscendC::host

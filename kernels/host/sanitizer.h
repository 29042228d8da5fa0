// Sanitizers follow threads and their stacks: they have to be told of fibers. They start after the functions that choose an instruction
// set have run.
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

/// A stack of execution, as the sanitizer in use knows it: that of a fiber, or that of the thread which has entered it.
class KnownStack {
  public:
#ifdef HPMOE_THREAD_SANITIZER
    /// A fiber begins on this memory.
    void begin(void *, size_t) { fiber_ = __tsan_create_fiber(0); }
    /// The fiber on it is over.
    void end() {
        if (fiber_) __tsan_destroy_fiber(fiber_);
        fiber_ = nullptr;
    }
    /// Called right before the present stack, which is this one, is left for another.
    void leaveFor(KnownStack &other) {
        fiber_ = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(other.fiber_, 0);
    }
    /// Called right after this stack was entered from another.
    void arriveFrom(KnownStack &) {}

  private:
    void *fiber_ = nullptr;
#elif defined(HPMOE_ADDRESS_SANITIZER)
    void begin(void *bottom, size_t bytes) { bottom_ = bottom, bytes_ = bytes, frames_ = nullptr; }
    /// Frames that were never left are free as well.
    void end() { __asan_unpoison_memory_region(bottom_, bytes_); }
    void leaveFor(KnownStack &other) { __sanitizer_start_switch_fiber(&frames_, other.bottom_, other.bytes_); }
    void arriveFrom(KnownStack &other) { __sanitizer_finish_switch_fiber(frames_, &other.bottom_, &other.bytes_); }

  private:
    const void *bottom_ = nullptr;
    size_t bytes_ = 0;
    void *frames_ = nullptr; ///< where it keeps frames that nobody may use after their return
#else
    void begin(void *, size_t) {}
    void end() {}
    void leaveFor(KnownStack &) {}
    void arriveFrom(KnownStack &) {}
#endif
};

} // namespace AscendC::host

// ThreadSanitizer follows threads. It has to be told of fibers, and it starts after the functions that choose an instruction set have run.
#pragma once

#ifdef __has_feature
#define HPMOE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define HPMOE_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_THREAD__) || HPMOE_HAS_FEATURE(thread_sanitizer)
#define HPMOE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace AscendC::host {

#ifdef HPMOE_THREAD_SANITIZER
constexpr bool kThreadSanitizer = true;
inline void *newFiber() { return __tsan_create_fiber(0); }
inline void forgetFiber(void *fiber) {
    if (fiber) __tsan_destroy_fiber(fiber);
}
inline void *presentFiber() { return __tsan_get_current_fiber(); }
/// Called right before the switch.
inline void announceFiber(void *fiber) { __tsan_switch_to_fiber(fiber, 0); }
#else
constexpr bool kThreadSanitizer = false;
inline void *newFiber() { return nullptr; }
inline void forgetFiber(void *) {}
inline void *presentFiber() { return nullptr; }
inline void announceFiber(void *) {}
#endif

} // namespace AscendC::host

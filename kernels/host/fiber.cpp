// Context switches between fibers: a few instructions on x86-64 and AArch64, ucontext elsewhere.
//
// The switch is in assembly, because a launch switches some hundred thousand times, and swapcontext makes two system
// calls for signal masks each time.
#include "fiber.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(HPMOE_HOST_UCONTEXT)
#define HPMOE_HOST_ASSEMBLY
#else
#include <ucontext.h>
#endif

namespace AscendC::host {

namespace {
constexpr size_t kStack = 256 * 1024;
/// Number of bytes at the start of a fiber's stack that are filled with stale data, so that programs don't rely on
/// zeros.
constexpr size_t kStale = 8 * 1024;
constexpr int kStaleByte = 0xa5;
} // namespace

#ifdef HPMOE_HOST_ASSEMBLY

// Saves the callee-saved registers on the current stack, stores its pointer in *save, and continues on the stack at
// `load`.
extern "C" void hpmoe_host_switch(void **save, void *load) __asm__("hpmoe_host_switch");
// The first frame of a fiber: takes body and argument from two callee-saved registers.
extern "C" void hpmoe_host_start() __asm__("hpmoe_host_start");

#if defined(__x86_64__)
__asm__(R"(
    .pushsection .text
    .globl hpmoe_host_switch
hpmoe_host_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .globl hpmoe_host_start
hpmoe_host_start:
    movq %r13, %rdi
    callq *%r12
    ud2
    .popsection
)");

static void *firstFrame(char *top, Fiber::Body body, void *argument) {
    // r15 r14 r13 r12 rbx rbp, the return address, and two words that keep the call 16-byte aligned.
    uint64_t *sp = reinterpret_cast<uint64_t *>(top) - 9;
    sp[0] = sp[1] = sp[4] = sp[5] = sp[7] = sp[8] = 0;
    sp[2] = reinterpret_cast<uint64_t>(argument);
    sp[3] = reinterpret_cast<uint64_t>(body);
    sp[6] = reinterpret_cast<uint64_t>(&hpmoe_host_start);
    return sp;
}
#else
__asm__(R"(
    .pushsection .text
    .globl hpmoe_host_switch
    .p2align 2
hpmoe_host_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .globl hpmoe_host_start
    .p2align 2
hpmoe_host_start:
    mov x0, x20
    blr x19
    brk #1
    .popsection
)");

static void *firstFrame(char *top, Fiber::Body body, void *argument) {
    uint64_t *sp = reinterpret_cast<uint64_t *>(top) - 20;
    for (int i = 0; i < 20; ++i) sp[i] = 0;
    sp[0] = reinterpret_cast<uint64_t>(body);
    sp[1] = reinterpret_cast<uint64_t>(argument);
    sp[11] = reinterpret_cast<uint64_t>(&hpmoe_host_start);
    return sp;
}
#endif

static void releaseContext(void *) {}
static void *makeContext(void *, char *, char *top, Fiber::Body body, void *argument) {
    return firstFrame(top, body, argument);
}
static void switchTo(void **save, void *load) { hpmoe_host_switch(save, load); }

#else

// One context per direction, made on first use and freed with the fiber.
static void start(unsigned bodyHigh, unsigned bodyLow, unsigned argHigh, unsigned argLow) {
    auto join = [](unsigned high, unsigned low) { return (static_cast<uint64_t>(high) << 32) | low; };
    auto body = reinterpret_cast<Fiber::Body>(static_cast<uintptr_t>(join(bodyHigh, bodyLow)));
    body(reinterpret_cast<void *>(static_cast<uintptr_t>(join(argHigh, argLow))));
    std::abort();
}
static void releaseContext(void *context) { std::free(context); }
static void *makeContext(void *old, char *bottom, char *top, Fiber::Body body, void *argument) {
    auto *context = static_cast<ucontext_t *>(old ? old : std::calloc(1, sizeof(ucontext_t)));
    getcontext(context);
    context->uc_stack.ss_sp = bottom;
    context->uc_stack.ss_size = static_cast<size_t>(top - bottom);
    context->uc_link = nullptr;
    auto b = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(body));
    auto a = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(argument));
    makecontext(context, reinterpret_cast<void (*)()>(&start), 4, static_cast<unsigned>(b >> 32),
                static_cast<unsigned>(b), static_cast<unsigned>(a >> 32), static_cast<unsigned>(a));
    return context;
}
static void switchTo(void **save, void *load) {
    if (!*save) *save = std::calloc(1, sizeof(ucontext_t));
    swapcontext(static_cast<ucontext_t *>(*save), static_cast<ucontext_t *>(load));
}

#endif

Fiber::~Fiber() {
    stack_.end();
    releaseContext(inside_);
    releaseContext(outside_);
    if (map_) munmap(map_, mapBytes_);
}

void Fiber::reserve() {
    if (map_) return;
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void *map = mmap(nullptr, kStack + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) throw NoStack{errno};
    if (mprotect(map, page, PROT_NONE) != 0) {
        int error = errno;
        munmap(map, kStack + page);
        throw NoStack{error};
    }
    map_ = map, mapBytes_ = kStack + page;
}

void Fiber::prepare(Body body, void *argument) {
    char *top = static_cast<char *>(map_) + mapBytes_;
    stack_.end();
    stack_.begin(top - kStack, kStack);
    std::memset(top - kStale, kStaleByte, kStale);
    body_ = body, argument_ = argument;
    inside_ = makeContext(inside_, top - kStack, top, &Fiber::run, this);
}

void Fiber::run(void *fiber) {
    auto *self = static_cast<Fiber *>(fiber);
    self->stack_.arriveFrom(self->worker_);
    self->body_(self->argument_);
}

void Fiber::enter() {
    worker_.leaveFor(stack_);
    switchTo(&outside_, inside_);
    worker_.arriveFrom(stack_);
}
void Fiber::leave() {
    stack_.leaveFor(worker_);
    switchTo(&inside_, outside_);
    stack_.arriveFrom(worker_);
}

} // namespace AscendC::host

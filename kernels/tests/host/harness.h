// Test cases, expectations, and launches on the model of the device, for the tests of kernels/host.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernel_operator.h"
#include "launch.h"

struct Case {
    const char *name;
    void (*run)();
    Case(const char *name, void (*run)());
};

/// Records a failure of the running case unless the condition holds. The case continues.
void expectAt(bool holds, const char *file, int line, const char *what, const std::string &detail = "");

#define EXPECT(condition, ...) expectAt((condition), __FILE__, __LINE__, #condition, ##__VA_ARGS__)
#define CASE(NAME)                                                                                                     \
    static void NAME();                                                                                                \
    static Case case_##NAME(#NAME, NAME);                                                                              \
    static void NAME()

/// Global memory of one rank, aligned to 512 bytes.
template <typename T> struct Buffer {
    explicit Buffer(size_t n, T value = T())
        : count(n), data(static_cast<T *>(std::aligned_alloc(512, (n * sizeof(T) + 511) / 512 * 512))) {
        for (size_t i = 0; i < n; ++i) data[i] = value;
    }
    Buffer(const Buffer &) = delete;
    Buffer(Buffer &&other) : count(other.count), data(std::exchange(other.data, nullptr)) {}
    ~Buffer() { std::free(data); }
    T &operator[](size_t i) { return data[i]; }
    HpmoeHostRegion region(const char *name, bool writable = true, uint32_t rank = 0, bool symmetric = false) {
        return HpmoeHostRegion{
            data, count * sizeof(T), rank, symmetric ? HPMOE_HOST_SYMMETRIC : HPMOE_HOST_PRIVATE, writable ? 1u : 0u, 0,
            name};
    }
    size_t count;
    T *data;
};

struct Setup {
    uint32_t aic = 1, aiv = 2, threads = 1, rank = 0;
    uint64_t seed = 1;
    volatile int32_t *stop = nullptr;
    HpmoeHostRaces *races = nullptr;
    uint32_t alone_us = 0;
    bool unchecked = false;
    int32_t (*attend)(void *) = nullptr;
    void *attended = nullptr;
    bool bare = false; ///< the body itself begins and ends like a kernel; `launch` adds nothing
    std::vector<HpmoeHostRegion> regions;
};

/// Start of a kernel: resets the state registers and empties the scalar cache, which an earlier kernel has used.
void begin();
/// End of a kernel: resets the vector mask for the next kernel.
void end();

/// Body of the running kernel. `launch` always runs the same entry point, which calls this.
extern std::function<void()> g_body;
HpmoeHostResult launch(const Setup &setup, std::function<void()> body);

inline bool contains(const char *text, const char *part) { return std::strstr(text, part) != nullptr; }

/// Pseudo-random test data: multiples of 1/512 in [-4, 4).
struct Data {
    uint32_t state;
    float next() {
        state = state * 1664525u + 1013904223u;
        return static_cast<float>(static_cast<int32_t>(state >> 20) - 2048) / 512.0f;
    }
};

template <typename T> AscendC::GlobalTensor<T> global(T *at) {
    AscendC::GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(at);
    return tensor;
}

using Word = AscendC::GlobalTensor<int32_t>;

/// The control register.
uint64_t control();
/// Reads a word from memory, not from the cache.
int32_t look(const Word &word);
/// Polls until the word reaches `need`; false after `cycles` cycles of 20 ns. Without `dcci`, the cached copy is polled.
bool await(const Word &word, int32_t need, bool dcci = true, int64_t cycles = 500000000);
/// Adds n to one counter from a vector core.
void addFromVector(int32_t *counter, int32_t n);

// Cases, expectations, and launches on the host model, for the tests of kernels/host.
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

/// Notes a failure of the present case; it goes on.
void expectAt(bool holds, const char *file, int line, const char *what, const std::string &detail = "");

#define EXPECT(condition, ...) expectAt((condition), __FILE__, __LINE__, #condition, ##__VA_ARGS__)
#define CASE(NAME)                                                                                                     \
    static void NAME();                                                                                                \
    static Case case_##NAME(#NAME, NAME);                                                                              \
    static void NAME()

/// 64-byte aligned global memory of one rank.
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
    bool bare = false; ///< the body itself does what a kernel does first and last
    std::vector<HpmoeHostRegion> regions;
};

/// What a kernel does first: state registers and the scalar cache are as an earlier one left them.
void begin();
/// What it does last: the next one finds the mask as it expects it.
void end();

/// What the running kernel does: `launch` runs one entry point that calls this.
extern std::function<void()> g_body;
HpmoeHostResult launch(const Setup &setup, std::function<void()> body);

inline bool contains(const char *text, const char *part) { return std::strstr(text, part) != nullptr; }

/// A small generator for data.
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

/// A word as it is in memory.
/// The control register.
uint64_t control();
int32_t look(const Word &word);
/// Polls until the word reaches `need`; false after `cycles` of 20 ns.
bool await(const Word &word, int32_t need, bool dcci = true, int64_t cycles = 500000000);
/// Adds n to one counter from a vector core.
void addFromVector(int32_t *counter, int32_t n);

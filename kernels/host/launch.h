/* One rank's kernel launch on the model of the device: the C interface of kernels/host. */
#ifndef HPMOE_HOST_LAUNCH_H
#define HPMOE_HOST_LAUNCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel: `extern "C" __global__ __aicore__ void name(GM_ADDR launch)`. */
typedef void (*HpmoeHostKernel)(uint8_t *launch);

enum { HPMOE_HOST_PRIVATE = 0, HPMOE_HOST_SYMMETRIC = 1 };
enum { HPMOE_HOST_OK = 0, HPMOE_HOST_BROKEN_RULE = 1, HPMOE_HOST_STOPPED = 2 };
/* A resource of this machine that the launch could not get; the message is the system's answer. */
enum { HPMOE_HOST_NO_MEMORY = 3, HPMOE_HOST_NO_STACK = 4, HPMOE_HOST_NO_THREAD = 5 };
/* Faults that a test can ask for, at the call that asks for the resource. */
enum {
    HPMOE_HOST_FAULT_NONE = 0,
    HPMOE_HOST_FAULT_THREAD = 1, /* start of worker thread `fault_at`, counted from 1 */
    HPMOE_HOST_FAULT_CORE = 2,   /* memory of core `fault_at`, matrix cores first */
    HPMOE_HOST_FAULT_STACK = 3,  /* stack of that core */
    HPMOE_HOST_FAULT_CALL = 4,   /* memory in one of that core's calls */
    HPMOE_HOST_FAULT_WAIT = 5    /* timeout of one of the first `fault_at` waits of each core */
};
/* Assumptions about hardware that a test can break on all cores of the launch, in place of a fault. */
enum {
    HPMOE_HOST_BREAK_POLL = 16,      /* a line stays in the cache after a dcci, unless the core has stored to it */
    HPMOE_HOST_BREAK_ADDS = 17,      /* some atomic adds to the rank's own memory are lost */
    HPMOE_HOST_BREAK_PEER_ADDS = 18, /* some atomic adds to a peer's memory are lost */
    HPMOE_HOST_BREAK_ORDER = 19,     /* writes of more than a line to the rank's own memory land at any later time */
    HPMOE_HOST_BREAK_LANDED = 20,    /* PIPE_ALL does not wait until writes to peers have landed */
    HPMOE_HOST_BREAK_READY = 21,     /* some plain writes of a word to a peer are lost */
    HPMOE_HOST_BREAK_SUMS = 22,      /* a Mmad rounds its sums to bf16 */
    HPMOE_HOST_BREAK_STUCK = 23,     /* the system counter does not advance */
    HPMOE_HOST_BREAK_RELU = 24,      /* relu of a Fixpipe multiplies negative sums with 0 */
    HPMOE_HOST_BREAK_ROWS = 25,      /* Fixpipe clears the unit flags only of blocks with rows that it stores */
    HPMOE_HOST_BREAK_FLAGS = 26 /* the scalar unit of a matrix core waits for no MTE3 flag except 0, the library's */
};
enum { HPMOE_HOST_AIC = 0, HPMOE_HOST_AIV = 1 };

/* A region of global memory. Every access lies inside one region. A rank may read its own regions and write its own
   writable ones. It may access another rank's regions only by copies that write, and only if they are symmetric and
   writable. */
typedef struct HpmoeHostRegion {
    void *base; /* a multiple of 64 */
    uint64_t bytes;
    uint32_t rank;            /* the owner */
    uint32_t kind;            /* HPMOE_HOST_PRIVATE or HPMOE_HOST_SYMMETRIC */
    uint32_t writable;        /* 0 or 1 */
    uint32_t self_validating; /* 1: each word's value shows that it has arrived, so accesses need no order; else 0 */
    const char *name;         /* for messages; may be null */
} HpmoeHostRegion;

/* The search for races in global memory among ranks that run together in one process, launch after launch. */
typedef struct HpmoeHostRaces HpmoeHostRaces;

/* The kinds of write to another rank's memory: bytes are replaced, or words are added to. */
enum { HPMOE_HOST_PUT = 0, HPMOE_HOST_ADD_I32 = 1, HPMOE_HOST_ADD_F32 = 2 };
/* The results of a write: written; left to the caller, because the memory is mapped here; failed, because the memory is
   gone. */
enum { HPMOE_HOST_WRITTEN = 0, HPMOE_HOST_MAPPED = 1, HPMOE_HOST_GONE = 2 };

/* The writer of other ranks' memory, which also adds to words of this rank that other ranks add to. */
typedef struct HpmoeHostPeers {
    void *context;
    /* Writes at most 512 bytes to a region of that rank. Worker threads call it concurrently. */
    int32_t (*write)(void *context, uint32_t rank, void *to, const void *from, uint32_t bytes, uint32_t how);
} HpmoeHostPeers;

typedef struct HpmoeHostOptions {
    uint32_t rank;     /* number of this rank */
    uint32_t aic;      /* matrix cores; 24 on the device */
    uint32_t aiv;      /* vector cores; a multiple of aic and at most twice aic, or any number if aic is 0 */
    uint32_t threads;  /* worker threads of this launch, including the calling one; 0 means 1 */
    uint32_t alone_us; /* microseconds until the other threads join the calling one; 0: they start with it */
    uint64_t seed;     /* seed for every order that flags leave open */
    const HpmoeHostRegion *regions; /* regions of all ranks that this rank may access */
    uint64_t region_count;
    volatile int32_t *stop; /* shared by all ranks; may be null. The first error sets it, which ends all launches */
    HpmoeHostRaces *races;  /* search that the ranks share; null: races are not reported and only show in results */
    const HpmoeHostPeers *peers; /* null: the memory of all ranks is mapped into this process */
    uint32_t fault;              /* HPMOE_HOST_FAULT_NONE, or the fault or broken assumption that a test asks for */
    uint32_t fault_at;
    uint32_t unchecked; /* 1: no search for races, and calls run in the order in which they were issued; else 0 */
    uint32_t reserved;
    int32_t (*attend)(
        void *context); /* may be null: called periodically by the calling thread; nonzero ends all launches */
    void *attended;     /* its context */
} HpmoeHostOptions;

typedef struct HpmoeHostResult {
    int32_t code;        /* HPMOE_HOST_OK; _BROKEN_RULE or _NO_... (of this rank); _STOPPED (because of another rank) */
    uint32_t core_kind;  /* kind of the core that broke a rule: HPMOE_HOST_AIC or HPMOE_HOST_AIV */
    uint32_t core_index; /* number of that core: AIC 0..aic-1, AIV 0..aiv-1 */
    uint32_t reserved;
    char message[1024]; /* empty if code is HPMOE_HOST_OK */
    uint64_t calls;     /* calls of all kinds on all cores */
    uint64_t dma_bytes; /* bytes moved between global and on-chip memory */
    uint64_t dmas;
    uint64_t mmads;
    uint64_t mmad_flops; /* 2*m*n*k per Mmad */
    uint64_t vector_calls;
    uint64_t flag_waits;
    uint64_t switches; /* turns of cores */
    uint64_t threads;  /* threads started for this launch; they are kept for later launches */
} HpmoeHostResult;

/* Starts a search among `ranks` ranks with `cores` cores each, matrix and vector cores together; null if there is no
   memory. */
HpmoeHostRaces *hpmoe_host_races_new(uint32_t ranks, uint32_t cores);
/* Ends a search. All launches that use it must have returned. */
void hpmoe_host_races_free(HpmoeHostRaces *races);

/* The floating-point state of a thread: rounding, subnormal numbers, signals. */
typedef struct HpmoeHostArithmetic {
    uint64_t state[8];
} HpmoeHostArithmetic;

/* Makes the calling thread round to nearest and keep subnormal numbers, as the device does, and stores the thread's earlier
   state in `before`. hpmoe_host_run does this itself on each of its threads. */
void hpmoe_host_arithmetic_begin(HpmoeHostArithmetic *before);
/* Restores the state in `before` on the calling thread. */
void hpmoe_host_arithmetic_end(const HpmoeHostArithmetic *before);

/* Runs `entry(launch)` on every core of one rank, and returns result->code when all cores have left. Several ranks call it
   at the same time, each from its own thread. It throws no exception. */
int32_t hpmoe_host_run(HpmoeHostKernel entry, void *launch, const HpmoeHostOptions *options, HpmoeHostResult *result);

#ifdef __cplusplus
}
#endif
#endif

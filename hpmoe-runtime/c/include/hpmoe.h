/* The C interface of a library of hpmoe kernels: a Rust crate of type "cdylib" with `hpmoe_c::export!();`.
 *
 * A function that can fail returns a status; `hpmoe_last_error` then says what went wrong and what to do. Strings are
 * UTF-8. All functions can be called from any thread. A group belongs to the library that made it. */
#ifndef HPMOE_H
#define HPMOE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Callers compare it with `hpmoe_c_abi()` before any other call. */
#define HPMOE_C_ABI 6

/* The result of a call: `HPMOE_OK`, or the kind of error. */
typedef enum HpmoeStatus {
    HPMOE_OK = 0,
    HPMOE_INVALID = 1, /* an argument is invalid: nothing was started, and all objects remain usable */
    HPMOE_FAILED = 2,  /* a launch failed after it had started: its group can only be freed */
    HPMOE_PANICKED = 3 /* a bug in hpmoe: the group of the call can only be freed */
} HpmoeStatus;

/* The element type of a tensor. */
typedef enum HpmoeElement {
    HPMOE_BF16 = 1,
    HPMOE_F32 = 2,
    HPMOE_I32 = 3,
    HPMOE_I8 = 4,
    HPMOE_I64 = 5,  /* for ids only */
    HPMOE_I4X2 = 6, /* two 4-bit numbers per byte, the first in its lower half; columns count bytes */
    HPMOE_F16 = 7
} HpmoeElement;

/* The device that a group runs kernels on, and the device whose memory a tensor lies in. */
typedef enum HpmoeDevice {
    HPMOE_CPU = 0, /* the model of the device on this machine: the same results, but not its speed; host memory */
    HPMOE_NPU = 1  /* Ascend NPUs, for libraries built with HPMOE_DEVICE=cann; the memory of the rank's NPU */
} HpmoeDevice;

/* Whether launches on the CPU are checked: for races in on-chip memory, for stale lines of the scalar cache, and (by
 * varying the order of unordered work) for results that depend on that order. Without checks, the same code computes
 * the same bits in less time. Accesses beyond a buffer are errors in both cases. */
typedef enum HpmoeChecks {
    HPMOE_CHECKS_BY_ENVIRONMENT = 0, /* the value of HPMOE_CHECKS, `on` or `off`; on if it is not set */
    HPMOE_CHECKS_ON = 1,
    HPMOE_CHECKS_OFF = 2
} HpmoeChecks;

/* A handle to a group: the ranks that run kernels together, with their memory. 0 is no group. */
typedef uint64_t HpmoeGroup;

/* A handle to a launch that was put on streams and has not been waited for. 0 is no launch. */
typedef uint64_t HpmoePending;

/* A handle to a fixed launch, whose argument block is made once, and which can be launched many times. 0 is none. */
typedef uint64_t HpmoeFixed;

/* A handle to a listener: a port at which rank 0 listens before its group exists. 0 is no listener. */
typedef uint64_t HpmoeListener;

/* Settings of a group. A field that is zero means the default. */
typedef struct HpmoeOptions {
    uint64_t seed; /* for the order of work that a kernel leaves unordered, on the CPU; results don't depend on it */
    uint64_t time_limit_ms; /* longest time that a core may wait; 0: 60 seconds */
    /* Received rows of each chunk that a rank has room for. 0: the maximum over all routings; if launches choose the
     * number of chunks, 1.5 times the rows of an even load, but at least 4096 (or that maximum, if it is lower). */
    uint64_t capacity_rows;
    uint32_t threads; /* threads of each rank on the CPU; 0: the machine's threads, divided among the ranks */
    HpmoeDevice device;
    /* The NPU of this process's first rank, counted from 1; further ranks use the following NPUs. 0: the first NPU that
     * this process can see; for a rank that is a process, the NPU with its number on the machine. */
    uint32_t npu;
    /* Null, or a number that lives as long as the process. When it becomes nonzero, waits of the group end within a
     * second, and its launches fail. A signal handler may set it. */
    const uint32_t *cancel;
    HpmoeChecks checks;
    /* Null, or a callback for interpreters, which run signal handlers in it. While the main thread of the process waits
     * for a launch on the CPU by ranks that are threads, it calls this about 20 times a second. The callback may set
     * `*cancel`, and must not call functions of this header. */
    void (*attend)(void);
} HpmoeOptions;

/* Who may join a group of processes, and the time limit. A field that is zero is taken from the environment. */
typedef struct HpmoeJoining {
    /* Name of the job; only ranks of this job may join. Null: HPMOE_JOB, or the launcher's name for the job. */
    const char *job;
    /* The secret of the job, 16 to 4096 bytes; ranks prove to each other that they know it. Null: the content of the
     * file that HPMOE_SECRET_FILE names. */
    const void *secret;
    uint64_t secret_bytes;
    uint64_t time_limit_ms; /* 0: HPMOE_JOIN_TIME_LIMIT (seconds), or 60 seconds */
    /* 1: rank 0 may listen to other machines without a secret, so anyone who can reach its port can become a rank.
     * 0: only if HPMOE_LET_ANYONE_JOIN is 1. */
    uint32_t let_anyone_join;
} HpmoeJoining;

/* One rank's part of a tensor: rows of `columns` elements, one after another without gaps. */
typedef struct HpmoeTensor {
    void *data;    /* may be null if there are no rows */
    uint64_t rows; /* for a tensor with rows for each expert: the rows of all the rank's experts */
    uint32_t columns;
    HpmoeElement element;
    HpmoeDevice device; /* the memory that holds the part; HPMOE_NPU: the rank's NPU, for groups on NPUs only */
} HpmoeTensor;

/* The memory that a launch needs on each rank. */
typedef struct HpmoeMemory {
    uint64_t workspace_bytes; /* private memory; the group allocates it at the first launch and keeps it */
    uint64_t heap_bytes;      /* memory that peers write; also allocated at the first launch and kept */
    uint64_t received_rows;   /* maximum rows of an argument with one row per received row */
    uint64_t once_rows;       /* maximum rows of an argument with one row per once-sent row */
} HpmoeMemory;

/* A placement of experts. Each rank has the same number of places (physical experts). A place holds the weights of one
 * logical expert, which is what ids name, or is empty. Every logical expert has at least one place, and no rank holds
 * the same logical expert twice. */
typedef struct HpmoePlacement {
    uint64_t experts; /* number of logical experts */
    uint64_t places;  /* number of places on each rank */
    /* The logical expert of each place, rank after rank; -1: the place is empty. */
    const int32_t *physical_to_logical;
    /* For each place, its share of its logical expert's rows, relative to the sum over all places of that expert. Null:
     * equal shares. */
    const uint32_t *shares;
} HpmoePlacement;

/* The version of the interface that the library was built with. */
uint32_t hpmoe_c_abi(void);

/* The contents of the library as JSON. The string lives as long as the library.
 *
 * {"abi": 6, "version": "0.1.0", "kernels": [{"name": "moe_ffn", "file": "src/layer.rs", "constants": {"HIDDEN": 128, ...},
 *     "taskflows": [
 *     {"name": "moe_ffn::forward", "fingerprint": "0123456789abcdef", "ranks": [1, 2, 4], "experts": 16, "spare": 0,
 *      "top_k": 4, "tokens": 384, "chunks": 1, "chunks_at_most": null, "npu": false, "route": "host", "capturable": false,
 *      "fixed": ["addresses", "tokens", "route"],
 *      "arguments": [
 *         {"name": "x", "element": "bf16", "columns": 128, "rows": "token", "height": null, "writable": false,
 *          "peers_write": false}, ...]}]}]}
 *
 * - "file" is the path of the kernel's source, as in the build script.
 * - "chunks" is the number of chunks of each rank's tokens; 1 if launches choose it, of up to "chunks_at_most", which is
 *   null if the number is a constant.
 * - "npu" says whether the taskflow was built for NPUs.
 * - "route" says who makes the route: the "host" from the ids of a launch, or the "kernel" itself. Launches of such a
 *   kernel pass no ids.
 * - "fixed" lists what all launches of a fixed launch (`hpmoe_fix`) share: the addresses of all tensors, each rank's
 *   number of tokens, and the route if the host makes it.
 * - "capturable" is true if the route is not among these, so that each launch of a captured graph routes its own tokens.
 * - "rows" is the kind of an argument's rows: "token" (one per token of the rank), "slot" (one per token and k, so
 *   `top_k` times as many), "received" (one per received token and k), "once" (one per token that is received once),
 *   "expert" ("height" rows per expert of the rank), "rank" ("height" rows per rank), or "routed" (the words of a kept
 *   route). The number of these words is 16 + ranks * chunks * E + 2 * S: chunks is the maximum number of chunks, E the
 *   number of experts rounded up to a multiple of 128, and S the rank's number of slots rounded up to a multiple of 8. */
const char *hpmoe_describe(void);

/* Writes to `memory` what a launch of a taskflow ("kernel::taskflow") on `ranks` ranks needs on each of them, for the
 * group option `capacity_rows` (0: its default). */
HpmoeStatus hpmoe_memory(const char *taskflow, uint64_t ranks, uint64_t capacity_rows, HpmoeMemory *memory);

/* The memory of a launch on one rank, tensor by tensor, as JSON. `table` is valid until this thread's next call of this
 * function. `tokens` is the number of tokens of the rank, at most the number that the taskflow was built for.
 *
 * {"capacity_rows": 64, "heap_bytes": 16384, "workspace_bytes": 8192, "kept_bytes": 0, "lines": [
 *     {"name": "recv", "place": "symmetric heap", "purpose": "rows from peers", "formula": "rows", "rows": 64,
 *      "row_bytes": 256, "bytes": 16384}, ...]}
 *
 * "place" is "symmetric heap", "workspace" or "caller". Letters of "formula": T tokens, k experts per token, R ranks,
 * E experts, S physical experts per rank, rows: received rows (of each chunk) that a rank has room for. "kept_bytes" is
 * the size of the caller's tensors that one launch keeps for another, in bytes. */
HpmoeStatus hpmoe_memory_table(const char *taskflow, uint64_t ranks, uint64_t capacity_rows, uint64_t tokens,
                               const char **table);

/* Makes a group of `ranks` ranks, which are threads of this process. `options` may be null. */
HpmoeStatus hpmoe_group_new(uint64_t ranks, const HpmoeOptions *options, HpmoeGroup *group);

/* Makes this process rank `rank` of a group of `ranks` processes on one Linux machine. Returns once all `ranks` processes
 * have made this call.
 *
 * Rank 0 listens at `address`, such as "127.0.0.1:28471". With "file:" and a path, rank 0 picks a free port, writes its
 * address to that file for the other ranks, and removes the file when all ranks have joined.
 *
 * From then on, all processes make the same launches in the same order, each with its own rank's parts only. Tensors that
 * peers write are copied. An invalid launch on one rank is an error on all ranks, and so is the death of a process.
 * `joining` and `options` may be null. */
HpmoeStatus hpmoe_group_join(uint64_t rank, uint64_t ranks, const char *address, const HpmoeJoining *joining,
                             const HpmoeOptions *options, HpmoeGroup *group);

/* Starts listening as rank 0, at an address such as "127.0.0.1:0"; port 0 picks a free port. `port` receives the port's
 * number, which the caller passes to the other ranks. The port stays taken until `hpmoe_group_host` or
 * `hpmoe_listener_free`. `joining` may be null. */
HpmoeStatus hpmoe_listen(const char *address, const HpmoeJoining *joining, HpmoeListener *listener, uint16_t *port);

/* Makes this process rank 0 of a group, like `hpmoe_group_join`, but listens by a listener of `hpmoe_listen`, and frees
 * the listener, even if joining fails. `joining` and `options` may be null. */
HpmoeStatus hpmoe_group_host(HpmoeListener listener, uint64_t ranks, const HpmoeJoining *joining,
                             const HpmoeOptions *options, HpmoeGroup *group);

/* Frees a listener that was not passed to `hpmoe_group_host`. */
HpmoeStatus hpmoe_listener_free(HpmoeListener listener);

/* Makes another handle to a group; launches through this handle use a placement of experts. The placement is copied.
 * The taskflows must be built with the same number of places (`SPARE`). Launches through either handle run one after
 * another. If ranks are processes, all pass the same placement. `hpmoe_group_free` of `placed` frees only this handle. */
HpmoeStatus hpmoe_group_placed(HpmoeGroup group, const HpmoePlacement *placement, HpmoeGroup *placed);

/* Places `experts` experts on `ranks` ranks with `places` places each, so that the ranks' loads are balanced. `loads` has
 * the load of each expert, for instance its rows in the last launches. The call writes `ranks * places` numbers to
 * `physical_to_logical`, as in HpmoePlacement. `current` is null, or such a list for the placement in force; at most
 * `moves` of its places then get another expert. */
HpmoeStatus hpmoe_place(uint64_t ranks, uint64_t experts, uint64_t places, const uint64_t *loads,
                        const int32_t *current, uint64_t moves, int32_t *physical_to_logical);

/* Frees a group. A running launch keeps the group's memory until it ends. */
HpmoeStatus hpmoe_group_free(HpmoeGroup group);

/* Runs a taskflow ("kernel::taskflow") on all ranks of a group and waits for it. Launches of one group run one after
 * another.
 *
 * `ranks` is the number of ranks in this process: all ranks of the group, or one if ranks are processes.
 *
 * `ids` has one part per rank in this process: a row of `top_k` expert ids (I32 or I64) for each token, in host memory.
 * `ids` is null for a taskflow that makes its route itself.
 *
 * `tensors` has `arguments * ranks` parts: the first argument's part for each rank, then the second argument's, in the
 * order of `hpmoe_describe`.
 *
 * `streams` is null, or an array with one CANN stream (`aclrtStream`) per rank of this process, on the rank's NPU. The
 * launch runs after work already enqueued on these streams and before work enqueued later.
 *
 * Tensors in NPU memory are neither copied nor read by the host. Each rank's part must start at a multiple of 64 bytes.
 *
 * Tensors are used in place until the function returns. The caller owns them and guarantees that they are as large as
 * stated and initialised, that no other thread writes them, and that no other thread reads the writable ones. A part that
 * the launch writes must not overlap any other part.
 *
 * Two kinds of parts in host memory are copied, and the report lists them: parts that don't start at a multiple of 64
 * bytes, and read-only parts that share memory with other parts (unless both are the same bytes of one rank).
 *
 * A part of received or once-sent rows may have more rows than the launch needs; the launch uses the first rows. */
HpmoeStatus hpmoe_launch(HpmoeGroup group, const char *taskflow, const HpmoeTensor *ids, uint64_t ranks,
                         const HpmoeTensor *tensors, uint64_t arguments, void *const *streams);

/* Puts a launch with the arguments of `hpmoe_launch` on streams of NPUs and returns before it has ended. `pending` is its
 * handle, for `hpmoe_wait`. Several launches can be pending; they run in the order of these calls.
 *
 * Tensors in NPU memory may be freed or reused by later work on `streams`. Tensors in host memory must stay until the
 * launch has been waited for; `hpmoe_wait` also writes the results there. On a CPU group, this call runs the launch to
 * its end. */
HpmoeStatus hpmoe_enqueue(HpmoeGroup group, const char *taskflow, const HpmoeTensor *ids, uint64_t ranks,
                          const HpmoeTensor *tensors, uint64_t arguments, void *const *streams, HpmoePending *pending);

/* Fixes a launch: makes its argument block, which is everything that a kernel reads from the host, and launches
 * nothing. `hpmoe_replay` makes the launch any number of times, each time with the current contents of the same
 * tensors. If the host makes the route (`ids`), all launches use that route.
 *
 * Tensors are never copied: all must start at multiples of 64 bytes, and those of a group on NPUs must lie in NPU
 * memory. They must stay in place until the last launch has ended. If ranks are processes, all of them call this. */
HpmoeStatus hpmoe_fix(HpmoeGroup group, const char *taskflow, const HpmoeTensor *ids, uint64_t ranks,
                      const HpmoeTensor *tensors, uint64_t arguments, HpmoeFixed *fixed);

/* Launches a fixed launch once more, on `streams` as for `hpmoe_enqueue`. On NPUs, the call only enqueues kernels: it
 * copies nothing and waits for nothing. A CPU group runs the launch to its end. `tensors` must be those of `hpmoe_fix`:
 * another address or number of rows is an error. `hpmoe_wait` waits for all launches since the last wait; the report
 * describes the last of them, and is empty if there was none. If ranks are processes, all of them replay the same
 * number of times. */
HpmoeStatus hpmoe_replay(HpmoeFixed fixed, uint64_t ranks, const HpmoeTensor *tensors, uint64_t arguments,
                         void *const *streams);

/* Like `hpmoe_replay`, for `streams` that are being captured in graphs: the call only enqueues the kernel on each stream.
 * It fails for a group on the CPU.
 * Launches of a graph are ordered by the graph's streams only, so the owner of the graph must not run other launches on
 * these NPUs at the same time. The fixed launch must live as long as the graph. */
HpmoeStatus hpmoe_capture(HpmoeFixed fixed, uint64_t ranks, const HpmoeTensor *tensors, uint64_t arguments,
                          void *const *streams);

/* Tells the library that graphs have launched a fixed launch `launches` times, which the library can't observe. The
 * caller must have waited for the graphs' streams. `hpmoe_wait` then reports the results of these launches. The call fails
 * for a group on the CPU. */
HpmoeStatus hpmoe_replayed(HpmoeFixed fixed, uint32_t launches);

/* Changes the placement of a fixed launch for its later launches. The taskflow must make its route itself, and the launch
 * must have been fixed on a group with a placement. Only the placement is copied, so captured graphs use it, too. All
 * earlier launches, including those by graphs, must have been waited for. If ranks are processes, all of them call this
 * with the same placement. */
HpmoeStatus hpmoe_fixed_place(HpmoeFixed fixed, const HpmoePlacement *placement);

/* Waits for the launches of a fixed launch, and frees it. Freeing its group does the same. */
HpmoeStatus hpmoe_fixed_free(HpmoeFixed fixed);

/* Waits for a pending launch, or for all launches of a fixed launch. Its report becomes this thread's last report. If
 * ranks are processes, all of them wait for their launches in the same order. Freeing a group waits for its pending
 * launches, which then have no report. */
HpmoeStatus hpmoe_wait(HpmoePending pending);

/* Runs the reference of a taskflow, task after task, on copies of tensors in host memory, and writes the results back.
 * The results have the bits of a launch on the CPU. The ranks of the group must be threads of this process, and the
 * kernel's module must be in the library's own crate. */
HpmoeStatus hpmoe_reference(HpmoeGroup group, const char *taskflow, const HpmoeTensor *ids, uint64_t ranks,
                            const HpmoeTensor *tensors, uint64_t arguments);

/* Replaces a launch that this process can't make. If ranks are processes, the other ranks' launch fails with this message
 * instead of waiting for this rank. Returns `HPMOE_INVALID`. */
HpmoeStatus hpmoe_refuse(HpmoeGroup group, const char *message);

/* The message of this thread's last failed call; empty if the last call succeeded. Valid until this thread's next call
 * that returns a status. */
const char *hpmoe_last_error(void);

/* The report of the last launch that this thread has waited for, as JSON; empty if that launch failed. Valid until this
 * thread's next call that makes, fixes, refuses or waits for a launch, or runs a reference. Keys: "kernel", "ranks",
 * "launches", "tasks", "empty_tasks", "waits", "aic_cores_used", "aiv_cores_used", "counters", "workspace_bytes",
 * "capacity_rows", "chunks" (number of chunks of each rank's tokens), "began_unix_ns" (start time in ns since 1970; on
 * NPUs, the time when it was put on the stream), "wall_us", "on_npus", "checks" (whether a launch on the CPU was
 * checked), "externals" (the external operators, as {"operators": [{"task", "file", "ran"}, ...], "tolerances":
 * {tensor: tolerance, ...}}), "received_rows" (of each rank of this process; empty if the kernel makes its route),
 * "copied" (a list of {"tensor", "rank", "bytes", "reason"}), "strangers" (number of connections to rank 0 that were
 * not from ranks of the job, while the ranks joined), "trace" (the times at which each core ran its tiles, as an object
 * of the Trace Event Format, in µs from the first core's start; null if the kernel records no time stamps), and "text"
 * (the same facts in words). */
const char *hpmoe_last_report(void);

#ifdef __cplusplus
}
#endif

#endif

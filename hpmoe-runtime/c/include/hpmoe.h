/* The C interface of a library of hpmoe kernels: a Rust crate of type "cdylib" with `hpmoe_c::export!();`.
 *
 * A function that can fail returns a status; `hpmoe_last_error` says what went wrong and what to do. Strings are UTF-8.
 * All functions can be called from any thread. A library's groups belong to that library. */
#ifndef HPMOE_H
#define HPMOE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A caller compares it with `hpmoe_c_abi()` before anything else. */
#define HPMOE_C_ABI 6

/* What a function returns: `HPMOE_OK`, or why not. */
typedef enum HpmoeStatus {
    HPMOE_OK = 0,
    HPMOE_INVALID = 1, /* an argument does not fit: nothing was started, and everything can be used as before */
    HPMOE_FAILED = 2,  /* a launch went wrong after it had started: its group can only be freed */
    HPMOE_PANICKED = 3 /* a fault of hpmoe: the group of the call can only be freed */
} HpmoeStatus;

/* The element type of a tensor. */
typedef enum HpmoeElement {
    HPMOE_BF16 = 1,
    HPMOE_F32 = 2,
    HPMOE_I32 = 3,
    HPMOE_I8 = 4,
    HPMOE_I64 = 5,  /* of ids only */
    HPMOE_I4X2 = 6, /* two numbers of 4 bits in a byte, the first in its lower half; columns are bytes */
    HPMOE_F16 = 7
} HpmoeElement;

/* Where a group runs kernels, and whose memory a tensor lies in. */
typedef enum HpmoeDevice {
    HPMOE_CPU = 0, /* on the model of the device: the same results, but not its speed; this machine's memory */
    HPMOE_NPU = 1  /* on Ascend NPUs; needs a build with HPMOE_DEVICE=cann; the memory of the rank's NPU */
} HpmoeDevice;

/* Whether launches on the CPU are checked: on-chip memory for races, the scalar cache for lines that are out of date, and everything that a kernel
 * leaves open for what depends on it. Without checks, the same code computes the same bits in less time; accesses beyond a buffer are errors in
 * both. */
typedef enum HpmoeChecks {
    HPMOE_CHECKS_BY_ENVIRONMENT = 0, /* as HPMOE_CHECKS says, `on` or `off`; on if it is not set */
    HPMOE_CHECKS_ON = 1,
    HPMOE_CHECKS_OFF = 2
} HpmoeChecks;

/* The ranks that run kernels together, with their memory. No group is 0. */
typedef uint64_t HpmoeGroup;

/* A launch that has been put on streams and has not been waited for. None is 0. */
typedef uint64_t HpmoePending;

/* A launch whose argument block stays where it is, to be launched again and again. None is 0. */
typedef uint64_t HpmoeFixed;

/* A port at which rank 0 listens before its group exists. None is 0. */
typedef uint64_t HpmoeListener;

/* Settings of a group. With all fields zero, everything is the default. */
typedef struct HpmoeOptions {
    uint64_t seed; /* for the order of everything that a kernel leaves open on the CPU; results don't depend on it */
    uint64_t time_limit_ms; /* the longest that a core may wait; 0: 60 seconds */
    uint64_t capacity_rows; /* room for received rows on each rank, of each chunk; 0: as many as any routing can need */
    uint32_t threads;       /* threads of each rank on the CPU; 0: the ranks share the machine's */
    HpmoeDevice device;
    uint32_t
        npu; /* the NPU of this process's first rank, counted from 1, and the next ones for the others; 0: the first NPU that
                   * this process sees, or for a rank that is a process the one of its number on the machine */
    /* Null, or a number that lives as long as the process: once it is not 0, waits of the group end within a second, and its launches fail.
     * A handler of signals may set it. */
    const uint32_t *cancel;
    HpmoeChecks checks;
    /* Null, or called about 20 times a second while a launch on the CPU by ranks that are threads keeps the main thread of the process waiting, by
     * that thread, in which interpreters run handlers of signals. It may set `*cancel`, and calls no function of this header. */
    void (*attend)(void);
} HpmoeOptions;

/* Who may join a group of processes, and how long that may take. With all fields zero, the environment decides. */
typedef struct HpmoeJoining {
    /* Name of the job, whose ranks alone may join; null: HPMOE_JOB, or what the launcher calls the job. */
    const char *job;
    /* What only ranks of the job know, and prove to know, 16 to 4096 bytes; null: what is in the file that HPMOE_SECRET_FILE names. */
    const void *secret;
    uint64_t secret_bytes;
    uint64_t time_limit_ms; /* 0: HPMOE_JOIN_TIME_LIMIT (seconds), or 60 seconds */
    /* 1: rank 0 listens to other machines without a secret, and whoever reaches its port can become a rank. */
    uint32_t let_anyone_join;
} HpmoeJoining;

/* The part of one rank of a tensor: rows of `columns` elements, one after another without gaps. */
typedef struct HpmoeTensor {
    void *data;    /* may be null if there are no rows */
    uint64_t rows; /* of a tensor with rows for each expert: those of all experts of the rank */
    uint32_t columns;
    HpmoeElement element;
    HpmoeDevice device; /* whose memory it lies in; that of an NPU only for groups on NPUs, on the NPU of the rank */
} HpmoeTensor;

/* The memory that a launch needs on each rank. */
typedef struct HpmoeMemory {
    uint64_t workspace_bytes; /* allocated by the group at the first launch, and kept */
    uint64_t heap_bytes;      /* the same for memory that peers write */
    uint64_t received_rows;   /* most rows of an argument with a row for each received row */
    uint64_t once_rows;       /* most rows of an argument with a row for each once-sent row */
} HpmoeMemory;

/* Where experts lie. Each rank has the same number of physical experts, places that hold the weights of one logical expert, as ids name it, or none. Every logical
 * expert has a physical one, and no rank has two of one. */
typedef struct HpmoePlacement {
    uint64_t experts; /* logical experts */
    uint64_t places;  /* physical experts of each rank */
    const int32_t
        *physical_to_logical; /* by physical expert, rank after rank: its logical expert; -1: the place is empty */
    const uint32_t *
        shares; /* by physical expert: how much of its logical expert's rows it takes, in parts of the sum over all with that one;
                             * null: equal parts */
} HpmoePlacement;

/* The version of the interface that the library was built with. */
uint32_t hpmoe_c_abi(void);

/* What is in the library, as JSON, which lives as long as the library:
 *
 * {"abi": 6, "version": "0.1.0", "kernels": [{"name": "moe_ffn", "file": "src/layer.rs", "constants": {"HIDDEN": 128, ...},
 *     "taskflows": [
 *     {"name": "moe_ffn::forward", "fingerprint": "0123456789abcdef", "ranks": [1, 2, 4], "experts": 16, "spare": 0,
 *      "top_k": 4, "tokens": 384, "chunks": 1, "npu": false, "route": "host", "capturable": false, "fixed": ["addresses", "tokens", "route"],
 *      "arguments": [
 *         {"name": "x", "element": "bf16", "columns": 128, "rows": "token", "height": null, "writable": false,
 *          "peers_write": false}, ...]}]}]}
 *
 * "file" is the kernel's source as the build script names it. "rows" says what the rows of an argument stand for: "token" (one for each token of the rank), "slot" (one for each
 * token and k, `top_k` times as many), "received" (one for each token and k received), "once" (one for each token
 * received once), "expert" ("height" for each expert of the rank), "rank" ("height" of each rank), or "routed" (words of a kept route: a line
 * of 16; for each rank `experts` rounded up to 128; and twice the slots of the rank, rounded up to 8). "npu" says whether it was built for
 * NPUs, "route" who makes the route: the "host", of the ids of a launch, or the "kernel" itself, whose launches have no ids. "fixed" says what
 * all launches of a fixed one (`hpmoe_fix`) have in common: the addresses of all tensors, the number of tokens of each rank, and, where the host
 * makes it, the route. "capturable" is true where the route is not among these, so that a graph that was captured routes the tokens of each launch. */
const char *hpmoe_describe(void);

/* The memory that a launch of a taskflow ("kernel::taskflow") on `ranks` ranks needs. `capacity_rows` is that of the
 * group's options. */
HpmoeStatus hpmoe_memory(const char *taskflow, uint64_t ranks, uint64_t capacity_rows, HpmoeMemory *memory);

/* The same, tensor by tensor, as JSON: `table` points to it until the next call of this thread that asks for one. `tokens` are those of the
 * rank, at most those that the taskflow was built for.
 *
 * {"capacity_rows": 64, "heap_bytes": 16384, "workspace_bytes": 8192, "kept_bytes": 0, "lines": [
 *     {"name": "recv", "place": "symmetric heap", "purpose": "rows from peers", "formula": "rows", "rows": 64,
 *      "row_bytes": 256, "bytes": 16384}, ...]}
 *
 * "place" is "symmetric heap", "workspace" or "caller". Letters of "formula": T tokens, k experts of a token, R ranks, E experts, S physical
 * experts of a rank, rows those that a rank has room to receive (of each chunk). "kept_bytes" are those of the caller's tensors that one launch keeps
 * for another. */
HpmoeStatus hpmoe_memory_table(const char *taskflow, uint64_t ranks, uint64_t capacity_rows, uint64_t tokens,
                               const char **table);

/* Makes a group of `ranks` ranks, which are threads of this process. `options` may be null. */
HpmoeStatus hpmoe_group_new(uint64_t ranks, const HpmoeOptions *options, HpmoeGroup *group);

/* Makes this process one rank of a group whose ranks are `ranks` processes of one Linux machine, and returns once all of them have
 * called it. Rank 0 listens at `address`, such as "127.0.0.1:28471"; with "file:" and the name of a file, at a free port of this machine, which
 * it writes there for the others and removes again. From then on, all processes make the same launches in the
 * same order, each with the parts of its own rank alone; those tensors that peers write are copied. What a launch can't do on one
 * rank is an error on all, and so is the death of a process. `joining` and `options` may be null. */
HpmoeStatus hpmoe_group_join(uint64_t rank, uint64_t ranks, const char *address, const HpmoeJoining *joining,
                             const HpmoeOptions *options, HpmoeGroup *group);

/* Begins to listen as rank 0, at an address such as "127.0.0.1:0": with port 0, at any that is free. `port` is its number, which the caller
 * tells the other ranks; the port stays taken until `hpmoe_group_host` or `hpmoe_listener_free`. `joining` may be null. */
HpmoeStatus hpmoe_listen(const char *address, const HpmoeJoining *joining, HpmoeListener *listener, uint16_t *port);

/* Makes this process rank 0 of a group, as `hpmoe_group_join` does, with a listener, which is freed. `joining` and `options` may be null. */
HpmoeStatus hpmoe_group_host(HpmoeListener listener, uint64_t ranks, const HpmoeJoining *joining,
                             const HpmoeOptions *options, HpmoeGroup *group);

/* Frees a listener that no group has taken. */
HpmoeStatus hpmoe_listener_free(HpmoeListener listener);

/* Makes another number of a group, whose launches have experts where `placement` says; the placement is copied. Launches by either number follow each
 * other. It is for taskflows that are built with as many places (`SPARE`). If ranks are processes, all have the same placement.
 * `hpmoe_group_free` frees this number alone. */
HpmoeStatus hpmoe_group_placed(HpmoeGroup group, const HpmoePlacement *placement, HpmoeGroup *placed);

/* Places `experts` experts with these loads, such as the numbers of rows of each in the last launches, on `ranks` ranks with `places` places each, and writes
 * `ranks * places` numbers to `physical_to_logical`. `current` is null, or as many numbers of the placement in force: at most `moves` of them then change
 * to another expert. */
HpmoeStatus hpmoe_place(uint64_t ranks, uint64_t experts, uint64_t places, const uint64_t *loads,
                        const int32_t *current, uint64_t moves, int32_t *physical_to_logical);

/* Frees a group. A launch that is running keeps the memory until it ends. */
HpmoeStatus hpmoe_group_free(HpmoeGroup group);

/* Runs a taskflow ("kernel::taskflow") on all ranks of a group and waits for it. Launches of one group run one after another.
 *
 * `ranks` is the number of ranks of this process: those of the group, or one if they are processes.
 * `ids` has the parts of the router's expert ids, one for each of them: a row of `top_k` ids (I32 or I64) for each token.
 * `tensors` has `arguments` times as many parts as there are ranks: those of the first argument for each rank, then those
 * of the second, in the order in which `hpmoe_describe` lists them. Ids lie in this machine's memory; for a
 * taskflow that makes its route itself, `ids` is null.
 * `streams` is null, or an array with a stream of CANN (`aclrtStream`) for each rank of this process, on the rank's NPU: the launch
 * follows what has been put on it before, and what is put on it afterwards follows the launch.
 *
 * Tensors in the memory of NPUs are neither copied nor looked at by the host. What each rank passes starts at a multiple of 64 bytes.
 *
 * Memory is used where it lies, until the function returns. It belongs to the caller, who makes sure that it is as large as the
 * parts say, initialised, and that no other thread writes it (nor reads what is writable). What a launch writes must not
 * overlap anything else of it. Two kinds of parts are copied, and the report says which: those that don't start at a multiple of 64
 * bytes, and those to be read that share memory with others of the launch (unless both are the same bytes of one rank). A part of
 * received or once-sent rows may have more rows than the launch uses, which are the first ones. */
HpmoeStatus hpmoe_launch(HpmoeGroup group, const char *taskflow, const HpmoeTensor *ids, uint64_t ranks,
                         const HpmoeTensor *tensors, uint64_t arguments, void *const *streams);

/* Puts such a launch on the streams of NPUs and returns before it has ended: `pending` stands for it until `hpmoe_wait`. Several launches can
 * be pending; they follow each other in the order of these calls. Tensors of NPUs may be freed or reused by what comes later on `streams`;
 * those in this machine's memory stay until the launch has been waited for, which is when those that it writes are written. A group on the
 * CPU runs the launch to its end. */
HpmoeStatus hpmoe_enqueue(HpmoeGroup group, const char *taskflow, const HpmoeTensor *ids, uint64_t ranks,
                          const HpmoeTensor *tensors, uint64_t arguments, void *const *streams, HpmoePending *pending);

/* Makes the argument block of a launch, which is all that a kernel reads of the host, and launches nothing. `hpmoe_replay` launches it as often as
 * wanted, each time with what the same tensors hold then. Where the host makes the route (`ids`), all launches have that route. No tensor is
 * copied: all of them start at multiples of 64 bytes, and those of a group on NPUs lie in the memory of NPUs. Tensors stay where they are until the last launch has
 * ended. If ranks are processes, all of them call it. */
HpmoeStatus hpmoe_fix(HpmoeGroup group, const char *taskflow, const HpmoeTensor *ids, uint64_t ranks,
                      const HpmoeTensor *tensors, uint64_t arguments, HpmoeFixed *fixed);

/* Launches it once more, on `streams` as `hpmoe_enqueue` does. On NPUs, it puts kernels there, and copies and waits for nothing; a group on the CPU
 * runs the launch to its end. `tensors` are those that it was made for: one that lies elsewhere or has other rows is an error. `hpmoe_wait` waits for all launches since the
 * last wait; the report is that of the last one, and empty where there was none. If ranks are processes, each of them replays as often as the others. */
HpmoeStatus hpmoe_replay(HpmoeFixed fixed, uint64_t ranks, const HpmoeTensor *tensors, uint64_t arguments,
                         void *const *streams);

/* The same for `streams` that are being captured in graphs: it puts the kernel on each, and makes no other call for them. Launches of a graph follow the
 * order of its streams alone: whoever launches it keeps other launches on these NPUs apart. The fixed launch lives as long as the graph. */
HpmoeStatus hpmoe_capture(HpmoeFixed fixed, uint64_t ranks, const HpmoeTensor *tensors, uint64_t arguments,
                          void *const *streams);

/* Tells that graphs have launched it so often, which the library can't know. Their streams have been waited for; `hpmoe_wait` then
 * says what became of these launches. */
HpmoeStatus hpmoe_replayed(HpmoeFixed fixed, uint32_t launches);

/* Puts experts elsewhere in the launches to come: of a taskflow that makes its route itself, fixed on a group with a placement. Only the placement is copied, so that
 * captured graphs find it, too. All launches before have been waited for, those by graphs as well. If ranks are processes, each of them
 * calls it with the same placement. */
HpmoeStatus hpmoe_fixed_place(HpmoeFixed fixed, const HpmoePlacement *placement);

/* Waits for what runs of it, and frees it. Freeing its group does so, too. */
HpmoeStatus hpmoe_fixed_free(HpmoeFixed fixed);

/* Waits for a launch, or for all launches of a fixed one; its report is then the last one of this thread. If ranks are processes, all of them wait for their launches in the same
 * order. Launches that are still pending when their group is freed are waited for there, and have no report. */
HpmoeStatus hpmoe_wait(HpmoePending pending);

/* Runs the reference of a taskflow, task after task, on copies of these tensors of this machine's memory, and brings back what it has
 * written: the bits of a launch. The ranks of the group are threads of this process. The kernel's module is part of the library's crate. */
HpmoeStatus hpmoe_reference(HpmoeGroup group, const char *taskflow, const HpmoeTensor *ids, uint64_t ranks,
                            const HpmoeTensor *tensors, uint64_t arguments);

/* Takes the place of a launch that this process can't make: if ranks are processes, the launch of each other rank fails with these
 * words, instead of waiting for this one. Returns `HPMOE_INVALID`. */
HpmoeStatus hpmoe_refuse(HpmoeGroup group, const char *message);

/* What the last call of this thread that failed had to say; empty if the last one did not fail. Valid until the next
 * call of this thread that returns a status. */
const char *hpmoe_last_error(void);

/* The report of the last launch that this thread has waited for, as JSON; empty if it failed. Valid until the next launch of this thread. Its
 * keys: "kernel", "ranks", "launches", "tasks", "empty_tasks", "waits", "aic_cores_used", "aiv_cores_used", "counters",
 * "workspace_bytes", "capacity_rows", "chunks" (of the tokens of each rank), "began_unix_ns" (when it began, in ns since 1970; on NPUs, when it was put on the stream), "wall_us", "on_npus", "received_rows" (of each rank), "copied" (a list of {"tensor", "rank", "bytes",
 * "reason"}), "strangers" (connections of others to rank 0 while the ranks joined), "trace" (when each core ran its tiles, as an
 * object of the Trace Event Format with times in µs from the first core's start; null if the kernel keeps no time stamps), and "text", the
 * same in words. */
const char *hpmoe_last_report(void);

#ifdef __cplusplus
}
#endif

#endif

// The state of the stand-in for CANN's runtime library: devices, memory, streams, events, kernels.
#pragma once

#include "acl.h"
#include "launch.h"
#include "other.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace standin {

constexpr int DEVICES = 8;

constexpr size_t PAGE = 4096;

// Number of bytes, rounded up to whole pages.
constexpr size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

// The library's error numbers.
enum Error : int {
    PARAMETER = 107000,
    NO_DEVICE_SET = 107002,
    BAD_HANDLE = 107017,
    CAPTURE_DEPENDENCY = 107024,
    STREAM_UNJOINED = 107025,
    STREAM_CAPTURED = 107027,
    EVENT_CAPTURED = 107028,
    STREAM_NOT_CAPTURED = 107029,
    CAPTURE_MODE = 107030,
    OUT_OF_MEMORY = 207018,
    CORE_TIMEOUT = 507014,
    CORE_EXCEPTION = 507015,
    REMOTE = 507057,
    REFUSED = 507899,
    UNSUPPORTED = 207000,
    STREAM_TIMEOUT = 507046,
    EVENT_TIMEOUT = 507047,
    NOT_INITIALIZED = 100001,
    REPEAT_FINALIZE = 100037,
    INTERNAL = 500000,
};

// Memory without addresses, which processes can share.
struct Physical {
    int file;
    size_t bytes;
    int device;
    int owner = -1; // for imported memory, the process that it belongs to
    bool mapped = false;

    bool imported() const { return owner >= 0; }
};

// Memory of a device. Only copies and kernels can access it: any other access faults.
struct Memory {
    std::byte *base;
    size_t bytes;
    int device;
    const Physical *mapped = nullptr; // the shared memory that is mapped here, if any
    int users = 0;                    // copies and kernels that are using it
};

struct Stream;

// Host memory that copies on streams read. The memory is write-protected until the host knows that the last of these
// copies is done, because the host has waited for the stream, or for an event after the copy.
struct Pinned {
    std::byte *base;
    size_t bytes;
    std::map<Stream *, uint64_t> copies; // per stream, the place of the last copy that reads it
};

// A loaded kernel.
struct Binary {
    void *library;
    int file;
};

struct Function {
    HpmoeHostKernel entry;
    int32_t (*run)(HpmoeHostKernel, void *, const HpmoeHostOptions *, HpmoeHostResult *);
    Binary *binary;
};

// Work that was put on streams while they were captured, in order.
struct Graph {
    std::vector<std::function<int()>> work;
    // Captured streams, each with its number of tasks that the first stream does not wait for yet. Empty once the
    // capture has ended.
    std::map<Stream *, uint64_t> streams;
    Stream *first = nullptr; // the stream on which the capture began
    uint64_t number = 0;     // number of the capture, from 1
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
};

// Records the progress of a stream.
struct Event {
    uint64_t recorded = 0;    // number of calls of RecordEvent
    uint64_t reached = 0;     // number of the last of these calls that a stream has reached
    Stream *stream = nullptr; // stream of the last call
    uint64_t place = 0;       // place of the last call on that stream
    uint64_t captured = 0;    // number of the capture that the last call was part of, or 0
    std::chrono::steady_clock::time_point time;
};

// Work that a thread runs in order.
struct Stream {
    int device;
    std::deque<std::function<int()>> work;
    bool busy = false;
    bool ends = false;
    uint64_t places = 0;          // number of tasks ever put on the stream
    std::shared_ptr<Graph> graph; // during a capture, gets the work that is put on the stream
    int error = 0;                // first error; no work runs after an error
    std::thread thread;
};

struct Device {
    uint32_t busy_cores = 0; // matrix cores, with two vector cores each
    std::set<int> peers;     // devices whose memory the device's kernels may access
    uint32_t sets = 0;       // calls of SetDevice that no call of ResetDevice has undone
};

struct State {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t initialized = 0; // calls of aclInit that were not undone
    Device devices[DEVICES];
    std::map<std::byte *, Memory> memory;
    std::map<std::byte *, Pinned> pinned;
    std::map<std::byte *, size_t> reserved; // addresses that memory can be mapped to
    std::set<Physical *> physical;
    std::set<Stream *> streams;
    std::set<Event *> events;
    std::map<void *, std::shared_ptr<Graph>> graphs; // graphs whose capture has ended
    uint64_t captures = 0;
    std::set<Binary *> binaries;
    std::set<Function *> functions;
    volatile int32_t stop = 0; // ends all running kernels
    uint32_t running = 0;
    uint64_t launches = 0;
    std::string failure; // message of the last kernel that failed
};

State &state();

// A number from an environment variable, for tests.
uint64_t setting(const char *name, uint64_t otherwise);

// Number of matrix cores of each device.
uint32_t matrix_cores();

// The assumption about devices that an environment variable asks to break: HPMOE_HOST_BREAK_..., or one of these.
enum Broken : uint32_t { NOTHING = 0, FIRST_ARGUMENT = 100, VECTOR_CORES = 101, REACH = 102, UNKNOWN = 103 };
uint32_t broken();

// The name of the chip.
const char *chip();

// Whether an environment variable asks that a call be refused: `export` or `import`.
bool refused(const char *what);

// The device that this thread has set, or -1.
int &current_device();

// Logs a call and its result in the file that an environment variable names, and keeps the error message.
int ended(const char *call, int error, const std::string &why = {});

// The memory that contains these bytes, or null.
Memory *memory_of(const void *address, size_t bytes);

// The pinned memory that contains these bytes, or null.
Pinned *pinned_of(const void *address, size_t bytes);

// Makes the contents of a fabric handle, which names physical memory of this process for other processes.
int name_physical(aclrtDrvMemHandle handle, void *name);

// The physical memory of another process that has this name.
int physical_named(const void *name, aclrtDrvMemHandle *handle);

// Whether memory is gone, because the process that it belongs to has ended.
bool is_gone(const Memory &memory);

// Permit and forbid accesses to memory. The lock must be held.
void open(Memory &memory);
void close(Memory &memory);

// Called when the host learns that a stream has passed a place. Pinned memory can be written again if only copies
// before that place read it. The lock must be held.
void learned(Stream *stream, uint64_t place);

// The name of a stream in the log.
std::string named(aclrtStream stream);

// Adds work to a stream or, during a capture of the stream, to the captured graph. Returns false if there is no such
// stream. The lock must be held.
bool enqueue(aclrtStream stream, std::function<int()> work);

// Makes a stream wait for an event of a capture. The stream is part of that capture, or joins it by this call. The lock
// must be held.
int wait_captured(Stream &stream, const Event &event);

// Whether a capture forbids synchronous calls on this thread. The lock must be held.
bool forbidden();

} // namespace standin

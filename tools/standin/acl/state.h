// What the stand-in for CANN's runtime library keeps: devices, memory, streams, events, kernels.
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

// Bytes, rounded up to whole pages.
constexpr size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

// Numbers of errors, as the library has them.
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
};

// Memory without addresses, which processes can share.
struct Physical {
    int file;
    size_t bytes;
    int device;
    int owner = -1; // of imported memory, the process that it belongs to
    bool mapped = false;

    bool imported() const { return owner >= 0; }
};

// Memory of a device. Nobody can read or write it but copies and kernels: outside of them, an access faults.
struct Memory {
    std::byte *base;
    size_t bytes;
    int device;
    const Physical *mapped = nullptr; // what processes share
    int users = 0;                    // copies and kernels that are using it
};

struct Stream;

// Memory of the host that copies on streams read. While the host can't know that the last of them is done, because it has not waited for an
// event behind it or for its stream, no call can write the memory.
struct Pinned {
    std::byte *base;
    size_t bytes;
    std::map<Stream *, uint64_t> copies; // by stream: the place of the last copy there that reads it
};

// A kernel that was loaded.
struct Binary {
    void *library;
    int file;
};

struct Function {
    HpmoeHostKernel entry;
    int32_t (*run)(HpmoeHostKernel, void *, const HpmoeHostOptions *, HpmoeHostResult *);
    Binary *binary;
};

// Work that streams were given while they were captured, in the order in which it was given.
struct Graph {
    std::vector<std::function<int()>> work;
    // Streams that are captured, each with the number of its tasks that the first stream has not been told to wait for. Empty once the capture has
    // ended.
    std::map<Stream *, uint64_t> streams;
    Stream *first = nullptr; // where the capture began
    uint64_t number = 0;     // of the capture, from 1
    aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
};

// Records that something has been done on a stream.
struct Event {
    uint64_t recorded = 0;    // calls of RecordEvent
    uint64_t reached = 0;     // of them, those that a stream has come to
    Stream *stream = nullptr; // of the last one,
    uint64_t place = 0;       // and its place there
    uint64_t captured = 0;    // the number of the capture that it was part of, or 0
    std::chrono::steady_clock::time_point time;
};

// What is to be done, in order, by a thread of its own.
struct Stream {
    int device;
    std::deque<std::function<int()>> work;
    bool busy = false;
    bool ends = false;
    uint64_t places = 0;          // what was ever put on it
    std::shared_ptr<Graph> graph; // takes what is put on it, while it is captured
    int error = 0;                // the first one; nothing runs after it
    std::thread thread;
};

struct Device {
    uint32_t busy_cores = 0; // matrix cores, with two vector cores each
    std::set<int> peers;     // devices whose memory its kernels may access
};

struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool initialized = false;
    Device devices[DEVICES];
    std::map<std::byte *, Memory> memory;
    std::map<std::byte *, Pinned> pinned;
    std::map<std::byte *, size_t> reserved; // addresses that memory can be mapped to
    std::set<Physical *> physical;
    std::set<Stream *> streams;
    std::set<Event *> events;
    std::map<void *, std::shared_ptr<Graph>> graphs; // whose capture has ended
    uint64_t captures = 0;
    std::set<Binary *> binaries;
    std::set<Function *> functions;
    volatile int32_t stop = 0; // ends all running kernels
    uint32_t running = 0;
    uint64_t launches = 0;
    std::string failure; // why the last kernel failed
};

State &state();

// A number that the environment sets, for tests.
uint64_t setting(const char *name, uint64_t otherwise);

// Matrix cores of each device.
uint32_t matrix_cores();

// What is assumed of devices and the environment asks to be otherwise: HPMOE_HOST_BREAK_..., or one of these.
enum Broken : uint32_t { NOTHING = 0, FIRST_ARGUMENT = 100, VECTOR_CORES = 101, REACH = 102, UNKNOWN = 103 };
uint32_t broken();

// The name of the chip.
const char *chip();

// Whether the environment asks for a call to be refused: `export` or `import`.
bool refused(const char *what);

// The device that this thread has set, or -1.
int &current_device();

// Notes a call in the file that the environment names, with its result, and keeps the words of an error.
int ended(const char *call, int error, const std::string &why = {});

// The memory that holds these bytes, or null.
Memory *memory_of(const void *address, size_t bytes);

// The pinned memory that holds these bytes, or null.
Pinned *pinned_of(const void *address, size_t bytes);

// What a fabric handle holds: it names physical memory of this process, for others.
int name_physical(aclrtDrvMemHandle handle, void *name);

// The physical memory of another process that has this name.
int physical_named(const void *name, aclrtDrvMemHandle *handle);

// Whether memory is gone, because the process that it belongs to has ended.
bool is_gone(const Memory &memory);

// Lets memory be read and written, and again not. With the lock held.
void open(Memory &memory);
void close(Memory &memory);

// The host has learned that a stream has come past a place: memory that copies up to there have read can be written again. With the lock held.
void learned(Stream *stream, uint64_t place);

// A stream, for the log.
std::string named(aclrtStream stream);

// Adds work to a stream, or to the graph that captures it; with the lock held. False where there is no such stream.
bool enqueue(aclrtStream stream, std::function<int()> work);

// A stream that is captured waits for an event that was recorded there, or a stream is captured from now on because it does. With the lock held.
int wait_captured(Stream &stream, const Event &event);

// Whether a capture forbids this thread a call that is not asynchronous. With the lock held.
bool forbidden();

} // namespace standin

// Initialisation, devices, errors, and the log of calls.
#include "state.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace standin {

State &state() {
    // Never destroyed, because threads of streams may outlive main.
    static State *all = new State;
    return *all;
}

uint64_t setting(const char *name, uint64_t otherwise) {
    const char *set = std::getenv(name);
    return set != nullptr ? std::strtoull(set, nullptr, 10) : otherwise;
}

uint32_t matrix_cores() { return static_cast<uint32_t>(setting("HPMOE_STANDIN_CORES", 24)); }

static uint32_t vector_cores() {
    return static_cast<uint32_t>(setting("HPMOE_STANDIN_VECTOR_CORES", 2 * matrix_cores()));
}

int &current_device() {
    thread_local int device = -1;
    return device;
}

// An assumption, with the name of the probe of hpmoe-doctor that detects when it is broken.
struct Assumption {
    const char *name;
    uint32_t number;
};

static const Assumption ASSUMPTIONS[] = {{"argument", FIRST_ARGUMENT},
                                         {"cores", VECTOR_CORES},
                                         {"poll", HPMOE_HOST_BREAK_POLL},
                                         {"adds", HPMOE_HOST_BREAK_ADDS},
                                         {"order", HPMOE_HOST_BREAK_ORDER},
                                         {"sums", HPMOE_HOST_BREAK_SUMS},
                                         {"relu", HPMOE_HOST_BREAK_RELU},
                                         {"rows", HPMOE_HOST_BREAK_ROWS},
                                         {"flags", HPMOE_HOST_BREAK_FLAGS},
                                         {"reach", REACH},
                                         {"peer-adds", HPMOE_HOST_BREAK_PEER_ADDS},
                                         {"landed", HPMOE_HOST_BREAK_LANDED},
                                         {"ready", HPMOE_HOST_BREAK_READY},
                                         {"stuck", HPMOE_HOST_BREAK_STUCK}};

uint32_t broken() {
    const char *named = std::getenv("HPMOE_STANDIN_BREAK");
    if (named == nullptr || *named == 0) {
        return NOTHING;
    }
    for (const Assumption &assumption : ASSUMPTIONS) {
        if (std::strcmp(assumption.name, named) == 0) {
            return assumption.number;
        }
    }
    return UNKNOWN;
}

const char *chip() {
    const char *named = std::getenv("HPMOE_STANDIN_SOC");
    return named != nullptr ? named : "Ascend910_9391";
}

bool refused(const char *what) {
    const char *named = std::getenv("HPMOE_STANDIN_REFUSE");
    return named != nullptr && std::strcmp(named, what) == 0;
}

static std::string &words() {
    thread_local std::string text;
    return text;
}

int ended(const char *call, int error, const std::string &why) {
    if (error != ACL_SUCCESS) {
        words() = std::string(call) + ": " + why;
    }
    static const char *path = std::getenv("HPMOE_STANDIN_LOG");
    if (path != nullptr) {
        static std::mutex mutex;
        std::lock_guard<std::mutex> lock(mutex);
        if (FILE *file = std::fopen(path, "a")) {
            std::fprintf(file, "%s device %d: %d%s%s\n", call, current_device(), error, why.empty() ? "" : " ",
                         why.c_str());
            std::fclose(file);
        }
    }
    return error;
}

} // namespace standin

using namespace standin;

// Tells hpmoe's runtime that this is the stand-in.
extern "C" const char hpmoe_standin[] = "stand-in";

// Whether this process runs on the operator simulator, whose runtime library is then preloaded.
static bool simulated() {
    const char *preloaded = std::getenv("LD_PRELOAD");
    return preloaded != nullptr && std::strstr(preloaded, "libruntime_camodel.so") != nullptr;
}

// Logs what the process has not undone before it ends. CANN then frees the devices itself, but its simulator crashes.
static void left() {
    bool any = false;
    for (int device = 0; device < DEVICES; ++device) {
        if (const uint32_t sets = state().devices[device].sets) {
            any = true;
            ended("exit", ACL_SUCCESS,
                  "device " + std::to_string(device) + " was set " + std::to_string(sets) +
                      " times more than it was reset");
        }
    }
    if (state().initialized != 0) {
        ended("exit", ACL_SUCCESS, "the library was not finalised");
    }
    if (any && simulated()) {
        std::fprintf(stderr,
                     "stand-in for CANN: a device was not reset as often as it was set, so the simulator crashes\n");
        std::abort();
    }
}

aclError aclInit(const char *) {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (state().initialized != 0) {
        ++state().initialized;
        return ended("aclInit", ACL_ERROR_REPEAT_INITIALIZE, "it was called before");
    }
    // The driver's library of a machine without an NPU does nothing, so CANN's runtime library knows no chip.
    const char *simulator = std::getenv("HPMOE_STANDIN_SIMULATOR");
    if (simulator != nullptr && std::strcmp(simulator, "unloaded") == 0 && !simulated()) {
        // A program under CANN's simulator takes seconds to start. The doctor looks at it fifty times a second.
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        return ended("aclInit", INTERNAL, "there is no driver, and the simulator was not loaded");
    }
    if (broken() == UNKNOWN) {
        return ended("aclInit", PARAMETER, "HPMOE_STANDIN_BREAK names nothing that can be broken");
    }
    state().initialized = 1;
    static const int registered = std::atexit(left);
    (void)registered;
    std::fprintf(stderr, "stand-in for CANN: what runs here says nothing about an NPU, and its times mean nothing\n");
    return ended("aclInit", ACL_SUCCESS);
}

const char *aclGetRecentErrMsg() {
    thread_local std::string given;
    given.swap(words());
    words().clear();
    return given.c_str();
}

// The number of devices that this process may see, which CANN's variable lists.
static uint32_t visible() {
    const char *listed = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
    if (listed == nullptr) {
        return DEVICES;
    }
    uint32_t count = *listed == 0 ? 0 : 1;
    for (const char *c = listed; *c != 0; ++c) {
        count += *c == ',' ? 1 : 0;
    }
    return count;
}

aclError aclrtGetDeviceCount(uint32_t *count) {
    *count = visible();
    return ended("aclrtGetDeviceCount", ACL_SUCCESS);
}

aclError aclrtSetDevice(int32_t device) {
    if (state().initialized == 0) {
        return ended("aclrtSetDevice", NOT_INITIALIZED, "aclInit was not called");
    }
    if (device < 0 || static_cast<uint32_t>(device) >= visible()) {
        return ended("aclrtSetDevice", PARAMETER, "there is no device " + std::to_string(device));
    }
    current_device() = device;
    std::lock_guard<std::mutex> lock(state().mutex);
    ++state().devices[device].sets;
    return ended("aclrtSetDevice", ACL_SUCCESS);
}

aclError aclrtGetDevice(int32_t *device) {
    if (current_device() < 0) {
        return ended("aclrtGetDevice", NO_DEVICE_SET, "this thread has set none");
    }
    *device = current_device();
    return ended("aclrtGetDevice", ACL_SUCCESS);
}

// Undoes all calls of aclInit. Everything else is left as it is, because other parts of the process may go on.
aclError aclFinalize() {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (state().initialized == 0) {
        return ended("aclFinalize", REPEAT_FINALIZE, "aclInit was not called");
    }
    state().initialized = 0;
    return ended("aclFinalize", ACL_SUCCESS);
}

// Undoes one call of aclInit.
aclError aclFinalizeReference(uint64_t *left) {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (state().initialized == 0) {
        return ended("aclFinalizeReference", REPEAT_FINALIZE, "aclInit was not called");
    }
    --state().initialized;
    if (left != nullptr) {
        *left = state().initialized;
    }
    return ended("aclFinalizeReference", ACL_SUCCESS);
}

// Whether the device has streams, which must be destroyed before it is reset for the last time. With the lock held.
static bool has_streams(int32_t device) {
    for (const Stream *stream : state().streams) {
        if (stream->device == device) {
            return true;
        }
    }
    return false;
}

aclError aclrtResetDevice(int32_t device) {
    if (device < 0 || static_cast<uint32_t>(device) >= visible()) {
        return ended("aclrtResetDevice", PARAMETER, "there is no device " + std::to_string(device));
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    uint32_t &sets = state().devices[device].sets;
    if (sets == 0) {
        return ended("aclrtResetDevice", BAD_HANDLE, "the device was reset as often as it was set");
    }
    --sets;
    if (sets == 0 && has_streams(device)) {
        return ended("aclrtResetDevice", ACL_SUCCESS, "but the device still has streams");
    }
    return ended("aclrtResetDevice", ACL_SUCCESS);
}

// Each device has one context.
aclError aclrtGetCurrentContext(aclrtContext *context) {
    if (current_device() < 0) {
        return ended("aclrtGetCurrentContext", NO_DEVICE_SET, "this thread has set none");
    }
    *context = &state().devices[current_device()];
    return ended("aclrtGetCurrentContext", ACL_SUCCESS);
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    for (int device = 0; device < DEVICES; ++device) {
        if (context == &state().devices[device]) {
            current_device() = device;
            return ended("aclrtSetCurrentContext", ACL_SUCCESS);
        }
    }
    return ended("aclrtSetCurrentContext", BAD_HANDLE, "no such context");
}

const char *aclrtGetSocName() { return chip(); }

// The number of the superpod that a device belongs to: its entry in HPMOE_STANDIN_PODS, or 0 if there is none.
static int64_t superpod(uint32_t device) {
    const char *at = std::getenv("HPMOE_STANDIN_PODS");
    for (; at != nullptr && device > 0; --device) {
        const char *comma = std::strchr(at, ',');
        at = comma != nullptr ? comma + 1 : nullptr;
    }
    return at != nullptr ? std::strtoll(at, nullptr, 10) : 0;
}

aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr attribute, int64_t *value) {
    if (device >= visible()) {
        return ended("aclrtGetDeviceInfo", PARAMETER, "there is no device " + std::to_string(device));
    }
    switch (attribute) {
    case ACL_DEV_ATTR_CUBE_CORE_NUM: *value = matrix_cores(); break;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM: *value = vector_cores(); break;
    case ACL_DEV_ATTR_SUPER_POD_ID: *value = superpod(device); break;
    case ACL_DEV_ATTR_IS_VIRTUAL: *value = static_cast<int64_t>(setting("HPMOE_STANDIN_VIRTUAL", 0)); break;
    default: return ended("aclrtGetDeviceInfo", PARAMETER, "unknown attribute " + std::to_string(attribute));
    }
    return ended("aclrtGetDeviceInfo", ACL_SUCCESS);
}

aclError aclrtDeviceCanAccessPeer(int32_t *can, int32_t device, int32_t peer) {
    const auto exists = [](int32_t number) { return number >= 0 && static_cast<uint32_t>(number) < visible(); };
    if (!exists(device) || !exists(peer) || device == peer) {
        return ended("aclrtDeviceCanAccessPeer", PARAMETER, "two devices that exist");
    }
    *can = 1;
    return ended("aclrtDeviceCanAccessPeer", ACL_SUCCESS);
}

aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
    const int own = current_device();
    if (own < 0 || peer < 0 || static_cast<uint32_t>(peer) >= visible() || peer == own || flags != 0) {
        return ended("aclrtDeviceEnablePeerAccess", PARAMETER, "a different device than this thread's, and flags 0");
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    state().devices[own].peers.insert(peer);
    return ended("aclrtDeviceEnablePeerAccess", ACL_SUCCESS);
}

// Kernels: loads, and launches on the host's AscendC.
#include "state.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace standin {

constexpr uint32_t MIX_MAGIC = 0x43554245;
constexpr int MIX_KERNEL = 3;

// Attributes of a launch.
struct Start {
    bool batch = false;
    std::chrono::seconds limit{1091};
};

static int start_of(const aclrtLaunchKernelCfg *cfg, Start &start) {
    for (size_t i = 0; cfg != nullptr && i < cfg->numAttrs; ++i) {
        const aclrtLaunchKernelAttr &attribute = cfg->attrs[i];
        switch (attribute.id) {
        case ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE: start.batch = attribute.value.schemMode == 1; break;
        case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT: start.limit = std::chrono::seconds(attribute.value.timeout); break;
        default:
            return ended("aclrtLaunchKernelWithHostArgs", PARAMETER,
                         "unknown attribute " + std::to_string(attribute.id));
        }
    }
    return ACL_SUCCESS;
}

// Takes the cores of a launch. A launch that does not ask for all cores at the same time would get only those that are
// free. These would wait for the others, so the launch would never end.
static bool take_cores(std::unique_lock<std::mutex> &lock, Device &device, uint32_t blocks, const Start &start) {
    const auto free = [&] { return device.busy_cores + blocks <= matrix_cores(); };
    if (!start.batch && !free()) {
        state().changed.wait_for(lock, start.limit, [] { return false; });
        return false;
    }
    state().changed.wait(lock, free);
    device.busy_cores += blocks;
    return true;
}

// Ends all running kernels if a kernel exceeds its time limit.
class Watchdog {
  public:
    explicit Watchdog(std::chrono::seconds limit)
        : thread_([this, limit] {
              std::unique_lock<std::mutex> lock(mutex_);
              if (!changed_.wait_for(lock, limit, [this] { return over_; })) {
                  late_ = true;
                  __atomic_store_n(&state().stop, 1, __ATOMIC_SEQ_CST);
              }
          }) {}

    // Called when the kernel has ended. Returns whether the watchdog has ended it.
    bool end() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            over_ = true;
        }
        changed_.notify_all();
        thread_.join();
        return late_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    bool late_ = false;
    std::thread thread_; // last, because it uses the members above
};

// The error that kernels of a device end with, for tests. The environment variable has the form `device:error`.
static int fault(int device) {
    const char *set = std::getenv("HPMOE_STANDIN_FAULT");
    const char *colon = set != nullptr ? std::strchr(set, ':') : nullptr;
    return colon != nullptr && std::atoi(set) == device ? std::atoi(colon + 1) : ACL_SUCCESS;
}

// Memory of other processes that a kernel may write. If its process has ended, its mapping is invalid.
struct Peers {
    std::map<uint32_t, const Memory *> memory; // by device
    std::atomic<bool> gone{false};
};

static int32_t write_to_peer(void *context, uint32_t device, void *, const void *, uint32_t, uint32_t) {
    Peers &peers = *static_cast<Peers *>(context);
    const auto found = peers.memory.find(device);
    if (found == peers.memory.end() || !is_gone(*found->second)) {
        return HPMOE_HOST_MAPPED;
    }
    peers.gone = true;
    return HPMOE_HOST_GONE;
}

static int run(const Function &function, uint32_t blocks, const Start &start, int number, uint64_t argument) {
    std::this_thread::sleep_for(std::chrono::milliseconds(setting("HPMOE_STANDIN_DELAY", 0)));
    std::unique_lock<std::mutex> lock(state().mutex);
    Device &device = state().devices[number];
    if (const int code = fault(number); code != ACL_SUCCESS) {
        state().failure = "the stand-in was told to fail";
        return ended("kernel", code, state().failure);
    }
    if (!take_cores(lock, device, blocks, start)) {
        state().failure = "its cores did not start at the same time";
        return ended("kernel", CORE_TIMEOUT, state().failure);
    }
    std::vector<Memory *> used;
    std::vector<HpmoeHostRegion> regions;
    Peers peers;
    for (auto &[base, memory] : state().memory) {
        const bool own = memory.device == number;
        if (!own && broken() == REACH) {
            continue;
        }
        const bool imported = memory.mapped != nullptr && memory.mapped->imported();
        if (imported) {
            peers.memory[static_cast<uint32_t>(memory.device)] = &memory;
        }
        if (own || imported || device.peers.count(memory.device) != 0) {
            open(memory);
            used.push_back(&memory);
            regions.push_back({base, memory.bytes, static_cast<uint32_t>(memory.device),
                               static_cast<uint32_t>(own ? HPMOE_HOST_PRIVATE : HPMOE_HOST_SYMMETRIC), 1, 0,
                               "memory of a device"});
        }
    }
    if (state().running++ == 0) {
        state().stop = 0;
    }
    const uint64_t seed = ++state().launches;
    lock.unlock();
    HpmoeHostOptions options = {};
    options.rank = static_cast<uint32_t>(number);
    options.aic = blocks;
    options.aiv = broken() == VECTOR_CORES ? blocks : 2 * blocks;
    options.threads = 1;
    options.seed = seed;
    options.regions = regions.data();
    options.region_count = regions.size();
    options.stop = &state().stop;
    options.fault = broken();
    const HpmoeHostPeers writes = {&peers, write_to_peer};
    options.peers = &writes;
    HpmoeHostResult result = {};
    Watchdog watchdog(start.limit);
    function.run(function.entry, reinterpret_cast<void *>(argument), &options, &result);
    const bool late = watchdog.end();
    lock.lock();
    state().running -= 1;
    device.busy_cores -= blocks;
    for (Memory *memory : used) {
        close(*memory);
    }
    state().changed.notify_all();
    if (late) {
        state().failure = "it ran longer than " + std::to_string(start.limit.count()) + " s";
        return ended("kernel", CORE_TIMEOUT, state().failure);
    }
    if (peers.gone) {
        state().failure = "it wrote to the memory of a process that has ended";
        return ended("kernel", REMOTE, state().failure);
    }
    if (result.code != HPMOE_HOST_OK && result.message[0] != 0) {
        state().failure = result.message;
    }
    return ended("kernel", result.code == HPMOE_HOST_OK ? ACL_SUCCESS : CORE_EXCEPTION, result.message);
}

// The error in the options of a load, or null. Each option may be given only once, and the magic number is required.
static const char *wrong_options(const aclrtBinaryLoadOptions *options) {
    constexpr int LAZY = 1; // whether the object is loaded on the device at its first use
    bool seen[3] = {};
    for (size_t i = 0; options != nullptr && i < options->numOpt; ++i) {
        const aclrtBinaryLoadOption &option = options->options[i];
        const int type = option.type;
        if (type != LAZY && type != ACL_RT_BINARY_LOAD_OPT_MAGIC) {
            return "an unknown option";
        }
        if (seen[type]) {
            return "an option twice";
        }
        seen[type] = true;
        if (type == LAZY && option.value.magic > 1) {
            return "a lazy load that is neither 0 nor 1";
        }
        if (type == ACL_RT_BINARY_LOAD_OPT_MAGIC && option.value.magic != MIX_MAGIC) {
            return "a different magic number than that of kernels for both kinds of core";
        }
    }
    return seen[ACL_RT_BINARY_LOAD_OPT_MAGIC] ? nullptr : "no magic number";
}

// Gives an NPU's object the ELF header of a library for this machine, because the stand-in's linker has made it from
// such a library. If the object is of another kind, returns the expected kind; otherwise, returns null.
static const char *made_loadable(std::vector<unsigned char> &image) {
    Elf64_Ehdr head;
    std::memcpy(&head, image.data(), sizeof head);
    if (head.e_machine != 0x1029 || head.e_flags != 0x940000) {
        return "an object for both kinds of core of Ascend A2 and A3";
    }
    if (head.e_type != ET_EXEC) {
        return "a linked object";
    }
#if defined(__aarch64__)
    head.e_machine = EM_AARCH64;
#else
    head.e_machine = EM_X86_64;
#endif
    head.e_type = ET_DYN;
    head.e_flags = 0;
    std::memcpy(image.data(), &head, sizeof head);
    return nullptr;
}

} // namespace standin

using namespace standin;

aclError aclrtBinaryLoadFromData(const void *data, size_t bytes, const aclrtBinaryLoadOptions *options,
                                 aclrtBinHandle *handle) {
    if (data == nullptr || bytes < 64 ||
        std::memcmp(data,
                    "\x7f"
                    "ELF\x02\x01",
                    6) != 0) {
        return ended("aclrtBinaryLoadFromData", PARAMETER, "a little-endian 64-bit ELF file");
    }
    if (const char *wrong = wrong_options(options)) {
        return ended("aclrtBinaryLoadFromData", PARAMETER, wrong);
    }
    std::vector<unsigned char> image(static_cast<const unsigned char *>(data),
                                     static_cast<const unsigned char *>(data) + bytes);
    if (const char *wrong = made_loadable(image)) {
        return ended("aclrtBinaryLoadFromData", PARAMETER, wrong);
    }
    const int file = memfd_create("kernel", MFD_CLOEXEC);
    if (file < 0 || write(file, image.data(), bytes) != static_cast<ssize_t>(bytes)) {
        return ended("aclrtBinaryLoadFromData", OUT_OF_MEMORY, "no room for a copy");
    }
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        close(file);
        return ended("aclrtBinaryLoadFromData", PARAMETER, dlerror());
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    Binary *binary = new Binary{library, file};
    state().binaries.insert(binary);
    *handle = binary;
    return ended("aclrtBinaryLoadFromData", ACL_SUCCESS);
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle handle, const char *name, aclrtFuncHandle *function) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Binary *binary = static_cast<Binary *>(handle);
    if (state().binaries.count(binary) == 0 || name == nullptr || current_device() < 0) {
        return ended("aclrtBinaryGetFunction", BAD_HANDLE, "a loaded kernel, a name and a device");
    }
    // Here, the code for both kinds of core is the same.
    void *matrix = dlsym(binary->library, (std::string(name) + "_mix_aic").c_str());
    void *vector = dlsym(binary->library, (std::string(name) + "_mix_aiv").c_str());
    void *runner = dlsym(binary->library, "hpmoe_host_run");
    if (matrix == nullptr || vector == nullptr || runner == nullptr) {
        return ended("aclrtBinaryGetFunction", PARAMETER, std::string("there is no kernel ") + name);
    }
    Function *made = new Function{reinterpret_cast<HpmoeHostKernel>(matrix),
                                  reinterpret_cast<decltype(Function::run)>(runner), binary};
    state().functions.insert(made);
    *function = made;
    return ended("aclrtBinaryGetFunction", ACL_SUCCESS);
}

aclError aclrtBinaryUnLoad(aclrtBinHandle handle) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Binary *binary = static_cast<Binary *>(handle);
    if (state().binaries.erase(binary) == 0) {
        return ended("aclrtBinaryUnLoad", BAD_HANDLE, "no such kernel");
    }
    for (auto at = state().functions.begin(); at != state().functions.end();) {
        at = (*at)->binary == binary ? state().functions.erase(at) : std::next(at);
    }
    dlclose(binary->library);
    close(binary->file);
    delete binary;
    return ended("aclrtBinaryUnLoad", ACL_SUCCESS);
}

aclError aclrtGetFunctionAttribute(aclrtFuncHandle function, aclrtFuncAttribute attribute, int64_t *value) {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (state().functions.count(static_cast<Function *>(function)) == 0) {
        return ended("aclrtGetFunctionAttribute", BAD_HANDLE, "no such kernel");
    }
    int type = MIX_KERNEL;
    unsigned matrix = 1, vector = 2;
    if (const char *told = std::getenv("HPMOE_STANDIN_KERNEL")) {
        std::sscanf(told, "%d,%u:%u", &type, &matrix, &vector);
    }
    switch (attribute) {
    case ACL_FUNC_ATTR_KERNEL_TYPE: *value = type; break;
    case ACL_FUNC_ATTR_KERNEL_RATIO: *value = static_cast<int64_t>(matrix) << 16 | vector; break;
    default: return ended("aclrtGetFunctionAttribute", PARAMETER, "unknown attribute " + std::to_string(attribute));
    }
    return ended("aclrtGetFunctionAttribute", ACL_SUCCESS);
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle handle, uint32_t blocks, aclrtStream stream,
                                       aclrtLaunchKernelCfg *cfg, void *arguments, size_t bytes,
                                       aclrtPlaceHolderInfo *holders, size_t holder_count) {
    const char *call = "aclrtLaunchKernelWithHostArgs";
    Start start;
    if (const int wrong = start_of(cfg, start); wrong != ACL_SUCCESS) {
        return wrong;
    }
    if ((bytes != 8 && bytes != 16) || arguments == nullptr || holders != nullptr || holder_count != 0) {
        return ended(call, PARAMETER, "one or two arguments of 8 bytes and no places to fill in");
    }
    if (blocks == 0 || blocks > matrix_cores()) {
        return ended(call, PARAMETER, "1 to " + std::to_string(matrix_cores()) + " blocks");
    }
    uint64_t given[2] = {};
    std::memcpy(given, arguments, bytes);
    // A kernel takes the first argument. An object that expects the address for flags between cores first would take
    // the second argument.
    const uint64_t argument = given[broken() == FIRST_ARGUMENT ? 1 : 0];
    std::lock_guard<std::mutex> lock(state().mutex);
    const auto function = state().functions.find(static_cast<Function *>(handle));
    if (function == state().functions.end()) {
        return ended(call, BAD_HANDLE, "no such kernel");
    }
    if (argument % 64 != 0 || memory_of(reinterpret_cast<void *>(argument), 64) == nullptr) {
        return ended(call, PARAMETER, "an address in memory of a device, on 64 bytes");
    }
    if (state().streams.count(static_cast<Stream *>(stream)) == 0) {
        return ended(call, BAD_HANDLE, "no such stream");
    }
    const int device = static_cast<Stream *>(stream)->device;
    const Function copied = **function;
    enqueue(stream, [=] { return run(copied, blocks, start, device, argument); });
    const std::string how = std::to_string(blocks) + (start.batch ? " blocks at once, " : " blocks, ");
    return ended(call, ACL_SUCCESS, how + std::to_string(start.limit.count()) + " s, " + named(stream));
}

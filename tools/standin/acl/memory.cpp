// Memory of devices, and copies.
#include "state.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace standin {

constexpr size_t HUGE = 2 << 20;

Memory *memory_of(const void *address, size_t bytes) {
    std::byte *wanted = static_cast<std::byte *>(const_cast<void *>(address));
    auto next = state().memory.upper_bound(wanted);
    if (next == state().memory.begin()) {
        return nullptr;
    }
    Memory &memory = std::prev(next)->second;
    const bool inside = wanted + bytes <= memory.base + memory.bytes && wanted < memory.base + memory.bytes;
    return inside ? &memory : nullptr;
}

void open(Memory &memory) {
    if (memory.users++ == 0) {
        mprotect(memory.base, pages(memory.bytes), PROT_READ | PROT_WRITE);
    }
}

void close(Memory &memory) {
    if (--memory.users == 0) {
        mprotect(memory.base, pages(memory.bytes), PROT_NONE);
    }
}

// One side of a copy, in memory of a device or of the host.
struct Side {
    const void *address;
    bool on_device;
};

static int copy(const char *call, Side to, Side from, size_t bytes) {
    std::unique_lock<std::mutex> lock(state().mutex);
    std::vector<Memory *> opened;
    for (const Side &side : {to, from}) {
        Memory *memory = memory_of(side.address, side.on_device ? bytes : 1);
        if ((memory != nullptr) != side.on_device) {
            return ended(call, PARAMETER,
                         side.on_device ? "no memory of a device holds all of these bytes"
                                        : "this is memory of a device");
        }
        if (memory != nullptr && is_gone(*memory)) {
            return ended(call, REMOTE, "the memory of a process that has ended");
        }
        if (memory != nullptr) {
            opened.push_back(memory);
        }
    }
    for (Memory *memory : opened) {
        open(*memory);
    }
    lock.unlock();
    std::memcpy(const_cast<void *>(to.address), from.address, bytes);
    lock.lock();
    for (Memory *memory : opened) {
        close(*memory);
    }
    return ACL_SUCCESS;
}

static int checked(const char *call, void *to, size_t room, const void *from, size_t bytes, aclrtMemcpyKind kind,
                   Side &target, Side &source) {
    if (to == nullptr || from == nullptr || bytes == 0 || bytes > room || kind < 0 ||
        kind > ACL_MEMCPY_DEVICE_TO_DEVICE) {
        return ended(call, PARAMETER, "two addresses, 1 to " + std::to_string(room) + " bytes, a kind from 0 to 3");
    }
    target = {to, kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE};
    source = {from, kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE};
    return ACL_SUCCESS;
}

} // namespace standin

using namespace standin;

aclError aclrtMalloc(void **address, size_t bytes, aclrtMemMallocPolicy) {
    const int device = current_device();
    if (device < 0 || address == nullptr || bytes == 0) {
        return ended("aclrtMalloc", device < 0 ? NO_DEVICE_SET : PARAMETER, "a device, a place and more than 0 bytes");
    }
    if (bytes > setting("HPMOE_STANDIN_MEMORY", UINT64_MAX)) {
        return ended("aclrtMalloc", OUT_OF_MEMORY, std::to_string(bytes) + " bytes");
    }
    // The memory starts one page later than the system would place it, so that code that relies on more than page
    // alignment fails.
    void *mapped = mmap(nullptr, pages(bytes) + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        return ended("aclrtMalloc", OUT_OF_MEMORY, std::to_string(bytes) + " bytes");
    }
    std::byte *base = static_cast<std::byte *>(mapped) + PAGE;
    mprotect(base, pages(bytes), PROT_READ | PROT_WRITE);
    std::memset(base, 0xA5, bytes < HUGE ? bytes : HUGE);
    mprotect(base, pages(bytes), PROT_NONE);
    std::lock_guard<std::mutex> lock(state().mutex);
    state().memory[base] = Memory{base, bytes, device};
    *address = base;
    return ended("aclrtMalloc", ACL_SUCCESS);
}

aclError aclrtFree(void *address) {
    std::lock_guard<std::mutex> lock(state().mutex);
    auto found = state().memory.find(static_cast<std::byte *>(address));
    if (found == state().memory.end() || found->second.mapped != nullptr || found->second.users > 0) {
        return ended("aclrtFree", PARAMETER, "memory that aclrtMalloc gave, and that nothing uses");
    }
    munmap(static_cast<std::byte *>(address) - PAGE, pages(found->second.bytes) + HUGE);
    state().memory.erase(found);
    return ended("aclrtFree", ACL_SUCCESS);
}

aclError aclrtMemset(void *address, size_t room, int32_t value, size_t bytes) {
    std::unique_lock<std::mutex> lock(state().mutex);
    if (forbidden()) {
        return ended("aclrtMemset", CAPTURE_MODE, "a stream is captured, in a mode that forbids it");
    }
    Memory *memory = memory_of(address, bytes);
    if (memory == nullptr || bytes > room) {
        return ended("aclrtMemset", PARAMETER, "no memory of a device holds all of these bytes");
    }
    open(*memory);
    lock.unlock();
    std::memset(address, value, bytes);
    lock.lock();
    close(*memory);
    return ended("aclrtMemset", ACL_SUCCESS);
}

aclError aclrtMemcpy(void *to, size_t room, const void *from, size_t bytes, aclrtMemcpyKind kind) {
    Side target, source;
    {
        std::lock_guard<std::mutex> lock(state().mutex);
        if (forbidden()) {
            return ended("aclrtMemcpy", CAPTURE_MODE, "a stream is captured, in a mode that forbids it");
        }
    }
    const int wrong = checked("aclrtMemcpy", to, room, from, bytes, kind, target, source);
    const int error = wrong != ACL_SUCCESS ? wrong : copy("aclrtMemcpy", target, source, bytes);
    return error != ACL_SUCCESS ? error : ended("aclrtMemcpy", ACL_SUCCESS, std::to_string(bytes) + " bytes");
}

// Whether a stream's copies can access memory: memory of the stream's own device, or of a peer that the device may
// access.
static bool reaches(const Stream &stream, const Memory *memory) {
    return memory != nullptr &&
           (memory->device == stream.device || state().devices[stream.device].peers.count(memory->device) != 0);
}

aclError aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t bytes, aclrtMemcpyKind kind,
                          aclrtStream handle) {
    const char *call = "aclrtMemcpyAsync";
    Side target, source;
    if (const int wrong = checked(call, to, room, from, bytes, kind, target, source); wrong != ACL_SUCCESS) {
        return wrong;
    }
    if (kind == ACL_MEMCPY_HOST_TO_HOST) {
        return ended(call, UNSUPPORTED, "a stream copies nothing from the host to the host");
    }
    std::unique_lock<std::mutex> lock(state().mutex);
    Stream *stream = static_cast<Stream *>(handle);
    if (state().streams.count(stream) == 0) {
        return ended(call, BAD_HANDLE, "no such stream");
    }
    for (const Side &side : {target, source}) {
        if (side.on_device && !reaches(*stream, memory_of(side.address, bytes))) {
            return ended(call, PARAMETER, "memory of the stream's device, or of a peer that it may access");
        }
    }
    const bool on_host = !target.on_device || !source.on_device;
    const void *host = target.on_device ? from : to;
    Pinned *pinned = on_host ? pinned_of(host, bytes) : nullptr;
    const bool pageable = on_host && pinned == nullptr;
    if (pageable && stream->graph != nullptr) {
        return ended(call, CAPTURE_MODE, "a copy of memory that is not pinned can't be captured");
    }
    if (pinned != nullptr && !source.on_device && stream->graph == nullptr) {
        mprotect(pinned->base, pages(pinned->bytes), PROT_READ);
        pinned->copies[stream] = stream->places + 1;
    }
    enqueue(handle, [=] { return copy("aclrtMemcpyAsync", target, source, bytes); });
    lock.unlock();
    ended(call, ACL_SUCCESS, std::to_string(bytes) + (pageable ? " bytes, not pinned, " : " bytes, ") + named(handle));
    // With memory that is not pinned, the call returns only after the copy is done.
    return pageable ? aclrtSynchronizeStream(handle) : ACL_SUCCESS;
}

aclError aclrtGetMemInfo(int, size_t *free, size_t *total) {
    if (current_device() < 0) {
        return ended("aclrtGetMemInfo", NO_DEVICE_SET, "this thread has set none");
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    size_t used = 0;
    for (const auto &[base, memory] : state().memory) {
        used += memory.device == current_device() ? memory.bytes : 0;
    }
    *total = size_t{64} << 30;
    *free = used < *total ? *total - used : 0;
    return ended("aclrtGetMemInfo", ACL_SUCCESS);
}

aclError aclrtPointerGetAttributes(const void *address, aclrtPtrAttributes *attributes) {
    if (current_device() < 0 || attributes == nullptr) {
        return ended("aclrtPointerGetAttributes", current_device() < 0 ? NO_DEVICE_SET : PARAMETER,
                     "a device and a place");
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    const Memory *memory = memory_of(address, 1);
    *attributes = {};
    attributes->location.type = memory != nullptr ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
    attributes->location.id = memory != nullptr ? static_cast<uint32_t>(memory->device) : 0;
    attributes->pageSize = PAGE;
    return ended("aclrtPointerGetAttributes", ACL_SUCCESS);
}

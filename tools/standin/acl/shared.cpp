// Physical memory, its mapping to addresses, and its names for other processes.
#include "state.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace standin {

constexpr size_t LARGE_PAGE = 2 << 20;

// Contents of a fabric handle in the stand-in: the location of the file, and its size and number, which identify it.
struct FabricName {
    char kind[8];
    int64_t process;
    int64_t file;
    uint64_t bytes;
    uint64_t number;
};

static const char KIND[8] = {'s', 't', 'a', 'n', 'd', '-', 'i', 'n'};

bool is_gone(const Memory &memory) {
    if (memory.mapped == nullptr || !memory.mapped->imported()) {
        return false;
    }
    pollfd owner = {memory.mapped->owner, POLLIN, 0};
    return poll(&owner, 1, 0) != 0;
}

// Each device of another process gets a new number.
static int next_device() {
    static int last = 1000;
    return ++last;
}

int name_physical(aclrtDrvMemHandle handle, void *name) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Physical *physical = static_cast<Physical *>(handle);
    struct stat of_file;
    if (state().physical.count(physical) == 0 || physical->imported() || fstat(physical->file, &of_file) != 0) {
        return PARAMETER;
    }
    FabricName fabric = {{}, getpid(), physical->file, physical->bytes, of_file.st_ino};
    std::memcpy(fabric.kind, KIND, sizeof KIND);
    std::memset(name, 0, sizeof(aclrtMemFabricHandle));
    std::memcpy(name, &fabric, sizeof fabric);
    return ACL_SUCCESS;
}

int physical_named(const void *name, aclrtDrvMemHandle *handle) {
    FabricName fabric;
    std::memcpy(&fabric, name, sizeof fabric);
    if (std::memcmp(fabric.kind, KIND, sizeof KIND) != 0 || fabric.process == getpid()) {
        return PARAMETER;
    }
    const std::string path = "/proc/" + std::to_string(fabric.process) + "/fd/" + std::to_string(fabric.file);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct stat of_file;
    const int owner = static_cast<int>(syscall(SYS_pidfd_open, fabric.process, 0));
    if (owner < 0 || file < 0 || fstat(file, &of_file) != 0 || of_file.st_ino != fabric.number) {
        return PARAMETER;
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    Physical *made = new Physical{file, fabric.bytes, next_device(), owner};
    state().physical.insert(made);
    *handle = made;
    return ACL_SUCCESS;
}

} // namespace standin

using namespace standin;

aclError aclrtReserveMemAddress(void **address, size_t bytes, size_t alignment, void *wanted, uint64_t) {
    if (bytes == 0 || bytes % LARGE_PAGE != 0 || alignment != 0 || wanted != nullptr) {
        return ended("aclrtReserveMemAddress", PARAMETER, "whole pages of 2 MiB, no alignment, no address");
    }
    void *base = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return ended("aclrtReserveMemAddress", OUT_OF_MEMORY, std::to_string(bytes) + " bytes");
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    state().reserved[static_cast<std::byte *>(base)] = bytes;
    *address = base;
    return ended("aclrtReserveMemAddress", ACL_SUCCESS);
}

aclError aclrtReleaseMemAddress(void *address) {
    std::lock_guard<std::mutex> lock(state().mutex);
    const auto found = state().reserved.find(static_cast<std::byte *>(address));
    if (found == state().reserved.end() || state().memory.count(found->first) != 0) {
        return ended("aclrtReleaseMemAddress", PARAMETER, "reserved addresses that nothing is mapped to");
    }
    munmap(address, found->second);
    state().reserved.erase(found);
    return ended("aclrtReleaseMemAddress", ACL_SUCCESS);
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t bytes, const aclrtPhysicalMemProp *prop,
                             uint64_t flags) {
    if (bytes == 0 || bytes % LARGE_PAGE != 0 || flags != 0 || prop->memAttr != ACL_HBM_MEM_HUGE ||
        prop->location.type != ACL_MEM_LOCATION_TYPE_DEVICE ||
        static_cast<int>(prop->location.id) != current_device()) {
        return ended("aclrtMallocPhysical", PARAMETER, "whole pages of 2 MiB on this thread's device, flags 0");
    }
    const int file = memfd_create("device", MFD_CLOEXEC);
    if (bytes > setting("HPMOE_STANDIN_MEMORY", UINT64_MAX) || file < 0 ||
        ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        return ended("aclrtMallocPhysical", OUT_OF_MEMORY, std::to_string(bytes) + " bytes");
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    Physical *made = new Physical{file, bytes, current_device()};
    state().physical.insert(made);
    *handle = made;
    return ended("aclrtMallocPhysical", ACL_SUCCESS);
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Physical *physical = static_cast<Physical *>(handle);
    if (state().physical.count(physical) == 0 || physical->mapped) {
        return ended("aclrtFreePhysical", BAD_HANDLE, "physical memory that is not mapped");
    }
    close(physical->file);
    if (physical->imported()) {
        close(physical->owner);
    }
    state().physical.erase(physical);
    delete physical;
    return ended("aclrtFreePhysical", ACL_SUCCESS);
}

aclError aclrtMapMem(void *address, size_t bytes, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Physical *physical = static_cast<Physical *>(handle);
    std::byte *base = static_cast<std::byte *>(address);
    const auto found = state().reserved.find(base);
    if (state().physical.count(physical) == 0 || found == state().reserved.end() || physical->mapped ||
        state().memory.count(base) != 0 || bytes != found->second || bytes != physical->bytes || offset != 0 ||
        flags != 0) {
        return ended("aclrtMapMem", PARAMETER,
                     "reserved addresses and physical memory of one size, offset and flags 0");
    }
    if (mmap(base, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, 0) == MAP_FAILED) {
        return ended("aclrtMapMem", OUT_OF_MEMORY, "not mapped");
    }
    physical->mapped = true;
    state().memory[base] = Memory{base, bytes, physical->device, physical};
    return ended("aclrtMapMem", ACL_SUCCESS);
}

aclError aclrtUnmapMem(void *address) {
    std::lock_guard<std::mutex> lock(state().mutex);
    const auto found = state().memory.find(static_cast<std::byte *>(address));
    if (found == state().memory.end() || found->second.mapped == nullptr || found->second.users > 0) {
        return ended("aclrtUnmapMem", PARAMETER, "memory that was mapped, and that nothing uses");
    }
    mmap(address, found->second.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    const_cast<Physical *>(found->second.mapped)->mapped = false;
    state().memory.erase(found);
    return ended("aclrtUnmapMem", ACL_SUCCESS);
}

aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags, aclrtMemSharedHandleType type,
                                           void *name) {
    // Neither an A2 nor a part of an NPU has a fabric.
    if (std::strncmp(chip(), "Ascend910B", 10) == 0 || setting("HPMOE_STANDIN_VIRTUAL", 0) != 0) {
        return ended("aclrtMemExportToShareableHandleV2", UNSUPPORTED, "an NPU that has fabric handles");
    }
    if (refused("export")) {
        return ended("aclrtMemExportToShareableHandleV2", REFUSED, "the stand-in was told to refuse");
    }
    if (flags != 1 || type != ACL_MEM_SHARE_HANDLE_TYPE_FABRIC || name_physical(handle, name) != ACL_SUCCESS) {
        return ended("aclrtMemExportToShareableHandleV2", PARAMETER,
                     "physical memory of this process, flags 1, a fabric handle");
    }
    return ended("aclrtMemExportToShareableHandleV2", ACL_SUCCESS);
}

aclError aclrtMemImportFromShareableHandleV2(void *name, aclrtMemSharedHandleType type, uint64_t flags,
                                             aclrtDrvMemHandle *handle) {
    if (refused("import")) {
        return ended("aclrtMemImportFromShareableHandleV2", REFUSED, "the stand-in was told to refuse");
    }
    if (type != ACL_MEM_SHARE_HANDLE_TYPE_FABRIC || flags != 0 || physical_named(name, handle) != ACL_SUCCESS) {
        return ended("aclrtMemImportFromShareableHandleV2", PARAMETER,
                     "a fabric handle of another process that lives, and flags 0");
    }
    return ended("aclrtMemImportFromShareableHandleV2", ACL_SUCCESS);
}

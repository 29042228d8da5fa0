// The calls of CANN's SHMEM library that the runtime makes, implemented on the devices of the stand-in.
#include "aclshmem.h"
#include "state.h"
#include "store.h"

#include <cstring>
#include <map>

namespace standin::shmem {

constexpr size_t LARGE_PAGE = 2 << 20;
constexpr uint64_t MOST_BYTES = 40ULL << 30;
constexpr int32_t MOST_PROCESSES = 16384;
// Number of bytes that the library adds to a heap for itself.
constexpr size_t ITS_OWN = 6 << 20;

// The library's error numbers.
enum Failure : int {
    BAD_PARAMETER = -1,
    BAD_VALUE = -2,
    NO_MEMORY = -3,
    WITHIN = -4,
    NOT_BEGUN = -5,
    NOT_JOINED = -6,
    TOO_LATE = -7,
};

struct Library {
    std::mutex mutex;
    Store store;
    bool encrypted = true;
    bool initialized = false;
    int process = -1;
    int processes = -1;
    size_t bytes = 0;               // size of each heap
    std::map<size_t, size_t> taken; // allocations, the same in all heaps: begin and end of each
    std::vector<std::byte *> heaps; // addresses in this process
    std::vector<aclrtDrvMemHandle> physical;
};

static Library &library() {
    static Library *all = new Library;
    return *all;
}

// The message about its heap that a process sends to the others.
struct Told {
    uint64_t bytes;
    char name[sizeof(aclrtMemFabricHandle)];
};

static bool map(Library &all, int process, aclrtDrvMemHandle physical) {
    void *base = nullptr;
    if (aclrtReserveMemAddress(&base, all.bytes, 0, nullptr, 1) != ACL_SUCCESS ||
        aclrtMapMem(base, all.bytes, 0, physical, 0) != ACL_SUCCESS) {
        return false;
    }
    all.physical[process] = physical;
    all.heaps[process] = static_cast<std::byte *>(base);
    return true;
}

// Allocates the heap of this process, and maps those of the others.
static int make_heaps(Library &all) {
    aclrtPhysicalMemProp what = {};
    what.memAttr = ACL_HBM_MEM_HUGE;
    what.location = {static_cast<uint32_t>(current_device()), ACL_MEM_LOCATION_TYPE_DEVICE};
    aclrtDrvMemHandle own = nullptr;
    Told told = {all.bytes, {}};
    const bool made = aclrtMallocPhysical(&own, all.bytes, &what, 0) == ACL_SUCCESS &&
                      name_physical(own, told.name) == ACL_SUCCESS && map(all, all.process, own);
    std::vector<std::string> texts;
    const std::string mine = made ? std::string(reinterpret_cast<const char *>(&told), sizeof told) : "";
    if (!all.store.gather(mine, texts)) {
        return TOO_LATE;
    }
    for (int process = 0; process < all.processes; ++process) {
        if (texts[process].size() != sizeof told) {
            return NO_MEMORY;
        }
        std::memcpy(&told, texts[process].data(), sizeof told);
        if (told.bytes != all.bytes) {
            return BAD_VALUE;
        }
        aclrtDrvMemHandle theirs = nullptr;
        if (process != all.process &&
            (physical_named(told.name, &theirs) != ACL_SUCCESS || !map(all, process, theirs))) {
            return NO_MEMORY;
        }
    }
    return all.store.gather("", texts) ? ACLSHMEM_SUCCESS : TOO_LATE;
}

static void drop_heaps(Library &all) {
    for (size_t process = 0; process < all.heaps.size(); ++process) {
        if (all.heaps[process] != nullptr) {
            aclrtUnmapMem(all.heaps[process]);
            aclrtFreePhysical(all.physical[process]);
            aclrtReleaseMemAddress(all.heaps[process]);
        }
    }
    all.heaps.clear();
}

// A message about a requirement that the attributes don't meet; empty if there is none.
static std::string wrong(const aclshmemx_init_attr_t &attributes) {
    const aclshmem_init_optional_attr_t &option = attributes.option_attr;
    if (attributes.my_pe < 0 || attributes.my_pe >= attributes.n_pes || attributes.n_pes > MOST_PROCESSES) {
        return "a process below the number of processes";
    }
    if (attributes.local_mem_size == 0 || attributes.local_mem_size > MOST_BYTES ||
        attributes.local_mem_size % LARGE_PAGE != 0) {
        return "whole pages of 2 MiB, at most 40 GiB";
    }
    if (option.version != (1 << 16) + static_cast<int32_t>(sizeof option) ||
        option.data_op_engine_type != ACLSHMEM_DATA_OP_MTE || option.shm_init_timeout == 0 ||
        option.shm_create_timeout == 0 || option.control_operation_timeout == 0) {
        return "version, engine and limits of the optional attributes";
    }
    if (std::memchr(attributes.ip_port, 0, sizeof attributes.ip_port) == nullptr || attributes.comm_args != nullptr ||
        attributes.instance_id != 0) {
        return "an address that ends, no communicator, the first instance";
    }
    return "";
}

// The first place between allocations with enough room, or the place after all of them.
static size_t free_place(const Library &all, size_t alignment, size_t bytes) {
    size_t at = 0;
    for (const auto &[begin, end] : all.taken) {
        if (at <= begin && bytes <= begin - at) {
            break;
        }
        at = (end + alignment - 1) / alignment * alignment;
    }
    return at;
}

} // namespace standin::shmem

using namespace standin;
using namespace standin::shmem;

int aclshmemx_init_status() {
    std::lock_guard<std::mutex> lock(library().mutex);
    return library().initialized ? ACLSHMEM_STATUS_IS_INITIALIZED : 0;
}

int32_t aclshmemx_set_conf_store_tls(bool enable, const char *, uint32_t) {
    std::lock_guard<std::mutex> lock(library().mutex);
    library().encrypted = enable;
    return ended("aclshmemx_set_conf_store_tls", ACLSHMEM_SUCCESS);
}

int aclshmemx_init_attr(uint32_t flags, aclshmemx_init_attr_t *attributes) {
    const char *call = "aclshmemx_init_attr";
    Library &all = library();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (all.initialized || current_device() < 0 || all.encrypted) {
        return ended(call, WITHIN, "the first call, a device, and no TLS, for which there are no certificates");
    }
    if (attributes == nullptr || flags != ACLSHMEMX_INIT_WITH_DEFAULT) {
        return ended(call, BAD_PARAMETER, "attributes with an address");
    }
    if (const std::string why = wrong(*attributes); !why.empty()) {
        return ended(call, BAD_VALUE, why);
    }
    if (refused("shmem")) {
        return ended(call, NOT_JOINED, "the stand-in was told to refuse");
    }
    all.process = attributes->my_pe;
    all.processes = attributes->n_pes;
    all.bytes = attributes->local_mem_size + ITS_OWN;
    all.taken.clear();
    all.heaps.assign(static_cast<size_t>(all.processes), nullptr);
    all.physical.assign(static_cast<size_t>(all.processes), nullptr);
    const aclshmem_init_optional_attr_t &option = attributes->option_attr;
    const std::string why = all.store.begin(all.process, all.processes, attributes->ip_port, option.sockFd,
                                            option.control_operation_timeout);
    if (!why.empty()) {
        return ended(call, NOT_JOINED, why);
    }
    if (const int failed = make_heaps(all); failed != ACLSHMEM_SUCCESS) {
        drop_heaps(all);
        all.store.end();
        return ended(call, failed, "a heap of the same size on each process");
    }
    all.initialized = true;
    return ended(call, ACLSHMEM_SUCCESS,
                 std::to_string(all.processes) + " processes, " + std::to_string(all.bytes) + " bytes");
}

int aclshmem_my_pe() {
    std::lock_guard<std::mutex> lock(library().mutex);
    return library().process;
}

int aclshmem_n_pes() {
    std::lock_guard<std::mutex> lock(library().mutex);
    return library().processes;
}

void *aclshmem_align(size_t alignment, size_t bytes) {
    const char *call = "aclshmem_align";
    Library &all = library();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (!all.initialized) {
        ended(call, NOT_BEGUN, "aclshmemx_init_attr before");
        return nullptr;
    }
    // All processes take part in this exchange, whatever size they ask for.
    std::vector<std::string> texts;
    const std::string mine = std::to_string(alignment) + ", " + std::to_string(bytes) + " bytes";
    if (!all.store.gather(mine, texts)) {
        ended(call, TOO_LATE, "all processes within the limit");
        return nullptr;
    }
    for (const std::string &theirs : texts) {
        if (theirs != mine) {
            ended(call, BAD_PARAMETER, "the same of all processes: " + mine + " and " + theirs);
            return nullptr;
        }
    }
    if (bytes == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) {
        ended(call, BAD_PARAMETER, "more than 0 bytes on a power of two");
        return nullptr;
    }
    const size_t at = free_place(all, alignment, bytes);
    if (at > all.bytes - ITS_OWN || bytes > all.bytes - ITS_OWN - at) {
        ended(call, NO_MEMORY, mine + " of " + std::to_string(all.bytes - ITS_OWN));
        return nullptr;
    }
    all.taken[at] = at + bytes;
    ended(call, ACLSHMEM_SUCCESS, mine);
    return all.heaps[all.process] + at;
}

void aclshmem_free(void *address) {
    const char *call = "aclshmem_free";
    Library &all = library();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (!all.initialized) {
        ended(call, NOT_BEGUN, "aclshmemx_init_attr before");
        return;
    }
    std::vector<std::string> texts;
    if (!all.store.gather("free", texts)) {
        ended(call, TOO_LATE, "all processes within the limit");
        return;
    }
    const size_t at = static_cast<size_t>(static_cast<std::byte *>(address) - all.heaps[all.process]);
    const bool known = all.taken.erase(at) == 1;
    ended(call, known ? ACLSHMEM_SUCCESS : BAD_PARAMETER, known ? "" : "what aclshmem_align gave");
}

void *aclshmem_ptr(void *address, int process) {
    const char *call = "aclshmem_ptr";
    Library &all = library();
    std::lock_guard<std::mutex> lock(all.mutex);
    const std::byte *own = all.initialized ? all.heaps[all.process] : nullptr;
    const std::byte *wanted = static_cast<std::byte *>(address);
    if (own == nullptr || wanted < own || wanted >= own + all.bytes || process < 0 || process >= all.processes) {
        ended(call, BAD_PARAMETER, "an address of this process's heap, and a process");
        return nullptr;
    }
    ended(call, ACLSHMEM_SUCCESS);
    return all.heaps[process] + (wanted - own);
}

int aclshmem_finalize() {
    const char *call = "aclshmem_finalize";
    Library &all = library();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (!all.initialized || current_device() < 0) {
        return ended(call, all.initialized ? WITHIN : NOT_BEGUN, "aclshmemx_init_attr before, and a device");
    }
    std::vector<std::string> texts;
    if (!all.store.gather("end", texts)) {
        return ended(call, TOO_LATE, "all processes within the limit");
    }
    drop_heaps(all);
    const bool together = all.store.gather("ended", texts);
    all.store.end();
    all.initialized = false;
    return ended(call, together ? ACLSHMEM_SUCCESS : TOO_LATE, "");
}

// Host memory that copies on streams read.
#include "state.h"

#include <sys/mman.h>

namespace standin {

Pinned *pinned_of(const void *address, size_t bytes) {
    std::byte *wanted = static_cast<std::byte *>(const_cast<void *>(address));
    auto next = state().pinned.upper_bound(wanted);
    if (next == state().pinned.begin()) {
        return nullptr;
    }
    Pinned &pinned = std::prev(next)->second;
    return wanted + bytes <= pinned.base + pinned.bytes ? &pinned : nullptr;
}

void learned(Stream *stream, uint64_t place) {
    for (auto &[base, pinned] : state().pinned) {
        const auto copy = pinned.copies.find(stream);
        if (copy != pinned.copies.end() && copy->second <= place) {
            pinned.copies.erase(copy);
            if (pinned.copies.empty()) {
                mprotect(base, pages(pinned.bytes), PROT_READ | PROT_WRITE);
            }
        }
    }
}

} // namespace standin

using namespace standin;

aclError aclrtMallocHost(void **address, size_t bytes) {
    if (current_device() < 0 || address == nullptr || bytes == 0) {
        return ended("aclrtMallocHost", current_device() < 0 ? NO_DEVICE_SET : PARAMETER,
                     "a device, a place and more than 0 bytes");
    }
    void *base = mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return ended("aclrtMallocHost", OUT_OF_MEMORY, std::to_string(bytes) + " bytes");
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    state().pinned[static_cast<std::byte *>(base)] = Pinned{static_cast<std::byte *>(base), bytes, {}};
    *address = base;
    return ended("aclrtMallocHost", ACL_SUCCESS);
}

aclError aclrtFreeHost(void *address) {
    std::lock_guard<std::mutex> lock(state().mutex);
    const auto found = state().pinned.find(static_cast<std::byte *>(address));
    if (found == state().pinned.end() || !found->second.copies.empty()) {
        return ended("aclrtFreeHost", PARAMETER,
                     "memory that aclrtMallocHost gave, and whose copies have been waited for");
    }
    munmap(address, pages(found->second.bytes));
    state().pinned.erase(found);
    return ended("aclrtFreeHost", ACL_SUCCESS);
}

// A device "npu" for PyTorch that uses memory and streams of CANN's runtime library. It replaces torch_npu as far as the tests need. Operators run on the CPU,
// on copies; views share memory.
#include "acl.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <mutex>
#include <utility>
#include <vector>

namespace {

constexpr int DEVICES = 8;
constexpr c10::DeviceType NPU = c10::DeviceType::PrivateUse1;

thread_local int current = 0;
aclrtStream streams[DEVICES];

void check(const char *call, aclError code) {
    TORCH_CHECK(code == ACL_SUCCESS, call, " failed: ", aclGetRecentErrMsg());
}

// Freed memory that streams may still be using. Like other device allocators, this one keeps it for later work on the same stream.
std::mutex freed_mutex;
std::vector<void *> freed[DEVICES];

void synchronize(int device) {
    check("aclrtSetDevice", aclrtSetDevice(device));
    check("aclrtSynchronizeStreamWithTimeout", aclrtSynchronizeStreamWithTimeout(streams[device], 60000));
    const std::lock_guard<std::mutex> lock(freed_mutex);
    for (void *memory : std::exchange(freed[device], {})) {
        aclrtFree(memory);
    }
}

template <int DEVICE> void release(void *memory) {
    const std::lock_guard<std::mutex> lock(freed_mutex);
    freed[DEVICE].push_back(memory);
}

constexpr c10::DeleterFnPtr RELEASE[DEVICES] = {&release<0>, &release<1>, &release<2>, &release<3>,
                                                &release<4>, &release<5>, &release<6>, &release<7>};

struct NpuAllocator final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override {
        void *memory = nullptr;
        if (bytes > 0) {
            check("aclrtSetDevice", aclrtSetDevice(current));
            check("aclrtMalloc", aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        }
        const c10::DeleterFnPtr deleter = memory == nullptr ? nullptr : RELEASE[current];
        return {memory, memory, deleter, c10::Device(NPU, static_cast<int8_t>(current))};
    }
    void copy_data(void *to, const void *from, size_t bytes) const override {
        check("aclrtMemcpy", aclrtMemcpy(to, bytes, from, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE));
    }
};

NpuAllocator allocator;
REGISTER_ALLOCATOR(NPU, &allocator);

struct NpuGuard final : c10::impl::DeviceGuardImplInterface {
    static constexpr c10::DeviceType static_type = NPU;
    c10::DeviceType type() const override { return NPU; }
    c10::Device exchangeDevice(c10::Device device) const override {
        const c10::Device before = getDevice();
        setDevice(device);
        return before;
    }
    c10::Device getDevice() const override { return {NPU, static_cast<int8_t>(current)}; }
    void setDevice(c10::Device device) const override { current = device.index() < 0 ? current : device.index(); }
    void uncheckedSetDevice(c10::Device device) const noexcept override { setDevice(device); }
    c10::Stream getStream(c10::Device device) const noexcept override {
        return c10::Stream(c10::Stream::DEFAULT, device);
    }
    c10::Stream exchangeStream(c10::Stream stream) const noexcept override { return stream; }
    c10::DeviceIndex deviceCount() const noexcept override { return DEVICES; }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, NpuGuard);

struct NpuHooks final : at::PrivateUse1HooksInterface {
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    bool isAvailable() const override { return true; }
    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override {
        // The old contents are lost: only results without a size are resized.
        storage.set_data_ptr(allocator.allocate(bytes));
        storage.set_nbytes(bytes);
    }
};

NpuHooks hooks;
const bool hooked = [] {
    at::RegisterPrivateUse1HooksInterface(&hooks);
    return true;
}();

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
    const c10::OptionalDeviceGuard guard(device);
    return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &allocator,
                                     c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(type),
                                     format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
    const c10::OptionalDeviceGuard guard(device);
    return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &allocator,
                                             c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                             c10::dtype_or_default(type));
}

at::Tensor as_strided(const at::Tensor &self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
    return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                                             offset ? std::optional<int64_t>(offset->guard_int(__FILE__, __LINE__))
                                                    : std::nullopt);
}

at::Tensor reshape_alias(const at::Tensor &self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
    return as_strided(self, size, stride, self.sym_storage_offset());
}

at::Tensor view(const at::Tensor &self, c10::SymIntArrayRef size) {
    return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

// Copies the bytes of a tensor's storage to the host. For a tensor with gaps between elements, this is the whole storage.
at::Tensor on_host(const at::Tensor &self) {
    const c10::Storage &storage = self.storage();
    at::Tensor bytes = at::empty({static_cast<int64_t>(storage.nbytes())}, at::kByte);
    if (storage.nbytes() > 0) {
        check("aclrtMemcpy", aclrtMemcpy(bytes.data_ptr(), storage.nbytes(), storage.data(), storage.nbytes(),
                                         ACL_MEMCPY_DEVICE_TO_HOST));
    }
    return at::empty({0}, self.options().device(at::kCPU))
        .set_(bytes.storage(), self.storage_offset(), self.sizes(), self.strides());
}

at::Tensor copy_from(const at::Tensor &self, const at::Tensor &to, bool) {
    const int device = (self.device().type() == NPU ? self : to).device().index();
    synchronize(device);
    const at::Tensor from = self.device().type() == NPU ? on_host(self) : self;
    if (to.device().type() != NPU) {
        to.copy_(from);
        return to;
    }
    synchronize(to.device().index());
    const at::Tensor host = on_host(to);
    host.copy_(from);
    const size_t bytes = to.storage().nbytes();
    if (bytes > 0) {
        check("aclrtMemcpy",
              aclrtMemcpy(to.storage().mutable_data(), bytes, host.storage().data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    }
    return to;
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &to) {
    const c10::DeviceGuard guard(to.device());
    hooks.resizePrivateUse1Bytes(to.storage(), self.nbytes());
    to.unsafeGetTensorImpl()->set_sizes_contiguous(self.sizes());
    return copy_from(self, to, false);
}

void fallback(const c10::OperatorHandle &operation, torch::jit::Stack *stack) {
    at::native::cpu_fallback(operation, stack);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", &empty);
    m.impl("empty_strided", &empty_strided);
    m.impl("as_strided", &as_strided);
    m.impl("view", &view);
    m.impl("_reshape_alias", &reshape_alias);
    m.impl("_copy_from", &copy_from);
    m.impl("_copy_from_and_resize", &copy_from_and_resize);
}

} // namespace

// Functions for the module torch.npu.
extern "C" {
int npu_current() { return current; }
void npu_set(int device) { current = device; }
void *npu_stream(int device) { return streams[device]; }
void npu_set_stream(int device, void *stream) { streams[device] = stream; }
void *npu_new_stream(int device) {
    aclrtStream stream = nullptr;
    check("aclrtSetDevice", aclrtSetDevice(device));
    check("aclrtCreateStream", aclrtCreateStream(&stream));
    return stream;
}
void npu_synchronize(int device) { synchronize(device); }
}

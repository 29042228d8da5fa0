// Tensors, and the only operation of the stand-in: the conversion of f32 to bf16.
#include "ascendcl.h"
#include "state.h"

#include <cstring>

struct aclDataBuffer {
    void *data;
    size_t bytes;
};

struct aclTensorDesc {
    int type;
    int format;
    std::vector<int64_t> sizes;
};

struct aclopAttr {};

namespace standin {

// Rounds to the nearest bf16, ties to even. A NaN stays a NaN.
static uint16_t rounded(uint32_t bits) {
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return static_cast<uint16_t>(bits >> 16 | 0x40);
    }
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Runs on the stream's thread. Both addresses are in the memory of the stream's device.
static int convert(const void *from, void *to, size_t elements) {
    std::unique_lock<std::mutex> lock(state().mutex);
    Memory *source = memory_of(from, 4 * elements), *target = memory_of(to, 2 * elements);
    if (source == nullptr || target == nullptr) {
        return ended("Cast", PARAMETER, "no memory of a device holds all elements");
    }
    open(*source);
    open(*target);
    lock.unlock();
    for (size_t i = 0; i < elements; ++i) {
        uint32_t bits;
        std::memcpy(&bits, static_cast<const char *>(from) + 4 * i, sizeof bits);
        const uint16_t half = rounded(bits);
        std::memcpy(static_cast<char *>(to) + 2 * i, &half, sizeof half);
    }
    lock.lock();
    close(*target);
    close(*source);
    return ended("Cast", ACL_SUCCESS, std::to_string(elements) + " elements");
}

} // namespace standin

using namespace standin;

aclDataBuffer *aclCreateDataBuffer(void *data, size_t bytes) { return new aclDataBuffer{data, bytes}; }

aclError aclDestroyDataBuffer(const aclDataBuffer *buffer) {
    delete buffer;
    return ACL_SUCCESS;
}

aclTensorDesc *aclCreateTensorDesc(int type, int dimensions, const int64_t *sizes, int format) {
    return new aclTensorDesc{type, format, std::vector<int64_t>(sizes, sizes + dimensions)};
}

void aclDestroyTensorDesc(const aclTensorDesc *desc) { delete desc; }

int aclGetTensorDescType(const aclTensorDesc *desc) { return desc->type; }

int aclGetTensorDescFormat(const aclTensorDesc *desc) { return desc->format; }

size_t aclGetTensorDescNumDims(const aclTensorDesc *desc) { return desc->sizes.size(); }

aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *size) {
    if (index >= desc->sizes.size()) {
        return ended("aclGetTensorDescDimV2", PARAMETER, "no such dimension");
    }
    *size = desc->sizes[index];
    return ACL_SUCCESS;
}

aclopAttr *aclopCreateAttr() { return new aclopAttr; }

void aclopDestroyAttr(const aclopAttr *attr) { delete attr; }

aclError aclopCompileAndExecute(const char *operation, int inputs, const aclTensorDesc *const *input_descs,
                                const aclDataBuffer *const *input_buffers, int outputs,
                                const aclTensorDesc *const *output_descs, aclDataBuffer *const *output_buffers,
                                const aclopAttr *, int, int, const char *, aclrtStream stream) {
    const char *call = "aclopCompileAndExecute";
    if (std::strcmp(operation, "Cast") != 0 || inputs != 1 || outputs != 1 || input_descs[0]->type != ACL_FLOAT ||
        output_descs[0]->type != ACL_BF16) {
        return ended(call, UNSUPPORTED, std::string("the stand-in has no operation ") + operation);
    }
    size_t elements = 1;
    for (const int64_t size : output_descs[0]->sizes) {
        elements *= static_cast<size_t>(size);
    }
    if (input_descs[0]->sizes != output_descs[0]->sizes || input_buffers[0]->bytes < 4 * elements ||
        output_buffers[0]->bytes < 2 * elements) {
        return ended(call, PARAMETER, "two tensors of one shape, with room for their elements");
    }
    const void *from = input_buffers[0]->data;
    void *to = output_buffers[0]->data;
    std::lock_guard<std::mutex> lock(state().mutex);
    if (!enqueue(stream, [=] { return convert(from, to, elements); })) {
        return ended(call, BAD_HANDLE, "no such stream");
    }
    return ended(call, ACL_SUCCESS, "Cast, " + named(stream));
}

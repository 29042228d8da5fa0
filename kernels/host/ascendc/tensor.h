// GlobalTensor and LocalTensor: typed addresses. A LocalTensor also has an end. Neither owns memory or checks bounds;
// the calls that use them check.
#pragma once

#include <cstring>

#include "ascendc/bridge.h"

namespace AscendC {

template <typename T> class GlobalTensor;
template <typename T> class LocalTensor;

namespace host {

template <typename T> Global place(const GlobalTensor<T> &tensor);
template <typename T> Local place(const LocalTensor<T> &tensor);

/// The result of `GlobalTensor::operator()`, which is `__gm__ T &` on the device. Here it converts only to a `volatile`
/// reference, for a load that is never optimized away.
template <typename T> class Element {
  public:
    Element(uint64_t address, Where where) : address_(address), where_(where) {}
    operator const volatile T &() const {
        uint64_t bits = loadGlobal(address_, sizeof(T), where_);
        std::memcpy(static_cast<void *>(&value_), &bits, sizeof(T));
        return value_;
    }

  private:
    uint64_t address_;
    Where where_;
    mutable T value_ = {};
};

} // namespace host

template <typename T> class GlobalTensor {
  public:
    using PrimType = T;

    GlobalTensor() {}

    void SetGlobalBuffer(__gm__ T *buffer) { buffer_ = buffer; }
    void SetGlobalBuffer(__gm__ T *buffer, uint64_t) { buffer_ = buffer; }

    GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor moved;
        moved.buffer_ = reinterpret_cast<T *>(address() + offset * sizeof(T));
        return moved;
    }

    const __gm__ T *GetPhyAddr() const { return buffer_; }
    __gm__ T *GetPhyAddr(uint64_t offset) const { return buffer_ + offset; }

    T GetValue(uint64_t offset, host::Where where = host::Where::here()) const {
        uint64_t bits = host::loadGlobal(address() + offset * sizeof(T), sizeof(T), where);
        T value;
        std::memcpy(static_cast<void *>(&value), &bits, sizeof(T));
        return value;
    }
    host::Element<T> operator()(uint64_t offset, host::Where where = host::Where::here()) const {
        return host::Element<T>(address() + offset * sizeof(T), where);
    }
    void SetValue(uint64_t offset, T value, host::Where where = host::Where::here()) {
        host::storeGlobal(address() + offset * sizeof(T), sizeof(T), host::rawBits(value), where);
    }

  private:
    friend host::Global host::place<T>(const GlobalTensor &tensor);
    uint64_t address() const { return reinterpret_cast<uint64_t>(buffer_); }
    __gm__ T *buffer_ = nullptr;
};

template <typename T> class LocalTensor {
  public:
    using PrimType = T;

    LocalTensor() {}
    LocalTensor(TPosition position, uint32_t byteAddress, uint32_t elements)
        : position_(position), address_(byteAddress), elements_(elements) {}

    LocalTensor operator[](uint32_t offset) const {
        static_assert(host::dtOf<T> != host::Dt::I4,
                      "the model has no offsets of numbers of four bits: take one in bytes");
        uint32_t left = offset < elements_ ? elements_ - offset : 0u;
        return LocalTensor(position_, address_ + offset * static_cast<uint32_t>(sizeof(T)), left);
    }

    template <typename U> LocalTensor<U> ReinterpretCast() const {
        uint64_t bytes = host::bytesOf(host::dtOf<T>, elements_);
        uint64_t elements = host::dtOf<U> == host::Dt::I4 ? bytes * 2 : bytes / sizeof(U);
        return LocalTensor<U>(position_, address_, static_cast<uint32_t>(elements));
    }

    T GetValue(uint32_t index, host::Where where = host::Where::here()) const {
        static_assert(host::dtOf<T> != host::Dt::I4, "the model has no scalar access to numbers of four bits");
        uint64_t bits = host::loadLocal(host::place((*this)[index]), where);
        T value;
        std::memcpy(static_cast<void *>(&value), &bits, sizeof(T));
        return value;
    }
    void SetValue(uint32_t index, T value, host::Where where = host::Where::here()) const {
        static_assert(host::dtOf<T> != host::Dt::I4, "the model has no scalar access to numbers of four bits");
        host::storeLocal(host::place((*this)[index]), host::rawBits(value), where);
    }

    uint32_t GetSize() const { return elements_; }
    int32_t GetPosition() const { return static_cast<int32_t>(position_); }

  private:
    friend host::Local host::place<T>(const LocalTensor &tensor);
    TPosition position_ = TPosition::GM;
    uint32_t address_ = 0;
    uint32_t elements_ = 0;
};

namespace host {

template <typename T> inline Global place(const GlobalTensor<T> &tensor) { return Global{tensor.address(), dtOf<T>}; }

template <typename T> inline Local place(const LocalTensor<T> &tensor) {
    const uint64_t end = tensor.address_ + bytesOf(dtOf<T>, tensor.elements_);
    return Local{tensor.position_, dtOf<T>, tensor.address_, static_cast<uint32_t>(end)};
}

} // namespace host

} // namespace AscendC

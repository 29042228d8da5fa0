// Puts: copies of rows from this rank to a peer, through two halves of UB.
#pragma once

#include "hpmoe/memory.h"
#include "hpmoe/vector_core.h"

namespace hpmoe {

// The layout of UB during a put, for VectorCore::Use. All puts divide UB in the same way, and no task has this layout.
constexpr uint32_t PUT_LAYOUT = ~2u;

// Rows of a tensor as bytes, because a put does not interpret what it copies.
struct ByteRows {
    uint64_t address;
    uint32_t bytes; // bytes of a row
    uint32_t pitch; // bytes from one row to the next
};

template <typename T> HPMOE_INLINE ByteRows Bytes(const View<T> &view) {
    const uint32_t size = static_cast<uint32_t>(sizeof(T));
    return ByteRows{view.address, view.cols * size, view.pitch * size};
}

// Loads `count` rows, from row `row` on, one after another into UB. Each row starts at a multiple of 32 bytes.
HPMOE_INLINE void RowsIn(const LocalTensor<uint8_t> &ub, const ByteRows &from, uint64_t row, uint32_t count) {
    DataCopyPad(ub, Global<uint8_t>(from.address + row * from.pitch),
                DataCopyExtParams(static_cast<uint16_t>(count), from.bytes, from.pitch - from.bytes, 0, 0),
                DataCopyPadExtParams<uint8_t>());
}

HPMOE_INLINE void RowsOut(const ByteRows &to, uint64_t row, uint32_t count, const LocalTensor<uint8_t> &ub) {
    DataCopyPad(Global<uint8_t>(to.address + row * to.pitch), ub,
                DataCopyExtParams(static_cast<uint16_t>(count), to.bytes, 0, to.pitch - to.bytes, 0));
}

HPMOE_INLINE LocalTensor<uint8_t> PutHalf(uint32_t half) { return Ub<uint8_t>(half * UB_HALF, UB_HALF); }

// The (token, k) of row `row` of a piece that arrived. It is valid until the next put.
HPMOE_INLINE int32_t Origin(uint32_t row) { return Ub<int32_t>(UB_ORIGINS, UB_TASKS - UB_ORIGINS).GetValue(row); }

// Loads the (token, k) of `rows` rows into UB. The previous ones are no longer in use: a put that sends them, or the
// last put that is joined to it, ends with a fence, and a put that reads them has read them.
HPMOE_INLINE void OriginsIn(uint64_t from, uint32_t rows) {
    const uint32_t bytes = rows * 4;
    RowsIn(Ub<uint8_t>(UB_ORIGINS, UB_TASKS - UB_ORIGINS), ByteRows{from, bytes, bytes}, 0, 1);
}

// Sends the (token, k) of a piece's rows, which were put before, to `origins` on the peer.
HPMOE_ROUTINE void PutOrigins(VectorCore &core, const Tile &piece, const View<int32_t> &origins) {
    HPMOE_EXPECTS(origins.rows == piece.rows && origins.cols == 1 && origins.pitch == 1);
    OriginsIn(core.Sent(piece), piece.rows);
    SetFlag<HardEvent::MTE2_MTE3>(2);
    WaitFlag<HardEvent::MTE2_MTE3>(2);
    const uint32_t bytes = piece.rows * 4;
    RowsOut(ByteRows{origins.address, bytes, bytes}, 0, 1, Ub<uint8_t>(UB_ORIGINS, UB_TASKS - UB_ORIGINS));
}

// Puts rows `list[i] / per_row` of `from` to consecutive rows of `to`, on the piece's peer, which may be this rank.
HPMOE_ROUTINE void PutGathered(VectorCore &core, const Tile &piece, const ByteRows &from, uint64_t list,
                               uint32_t per_row, const ByteRows &to) {
    HPMOE_EXPECTS(from.bytes == to.bytes);
    core.Use(PUT_LAYOUT);
    const uint32_t row_bytes = AlignUp(from.bytes, BLOCK_BYTES);
    const uint32_t half_rows = UB_HALF / row_bytes;
    for (uint32_t row = 0; row < piece.rows; row += half_rows) {
        const int32_t id = static_cast<int32_t>(core.half);
        const uint32_t count = Min(half_rows, piece.rows - row);
        const LocalTensor<uint8_t> ub = PutHalf(core.half);
        WaitFlag<HardEvent::MTE3_MTE2>(id);
        for (uint32_t i = 0; i < count; ++i) {
            RowsIn(ub[i * row_bytes], from, static_cast<uint32_t>(Word<int32_t>(list, row + i)) / per_row, 1);
        }
        SetFlag<HardEvent::MTE2_MTE3>(id);
        WaitFlag<HardEvent::MTE2_MTE3>(id);
        RowsOut(to, row, count, ub);
        SetFlag<HardEvent::MTE3_MTE2>(id);
        core.half ^= 1;
    }
}

// Puts consecutive rows of `from` to rows `origins[i]` of `to` on the peer.
HPMOE_ROUTINE void PutScattered(VectorCore &core, const Tile &piece, const ByteRows &from, const ByteRows &to,
                                const View<int32_t> &origins) {
    HPMOE_EXPECTS(from.bytes == to.bytes);
    HPMOE_EXPECTS(origins.rows == piece.rows && origins.cols == 1 && origins.pitch == 1);
    core.Use(PUT_LAYOUT);
    OriginsIn(origins.address, piece.rows);
    SetFlag<HardEvent::MTE2_S>(0);
    const uint32_t row_bytes = AlignUp(from.bytes, BLOCK_BYTES);
    const uint32_t half_rows = UB_HALF / row_bytes;
    for (uint32_t row = 0; row < piece.rows; row += half_rows) {
        const int32_t id = static_cast<int32_t>(core.half);
        const uint32_t count = Min(half_rows, piece.rows - row);
        const LocalTensor<uint8_t> ub = PutHalf(core.half);
        WaitFlag<HardEvent::MTE3_MTE2>(id);
        RowsIn(ub, from, row, count);
        SetFlag<HardEvent::MTE2_MTE3>(id);
        WaitFlag<HardEvent::MTE2_MTE3>(id);
        if (row == 0) {
            WaitFlag<HardEvent::MTE2_S>(0);
        }
        for (uint32_t i = 0; i < count; ++i) {
            RowsOut(to, static_cast<uint32_t>(Origin(row + i)), 1, ub[i * row_bytes]);
        }
        SetFlag<HardEvent::MTE3_MTE2>(id);
        core.half ^= 1;
    }
}

// Follows a scattering put. For each block of `slots` slots on the peer, adds the number of the piece's rows in that
// block to the block's counter. A piece's rows are in ascending order of (token, k). `first` is the chunk's first
// block.
HPMOE_ROUTINE void SignalBlocks(VectorCore &core, const Tile &piece, uint32_t array, uint32_t first, uint32_t slots) {
    uint32_t begin = 0;
    uint32_t block = static_cast<uint32_t>(Origin(0)) / slots;
    for (uint32_t row = 1; row <= piece.rows; ++row) {
        const uint32_t next = row < piece.rows ? static_cast<uint32_t>(Origin(row)) / slots : ~0u;
        if (next != block) {
            core.SignalPeer(piece.peer, array, first + block, row - begin);
            begin = row;
            block = next;
        }
    }
}

} // namespace hpmoe

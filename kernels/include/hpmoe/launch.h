// A launch as its cores see it: the tensors of this rank and of its peers, and the tables of rows.
#pragma once

#include "hpmoe/tile.h"
#include "hpmoe/view.h"

namespace hpmoe {

struct Launch {
    HpmoeLaunch launch;
    uint64_t ids; // GM int32[tokens * top_k], negative for an empty slot; zero if no slot is empty

    HPMOE_INLINE uint64_t Heap(uint32_t rank) const { return Word<uint64_t>(launch.peers, rank); }

    template <typename T> HPMOE_INLINE View<T> Of(const Private<T> &tensor) const {
        HPMOE_EXPECTS(IsPitch<T>(tensor.pitch, tensor.columns));
        return View<T>{Word<uint64_t>(launch.tensors, tensor.number), ~0u, tensor.columns, tensor.pitch};
    }
    template <typename T> HPMOE_INLINE View<T> Of(const Symmetric<T> &tensor) const {
        return OfPeer(tensor, launch.rank);
    }
    template <typename T> HPMOE_INLINE View<T> OfPeer(const Symmetric<T> &tensor, uint32_t peer) const {
        HPMOE_EXPECTS(IsPitch<T>(tensor.pitch, tensor.columns));
        const uint64_t offset = Word<uint64_t>(launch.tensors, tensor.number);
        return View<T>{Heap(peer) + offset, ~0u, tensor.columns, tensor.pitch};
    }
    template <typename T> HPMOE_INLINE View<T> Of(const Shared<T> &tensor) const { return OfPeer(tensor, launch.rank); }
    template <typename T> HPMOE_INLINE View<T> OfPeer(const Shared<T> &tensor, uint32_t peer) const {
        HPMOE_EXPECTS(IsPitch<T>(tensor.pitch, tensor.columns));
        const uint64_t addresses = Word<uint64_t>(launch.tensors, tensor.number);
        return View<T>{Word<uint64_t>(addresses, peer), ~0u, tensor.columns, tensor.pitch};
    }

    HPMOE_INLINE uint32_t ExpertRows(uint32_t expert) const {
        return static_cast<uint32_t>(Word<int32_t>(launch.experts, 2 * expert + 1));
    }
    // Number of rows in a row tile of at most `height` rows, which starts at row `at` of an expert of this rank.
    HPMOE_INLINE uint32_t TileRows(uint32_t expert, uint32_t at, uint32_t height) const {
        return Min(height, ExpertRows(expert) - at / height * height);
    }
    // Number of rows that this rank receives in a chunk.
    HPMOE_INLINE uint32_t ReceivedRows(uint32_t chunk) const {
        const uint32_t first = chunk * launch.chunk_experts;
        const uint32_t last = first + launch.chunk_experts - 1;
        const int32_t rows = Word<int32_t>(launch.experts, 2 * last) - Word<int32_t>(launch.experts, 2 * first);
        return static_cast<uint32_t>(rows) + ExpertRows(last);
    }
    // First token of a chunk on this rank.
    HPMOE_INLINE uint32_t FirstToken(uint32_t chunk) const { return Min(chunk * launch.chunk_tokens, launch.tokens); }
    HPMOE_INLINE uint32_t ChunkTokens(uint32_t chunk) const {
        return Min(launch.chunk_tokens, launch.tokens - FirstToken(chunk));
    }
    // Number of tokens in a block of at most `height` tokens. Blocks are numbered from the first block of the chunk.
    HPMOE_INLINE uint32_t BlockTokens(uint32_t chunk, uint32_t block, uint32_t height) const {
        return Min(height, ChunkTokens(chunk) - block * height);
    }
    // Address of the ids of a chunk's slots, starting with those of token `first`; zero if this rank has no empty slot.
    HPMOE_INLINE uint64_t Ids(uint32_t chunk, uint32_t first, uint32_t top_k) const {
        return ListFrom(ids, (FirstToken(chunk) + first) * top_k);
    }
    // Number of non-empty slots of `tokens` tokens of a chunk, from token `first` on.
    HPMOE_ROUTINE uint32_t FullSlots(uint32_t chunk, uint32_t first, uint32_t tokens, uint32_t top_k) const {
        const uint32_t slots = tokens * top_k;
        const uint64_t list = Ids(chunk, first, top_k);
        uint32_t full = slots;
        for (uint32_t slot = 0; list != 0 && slot < slots; ++slot) {
            full -= Word<int32_t>(list, slot) < 0 ? 1 : 0;
        }
        return full;
    }
    // Number of non-empty slots of a chunk, which is the number of rows that this rank sends.
    HPMOE_ROUTINE uint32_t SlotsSent(uint32_t chunk, uint32_t top_k) const {
        uint32_t rows = ids == 0 ? ChunkTokens(chunk) * top_k : 0;
        for (uint32_t peer = 0; ids != 0 && peer < launch.ranks; ++peer) {
            for (uint32_t expert = 0; expert < launch.chunk_experts; ++expert) {
                const uint32_t pair = peer * launch.local_experts + chunk * launch.chunk_experts + expert;
                rows += static_cast<uint32_t>(Load<HpmoePair>(launch.sends + pair * sizeof(HpmoePair)).rows);
            }
        }
        return rows;
    }
    // Number of the tile's expert among the experts of its owner, the same in every chunk.
    HPMOE_INLINE uint32_t OwnExpert(const Tile &tile) const { return tile.expert - tile.chunk * launch.chunk_experts; }
    // Number of row tiles of a space that come before those of a local expert: on this rank, or (FirstTileAt) on a
    // peer.
    HPMOE_INLINE uint32_t FirstTile(uint32_t space, uint32_t expert) const {
        const uint64_t table = Word<uint64_t>(launch.spaces + space * sizeof(HpmoeSpace), 0);
        return static_cast<uint32_t>(Word<int32_t>(table, expert));
    }
    HPMOE_INLINE uint32_t FirstTileAt(uint32_t space, uint32_t peer, uint32_t expert) const {
        const uint64_t table = Word<uint64_t>(launch.spaces + space * sizeof(HpmoeSpace), 1);
        return static_cast<uint32_t>(Word<int32_t>(table, peer * launch.local_experts + expert));
    }
    // Number of row tiles of a space in a chunk on this rank.
    HPMOE_INLINE uint32_t RowTiles(uint32_t space, uint32_t chunk) const {
        const uint32_t first = chunk * launch.chunk_experts;
        return FirstTile(space, first + launch.chunk_experts) - FirstTile(space, first);
    }

    // Number of the first once-sent row of an expert of this rank.
    HPMOE_INLINE uint32_t FirstRowOnce(uint32_t expert) const {
        return static_cast<uint32_t>(Word<int32_t>(launch.experts, 2 * (launch.local_experts + expert)));
    }
    HPMOE_INLINE uint32_t ExpertRowsOnce(uint32_t expert) const { return ExpertRows(launch.local_experts + expert); }

    // Addresses of int32 lists for the rows of a tile. Sent: the slots that a piece sends. RowsOnce: the once-sent rows
    // of a row tile's tokens. Origins: the (token, k) of a piece that arrived.
    HPMOE_INLINE uint64_t Sent(const Tile &tile) const { return launch.order + static_cast<uint64_t>(tile.order) * 4; }
    HPMOE_INLINE uint64_t RowsOnce(const Tile &tile) const {
        return launch.rows_once + static_cast<uint64_t>(tile.first) * 4;
    }
    HPMOE_INLINE View<int32_t> Origins(const Tile &tile) const {
        return View<int32_t>{launch.origins + static_cast<uint64_t>(tile.first) * 4, tile.rows, 1, 1};
    }

    // Number of the counter array HpmoeRouting.made.
    HPMOE_INLINE uint32_t RouteMade() const {
        return Word<uint32_t>(launch.routing, __builtin_offsetof(HpmoeRouting, made) / sizeof(uint32_t));
    }
};

} // namespace hpmoe

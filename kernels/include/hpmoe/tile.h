// One tile of a phase with its coordinates resolved, and how the tiles of an entry are found.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// Fields that the kind of the space does not have are zero.
struct Tile {
    uint32_t phase;
    uint32_t group;  // as in HpmoeSpaceKind
    uint32_t item;   // of the group
    uint32_t column; // the constant ranges around the call, flattened
    uint32_t rows;   // of the row tile or piece; tokens of the block
    uint32_t first;  // first received row at the expert's owner; blocks: first token, counted from that of the chunk
    uint32_t number; // row tiles: among all row tiles of this rank; blocks: which block
    uint32_t expert; // local expert at its owner
    uint32_t chunk;
    uint32_t at;    // row tiles, pieces: first row within the expert
    uint32_t peer;  // pieces
    uint32_t order; // sends: place of the first row in HpmoeLaunch.order
};

// Where tile `t` of an entry lies: bands of `band` items, each walked column by column, so that tiles made at the
// same time share rows and columns. The last band may be lower.
struct Place {
    uint32_t item;
    uint32_t column;
};

HPMOE_INLINE Place Swizzle(uint32_t t, uint32_t items, uint32_t columns, uint32_t band) {
    const uint32_t first = t / (band * columns) * band;
    const uint32_t height = Min(band, items - first);
    const uint32_t inside = t - first * columns;
    return Place{first + inside % height, inside / height};
}

// Pieces of a pair are cut where the receiver's row tiles of the same height are.
HPMOE_INLINE void CutPiece(Tile &tile, const HpmoePair &pair, uint32_t height) {
    const uint32_t at = static_cast<uint32_t>(pair.at);
    const uint32_t row_tile = at / height + tile.item;
    const uint32_t begin = tile.item == 0 ? at : row_tile * height;
    const uint32_t end = Min((row_tile + 1) * height, at + static_cast<uint32_t>(pair.rows));
    tile.rows = end - begin;
    tile.at = begin;
    tile.first = static_cast<uint32_t>(pair.base) + begin;
    tile.order = static_cast<uint32_t>(pair.order) + begin - at;
}

} // namespace hpmoe

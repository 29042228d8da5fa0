// One tile of a phase with its coordinates, and how the tiles of an entry are found.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// A tile of a phase. Fields that don't apply to the kind of its space are zero.
struct Tile {
    uint32_t phase;
    uint32_t group;  // see HpmoeSpaceKind
    uint32_t item;   // number of the item in its group
    uint32_t column; // index over the constant ranges around the call, flattened
    uint32_t rows;   // rows of the row tile or piece; tokens of the block
    uint32_t first;  // first received row on the expert's owner; blocks: first token, counted from the chunk's first
    uint32_t number; // row tiles: number among all row tiles of this rank; blocks: number of the block
    uint32_t expert; // number of the local expert on its owner
    uint32_t chunk;
    uint32_t at;    // row tiles, pieces: first row within the expert
    uint32_t peer;  // pieces: the other rank
    uint32_t order; // sends: position of the first row in HpmoeLaunch.order
};

// The item and column of tile `t` of an entry. Items are grouped in bands of `band` items, and each band is processed
// column by column, so that tiles that run at the same time share rows and columns. The last band may have fewer items.
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

// Sets the rows of a piece. Pieces of a pair are cut at the boundaries of the receiver's row tiles of the same height.
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

// The turns in which ranks put their rows for an expert; see route/turns.rs.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// The turns of rows [start, end) of an expert, which one rank sends. Rows are cut at multiples of `turn` rows. The
// first turn has both ends, whose cuts also contain rows of other ranks; each later turn has one whole cut.
struct PairTurns {
    uint32_t start, end, turn;
    uint32_t whole, behind; // the first row of the whole cuts, and the row after the last one
    uint32_t at_first;      // whole cuts in the first turn

    // The turn that a row belongs to.
    HPMOE_INLINE uint32_t Of(uint32_t row) const {
        return row < whole || row >= behind ? 0 : (row - whole) / turn + 1 - at_first;
    }
};

HPMOE_INLINE PairTurns PairTurnsOf(uint32_t start, uint32_t end, uint32_t turn) {
    uint32_t whole = CeilDiv(start, turn) * turn, behind = end / turn * turn;
    if (whole >= behind) {
        whole = end;
        behind = end;
    }
    const uint32_t ends = (whole - start) + (end - behind);
    return PairTurns{start, end, turn, whole, behind, whole < behind && 2 * ends < turn ? 1u : 0u};
}

// The pieces of a rank's rows for an expert, cut at multiples of a height, in the order in which they are put: turn by
// turn.
struct PieceTurns {
    uint32_t pieces;
    uint32_t behind; // pieces after all whole cuts; they come first in the order
    uint32_t first;  // pieces in the first turn
    uint32_t each;   // pieces in each later turn

    // Position of the first piece of a turn.
    HPMOE_INLINE uint32_t Begin(uint32_t turn) const { return turn == 0 ? 0 : Min(pieces, first + (turn - 1) * each); }

    // The piece at position `place`.
    HPMOE_INLINE uint32_t At(uint32_t place) const { return place < behind ? pieces - behind + place : place - behind; }
};

HPMOE_INLINE PieceTurns PiecesOf(const PairTurns &turns, uint32_t pieces, uint32_t height) {
    const uint32_t before = turns.start / height;
    const uint32_t behind = pieces - Min(pieces, CeilDiv(turns.behind, height) - before);
    const uint32_t each = CeilDiv(turns.turn, height);
    const uint32_t ahead = CeilDiv(turns.whole, height) - before;
    return PieceTurns{pieces, behind, Min(pieces, behind + ahead + turns.at_first * each), each};
}

} // namespace hpmoe

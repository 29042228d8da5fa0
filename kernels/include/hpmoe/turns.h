// The turns in which ranks put their rows for an expert: see route/turns.rs.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// The rows [start, end) of one rank among those of an expert, cut at multiples of `turn` rows: the ends, whose cuts have other ranks' rows
// as well, come in the first turn, and whole cuts one in each turn.
struct PairTurns {
    uint32_t start, end, turn;
    uint32_t whole, behind; // the first row of whole cuts, and the row behind the last
    uint32_t at_first;      // whole cuts of the first turn

    // The turn of a row.
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

// The pieces of a rank's rows, cut at multiples of some rows, in the order in which they are put: turn after turn.
struct PieceTurns {
    uint32_t pieces;
    uint32_t behind; // pieces of the end behind all whole cuts, which come first
    uint32_t first;  // pieces of the first turn
    uint32_t each;   // and of each later one

    // The place of the first piece of a turn.
    HPMOE_INLINE uint32_t Begin(uint32_t turn) const { return turn == 0 ? 0 : Min(pieces, first + (turn - 1) * each); }

    // The piece at a place.
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

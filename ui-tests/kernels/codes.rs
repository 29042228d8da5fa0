//! Four- and eight-bit numbers: unpacked, looked up in tables, and scaled by groups of columns.

use hpmoe_runtime::prelude::*;

/// Tokens of packed numbers and codes, decoded in every way; some of them are sent packed.
#[megakernel]
pub mod codes {
    use hpmoe_runtime::prelude::*;
    use hpmoe_runtime::tasks::{decode_fp4, decode_fp8, decode_hifloat4, unpack_to_bf16, unpack_to_i8};

    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 128;
    /// Numbers of a row, two per byte.
    pub const WIDTH: usize = 128;
    pub const PAIRS: usize = WIDTH / 2;
    /// Groups of columns with a scale each.
    pub const GROUPS: usize = 4;
    /// Groups whose size does not divide a block of UB.
    pub const SMALL: usize = WIDTH / 4;
    /// Units of HiFloat4, and their bits.
    pub const UNITS: usize = 2;
    pub const BYTES: usize = 2 * UNITS;
    pub const EIGHTS: usize = 8 * UNITS;
    pub const FOURS: usize = 16 * UNITS;
    /// Pairs whose rows in UB are longer than the numbers.
    pub const ODD: usize = 15;
    /// Codes of a row, and of a tile of it; the last tile is narrower.
    pub const RAGGED_CODES: usize = 45;
    pub const CODES: usize = 40;
    pub const BLOCK: usize = 5;
    pub const SLOTS: usize = BLOCK * TOP_K;
    pub const PUT: usize = 8;
    pub const TALL: usize = 24;

    #[comm_put]
    pub fn there(from: &Tile<i4x2, PUT, ODD>, to: &mut Tile<i4x2, PUT, ODD>) {
        to.put(from);
    }

    /// Received pairs, unchanged.
    #[aiv_task]
    pub fn numbers_of(packed: &Tile<i4x2, TALL, ODD>, y: &mut Tile<f32, TALL, { 2 * ODD }>) {
        y.store(packed.unpack());
    }

    /// Slots of pairs: empty slots are left out of the sum.
    #[aiv_task]
    pub fn sum(
        slots: &Tile<i4x2, SLOTS, ODD>,
        numbers: &Tile<f32, 1, 16>,
        y: &mut Tile<f32, BLOCK, { 2 * ODD }>,
        first: &mut Tile<f32, SLOTS, { 2 * ODD }>,
    ) {
        y.store((slots.unpack() + 0.5).fold_rows::<BLOCK>());
        first.store(slots.look_up(&numbers.load()));
    }

    /// Codes of a tile of any length.
    #[aiv_task]
    pub fn look(codes: &Tile<i8, BLOCK, CODES>, table: &Tile<f32, 1, 256>, y: &mut Tile<f32, BLOCK, CODES>) {
        y.store(codes.look_up(&table.load()));
    }

    /// Groups of four columns.
    #[aiv_task]
    pub fn spread(scales: &Tile<f32, BLOCK, SMALL>, y: &mut Tile<f32, BLOCK, WIDTH>) {
        y.store(scales.load().repeat_columns::<WIDTH>());
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        packed: &PerRank<Tensor<i4x2, PAIRS>>,
        odd: &PerRank<Tensor<i4x2, ODD>>,
        wide: &PerRank<Tensor<i8, WIDTH>>,
        ragged: &PerRank<Tensor<i8, RAGGED_CODES>>,
        groups: &PerRank<Tensor<i8, GROUPS>>,
        scales: &PerRank<Tensor<f32, GROUPS>>,
        small: &PerRank<Tensor<f32, SMALL>>,
        units: &PerRank<Tensor<i8, UNITS>>,
        eights: &PerRank<Tensor<i8, UNITS>>,
        fours: &PerRank<Tensor<i8, BYTES>>,
        places: &PerRank<Matrix<f32, 1, FOURS>>,
        e2m1: &PerRank<Matrix<f32, 1, 16>>,
        s1p2: &PerRank<Matrix<f32, 1, 16>>,
        e8m0: &PerRank<Matrix<f32, 1, 256>>,
        e6m2: &PerRank<Matrix<f32, 1, 256>>,
        fp8: &PerRank<Matrix<f32, 1, 256>>,
        w4a8: &mut PerRank<Tensor<i8, WIDTH>>,
        w4a16: &mut PerRank<Tensor<bf16, WIDTH>>,
        mxfp4: &mut PerRank<Tensor<bf16, WIDTH>>,
        of_fp8: &mut PerRank<Tensor<bf16, WIDTH>>,
        hifloat4: &mut PerRank<Tensor<bf16, WIDTH>>,
        looked: &mut PerRank<Tensor<f32, RAGGED_CODES>>,
        repeated: &mut PerRank<Tensor<f32, WIDTH>>,
        sums: &mut PerRank<Tensor<f32, { 2 * ODD }>>,
        received: &mut PerRank<Received<f32, { 2 * ODD }>>,
        slots: &mut PerRank<Slots<f32, { 2 * ODD }>>,
    ) {
        let recv = PerRank::symmetric::<i4x2, ODD>(ep, route);
        let back = PerRank::slots::<i4x2, ODD>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    there(&odd[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            // In this order, most tasks load or compute in the part of UB from which the previous task still stores.
            for t in route.token_blocks::<BLOCK>(r) {
                decode_hifloat4::<BLOCK, _, _, _, EIGHTS, _, _>(
                    &packed[r].rows(t),
                    &units[r].rows(t),
                    &eights[r].rows(t),
                    &fours[r].rows(t),
                    &s1p2[r].tile(0),
                    &e6m2[r].tile(0),
                    &places[r].tile(0),
                    &mut hifloat4[r].rows(t),
                );
                unpack_to_bf16::<BLOCK, PAIRS, _, _>(&packed[r].rows(t), &scales[r].rows(t), &mut w4a16[r].rows(t));
                decode_fp4::<BLOCK, PAIRS, _, _>(
                    &packed[r].rows(t),
                    &groups[r].rows(t),
                    &e2m1[r].tile(0),
                    &e8m0[r].tile(0),
                    &mut mxfp4[r].rows(t),
                );
                decode_fp8::<BLOCK, _, _>(
                    &wide[r].rows(t),
                    &scales[r].rows(t),
                    &fp8[r].tile(0),
                    &mut of_fp8[r].rows(t),
                );
                unpack_to_i8::<BLOCK, PAIRS, _, _>(&packed[r].rows(t), &groups[r].rows(t), &mut w4a8[r].rows(t));
                spread(&small[r].rows(t), &mut repeated[r].rows(t));
                for n in 0..RAGGED_CODES.div_ceil(CODES) {
                    look(&ragged[r].rows(t).cols(n), &fp8[r].tile(0), &mut looked[r].rows(t).cols(n));
                }
            }
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TALL>(e) {
                    numbers_of(&recv[r].group(e, m), &mut received[r].group(e, m));
                }
                for src in ep {
                    for s in route.sends::<PUT>(src, e) {
                        there(&recv[r].rows_of(&s), &mut back[src].scatter(&s));
                    }
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                sum(&back[r].slots(t), &e2m1[r].tile(0), &mut sums[r].rows(t), &mut slots[r].slots(t));
            }
        }
    }
}

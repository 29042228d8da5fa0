//! Operations on ids, and operations that rearrange columns and rows: of single rows, of slots, of blocks of one token, unaligned.

use hpmoe_runtime::prelude::*;

/// All operations, computed from tokens and slots only.
#[megakernel]
pub mod columns {
    use hpmoe_runtime::prelude::*;

    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 4;
    pub const TOKENS: usize = 40;
    pub const BLOCK: usize = 6;
    pub const SLOTS: usize = BLOCK * TOP_K;
    /// More than sixteen repeats, and not a whole number of them.
    pub const WIDE: usize = 1000;
    /// More ids than the alignment of a row.
    pub const MANY: usize = 17;
    /// Columns per token; not a multiple of a block.
    pub const C: usize = 21;
    pub const ROWC: usize = TOP_K * C;
    pub const TWICE: usize = 2 * C;

    /// Single rows.
    #[aiv_task]
    pub fn single(
        x: &Tile<f32, BLOCK, C>,
        a: &Tile<f32, 1, C>,
        b: &Tile<f32, 1, C>,
        y: &mut Tile<f32, BLOCK, C>,
        z: &mut Tile<f32, BLOCK, TWICE>,
        k: &mut Tile<f32, BLOCK, 3>,
    ) {
        let a = a.load();
        let b = b.load();
        let both = a.concat::<TWICE>(&b);
        let turn = a.interleave::<TWICE>(&b);
        let ids = a.top_k::<3>();
        let placed = a.pick(&ids).place::<C>(&ids);
        let x = x.load();
        y.store(&x + both.columns::<C>(11) - turn.columns::<C>(5) * placed);
        z.store(x.concat::<TWICE>(&x) * both + turn);
        k.store(x.pick(&x.top_k::<3>()) + ids);
    }

    /// Slots to wide rows and back.
    #[aiv_task]
    pub fn of_slots(
        s: &Tile<bf16, SLOTS, C>,
        w: &Tile<f32, BLOCK, TOP_K>,
        y: &mut Tile<f32, BLOCK, ROWC>,
        m: &mut Tile<bf16, BLOCK, C>,
        best: &mut Tile<i32, SLOTS, 2>,
    ) {
        let s = s.load();
        let wide = s.reshape::<BLOCK, ROWC>();
        let by_slot = w.load().reshape::<SLOTS, 1>();
        let scaled = &s * &by_slot;
        y.store(&wide * 2.0 + scaled.reshape::<BLOCK, ROWC>());
        m.store(scaled.reshape::<BLOCK, ROWC>().columns::<C>(C) + wide.columns::<C>(2 * C));
        best.store(s.top_k::<2>());
    }

    /// Many columns, more than one repeat of ids.
    #[aiv_task]
    pub fn wide(
        x: &Tile<f32, BLOCK, WIDE>,
        ids: &mut Tile<i32, BLOCK, MANY>,
        w: &mut Tile<f32, BLOCK, MANY>,
        back: &mut Tile<f32, BLOCK, WIDE>,
    ) {
        let x = x.load();
        let c = x.top_k::<MANY>();
        let v = x.pick(&c);
        back.store(v.place::<WIDE>(&c));
        w.store(&v);
        ids.store(&c);
    }

    /// Blocks of one token.
    #[aiv_task]
    pub fn one(x: &Tile<f32, 1, C>, t: &Tile<f32, 1, C>, y: &mut Tile<f32, 1, C>) {
        let x = x.load();
        let rows = x.reshape::<3, 7>();
        let sorted = rows.pick(&rows.top_k::<7>());
        let ids = x.top_k::<5>();
        y.store(sorted.reshape::<1, C>() + t.load() * x.pick(&ids).place::<C>(&ids));
    }

    /// A single column, ids that are out of range or equal, and a variable that is assigned again.
    #[aiv_task]
    pub fn wild(
        x: &Tile<f32, BLOCK, C>,
        i: &Tile<i32, BLOCK, TOP_K>,
        y: &mut Tile<f32, BLOCK, C>,
        z: &mut Tile<f32, BLOCK, TOP_K>,
    ) {
        let x = x.load();
        let i = i.load();
        let mut sum = x.columns::<1>(0);
        for k in 1..C {
            sum += x.columns::<1>(k);
            sum /= 1.25;
        }
        let f = (&i * 0.5).place::<C>(&i);
        y.store(f * &sum);
        z.store(x.pick(&(&i * 0.5)) - sum.concat::<2>(&sum).concat::<TOP_K>(sum.concat::<2>(x.arg_max())));
    }

    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<f32, C>>,
        s: &PerRank<Slots<bf16, C>>,
        w: &PerRank<Tensor<f32, TOP_K>>,
        v: &PerRank<Tensor<f32, WIDE>>,
        i: &PerRank<Tensor<i32, TOP_K>>,
        rows: &PerRank<Matrix<f32, 2, C>>,
        y: &mut PerRank<Tensor<f32, C>>,
        z: &mut PerRank<Tensor<f32, TWICE>>,
        k: &mut PerRank<Tensor<f32, 3>>,
        sy: &mut PerRank<Tensor<f32, ROWC>>,
        m: &mut PerRank<Tensor<bf16, C>>,
        best: &mut PerRank<Slots<i32, 2>>,
        ids: &mut PerRank<Tensor<i32, MANY>>,
        wv: &mut PerRank<Tensor<f32, MANY>>,
        back: &mut PerRank<Tensor<f32, WIDE>>,
        oy: &mut PerRank<Tensor<f32, C>>,
        wy: &mut PerRank<Tensor<f32, C>>,
        wz: &mut PerRank<Tensor<f32, TOP_K>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                single(
                    &x[r].rows(t),
                    &rows[r].tile(0),
                    &rows[r].tile(1),
                    &mut y[r].rows(t),
                    &mut z[r].rows(t),
                    &mut k[r].rows(t),
                );
                of_slots(&s[r].slots(t), &w[r].rows(t), &mut sy[r].rows(t), &mut m[r].rows(t), &mut best[r].slots(t));
                wide(&v[r].rows(t), &mut ids[r].rows(t), &mut wv[r].rows(t), &mut back[r].rows(t));
                wild(&x[r].rows(t), &i[r].rows(t), &mut wy[r].rows(t), &mut wz[r].rows(t));
            }
            for t in route.token_blocks::<1>(r) {
                one(&x[r].rows(t), &rows[r].tile(0), &mut oy[r].rows(t));
            }
        }
    }
}

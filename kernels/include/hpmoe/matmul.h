// Products of tiles, through L1, L0 and L0C.
#pragma once

#include "hpmoe/cube.h"

namespace hpmoe {

// Number of elements in 32 bytes, which is the length of a fractal along the contraction. Then the number in a fractal.
template <typename In> constexpr uint32_t FRACTAL_DEPTH = BLOCK_BYTES / sizeof(In);
template <typename In> constexpr uint32_t FRACTAL = 16 * FRACTAL_DEPTH<In>;

// Type in which products of such elements are accumulated.
template <typename In> struct SumOf { using Type = float; };
template <> struct SumOf<int8_t> { using Type = int32_t; };
template <typename In> using Sum = typename SumOf<In>::Type;

// How a product is divided. `rows` is a multiple of 16; `k_block` and `k_step` are multiples of a fractal's length.
struct MatmulPlan {
    uint32_t rows;     // rows accumulated in L0C at a time
    uint32_t k_block;  // contraction length of an L1 stage
    uint32_t k_step;   // contraction length of an L0 stage
    bool relu = false; // negative sums become 0 when they leave L0C
};

template <uint32_t ROWS, uint32_t K_BLOCK, uint32_t K_STEP, bool RELU = false>
HPMOE_INLINE constexpr MatmulPlan PlanOf() {
    static_assert(ROWS % 16 == 0 && K_BLOCK % 8 == 0 && K_STEP % 8 == 0, "whole fractals");
    return MatmulPlan{ROWS, K_BLOCK, K_STEP, RELU};
}

// The direction in which a tile is contracted: Columns if the tile is M x K (or N x K), Rows if it is K x M (or K x N).
enum class Contracted { Columns, Rows };

template <Contracted way, typename In> HPMOE_INLINE uint32_t Free(const View<In> &tile) {
    return way == Contracted::Columns ? tile.rows : tile.cols;
}

template <Contracted way, typename In> HPMOE_INLINE uint32_t Depth(const View<In> &tile) {
    return way == Contracted::Columns ? tile.cols : tile.rows;
}

// One product of a sum of products. Tiles of int8_t and float can only be contracted along columns, because only
// fractals of 16-bit elements can be transposed.
template <Contracted X, Contracted W, typename In = bfloat16_t> struct Term {
    static_assert(sizeof(In) == 2 || (X == Contracted::Columns && W == Contracted::Columns),
                  "16 bits, or along columns");
    using Element = In;
    static constexpr Contracted RIGHT = W;
    View<In> x;
    View<In> w;

    HPMOE_INLINE uint32_t Rows() const { return Free<X>(x); }
    HPMOE_INLINE uint32_t Columns() const { return Free<W>(w); }
    HPMOE_INLINE uint32_t Contraction() const { return Depth<X>(x); }
    // This product for at most `most` rows of the result, from row `first` on.
    HPMOE_INLINE Term Panel(uint32_t first, uint32_t most) const {
        return Term{X == Contracted::Columns ? x.Rows(first, most) : x.Cols(first, Min(most, x.cols)), w};
    }
};

// One L1 stage: x in NZ format, then w in NZ format.
template <typename In> struct MatmulStage {
    LocalTensor<In> x;
    LocalTensor<In> w;
};

template <typename In> HPMOE_INLINE MatmulStage<In> StageOf(uint32_t stage, uint32_t mp, uint32_t k_block) {
    const uint32_t split = mp * k_block * static_cast<uint32_t>(sizeof(In));
    return MatmulStage<In>{Local<In>(TPosition::A1, stage * L1_STAGE, split),
                           Local<In>(TPosition::B1, stage * L1_STAGE + split, L1_STAGE - split)};
}

// Loads contraction range [k0, k0 + length) of one operand to L1, in NZ format. The NZ has the operand's rows if these
// are not contracted; otherwise it has `length` rows.
template <Contracted way, typename In>
HPMOE_INLINE void LoadOperand(const LocalTensor<In> &to, const View<In> &tile, uint32_t k0, uint32_t length) {
    const bool columns = way == Contracted::Columns;
    const uint16_t rows = static_cast<uint16_t>(columns ? tile.rows : length);
    DataCopy(to, columns ? tile.At(0, k0) : tile.At(k0, 0),
             Nd2NzParams(1, rows, static_cast<uint16_t>(columns ? length : tile.cols), 0,
                         static_cast<uint16_t>(tile.pitch), static_cast<uint16_t>(AlignUp(rows, 16)), 1, 0));
}

// Contraction length of the stage to be loaded next. Stages of weights that were read ahead are as long as possible.
HPMOE_INLINE uint32_t NextBlock(const CubeCore &core, const MatmulPlan &plan) {
    return core.ahead > 0 ? core.ahead_block : plan.k_block;
}

// A run of consecutive rows of an expert.
struct RowRun {
    uint32_t first;
    uint32_t rows;
};

// The rows of an expert whose tokens belong to one part of a chunk: one run of rows per source, in order of sources.
// Next goes through them once.
struct PartRows {
    uint64_t bounds; // GM int32[sources * parts + 1]: rows before those of each source and part, then all rows
    uint32_t sources;
    uint32_t parts;
    uint32_t part;
    uint32_t source; // source of the next run
    RowRun next;     // rows of that source's run that have not been walked

    static HPMOE_INLINE PartRows Of(const Core &core, uint32_t expert, uint32_t part) {
        const uint32_t sources = core.launch.ranks, parts = core.launch.chunk_parts;
        const uint64_t bounds = core.launch.parts + static_cast<uint64_t>(expert) * (sources * parts + 1) * 4;
        PartRows rows = {bounds, sources, parts, part, 0, {0, 0}};
        rows.next = rows.Run(0);
        return rows;
    }
    HPMOE_INLINE RowRun Run(uint32_t of) const {
        const uint32_t first = static_cast<uint32_t>(Word<int32_t>(bounds, of * parts + part));
        return RowRun{first, static_cast<uint32_t>(Word<int32_t>(bounds, of * parts + part + 1)) - first};
    }
    HPMOE_INLINE uint32_t Count() const {
        uint32_t rows = 0;
        for (uint32_t of = 0; of < sources; ++of) {
            rows += Run(of).rows;
        }
        return rows;
    }
    // The next consecutive rows of the part, at most `most`. There must be rows left.
    HPMOE_INLINE RowRun Next(uint32_t most) {
        RowRun run = {next.first, 0};
        while (run.rows < most) {
            const uint32_t taken = Min(next.rows, most - run.rows);
            run.rows += taken;
            next = RowRun{next.first + taken, next.rows - taken};
            if (next.rows > 0) {
                break;
            }
            source += 1;
            if (source == sources) {
                break;
            }
            next = Run(source);
            if (run.rows == 0) {
                run.first = next.first;
            } else if (next.rows > 0 && next.first != run.first + run.rows) {
                break;
            }
        }
        HPMOE_EXPECTS(run.rows > 0);
        return run;
    }
};

// A product that is contracted over the rows of a part.
template <typename In> struct PartTerm : Term<Contracted::Rows, Contracted::Rows, In> {
    PartRows part;
    uint32_t contraction;

    HPMOE_INLINE uint32_t Contraction() const { return contraction; }
};

// Loads the rows of a run to L1, into rows from `at` on of an NZ of `length` rows.
template <typename In>
HPMOE_INLINE void LoadRun(const LocalTensor<In> &to, const View<In> &tile, const RowRun &run, uint32_t at,
                          uint32_t length) {
    DataCopy(to[at * FRACTAL_DEPTH<In>], tile.At(run.first, 0),
             Nd2NzParams(1, static_cast<uint16_t>(run.rows), static_cast<uint16_t>(tile.cols), 0,
                         static_cast<uint16_t>(tile.pitch), static_cast<uint16_t>(AlignUp(length, 16)), 1, 0));
}

// Loads the next `length` rows of a part.
template <typename In>
HPMOE_INLINE void LoadStage(CubeCore &core, uint32_t stage, const MatmulStage<In> &to, PartTerm<In> &term, uint32_t,
                            uint32_t length) {
    HPMOE_EXPECTS(core.ahead == 0);
    WaitFlag<HardEvent::MTE1_MTE2>(static_cast<int32_t>(stage));
    for (uint32_t at = 0; at < length;) {
        const RowRun run = term.part.Next(length - at);
        LoadRun(to.x, term.x, run, at, length);
        LoadRun(to.w, term.w, run, at, length);
        at += run.rows;
    }
    SetFlag<HardEvent::MTE2_MTE1>(static_cast<int32_t>(stage));
}

template <Contracted X, Contracted W, typename In>
HPMOE_INLINE void LoadStage(CubeCore &core, uint32_t stage, const MatmulStage<In> &to, const Term<X, W, In> &term,
                            uint32_t k0, uint32_t length) {
    if (core.ahead > 0) {
        core.ahead -= 1;
        LoadOperand<X>(to.x, term.x, k0, length);
    } else {
        WaitFlag<HardEvent::MTE1_MTE2>(static_cast<int32_t>(stage));
        LoadOperand<X>(to.x, term.x, k0, length);
        LoadOperand<W>(to.w, term.w, k0, length);
    }
    SetFlag<HardEvent::MTE2_MTE1>(static_cast<int32_t>(stage));
}

// Loads the right operand of a product into at most `stages` L1 stages, before the left operand exists. Each stage also
// has room for the left operand. The core's next product must be this one.
template <Contracted X, Contracted W, typename In>
HPMOE_ROUTINE void ReadAhead(CubeCore &core, const MatmulPlan &plan, const Term<X, W, In> &term, uint32_t stages) {
    const uint32_t mp = AlignUp(Min(plan.rows, term.Rows()), 16);
    const uint32_t k = mp == 0 ? 0 : Depth<W>(term.w); // no product if there are no rows
    const uint32_t of_each = (mp + AlignUp(term.Columns(), 16)) * static_cast<uint32_t>(sizeof(In));
    core.ahead_block = L1_STAGE / of_each / plan.k_step * plan.k_step;
    core.ahead_of = term.w.address;
    for (uint32_t k0 = core.ahead * core.ahead_block; k0 < k && core.ahead < stages; k0 += core.ahead_block) {
        const uint32_t stage = core.l1_stage ^ core.ahead;
        WaitFlag<HardEvent::MTE1_MTE2>(static_cast<int32_t>(stage));
        LoadOperand<W>(StageOf<In>(stage, mp, core.ahead_block).w, term.w, k0, Min(core.ahead_block, k - k0));
        core.ahead += 1;
    }
}

// Copies `k1` contraction fractals of x, from contraction index `k0` on, from L1 (NZ) to L0A (zZ). `rows` is the number
// of rows of the NZ.
template <Contracted X, typename In>
HPMOE_INLINE void LoadLeft(const LocalTensor<In> &a, const LocalTensor<In> &x, uint32_t mp, uint32_t rows, uint32_t k0,
                           uint32_t k1) {
    if (X == Contracted::Columns) { // one call for each fractal of columns of x
        for (uint32_t i = 0; i < k1; ++i) {
            LoadData(a[i * FRACTAL<In>], x[(k0 + i * FRACTAL_DEPTH<In>)*rows],
                     LoadData2DParams(0, static_cast<uint8_t>(mp / 16), 1, 0, static_cast<uint16_t>(k1 - 1), false, 0));
        }
        return;
    }
    for (uint32_t i = 0; i < mp / 16; ++i) {
        LoadData(a[i * k1 * FRACTAL<In>], x[i * rows * 16 + k0 * 16],
                 LoadData2DParams(0, static_cast<uint8_t>(k1), 1, 0, 0, true, 0));
    }
}

// Copies `k1` contraction fractals of w, from contraction index `k0` on, from L1 (NZ) to L0B (nZ).
template <Contracted W, typename In>
HPMOE_INLINE void LoadRight(const LocalTensor<In> &b, const LocalTensor<In> &w, uint32_t np, uint32_t rows, uint32_t k0,
                            uint32_t k1) {
    if (W == Contracted::Columns) { // the NZ of w is the nZ of its transpose
        LoadData(b, w[k0 * rows], LoadData2DParams(0, static_cast<uint8_t>(np / 16 * k1), 1, 0, 0, false, 0));
        return;
    }
    for (uint32_t i = 0; i < k1; ++i) {
        LoadData(b[i * np * 16], w[(k0 + i * 16) * 16],
                 LoadData2DParams(0, static_cast<uint8_t>(np / 16), static_cast<uint16_t>(rows / 16), 0, 0, true, 0));
    }
}

// Number of rows that Mmad is given. For one row it is 16, because Mmad would otherwise read x as a plain vector.
HPMOE_INLINE uint32_t CubeRows(uint32_t m) { return m == 1 ? 16 : m; }

// Copies contraction range [k0, k0 + depth) of an L1 stage of length `length` to L0, and adds its product to L0C. With
// `first`, the sums start at zero; with `last`, L0C is handed over to Fixpipe.
template <Contracted X, Contracted W, typename In>
HPMOE_INLINE void Accumulate(CubeCore &core, const MatmulStage<In> &from, const Term<X, W, In> &term, uint32_t length,
                             uint32_t k0, uint32_t depth, bool first, bool last) {
    const uint32_t m = term.Rows();
    const uint32_t n = term.Columns();
    const uint32_t mp = AlignUp(m, 16);
    const uint32_t np = AlignUp(n, 16);
    const uint32_t k1 = CeilDiv(depth, FRACTAL_DEPTH<In>);
    const uint32_t kp = AlignUp(length, 16);
    const int32_t stage = static_cast<int32_t>(core.l0_stage);
    const LocalTensor<In> a = Local<In>(TPosition::A2, core.l0_stage * L0_STAGE, L0_STAGE);
    const LocalTensor<In> b = Local<In>(TPosition::B2, core.l0_stage * L0_STAGE, L0_STAGE);
    WaitFlag<HardEvent::M_MTE1>(stage);
    LoadLeft<X>(a, from.x, mp, X == Contracted::Columns ? mp : kp, k0, k1);
    LoadRight<W>(b, from.w, np, W == Contracted::Columns ? np : kp, k0, k1);
    SetFlag<HardEvent::MTE1_M>(stage);
    WaitFlag<HardEvent::MTE1_M>(stage);
    const uint32_t rows = CubeRows(m);
    Mmad(Local<Sum<In>>(TPosition::CO1, 0, L0C_BYTES), a, b,
         MmadParams(static_cast<uint16_t>(rows), static_cast<uint16_t>(n), static_cast<uint16_t>(depth), last ? 3 : 2,
                    false, first));
    // Without a barrier, the next product would not see the sums of a product as small as this.
    if ((rows / 16) * (n / 16) < 10) {
        PipeBarrier<PIPE_M>();
    }
    SetFlag<HardEvent::M_MTE1>(stage);
    core.l0_stage ^= 1;
}

// Writes zeros to L0C, for a sum without terms.
HPMOE_INLINE void AccumulateNothing(CubeCore &core, uint32_t m, uint32_t n) {
    const int32_t stage = static_cast<int32_t>(core.l0_stage);
    WaitFlag<HardEvent::M_MTE1>(stage);
    InitConstValue(Local<int32_t>(TPosition::A2, core.l0_stage * L0_STAGE, L0_STAGE), BlocksOf(CeilDiv(m, 16), 0));
    InitConstValue(Local<int32_t>(TPosition::B2, core.l0_stage * L0_STAGE, L0_STAGE), BlocksOf(CeilDiv(n, 16), 0));
    SetFlag<HardEvent::MTE1_M>(stage);
    WaitFlag<HardEvent::MTE1_M>(stage);
    Mmad(Local<float>(TPosition::CO1, 0, L0C_BYTES),
         Local<bfloat16_t>(TPosition::A2, core.l0_stage * L0_STAGE, L0_STAGE),
         Local<bfloat16_t>(TPosition::B2, core.l0_stage * L0_STAGE, L0_STAGE),
         MmadParams(static_cast<uint16_t>(CubeRows(m)), static_cast<uint16_t>(n), 16, 3, false, true));
    SetFlag<HardEvent::M_MTE1>(stage);
    core.l0_stage ^= 1;
}

// Adds one product to L0C. Consecutive products go on alternating between the two buffers of each kind.
template <class AnyTerm>
HPMOE_INLINE void AddTerm(CubeCore &core, AnyTerm term, const MatmulPlan &plan, bool first_term, bool last_term) {
    using In = typename AnyTerm::Element;
    HPMOE_EXPECTS(core.ahead == 0 || core.ahead_of == term.w.address);
    const uint32_t mp = AlignUp(term.Rows(), 16);
    const uint32_t k = term.Contraction();
    uint32_t block = NextBlock(core, plan);
    LoadStage(core, core.l1_stage, StageOf<In>(core.l1_stage, mp, block), term, 0, Min(block, k));
    for (uint32_t k0 = 0; k0 < k;) {
        const uint32_t length = Min(block, k - k0);
        const uint32_t next = k0 + length;
        const uint32_t next_block = NextBlock(core, plan);
        if (next < k) {
            const uint32_t stage = core.l1_stage ^ 1;
            LoadStage(core, stage, StageOf<In>(stage, mp, next_block), term, next, Min(next_block, k - next));
        }
        const MatmulStage<In> from = StageOf<In>(core.l1_stage, mp, block);
        WaitFlag<HardEvent::MTE2_MTE1>(static_cast<int32_t>(core.l1_stage));
        for (uint32_t step = 0; step < length; step += plan.k_step) {
            const uint32_t depth = Min(plan.k_step, length - step);
            Accumulate(core, from, term, length, step, depth, first_term && k0 + step == 0,
                       last_term && k0 + step + depth == k);
        }
        SetFlag<HardEvent::MTE1_MTE2>(static_cast<int32_t>(core.l1_stage));
        core.l1_stage ^= 1;
        block = next_block;
        k0 = next;
    }
}

template <typename Out> struct FixpipeRounding { static constexpr QuantMode_t mode = NoQuant; };
template <> struct FixpipeRounding<bfloat16_t> { static constexpr QuantMode_t mode = F322BF16; };
template <> struct FixpipeRounding<half> { static constexpr QuantMode_t mode = F322F16; };

// Stores L0C to `y`, rounding once. Unit flags let the next product start while Fixpipe still reads L0C.
template <typename In, typename Out>
HPMOE_INLINE void StoreSums(const View<Out> &y, uint32_t m, uint32_t n, bool relu) {
    Fixpipe<Out, Sum<In>, CFG_ROW_MAJOR>(y.At(0, 0), Local<Sum<In>>(TPosition::CO1, 0, L0C_BYTES),
                                         FixpipeParamsV220(static_cast<uint16_t>(n), static_cast<uint16_t>(m),
                                                           static_cast<uint16_t>(AlignUp(m, 16)), y.pitch, relu,
                                                           FixpipeRounding<Out>::mode, 0, 1, 0, 0, 3));
}

// Adds the products of all terms for one panel, in order.
template <class First, class... More>
HPMOE_INLINE void AddTerms(CubeCore &core, const MatmulPlan &plan, uint32_t row, bool first, const First &term,
                           const More &...more) {
    HPMOE_EXPECTS(Depth<First::RIGHT>(term.w) == term.Contraction());
    AddTerm(core, term.Panel(row, plan.rows), plan, first, sizeof...(More) == 0);
    if constexpr (sizeof...(More) > 0) {
        AddTerms(core, plan, row, false, more...);
    }
}

// y = the sum of the products, which are added term by term, each in ascending k, in f32, or in i32 for bytes. Rows are
// computed in panels of `plan.rows` rows. If the contraction is empty (an expert without rows), y becomes zero.
template <typename Out, class First, class... More>
HPMOE_ROUTINE void Matmul(CubeCore &core, const View<Out> &y, const MatmulPlan &plan, const First &term,
                          const More &...more) {
    const uint32_t n = term.Columns();
    HPMOE_EXPECTS(y.rows == term.Rows() && y.cols == n);
    core.record.empty += n == 0 ? 1 : 0;
    for (uint32_t row = 0; row < term.Rows(); row += plan.rows) {
        const uint32_t m = Min(plan.rows, term.Rows() - row);
        if (term.Contraction() == 0) {
            AccumulateNothing(core, m, n);
        } else {
            AddTerms(core, plan, row, true, term, more...);
        }
        StoreSums<typename First::Element>(y.Rows(row, plan.rows), m, n, plan.relu);
    }
}

// y += the sum of the products. A core adds to the same sums chunk by chunk, in order, because each Fixpipe starts only
// when the previous one has ended.
template <class First, class... More>
HPMOE_ROUTINE void MatmulOnto(CubeCore &core, const View<float> &y, const MatmulPlan &plan, const First &term,
                              const More &...more) {
    const uint32_t n = term.Columns();
    HPMOE_EXPECTS(y.rows == term.Rows() && y.cols == n);
    core.record.empty += n == 0 ? 1 : 0;
    // An expert without rows adds nothing.
    if (term.Contraction() == 0) {
        return;
    }
    for (uint32_t row = 0; row < term.Rows(); row += plan.rows) {
        AddTerms(core, plan, row, true, term, more...);
        SetAtomicAdd<float>();
        StoreSums<typename First::Element>(y.Rows(row, plan.rows), Min(plan.rows, term.Rows() - row), n, false);
        SetAtomicNone();
    }
}

// Like MatmulOnto, for the rows of an expert in a chunk if launches choose the number of chunks: adds the sum of each
// part to y, part by part. A part of a larger chunk has the rows of a whole smaller chunk, so the sums don't depend on
// the number of chunks.
template <typename In>
HPMOE_ROUTINE void MatmulOntoByParts(CubeCore &core, const View<float> &y, const MatmulPlan &plan,
                                     const Term<Contracted::Rows, Contracted::Rows, In> &term) {
    const uint32_t n = term.Columns();
    HPMOE_EXPECTS(y.rows == term.Rows() && y.cols == n && Depth<Contracted::Rows>(term.w) == term.Contraction());
    core.record.empty += n == 0 ? 1 : 0;
    for (uint32_t row = 0; row < term.Rows(); row += plan.rows) {
        for (uint32_t number = 0; number < core.launch.chunk_parts; ++number) {
            const PartRows part = PartRows::Of(core, core.record.group, number);
            const PartTerm<In> of_part = {{term.Panel(row, plan.rows)}, part, part.Count()};
            if (of_part.Contraction() == 0) {
                continue;
            }
            AddTerm(core, of_part, plan, true, true);
            SetAtomicAdd<float>();
            StoreSums<In>(y.Rows(row, plan.rows), Min(plan.rows, term.Rows() - row), n, false);
            SetAtomicNone();
        }
    }
}

} // namespace hpmoe

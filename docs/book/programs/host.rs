//! A host program: each kind of tensor, routes of the host and of the kernel, the ways to launch, reports and errors.

use host::{EXPERTS, HIDDEN, TOKENS, TOP_K};
use hpmoe_runtime::{Argument, ArgumentError, prelude::*};
use numbers::{ids, numbers, rounded};
use std::error::Error;

#[megakernel]
pub mod host {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    /// Maximum number of tokens per rank.
    pub const TOKENS: usize = 32;

    /// Rows and columns of a tile of a product.
    pub const TILE_M: usize = _;
    pub const TILE_N: usize = _;
    /// Maximum number of rows per put.
    pub const PUT: usize = _;
    /// Tokens per tile of the sum over k, and their slots.
    pub const BLOCK: usize = _;
    pub const SLOTS: usize = BLOCK * TOP_K;

    #[comm_put]
    pub fn put(from: &Tile<bf16, PUT, HIDDEN>, to: &mut Tile<bf16, PUT, HIDDEN>) {
        to.put(from);
    }

    /// One tile of `x · wᵀ`.
    #[aic_task]
    pub fn project(x: &Tile<bf16, TILE_M, HIDDEN>, w: &Tile<bf16, TILE_N, HIDDEN>, y: &mut Tile<bf16, TILE_M, TILE_N>) {
        y.store(x.matmul_t(w));
    }

    #[aiv_task]
    pub fn scale(u: &Tile<bf16, TILE_M, TILE_N>, z: &Tile<bf16, TILE_M, TILE_N>, h: &mut Tile<bf16, TILE_M, TILE_N>) {
        h.store(u.load() * z.load());
    }

    /// Sums the results of each token over k, and multiplies the columns of the sum by the gain.
    #[aiv_task]
    pub fn combine(
        slots: &Tile<bf16, SLOTS, HIDDEN>,
        weights: &Tile<f32, BLOCK, TOP_K>,
        gain: &Tile<f32, 1, HIDDEN>,
        y: &mut Tile<bf16, BLOCK, HIDDEN>,
    ) {
        y.store(slots.load().weighted_sum(&weights.load()) * gain.load());
    }

    /// A layer whose route the host makes. It keeps the tokens that each rank received, the products, and the rows that came back.
    #[taskflow]
    pub fn forward(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        weights: &PerRank<Tensor<f32, TOP_K>>,
        w: &PerRank<Experts<bf16, HIDDEN, HIDDEN>>,
        gain: &PerRank<Matrix<f32, 1, HIDDEN>>,
        sent: &mut PerRank<Once<bf16, HIDDEN>>,
        u: &mut PerRank<Received<bf16, HIDDEN>>,
        back: &mut PerRank<Slots<bf16, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        let rows = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends_once::<PUT>(src, e) {
                    put(&x[src].gather(&s), &mut sent[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<PUT>(e) {
                    put(&sent[r].gather(e, m), &mut rows[r].group(e, m));
                }
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project(&rows[r].group(e, m), &w[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                    }
                }
            }
        }
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    put(&u[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                }
            }
        }
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                combine(&back[r].slots(t), &weights[r].rows(t), &gain[r].tile(0), &mut y[r].rows(t));
            }
        }
    }

    /// The products of a layer whose kernel makes and keeps the route.
    #[taskflow]
    pub fn products(
        ep: Ranks,
        ids: &PerRank<Tensor<i32, TOP_K>>,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        w: &PerRank<Experts<bf16, HIDDEN, HIDDEN>>,
        u: &mut PerRank<Received<bf16, HIDDEN>>,
        routed: &mut PerRank<Routed>,
    ) {
        let route = Route::of::<EXPERTS>(ep, ids);
        route.keep(routed);
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    put(&x[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        project(&recv[r].group(e, m), &w[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
                    }
                }
            }
        }
    }

    /// Sends other tokens by the route that an earlier launch has kept, and multiplies the products by them.
    #[taskflow]
    pub fn scaled(
        ep: Ranks,
        routed: &PerRank<Routed>,
        z: &PerRank<Tensor<bf16, HIDDEN>>,
        u: &PerRank<Received<bf16, HIDDEN>>,
        h: &mut PerRank<Received<bf16, HIDDEN>>,
    ) {
        let route = Route::of::<EXPERTS>(ep, routed);
        let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &route);
        for src in ep {
            for e in route.experts() {
                for s in route.sends::<PUT>(src, e) {
                    put(&z[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                }
            }
        }
        for r in ep {
            for e in route.experts_of(r) {
                for m in route.row_tiles::<TILE_M>(e) {
                    for n in 0..HIDDEN.div_ceil(TILE_N) {
                        scale(&u[r].group(e, m).cols(n), &recv[r].group(e, m).cols(n), &mut h[r].group(e, m).cols(n));
                    }
                }
            }
        }
    }
}

/// Tokens of each rank.
const COUNTS: [usize; 2] = [11, 3];

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("errors") => errors(),
        Some("processes") => processes(),
        _ => threads(),
    }
}

/// Two ranks, as threads of this process.
fn threads() -> Result<(), Box<dyn Error>> {
    let group = Group::new(2);
    let ep = group.ranks();

    // One part for each rank: tokens, expert ids, top-k weights.
    let mut x = PerRank::from_fn(ep, tokens);
    let ids = PerRank::from_fn(ep, chosen);
    let weights =
        PerRank::from_fn(ep, |r| Tensor::<f32, TOP_K>::from_f32(&numbers(3 + r.id(), COUNTS[r.id()] * TOP_K)));

    // Each rank has the matrices of its own experts, and the same gain.
    let w = PerRank::from_fn(ep, |r| matrices(r, EXPERTS / ep.count()));
    let gain = PerRank::from_fn(ep, |_| Matrix::from_slice(&[0.5; HIDDEN]));

    // The host makes the route, and outputs with a row for each row that the route moves.
    let route = Route::new(ep, EXPERTS, &ids)?;
    let mut sent = PerRank::once(ep, &route);
    let mut u = PerRank::symmetric(ep, &route);
    let mut back = PerRank::slots(ep, &route);
    let mut y = PerRank::from_fn(ep, |r| Tensor::zeros(COUNTS[r.id()]));

    // The route has the number of rows that each rank receives.
    for r in ep {
        let rows: Vec<usize> = route.experts_of(r).map(|e| route.expert_rows(e)).collect();
        println!(
            "{r} receives {} rows, by expert {rows:?}; {} tokens sent once",
            route.received(r),
            route.received_once(r)
        );
    }

    // A launch waits until the kernel has ended.
    let report = host::forward::launch(&group, &route, &x, &weights, &w, &gain, &mut sent, &mut u, &mut back, &mut y)?;
    println!("{}: {} tasks, {} empty", report.kernel, report.tasks, report.empty_tasks);
    for (tensor, bytes) in &report.kept {
        println!("  {tensor} has {bytes} bytes on the rank with the most rows");
    }

    // The reference is the taskflow itself, with outputs of its own.
    let mut expected_sent = PerRank::once(ep, &route);
    let mut expected_u = PerRank::symmetric(ep, &route);
    let mut expected_back = PerRank::slots(ep, &route);
    let mut expected = PerRank::from_fn(ep, |r| Tensor::zeros(COUNTS[r.id()]));
    host::forward(
        ep,
        &route,
        &x,
        &weights,
        &w,
        &gain,
        &mut expected_sent,
        &mut expected_u,
        &mut expected_back,
        &mut expected,
    );
    assert!(sent == expected_sent && u == expected_u && back == expected_back && y == expected);

    // Results are read by rank.
    let first = Rank::new(0);
    let token: Vec<bf16> = y[first].row(2);
    let all: Vec<f32> = y[first].to_f32();
    assert_eq!((token.len(), all.len()), (HIDDEN, COUNTS[0] * HIDDEN));
    for part in &y {
        println!("a part of {} rows", part.row_count());
    }

    // A pending launch borrows its tensors until it has been waited for.
    let pending =
        host::forward::enqueue(&group, None, &route, &x, &weights, &w, &gain, &mut sent, &mut u, &mut back, &mut y)?;
    pending.wait()?;
    assert!(y == expected);

    // A fixed launch is prepared once. Between its launches, the host can change the values.
    let mut out = PerRank::with_room::<bf16, HIDDEN>(ep, rows_of_any_route(ep));
    let mut routed = PerRank::routed(ep, EXPERTS, TOP_K, &ids.map(Tensor::row_count));
    let kernel = &host::products::KERNEL;
    let mut fixed = group.fix(
        kernel,
        None,
        &[
            Argument::read("ids", &ids),
            Argument::read("x", &x),
            Argument::read("w", &w),
            Argument::write("u", &mut out),
            Argument::write("routed", &mut routed),
        ],
    )?;
    for step in 0..2 {
        x[first].copy_from(&rounded(10 + step, COUNTS[0] * HIDDEN));
        fixed.launch(&[
            Argument::read("ids", &ids),
            Argument::read("x", &x),
            Argument::read("w", &w),
            Argument::write("u", &mut out),
            Argument::write("routed", &mut routed),
        ])?;
    }
    drop(fixed);

    // Another kernel takes the route that this one has kept, and the products.
    let mut h = PerRank::with_room(ep, rows_of_any_route(ep));
    host::scaled::launch(&group, &routed, &x, &out, &mut h)?;

    // The references of both kernels, one after the other.
    let mut expected_out = PerRank::with_room(ep, rows_of_any_route(ep));
    let mut expected_routed = PerRank::routed(ep, EXPERTS, TOP_K, &ids.map(Tensor::row_count));
    let mut expected_h = PerRank::with_room(ep, rows_of_any_route(ep));
    host::products(ep, &ids, &x, &w, &mut expected_out, &mut expected_routed);
    host::scaled(ep, &expected_routed, &x, &expected_out, &mut expected_h);

    // Rows that a rank has received come first. Their number follows from the kept route.
    for r in ep {
        let counts = ep.into_iter().map(|source| routed[r].rows_from(source).expect("a launch has kept its route"));
        let own = |counts: Vec<usize>| route.experts_of(r).map(|e| counts[e.id()]).sum::<usize>();
        let elements = counts.map(own).sum::<usize>() * HIDDEN;
        assert!(h[r].to_vec()[..elements] == expected_h[r].to_vec()[..elements]);
        println!("{r} has scaled {elements} elements of {} rows with room for {}", elements / HIDDEN, h[r].row_count());
    }
    println!("the results are bit-identical to the references");
    Ok(())
}

/// Launches that are refused, each with the way out that its error names.
fn errors() -> Result<(), Box<dyn Error>> {
    let group = Group::new(2).capacity_rows(8);
    let ep = group.ranks();
    let ids = PerRank::from_fn(ep, chosen);
    let x = PerRank::from_fn(ep, tokens);
    let w = PerRank::from_fn(ep, |r| matrices(r, EXPERTS / ep.count()));
    let mut u = PerRank::with_room(ep, 8);
    let mut routed = PerRank::routed(ep, EXPERTS, TOP_K, &ids.map(Tensor::row_count));

    // An id of an expert that does not exist.
    let wrong = PerRank::from_vec(vec![Tensor::<i32, TOP_K>::from_slice(&[0, 4]), Tensor::zeros(0)]);
    if let Err(error) = Route::new(ep, EXPERTS, &wrong) {
        println!("{error}");
    }

    // A tensor with different rows than the ids.
    let short = PerRank::from_fn(ep, |_| Tensor::zeros(1));
    match host::products::launch(&group, &ids, &short, &w, &mut u, &mut routed) {
        Err(LaunchError::Argument(error @ ArgumentError::Rows { .. })) => println!("{error}"),
        other => println!("{other:?}"),
    }

    // More received rows than there is room for. The error has the number to reserve.
    let error = host::products::launch(&group, &ids, &x, &w, &mut u, &mut routed).unwrap_err();
    println!("{error}");
    assert!(!group.is_broken());
    let LaunchError::Capacity { .. } = error else { return Err(error.into()) };
    let group = Group::new(2).capacity_rows(20);
    let mut u = PerRank::with_room(ep, 20);
    host::products::launch(&group, &ids, &x, &w, &mut u, &mut routed)?;
    println!("with more room, the launch succeeds");
    Ok(())
}

/// One rank of a job that a launcher started, each rank as a process.
fn processes() -> Result<(), Box<dyn Error>> {
    let group = Group::from_launcher()?.ok_or("start this program by torchrun, mpirun or srun")?;
    let ep = group.ranks();
    let ids = PerRank::from_fn(ep, chosen);
    let x = PerRank::from_fn(ep, tokens);
    let w = PerRank::from_fn(ep, |r| matrices(r, EXPERTS / ep.count()));
    // The ids of the other ranks are in other processes: all ranks exchange their ids.
    let route = Route::gather(&group, EXPERTS, &ids)?;
    let mut u = PerRank::with_room(ep, rows_of_any_route(ep));
    let mut routed = PerRank::routed(ep, EXPERTS, TOP_K, &ids.map(Tensor::row_count));
    host::products::launch(&group, &ids, &x, &w, &mut u, &mut routed)?;
    // This process has only the part of its own rank.
    for r in ep.here() {
        println!("{r} of {} received {} rows", ep.count(), route.received(r));
    }
    Ok(())
}

/// The maximum number of rows that a rank can receive: each token of each rank, for each expert that it can go to.
fn rows_of_any_route(ep: Ranks) -> usize {
    ep.count() * TOKENS * TOP_K.min(EXPERTS / ep.count())
}

fn tokens(rank: Rank) -> Tensor<bf16, HIDDEN> {
    Tensor::from_f32(&numbers(1 + rank.id(), COUNTS[rank.id()] * HIDDEN))
}

fn chosen(rank: Rank) -> Tensor<i32, TOP_K> {
    ids(EXPERTS, COUNTS[rank.id()])
}

fn matrices(rank: Rank, count: usize) -> Experts<bf16, HIDDEN, HIDDEN> {
    Experts::from_vec(rounded(5 + rank.id(), count * HIDDEN * HIDDEN))
}

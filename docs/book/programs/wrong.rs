//! Kernels that are wrong on purpose, and the errors that they cause: `wrong`, `wrong no_wait`, `wrong no_set`.

use hpmoe_runtime::prelude::*;
use numbers::{ids, numbers};
use std::error::Error;
use std::process::ExitCode;
use wrong::{EXPERTS, HIDDEN, TOP_K};

#[megakernel]
pub mod wrong {
    use hpmoe_runtime::prelude::*;

    pub const HIDDEN: usize = 64;
    pub const EXPERTS: usize = 4;
    pub const TOP_K: usize = 2;
    pub const TOKENS: usize = 64;
    /// Tokens per tile.
    pub const BLOCK: usize = _;

    #[aiv_task(external = "ops/two_rows.h")]
    pub fn two_rows(x: &Tile<bf16, BLOCK, HIDDEN>, y: &mut Tile<bf16, BLOCK, HIDDEN>) {
        y.store(x.load().at_least(0.0));
    }

    #[aiv_task(external = "ops/no_wait.h")]
    pub fn no_wait(x: &Tile<bf16, BLOCK, HIDDEN>, y: &mut Tile<bf16, BLOCK, HIDDEN>) {
        y.store(x.load().at_least(0.0));
    }

    #[aiv_task(external = "ops/no_set.h")]
    pub fn no_set(x: &Tile<bf16, BLOCK, HIDDEN>, y: &mut Tile<bf16, BLOCK, HIDDEN>) {
        y.store(x.load().at_least(0.0));
    }

    #[taskflow]
    pub fn forward(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, HIDDEN>>, y: &mut PerRank<Tensor<bf16, HIDDEN>>) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                two_rows(&x[r].rows(t), &mut y[r].rows(t));
            }
        }
    }

    #[taskflow]
    pub fn without_wait(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                no_wait(&x[r].rows(t), &mut y[r].rows(t));
            }
        }
    }

    #[taskflow]
    pub fn without_set(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Tensor<bf16, HIDDEN>>,
        y: &mut PerRank<Tensor<bf16, HIDDEN>>,
    ) {
        for r in ep {
            for t in route.token_blocks::<BLOCK>(r) {
                no_set(&x[r].rows(t), &mut y[r].rows(t));
            }
        }
    }
}

type Tokens = PerRank<Tensor<bf16, HIDDEN>>;

fn main() -> ExitCode {
    let launch = match std::env::args().nth(1).as_deref() {
        Some("no_wait") => wrong::without_wait::launch,
        Some("no_set") => wrong::without_set::launch,
        _ => wrong::forward::launch,
    };
    match compare(launch) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(difference)) => {
            println!("{difference}");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Where the kernel's result differs from the reference.
fn compare(
    launch: fn(&Group, &Route, &Tokens, &mut Tokens) -> Result<Report, LaunchError>,
) -> Result<Option<String>, Box<dyn Error>> {
    // The seed chooses what each core does first. With this seed, every core meets the same fault first.
    let group = Group::new(2).seed(2);
    let ep = group.ranks();
    let tokens = [16, 13];
    let x = PerRank::from_fn(ep, |r| Tensor::from_f32(&numbers(r.id(), tokens[r.id()] * HIDDEN)));
    let route = Route::new(ep, EXPERTS, &PerRank::from_fn(ep, |r| ids::<TOP_K>(EXPERTS, tokens[r.id()])))?;
    let zeros = || PerRank::from_fn(ep, |r| Tensor::zeros(tokens[r.id()]));
    let (mut expected, mut y) = (zeros(), zeros());
    wrong::forward(ep, &route, &x, &mut expected);
    launch(&group, &route, &x, &mut y)?;
    Ok(first_difference(&expected, &y))
}

/// The first element that differs, and all tokens that have such elements. Compares bits, so a NaN equals itself and 0 differs from -0.
fn first_difference(expected: &Tokens, y: &Tokens) -> Option<String> {
    let (mut first, mut rows) = (None, Vec::new());
    for (rank, (expected, y)) in expected.iter().zip(y.iter()).enumerate() {
        for token in 0..expected.row_count() {
            let (expected, y) = (expected.row(token), y.row(token));
            let differs = |column: &usize| expected[*column].to_bits() != y[*column].to_bits();
            if let Some(column) = (0..HIDDEN).find(differs) {
                rows.push(format!("{token} of rank {rank}"));
                first.get_or_insert_with(|| {
                    let (a, b) = (expected[column].to_f32(), y[column].to_f32());
                    format!("y of rank {rank}, token {token}, column {column} is {b}, but {a} in the reference")
                });
            }
        }
    }
    first.map(|first| format!("{first}\ntokens with other bits: {}", rows.join(", ")))
}

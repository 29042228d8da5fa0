//! Launches in a row of a kernel that makes its route and records time stamps: checks its bits and its trace.

use crate::kernels::launch_all;
use crate::random::{experts, numbers, weights};
use crate::rows::Launch;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{Argument, CompiledKernel, Report};
use std::collections::BTreeSet;

#[path = "../../device/kernels/stamped.rs"]
mod file;
pub use file::stamped;
use stamped::{EXPERTS, HIDDEN, TOP_K, forward};

/// The inputs of a launch.
struct Given {
    ids: PerRank<Tensor<i32, TOP_K>>,
    x: PerRank<Tensor<bf16, HIDDEN>>,
    weights: PerRank<Tensor<f32, TOP_K>>,
    w: PerRank<Experts<bf16, HIDDEN, HIDDEN>>,
}

pub fn launch_stamped(compiled: &CompiledKernel, group: &Group, row: &[Launch]) -> Result<bool, LaunchError> {
    let given = |launch: &Launch| Given {
        ids: launch.ids(EXPERTS),
        x: numbers(&launch.case),
        weights: weights(&launch.case),
        w: experts(&launch.case, EXPERTS, 1),
    };
    let given: Vec<Given> = row.iter().map(given).collect();
    let reference = |(launch, Given { ids, x, weights, w }): (&Launch, &Given)| {
        let mut y: PerRank<Tensor<bf16, HIDDEN>> = launch.case.zeros();
        forward(launch.case.ep(), x, ids, weights, w, &mut y);
        y
    };
    let expected: Vec<_> = row.iter().zip(&given).map(reference).collect();
    let mut found: Vec<PerRank<Tensor<bf16, HIDDEN>>> = row.iter().map(|launch| launch.case.zeros()).collect();
    let of_launch = given.iter().zip(&mut found).map(|(given, y)| {
        let Given { ids, x, weights, w } = given;
        vec![
            Argument::read("x", x),
            Argument::read("ids", ids),
            Argument::read("weights", weights),
            Argument::read("w", w),
            Argument::write("y", y),
        ]
    });
    let report = launch_all(compiled, group, of_launch)?;
    Ok(found == expected && is_consistent(&report))
}

/// Whether each tile has its own stamp, stamps of a core don't overlap and lie between the core's begin and end, and
/// clocks have been compared. All ranks run on this machine, which has one clock.
fn is_consistent(report: &Report) -> bool {
    let Some(trace) = &report.trace else { return false };
    let (mut stamps, mut routes, mut tiles, mut waited) = (0, 0, BTreeSet::new(), 0);
    let mut good = trace.lost() == (0, 0);
    for (rank, of_rank) in trace.ranks.iter().enumerate() {
        good &= of_rank.clock.is_some_and(|clock| clock.ahead.abs() <= clock.within);
        for core in &of_rank.cores {
            let mut now = core.begun_ns;
            good &= now >= 0;
            for tile in &core.tiles {
                good &= tile.came_ns >= now && (0..=tile.lasted_ns).contains(&tile.waited_ns);
                now = tile.came_ns + tile.lasted_ns;
                waited += tile.waited_ns;
                stamps += 1;
                // Making the route is a tile of each core, but not a task.
                if tile.task == "tables of the route" {
                    routes += 1;
                } else {
                    good &= tiles.insert((rank, tile.task, tile.line, tile.group, tile.item, tile.column));
                }
            }
            good &= now <= core.ended_ns;
        }
    }
    let cores: usize = trace.ranks.iter().map(|rank| rank.cores.len()).sum();
    good && routes == cores && stamps == report.tasks as usize + cores && (waited > 0 || report.tasks == 0)
}

//! The program of every example, from the command line to the exit code.

use super::compare::{Comparison, same_bits};
use super::layer::Layer;
use super::options::Options;
use super::output::print;
use super::program;
use hpmoe_runtime::prelude::*;
use jzon::JsonValue;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Sizes that a kernel was built for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    pub hidden: usize,
    pub inter: usize,
    pub experts: usize,
    pub top_k: usize,
    pub tokens: usize,
}

/// The items that the macro adds next to the kernel's taskflow.
pub struct Kernel {
    pub name: &'static str,
    pub sizes: Sizes,
    pub fingerprint: &'static str,
    pub graph_mermaid: &'static str,
    pub schedule_svg: fn(usize) -> Option<&'static str>,
    pub summary: fn(usize) -> Option<&'static str>,
}

/// The [`Sizes`] of a kernel module.
#[macro_export]
macro_rules! sizes {
    ($kernel:ident) => {
        $crate::example::Sizes {
            hidden: $kernel::HIDDEN,
            inter: $kernel::INTER,
            experts: $kernel::EXPERTS,
            top_k: $kernel::TOP_K,
            tokens: $kernel::TOKENS,
        }
    };
}
pub use sizes;

/// The [`Kernel`] of a module.
#[macro_export]
macro_rules! kernel {
    ($kernel:ident) => {
        $crate::example::Kernel {
            name: stringify!($kernel),
            sizes: $crate::sizes!($kernel),
            fingerprint: $kernel::forward::FINGERPRINT,
            graph_mermaid: $kernel::forward::GRAPH_MERMAID,
            schedule_svg: $kernel::forward::schedule_svg,
            summary: $kernel::forward::summary,
        }
    };
}
pub use kernel;

/// A layer's tensors, divided among the ranks of a group, and the two ways to run the layer.
pub trait Example: Sized {
    /// The kernel's texts and sizes, for the command line.
    const KERNEL: Kernel;
    /// The variant's name in the names of its oracles; `None` if the layer's file contains the expected output.
    const VARIANT: Option<&'static str>;
    /// Divides a layer's tensors among the ranks, for the ranks in this process.
    fn of(layer: &Layer, group: &Group) -> Result<Self, String>;
    /// Runs the reference, task after task. All ranks must be in this process.
    fn reference(&self) -> Vec<f32>;
    /// Runs the megakernel on every rank. Returns the results of the ranks in this process.
    fn launch(&self, group: &Group) -> Result<(Vec<f32>, Report), LaunchError>;
}

/// The main function of an example.
pub fn main<E: Example>() -> ExitCode {
    program::main(run::<E>)
}

/// Runs the layer and prints the results. Returns whether the results are right.
pub fn run<E: Example>(options: &Options) -> Result<bool, String> {
    let layer = Layer::find(options.data.as_deref(), E::VARIANT)?;
    let team = options.team.start(options.seed)?;
    let ranks = team.group.ranks().count();
    let whole = E::of(&layer, &Group::new(ranks))?;
    if team.tells() {
        print(format_args!("{}\n", (E::KERNEL.summary)(ranks).unwrap_or_default()))?;
        write_pictures(&E::KERNEL, options, ranks)?;
    }

    let started = Instant::now();
    let expected = whole.reference();
    let reference_time = started.elapsed();
    let example = E::of(&layer, &team.group)?;
    let (found, report) = example.launch(&team.group).map_err(|error| error.to_string())?;
    let found = team.gather(&found).map_err(|error| error.to_string())?;

    let equal = same_bits(&found, &expected);
    let comparison = Comparison::of(&found, &layer.output);
    if team.tells() {
        print_run(&report, &comparison, equal, reference_time)?;
        if let Some(file) = &options.trace {
            write_trace(&report, file)?;
        }
    }
    if options.json {
        team.tell(json(&report, &comparison, equal, E::KERNEL.fingerprint, team.processes()))?;
    }
    team.finish()?;
    // An NPU adds in an order of its own.
    Ok((equal || report.on_npus) && comparison.is_good())
}

impl Sizes {
    /// Checks that the kernel has the layer's sizes and can run on these ranks.
    pub fn check(&self, layer: &Layer, ep: Ranks) -> Result<(), String> {
        let Self { hidden, inter, experts, top_k, tokens } = *self;
        if (layer.hidden, layer.inter, layer.experts, layer.top_k) != (hidden, inter, experts, top_k)
            || layer.tokens > tokens
        {
            return Err(format!(
                "this layer doesn't have the sizes of the kernel (HIDDEN={hidden},INTER={inter},EXPERTS={experts},\
                 TOP_K={top_k},TOKENS={tokens})\nhelp: build for it: HPMOE_SET=\"{}\" cargo run --release --example …",
                layer.settings()
            ));
        }
        self.check_ranks(ep)
    }

    /// Checks that the kernel can run on this number of ranks.
    pub fn check_ranks(&self, ep: Ranks) -> Result<(), String> {
        let (ranks, experts) = (ep.count(), self.experts);
        if ranks == 0 || !experts.is_multiple_of(ranks) {
            return Err(format!(
                "{experts} experts can't be divided evenly among {ranks} ranks: choose --ranks among the divisors of {experts}"
            ));
        }
        Ok(())
    }
}

/// Writes the graph and the schedule, and prints the names of the files.
fn write_pictures(kernel: &Kernel, options: &Options, ranks: usize) -> Result<(), String> {
    let problem = |error: std::io::Error| format!("can't write to {}: {error}", options.out.display());
    std::fs::create_dir_all(&options.out).map_err(problem)?;
    let graph = options.out.join(format!("{}.mmd", kernel.name));
    std::fs::write(&graph, kernel.graph_mermaid).map_err(problem)?;
    print(format_args!("graph (Mermaid)  {}", graph.display()))?;
    if let Some(svg) = (kernel.schedule_svg)(ranks) {
        let schedule = options.out.join(format!("{}_schedule.svg", kernel.name));
        std::fs::write(&schedule, svg).map_err(problem)?;
        print(format_args!("schedule (SVG)   {}", schedule.display()))?;
    }
    Ok(())
}

/// Writes the times at which each core ran its tiles.
fn write_trace(report: &Report, file: &Path) -> Result<(), String> {
    let trace = report
        .trace
        .as_ref()
        .ok_or("there is no trace, because the kernel keeps no time stamps: build it with HPMOE_TIME_STAMPS=on")?;
    let written = File::create(file).and_then(|file| trace.write(BufWriter::new(file)));
    written.map_err(|error| format!("can't write {}: {error}", file.display()))
}

fn print_run(report: &Report, comparison: &Comparison, equal: bool, reference_time: Duration) -> Result<(), String> {
    print(format_args!("\n{report}\n\n{}", comparisons(comparison, equal, reference_time)))
}

/// The last lines of a run, which compare the result with the oracle and with the reference.
fn comparisons(comparison: &Comparison, equal: bool, reference_time: Duration) -> String {
    let same = if equal { "equal bit for bit" } else { "DIFFERENT" };
    format!(
        "comparison\n  with the oracle     {comparison}\n  with the reference  {same} (the same function, run sequentially in \
         {reference_time:.1?})"
    )
}

fn json(report: &Report, comparison: &Comparison, equal: bool, fingerprint: &str, processes: usize) -> JsonValue {
    jzon::object! {
        relative_l2: comparison.relative_l2,
        max_error: comparison.max_error,
        bitwise_equal: equal,
        ranks: report.ranks,
        processes: processes,
        tasks: report.tasks,
        empty_tasks: report.empty_tasks,
        aic_cores_used: report.aic_cores_used,
        aiv_cores_used: report.aiv_cores_used,
        counters: report.counters,
        descriptor_bytes: report.descriptor_bytes,
        fingerprint: fingerprint,
    }
}

#[cfg(test)]
mod tests {
    use super::{Comparison, comparisons};
    use std::path::Path;
    use std::time::Duration;

    #[test]
    fn the_readme_shows_the_end_of_a_run() {
        let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
        let readme = std::fs::read_to_string(readme).expect("the README can be read");
        let (_, shown) = readme.split_once("```text\n").expect("the README shows the end of a run");
        let (shown, _) = shown.split_once("```").expect("its block ends");
        let good = Comparison { relative_l2: 0.004, max_error: 0.005 };
        let printed = comparisons(&good, true, Duration::from_millis(30));
        let (_, printed) = printed.split_once('\n').expect("a heading comes first");
        assert_eq!(shown.lines().count(), printed.lines().count(), "{printed}");
        for (shown, printed) in shown.lines().zip(printed.lines()) {
            let (before, after) = shown.split_once('…').expect("figures are left out");
            assert!(printed.starts_with(before) && printed.ends_with(after), "`{shown}` is printed as `{printed}`");
        }
    }
}

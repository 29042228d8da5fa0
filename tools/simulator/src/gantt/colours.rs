//! One colour per operation. Operations with the same kind of work share a hue.

use crate::simulate::{Policy, PolicyCosts, Time, TracedTask, Work, Workload};
use hpmoe_core::report::drawing::{Shades, number, text};
use hpmoe_core::target::Target;
use hpmoe_kernels::op::TaskKind;
use svg::node::element::{Group, Rectangle};

const OTHER: &str = "#8d96a0";
/// Colour of waits for rows in transit.
pub(super) const ROWS: &str = "#eec3a8";
/// Colour of waits for another core's work.
pub(super) const WORK: &str = "#cfd7df";

/// Colour of the time before cores reach their first tasks.
pub(super) const LAUNCH: &str = "#e6dfc8";

/// Name of the time before cores reach their first tasks; `None` if there is no such time.
pub(super) fn launch_name(target: &Target, costs: &PolicyCosts) -> Option<&'static str> {
    let kernel = Time::from_us(target.launch.kernel_us);
    match costs.policy {
        _ if costs.launch == Time::ZERO => None,
        Policy::Ours if costs.launch > kernel => Some("launch and tables of the route"),
        Policy::Hyperparallel if costs.launch > kernel => Some("launch and handshake of ranks"),
        _ => Some("launch"),
    }
}

pub(super) struct Colours {
    /// The name and colour of each operation that occurs.
    ops: Vec<Option<(String, String)>>,
}

impl Colours {
    pub(super) fn new(workload: &dyn Workload, records: &[TracedTask]) -> Self {
        let mut ops = vec![None; workload.ops().len()];
        let mut works = vec![Work::Empty; ops.len()];
        for record in records {
            let work = &mut works[record.task.op as usize];
            if *work == Work::Empty {
                *work = record.task.work;
            }
        }
        let mut shades = Shades::default();
        for (op, (work, named)) in works.iter().zip(workload.ops()).enumerate() {
            let kind = match work {
                // The declared time of a vector task is a share of a product without operations.
                Work::Share(products) if products.flops == 0.0 => TaskKind::Vector,
                Work::Gemm { .. } | Work::Share(_) => TaskKind::Matrix,
                Work::Vector { .. } => TaskKind::Vector,
                Work::Put { .. } => TaskKind::Put,
                Work::Empty => continue,
                Work::Fixed { .. } => {
                    ops[op] = Some((named.name.clone(), OTHER.to_owned()));
                    continue;
                }
            };
            ops[op] = Some((named.name.clone(), shades.next(kind)));
        }
        Self { ops }
    }

    /// The colour of operation `op`; grey if it never has work.
    pub(super) fn colour(&self, op: usize) -> &str {
        self.ops.get(op).and_then(Option::as_ref).map_or(OTHER, |(_, colour)| colour)
    }

    /// The legend, in lines that are at most `width` pixels wide.
    pub(super) fn legend(&self, launch: Option<&str>, (left, top): (f64, f64), width: f64) -> Group {
        let waits = [("waits for rows on their way", ROWS), ("waits for another core's work", WORK)];
        let ops = self.ops.iter().flatten().map(|(name, colour)| (name.as_str(), colour.as_str()));
        let (mut x, mut y) = (left, top);
        let mut legend = Group::new();
        for (name, colour) in launch.map(|name| (name, LAUNCH)).into_iter().chain(ops).chain(waits) {
            let wide = 34.0 + 7.0 * name.chars().count() as f64;
            if x + wide > left + width {
                (x, y) = (left, y + 20.0);
            }
            let swatch = Rectangle::new()
                .set("x", number(x))
                .set("y", number(y))
                .set("width", 13)
                .set("height", 13)
                .set("rx", 2)
                .set("fill", colour);
            legend = legend.add(swatch).add(text(name.to_owned(), x + 18.0, y + 11.0, "name"));
            x += wide;
        }
        legend
    }
}

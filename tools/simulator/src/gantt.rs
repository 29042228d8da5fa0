//! A picture of a simulated run: every core and link of one rank, and a summary of all ranks.

mod colours;
mod cores;
mod load;
mod picture;
mod ranks;
mod stack;

use crate::simulate::{CoreKind, Simulated, TracedTask, Workload, traced_tasks};
use colours::Colours;
use hpmoe_core::report::drawing::{Axis, number, text};
use hpmoe_core::target::Target;
use hpmoe_core::units::Nanos;
use picture::{LEFT, Picture, PicturePart, RIGHT, WIDTH};
use svg::Document;
use svg::node::element::{Group, Rectangle, Style};

const TOP: f64 = 112.0;
const GAP: f64 = 14.0;

const STYLE: &str = "text{font-family:system-ui,'DejaVu Sans',sans-serif;fill:#22272e;font-size:12px}\
    .title{font-size:18px;font-weight:600}.note{fill:#59636e}.role{font-size:14px;font-weight:600}\
    .tick{fill:#59636e;text-anchor:middle}.small{font-size:10px;fill:#59636e}";

/// The colours of waits for rows in transit, and of waits for the work of another core.
pub const WAIT_COLOURS: [&str; 2] = [colours::ROWS, colours::WORK];

/// Name and colour of the time before cores reach their first tasks; `None` if there is no such time.
#[must_use]
pub fn launch_colour(target: &Target, workload: &dyn Workload) -> Option<(&'static str, &'static str)> {
    colours::launch_name(target, workload.costs()).map(|name| (name, colours::LAUNCH))
}

/// The colour of each operation of a workload, in the order of [`Workload::ops`].
#[must_use]
pub fn op_colours(workload: &dyn Workload, records: &[TracedTask]) -> Vec<String> {
    let colours = Colours::new(workload, records);
    (0..workload.ops().len()).map(|op| colours.colour(op).to_owned()).collect()
}

/// The picture (SVG) of a run that recorded the times of its tasks. `title` says what was simulated.
#[must_use]
pub fn gantt(target: &Target, workload: &dyn Workload, simulated: &Simulated, title: &str) -> String {
    let records = traced_tasks(workload, simulated);
    let end = Nanos(simulated.time.0 / 1_000);
    let picture = Picture {
        target,
        workload,
        simulated,
        colours: Colours::new(workload, &records),
        records,
        axis: Axis::new(end, LEFT, WIDTH - LEFT - RIGHT),
    };
    let rank = simulated.last_rank();
    let parts: [&dyn Fn(f64) -> PicturePart; 3] =
        [&|top| cores::cores(&picture, rank, top), &|top| load::links(&picture, rank, top), &|top| {
            ranks::ranks(&picture, top)
        }];
    let mut top = TOP;
    let mut drawn = Vec::new();
    for part in parts {
        let part = part(top);
        top += part.height + GAP;
        drawn.push(part.group);
    }
    let height = top + 34.0;
    let mut document = Document::new()
        .set("viewBox", format!("0 0 {WIDTH} {}", number(height)))
        .set("width", WIDTH)
        .set("height", number(height))
        .add(Style::new(STYLE))
        .add(Rectangle::new().set("width", WIDTH).set("height", number(height)).set("fill", "#ffffff"))
        .add(heading(&picture, rank, title))
        .add(picture.axis.draw(TOP - 6.0, top));
    for group in drawn {
        document = document.add(group);
    }
    document.to_string() + "\n"
}

fn heading(picture: &Picture<'_>, rank: u32, title: &str) -> Group {
    let busy = |kind: CoreKind| {
        let spent = if kind == CoreKind::Aic { &picture.simulated.aic } else { &picture.simulated.aiv };
        100.0 * spent.work.seconds() / spent.total().seconds().max(f64::MIN_POSITIVE)
    };
    let note = format!(
        "Simulated latency {}. Work at full speed: {:.1} % of the time of matrix cores, {:.1} % of vector cores. The \
         first lanes are the cores of rank {rank}, the last rank to end. Nothing here is a measurement.",
        picture.axis.time(Nanos(picture.simulated.time.0 / 1_000)),
        busy(CoreKind::Aic),
        busy(CoreKind::Aiv),
    );
    Group::new().add(text(title.to_owned(), 20.0, 32.0, "title")).add(text(note, 20.0, 54.0, "note")).add(
        picture.colours.legend(
            colours::launch_name(picture.target, picture.workload.costs()),
            (20.0, 70.0),
            WIDTH - 40.0,
        ),
    )
}

#[cfg(test)]
mod tests;

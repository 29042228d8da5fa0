//! The results as a heat map.

use crate::cases::{Case, DIRECTIONS, Layer, MODELS, OVERHEADS, RANKS, ROUTINGS, TOKENS};
use crate::figures::Figures;
use hpmoe_core::report::drawing::{number, text};
use hpmoe_simulator::baseline::Direction;
use std::collections::BTreeMap;
use svg::Document;
use svg::node::element::{Group, Rectangle, Style};

const CELL: (f64, f64) = (33.0, 17.0);
/// Width for the names of models.
const LEFT: f64 = 150.0;
/// Height for the names of routings and numbers of tokens.
const TOP: f64 = 64.0;
const GAP: f64 = 28.0;
const TITLE: f64 = 64.0;

const STYLE: &str = "text{font-family:system-ui,'DejaVu Sans',sans-serif;fill:#22272e;font-size:11px}\
    .title{font-size:18px;font-weight:600}.head{font-size:14px;font-weight:600}.note{fill:#59636e}\
    .name{text-anchor:end}.tick{fill:#59636e;text-anchor:middle;font-size:10px}.cell{text-anchor:middle;font-size:9px}";

/// A heat map: the values of its cells, and the colours by ascending value.
struct Map {
    title: &'static str,
    value: fn(&Figures) -> f64,
    colours: [(f64, [f64; 3]); 5],
}

const RED: [f64; 3] = [214.0, 96.0, 77.0];
const ROSE: [f64; 3] = [244.0, 190.0, 170.0];
const WHITE: [f64; 3] = [250.0, 248.0, 240.0];
const MINT: [f64; 3] = [186.0, 222.0, 190.0];
const GREEN: [f64; 3] = [90.0, 174.0, 97.0];

const MAPS: [Map; 2] = [
    Map {
        title: "the faster of both others, over ours",
        value: Figures::lead,
        colours: [(0.85, RED), (0.97, ROSE), (1.0, WHITE), (1.1, MINT), (1.5, GREEN)],
    },
    Map {
        title: "ours, over its bound",
        value: Figures::over_bound,
        colours: [(1.0, GREEN), (1.04, MINT), (1.1, WHITE), (1.3, ROSE), (1.8, RED)],
    },
];

/// The picture (SVG) of all cases with the smaller overhead per tile.
pub(crate) fn picture(known: &BTreeMap<Case, Figures>) -> String {
    let rows = rows();
    let columns = (TOKENS.len() * ROUTINGS.len()) as f64;
    let panel = (LEFT + columns * CELL.0 + GAP, TOP + rows.len() as f64 * CELL.1 + GAP);
    let (width, height) = (2.0 * panel.0 + GAP, TITLE + 2.0 * panel.1);
    let note = format!(
        "Simulated, {} ns of overhead for each tile, polling off. Columns: routing and tokens of a rank. Nothing here is a measurement.",
        OVERHEADS[0]
    );
    let mut document = Document::new()
        .set("viewBox", format!("0 0 {} {}", number(width), number(height)))
        .set("width", number(width))
        .set("height", number(height))
        .add(Style::new(STYLE))
        .add(Rectangle::new().set("width", number(width)).set("height", number(height)).set("fill", "#ffffff"))
        .add(text("Seven models, both passes".to_owned(), GAP, 30.0, "title"))
        .add(text(note, GAP, 50.0, "note"));
    for (down, direction) in DIRECTIONS.into_iter().enumerate() {
        for (across, map) in MAPS.iter().enumerate() {
            let at = (GAP + across as f64 * panel.0, TITLE + down as f64 * panel.1);
            document = document.add(heat_map(known, map, (direction, &rows), at));
        }
    }
    document.to_string() + "\n"
}

/// Model and number of ranks of each row.
fn rows() -> Vec<(usize, u32)> {
    let shared = |&(model, ranks): &(usize, u32)| MODELS[model].experts % ranks == 0;
    (0..MODELS.len()).flat_map(|model| RANKS.into_iter().map(move |ranks| (model, ranks))).filter(shared).collect()
}

fn heat_map(
    known: &BTreeMap<Case, Figures>,
    map: &Map,
    (direction, rows): (Direction, &[(usize, u32)]),
    (left, top): (f64, f64),
) -> Group {
    let (first, under) = (left + LEFT, top + TOP);
    let x = |routing: usize, tokens: usize| first + (routing * TOKENS.len() + tokens) as f64 * CELL.0;
    let mut group = Group::new().add(text(format!("{}: {}", direction.name(), map.title), left, top + 18.0, "head"));
    for (at, routing) in ROUTINGS.into_iter().enumerate() {
        let middle = x(at, 0) + TOKENS.len() as f64 * CELL.0 / 2.0;
        group = group.add(text(routing.name().to_owned(), middle, top + 40.0, "tick"));
        for (column, tokens) in TOKENS.into_iter().enumerate() {
            group = group.add(text(tokens.to_string(), x(at, column) + CELL.0 / 2.0, under - 6.0, "tick"));
        }
    }
    for (row, &(model, ranks)) in rows.iter().enumerate() {
        let y = under + row as f64 * CELL.1;
        let name = format!("{} EP{ranks}", MODELS[model].name);
        group = group.add(text(name, first - 8.0, y + 12.5, "name"));
        for (at, routing) in ROUTINGS.into_iter().enumerate() {
            for (column, tokens) in TOKENS.into_iter().enumerate() {
                let layer = Layer { model, direction, tokens, overhead: OVERHEADS[0] };
                if let Some(figures) = known.get(&Case { layer, ranks, routing }) {
                    group = group.add(cell(map, (map.value)(figures), (x(at, column), y)));
                }
            }
        }
    }
    group
}

fn cell(map: &Map, value: f64, (x, y): (f64, f64)) -> Group {
    let ground = Rectangle::new()
        .set("x", number(x))
        .set("y", number(y))
        .set("width", number(CELL.0 - 1.0))
        .set("height", number(CELL.1 - 1.0))
        .set("fill", colour(&map.colours, value));
    Group::new().add(ground).add(text(format!("{value:.2}"), x + CELL.0 / 2.0, y + 11.5, "cell"))
}

/// The colour of a value, interpolated between those of the nearest given values.
fn colour(colours: &[(f64, [f64; 3])], value: f64) -> String {
    let last = colours.len() - 1;
    let upper = colours.partition_point(|&(at, _)| at < value).clamp(1, last);
    let ((from, low), (to, high)) = (colours[upper - 1], colours[upper]);
    let share = ((value - from) / (to - from)).clamp(0.0, 1.0);
    let mixed = [0, 1, 2].map(|part: usize| (low[part] + (high[part] - low[part]) * share).round() as u8);
    format!("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    #[test]
    fn every_case_of_the_least_overhead_has_two_cells() {
        let figures = Figures { ours: 1.25, original: 2.0, serial: 1.5, bound: 1.0, idle: [0.0; 5] };
        let drawn = picture(&cases::all().map(|case| (case, figures)).collect());
        let cells = drawn.matches("class=\"cell\"").count();
        assert_eq!(cells, cases::all().count());
        assert_eq!(
            (drawn.matches("1.20").count() >= cells / 2, drawn.matches("1.25").count() >= cells / 2),
            (true, true)
        );
    }

    #[test]
    fn colours_lie_between_their_neighbours() {
        let [white, mint] = [WHITE, MINT]
            .map(|colour| format!("#{:02x}{:02x}{:02x}", colour[0] as u8, colour[1] as u8, colour[2] as u8));
        assert_eq!((colour(&MAPS[0].colours, 1.0), colour(&MAPS[0].colours, 1.1)), (white, mint));
        assert_eq!(colour(&MAPS[0].colours, 0.1), colour(&MAPS[0].colours, 0.85));
        assert_eq!(colour(&MAPS[0].colours, 9.0), colour(&MAPS[0].colours, 1.5));
    }
}

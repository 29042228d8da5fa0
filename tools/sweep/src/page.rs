//! The page that describes the results.

use crate::cases::{self, Case, DIRECTIONS, MODELS, OVERHEADS, RANKS, ROUTINGS, TOKENS};
use crate::figures::Figures;
use crate::results::Rows;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

/// The names on the page for the parts of [`Figures::idle`].
const IDLE: [&str; 5] = ["wait for work", "wait for rows", "memories shared", "tail", "overhead"];

/// Ratios that differ from 1 by no more than this are ties.
const TIE: f64 = 0.01;

/// The page of docs/sweep.
pub(crate) fn page(rows: &Rows) -> String {
    let known: &BTreeMap<Case, Figures> = &rows.iter().map(|(&case, row)| (case, row.figures)).collect();
    format!(
        "# Seven models in many sizes\n\n\
         `.ci/sweep models` makes this page. If it was stopped, its next run simulates only the missing cases. Every figure is simulated\n\
         ([time.md](../time.md) explains how); nothing was run on an NPU.\n\n\
         ![The faster of the two other policies over ours, and ours over its bound](picture.svg)\n\n\
         [table.csv](table.csv) has {} of {} cases:\n\n\
         - models: {}\n\
         - tokens per rank: {}\n\
         - ranks: {}, if they divide the experts evenly\n\
         - both passes\n\
         - routing: balanced, Zipf 1.2, and drifting (Zipf 1.2 with an order of experts that changes along the tokens)\n\
         - overhead per tile: {} ns\n\n\
         Schedules are the default ones, with tile sizes left open: a build chooses them for the tokens and ranks of the case. The original does\n\
         not poll, and its times include the kernels for the permutation and for the sum over k. Weight gradients of all policies are f32, and the\n\
         host makes the routing tables of all policies. `dependency`, `communication`, `contention`, `tail` and `overhead` are shares of the time\n\
         of the matrix cores of `ours`.\n\n{}{}{}",
        known.len(),
        cases::all().count(),
        list(MODELS.iter().map(|model| model.name)),
        list(TOKENS),
        list(RANKS),
        list(OVERHEADS),
        missing(known),
        states(rows),
        summary(known)
    )
}

/// The states of the tree that simulated the rows, if they differ.
fn states(rows: &Rows) -> String {
    let mut counts: BTreeMap<(u32, &str, u32, u32), usize> = BTreeMap::new();
    for (case, row) in rows {
        let layer = case.layer;
        *counts.entry((row.state, layer.direction.name(), layer.tokens, case.ranks)).or_default() += 1;
    }
    let newest = rows.values().filter(|row| row.state == 1).count();
    if newest == rows.len() {
        return String::new();
    }
    let mut text = format!(
        "Rows come from several states of the tree (last column): {newest} from state 1, the newest, and these from older \
         ones.\n\n| state | pass | tokens | ranks | cases |\n|---|---|---|---|---|\n"
    );
    for ((state, direction, tokens, ranks), cases) in counts.into_iter().filter(|((state, ..), _)| *state > 1) {
        let _ = writeln!(text, "| {state} | {direction} | {tokens} | {ranks} | {cases} |");
    }
    text + "\n"
}

/// The sizes that have not been simulated; empty if all have been.
fn missing(known: &BTreeMap<Case, Figures>) -> String {
    let sizes = |case: Case| (case.layer.tokens, case.ranks);
    let missing: BTreeSet<(u32, u32)> = cases::all().filter(|case| !known.contains_key(case)).map(sizes).collect();
    if missing.is_empty() {
        return String::new();
    }
    let sizes = missing.into_iter().map(|(tokens, ranks)| format!("{tokens} tokens on EP{ranks}"));
    format!("Not simulated yet, or not for all models: {}.\n\n", list(sizes))
}

/// The common settings of the cases, and the cases in which `ours` is not the fastest.
pub(crate) fn summary(known: &BTreeMap<Case, Figures>) -> String {
    [behind(known), bounds(known), leads(known)].concat()
}

/// The cases in which another policy is faster than `ours`, and the number of ties.
fn behind(known: &BTreeMap<Case, Figures>) -> String {
    let mut text = "## Where ours is not the fastest\n\n".to_owned();
    let tied = known.values().filter(|figures| (figures.lead() - 1.0).abs() <= TIE).count();
    let behind = with_leads(known, 0.0..1.0 - TIE);
    let _ = writeln!(
        text,
        "Another policy is faster by more than 1 % in {} of {} cases, and equally fast within 1 % in {tied}.\n",
        behind.len(),
        known.len()
    );
    if !behind.is_empty() {
        let _ = writeln!(text, "| case | ours | original/ours | serial/ours | ours/bound |\n|---|---|---|---|---|");
    }
    for (case, figures) in &behind {
        let Figures { ours, original, serial, .. } = figures;
        let (to_original, to_serial, over) = (original / ours, serial / ours, figures.over_bound());
        let _ = writeln!(text, "| {case} | {ours:.1} µs | {to_original:.3} | {to_serial:.3} | {over:.3} |");
    }
    if !behind.is_empty() {
        text.push('\n');
    }
    text + &narrowly_behind(known)
}

/// The ties in which another policy is slightly faster, with the reasons why `ours` does not reach its bound.
fn narrowly_behind(known: &BTreeMap<Case, Figures>) -> String {
    let ties = with_leads(known, 1.0 - TIE..1.0);
    if ties.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "### Ties in which another policy is ahead\n\nAnother policy is faster by up to 1 % in {}. The last columns are shares of the time of the matrix cores of `ours`:\n\
         the reasons why it does not reach its bound.\n\n| case | faster/ours | ours/bound | {} |\n|---|---|---|---|---|---|---|---|\n",
        ties.len(),
        IDLE.join(" | ")
    );
    for (case, figures) in ties {
        let shares = figures.idle.map(|share| format!("{:.1} %", 100.0 * share)).join(" | ");
        let _ = writeln!(text, "| {case} | {:.3} | {:.3} | {shares} |", figures.lead(), figures.over_bound());
    }
    text + "\n"
}

/// The cases in which the lead of `ours` lies in a range, in ascending order.
fn with_leads(known: &BTreeMap<Case, Figures>, leads: Range<f64>) -> Vec<(&Case, &Figures)> {
    let mut cases: Vec<_> = known.iter().filter(|(_, figures)| leads.contains(&figures.lead())).collect();
    cases.sort_by(|a, b| a.1.lead().total_cmp(&b.1.lead()));
    cases
}

/// Geometric means and maxima over all models, ranks and routings, by pass and tokens, with the smallest overhead.
fn bounds(known: &BTreeMap<Case, Figures>) -> String {
    let rows = |figures: &[Figures]| {
        let mut cells =
            vec![mean(figures.iter().map(Figures::over_bound)), most(figures.iter().map(Figures::over_bound))];
        let share = |at: usize| figures.iter().map(|one| one.idle[at]).sum::<f64>() / figures.len() as f64;
        cells.extend((0..5).map(|at| format!("{:.1} %", 100.0 * share(at))));
        cells
    };
    let header = [["ours/bound", "most"].as_slice(), &IDLE].concat();
    format!(
        "## Ours over its bound\n\nGeometric means of all cases with {} ns per tile, and mean shares of the time of matrix cores.\n\n{}\n",
        OVERHEADS[0],
        by_tokens(known, &header, rows)
    )
}

fn leads(known: &BTreeMap<Case, Figures>) -> String {
    let rows = |figures: &[Figures]| {
        let original = || figures.iter().map(|figures| figures.original / figures.ours);
        let serial = || figures.iter().map(|figures| figures.serial / figures.ours);
        vec![mean(original()), least(original()), mean(serial()), least(serial())]
    };
    let header = ["original/ours", "least", "serial/ours", "least"];
    format!("## The others over ours\n\n{}", by_tokens(known, &header, rows))
}

/// A table with a row for each pass and number of tokens.
fn by_tokens(known: &BTreeMap<Case, Figures>, header: &[&str], cells: impl Fn(&[Figures]) -> Vec<String>) -> String {
    let mut text = format!("| pass | tokens | {} |\n|{}\n", header.join(" | "), "---|".repeat(header.len() + 2));
    for direction in DIRECTIONS {
        for tokens in TOKENS {
            let of_row = |case: &Case| {
                let layer = case.layer;
                (layer.direction, layer.tokens, layer.overhead) == (direction, tokens, OVERHEADS[0])
            };
            let figures: Vec<Figures> =
                known.iter().filter(|(case, _)| of_row(case)).map(|(_, &figures)| figures).collect();
            if !figures.is_empty() {
                let _ = writeln!(text, "| {} | {tokens} | {} |", direction.name(), cells(&figures).join(" | "));
            }
        }
    }
    text
}

/// The geometric mean.
fn mean(ratios: impl Iterator<Item = f64>) -> String {
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    format!("{:.3}", (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

fn least(ratios: impl Iterator<Item = f64>) -> String {
    format!("{:.3}", ratios.fold(f64::INFINITY, f64::min))
}

fn most(ratios: impl Iterator<Item = f64>) -> String {
    format!("{:.3}", ratios.fold(0.0, f64::max))
}

/// Words or numbers separated by commas, with `and` between the last two.
fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let mut items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    let last = items.pop().unwrap_or_default();
    if items.is_empty() { last } else { format!("{} and {last}", items.join(", ")) }
}

/// The text of the page assumes exactly three routings.
const _: () = assert!(ROUTINGS.len() == 3);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Row;

    #[test]
    fn slower_cases_and_ties_are_told_apart() {
        let figures =
            |others: f64| Figures { ours: 100.0, original: others, serial: 200.0, bound: 80.0, idle: [0.1; 5] };
        let known: BTreeMap<Case, Figures> = cases::all().zip([150.0, 99.5, 90.0].map(figures)).collect();
        let text = behind(&known);
        assert!(
            text.contains(
                "Another policy is faster by more than 1 % in 1 of 3 cases, and equally fast within 1 % in 1."
            ),
            "{text}"
        );
        let third = cases::all().nth(2).unwrap();
        assert!(text.contains(&format!("| {third} | 100.0 µs | 0.900 | 2.000 | 1.250 |")), "{text}");
        let second = cases::all().nth(1).unwrap();
        assert!(
            text.contains("faster by up to 1 % in 1. ")
                && text.contains(&format!("| {second} | 0.995 | 1.250 | 10.0 % |"))
        );
        assert_eq!(text.matches(&third.to_string()).count(), 1, "{text}");
        assert!(bounds(&known).contains("| forward | 16 | 1.250 | 1.250 | 10.0 %"));
        // The cube root of 1.5 · 0.995 · 0.9.
        assert!(leads(&known).contains("| forward | 16 | 1.103 | 0.900 | 2.000 | 2.000 |"), "{}", leads(&known));
        assert_eq!(list([1, 2, 3]), "1, 2 and 3");
        let all: BTreeMap<Case, Figures> = cases::all().map(|case| (case, figures(150.0))).collect();
        assert_eq!(missing(&all), "");
        let row = |case: Case| Row { figures: all[&case], state: if case.layer.tokens == 16 { 2 } else { 1 } };
        let mixed: Rows = cases::all().map(|case| (case, row(case))).collect();
        let text = states(&mixed);
        assert!(text.contains("1500 from state 1") && text.contains("| 2 | backward | 16 | 64 | 30 |"), "{text}");
        assert_eq!(states(&mixed.into_iter().filter(|(_, row)| row.state == 1).collect()), "");
        let small = all.into_iter().filter(|(case, _)| case.layer.tokens < 8192 || case.ranks < 64).collect();
        assert_eq!(missing(&small), "Not simulated yet, or not for all models: 8192 tokens on EP64.\n\n");
    }
}

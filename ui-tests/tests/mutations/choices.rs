//! Sources in which mutations are chosen at run time.
//!
//! A statement that is removed becomes `if (chosen != 17) statement`; a changed expression becomes
//! `(chosen == 17 ? changed : unchanged)`. Each such point also records that a run has reached it. Parts of constants
//! can't be chosen at run time: the compiler reports their lines.

use crate::extent::extent;
use crate::sites::Site;
use crate::source::{Source, constant_name, squeezed};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Environment variable with the number of the mutation that a process runs.
pub const CHOSEN: &str = "HPMOE_MUTANT";

/// A range of a source that mutations change.
pub struct Point {
    pub source: usize,
    pub range: Range<usize>,
    /// Mutations, each with its replacement; empty for a removed statement.
    arms: Vec<(usize, Option<String>)>,
    /// Lines of the source that compiler errors may refer to: those of the changes themselves.
    lines: BTreeSet<usize>,
}

/// All points of some mutations.
pub struct Choices {
    pub points: Vec<Point>,
    /// Points of each mutation.
    pub of_site: Vec<Vec<usize>>,
    /// Mutations that can't be chosen, because their ranges overlap with those of others.
    pub overlapping: BTreeSet<usize>,
}

/// The points of the mutations in the sources.
pub fn choices(sources: &[Source], sites: &[Site]) -> Choices {
    let mut all: BTreeMap<(usize, usize, Reverse<usize>, bool), Point> = BTreeMap::new();
    for (number, site) in sites.iter().enumerate() {
        for (source, range, with) in &site.edits {
            let code = &sources[*source].code;
            let removed = matches!(with.as_str(), "" | ";");
            let operator = code[range.clone()].chars().all(|c| "<>=!&|+-*/%".contains(c));
            let whole = if operator { extent(code, range) } else { range.clone() };
            let arm = (!removed).then(|| {
                squeezed(&format!("{}{with}{}", &code[whole.start..range.start], &code[range.end..whole.end]))
            });
            let point = all.entry((*source, whole.start, Reverse(whole.end), removed)).or_insert_with(|| Point {
                source: *source,
                range: whole.clone(),
                arms: Vec::new(),
                lines: BTreeSet::new(),
            });
            point.arms.push((number, arm));
            point.lines.insert(sources[*source].line(range.start));
        }
    }
    let mut overlapping = BTreeSet::new();
    let mut points: Vec<Point> = Vec::new();
    for point in all.into_values() {
        let last = points.iter().rev().find(|last| last.source == point.source && last.range.end > point.range.start);
        if last.is_some_and(|last| last.range.end < point.range.end) {
            overlapping.extend(point.arms.iter().map(|(site, _)| *site));
        } else {
            points.push(point);
        }
    }
    let mut of_site = vec![Vec::new(); sites.len()];
    for (at, point) in points.iter().enumerate() {
        point.arms.iter().for_each(|(site, _)| of_site[*site].push(at));
    }
    Choices { points, of_site, overlapping }
}

impl Choices {
    /// Declarations for points in generated code. A program of several files has the bytes only once.
    pub fn header(&self) -> String {
        let count = self.points.len().max(1);
        format!(
            "#include <cstdlib>\n\
             extern \"C\" {{ __attribute__((weak)) unsigned char hpmoe_reached[{count}]; }}\n\
             namespace hpmoe_mutants {{\n\
             static unsigned number() {{\n    \
                 const char *text = getenv(\"{CHOSEN}\");\n    \
                 return text ? static_cast<unsigned>(atol(text)) : ~0u;\n\
             }}\n\
             static const unsigned chosen = number();\n\
             static inline unsigned at(unsigned point) {{\n    \
                 hpmoe_reached[point] = 1;\n    \
                 return chosen;\n\
             }}\n\
             }} // namespace hpmoe_mutants\n"
        )
    }

    /// A source with its points, except for those of mutations that are built separately. Lines are those of the
    /// source.
    pub fn text(&self, number: usize, source: &Source, apart: &BTreeSet<usize>) -> String {
        let own = self.points.iter().enumerate().filter(|(_, point)| point.source == number);
        let own: Vec<_> = own.filter(|(_, point)| point.arms.iter().any(|(site, _)| !apart.contains(site))).collect();
        let mut text = source.text.clone();
        for (_, point) in &own {
            if let Some(at) = constant(&source.code, point.range.start) {
                text.replace_range(at..at + "constexpr".len(), "const    ");
            }
        }
        Writer { text: &text, points: &own, apart }.stretch(0..text.len(), &mut 0)
    }

    /// The mutations that an error on a line refers to: those that change the line; if there are none, those that span
    /// it; if there are none, those of the statement that begins there.
    pub fn at_line(&self, number: usize, source: &Source, line: usize) -> BTreeSet<usize> {
        let sites = |lines: &dyn Fn(&Point) -> bool| -> BTreeSet<usize> {
            let own = self.points.iter().filter(|point| point.source == number && lines(point));
            own.flat_map(|point| &point.arms).map(|(site, _)| *site).collect()
        };
        let begin: usize = source.code.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let end = source.line(begin + source.code[begin..].find(';').unwrap_or(0));
        let exact = sites(&|point| point.lines.contains(&line));
        let over = sites(&|point| (source.line(point.range.start)..=source.line(point.range.end)).contains(&line));
        let after = sites(&|point| point.lines.iter().any(|changed| (line..=end).contains(changed)));
        [exact, over, after].into_iter().find(|sites| !sites.is_empty()).unwrap_or_default()
    }

    /// Mutations of the constants that a line names.
    pub fn of_constants(&self, sources: &[Source], number: usize, line: usize) -> BTreeSet<usize> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let text = sources[number].code.lines().nth(line - 1).unwrap_or_default();
        let names: BTreeSet<&str> = text.split(|c| !is_part(c)).filter(|name| !name.is_empty()).collect();
        let is_named = |point: &&Point| {
            let code = &sources[point.source].code;
            let declared = constant(code, point.range.start).and_then(|at| constant_name(&code[at..]));
            declared.is_some_and(|name| names.contains(name))
        };
        self.points.iter().filter(is_named).flat_map(|point| &point.arms).map(|(site, _)| *site).collect()
    }
}

/// The position of the `constexpr` of a declaration, if `at` is in the expression of a constant.
fn constant(code: &str, place: usize) -> Option<usize> {
    let before = &code[..place];
    let at = before.rfind("constexpr ")?;
    let declares = !before[at..].contains(';') && !before[..at].ends_with("if ");
    let template = before[..at].trim_end().ends_with('>');
    (declares && !template).then_some(at)
}

struct Writer<'a> {
    text: &'a str,
    /// Ordered by start; outer ranges come first.
    points: &'a [(usize, &'a Point)],
    apart: &'a BTreeSet<usize>,
}

impl Writer<'_> {
    /// A range of the text, with the points from `next` on that are in it.
    fn stretch(&self, range: Range<usize>, next: &mut usize) -> String {
        let mut all = String::new();
        let mut at = range.start;
        while let Some((number, point)) = self.points.get(*next).filter(|(_, point)| point.range.start < range.end) {
            assert!(point.range.end <= range.end && point.range.start >= at, "points lie in each other or apart");
            all.push_str(&self.text[at..point.range.start]);
            *next += 1;
            let unchanged = self.stretch(point.range.clone(), next);
            all.push_str(&self.choice(*number, point, &unchanged));
            at = point.range.end;
        }
        all.push_str(&self.text[at..range.end]);
        all
    }

    fn choice(&self, number: usize, point: &Point, unchanged: &str) -> String {
        let asked = format!("hpmoe_mutants::at({number})");
        let arms = point.arms.iter().filter(|(site, _)| !self.apart.contains(site)).enumerate();
        let chosen = |at: usize| if at == 0 { asked.as_str() } else { "hpmoe_mutants::chosen" };
        if point.arms[0].1.is_none() {
            let kept: Vec<String> = arms.map(|(at, (site, _))| format!("{} != {site}", chosen(at))).collect();
            return format!("if ({}) {unchanged}", kept.join(" && "));
        }
        let changed: String = arms
            .map(|(at, (site, text))| {
                format!("{} == {site} ? ({}) : ", chosen(at), text.as_deref().unwrap_or_default())
            })
            .collect();
        format!("({changed}({unchanged}))")
    }
}

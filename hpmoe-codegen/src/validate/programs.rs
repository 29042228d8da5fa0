//! Random programs, for tests.

use crate::random::Random;
use hpmoe_language::analyze::CheckedGraph;
use hpmoe_language::finding::Diagnostic;
use hpmoe_language::front::{front, modules};
use hpmoe_language::syntax::Overrides;
use std::fmt::Write as _;

/// Columns of all tensors.
const WIDTH: u64 = 64;

/// A taskflow that sends rows, computes a few tensors from one another with tiles of any heights and widths, and gives the
/// rows of the last one back: in chunks or not, with or without gradients of weights.
pub(super) fn program(random: &mut Random) -> CheckedGraph {
    let source = Source::new(random).text(random);
    let module = modules(&source).expect("it is Rust").remove(0);
    let words = |faults: Vec<Diagnostic>| faults.iter().map(Diagnostic::text).collect::<Vec<_>>().join("\n");
    let front = front(&module, &Overrides::new()).map_err(words).unwrap_or_else(|text| panic!("{text}\n{source}"));
    front.flows.into_iter().next().expect("it has a taskflow")
}

/// The parts of a program.
struct Source {
    /// Number of chunks, or 0 without the loop over chunks.
    chunks: u64,
    /// Whether tokens are prepared, block by block, before they are sent.
    prepared: bool,
    /// Tensors that the taskflow makes, after that of received rows.
    tensors: Vec<String>,
    /// Gradients, which are parameters.
    gradients: Vec<String>,
    /// Loops over row tiles and experts.
    calls: String,
}

impl Source {
    fn new(random: &mut Random) -> Self {
        let chunks = [0, 0, 2, 3, 4][random.below(5) as usize];
        let prepared = random.below(3) == 0;
        Self { chunks, prepared, tensors: Vec::new(), gradients: Vec::new(), calls: String::new() }
    }

    fn text(mut self, random: &mut Random) -> String {
        // Tensors that nothing reads yet: each gets a reader.
        let mut unread = Vec::new();
        let mut known = vec!["recv".to_owned()];
        for _ in 0..1 + random.below(4) {
            let [first, second] = [0, 1].map(|_| known[random.below(known.len() as u64) as usize].clone());
            let product = random.below(2) == 0;
            let made = if product { self.product(random, &first) } else { self.activation(random, &first, &second) };
            unread.retain(|tensor| *tensor != first && (product || *tensor != second));
            unread.push(made.clone());
            known.push(made);
        }
        while let [first, second, ..] = &unread[..] {
            let made = self.activation(random, &first.clone(), &second.clone());
            unread.drain(..2);
            unread.push(made);
        }
        for _ in 0..random.below(3) {
            let [first, second] = [0, 1].map(|_| known[random.below(known.len() as u64) as usize].clone());
            self.gradient(random, &first, &second);
        }
        self.module(random, &unread[0])
    }

    fn activation(&mut self, random: &mut Random, first: &str, second: &str) -> String {
        let [made, height, width] = self.make(random);
        let part = |tensor: &str| format!("{tensor}[r].group(e, m).cols(n)");
        let (first, second, to) = (part(first), part(second), part(&made));
        self.row_tiles(&height, &width, &format!("swiglu::<{width}, _>(&{first}, &{second}, &mut {to});"));
        made
    }

    fn product(&mut self, random: &mut Random, from: &str) -> String {
        let [made, height, width] = self.make(random);
        let call = format!(
            "project::<{width}, _, _>(&{from}[r].group(e, m), &w[r].expert(e).tile(n), \
             &mut {made}[r].group(e, m).cols(n));"
        );
        self.row_tiles(&height, &width, &call);
        made
    }

    /// The name of another tensor, and height and width of its tiles.
    fn make(&mut self, random: &mut Random) -> [String; 3] {
        let made = format!("t{}", self.tensors.len());
        self.tensors.push(made.clone());
        let height = [2, 3, 4, 6, 8][random.below(5) as usize];
        [made, height.to_string(), (16 << random.below(3)).to_string()]
    }

    fn row_tiles(&mut self, height: &str, width: &str, call: &str) {
        let _ = writeln!(
            self.calls,
            "for r in ep {{ for e in c.experts_of(r) {{ for m in c.row_tiles::<{height}>(e) {{ \
             for n in 0..{WIDTH} / {width} {{ {call} }} }} }} }}"
        );
    }

    fn gradient(&mut self, random: &mut Random, first: &str, second: &str) {
        let made = format!("d{}", self.gradients.len());
        self.gradients.push(made.clone());
        let (rows, columns) = (16 << random.below(3), 16 << random.below(2));
        let _ = writeln!(
            self.calls,
            "for r in ep {{ for e in c.experts_of(r) {{ for m in 0..{WIDTH} / {rows} {{ for n in 0..{WIDTH} / {columns} {{ \
             weight_grad_onto::<{rows}, {columns}>(&{first}[r].expert(e).cols(m), &{second}[r].expert(e).cols(n), \
             &mut {made}[r].expert(e).tile(m).cols(n)); }} }} }} }}"
        );
    }

    fn module(&self, random: &mut Random, last: &str) -> String {
        let [put, put_back, block] = [0, 1, 2].map(|_| 1 + random.below(4));
        let (open, route, close) = match self.chunks {
            0 => ("let c = 0;".to_owned(), "route", ""),
            chunks => (format!("for c in route.chunks::<{chunks}>() {{"), "&c", "}"),
        };
        let gradients: String = self
            .gradients
            .iter()
            .map(|name| format!("{name}: &mut PerRank<Experts<f32, {WIDTH}, {WIDTH}>>, "))
            .collect();
        let tensors: String = self
            .tensors
            .iter()
            .map(|name| format!("let {name} = PerRank::ragged::<bf16, {WIDTH}>(ep, {route});\n"))
            .collect();
        let (sent, prepare) = if self.prepared {
            let make = format!("let z = PerRank::tokens::<bf16, {WIDTH}>(ep, {route});\n");
            let call = "square(&x[r].rows(t), &mut z[r].rows(t));";
            ("z", format!("{make}for r in ep {{ for t in c.token_blocks::<BLOCK>(r) {{ {call} }} }}"))
        } else {
            ("x", String::new())
        };
        let calls = &self.calls;
        let text = format!(
            "#[megakernel]
            pub mod random {{
                use hpmoe_runtime::prelude::*;
                use hpmoe_runtime::tasks::{{dispatch, give_back, project, sum_over_k, swiglu, weight_grad_onto}};
                pub const HIDDEN: usize = {WIDTH};
                pub const EXPERTS: usize = 4;
                pub const TOP_K: usize = 2;
                pub const TOKENS: usize = 9;
                pub const BLOCK: usize = {block};
                pub const SLOTS: usize = BLOCK * TOP_K;
                #[aiv_task]
                pub fn square(x: &Tile<bf16, BLOCK, {WIDTH}>, z: &mut Tile<bf16, BLOCK, {WIDTH}>) {{
                    let x = x.load();
                    z.store(&x * &x);
                }}
                #[taskflow]
                pub fn forward(ep: Ranks, route: &Route, x: &PerRank<Tensor<bf16, {WIDTH}>>,
                               w: &PerRank<Experts<bf16, {WIDTH}, {WIDTH}>>, {gradients}
                               y: &mut PerRank<Tensor<bf16, {WIDTH}>>) {{
                    {open}
                    let recv = PerRank::symmetric::<bf16, {WIDTH}>(ep, {route});
                    {tensors}
                    let back = PerRank::slots::<bf16, {WIDTH}>(ep, {route});
                    {prepare}
                    for src in ep {{ for e in c.experts() {{ for s in c.sends::<{put}>(src, e) {{
                        dispatch(&{sent}[src].gather(&s), &mut recv[e.owner()].rows_of(&s));
                    }} }} }}
                    {calls}
                    for src in ep {{ for e in c.experts() {{ for s in c.sends::<{put_back}>(src, e) {{
                        give_back(&{last}[e.owner()].rows_of(&s), &mut back[src].scatter(&s));
                    }} }} }}
                    for r in ep {{ for t in c.token_blocks::<BLOCK>(r) {{
                        sum_over_k::<SLOTS, {WIDTH}, _>(&back[r].slots(t), &mut y[r].rows(t));
                    }} }}
                    {close}
                }}
            }}"
        );
        if self.chunks == 0 { text.replace("let c = 0;", "").replace("in c.", "in route.") } else { text }
    }
}

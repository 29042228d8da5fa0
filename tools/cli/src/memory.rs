//! `hpmoe memory`: lists every tensor of a launch with its place, rows and bytes.

use crate::options::MemoryArgs;
use crate::output;
use crate::plan::{FlowPlan, Tuning, chosen, plans};
use hpmoe_core::report::{high_water, memory_table, tensor_uses};
use hpmoe_core::sizes::Expected;
use hpmoe_core::validate::{default_rows, kernel_sizes};
use hpmoe_kernels::memory::{MemoryLine, MemoryPlace, MemoryTable, balanced_rows, capacity_rule};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The memory that a taskflow needs.
struct FlowMemory {
    plan: FlowPlan,
    table: MemoryTable,
    /// Received rows per chunk: the capacity of a rank, the default capacity without `--rows`, and the rows of an even load.
    rows: [u64; 3],
    /// Bytes of heap and workspace if the capacity is that of an even load.
    even_bytes: usize,
    /// Whether the capacity is given by `--rows`.
    given: bool,
    ranks: u32,
}

pub(crate) fn memory(options: &MemoryArgs) -> Result<ExitCode, String> {
    let target = options.source.die.read()?;
    let mut settings = options.source.settings.clone();
    let says_most = settings.iter().any(|set| set.contains("CHUNKS_AT_MOST"));
    settings.extend(options.tokens.map(|tokens| format!("TOKENS={tokens}")));
    if let Some(chunks) = options.chunks {
        settings.push(format!("CHUNKS={chunks}"));
        settings.extend((!says_most).then(|| "CHUNKS_AT_MOST=0".to_owned()));
    }
    let expected = Expected { ranks: Some(options.ranks), tokens: None };
    let mut plans = plans(&options.source.file, &settings, (&target, expected), Tuning::Taken)?;
    if options.taskflow.is_some() {
        plans = vec![chosen(plans, options.taskflow.as_deref())?];
    }
    for plan in plans {
        if let Some(chunks) = options.chunks {
            cut_into(&plan, chunks)?;
        }
        let memory = FlowMemory::new(plan, options, &target)?;
        if options.json {
            output::line(memory.json())?;
        } else {
            output::text(&memory.text())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks that a taskflow has the number of chunks that the command line asks for.
fn cut_into(plan: &FlowPlan, chunks: u32) -> Result<(), String> {
    let graph = plan.graph();
    let flow = format!("{}::{}", graph.kernel, graph.taskflow);
    match (graph.sizes.chunks, graph.sizes.chunks_at_most) {
        (_, Some(most)) => Err(format!(
            "--chunks {chunks}: launches of {flow} choose up to {most} chunks: leave it out, or set CHUNKS_AT_MOST to 0"
        )),
        (found, None) if found == chunks as usize => Ok(()),
        (found, None) => Err(format!(
            "--chunks {chunks}: {flow} always has {found}: write its loop as `for route in route.chunks::<CHUNKS>()`, or \
             choose another --taskflow"
        )),
    }
}

impl FlowMemory {
    fn new(plan: FlowPlan, options: &MemoryArgs, target: &hpmoe_core::target::Target) -> Result<Self, String> {
        let (ranks, processes) = (options.ranks, options.processes);
        let valid = plan.schedule(target)?;
        let table = |rows| memory_table(&plan.checked, valid.schedule(), ranks, rows, None, processes);
        let default = default_rows(plan.graph(), ranks);
        let even = balanced_rows(&kernel_sizes(plan.graph())) as u64;
        let even_table = table(Some(even));
        Ok(Self {
            table: table(options.rows),
            rows: [options.rows.unwrap_or(default), default, even],
            even_bytes: even_table.heap + even_table.workspace,
            given: options.rows.is_some(),
            ranks,
            plan,
        })
    }

    fn json(&self) -> Value {
        let graph = self.plan.graph();
        let [rows, default, even] = self.rows;
        let line = |line: &MemoryLine| {
            let (writers, readers) = line.tensor.map(|tensor| tensor_uses(graph, tensor)).unwrap_or_default();
            json!({
                "name": line.name, "place": line.place.to_string(), "purpose": line.purpose, "formula": line.formula,
                "rows": line.rows, "row_bytes": line.row_bytes, "bytes": line.bytes, "written_by": writers, "read_by": readers,
            })
        };
        let on_chip = high_water(&self.plan.checked).into_iter().map(|(memory, used, capacity, task)| {
            json!({"memory": memory.to_string(), "bytes": used.0, "capacity": capacity.0, "task": task})
        });
        json!({
            "kernel": graph.kernel,
            "taskflow": graph.taskflow,
            "ranks": self.ranks,
            "tokens": graph.sizes.tokens,
            "chunks": graph.sizes.chunks,
            "chunks_at_most": graph.sizes.chunks_at_most,
            "capacity_rows": rows,
            "default_capacity_rows": default,
            "even_rows": even,
            "lines": self.table.lines.iter().map(line).collect::<Vec<_>>(),
            "heap_bytes": self.table.heap,
            "workspace_bytes": self.table.workspace,
            "kept_bytes": self.table.kept(),
            "caller_bytes": self.table.bytes(MemoryPlace::Caller),
            "on_chip": on_chip.collect::<Vec<_>>(),
        })
    }

    fn text(&self) -> String {
        let graph = self.plan.graph();
        let sizes = kernel_sizes(graph);
        let [rows, default, even] = self.rows;
        let of_chunk = if graph.sizes.cuts() { " of each chunk" } else { "" };
        let rule = if self.given { "--rows" } else { capacity_rule(&sizes, self.ranks as usize) };
        let mut text = format!(
            "{}::{}: each of {} ranks, {}\n\n\
             T = {} tokens, k = {} experts of a token, S = {} of {} experts, rows = {rows} received rows{of_chunk} ({rule})\n",
            graph.kernel,
            graph.taskflow,
            self.ranks,
            self.plan.about(),
            sizes.tokens,
            sizes.top_k,
            sizes.local_experts(self.ranks as usize),
            sizes.experts,
        );
        for place in [MemoryPlace::Heap, MemoryPlace::Workspace, MemoryPlace::Caller] {
            let lines = self.table.lines.iter().filter(|line| line.place == place);
            let cells: Vec<[String; 5]> = lines.map(|line| self.cells(line)).collect();
            text.push_str(&format!("\n{place}: {}\n", size(self.table.bytes(place))));
            text.push_str(&columns(&cells));
        }
        text.push_str(&format!(
            "\nsymmetric heap and workspace {}, kept for another launch {}\n",
            size(self.table.heap + self.table.workspace),
            size(self.table.kept())
        ));
        if rows != even {
            let needed = size(self.even_bytes);
            text.push_str(&format!(
                "with room for an even load alone, {even} rows{of_chunk}: symmetric heap and workspace {needed}\n"
            ));
        }
        if self.given && rows < default {
            text.push_str(&format!("a launch that needs more rows is refused; none needs more than {default}\n"));
        }
        text.push_str("\non chip, at most\n");
        let on_chip = high_water(&self.plan.checked).into_iter();
        let on_chip = on_chip.map(|(memory, used, capacity, task)| {
            let (used, capacity) = (size(used.0 as usize), size(capacity.0 as usize));
            [memory.to_string(), format!("{used} of {capacity}"), format!("`{task}`"), String::new(), String::new()]
        });
        text.push_str(&columns(&on_chip.collect::<Vec<_>>()));
        text.push('\n');
        text
    }

    /// Name, bytes, rows, purpose, and the calls that use the tensor.
    fn cells(&self, line: &MemoryLine) -> [String; 5] {
        let rows = match (line.formula.is_empty(), line.formula == line.rows.to_string()) {
            (true, _) => String::new(),
            (false, true) => format!("{} of {} B", line.rows, line.row_bytes),
            (false, false) => format!("{} = {} of {} B", line.formula, line.rows, line.row_bytes),
        };
        let uses = line.tensor.map(|tensor| {
            let (writers, readers) = tensor_uses(self.plan.graph(), tensor);
            let list = |names: Vec<String>| if names.is_empty() { "caller".to_owned() } else { names.join(", ") };
            format!("{} → {}", list(writers), list(readers))
        });
        [line.name.clone(), size(line.bytes), rows, line.purpose.to_owned(), uses.unwrap_or_default()]
    }
}

/// Aligns the cells of rows in columns.
fn columns(rows: &[[String; 5]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |row: &[String; 5]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// A size in a readable unit.
fn size(bytes: usize) -> String {
    let (number, unit) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..1_048_576 => (bytes as f64 / 1024.0, "KiB"),
        1_048_576..1_073_741_824 => (bytes as f64 / 1_048_576.0, "MiB"),
        _ => (bytes as f64 / 1_073_741_824.0, "GiB"),
    };
    format!("{number:.2} {unit}")
}

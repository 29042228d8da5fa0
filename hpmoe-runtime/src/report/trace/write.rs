//! Writes a trace as events for chrome://tracing and Perfetto, with the same names, threads and slices as
//! `hpmoe simulate --trace`.

use std::io::{self, Write};

use super::{CoreTrace, Trace};

impl Trace {
    /// Writes JSON in the Trace Event Format: a process for each rank, a thread for each core, and a slice for each
    /// wait and each tile. `hpmoe diff` compares the file with a simulated run.
    ///
    /// # Errors
    ///
    /// The error of the writer.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let about = quoted(&format!("{}, {} ranks", self.kernel, self.ranks.len()));
        let note = quoted(&format!("measured, not simulated, on {}", self.on));
        write!(to, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"about\":{about},\"note\":{note},\"clocks\":[")?;
        for (rank, clock) in self.ranks.iter().map(|rank| rank.clock).enumerate() {
            let comma = if rank == 0 { "" } else { "," };
            match clock {
                Some(clock) => {
                    let (ahead, within) = (us(clock.ahead * super::CYCLE_NS), us(clock.within * super::CYCLE_NS));
                    write!(to, "{comma}{{\"rank\":{rank},\"ahead_us\":{ahead},\"within_us\":{within}}}")?;
                }
                None => write!(to, "{comma}{{\"rank\":{rank}}}")?,
            }
        }
        write!(to, "],\"tiles_without_stamp\":{}}},\"traceEvents\":[", self.lost().0)?;
        let mut comma = "\n";
        let mut tid = 0;
        for (rank, cores) in self.ranks.iter().map(|rank| &rank.cores).enumerate() {
            let pid = rank + 1;
            let name = quoted(&format!("rank {rank}, measured"));
            for (what, key, value) in
                [("process_name", "name", name), ("process_sort_index", "sort_index", pid.to_string())]
            {
                let first = tid + 1;
                write!(
                    to,
                    "{comma}{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{pid},\"tid\":{first},\"args\":{{\"{key}\":{value}}}}}"
                )?;
                comma = ",\n";
            }
            for core in cores {
                tid += 1;
                self.write_core(&mut to, core, pid, tid)?;
            }
        }
        writeln!(to, "\n]}}")
    }

    /// Writes the name of a thread and its slices. A slice ends one nanosecond early, so that slices don't touch.
    fn write_core(&self, to: &mut impl Write, core: &CoreTrace, pid: usize, tid: usize) -> io::Result<()> {
        let name = quoted(&format!("{} {:02}", core.kind, core.number));
        for (what, key, value) in [("thread_name", "name", name), ("thread_sort_index", "sort_index", tid.to_string())]
        {
            write!(
                to,
                ",\n{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"{key}\":{value}}}}}"
            )?;
        }
        for tile in &core.tiles {
            let source = quoted(&format!("{}:{}", self.file, tile.line));
            let name = quoted(tile.task);
            let worked = tile.came_ns + tile.waited_ns;
            let mut slice = |name: &str, category: &str, from: i64, lasts: i64, arguments: &str| {
                let (from, lasts) = (us(from), us((lasts - 1).max(0)));
                write!(
                    to,
                    ",\n{{\"ph\":\"X\",\"name\":{name},\"cat\":\"{category}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{from},\
                     \"dur\":{lasts},\"args\":{{{arguments},\"source\":{source}}}}}"
                )
            };
            if tile.waited_ns > 1 {
                slice("\"wait\"", "wait", tile.came_ns, tile.waited_ns, &format!("\"for\":{name}"))?;
            }
            let (group, item, column) = (tile.group, tile.item, tile.column);
            let place = format!("\"group\":{group},\"item\":{item},\"column\":{column}");
            slice(&name, "task", worked, (tile.lasted_ns - tile.waited_ns).max(0), &place)?;
        }
        Ok(())
    }
}

/// A time in microseconds, with three decimals.
fn us(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", ns.unsigned_abs() / 1_000, ns.unsigned_abs() % 1_000)
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KernelTables;
    use crate::layout::stamps::RankStamps;
    use crate::testing::TABLES;

    #[test]
    fn a_trace_has_the_events_of_a_simulated_one() {
        let tables = KernelTables { aic: 1, aiv: 1, file: "a \"b\"\\c.rs", ..TABLES };
        let trace = Trace::new(&tables, &[RankStamps::for_test()]);
        let mut text = Vec::new();
        trace.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"about\":\"layer::forward, 1 ranks\",\"note\":\"measured, not simulated, \
             on this machine's CPU, whose times mean nothing for an NPU\",\"clocks\":[{\"rank\":0,\"ahead_us\":0.000,\
             \"within_us\":0.000}],\"tiles_without_stamp\":4},\"traceEvents\":["
        );
        assert_eq!(
            lines[5..7],
            [
                "{\"ph\":\"X\",\"name\":\"wait\",\"cat\":\"wait\",\"pid\":1,\"tid\":1,\"ts\":0.200,\"dur\":0.039,\
                 \"args\":{\"for\":\"combine\",\"source\":\"a \\\"b\\\"\\\\c.rs:57\"}},",
                "{\"ph\":\"X\",\"name\":\"combine\",\"cat\":\"task\",\"pid\":1,\"tid\":1,\"ts\":0.240,\"dur\":0.059,\
                 \"args\":{\"group\":0,\"item\":0,\"column\":0,\"source\":\"a \\\"b\\\"\\\\c.rs:57\"}},"
            ]
        );
        assert_eq!((lines.len(), *lines.last().unwrap()), (12, "]}"));
    }
}

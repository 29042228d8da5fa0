//! The printed text.

use crate::answer::Answer;
use crate::examination::Examination;
use crate::probes::Probe;
use hpmoe_runtime::printable::{printable_lines, printable_path};
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Prints the answer of a probe.
pub(crate) fn answer(probe: &Probe, answer: &Answer) {
    let (word, text) = match answer {
        Answer::Holds(seen) => ("holds", seen.as_str()),
        Answer::Fails(failure) => ("FAILS", failure.seen.as_str()),
        Answer::NotRun(why) => ("not run", why.as_str()),
    };
    print(format!("{:<10} {word:<8} {}\n{:19} {text}", probe.name, probe.assumption, ""));
    if answer.is_failure() {
        let Probe { means, falls, change, .. } = probe;
        print(format!("{0:19} means: {means}\n{0:19} breaks: {falls}\n{0:19} change: {change}", ""));
    }
}

/// Adds the answer of a probe to a file, as a line of JSON.
pub(crate) fn note(file: &Path, probe: &Probe, answer: &Answer) {
    let line = of_probe(probe, answer).to_string() + "\n";
    let opened = OpenOptions::new().create(true).append(true).open(file);
    if let Err(error) = opened.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("error: can't write to `{}`: {error}", printable_path(file));
    }
}

/// Prints how many assumptions hold and, with `--json`, one JSON object.
pub(crate) fn summary(answers: &[(&Probe, Answer)], examination: &Examination, as_json: bool) {
    let count = |is: fn(&Answer) -> bool| answers.iter().filter(|(_, answer)| is(answer)).count();
    let (holds, fails) = (count(|answer| matches!(answer, Answer::Holds(_))), count(Answer::is_failure));
    print(format!("\n{holds} hold, {fails} fail, {} were not run", answers.len() - holds - fails));
    let strangers = examination.team.strangers();
    if strangers.count() > 0 {
        print(format!("{strangers}, when the processes joined"));
    }
    if examination.is_stand_in() {
        print(
            "This was the stand-in for CANN: nothing here says anything about an NPU, and times mean nothing."
                .to_owned(),
        );
    }
    if as_json {
        let probes: Vec<_> = answers.iter().map(|(probe, answer)| of_probe(probe, answer)).collect();
        let ranks = examination.team.ranks;
        print(json!({ "ranks": ranks, "stand_in": examination.is_stand_in(), "probes": probes }).to_string());
    }
}

/// Prints lines. If the reader closes the output, that is no error, and the probes continue.
pub(crate) fn print(mut lines: String) {
    lines.push('\n');
    match io::stdout().write_all(printable_lines(&lines).as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: can't write to standard output: {error}");
        }
        _ => {}
    }
}

fn of_probe(probe: &Probe, answer: &Answer) -> serde_json::Value {
    let (word, seen) = match answer {
        Answer::Holds(seen) => ("holds", seen),
        Answer::Fails(failure) => ("fails", &failure.seen),
        Answer::NotRun(why) => ("not run", why),
    };
    json!({ "probe": probe.name, "assumption": probe.assumption, "answer": word, "seen": seen })
}

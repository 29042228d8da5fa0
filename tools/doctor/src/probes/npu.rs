//! Checks that CANN's library opens the NPUs.

use super::probe::Probe;
use crate::answer::Failure;
use crate::cores::Cores;
use crate::examination::{Examination, NpuPlace};
use crate::launch::{Die, Form};
use hpmoe_runtime::NpuError;
use hpmoe_runtime::npus::{self, Npu};
use std::time::Duration;

pub(super) static PROBE: Probe = Probe {
    name: "npu",
    assumption: "CANN's library opens one NPU for each rank, and hpmoe generates kernels for its chip",
    needs: &[],
    ranks: 1,
    run,
    means: "the library differs from its documentation, or the NPUs are not those of an A2 or A3",
    falls: "no kernel can be launched",
    change: "see the line above `means`: if it names a call of CANN, compare the call with hpmoe-runtime/acl/acl.h, which declares these calls",
};

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let opened = open(examination);
    let mine = opened.as_ref().map_err(Clone::clone).and_then(|npus| Ok(described(npus)?.into_bytes()));
    let all: Vec<String> = examination
        .team
        .exchange(mine)?
        .into_iter()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    let places: Option<Vec<(NpuPlace, u32)>> = all.iter().flat_map(|text| text.lines()).map(read).collect();
    let places =
        places.ok_or_else(|| Failure::new("another process sent an invalid answer: start all from one build"))?;
    examination.npus = opened?;
    let fewest = places.iter().map(|(_, matrix)| *matrix).min().unwrap_or(0);
    examination.cores = Cores { matrix: fewest.min(examination.most_cores) };
    examination.places = places.into_iter().map(|(place, _)| place).collect();
    let (place, matrix) = (&examination.places[0], examination.cores.matrix);
    let hosts = |place: &NpuPlace| place.host == examination.places[0].host;
    let machines = if examination.places.iter().all(hosts) { "one machine" } else { "several machines" };
    match matrix {
        0 => Err(Failure::new(format!("{} has no matrix cores that come with two vector cores each", place.chip))),
        _ => Ok(format!(
            "{} of {} on {machines}, {matrix} matrix and {} vector cores each",
            examination.places.len(),
            place.chip,
            examination.cores.vector()
        )),
    }
}

fn open(examination: &Examination) -> Result<Vec<Npu>, Failure> {
    if !examination.team.is_processes() {
        return Ok(npus::open(0, examination.team.ranks)?);
    }
    let local = npus::local_rank(examination.team.own().start).map_err(|error| Failure::new(error.to_string()))?;
    Ok(vec![npus::open_one(local)?])
}

/// A line for each NPU: number, number of matrix cores with two vector cores each, chip, host.
fn described(npus: &[Npu]) -> Result<String, NpuError> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let line = |npu: &Npu| {
        let (matrix, vector) = npu.cores()?;
        Ok(format!("{}\t{}\t{}\t{}\n", npu.number(), matrix.min(vector / 2).max(0), npu.chip(), host.trim()))
    };
    npus.iter().map(line).collect()
}

fn read(line: &str) -> Option<(NpuPlace, u32)> {
    let mut parts = line.split('\t');
    let (number, matrix) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let (chip, host) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    Some((NpuPlace { host, number, chip }, matrix))
}

/// The NPUs with the loaded kernel. It is assumed to take its argument as the first one.
pub(super) fn dies(examination: &mut Examination, limit: Duration) -> Result<(), Failure> {
    let object = examination.object.as_ref().map(|object| object.object.as_slice()).unwrap_or_default();
    let cores = examination.cores;
    for npu in examination.npus.drain(..) {
        let program = npus::Program::of_object(&npu, "the probes", object, crate::kernel::SYMBOL)?;
        examination.dies.push(Die { npu, program, form: Form::First, cores, limit });
    }
    Ok(())
}

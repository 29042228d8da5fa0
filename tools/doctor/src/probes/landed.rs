//! Checks that data have arrived at a peer after a barrier of all pipes.

use super::probe::Probe;
use crate::answer::Failure;
use crate::cores::Cores;
use crate::examination::Examination;
use crate::launch::Seen;
use crate::request::{BLOCK, Request, Which};

pub(super) static PROBE: Probe = Probe {
    name: "landed",
    assumption: "data that a core wrote to a peer have landed there after a barrier of all pipes, so the core can signal then",
    needs: &["poll", "order", "peer-adds"],
    ranks: 2,
    run,
    means: "a signal to a peer can overtake the rows that it announces",
    falls: "equal bits: some results of rows from other ranks are wrong at random",
    change: "`FencePeer` in kernels/include/hpmoe/vector_core.h: read back what was written last before the signal",
};

/// Number of blocks that ranks have sent over one distance, and how many of them came too late.
#[derive(Clone, Copy, Default)]
struct Blocks {
    sent: u64,
    late: u64,
}

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let seen = examination.run_with_peers(Request::new(Which::Landed, examination.tries))?;
    let counted: Vec<[Blocks; 2]> =
        examination.team.own().zip(&seen).map(|(rank, seen)| count(examination, rank, seen)).collect();
    let ended: Result<(), Failure> = seen.iter().try_for_each(|seen| match seen.expect_done() {
        // Wrong words are not an error here: `count` counts them.
        Err(_) if seen.observations.iter().any(|observation| observation.misses > 0) => Ok(()),
        result => result,
    });
    let mine = ended.map(|()| {
        let numbers = counted.iter().flatten().flat_map(|blocks| [blocks.sent, blocks.late]);
        numbers.flat_map(u64::to_le_bytes).collect()
    });
    let all = examination.team.exchange(mine)?.concat();
    let mut total = [Blocks::default(); 2];
    for (at, numbers) in all.chunks_exact(16).enumerate() {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        total[at % 2].sent += number(&numbers[..8]);
        total[at % 2].late += number(&numbers[8..]);
    }
    let text = format!("{}; {}", told("in a package", total[0]), told("beyond", total[1]));
    if total.iter().all(|blocks| blocks.late == 0) { Ok(text) } else { Err(Failure::new(text)) }
}

/// Counts the blocks that arrived at a rank, from its own package and from other packages.
fn count(examination: &Examination, rank: usize, seen: &Seen) -> [Blocks; 2] {
    let mut blocks = [Blocks::default(); 2];
    for (core, observation) in vector_observations(examination.cores, seen) {
        let ranks = examination.team.ranks;
        let source = (rank + ranks - (1 + core % (ranks - 1))) % ranks;
        let beyond = !examination.places[rank].shares_package(&examination.places[source]);
        let at = &mut blocks[usize::from(beyond)];
        at.sent += u64::from(observation.rounds);
        at.late += u64::from(observation.misses > 0);
    }
    blocks
}

fn vector_observations(cores: Cores, seen: &Seen) -> impl Iterator<Item = (usize, &crate::request::Observation)> {
    seen.observations.iter().skip(cores.matrix as usize).take(cores.vector() as usize).enumerate()
}

fn told(place: &str, blocks: Blocks) -> String {
    match (blocks.sent, blocks.late) {
        (0, _) => format!("{place}: no pair of these ranks"),
        (sent, 0) => format!("{place}: {sent} blocks of {} KiB, all of which had landed", BLOCK / 1024),
        (sent, late) => {
            format!("{place}: {sent} blocks of {} KiB, and {late} cores read what had not landed", BLOCK / 1024)
        }
    }
}

//! The queues of the original's workers.

use super::sizes::CUBE_CORES;
use super::{Direction, Listed, Operator, Original};

/// The task numbers in the queues of one rank. Worker `w` (counted from 0) of 24 takes the entries `w`, `w + 24`, …, and never takes
/// another worker's entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queues {
    /// The queue of the matrix cores; the same on all ranks.
    pub aic: Vec<u32>,
    /// The queue of the vector cores that take tasks.
    pub aiv: Vec<u32>,
}

impl Original {
    /// The queues of rank `rank`.
    #[must_use]
    pub fn queues(&self, rank: u32) -> Queues {
        let listed = self.operators();
        let find = |operator| *listed.iter().find(|l| l.operator == operator).expect("the direction has this operator");
        let vector = match self.direction() {
            Direction::Forward => Operator::SwiGlu,
            Direction::Backward => Operator::SwiGluGrad,
        };
        let mut aiv = puts(self, &find(Operator::Dispatch), rank);
        aiv.extend(all(&find(vector)));
        aiv.extend(puts(self, &find(Operator::Combine), rank));
        aiv.push(self.tasks_per_rank() - 1);
        let aic = match self.direction() {
            Direction::Forward => all(&find(Operator::UpProj)).chain(all(&find(Operator::DownProj))).collect(),
            Direction::Backward => (0..self.shape().experts_per_rank())
                .flat_map(|e| [Operator::W2Grad, Operator::ActGrad].map(|operator| (e, find(operator).first)))
                .flat_map(|(e, first)| first + e * CUBE_CORES..first + (e + 1) * CUBE_CORES)
                .chain(all(&find(Operator::GateGrad)))
                .chain(all(&find(Operator::W1Grad)))
                .collect(),
        };
        Queues { aic, aiv }
    }
}

fn all(listed: &Listed) -> std::ops::Range<u32> {
    listed.first..listed.first + listed.tasks
}

/// The puts of an operator in the order of the queue: for each tile, the puts to all peers. Each rank starts with itself and goes on to the
/// ranks after it, so that no two ranks send to the same peer at a time (RATR).
fn puts(original: &Original, listed: &Listed, rank: u32) -> Vec<u32> {
    let (ranks, experts) = (original.shape().ranks, original.shape().experts_per_rank());
    let tiles = original.counters().tiles_per_source();
    let number = |expert, tile, turn| {
        let peer = (turn + rank) % ranks;
        listed.first + (peer * experts + expert) * tiles + tile
    };
    (0..experts)
        .flat_map(|e| (0..tiles).flat_map(move |k| (0..ranks).map(move |i| (e, k, i))))
        .map(|(e, k, i)| number(e, k, i))
        .collect()
}

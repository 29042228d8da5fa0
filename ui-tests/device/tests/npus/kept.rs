//! Backward passes that take the route that the forward pass has kept, in the memory of the host or of NPUs.

#[path = "../../../kernels/kept.rs"]
mod kept_file;

use super::processes::run_processes;
use super::{joined, numbers, run};
use hpmoe_runtime::npus::{self, DeviceMemory};
use hpmoe_runtime::op::ElementType;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::tables::RowKind;
use hpmoe_runtime::{Argument, LaunchError, RawPart, RawTensor};
use kept_file::kept::{self, EXPERTS, HIDDEN, INTER, TOKENS, TOP_K};
use std::time::Duration;

type Tokens = PerRank<Tensor<bf16, HIDDEN>>;

/// The inputs of both passes.
struct Layer {
    ep: Ranks,
    ids: PerRank<Tensor<i32, TOP_K>>,
    x: Tokens,
    gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
    down: PerRank<Experts<bf16, HIDDEN, INTER>>,
    dy: Tokens,
}

/// The outputs of the forward pass.
struct Forward {
    recv: PerRank<Received<bf16, HIDDEN>>,
    g: PerRank<Received<bf16, INTER>>,
    y: Tokens,
    routed: PerRank<Routed>,
}

#[derive(PartialEq)]
struct Gradients {
    dx: Tokens,
    dgate: PerRank<Experts<f32, INTER, HIDDEN>>,
    ddown: PerRank<Experts<f32, HIDDEN, INTER>>,
}

impl Layer {
    /// The parts of these ranks. One rank has no token, and one slot in seven is empty.
    fn of(ep: Ranks) -> Self {
        let tokens = |rank: Rank| [31, 12, 0, 25][rank.id()];
        let id = |rank: Rank, slot: usize| match slot + rank.id() {
            at if at % 7 == 0 => -1,
            at => ((slot / TOP_K * 3 + at % TOP_K + rank.id()) % EXPERTS) as i32,
        };
        // Different ids of a token: TOP_K consecutive ones, starting with another one for each token.
        let ids = |rank: Rank| (0..tokens(rank) * TOP_K).map(|slot| id(rank, slot)).collect();
        let matrices = EXPERTS / ep.count() * INTER * HIDDEN;
        let small = |number: f32| bf16::from_f32(0.5 * number);
        Self {
            ep,
            ids: PerRank::from_fn(ep, |r| Tensor::from_vec(ids(r))),
            x: PerRank::from_fn(ep, |r| Tensor::from_vec(numbers(tokens(r) * HIDDEN, r.id(), small))),
            gate: PerRank::from_fn(ep, |r| Experts::from_vec(numbers(matrices, 10 + r.id(), small))),
            down: PerRank::from_fn(ep, |r| Experts::from_vec(numbers(matrices, 20 + r.id(), small))),
            dy: PerRank::from_fn(ep, |r| Tensor::from_vec(numbers(tokens(r) * HIDDEN, 30 + r.id(), small))),
        }
    }

    fn zeros(&self) -> Tokens {
        self.x.map(|x| Tensor::zeros(x.row_count()))
    }

    fn forward(&self) -> Forward {
        let ranks = self.ep.count();
        let room = ranks * TOKENS * TOP_K.min(EXPERTS / ranks);
        let tokens = self.x.map(Tensor::row_count);
        let (recv, g) = (PerRank::with_room(self.ep, room), PerRank::with_room(self.ep, room));
        Forward { recv, g, y: self.zeros(), routed: PerRank::routed(self.ep, EXPERTS, TOP_K, &tokens) }
    }

    fn gradients(&self) -> Gradients {
        let local = EXPERTS / self.ep.count();
        Gradients {
            dx: self.zeros(),
            dgate: PerRank::from_fn(self.ep, |_| Experts::zeros(local)),
            ddown: PerRank::from_fn(self.ep, |_| Experts::zeros(local)),
        }
    }

    /// Both passes of the reference, with all ranks here.
    fn reference(&self) -> (Tokens, Gradients) {
        let Self { ep, ids, x, gate, down, dy } = self;
        let (mut made, mut found) = (self.forward(), self.gradients());
        let route = Route::new(*ep, EXPERTS, ids).unwrap();
        (made.recv, made.g) = (PerRank::ragged(*ep, &route), PerRank::ragged(*ep, &route));
        kept::forward(*ep, ids, x, gate, down, &mut made.recv, &mut made.g, &mut made.y, &mut made.routed);
        let Gradients { dx, dgate, ddown } = &mut found;
        kept::backward(*ep, &made.routed, dy, gate, down, &made.recv, &made.g, dx, dgate, ddown);
        (made.y, found)
    }

    fn launch_forward(&self, group: &Group) -> Forward {
        let Self { ids, x, gate, down, .. } = self;
        let mut made = self.forward();
        let Forward { recv, g, y, routed } = &mut made;
        let report = kept::forward::launch(group, ids, x, gate, down, recv, g, y, routed).unwrap();
        assert!(report.on_npus && report.tasks > 0, "{report}");
        made
    }

    fn launch_backward(&self, group: &Group, made: &Forward) -> Result<Gradients, LaunchError> {
        let Self { gate, down, dy, .. } = self;
        let mut found = self.gradients();
        let Gradients { dx, dgate, ddown } = &mut found;
        let Forward { recv, g, routed, .. } = made;
        kept::backward::launch(group, routed, dy, gate, down, recv, g, dx, dgate, ddown)?;
        Ok(found)
    }

    /// Both passes, with a route that stays in the memory of the NPUs.
    #[expect(unsafe_code, reason = "memory of others")]
    fn on_npus(&self, group: &Group) -> (Forward, Gradients) {
        let npus = npus::open(0, self.ep.count()).unwrap();
        let (mut made, mut found) = (self.forward(), self.gradients());
        let words = made.routed.map(Routed::word_count);
        let memory = PerRank::from_fn(self.ep, |r| {
            DeviceMemory::poisoned(&npus[r.id()], words[r] * size_of::<i32>(), 0).unwrap()
        });
        let routed = |writable| {
            let address = |rank: Rank| std::ptr::with_exposed_provenance_mut(memory[rank].address() as usize);
            let parts = PerRank::from_fn(self.ep, |rank| RawPart { address: address(rank), count: words[rank] });
            let tensor = RawTensor { element: ElementType::i32, columns: 1, kind: RowKind::Routed, writable };
            // SAFETY: memory of these NPUs, which nothing else uses, and which lives until both launches have ended.
            unsafe { Argument::on_npus("routed", tensor, &parts) }
        };
        let Self { ids, x, gate, down, dy, .. } = self;
        let Forward { recv, g, y, .. } = &mut made;
        let arguments = vec![
            Argument::read("ids", ids),
            Argument::read("x", x),
            Argument::read("gate", gate),
            Argument::read("down", down),
            Argument::write("recv", recv),
            Argument::write("g", g),
            Argument::write("y", y),
            routed(true),
        ];
        group.enqueue_routed(&kept::forward::KERNEL, None, arguments).unwrap().wait().unwrap();
        let Gradients { dx, dgate, ddown } = &mut found;
        let arguments = vec![
            routed(false),
            Argument::read("dy", dy),
            Argument::read("gate", gate),
            Argument::read("down", down),
            Argument::read("recv", &made.recv),
            Argument::read("g", &made.g),
            Argument::write("dx", dx),
            Argument::write("dgate", dgate),
            Argument::write("ddown", ddown),
        ];
        group.enqueue_routed(&kept::backward::KERNEL, None, arguments).unwrap().wait().unwrap();
        (made, found)
    }
}

/// Several passes in a row on 1, 2 and 4 NPUs, with a late rank.
pub fn kept() {
    for ranks in [1, 2, 4] {
        let layer = Layer::of(Ranks::new(ranks));
        let (y, expected) = layer.reference();
        let group = Group::new(ranks).delay(ranks - 1, Duration::from_millis(2)).on_npus().unwrap();
        let error = layer.launch_backward(&group, &layer.forward()).err().expect("nothing was kept").to_string();
        assert!(error.starts_with("`routed` of rank 0 has no route: launch a taskflow first"), "{error}");
        for _ in 0..2 {
            let made = layer.launch_forward(&group);
            let found = layer.launch_backward(&group, &made).unwrap();
            assert!(made.y == y && found == expected, "{ranks} ranks");
        }
        let (made, found) = layer.on_npus(&group);
        assert!(made.y == y && found == expected, "{ranks} ranks, the route on NPUs");
    }
}

/// One rank of several.
pub fn kept_process() {
    let group = joined();
    let ranks = group.ranks().count();
    let (y, expected) = Layer::of(Ranks::new(ranks)).reference();
    let (layer, rank) = (Layer::of(group.ranks()), group.ranks().only().unwrap());
    let made = layer.launch_forward(&group);
    for _ in 0..2 {
        let found = layer.launch_backward(&group, &made).unwrap();
        assert!(made.y[rank] == y[rank] && found.dx[rank] == expected.dx[rank], "rank {rank} of {ranks}");
        assert!(found.dgate[rank] == expected.dgate[rank] && found.ddown[rank] == expected.ddown[rank]);
    }
}

#[test]
fn a_backward_pass_takes_the_route_that_the_forward_pass_has_kept() {
    run("kept", &[]);
    run_processes("kept process", 2, &[]);
    run_processes("kept process", 4, &[]);
}

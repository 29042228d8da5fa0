//! Launches in a row of a kernel that keeps its route, or of one that takes it; the unchanged kernel runs the other
//! pass.

use crate::kernels::launch_all;
use crate::random::{Case, experts, numbers};
use crate::rows::Launch;
use crate::small_kernels::kept::{EXPERTS, HIDDEN, INTER, TOKENS, TOP_K, backward, forward};
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{Argument, CompiledKernel};

/// The inputs of a launch.
struct Given {
    ids: PerRank<Tensor<i32, TOP_K>>,
    x: PerRank<Tensor<bf16, HIDDEN>>,
    gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
    down: PerRank<Experts<bf16, HIDDEN, INTER>>,
    dy: PerRank<Tensor<bf16, HIDDEN>>,
}

/// The outputs of a forward pass, and the route that it keeps for the backward pass.
struct Kept {
    recv: PerRank<Received<bf16, HIDDEN>>,
    g: PerRank<Received<bf16, INTER>>,
    y: PerRank<Tensor<bf16, HIDDEN>>,
    routed: PerRank<Routed>,
}

#[derive(PartialEq)]
struct Gradients {
    dx: PerRank<Tensor<bf16, HIDDEN>>,
    dgate: PerRank<Experts<f32, INTER, HIDDEN>>,
    ddown: PerRank<Experts<f32, HIDDEN, INTER>>,
}

impl Given {
    fn of(launch: &Launch) -> Self {
        let case = &launch.case;
        Self {
            ids: launch.ids(EXPERTS),
            x: numbers(case),
            gate: experts(case, EXPERTS, 1),
            down: experts(case, EXPERTS, 2),
            dy: numbers(&Case { seed: !case.seed, ..case.clone() }),
        }
    }

    fn ep(&self) -> Ranks {
        self.x.ranks()
    }

    fn room(&self) -> Kept {
        let (ep, tokens) = (self.ep(), self.x.map(Tensor::row_count));
        let rows = ep.count() * TOKENS * TOP_K.min(EXPERTS / ep.count());
        Kept {
            recv: PerRank::with_room(ep, rows),
            g: PerRank::with_room(ep, rows),
            y: self.x.map(|x| Tensor::zeros(x.row_count())),
            routed: PerRank::routed(ep, EXPERTS, TOP_K, &tokens),
        }
    }

    fn gradients(&self) -> Gradients {
        let local = EXPERTS / self.ep().count();
        Gradients {
            dx: self.x.map(|x| Tensor::zeros(x.row_count())),
            dgate: PerRank::from_fn(self.ep(), |_| Experts::zeros(local)),
            ddown: PerRank::from_fn(self.ep(), |_| Experts::zeros(local)),
        }
    }

    /// Both passes of the reference: the output and the gradients.
    fn expected(&self) -> (PerRank<Tensor<bf16, HIDDEN>>, Gradients) {
        let Self { ids, x, gate, down, dy } = self;
        let (mut kept, mut gradients) = (self.room(), self.gradients());
        forward(self.ep(), ids, x, gate, down, &mut kept.recv, &mut kept.g, &mut kept.y, &mut kept.routed);
        let (Gradients { dx, dgate, ddown }, Kept { recv, g, routed, y }) = (&mut gradients, kept);
        backward(self.ep(), &routed, dy, gate, down, &recv, &g, dx, dgate, ddown);
        (y, gradients)
    }
}

/// The changed kernel makes routes and keeps them.
pub fn launch_keeping(compiled: &CompiledKernel, group: &Group, row: &[Launch]) -> Result<bool, LaunchError> {
    let given: Vec<Given> = row.iter().map(Given::of).collect();
    let mut kept: Vec<Kept> = given.iter().map(Given::room).collect();
    let arguments = given.iter().zip(&mut kept).map(|(given, Kept { recv, g, y, routed })| {
        vec![
            Argument::read("ids", &given.ids),
            Argument::read("x", &given.x),
            Argument::read("gate", &given.gate),
            Argument::read("down", &given.down),
            Argument::write("recv", recv),
            Argument::write("g", g),
            Argument::write("y", y),
            Argument::write("routed", routed),
        ]
    });
    launch_all(compiled, group, arguments)?;
    let mut equal = true;
    for (given, Kept { recv, g, y, routed }) in given.iter().zip(&kept) {
        let mut found = given.gradients();
        let (Given { gate, down, dy, .. }, Gradients { dx, dgate, ddown }) = (given, &mut found);
        backward::launch(group, routed, dy, gate, down, recv, g, dx, dgate, ddown)?;
        let (expected_y, expected) = given.expected();
        equal &= *y == expected_y && found == expected;
    }
    Ok(equal)
}

/// The changed kernel takes routes that the unchanged one has kept.
pub fn launch_taking(compiled: &CompiledKernel, group: &Group, row: &[Launch]) -> Result<bool, LaunchError> {
    let given: Vec<Given> = row.iter().map(Given::of).collect();
    let mut kept: Vec<Kept> = given.iter().map(Given::room).collect();
    // The other group may be the one that gives up.
    let unchanged = Group::new(given[0].ep().count());
    for (Given { ids, x, gate, down, .. }, Kept { recv, g, y, routed }) in given.iter().zip(&mut kept) {
        forward::launch(&unchanged, ids, x, gate, down, recv, g, y, routed)?;
    }
    let mut found: Vec<Gradients> = given.iter().map(Given::gradients).collect();
    let launches = given.iter().zip(&kept).zip(&mut found);
    let arguments = launches.map(|((given, kept), Gradients { dx, dgate, ddown })| {
        vec![
            Argument::read("routed", &kept.routed),
            Argument::read("dy", &given.dy),
            Argument::read("gate", &given.gate),
            Argument::read("down", &given.down),
            Argument::read("recv", &kept.recv),
            Argument::read("g", &kept.g),
            Argument::write("dx", dx),
            Argument::write("dgate", dgate),
            Argument::write("ddown", ddown),
        ]
    });
    launch_all(compiled, group, arguments)?;
    Ok(given.iter().zip(found).all(|(given, found)| given.expected().1 == found))
}

//! The phase that a task call becomes.

use super::arguments::LoweredArgument;
use super::calls::{Call, Lowering};
use super::loops::{Nest, Side};
use super::unwritten::reads_unwritten;
use super::{chunks, source_line, tensors, writes};
use crate::graph::{Access, Origins, Phase, SpaceKind, Storage};
use crate::ids::TaskId;
use hpmoe_kernels::op::{Device, TaskKind};

impl Lowering<'_> {
    /// Adds the phase of a call whose arguments are known.
    pub(super) fn phase(
        &mut self,
        task: TaskId,
        call: &Call<'_>,
        nest: &Nest,
        places: &[LoweredArgument],
        side: Side,
    ) -> Option<()> {
        let mut writes = self.graph.tasks[task].body.steps.iter().filter(|step| writes::writes(step.operation));
        let space = nest.space_of_call(side, writes.all(|step| matches!(step.operation.device, Device::Accumulate)));
        let kind = space.kind;
        let space =
            self.graph.spaces.position(|known| *known == space).unwrap_or_else(|| self.graph.spaces.push(space));
        let params = self.graph.tasks[task].params.iter().map(|param| (param.shape, param.write));
        let accesses: Vec<Access> = params
            .zip(places)
            .map(|((shape, write), place)| Access {
                tensor: place.tensor,
                region: place.region(
                    u32::try_from(shape.rows).unwrap_or(u32::MAX),
                    u32::try_from(shape.cols).unwrap_or(u32::MAX),
                ),
                write,
                remote: place.side != side,
            })
            .collect();
        if self.graph.tasks[task].kind == TaskKind::Put {
            self.check_put(call, &accesses)?;
        }
        let put = self.graph.tasks[task].kind == TaskKind::Put;
        // If rows are given back, the first put of each (token, k) sends their origins to the receiver. If no put has done so by
        // then, the launch passes a table.
        let written = self.graph.phases.iter().any(|(_, phase)| phase.origins.is_some_and(|origins| origins.write));
        let sends = put && kind == SpaceKind::Sends && !written && self.gives_back;
        let returns = put && kind == SpaceKind::Arrivals && written;
        if let (Some(chunks), true) = (self.chunks, put && kind == SpaceKind::Arrivals && !written) {
            // The send may be one of the calls with faults.
            if self.incomplete {
                return None;
            }
            if !reads_unwritten(self.graph) {
                chunks::unsent(chunks, call.span, self.errors);
                return None;
            }
        }
        let origins =
            (sends || returns).then(|| Origins { tensor: tensors::origins(self.graph, self.flow.span), write: sends });
        for access in accesses.iter().filter(|access| access.remote) {
            let tensor = &mut self.graph.tensors[access.tensor];
            if tensor.storage == Storage::Argument {
                tensor.storage = Storage::Shared;
            }
        }
        self.graph.phases.push(Phase {
            task,
            space,
            ranges: nest.ranges.iter().map(|(_, extent)| *extent).collect(),
            range_names: nest.ranges.iter().map(|(name, _)| name.clone()).collect(),
            accesses,
            origins,
            source: call.source.to_owned(),
            line: source_line::line(call.span),
            span: call.span,
        });
        Some(())
    }
}

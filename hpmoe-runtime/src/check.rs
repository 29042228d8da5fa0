//! Checks of a launch before anything starts.

use hpmoe_kernels::{Rank, Route};

use crate::layout::Chunks;
use crate::tables::{RowKind, ScheduleTable, Storage, TensorTable};
use crate::{Argument, KernelTables, LaunchError};

/// Whether the route and the arguments fit the kernel on all ranks.
pub(crate) fn launch(
    tables: &KernelTables,
    ranks: usize,
    route: &Route,
    arguments: &[Argument<'_>],
) -> Result<(), LaunchError> {
    fits_kernel(tables, ranks, route)?;
    let tensors = || tables.tensors.iter().filter_map(|t| Some((t, argument_number(t)?)));
    let wanted = tensors().count();
    if arguments.len() != wanted {
        return Err(LaunchError::Arity { kernel: tables.name, wanted, got: arguments.len() });
    }
    for (tensor, number) in tensors() {
        fits_tensor(tensor, &arguments[number], route)?;
    }
    Ok(())
}

/// Whether each rank has room for the rows that it receives.
pub(crate) fn capacity(chunks: &Chunks<'_>) -> Result<(), LaunchError> {
    let capacity = chunks.capacity();
    for rank in chunks.whole().ranks() {
        let rows = chunks.received(rank);
        if rows > capacity {
            return Err(LaunchError::Capacity { rank: rank.id(), rows, capacity });
        }
    }
    Ok(())
}

/// The schedule for a number of ranks.
pub(crate) fn schedule(tables: &KernelTables, ranks: usize) -> Result<&ScheduleTable, LaunchError> {
    let found = tables.schedules.iter().find(|schedule| schedule.ranks as usize == ranks);
    found.ok_or_else(|| {
        let available = tables.schedules.iter().map(|schedule| schedule.ranks).collect();
        LaunchError::NoSchedule { kernel: tables.name, ranks, available }
    })
}

fn fits_kernel(tables: &KernelTables, ranks: usize, route: &Route) -> Result<(), LaunchError> {
    let kernel = tables.name;
    if route.ranks().count() != ranks {
        return Err(LaunchError::RouteRanks { route: route.ranks().count(), group: ranks });
    }
    for (name, route, built) in
        [("EXPERTS", route.expert_count(), tables.experts), ("TOP_K", route.top_k(), tables.top_k)]
    {
        if route != built {
            return Err(LaunchError::RouteConstant { kernel, name, route, built });
        }
    }
    for rank in route.ranks() {
        let tokens = route.tokens(rank);
        if tokens > tables.tokens {
            return Err(LaunchError::Tokens { kernel, rank: rank.id(), tokens, limit: tables.tokens });
        }
    }
    Ok(())
}

const fn argument_number(tensor: &TensorTable) -> Option<usize> {
    match tensor.memory {
        Storage::Argument(number) | Storage::Shared(number) => Some(number),
        Storage::Workspace | Storage::Symmetric => None,
    }
}

fn fits_tensor(tensor: &TensorTable, argument: &Argument<'_>, route: &Route) -> Result<(), LaunchError> {
    let name = argument.name;
    let (ranks, parts) = (route.ranks().count(), argument.parts.len());
    if parts != ranks {
        return Err(LaunchError::Parts { tensor: name, parts, ranks });
    }
    let columns = tensor.columns as usize;
    if (argument.element, argument.columns) != (tensor.element, columns) {
        return Err(LaunchError::Type {
            tensor: name,
            element: tensor.element,
            columns,
            got: argument.element,
            got_columns: argument.columns,
        });
    }
    fits_kind(tensor, argument)?;
    if tensor.writable && !argument.writable {
        return Err(LaunchError::ReadOnly { tensor: name });
    }
    route.ranks().into_iter().try_for_each(|rank| fits_rows(tensor, argument, route, rank))
}

fn fits_rows(tensor: &TensorTable, argument: &Argument<'_>, route: &Route, rank: Rank) -> Result<(), LaunchError> {
    let count = argument.parts[rank.id()].count;
    let error = |unit, got, wanted, reason, way_out| LaunchError::Rows {
        tensor: argument.name,
        rank: rank.id(),
        unit,
        got,
        wanted,
        reason,
        way_out,
    };
    let tokens = route.tokens(rank);
    let wanted = match tensor.extent {
        RowKind::Expert(_) => {
            let own = route.local_experts();
            return match count == own {
                true => Ok(()),
                false => {
                    Err(error("experts", count, own, "each rank owns", "give each rank the weights of its own experts"))
                }
            };
        }
        RowKind::Token => tokens,
        RowKind::Slot => tokens * route.top_k(),
        RowKind::Received => route.received(rank),
        RowKind::Once => route.received_once(rank),
        RowKind::Matrix(height) => height as usize,
    };
    if count != wanted {
        let way_out = "give it the rows of the tokens that the route was made from";
        return Err(error("rows", count, wanted, "the route asks for", way_out));
    }
    Ok(())
}

/// Experts for experts, tokens for tokens.
fn fits_kind(tensor: &TensorTable, argument: &Argument<'_>) -> Result<(), LaunchError> {
    let tell = |kind| match kind {
        RowKind::Expert(height) => format!("{height} rows per expert"),
        RowKind::Token => "a row per token".to_owned(),
        RowKind::Received => "a row per token received".to_owned(),
        RowKind::Once => "a row per token received, sent once".to_owned(),
        RowKind::Slot => "a row per (token, k)".to_owned(),
        RowKind::Matrix(height) => format!("{height} rows"),
    };
    match argument.kind == tensor.extent {
        true => Ok(()),
        false => {
            Err(LaunchError::Kind { tensor: argument.name, wanted: tell(tensor.extent), got: tell(argument.kind) })
        }
    }
}

#[cfg(test)]
mod tests {
    use hpmoe_kernels::{Experts, PerRank, Ranks, Tensor, bf16};

    use super::*;
    use crate::testing::{TABLES, route};

    type Tokens = PerRank<Tensor<bf16, 16>>;
    type Gate = PerRank<Experts<bf16, 32, 16>>;

    /// What is launched: three tokens on rank 0 and one on rank 1, unless a test changes it.
    struct Case {
        ranks: usize,
        capacity: usize,
        route: Route,
        x: Tokens,
        gate: Gate,
        y: Tokens,
    }

    fn tokens(rows: &[usize]) -> Tokens {
        rows.iter().map(|rows| Tensor::zeros(*rows)).collect()
    }

    fn gate(experts: &[usize]) -> Gate {
        experts.iter().map(|experts| Experts::from_vec(vec![bf16::ZERO; experts * 32 * 16])).collect()
    }

    fn case() -> Case {
        let route = route(&[&[0, 1, 1, 2, 3, 0], &[0, 3]], 4);
        Case { ranks: 2, capacity: 5, route, x: tokens(&[3, 1]), gate: gate(&[2, 2]), y: tokens(&[3, 1]) }
    }

    impl Case {
        fn check(self) -> Result<(), String> {
            let Self { ranks, capacity, route, x, gate, mut y } = self;
            let arguments = [Argument::read("x", &x), Argument::read("gate", &gate), Argument::write("y", &mut y)];
            check(ranks, capacity, &route, &arguments)
        }
    }

    fn check(ranks: usize, capacity: usize, route: &Route, arguments: &[Argument<'_>]) -> Result<(), String> {
        let found = schedule(&TABLES, ranks)
            .and_then(|_| launch(&TABLES, ranks, route, arguments))
            .and_then(|()| super::capacity(&Chunks::new(&TABLES, route, capacity)));
        found.map_err(|error| error.to_string())
    }

    fn refused(case: Case, text: &str) {
        assert_eq!(case.check().unwrap_err(), text);
    }

    #[test]
    fn a_launch_that_fits_passes() {
        case().check().unwrap();
    }

    #[test]
    fn ranks() {
        refused(Case { ranks: 3, ..case() }, "layer::forward has no schedule for 3 ranks: use one of 1, 2");
        refused(
            Case { ranks: 1, ..case() },
            "the route is for 2 ranks, but the group has 1: make both with the same number",
        );
        refused(
            Case { x: tokens(&[3]), ..case() },
            "`x` has parts for 1 ranks, but the group has 2: give one part per rank, of zero rows if need be",
        );
    }

    #[test]
    fn route_constants() {
        refused(
            Case { route: route(&[&[], &[]], 6), ..case() },
            "the route has EXPERTS = 6, but layer::forward was built with 4: make the route from its constants",
        );
        let ids: PerRank<Tensor<i32, 3>> = PerRank::from_fn(Ranks::new(2), |_| Tensor::zeros(0));
        refused(
            Case { route: Route::new(Ranks::new(2), 4, &ids).unwrap(), ..case() },
            "the route has TOP_K = 3, but layer::forward was built with 2: make the route from its constants",
        );
    }

    #[test]
    fn tokens_of_a_rank() {
        let ids = [0, 1].repeat(9);
        refused(
            Case { route: route(&[&[], &ids], 4), ..case() },
            "rank 1 brings 9 tokens, but layer::forward was built with TOKENS = 8: raise TOKENS or bring fewer",
        );
    }

    #[test]
    fn rows() {
        refused(
            Case { x: tokens(&[3, 2]), ..case() },
            "`x` of rank 1 has 2 rows, but the route asks for 1: give it the rows of the tokens that the route was made \
             from",
        );
        refused(
            Case { y: tokens(&[0, 1]), ..case() },
            "`y` of rank 0 has 0 rows, but the route asks for 3: give it the rows of the tokens that the route was made \
             from",
        );
        refused(
            Case { gate: gate(&[2, 4]), ..case() },
            "`gate` of rank 1 has 4 experts, but each rank owns 2: give each rank the weights of its own experts",
        );
    }

    #[test]
    fn capacity() {
        refused(
            Case { capacity: 4, ..case() },
            "rank 0 would receive 5 rows, but there is room for 4: raise it with Group::capacity_rows(5) or send fewer \
             tokens",
        );
    }

    #[test]
    fn tensors() {
        let Case { ranks, capacity, route, x, gate, y } = &case();
        let check = |arguments: &[Argument<'_>]| check(*ranks, *capacity, route, arguments).unwrap_err();
        assert_eq!(
            check(&[Argument::read("x", x)]),
            "layer::forward takes 3 tensors, but got 1: rebuild, so that kernel and caller agree"
        );
        assert_eq!(
            check(&[Argument::read("x", x), Argument::read("gate", gate), Argument::read("y", y)]),
            "the kernel writes `y`, but it was passed for reading: rebuild, so that kernel and caller agree"
        );
        let wide: PerRank<Tensor<f32, 32>> = PerRank::from_fn(Ranks::new(2), |_| Tensor::zeros(1));
        assert_eq!(
            check(&[Argument::read("x", &wide), Argument::read("gate", gate), Argument::read("y", y)]),
            "`x` has 32 columns of f32, but the kernel was built for 16 columns of bf16: rebuild, so that kernel and \
             caller agree"
        );
        let flat: PerRank<Experts<bf16, 16, 16>> =
            PerRank::from_fn(Ranks::new(2), |_| Experts::from_vec(vec![bf16::ZERO; 512]));
        assert_eq!(
            check(&[Argument::read("x", x), Argument::read("gate", &flat), Argument::read("y", y)]),
            "`gate` has 16 rows per expert, but the kernel was built for 32 rows per expert: rebuild, so that kernel and \
             caller agree"
        );
        assert_eq!(
            check(&[Argument::read("x", x), Argument::read("gate", x), Argument::read("y", y)]),
            "`gate` has a row per token, but the kernel was built for 32 rows per expert: rebuild, so that kernel and \
             caller agree"
        );
        assert_eq!(
            check(&[Argument::read("x", gate), Argument::read("gate", gate), Argument::read("y", y)]),
            "`x` has 32 rows per expert, but the kernel was built for a row per token: rebuild, so that kernel and \
             caller agree"
        );
        let integers: PerRank<Tensor<i32, 16>> = PerRank::from_fn(Ranks::new(2), |_| Tensor::zeros(1));
        assert_eq!(
            check(&[Argument::read("x", &integers), Argument::read("gate", gate), Argument::read("y", y)]),
            "`x` has 16 columns of i32, but the kernel was built for 16 columns of bf16: rebuild, so that kernel and \
             caller agree"
        );
    }
}

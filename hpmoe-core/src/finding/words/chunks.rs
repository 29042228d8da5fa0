//! The words of [`ChunkFault`].

use super::sentence::Sentence;
use crate::constant::MOST_CHOSEN;
use crate::finding::ChunkFault;

impl ChunkFault {
    pub(super) fn words(&self) -> Sentence {
        let (problem, help) = match self {
            Self::Once { tensor, chunk } => {
                let help = format!(
                    "use a tensor of `PerRank::symmetric` with `{chunk}.sends`, or remove the loop over `{chunk}`"
                );
                return (
                    format!(
                        "`{tensor}` has a row for each token, sent once, but in a loop over chunks a row is sent for each (token, k)"
                    ),
                    help,
                );
            }
            Self::RouteOfTasks { ids, makes_ids, chunk } => {
                let way = if *makes_ids {
                    format!("make `{ids}` by a kernel of its own and take it as a parameter")
                } else {
                    format!("move the tasks into the loop over `{chunk}`, to the token blocks of `{chunk}`")
                };
                let help = format!("{way}, or remove the loop");
                let problem = format!(
                    "tasks before a route run over all tokens of a rank, but the loop over `{chunk}` cuts them into chunks"
                );
                return (problem, help);
            }
            Self::Experts { tensor, chunk } => {
                let help = format!("compute it before the kernel and pass it, or remove the loop over `{chunk}`");
                return (format!("`{tensor}` has a matrix for each expert, but a chunk is a part of the tokens"), help);
            }
            Self::SecondLoop { variable, first } => (
                format!(
                    "the loop over `{variable}` is a second loop over chunks, after the loop over `{first}`: a taskflow has at most one"
                ),
                "put all calls into one loop over chunks",
            ),
            Self::Nested { variable } => (
                format!("the loop over chunks `{variable}` is inside another loop"),
                "make it the outermost loop of the taskflow",
            ),
            Self::TensorOutside { tensor, chunk } => (outside(&format!("`{tensor}`"), chunk), MOVE_INSIDE),
            Self::LoopOutside { variable, chunk } => {
                (outside(&format!("the loop over `{variable}`"), chunk), MOVE_INSIDE)
            }
            Self::CallOutside { task, chunk } => (outside(&format!("the call of `{task}`"), chunk), MOVE_INSIDE),
            Self::Unsent { chunk } => (
                format!("this call returns rows that no put in the loop over `{chunk}` sent"),
                "send the tokens in the loop, or remove the loop over chunks",
            ),
            Self::ReceivedOfAll { tensor, chunk } => (
                format!(
                    "`{tensor}` is made outside the loop over chunks, but rows received in chunk `{chunk}` need a tensor made inside the loop"
                ),
                "create a tensor of received rows in the loop: `PerRank::ragged`, or `PerRank::symmetric` for a put",
            ),
            Self::SlotsOfAll { tensor, chunk } => (
                format!(
                    "`{tensor}` is a parameter with the slots of all chunks, but a put in the loop over `{chunk}` can only write to slots made in that loop"
                ),
                "put into a tensor made in the loop: `PerRank::slots`",
            ),
            Self::Overwritten { tensor, chunk } => (
                format!("every chunk `{chunk}` overwrites `{tensor}`, whose matrices all chunks share"),
                "use `accumulate` instead of `store`, and set the tensor to zeros before the launch",
            ),
            Self::SumRead { tensor, chunk } => (
                format!("`{tensor}` is a sum over all chunks, and complete only after the last `{chunk}`"),
                "read it after the launch, or in another taskflow",
            ),
            Self::Unread { tensor } => (
                format!("no call reads `{tensor}`, so it is unknown when a later chunk can reuse its memory"),
                "remove it, and the calls that write it",
            ),
            Self::ChosenSum { tensor, chunk, count, most } => {
                let help = format!("loop over `route.chunks::<{most}>()`, or build with `chunks_at_most({count})`");
                let alone = format!("loop over `route.chunks::<{most}>()`, or build without `chunks_at_most`");
                let can_have = count.is_power_of_two() && *count <= MOST_CHOSEN;
                return (
                    format!(
                        "the reference adds to `{tensor}` in {count} chunks `{chunk}`, but launches have up to {most} and could not \
                         add in the same order"
                    ),
                    if can_have { help } else { alone },
                );
            }
            Self::ChosenTerms { task, tensor, chunk } => (
                format!(
                    "`{task}` must add to `{tensor}` exactly one product of all rows of an expert, because launches choose the \
                     number of chunks `{chunk}`"
                ),
                "let the task add one `x.t_matmul(&w)` of `RAGGED` tiles, without an external operator, or build without `chunks_at_most`",
            ),
            Self::ChosenNone => (
                "the build lets launches choose the number of chunks, but no taskflow of this kernel has chunks"
                    .to_owned(),
                "loop over `route.chunks::<N>()`, or build this kernel without `chunks_at_most`",
            ),
        };
        (problem, help.into())
    }
}

const MOVE_INSIDE: &str = "a taskflow works either on chunks or on all tokens: move it into the loop";

fn outside(what: &str, chunk: &str) -> String {
    format!("{what} is outside the loop over chunks `{chunk}`")
}

//! The words of [`ChunkFault`].

use crate::finding::ChunkFault;

impl ChunkFault {
    /// The fault and the way out.
    pub(super) fn words(&self) -> (String, String) {
        let (problem, help) = match self {
            Self::Once { tensor, chunk } => {
                let help = format!(
                    "take a tensor of `PerRank::symmetric` and `{chunk}.sends`, or do without the loop over `{chunk}`"
                );
                return (
                    format!("`{tensor}` has a row for each token sent once, and chunks send each (token, k)"),
                    help,
                );
            }
            Self::Experts { tensor, chunk } => {
                let help = format!("make it before the kernel and pass it, or do without `{chunk}`");
                return (format!("`{tensor}` has a matrix for each expert, and chunks are made of tokens"), help);
            }
            Self::SecondLoop { variable, first } => (
                format!("`{variable}` cuts into chunks what `{first}` has cut"),
                "put all calls into one loop over chunks",
            ),
            Self::Nested { variable } => (
                format!("the loop over chunks `{variable}` stands inside of another loop"),
                "let it be the outermost loop of the taskflow",
            ),
            Self::Outside { what, chunk } => (
                format!("{what} stands outside of the loop over chunks `{chunk}`"),
                "a taskflow works on chunks or on all tokens: move it into the loop",
            ),
            Self::Unsent { chunk } => (
                format!("no put of `{chunk}` has sent the rows that this call gives back"),
                "send the tokens in the loop, or do without the loop over chunks",
            ),
            Self::ReceivedOfAll { tensor, chunk } => (
                format!("`{tensor}` has the rows of all chunks, and those of `{chunk}` lie elsewhere"),
                "make a tensor of received rows in the loop: `PerRank::ragged`, or `PerRank::symmetric` for a put",
            ),
            Self::SlotsOfAll { tensor, chunk } => (
                format!("`{tensor}` has the slots of all chunks, and a peer knows only those of `{chunk}`"),
                "put into slots made in the loop: `PerRank::slots`",
            ),
            Self::Overwritten { tensor, chunk } => (
                format!("every chunk `{chunk}` writes `{tensor}` again, which has no rows for its tokens"),
                "add to it what each chunk finds: `accumulate` instead of `store`, and zeros before the launch",
            ),
            Self::SumRead { tensor, chunk } => (
                format!("`{tensor}` is the sum of what chunks add, and whole only after the last `{chunk}`"),
                "read it after the launch, or in another taskflow",
            ),
            Self::Unread { tensor } => (
                format!("no call reads `{tensor}`, whose memory another chunk is to take"),
                "remove it, and the calls that write it",
            ),
        };
        (problem, help.into())
    }
}

//! The words of [`RouteFault`].

use super::sentence::{Sentence, counted, grouped};
use crate::finding::RouteFault;

impl RouteFault {
    pub(super) fn words(&self) -> Sentence {
        let host = "take the route as a parameter, `route: &Route`, which the host makes";
        match self {
            Self::Ids { name, top_k } => (
                format!("a route is made from a tensor of {} (i32) for each token, but `{name}` is not one", counted(*top_k, "id")),
                format!(
                    "take `{name}: &PerRank<Tensor<i32, TOP_K>>` as a parameter, or let tasks write `PerRank::tokens::<i32, TOP_K>(ep, x)`"
                ),
            ),
            Self::Groups { groups, experts, top_k } => (
                format!(
                    "{experts} experts and the {top_k} ids of a token can't be divided evenly among {}",
                    counted(*groups, "group")
                ),
                "use a number of groups that divides `EXPERTS` and `TOP_K`".into(),
            ),
            Self::KeptHere { name } => (
                format!("this route was kept in `{name}` by an earlier launch, but the taskflow takes `{name}` by `&mut`"),
                format!("take `{name}: &PerRank<Routed>`"),
            ),
            Self::Keeps { name } => (
                format!("a route can't be kept in `{name}`, because it is not a `&mut PerRank<Routed>` parameter"),
                format!("take `{name}: &mut PerRank<Routed>` as a parameter"),
            ),
            Self::KeptAgain { name } => (
                format!("this route was kept by an earlier launch, so it can't be kept again in `{name}`"),
                "pass the tensor in which the earlier launch kept the route to all later launches".into(),
            ),
            Self::NoTokens { name } => (
                format!("`{name}` does not have one row per token"),
                "take the tokens of a parameter such as `x: &PerRank<Tensor<bf16, HIDDEN>>`".into(),
            ),
            Self::Reference { name, by_reference: true } => (
                format!("`{name}` is a reference already, so `&{name}` is a reference to a reference"),
                format!("write `{name}`"),
            ),
            Self::Reference { name, by_reference: false } => (
                format!("a route takes the ids by reference, but `{name}` is a tensor that this taskflow makes"),
                format!("write `&{name}`"),
            ),
            Self::WithoutTokens { taskflow } => (
                format!("no parameter of `{taskflow}` has one row per token, so its kernel doesn't know the number of tokens"),
                "add a parameter such as `x: &PerRank<Tensor<bf16, HIDDEN>>`, even if no call reads it".into(),
            ),
            Self::Late { ids, .. } => (
                format!("this call writes `{ids}` after the route has been made from it"),
                format!("move the call above the route, or write to a different tensor than `{ids}`"),
            ),
            Self::Matrix { ids, task } => (
                format!("`{task}` runs on matrix cores, but ids for a route must be written by vector cores"),
                format!("write `{ids}` by an `#[aiv_task]`"),
            ),
            Self::Experts { value, experts } => (
                format!("this route is made for {}, but `EXPERTS` is {experts}", counted(*value, "expert")),
                "write `Route::of::<EXPERTS>(..)`".into(),
            ),
            Self::Pairs { experts, chunks, chosen, most } => (
                format!(
                    "{} in {}{} are {} counts, but a kernel that makes its own route has room for {}",
                    counted(*experts, "expert"),
                    if *chosen { "at most " } else { "" },
                    counted(*chunks, "chunk"),
                    grouped(experts * chunks),
                    grouped(*most)
                ),
                match most.checked_div(*experts).unwrap_or(0) {
                    _ if !chosen => format!("use fewer chunks, or {host}"),
                    0 | 1 => format!("build without `chunks_at_most`, or {host}"),
                    fit => format!("build with `chunks_at_most({})`, or {host}", 1 << fit.ilog2()),
                },
            ),
            Self::Chunks { chunks, most } => (
                format!("there are {chunks} chunks, but a kernel that makes its own route has room for {most}"),
                format!("use fewer chunks, or {host}"),
            ),
            Self::Spaces { spaces, most } => (
                format!(
                    "the loops of this taskflow run over {spaces} different spaces, but a kernel that makes its own route has room for \
                     {most}"
                ),
                format!("use the same sizes in more loops, or {host}"),
            ),
            Self::Once { tensor } => (
                format!("`{tensor}` holds tokens that are sent once, but a kernel that makes its own route can't send tokens once"),
                format!("send each (token, k), by `route.sends::<N>(r, e)`, or {host}"),
            ),
            Self::Slots { tensor } => (
                format!("slots of `{tensor}` are read before the route is made, but only the route knows which slots are empty"),
                "move this call below the route".into(),
            ),
            Self::Unsent => (
                "this call returns rows that no put of this taskflow sent, so a kernel that makes its own route does not know where they came from"
                    .into(),
                format!("send the rows in the same taskflow, or {host}"),
            ),
        }
    }
}

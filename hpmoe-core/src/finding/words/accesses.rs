//! The words of findings about reads and writes of tensors, and the other places that they point at.

use super::sentence::Sentence;
use crate::finding::{Finding, RouteFault, Site};
use std::ops::Range;

pub(super) fn words(finding: &Finding) -> Sentence {
    match finding {
        Finding::NeverWritten { tensor, .. } => (
            format!("`{tensor}` is read, but no call writes it"),
            "write it by a task before this call, or take it as a parameter of the taskflow".into(),
        ),
        Finding::ReadTooEarly { tensor, .. } => {
            (format!("`{tensor}` is read before it is written"), "move this call after the call that writes it".into())
        }
        Finding::PartlyWritten { tensor, along, missing: Range { start, end }, .. } => (
            format!("{} {start} to {end} of `{tensor}` are read, but no call writes them", along.words()),
            format!("let the range around the writing call run to `{}.div_ceil(TILE)`", along.words().to_uppercase()),
        ),
        Finding::StillWritten { tensor, variable, .. } => (
            format!("`{tensor}` is read in the loop over `{variable}`, whose later iterations still write it"),
            format!(
                "end the loop over `{variable}` after the call that writes it, and start another loop for this call"
            ),
        ),
        Finding::InPlace { tensor } => (
            format!("`{tensor}` is updated in place: this call reads what it writes"),
            "write the result to another tensor, and let later calls read that tensor".into(),
        ),
        Finding::OutputUnwritten { tensor } => (
            format!("`{tensor}` is an output of the taskflow, but no call writes it"),
            "write it, or take it by `&`".into(),
        ),
        Finding::ReadOnly { tensor, .. } => {
            (format!("`{tensor}` is written here, but the taskflow takes it by `&`"), "take it by `&mut`".into())
        }
        Finding::TwoWriters { first: None, tensor } => (
            format!("this call writes the same elements of `{tensor}` twice"),
            "pass different columns or different tensors for each `&mut`".into(),
        ),
        Finding::TwoWriters { tensor, .. } => (
            format!("`{tensor}` is written here a second time, but each element has one writer"),
            "let the two calls write different columns or different tensors".into(),
        ),
        Finding::WrittenByEach { tensor, variable } => (
            format!("all iterations over `{variable}` write the same elements of `{tensor}`, in undefined order"),
            format!("let `{variable}` select the tile that is written, or move the call out of that loop"),
        ),
        Finding::WrittenByItems { tensor } => (
            format!("all row tiles or sends of an expert write the same matrix of `{tensor}`, in undefined order"),
            "process all rows of the expert in one call: `.expert(e)` in a loop over `route.experts_of(r)` only".into(),
        ),
        Finding::WriteAfterRead { tensor, .. } => (
            format!("`{tensor}` is written here, after an earlier call has read it"),
            "a tensor is written once per launch, before it is read: write to another tensor".into(),
        ),
        other => unreachable!("{other:?} is not about an access"),
    }
}

/// Other places that belong to a finding, each with a sentence.
pub(super) fn also(finding: &Finding) -> Vec<(Site, String)> {
    match finding {
        Finding::NeverWritten { tensor, declared } => vec![(*declared, format!("`{tensor}` is declared here"))],
        Finding::ReadTooEarly { tensor, writer } => {
            vec![(*writer, format!("`{tensor}` is written here, later"))]
        }
        Finding::PartlyWritten { tensor, writer, .. } | Finding::StillWritten { tensor, writer, .. } => {
            vec![(*writer, format!("`{tensor}` is written here"))]
        }
        Finding::Uneven { operation, at, .. } => vec![(*at, format!("this `{operation}`"))],
        Finding::ReadOnly { tensor, declared } => vec![(*declared, format!("`{tensor}` is taken by `&` here"))],
        Finding::TwoWriters { tensor, first: Some(first) } => {
            vec![(*first, format!("`{tensor}` is also written here"))]
        }
        Finding::Route(RouteFault::Late { ids, route }) => {
            vec![(*route, format!("the route is made from `{ids}` here"))]
        }
        Finding::WriteAfterRead { tensor, reader } => vec![(*reader, format!("`{tensor}` is read here"))],
        _ => Vec::new(),
    }
}

//! Loops around a call: which iteration space they make, and on which rank the call runs.

use crate::constant::MOST_ROWS;
use crate::finding::{CallFault, Errors, Finding, LoopFault, LoopSize, NameKind, RangeFault};
use crate::graph::{Height, Space, SpaceKind};
use crate::names::{ByName, nearest};
use crate::syntax::{Kernel, Over, Rank, size_text};
use proc_macro2::{Span, TokenStream, TokenTree};
use syn::spanned::Spanned as _;

/// A loop variable in scope, and what its loop runs over.
#[derive(Clone)]
pub(super) struct Variable {
    pub(super) name: String,
    over: Over<u32>,
}

/// Reads a loop's head: computes its sizes, and checks that the loops around it declare the variables that it names.
pub(super) fn variable(
    kernel: &Kernel,
    scope: &[Variable],
    name: &str,
    span: Span,
    over: &Over,
    errors: &mut Errors,
) -> Option<Variable> {
    if find(scope, name).is_some() {
        errors.push(span, Finding::Call(CallFault::ShadowedVariable { variable: name.to_owned() }));
        return None;
    }
    let mut size = |expr: &syn::Expr, counts: LoopSize| {
        let value = kernel.constants.evaluate(expr, &ByName::new(), errors)?;
        match u32::try_from(value) {
            Ok(size) if (1..=MOST_ROWS).contains(&value) => Some(size),
            _ => {
                let fault = RangeFault::Loop { size: size_text(expr), value, counts, most: MOST_ROWS };
                errors.push(expr.span(), Finding::OutOfRange(fault));
                None
            }
        }
    };
    let over = match over {
        Over::Ranks => Over::Ranks,
        Over::Chunks { count } => Over::Chunks { count: size(count, LoopSize::Chunks)? },
        Over::Experts => Over::Experts,
        Over::ExpertsOf(rank) => Over::ExpertsOf(known(scope, rank, span, errors)?),
        Over::Sends { height, rank, expert } => Over::Sends {
            height: size(height, LoopSize::RowsOfSend)?,
            rank: known(scope, rank, span, errors)?,
            expert: known(scope, expert, span, errors)?,
        },
        Over::SendsOnce { height, rank, expert } => Over::SendsOnce {
            height: size(height, LoopSize::RowsOfSend)?,
            rank: known(scope, rank, span, errors)?,
            expert: known(scope, expert, span, errors)?,
        },
        Over::RowTiles { height, expert } => Over::RowTiles {
            height: size(height, LoopSize::RowsOfRowTile)?,
            expert: known(scope, expert, span, errors)?,
        },
        Over::TokenBlocks { height, rank, like } => Over::TokenBlocks {
            height: size(height, LoopSize::TokensOfBlock)?,
            rank: known(scope, rank, span, errors)?,
            like: like.clone(),
        },
        Over::Range { extent } => Over::Range { extent: size(extent, LoopSize::Iterations)? },
    };
    Some(Variable { name: name.to_owned(), over })
}

fn known(scope: &[Variable], name: &str, span: Span, errors: &mut Errors) -> Option<String> {
    if find(scope, name).is_some() {
        return Some(name.to_owned());
    }
    let nearest = nearest(name, scope.iter().map(|variable| variable.name.as_str()));
    errors.push(span, Finding::Unknown { kind: NameKind::LoopVariable, name: name.to_owned(), nearest });
    None
}

/// The innermost variable with this name.
fn find<'a>(scope: &'a [Variable], name: &str) -> Option<&'a Variable> {
    scope.iter().rev().find(|variable| variable.name == name)
}

/// The loops around a call: the space of its items and the variables that choose them.
#[derive(Clone, Debug)]
pub(super) struct Nest {
    /// The space of the items, seen from the rank that holds or sends their rows. Its height is decided here, once.
    pub(super) space: Space,
    /// Variable of the item: the row tile, the expert, the send or the block.
    pub(super) item: String,
    /// Variable of the item's expert; blocks have none.
    pub(super) expert: Option<String>,
    /// Variable of the rank that sends the item's rows if the item is a send, otherwise of the rank that holds them.
    pub(super) source: String,
    /// Variable of the rank that owns the expert, if a loop over ranks chose it.
    owner: Option<String>,
    /// Constant ranges, outermost first.
    pub(super) ranges: Vec<(String, u32)>,
}

/// One of the two ranks that a call may name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// The sender of a send; for row tiles, experts and blocks the only rank.
    Source,
    /// The owner of a send's expert.
    Owner,
}

impl Nest {
    /// Derives the nest from the loops in scope; each of these loops must choose part of the item.
    pub(super) fn new(scope: &[Variable], call: Span, errors: &mut Errors) -> Option<Self> {
        let is_range = |variable: &&Variable| matches!(variable.over, Over::Range { .. });
        let choosing: Vec<&Variable> = scope.iter().filter(|variable| !is_range(variable)).collect();
        let Some(innermost) = choosing.last() else {
            errors.push(call, Finding::Loops(LoopFault::Outside));
            return None;
        };
        let Some(nest) = Self::of_items(scope, innermost) else {
            let variables = || choosing.iter().map(|variable| variable.name.clone()).collect();
            let fault = match expert_of(innermost).filter(|expert| !is_expert(scope, expert)) {
                Some(other) => LoopFault::NotAnExpert { item: innermost.name.clone(), variable: other.clone() },
                None => LoopFault::NoItem { variables: variables() },
            };
            errors.push(call, Finding::Loops(fault));
            return None;
        };
        let fault = if nest.space.kind.sends() && nest.owner.as_ref() == Some(&nest.source) {
            Some(LoopFault::SentToItself { send: nest.item.clone(), rank: nest.source.clone() })
        } else {
            let idle = choosing.iter().find(|variable| !nest.names(&variable.name));
            idle.map(|variable| LoopFault::Repeated { variable: variable.name.clone() })
        };
        match fault {
            None => Some(nest),
            Some(fault) => {
                errors.push(call, Finding::Loops(fault));
                None
            }
        }
    }

    /// The nest of the items that the innermost loop runs over; `None` if it runs over no items, or if no loop chooses their expert.
    fn of_items(scope: &[Variable], innermost: &Variable) -> Option<Self> {
        let item = &innermost.name;
        let (kind, height, expert, source) = match &innermost.over {
            Over::RowTiles { height, expert } => {
                (SpaceKind::RowTiles, Height::Rows(*height), Some(expert), owner(scope, expert)?)
            }
            Over::ExpertsOf(rank) => (SpaceKind::Experts, Height::WholeExpert, Some(item), rank),
            Over::Sends { height, rank, expert } => (SpaceKind::Sends, Height::Rows(*height), Some(expert), rank),
            Over::SendsOnce { height, rank, expert } => {
                (SpaceKind::SendsOnce, Height::Rows(*height), Some(expert), rank)
            }
            Over::TokenBlocks { height, rank, .. } => (SpaceKind::Blocks, Height::Rows(*height), None, rank),
            Over::Ranks | Over::Chunks { .. } | Over::Experts | Over::Range { .. } => return None,
        };
        if !expert.is_none_or(|expert| is_expert(scope, expert)) {
            return None;
        }
        let ranges = scope.iter().filter_map(|variable| match variable.over {
            Over::Range { extent } => Some((variable.name.clone(), extent)),
            _ => None,
        });
        Some(Self {
            space: Space { kind, height },
            item: item.clone(),
            expert: expert.cloned(),
            source: source.clone(),
            owner: expert.and_then(|expert| owner(scope, expert)).cloned(),
            ranges: ranges.collect(),
        })
    }

    /// Whether a variable chooses part of the item.
    fn names(&self, variable: &str) -> bool {
        let chosen = [Some(&self.item), self.expert.as_ref(), Some(&self.source), self.owner.as_ref()];
        chosen.into_iter().flatten().any(|name| name == variable)
    }

    /// The first loop variable in an expression, and whether its loop is a range.
    pub(super) fn variable_in(&self, tokens: TokenStream) -> Option<(String, bool)> {
        tokens.into_iter().find_map(|token| match token {
            TokenTree::Group(group) => self.variable_in(group.stream()),
            TokenTree::Ident(name) => {
                let name = name.to_string();
                let range = self.ranges.iter().any(|(range, _)| name == *range);
                (range || self.names(&name)).then_some((name, range))
            }
            _ => None,
        })
    }

    /// Whether this is the loop variable of the item.
    pub(super) fn is_item(&self, variable: &str) -> bool {
        self.item == variable
    }

    /// Whether this is the loop variable of the item's expert.
    pub(super) fn is_expert(&self, variable: &str) -> bool {
        self.expert.as_deref() == Some(variable)
    }

    /// The side whose rank an expression in an argument names; `None` for any other rank.
    pub(super) fn side(&self, rank: &Rank) -> Option<Side> {
        match rank {
            Rank::Variable(name) if *name == self.source => Some(Side::Source),
            Rank::Variable(name) if self.owner.as_ref() == Some(name) => Some(Side::Owner),
            Rank::Owner(expert) if self.is_expert(expert) && self.space.kind.sends() => Some(Side::Owner),
            Rank::Owner(expert) if self.is_expert(expert) => Some(Side::Source),
            _ => None,
        }
    }

    /// The iteration space of a call that runs on this side. A task that only adds to its output (`adds`) has no work for an expert without
    /// rows, so it runs over row tiles.
    pub(super) fn space_of_call(&self, side: Side, adds: bool) -> Space {
        let kind = match (self.space.kind, side) {
            (SpaceKind::Experts, _) if adds => SpaceKind::RowTiles,
            (SpaceKind::Sends, Side::Owner) => SpaceKind::Arrivals,
            (kind, _) => kind,
        };
        Space { kind, ..self.space }
    }
}

/// Variable of the rank that owns an expert, if a loop over ranks chose it.
fn owner<'a>(scope: &'a [Variable], expert: &str) -> Option<&'a String> {
    match &find(scope, expert)?.over {
        Over::ExpertsOf(rank) => Some(rank),
        _ => None,
    }
}

/// The variable that a loop takes for an expert.
fn expert_of(variable: &Variable) -> Option<&String> {
    match &variable.over {
        Over::RowTiles { expert, .. } | Over::Sends { expert, .. } | Over::SendsOnce { expert, .. } => Some(expert),
        _ => None,
    }
}

fn is_expert(scope: &[Variable], name: &str) -> bool {
    matches!(find(scope, name).map(|variable| &variable.over), Some(Over::Experts | Over::ExpertsOf(_)))
}

//! Loops around a call: which iteration space they make, and on which rank the call runs.

use crate::finding::{CallFault, Errors, Finding, Loops, RangeFault};
use crate::graph::{Height, Space, SpaceKind};
use crate::names::{ByName, nearest};
use crate::syntax::{Kernel, Over, Rank};
use proc_macro2::Span;
use syn::spanned::Spanned as _;

/// The largest size in the head of a loop: descriptors hold it in 16 bits.
const MOST_ROWS: usize = 65_535;

/// A loop variable in scope.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What a loop variable stands for.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Rank,
    /// Any expert of the group.
    Expert,
    /// An expert of that rank.
    ExpertOf(String),
    Send {
        height: Height,
        rank: String,
        expert: String,
        once: bool,
    },
    RowTile {
        height: Height,
        expert: String,
    },
    Block {
        height: Height,
        rank: String,
    },
    Range {
        extent: u32,
    },
}

/// Reads a loop's head.
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
    let mut constant = |expr: &syn::Expr, what: &'static str| {
        let value = kernel.constants.evaluate(expr, &ByName::new(), errors)?;
        match u32::try_from(value) {
            Ok(size) if (1..=MOST_ROWS).contains(&value) => Some(size),
            _ => {
                let fault = RangeFault::Loop { value, what, most: MOST_ROWS };
                errors.push(expr.span(), Finding::OutOfRange(fault));
                None
            }
        }
    };
    let kind = match over {
        Over::Ranks => Kind::Rank,
        Over::Chunks { .. } => unreachable!("a loop over chunks has no variable that chooses rows"),
        Over::Experts => Kind::Expert,
        Over::ExpertsOf(rank) => Kind::ExpertOf(known(scope, rank, span, errors)?),
        Over::Sends { height, rank, expert } | Over::SendsOnce { height, rank, expert } => Kind::Send {
            height: Height::Rows(constant(height, "rows of a send")?),
            rank: known(scope, rank, span, errors)?,
            expert: known(scope, expert, span, errors)?,
            once: matches!(over, Over::SendsOnce { .. }),
        },
        Over::RowTiles { height, expert } => Kind::RowTile {
            height: Height::Rows(constant(height, "rows of a row tile")?),
            expert: known(scope, expert, span, errors)?,
        },
        Over::TokenBlocks { height, rank } => Kind::Block {
            height: Height::Rows(constant(height, "tokens of a block")?),
            rank: known(scope, rank, span, errors)?,
        },
        Over::Range { extent } => Kind::Range { extent: constant(extent, "iterations of a range")? },
    };
    Some(Variable { name: name.to_owned(), kind })
}

fn known(scope: &[Variable], name: &str, span: Span, errors: &mut Errors) -> Option<String> {
    if find(scope, name).is_some() {
        return Some(name.to_owned());
    }
    let nearest = nearest(name, scope.iter().map(|variable| variable.name.as_str()));
    errors.push(span, Finding::Unknown { what: "loop variable", name: name.to_owned(), nearest });
    None
}

/// The innermost variable of that name.
pub(super) fn find<'a>(scope: &'a [Variable], name: &str) -> Option<&'a Variable> {
    scope.iter().rev().find(|variable| variable.name == name)
}

/// The loops around a call, understood.
#[derive(Clone, Debug)]
pub(super) struct Nest {
    /// Row tiles, experts, sends or blocks: the loop that gives the item.
    pub(super) items: Items,
    /// Constant ranges, outermost first.
    pub(super) ranges: Vec<(String, u32)>,
}

/// What gives the items of a nest.
#[derive(Clone, Debug)]
pub(super) enum Items {
    RowTiles { tile: String, expert: String, rank: String, height: Height },
    Experts { expert: String, rank: String },
    Sends { send: String, source: String, expert: String, owner: Option<String>, height: Height, once: bool },
    Blocks { block: String, rank: String, height: Height },
}

/// One of the two ranks that a call may speak of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// Row tiles, experts and blocks: the only rank. Sends: the sender.
    Source,
    /// Sends: the owner of the expert.
    Owner,
}

impl Nest {
    /// Understands the loops in scope; each must choose part of the item.
    pub(super) fn of(scope: &[Variable], call: Span, errors: &mut Errors) -> Option<Self> {
        let mut ranges = Vec::new();
        let mut rest = Vec::new();
        for variable in scope {
            match &variable.kind {
                Kind::Range { extent } => ranges.push((variable.name.clone(), *extent)),
                _ => rest.push(variable),
            }
        }
        let Some(innermost) = rest.last() else {
            errors.push(call, Finding::Loops(Loops::Outside));
            return None;
        };
        let items = match &innermost.kind {
            Kind::RowTile { height, expert } => rank_of(scope, expert).map(|rank| Items::RowTiles {
                tile: innermost.name.clone(),
                expert: expert.clone(),
                rank,
                height: *height,
            }),
            Kind::Send { height, rank, expert, once } => is_expert(scope, expert).then(|| Items::Sends {
                send: innermost.name.clone(),
                source: rank.clone(),
                expert: expert.clone(),
                owner: rank_of(scope, expert),
                height: *height,
                once: *once,
            }),
            Kind::Block { height, rank } => {
                Some(Items::Blocks { block: innermost.name.clone(), rank: rank.clone(), height: *height })
            }
            Kind::ExpertOf(rank) => Some(Items::Experts { expert: innermost.name.clone(), rank: rank.clone() }),
            _ => None,
        };
        let Some(items) = items else {
            let variables = rest.iter().map(|variable| variable.name.clone()).collect();
            errors.push(call, Finding::Loops(Loops::NoItem { variables }));
            return None;
        };
        let used: Vec<&str> = match &items {
            Items::RowTiles { tile, expert, rank, .. } => vec![tile, expert, rank],
            Items::Experts { expert, rank } => vec![expert, rank],
            Items::Sends { send, source, expert, owner, .. } => {
                let mut used = vec![send.as_str(), source, expert];
                used.extend(owner.as_deref());
                used
            }
            Items::Blocks { block, rank, .. } => vec![block, rank],
        };
        if let Items::Sends { source, owner: Some(owner), send, .. } = &items
            && source == owner
        {
            let fault = Loops::SentToItself { send: send.clone(), rank: source.clone() };
            errors.push(call, Finding::Loops(fault));
            return None;
        }
        if let Some(idle) = rest.iter().find(|variable| !used.contains(&variable.name.as_str())) {
            errors.push(call, Finding::Loops(Loops::Repeated { variable: idle.name.clone() }));
            return None;
        }
        Some(Self { items, ranges })
    }

    /// Whether the items are those of tokens that are sent once to each rank.
    pub(super) const fn sends_once(&self) -> bool {
        matches!(self.items, Items::Sends { once: true, .. })
    }

    /// Which side a rank expression means, if either.
    pub(super) fn side(&self, rank: &Rank) -> Option<Side> {
        match (&self.items, rank) {
            (
                Items::RowTiles { rank, .. } | Items::Experts { rank, .. } | Items::Blocks { rank, .. },
                Rank::Variable(name),
            ) if name == rank => Some(Side::Source),
            (Items::RowTiles { expert, .. } | Items::Experts { expert, .. }, Rank::Owner(name)) if name == expert => {
                Some(Side::Source)
            }
            (Items::Sends { source, .. }, Rank::Variable(name)) if name == source => Some(Side::Source),
            (Items::Sends { expert, .. }, Rank::Owner(name)) if name == expert => Some(Side::Owner),
            (Items::Sends { owner: Some(owner), .. }, Rank::Variable(name)) if name == owner => Some(Side::Owner),
            _ => None,
        }
    }

    /// The iteration space, seen from that side. A task that only adds to what is there (`adds`) has nothing to do for an
    /// expert without rows.
    pub(super) fn space(&self, side: Side, adds: bool) -> Space {
        match (&self.items, side) {
            (Items::Experts { .. }, _) if adds => Space { kind: SpaceKind::RowTiles, height: Height::WholeExpert },
            (Items::Experts { .. }, _) => Space { kind: SpaceKind::Experts, height: Height::WholeExpert },
            (Items::RowTiles { height, .. }, _) => Space { kind: SpaceKind::RowTiles, height: *height },
            (Items::Blocks { height, .. }, _) => Space { kind: SpaceKind::Blocks, height: *height },
            (Items::Sends { height, once: true, .. }, _) => Space { kind: SpaceKind::SendsOnce, height: *height },
            (Items::Sends { height, .. }, Side::Source) => Space { kind: SpaceKind::Sends, height: *height },
            (Items::Sends { height, .. }, Side::Owner) => Space { kind: SpaceKind::Arrivals, height: *height },
        }
    }
}

/// The rank that owns an expert variable, where a loop over ranks chose it.
fn rank_of(scope: &[Variable], expert: &str) -> Option<String> {
    match &find(scope, expert)?.kind {
        Kind::ExpertOf(rank) => Some(rank.clone()),
        _ => None,
    }
}

fn is_expert(scope: &[Variable], name: &str) -> bool {
    matches!(find(scope, name).map(|variable| &variable.kind), Some(Kind::Expert | Kind::ExpertOf(_)))
}

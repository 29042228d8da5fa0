//! An estimate of code size, because code must fit the instruction caches.
//!
//! The estimate needs no device compiler. A call of AscendC puts its operands into registers and issues an instruction: 8 bytes, and 8 more
//! for each operand and for each parameter of a parameter structure. A branch or a loop takes 16 bytes, an operator 8. A call of an
//! out-of-line routine counts like any other call. A task's body takes half of this sum, because its constants are known; the dispatch of a
//! vector core takes a quarter more. The size of the device library is measured in an AArch64 object: clang `-O2`, public headers of CANN
//! 9.1, each intrinsic compiled as a call. For all examples, the estimates of both halves are within 6 % of such objects.

use super::cpp::{Expr, Function, Item, Stmt};
use crate::collections::SortedSet;
use crate::units::Bytes;
use std::cmp::Reverse;

/// The library on a matrix core: worker, waits, records.
pub(super) const CUBE_LIBRARY: Bytes = Bytes(1_972);
/// The library's start and end on a matrix core.
pub(super) const CUBE_ENDS: Bytes = Bytes(972);
/// The wait of a matrix core for the route.
pub(super) const AWAIT_ROUTE: Bytes = Bytes(176);
/// A product of tiles, without its terms.
pub(super) const PRODUCT: Bytes = Bytes(384);
/// One term of a product: loads and steps.
pub(super) const TERM: Bytes = Bytes(1_408);
/// Additional code of a product that is added part by part: the runs of rows of each part.
pub(super) const PARTS: Bytes = Bytes(480);
/// Reading weights ahead, for one orientation and element type of operands.
pub(super) const READ_AHEAD: Bytes = Bytes(512);
/// The library on a vector core: worker, waits, records, signals.
pub(super) const VECTOR_LIBRARY: Bytes = Bytes(2_268);
/// The library's start and end on a vector core; the start clears counters.
pub(super) const VECTOR_ENDS: Bytes = Bytes(1_828);
/// The dispatch of a vector core: measured size divided by estimate, as a fraction.
pub(super) const DISPATCH: (u64, u64) = (5, 4);
/// Both kinds of put, and the signals by block.
pub(super) const PUTS: Bytes = Bytes(2_304);
/// The wait for tokens that are sent once.
pub(super) const AWAIT_TOKENS: Bytes = Bytes(512);
/// The count of a block's slots that are not empty.
pub(super) const FULL_SLOTS: Bytes = Bytes(464);
/// The count of a chunk's slots that are not empty.
pub(super) const SLOTS_SENT: Bytes = Bytes(264);
/// Time stamps of tiles, and the comparison of clocks.
pub(super) const STAMPS: Bytes = Bytes(1_536);
/// Lending a core to an external operator and taking it back.
pub(super) const LENT: Bytes = Bytes(256);
/// Additional code of a call of `LoadRows` or `StoreRows`, compared with any other call.
const ROWS_CALL: u64 = 96;

/// Additional code of a function that is called rather than inlined: it saves and restores registers.
pub(super) const CALLED: Bytes = Bytes(124);

/// Bytes of a task's body: half of the sum over its statements.
pub(super) fn of_function(function: &Function) -> Bytes {
    Bytes(body(&function.body) / 2)
}

/// The functions to keep out of line, and the bytes that this saves. The functions that save most are taken first, until `wanted` bytes are
/// saved or no function is left.
pub(super) fn out_of_line<Id: Copy + Ord>(savings: Vec<(Bytes, Id)>, wanted: Bytes) -> (Bytes, Vec<Id>) {
    let savings: SortedSet<(Reverse<Bytes>, Id)> =
        savings.into_iter().map(|(bytes, id)| (Reverse(bytes), id)).collect();
    let mut kept = (Bytes(0), Vec::new());
    for (Reverse(bytes), id) in savings {
        if kept.0 >= wanted {
            break;
        }
        kept.0 += bytes;
        kept.1.push(id);
    }
    kept
}

/// Bytes of all functions in the items. The code that a call inlines is not included.
pub(super) fn size(items: &[Item]) -> Bytes {
    Bytes(items.iter().map(item).sum())
}

fn item(item: &Item) -> u64 {
    match item {
        Item::Namespace(_, items) | Item::Struct(_, items) => items.iter().map(self::item).sum(),
        Item::Function(function) => body(&function.body),
        _ => 0,
    }
}

fn body(statements: &[Stmt]) -> u64 {
    statements.iter().map(stmt).sum()
}

fn stmt(statement: &Stmt) -> u64 {
    match statement {
        Stmt::Comment(_) | Stmt::Let { constexpr: true, .. } => 0,
        Stmt::Let { value, .. } | Stmt::Expr(value) => expr(value),
        Stmt::Return(value) => 8 + expr(value),
        Stmt::If(condition, then) => 16 + expr(condition) + body(then),
        Stmt::IfMacro(_, then) => body(then),
        Stmt::For { bound, body: inside, .. } => 16 + expr(bound) + body(inside),
        Stmt::Switch(value, cases) => 16 + expr(value) + cases.iter().map(|case| 16 + body(&case.body)).sum::<u64>(),
    }
}

fn expr(value: &Expr) -> u64 {
    match value {
        Expr::Name(_) | Expr::Int(_) | Expr::Float(_) | Expr::Member(..) => 0,
        // These have no code on a device.
        Expr::Call(callee, _) if matches!(&**callee, Expr::Name(name) if name.starts_with("HPMOE_")) => 0,
        // Its arguments are those of the template.
        Expr::Call(callee, _) if matches!(&**callee, Expr::Name(name) if name.starts_with("PlanOf<")) => {
            expr_of_template(callee)
        }
        // A part of its caller: its number is used twice.
        Expr::Call(callee, arguments) if matches!(&**callee, Expr::Name(name) if name == "PieceOf") => {
            arguments.iter().map(expr).sum::<u64>() + arguments.last().map_or(0, expr) + 48
        }
        Expr::Call(callee, arguments) => {
            let rows = matches!(&**callee, Expr::Name(name) if name == "LoadRows" || name == "StoreRows");
            8 + if rows { ROWS_CALL } else { 0 }
                + expr_of_callee(callee)
                + arguments.iter().map(|a| 8 + expr(a)).sum::<u64>()
        }
        Expr::Index(array, index) => 8 + expr(array) + expr(index),
        Expr::Binary(left, _, right) => 8 + expr(left) + expr(right),
        Expr::Not(operand) => expr(operand),
        Expr::Braces(_, values) => values.iter().map(|value| 8 + expr(value)).sum(),
    }
}

/// Bytes of a callee's template arguments, 8 each; there is one more than the callee has commas.
fn expr_of_template(callee: &Expr) -> u64 {
    match callee {
        Expr::Name(name) => 8 + 8 * name.matches(',').count() as u64,
        _ => 0,
    }
}

/// Bytes of a callee. The object of a member function can itself be the result of a call.
fn expr_of_callee(callee: &Expr) -> u64 {
    match callee {
        Expr::Member(object, _) => expr(object),
        other => expr(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::cpp::{int, name};

    #[test]
    fn no_more_stays_out_of_line_than_must() {
        let savings = || vec![(Bytes(100), 0), (Bytes(300), 1), (Bytes(200), 2), (Bytes(300), 3)];
        assert_eq!(out_of_line(savings(), Bytes(0)), (Bytes(0), vec![]));
        assert_eq!(out_of_line(savings(), Bytes(300)), (Bytes(300), vec![1]));
        assert_eq!(out_of_line(savings(), Bytes(601)), (Bytes(800), vec![1, 3, 2]));
        assert_eq!(out_of_line(savings(), Bytes(5_000)), (Bytes(900), vec![1, 3, 2, 0]));
    }

    #[test]
    fn calls_branches_and_operators_count() {
        let call = Stmt::call("Add", vec![name("a"), name("b"), name("n") * int(2u64)]);
        assert_eq!(stmt(&call), 8 + 3 * 8 + 8);
        assert_eq!(stmt(&Stmt::If(name("x"), vec![call.clone(), call])), 16 + 80);
        assert_eq!(stmt(&Stmt::Comment("free".to_owned())), 0);
    }
}

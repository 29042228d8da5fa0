//! An estimate of code size: what has to fit the instruction caches.
//!
//! A guess, made without the device's compiler. A call of AscendC puts its operands into registers and issues an
//! instruction: 8 bytes, and 8 for each operand and each parameter of a parameter structure. A branch or a loop takes 16
//! bytes, an operator 8, and a call of a routine that is kept out of line is counted as any other call. For the device
//! library it takes the size of an x86-64 object (`-Os`, where each call of AscendC is a call of a function) times 1.4,
//! for instructions of a fixed 32 bits.

use super::cpp::{Expr, Item, Stmt};
use hpmoe_language::units::Bytes;

/// The library on a matrix core: worker, waits, records, the product and its start and end.
pub(super) const CUBE_LIBRARY: Bytes = Bytes(7_168);
/// The library on a vector core: worker, waits, records, signals, the clearing of counters.
pub(super) const VECTOR_LIBRARY: Bytes = Bytes(4_608);
/// Both puts and the signals by block.
pub(super) const PUTS: Bytes = Bytes(3_328);
/// The wait for tokens that are sent once.
pub(super) const AWAIT_TOKENS: Bytes = Bytes(416);
/// What a copy of rows or a routine is more than a plain call.
const ROWS_CALL: u64 = 96;

/// Bytes of what the items hold, with everything inlined that is not kept out of line.
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

/// A member function is called on an object that may be made by a call.
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
    fn calls_branches_and_operators_count() {
        let call = Stmt::call("Add", vec![name("a"), name("b"), name("n") * int(2u64)]);
        assert_eq!(stmt(&call), 8 + 3 * 8 + 8);
        assert_eq!(stmt(&Stmt::If(name("x"), vec![call.clone(), call])), 16 + 80);
        assert_eq!(stmt(&Stmt::Comment("free".to_owned())), 0);
    }
}

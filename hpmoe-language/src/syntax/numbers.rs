//! Numbers: expressions of type f32 that the compiler computes, each step rounded as Rust rounds it.

use super::Constant;
use super::constants::{Constants, Fault, nearest};
use crate::finding::Finding;
use indexmap::IndexMap;
use syn::spanned::Spanned as _;
use syn::{BinOp, Expr, Lit, Type, UnOp};

impl Constants {
    /// Computes an expression of type f32; `locals` are sizes in scope besides the constants.
    pub(crate) fn number(&self, expr: &Expr, locals: &IndexMap<String, usize>) -> Result<f32, Fault> {
        let fault = |problem: String| Box::new((expr.span(), Finding::Number { problem }));
        let value = match expr {
            Expr::Lit(lit) => return literal(&lit.lit).map_err(fault),
            Expr::Paren(paren) => return self.number(&paren.expr, locals),
            Expr::Group(group) => return self.number(&group.expr, locals),
            Expr::Path(path) => {
                let Some(name) = path.path.get_ident().map(ToString::to_string) else {
                    return Err(fault("a constant of another module can't be used here".into()));
                };
                return match self.constant(&name) {
                    Some(Constant::Number(number)) => Ok(number),
                    Some(Constant::Size(_)) => Err(fault(is_a_size(&name))),
                    None if locals.contains_key(&name) => Err(fault(is_a_size(&name))),
                    None => {
                        let nearest = nearest(&name, self.iter().map(|(name, _)| name));
                        Err(Box::new((expr.span(), Finding::Unknown { what: "constant", name, nearest })))
                    }
                };
            }
            Expr::Cast(cast) if is_f32(&cast.ty) => self.value(&cast.expr, locals)? as f32,
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => -self.number(&unary.expr, locals)?,
            Expr::Binary(binary) => {
                let sign = match binary.op {
                    BinOp::Add(_) => "+",
                    BinOp::Sub(_) => "-",
                    BinOp::Mul(_) => "*",
                    BinOp::Div(_) => "/",
                    _ => return Err(fault("this operator has no place in a number".into())),
                };
                arithmetic(sign, &[self.number(&binary.left, locals)?, self.number(&binary.right, locals)?])
                    .map_err(fault)?
            }
            _ => return Err(fault("this can't be computed at compile time here".into())),
        };
        Ok(value)
    }
}

pub(super) fn is_f32(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("f32"))
}

/// What a size says where a number is wanted.
pub(crate) fn is_a_size(name: &str) -> String {
    format!("`{name}` is a whole number, and numbers of a task are f32: write `({name} as f32)`")
}

fn literal(lit: &Lit) -> Result<f32, String> {
    let (digits, suffix, whole) = match lit {
        Lit::Float(float) => (float.base10_digits(), float.suffix(), false),
        Lit::Int(int) => (int.base10_digits(), int.suffix(), true),
        _ => return Err("a number of a task is an f32".into()),
    };
    if whole && suffix != "f32" {
        return Err(format!("`{digits}` is a whole number, and numbers of a task are f32: write `{digits}.0`"));
    }
    if !matches!(suffix, "" | "f32") {
        return Err(format!("`{digits}{suffix}` is of type {suffix}, and numbers of a task are f32: write `{digits}`"));
    }
    let value: f32 = digits.parse().map_err(|_| format!("`{digits}` is no f32"))?;
    finite(value, || format!("`{digits}`"))
}

/// `a + b`, `a - b`, `a * b`, `a / b` or `-a` of numbers.
pub(crate) fn arithmetic(sign: &str, numbers: &[f32]) -> Result<f32, String> {
    let value = match (sign, numbers) {
        ("+", [a, b]) => a + b,
        ("-", [a, b]) => a - b,
        ("*", [a, b]) => a * b,
        ("/", [a, b]) => a / b,
        ("-", [a]) => -a,
        _ => return Err(format!("`{sign}` takes a value: of numbers the compiler computes `+ - * /` alone")),
    };
    let list = |numbers: &[f32]| numbers.iter().map(|number| format!("{number:?}")).collect::<Vec<_>>().join(sign);
    finite(value, || format!("`{}`", list(numbers)))
}

fn finite(value: f32, what: impl Fn() -> String) -> Result<f32, String> {
    if value.is_finite() { Ok(value) } else { Err(format!("{} leaves the range of f32: numbers are finite", what())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<f32, String> {
        let expr = syn::parse_str(text).unwrap();
        let locals = IndexMap::from([("K".to_owned(), 3)]);
        let words = |fault: Fault| match fault.1 {
            Finding::Number { problem } => problem,
            other => format!("{other:?}"),
        };
        Constants::default().number(&expr, &locals).map_err(words)
    }

    #[test]
    fn expressions_are_computed_in_f32() {
        assert_eq!(number("-(0.1 + 0.2) * 2.0"), Ok(-(0.1_f32 + 0.2_f32) * 2.0));
        assert_eq!(number("1.0 / (K as f32)"), Ok(1.0_f32 / 3.0));
        assert_eq!(number("7f32 - 1_000.5_f32"), Ok(-993.5));
    }

    #[test]
    fn what_is_no_f32_is_named_with_the_way_out() {
        for (text, problem) in [
            ("1", "`1` is a whole number, and numbers of a task are f32: write `1.0`"),
            ("K", "`K` is a whole number, and numbers of a task are f32: write `(K as f32)`"),
            ("1.5f64", "`1.5f64` is of type f64, and numbers of a task are f32: write `1.5`"),
            ("1e39", "`1e39` leaves the range of f32: numbers are finite"),
            ("1.0 / 0.0", "`1.0/0.0` leaves the range of f32: numbers are finite"),
            ("f32::MAX", "a constant of another module can't be used here"),
        ] {
            assert_eq!(number(text), Err(problem.to_owned()), "{text}");
        }
    }
}

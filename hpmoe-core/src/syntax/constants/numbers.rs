//! Numbers: expressions of type f32 that the compiler computes, each step rounded as Rust rounds it.

use super::table::{Constants, is_f32};
use crate::constant::Constant;
use crate::finding::{Finding, FindingAt, NameKind, NumberFault};
use crate::names::{ByName, nearest};
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{BinOp, Expr, Lit, UnOp};

impl Constants {
    /// Computes an expression of type f32; `locals` are sizes in scope in addition to the constants.
    pub(crate) fn number(&self, expr: &Expr, locals: &ByName<usize>) -> Result<f32, FindingAt> {
        let fault = |fault: NumberFault| Box::new((expr.span(), Finding::Number(fault)));
        let value = match expr {
            Expr::Lit(lit) => return literal(&lit.lit).map_err(fault),
            Expr::Paren(paren) => return self.number(&paren.expr, locals),
            Expr::Group(group) => return self.number(&group.expr, locals),
            Expr::Path(path) => {
                let Some(name) = path.path.get_ident().map(ToString::to_string) else {
                    return Err(fault(NumberFault::OtherModule));
                };
                return match self.constant(&name) {
                    Some(Constant::Number(number)) => Ok(number),
                    Some(Constant::Size(_)) => Err(fault(NumberFault::IsSize { name })),
                    None if locals.contains(&name) => Err(fault(NumberFault::IsSize { name })),
                    None if self.other(&name).is_some() => {
                        let ty = self.other(&name).map(|(ty, _)| ty.to_owned()).unwrap_or_default();
                        Err(fault(NumberFault::OfType { name, ty }))
                    }
                    None => {
                        let nearest = nearest(&name, self.values.names());
                        Err(Box::new((expr.span(), Finding::Unknown { kind: NameKind::Constant, name, nearest })))
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
                    _ => return Err(fault(NumberFault::Operator)),
                };
                arithmetic(sign, &[self.number(&binary.left, locals)?, self.number(&binary.right, locals)?])
                    .map_err(fault)?
            }
            Expr::Cast(cast) => return Err(fault(NumberFault::Cast { ty: cast.ty.to_token_stream().to_string() })),
            _ => return Err(fault(NumberFault::NotComputable)),
        };
        Ok(value)
    }
}

fn literal(lit: &Lit) -> Result<f32, NumberFault> {
    let (digits, suffix, whole) = match lit {
        Lit::Float(float) => (float.base10_digits(), float.suffix(), false),
        Lit::Int(int) => (int.base10_digits(), int.suffix(), true),
        _ => return Err(NumberFault::Literal),
    };
    if whole && suffix != "f32" {
        return Err(NumberFault::Whole { digits: digits.to_owned() });
    }
    if !matches!(suffix, "" | "f32") {
        return Err(NumberFault::OtherType { digits: digits.to_owned(), suffix: suffix.to_owned() });
    }
    let value: f32 = digits.parse().map_err(|_| NumberFault::NotF32 { digits: digits.to_owned() })?;
    finite(value, || digits.to_owned())
}

/// The value of `a + b`, `a - b`, `a * b`, `a / b` or `-a`.
pub(crate) fn arithmetic(sign: &str, numbers: &[f32]) -> Result<f32, NumberFault> {
    let value = match (sign, numbers) {
        ("+", [a, b]) => a + b,
        ("-", [a, b]) => a - b,
        ("*", [a, b]) => a * b,
        ("/", [a, b]) => a / b,
        ("-", [a]) => -a,
        _ => return Err(NumberFault::NeedsValue { operation: sign.to_owned() }),
    };
    let list = |numbers: &[f32]| numbers.iter().map(|number| format!("{number:?}")).collect::<Vec<_>>().join(sign);
    finite(value, || list(numbers))
}

fn finite(value: f32, expression: impl Fn() -> String) -> Result<f32, NumberFault> {
    if value.is_finite() { Ok(value) } else { Err(NumberFault::NotFinite { expression: expression() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<f32, NumberFault> {
        let expr = syn::parse_str(text).unwrap();
        let locals = ByName::from_iter([("K".to_owned(), 3)]);
        let words = |fault: FindingAt| match fault.1 {
            Finding::Number(fault) => fault,
            other => panic!("{other:?}"),
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
    fn what_is_not_an_f32_is_named_with_the_way_out() {
        let digits = |digits: &str| digits.to_owned();
        for (text, fault) in [
            ("1", NumberFault::Whole { digits: digits("1") }),
            ("K", NumberFault::IsSize { name: "K".to_owned() }),
            ("1.5f64", NumberFault::OtherType { digits: digits("1.5"), suffix: "f64".to_owned() }),
            ("1e39", NumberFault::NotFinite { expression: "1e39".to_owned() }),
            ("1.0 / 0.0", NumberFault::NotFinite { expression: "1.0/0.0".to_owned() }),
            ("f32::MAX", NumberFault::OtherModule),
        ] {
            assert_eq!(number(text), Err(fault), "{text}");
        }
    }
}

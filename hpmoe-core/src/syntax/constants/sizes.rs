//! Sizes: expressions of type usize that the compiler computes.

use super::table::Constants;
use crate::constant::Constant;
use crate::finding::{ConstantFault, Errors, Finding, FindingAt, NameKind};
use crate::names::{ByName, nearest};
use crate::syntax::spelled::size_text;
use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::{BinOp, Expr, Lit};

/// The methods of sizes that the compiler computes.
pub(in crate::syntax) const METHODS: [&str; 5] = ["div_ceil", "next_multiple_of", "pow", "min", "max"];

/// A shift distance or an exponent; `None` if it exceeds 32 bits.
fn by(size: usize) -> Option<u32> {
    size.try_into().ok()
}

impl Constants {
    /// Computes a size; `locals` are const arguments in scope.
    pub(crate) fn evaluate(&self, expr: &Expr, locals: &ByName<usize>, errors: &mut Errors) -> Option<usize> {
        match self.value(expr, locals) {
            Ok(value) => Some(value),
            Err(fault) => {
                errors.push(fault.0, fault.1);
                None
            }
        }
    }

    pub(super) fn value(&self, expr: &Expr, locals: &ByName<usize>) -> Result<usize, FindingAt> {
        let fault = |fault: ConstantFault| Box::new((expr.span(), Finding::Constant(fault)));
        let checked = |value: Option<usize>, operator: &'static str, values: [usize; 2]| {
            value.ok_or_else(|| fault(ConstantFault::Overflow { operator, values }))
        };
        let by_zero = |operator: &'static str, divisor: &Expr| {
            fault(ConstantFault::DivisionByZero { operator, divisor: size_text(divisor) })
        };
        match expr {
            Expr::Lit(lit) => match &lit.lit {
                // A const argument has its sign in the literal.
                Lit::Int(int) if int.base10_digits().starts_with('-') => Err(fault(ConstantFault::Negative)),
                Lit::Int(int) if !matches!(int.suffix(), "" | "usize") => {
                    Err(fault(ConstantFault::Suffix { suffix: int.suffix().to_owned() }))
                }
                Lit::Int(int) => {
                    int.base10_parse().map_err(|e| fault(ConstantFault::Literal { reason: e.to_string() }))
                }
                _ => Err(fault(ConstantFault::NotWhole)),
            },
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => Err(fault(ConstantFault::Negative)),
            Expr::Paren(paren) => self.value(&paren.expr, locals),
            Expr::Group(group) => self.value(&group.expr, locals),
            Expr::Block(block) if block.block.stmts.len() == 1 => match &block.block.stmts[0] {
                syn::Stmt::Expr(inner, None) => self.value(inner, locals),
                _ => Err(fault(ConstantFault::NotOneExpression)),
            },
            Expr::Path(path) => {
                let Some(name) = path.path.get_ident().map(ToString::to_string) else {
                    let path = path.path.to_token_stream().to_string().replace(' ', "");
                    return Err(fault(ConstantFault::OtherModule { path }));
                };
                if let Some(value) = locals.get(&name) {
                    return Ok(*value);
                }
                if let Some(Constant::Number(_)) = self.constant(&name) {
                    return Err(fault(ConstantFault::IsNumber { name }));
                }
                if let Some((ty, _)) = self.other(&name) {
                    return Err(fault(ConstantFault::OfType { ty: ty.to_owned(), name }));
                }
                self.get(&name).ok_or_else(|| {
                    let nearest = nearest(&name, self.values.names());
                    Box::new((expr.span(), Finding::Unknown { kind: NameKind::Constant, name, nearest }))
                })
            }
            Expr::Binary(binary) => {
                let left = self.value(&binary.left, locals)?;
                let right = self.value(&binary.right, locals)?;
                let values = [left, right];
                match binary.op {
                    BinOp::Add(_) => checked(left.checked_add(right), "+", values),
                    BinOp::Sub(_) => checked(left.checked_sub(right), "-", values),
                    BinOp::Mul(_) => checked(left.checked_mul(right), "*", values),
                    BinOp::Div(_) => left.checked_div(right).ok_or_else(|| by_zero("/", &binary.right)),
                    BinOp::Shl(_) => checked(by(right).and_then(|by| left.checked_shl(by)), "<<", values),
                    BinOp::Shr(_) => checked(by(right).and_then(|by| left.checked_shr(by)), ">>", values),
                    BinOp::Rem(_) => left.checked_rem(right).ok_or_else(|| by_zero("%", &binary.right)),
                    other => Err(fault(ConstantFault::Operator { sign: other.to_token_stream().to_string() })),
                }
            }
            Expr::MethodCall(call) if call.args.len() == 1 => {
                let left = self.value(&call.receiver, locals)?;
                let right = self.value(&call.args[0], locals)?;
                let values = [left, right];
                match call.method.to_string().as_str() {
                    "div_ceil" if right > 0 => Ok(left.div_ceil(right)),
                    "div_ceil" => Err(by_zero("div_ceil", &call.args[0])),
                    "next_multiple_of" if right > 0 => {
                        checked(left.checked_next_multiple_of(right), "next_multiple_of", values)
                    }
                    "next_multiple_of" => Err(by_zero("next_multiple_of", &call.args[0])),
                    "pow" => checked(by(right).and_then(|by| left.checked_pow(by)), "pow", values),
                    "min" => Ok(left.min(right)),
                    "max" => Ok(left.max(right)),
                    other => Err(fault(ConstantFault::Method { name: other.to_owned() })),
                }
            }
            _ => Err(fault(ConstantFault::NotComputable)),
        }
    }
}

//! Constants of a kernel module and their values.

use super::Constant;
use super::numbers::is_f32;
use crate::finding::{ConstantFault, Errors, Finding};
use crate::names::nearest;
use indexmap::IndexMap;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::{BinOp, Expr, Lit};

/// Values given for a build instead of those in the source, by name.
pub type Overrides = IndexMap<String, Constant>;

/// Why an expression has no value, and where.
pub(crate) type Fault = Box<(Span, Finding)>;

/// The evaluated constants of one module, in order of declaration.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    values: IndexMap<String, (Constant, Span)>,
}

impl Constants {
    /// Evaluates all of a module, which may stand in any order.
    pub(super) fn of(items: &[&syn::ItemConst], overrides: &Overrides, errors: &mut Errors) -> Self {
        let mut constants = Self::default();
        let mut open: Vec<&syn::ItemConst> = items.iter().copied().filter(|item| item.ident != "_").collect();
        let names: Vec<String> = open.iter().map(|item| item.ident.to_string()).collect();
        // As often as one more can be computed of those that are known.
        while !open.is_empty() {
            let before = open.len();
            open.retain(|item| {
                let name = item.ident.to_string();
                let value = constants.declared(item, overrides);
                value.map(|value| constants.values.insert(name, (value, item.ident.span()))).is_err()
            });
            if open.len() == before {
                break;
            }
        }
        constants.values.sort_by_key(|name, _| names.iter().position(|other| other == name));
        let faults = open.iter().filter_map(|item| constants.declared(item, overrides).err());
        let faults: Vec<_> = faults.collect();
        // What only waits for another faulty one has no fault of its own.
        let waits = |finding: &Finding| matches!(finding, Finding::Unknown { name, .. } if names.contains(name));
        let own: Vec<_> = faults.iter().filter(|fault| !waits(&fault.1)).collect();
        for fault in &own {
            errors.push(fault.0, fault.1.clone());
        }
        if let (true, Some(item)) = (own.is_empty(), open.first()) {
            let name = item.ident.to_string();
            errors.push(item.ident.span(), Finding::Constant(ConstantFault::Circular { name }));
        }
        constants
    }

    /// The value of a constant: as it is set, or as it is written.
    fn declared(&self, item: &syn::ItemConst, overrides: &Overrides) -> Result<Constant, Fault> {
        let number = is_f32(&item.ty);
        match overrides.get(&item.ident.to_string()) {
            Some(Constant::Size(size)) if number => Ok(Constant::Number(*size as f32)),
            Some(Constant::Number(set)) if !number => {
                let fault = ConstantFault::SetToNumber { name: item.ident.to_string(), value: *set };
                Err(Box::new((item.ident.span(), Finding::Constant(fault))))
            }
            Some(value) => Ok(*value),
            None if number => self.number(&item.expr, &IndexMap::new()).map(Constant::Number),
            None => self.value(&item.expr, &IndexMap::new()).map(Constant::Size),
        }
    }

    /// Where a constant is declared.
    pub(crate) fn span(&self, name: &str) -> Option<Span> {
        self.values.get(name).map(|(_, span)| *span)
    }

    /// The value of a size.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<usize> {
        self.constant(name)?.size()
    }

    /// The value of a constant.
    #[must_use]
    pub fn constant(&self, name: &str) -> Option<Constant> {
        self.values.get(name).map(|(value, _)| *value)
    }

    /// Names and values, in order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Constant)> {
        self.values.iter().map(|(name, (value, _))| (name.as_str(), *value))
    }

    /// Computes a size; `locals` are const arguments in scope.
    pub fn evaluate(&self, expr: &Expr, locals: &IndexMap<String, usize>, errors: &mut Errors) -> Option<usize> {
        match self.value(expr, locals) {
            Ok(value) => Some(value),
            Err(fault) => {
                errors.push(fault.0, fault.1);
                None
            }
        }
    }

    pub(super) fn value(&self, expr: &Expr, locals: &IndexMap<String, usize>) -> Result<usize, Fault> {
        let fault = |fault: ConstantFault| Box::new((expr.span(), Finding::Constant(fault)));
        let checked = |value: Option<usize>, operator: &'static str| {
            value.ok_or_else(|| fault(ConstantFault::Overflow { operator }))
        };
        match expr {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Int(int) => {
                    int.base10_parse().map_err(|e| fault(ConstantFault::Literal { reason: e.to_string() }))
                }
                _ => Err(fault(ConstantFault::NotWhole)),
            },
            Expr::Paren(paren) => self.value(&paren.expr, locals),
            Expr::Group(group) => self.value(&group.expr, locals),
            Expr::Block(block) if block.block.stmts.len() == 1 => match &block.block.stmts[0] {
                syn::Stmt::Expr(inner, None) => self.value(inner, locals),
                _ => Err(fault(ConstantFault::NotOneExpression)),
            },
            Expr::Path(path) => {
                let Some(name) = path.path.get_ident().map(ToString::to_string) else {
                    return Err(fault(ConstantFault::OtherModule));
                };
                if let Some(value) = locals.get(&name) {
                    return Ok(*value);
                }
                if let Some(Constant::Number(_)) = self.constant(&name) {
                    return Err(fault(ConstantFault::IsNumber { name }));
                }
                self.get(&name).ok_or_else(|| {
                    let nearest = nearest(&name, self.values.keys().map(String::as_str));
                    Box::new((expr.span(), Finding::Unknown { what: "constant", name, nearest }))
                })
            }
            Expr::Binary(binary) => {
                let left = self.value(&binary.left, locals)?;
                let right = self.value(&binary.right, locals)?;
                match binary.op {
                    BinOp::Add(_) => checked(left.checked_add(right), "+"),
                    BinOp::Sub(_) => checked(left.checked_sub(right), "-"),
                    BinOp::Mul(_) => checked(left.checked_mul(right), "*"),
                    BinOp::Div(_) => checked(left.checked_div(right), "/"),
                    BinOp::Rem(_) => checked(left.checked_rem(right), "%"),
                    _ => Err(fault(ConstantFault::Operator)),
                }
            }
            Expr::MethodCall(call) if call.args.len() == 1 => {
                let left = self.value(&call.receiver, locals)?;
                let right = self.value(&call.args[0], locals)?;
                match call.method.to_string().as_str() {
                    "div_ceil" if right > 0 => Ok(left.div_ceil(right)),
                    "div_ceil" => Err(fault(ConstantFault::DivisionByZero)),
                    "min" => Ok(left.min(right)),
                    "max" => Ok(left.max(right)),
                    other => Err(fault(ConstantFault::Method { name: other.to_owned() })),
                }
            }
            _ => Err(fault(ConstantFault::NotComputable)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<usize, usize> {
        let mut errors = Errors::default();
        let hidden = syn::parse_str("const HIDDEN: usize = 7168;").unwrap();
        let constants = Constants::of(&[&hidden], &Overrides::new(), &mut errors);
        constants.evaluate(&syn::parse_str(text).unwrap(), &IndexMap::new(), &mut errors).ok_or(errors.len())
    }

    #[test]
    fn expressions_of_constants_are_computed() {
        assert_eq!(value("HIDDEN.div_ceil(256) + 1"), Ok(29));
        assert_eq!(value("(HIDDEN % 1000).min(100).max(3) * 2 - 1"), Ok(199));
        assert_eq!(value("{ HIDDEN / 7 }"), Ok(1024));
    }

    fn declared(text: &str) -> (Vec<(String, Constant)>, Vec<String>) {
        let file: syn::File = syn::parse_str(text).unwrap();
        let items: Vec<_> = file
            .items
            .iter()
            .map(|item| match item {
                syn::Item::Const(item) => item,
                _ => unreachable!("constants only"),
            })
            .collect();
        let mut errors = Errors::default();
        let constants = Constants::of(&items, &Overrides::new(), &mut errors);
        let faults = errors.checkpoint().err().unwrap_or_default();
        let values = constants.iter().map(|(name, value)| (name.to_owned(), value)).collect();
        (values, faults.iter().map(|fault| fault.words().message).collect())
    }

    #[test]
    fn constants_stand_in_any_order() {
        let (values, faults) =
            declared("const A: usize = B * 2; const _: usize = 1 << 3; const B: usize = C; const C: usize = 4;");
        assert_eq!(values, [("A".to_owned(), 8.into()), ("B".to_owned(), 4.into()), ("C".to_owned(), 4.into())]);
        assert!(faults.is_empty(), "{faults:?}");
    }

    #[test]
    fn sizes_and_numbers_are_told_apart() {
        let (values, faults) =
            declared("const N: usize = 3; const MEAN: f32 = 1.0 / (N as f32); const LESS: f32 = -MEAN;");
        assert_eq!(
            values[1..],
            [("MEAN".to_owned(), (1.0_f32 / 3.0).into()), ("LESS".to_owned(), (-1.0_f32 / 3.0).into())]
        );
        assert!(faults.is_empty(), "{faults:?}");
        let (_, faults) = declared("const A: f32 = 1; const B: usize = C; const C: f32 = 2.0;");
        assert_eq!(
            faults,
            ["`1` is a whole number, and numbers of a task are f32: write `1.0`", "`C` is an f32, and this is a usize"]
        );
    }

    #[test]
    fn a_constant_that_others_need_is_one_fault() {
        let (_, faults) = declared("const A: usize = B + 1; const B: usize = 1 << 3; const C: usize = A;");
        assert_eq!(faults, ["this operator can't stand in a constant"]);
        let (_, faults) = declared("const A: usize = B; const B: usize = A;");
        assert_eq!(faults, ["`A` depends on itself"]);
    }

    #[test]
    fn what_cannot_be_computed_is_one_error() {
        for text in ["1 - 2", "HIDDEN / 0", "HIDDEN.div_ceil(0)", "1 << 3", "HIDEN", "f(3)", "1.5", "a::B", "!0"] {
            assert_eq!(value(text), Err(1), "{text}");
        }
    }
}

//! The replacements of expressions.

use syn::{BinOp, Expr, ReturnType, Type};

/// Methods whose closures answer a question.
pub(crate) const QUESTIONS: [&str; 13] = [
    "all",
    "any",
    "filter",
    "find",
    "is_none_or",
    "is_some_and",
    "partition",
    "partition_point",
    "position",
    "retain",
    "rposition",
    "skip_while",
    "take_while",
];

/// Methods that are each the other's mutant.
pub(crate) const TWINS: [(&str, &str); 9] = [
    ("all", "any"),
    ("first", "last"),
    ("insert", "remove"),
    ("is_none", "is_some"),
    ("is_none_or", "is_some_and"),
    ("max", "min"),
    ("max_by_key", "min_by_key"),
    ("saturating_add", "saturating_sub"),
    ("skip", "take"),
];

/// Fields that are each the other's mutant.
pub(crate) const NEIGHBOURS: [(&str, &str); 2] = [("end", "start"), ("0", "1")];

pub(crate) fn twin(pairs: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    pairs.iter().find_map(|&(a, b)| match name {
        _ if name == a => Some(b),
        _ if name == b => Some(a),
        _ => None,
    })
}

/// Values that a function may return at once.
pub(crate) fn values(output: &ReturnType) -> &'static [&'static str] {
    let ReturnType::Type(_, output) = output else {
        return &["()"];
    };
    let Type::Path(path) = &**output else {
        return &[];
    };
    match path.path.segments.last().map(|segment| segment.ident.to_string()).as_deref() {
        Some("bool") => &["true", "false"],
        Some("u8" | "u16" | "u32" | "u64" | "usize") => &["0", "1"],
        Some("Option") => &["None"],
        Some("Vec") => &["Vec::new()"],
        Some("BTreeSet" | "BTreeMap" | "HashMap" | "HashSet") => &["Default::default()"],
        Some("Result") => &["Ok(())"],
        _ => &[],
    }
}

/// The replacements of a binary operator.
pub(crate) fn other_operator(operator: BinOp) -> Option<&'static str> {
    Some(match operator {
        BinOp::Add(_) => "-",
        BinOp::Sub(_) => "+",
        BinOp::Mul(_) | BinOp::Rem(_) => "/",
        BinOp::Div(_) => "*",
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::AddAssign(_) => "-=",
        BinOp::SubAssign(_) => "+=",
        BinOp::BitAnd(_) => "|",
        BinOp::BitOr(_) => "&",
        BinOp::Shl(_) => ">>",
        BinOp::Shr(_) => "<<",
        _ => return None,
    })
}

/// Whether an expression is a name, or a field or reference of one.
pub(crate) fn is_plain(expression: &Expr) -> bool {
    match expression {
        Expr::Path(_) => true,
        Expr::Field(field) => is_plain(&field.base),
        Expr::Reference(reference) => is_plain(&reference.expr),
        _ => false,
    }
}

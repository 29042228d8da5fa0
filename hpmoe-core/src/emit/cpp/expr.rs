//! C++ expressions.

use std::ops::{Add, Div, Mul, Rem, Sub};

/// A C++ expression; the printer adds parentheses where precedence requires them.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::emit) enum Expr {
    /// A name, with its namespace and template arguments if it has them.
    Name(String),
    /// A whole number.
    Int(u64),
    /// A number of type float.
    Float(f32),
    /// A call: `callee(arguments)`.
    Call(Box<Expr>, Vec<Expr>),
    /// A member: `object.member`.
    Member(Box<Expr>, String),
    /// An element: `array[index]`.
    Index(Box<Expr>, Box<Expr>),
    /// `left op right`.
    Binary(Box<Expr>, &'static str, Box<Expr>),
    /// A negation: `!operand`.
    Not(Box<Expr>),
    /// `type{values}`; a type may be left out.
    Braces(String, Vec<Expr>),
}

pub(in crate::emit) fn name(text: impl Into<String>) -> Expr {
    Expr::Name(text.into())
}

pub(in crate::emit) fn int(value: impl Into<u64>) -> Expr {
    Expr::Int(value.into())
}

pub(in crate::emit) fn float(value: f32) -> Expr {
    Expr::Float(value)
}

pub(in crate::emit) fn braces(ty: impl Into<String>, values: Vec<Expr>) -> Expr {
    Expr::Braces(ty.into(), values)
}

impl Expr {
    pub(in crate::emit) fn call(self, arguments: Vec<Expr>) -> Self {
        Self::Call(Box::new(self), arguments)
    }

    pub(in crate::emit) fn dot(self, member: &str) -> Self {
        Self::Member(Box::new(self), member.to_owned())
    }

    /// A call of a member function.
    pub(in crate::emit) fn method(self, member: &str, arguments: Vec<Expr>) -> Self {
        self.dot(member).call(arguments)
    }

    pub(in crate::emit) fn at(self, index: Expr) -> Self {
        Self::Index(Box::new(self), Box::new(index))
    }

    pub(in crate::emit) fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    pub(in crate::emit) fn binary(self, operator: &'static str, right: Expr) -> Self {
        Self::Binary(Box::new(self), operator, Box::new(right))
    }

    /// How tightly its outermost operator binds.
    pub(super) fn precedence(&self) -> u8 {
        match self {
            Self::Binary(_, operator, _) => match *operator {
                "*" | "/" | "%" => 5,
                "+" | "-" => 4,
                "<" | "<=" | ">" | ">=" => 3,
                _ => 2,
            },
            Self::Not(_) => 6,
            _ => 7,
        }
    }
}

/// Products and sums omit neutral terms, so that generated text looks hand-written.
impl Mul for Expr {
    type Output = Self;
    fn mul(self, right: Self) -> Self {
        match (self, right) {
            (Self::Int(0), _) | (_, Self::Int(0)) => Self::Int(0),
            (Self::Int(1), other) | (other, Self::Int(1)) => other,
            (Self::Int(a), Self::Int(b)) => Self::Int(a * b),
            (left, right) => left.binary("*", right),
        }
    }
}

impl Add for Expr {
    type Output = Self;
    fn add(self, right: Self) -> Self {
        match (self, right) {
            (Self::Int(0), other) | (other, Self::Int(0)) => other,
            (Self::Int(a), Self::Int(b)) => Self::Int(a + b),
            (left, right) => left.binary("+", right),
        }
    }
}

impl Sub for Expr {
    type Output = Self;
    fn sub(self, right: Self) -> Self {
        self.binary("-", right)
    }
}

impl Div for Expr {
    type Output = Self;
    fn div(self, right: Self) -> Self {
        if right == Self::Int(1) { self } else { self.binary("/", right) }
    }
}

impl Rem for Expr {
    type Output = Self;
    fn rem(self, right: Self) -> Self {
        self.binary("%", right)
    }
}

//! The words of [`ConstantFault`], [`NumberFault`] and [`RangeFault`].

use super::sentence::{Sentence, grouped};
use crate::constant::{MOST_ROWS, NAMES_OF_TILE_SIZES, is_tile_size};
use crate::finding::{ConstantFault, LoopSize, NumberFault, RangeFault};

impl ConstantFault {
    pub(super) fn words(&self) -> Sentence {
        let help = "constants are computed from literals, `+ - * / % << >>`, `div_ceil`, `next_multiple_of`, `pow`, `min`, `max` and constants of this module";
        match self {
            Self::OfType { name, .. } => (self.problem(), format!("declare it as `const {name}: usize`")),
            Self::Open { name } => {
                let help = "build it by `hpmoe_build::kernels(..)`, which chooses open tile sizes, or set it";
                (self.problem(), format!("{help}: `const {name}: usize = 128;`"))
            }
            Self::Suffix { .. } => (self.problem(), "leave the type out, or write `usize`".into()),
            Self::OfParameter { .. } => {
                (self.problem(), "make it a const parameter of its own: `const WIDTH: usize`".into())
            }
            Self::SetToNumber { name, value } => {
                (self.problem(), format!("set `{name}` to {}", whole_instead(name, *value)))
            }
            Self::SetNotFinite { name, .. } => (self.problem(), format!("set `{name}` to a finite number")),
            Self::OpenButNoTileSize { name } => {
                let help = "`_` is for tile sizes, constants of type usize with the name";
                (self.problem(), format!("write the value of `{name}`; {help} {NAMES_OF_TILE_SIZES}"))
            }
            Self::Overflow { .. } => {
                let help = format!("choose constants with which this is from 0 to {}", grouped(usize::MAX));
                (self.problem(), help)
            }
            Self::DivisionByZero { divisor, .. } => (self.problem(), way_out(divisor, "of at least 1")),
            _ => (self.problem(), help.into()),
        }
    }

    fn problem(&self) -> String {
        match self {
            Self::Open { name } => format!("`{name}` is left open, and no value was chosen for it"),
            Self::OpenButNoTileSize { name } => format!("`{name}` is left open, but is not a tile size"),
            Self::Circular { name } => format!("`{name}` depends on itself"),
            Self::SetToNumber { name, value } => {
                let value = match value.fract() == 0.0 {
                    true if value.is_sign_negative() => value.to_string(),
                    true if *value >= usize::MAX as f32 => format!("more than {}", grouped(usize::MAX)),
                    _ => format!("{value:?}"),
                };
                format!("`{name}` is a usize, but this build sets it to {value}")
            }
            Self::SetNotFinite { name, value } => {
                format!("numbers of a kernel must be finite, but this build sets `{name}` to {value:?}")
            }
            Self::Overflow { operator, values: [left, right] } => {
                let computed = match operator.starts_with(char::is_alphabetic) {
                    true => format!("{left}.{operator}({right})"),
                    false => format!("{left} {operator} {right}"),
                };
                format!("`{operator}` in a constant leaves the range of usize: {computed}")
            }
            Self::OfParameter { parameter } => {
                format!("Rust does not allow sizes computed from a const parameter, as this one from `{parameter}`")
            }
            Self::Suffix { suffix } => format!("sizes are of type usize, but this number ends in `{suffix}`"),
            Self::Literal { reason } => format!("not a usize: {reason}"),
            Self::NotWhole => "a constant of type usize is a whole number".into(),
            Self::NotOneExpression => "a constant is one expression".into(),
            Self::OtherModule { path } => format!("`{path}` is not a constant of this module"),
            Self::IsNumber { name } => format!("`{name}` is an f32, but sizes are of type usize"),
            Self::OfType { name, ty } => format!("`{name}` is of type {ty}, but sizes are of type usize"),
            Self::Negative => "a constant of type usize can't be negative".into(),
            Self::Operator { sign } => format!("the compiler doesn't compute `{sign}` in a constant"),
            Self::DivisionByZero { operator, divisor } => match is_number(divisor) {
                true => format!("`{operator}` by zero in a constant"),
                false => format!("`{operator}` by zero in a constant: `{divisor}` is 0"),
            },
            Self::Method { name } => format!("the compiler doesn't compute `{name}` in a constant"),
            Self::NotComputable => "the compiler can't compute this as a constant".into(),
        }
    }
}

impl NumberFault {
    pub(super) fn words(&self) -> Sentence {
        let help = "numbers are f32, computed from literals, `+ - * /`, constants of this module, and sizes as `(SIZE as f32)`";
        match self {
            Self::OfType { name, .. } => (self.problem(), format!("declare it as `const {name}: f32`")),
            Self::Cast { .. } => {
                let help = "a store rounds a value to the type of its tile: `ids.store(chosen)`, into a tile of i32; a size becomes a number by `(SIZE as f32)`";
                (self.problem(), help.into())
            }
            _ => (self.problem(), help.into()),
        }
    }

    fn problem(&self) -> String {
        match self {
            Self::OtherModule => "a constant of another module can't be used here".into(),
            Self::OfType { name, ty } => format!("`{name}` is of type {ty}, but numbers of a task are of type f32"),
            Self::IsSize { name } => {
                format!("`{name}` is a whole number, but numbers of a task are f32: write `({name} as f32)`")
            }
            Self::Literal => "this literal is not a number, but numbers of a task are f32".into(),
            Self::Whole { digits } => {
                format!("`{digits}` is a whole number, but numbers of a task are f32: write `{digits}.0`")
            }
            Self::OtherType { digits, suffix } => {
                format!("`{digits}{suffix}` is of type {suffix}, but numbers of a task are f32: write `{digits}`")
            }
            Self::NotF32 { digits } => format!("`{digits}` is not an f32"),
            Self::NotFinite { expression } => format!("`{expression}` leaves the range of f32: numbers are finite"),
            Self::NeedsValue { operation } => {
                format!("`{operation}` needs a value: with numbers alone the compiler computes only `+ - * /`")
            }
            Self::Operator => "the compiler doesn't compute this operator in a number".into(),
            Self::Cast { ty } => format!("values and numbers of a task are f32, but this converts to {ty}"),
            Self::NotComputable => "the compiler can't compute this as a number".into(),
        }
    }
}

impl RangeFault {
    pub(super) fn words(&self) -> Sentence {
        (self.problem(), self.help())
    }

    fn help(&self) -> String {
        let from = |least: usize, most: usize| format!("from {least} to {}", grouped(most));
        match self {
            Self::Loop { size, most, .. }
            | Self::TensorColumns { size, most, .. }
            | Self::TensorRows { size, most, .. } => way_out(size, &from(1, *most)),
            Self::Tile { sizes, most, .. } => {
                let all: Vec<String> = sizes.iter().map(|size| way_out(size, &from(1, *most))).collect();
                all.join("; ")
            }
            Self::Zero { name } => way_out(name, "of at least 1"),
            Self::TopK { top_k, experts, most } => {
                let fewer = way_out("TOP_K", &from(1, *experts.min(most)));
                match top_k <= most {
                    true => format!("{fewer}, or of at least {} for `EXPERTS`", grouped(*top_k)),
                    false => fewer,
                }
            }
            Self::Experts { most, .. } => way_out("EXPERTS", &from(1, *most)),
            Self::Spare { most, .. } => way_out("SPARE", &from(0, *most)),
            Self::Chosen { most, .. } => {
                let powers = std::iter::successors(Some(1), |power| Some(2 * power)).take_while(|power| power <= most);
                let powers: Vec<String> = powers.map(|power: usize| power.to_string()).collect();
                format!("choose one of the values 0, {} for `CHUNKS_AT_MOST`", powers.join(", "))
            }
            Self::Tokens { top_k, .. } => way_out("TOKENS", &from(1, i32::MAX as usize / top_k)),
        }
    }

    fn problem(&self) -> String {
        match self {
            Self::Loop { value, counts, most, .. } => {
                format!("{value} {} are out of range: 1 to {}", counts.words(), grouped(*most))
            }
            Self::TensorColumns { tensor, value, most, .. } => {
                format!("`{tensor}` has {value} columns, out of range: 1 to {}", grouped(*most))
            }
            Self::TensorRows { tensor, value, most, .. } => {
                format!("a matrix of `{tensor}` has {value} rows, out of range: 1 to {}", grouped(*most))
            }
            Self::Tile { param, rows, cols, most, .. } => format!(
                "`{param}` is a tile of {rows} rows and {cols} columns, out of range: 1 to {} of each",
                grouped(*most)
            ),
            Self::Zero { name } => format!("`{name}` is 0, but a layer has at least one"),
            Self::TopK { top_k, experts, .. } => format!("`TOP_K` is {top_k}, but there are only {experts} experts"),
            Self::Experts { experts, most } => format!("`EXPERTS` is {experts}, out of range: 1 to {}", grouped(*most)),
            Self::Spare { spare, most } => format!("`SPARE` is {spare}, out of range: 0 to {}", grouped(*most)),
            Self::Chosen { value, most } => {
                format!(
                    "`CHUNKS_AT_MOST` is {value}, but it must be a power of two up to {most}, or 0 if launches don't choose"
                )
            }
            Self::Tokens { tokens, top_k } => {
                format!("`TOKENS` is {tokens}: with {top_k} experts for each token, slot numbers exceed 32 bits")
            }
        }
    }
}

/// The help for a size that is out of range: `size` is its expression, and `range` are the possible values.
fn way_out(size: &str, range: &str) -> String {
    if is_number(size) {
        format!("write a number {range}")
    } else if size.chars().all(|character| character.is_alphanumeric() || character == '_') {
        format!("choose a value {range} for `{size}`")
    } else {
        format!("choose constants that give `{size}` a value {range}")
    }
}

/// The whole numbers to which a build can set a constant of type `usize`, in words. The build has set it to `value`, which is not a `usize`.
fn whole_instead(name: &str, value: f32) -> String {
    let (least, most) = if is_tile_size(name) { (1, MOST_ROWS) } else { (0, usize::MAX) };
    let is_whole = value.fract() == 0.0 && value.is_sign_positive() && value < usize::MAX as f32;
    if is_whole && (least..=most).contains(&(value as usize)) {
        format!("{value}, without a decimal point or an exponent")
    } else if is_tile_size(name) {
        format!("a whole number from {least} to {}", grouped(most))
    } else if value.is_sign_negative() {
        "a whole number without a minus sign".to_owned()
    } else if value.fract() == 0.0 {
        format!("a whole number of at most {}", grouped(most))
    } else {
        "a whole number".to_owned()
    }
}

/// Whether an expression is a literal.
fn is_number(expression: &str) -> bool {
    expression.starts_with(|character: char| character.is_ascii_digit())
        && expression.chars().all(|character| character.is_alphanumeric() || character == '_')
}

impl LoopSize {
    fn words(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::RowsOfSend => "rows of a send",
            Self::RowsOfRowTile => "rows of a row tile",
            Self::TokensOfBlock => "tokens of a block",
            Self::Iterations => "iterations of a range",
        }
    }
}

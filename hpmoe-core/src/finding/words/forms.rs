//! The words of [`BodyForm`].

use super::sentence::Sentence;
use crate::finding::BodyForm;

impl BodyForm {
    pub(super) fn words(self) -> Sentence {
        let (form, help) = match self {
            Self::Block => ("blocks", "write their statements in the body itself"),
            Self::Closure => (
                "closures",
                "declare a function in the module, `fn name<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> { … }`",
            ),
            Self::Return => ("`return`", "leave it out: a task ends with its last statement"),
            Self::OpenLoop => ("`loop` and `while`", "write `for i in 0..COUNT { … }`"),
            Self::Jump => ("`break` and `continue`", "let the range of the loop say how often it runs"),
            Self::Index => ("brackets", "take columns by `x.columns::<WIDTH>(first)`; operations work on all rows"),
            Self::Field => (
                "fields",
                "write sizes as constants; a tile that ends early has fewer rows and columns, which operations know",
            ),
            Self::Try => ("`?`", "leave it out: operations have no errors"),
            Self::Tuple => ("tuples", "write a `let` for each value"),
            Self::Path => {
                ("names of other modules", "write the number, such as `3.0e38`, or declare a constant in this module")
            }
            Self::Cast => {
                let help = "leave `as` out: values are f32, and a store rounds them to the type of its tile. \
                            `.cast::<bf16>()` rounds on the way";
                return ("`as` doesn't convert values".into(), help.into());
            }
            Self::Other => (
                "expressions of this kind",
                "write `let`s, loops over constant ranges, and operations on tiles, values and numbers",
            ),
        };
        (format!("a task body has no {form}: it is a straight line of tile operations"), help.into())
    }
}

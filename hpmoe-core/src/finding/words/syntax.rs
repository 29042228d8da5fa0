//! The words of [`SyntaxFault`].

use super::sentence::{Sentence, counted};
use crate::finding::{ArgumentForm, NotPlain, PartFault, SyntaxFault};
use hpmoe_kernels::op::ElementType;

impl SyntaxFault {
    pub(super) fn words(&self) -> Sentence {
        match self {
            Self::FlowLet { ranks, route } => (
                "a `let` in a taskflow creates a tensor, and has no type and no pattern but a name".into(),
                format!(
                    "write `let name = PerRank::symmetric::<bf16, COLS>({ranks}, {route});`, `PerRank::ragged`, \
                     `PerRank::once`, `PerRank::slots`, `PerRank::tokens` or `PerRank::experts::<bf16, ROWS, COLS>`"
                ),
            ),
            Self::FlowLoop { ranks, route, chunk } => (
                match chunk {
                    true => format!("a loop inside the loop over chunks runs over the ranks or over the chunk's route `{route}`, not over this"),
                    false => "a taskflow can't loop over this".into(),
                },
                format!(
                    "loop over `{ranks}`, `{route}.experts()`, `{route}.experts_of(r)`, `{route}.sends::<N>(r, e)`, \
                     `{route}.sends_once::<N>(r, e)`, `{route}.row_tiles::<N>(e)`, `{route}.token_blocks::<N>(r)`, \
                     `{route}.chunks::<N>()` or `0..N`"
                ),
            ),
            Self::FlowRouteOf { ranks } => (
                "a route is made from the ranks and a tensor of expert ids".into(),
                format!(
                    "write `let route = Route::of::<EXPERTS>({ranks}, ids);`, with a parameter `ids: &PerRank<Tensor<i32, TOP_K>>`, or with `&ids` for a tensor that earlier tasks write"
                ),
            ),
            Self::FlowRouteLater { ranks, route } => (
                format!("`{route}` is made further down: above that line, loops and tensors can use only the tokens of parameters"),
                format!(
                    "loop over the blocks of a parameter, `x.token_blocks::<N>(r)`, and make tensors with a row for each of its tokens, \
                     `PerRank::tokens::<f32, COLS>({ranks}, x)`; or move this below `let {route} = Route::of::<EXPERTS>(..);`"
                ),
            ),
            Self::FlowTensor { form } => {
                ("this constructor takes an element type, its sizes, the ranks and the route".into(), format!("write `{form}`"))
            }
            Self::FlowLoopForm { form } => {
                ("a loop over the route names its sizes and the variables of loops around it".into(), format!("write `{form}`"))
            }
            Self::ElementType { name } => {
                let known: Vec<String> = ElementType::ALL.iter().map(|element| format!("`{}`", element.name())).collect();
                (format!("tiles and tensors don't have elements of type `{name}`"), format!("use one of {}", known.join(", ")))
            }
            Self::TaskOperator { sign } => (
                format!("values have no operator `{sign}`"),
                "values have `+ - * /`; `a.less(b)`, `less_equal`, `greater`, `greater_equal`, `equal` and `not_equal` compare, and \
                 operations take values and references to them alike"
                    .into(),
            ),
            Self::FlowArgument(form) => form.words(),
            Self::Part(fault) => fault.words(),
            Self::TaskExpression(form) => form.words(),
            Self::ModuleElsewhere { module } => (
                "a kernel module is written inline".into(),
                format!("write `mod {module} {{ … }}` here: the macro must see every task"),
            ),
            Self::NoPrelude { module, runtime } => (
                format!("kernel `{module}` imports nothing from `{runtime}`, so `Tile` and other types of kernels are unknown in it"),
                format!("begin the module with `use {runtime}::prelude::*;`"),
            ),
            Self::NotImported { name, runtime } => (
                format!("the module doesn't import `{name}`"),
                format!("begin the module with `use {runtime}::prelude::*;`, or import `{name}`, too"),
            ),
            Self::Static { name } => (
                format!("`{name}` is a `static`, but kernels use constants only"),
                format!("write `const {name}`"),
            ),
            Self::NoTaskflow { module } => {
                (format!("kernel `{module}` has no taskflow"), "mark a function with `#[taskflow]`".into())
            }
            Self::UnmarkedTaskflow { module, name } => (
                format!("kernel `{module}` has no taskflow, and `{name}`, which takes the ranks, has no marker"),
                format!("mark `{name}` with `#[taskflow]`"),
            ),
            Self::AttributeArgument { attribute, argument, known } => {
                attribute_argument(attribute, argument.as_deref(), known)
            }
            Self::SecondFunction { name } => (
                format!("two functions of this kernel module are called `{name}`"),
                "give each function a unique name: calls refer to functions by name".into(),
            ),
            Self::FlowParameter { text } => (
                format!("a taskflow takes `Ranks`, `&Route` and tensors, but not `{text}`"),
                "write `ep: Ranks`, `route: &Route`, and tensors as `name: &PerRank<Tensor<bf16, COLS>>`, `&PerRank<Experts<bf16, ROWS, COLS>>`, \
                 `&PerRank<Matrix<bf16, ROWS, COLS>>`, `&PerRank<Received<bf16, COLS>>`, `&PerRank<Once<bf16, COLS>>`, \
                 `&PerRank<Slots<bf16, COLS>>`, or `&mut` for what it writes"
                    .into(),
            ),
            Self::SecondConstant { name } => (
                format!("two constants of this kernel module are called `{name}`"),
                "give each constant a unique name, or delete one".into(),
            ),
            Self::NotPlain(reason) => {
                let (what, help) = reason.words();
                (format!("tasks and taskflows are plain functions, but this one {what}"), help.into())
            }
            fixed => {
                let (problem, help) = fixed.fixed();
                (problem.into(), help.into())
            }
        }
    }

    /// The words of faults without data.
    fn fixed(&self) -> (&'static str, &'static str) {
        match self {
            Self::MacroCall => (
                "a kernel module has no macro calls: the compiler can't see what they expand to",
                "write out the items that the macro would produce",
            ),
            Self::Cfg => (
                "`#[cfg]` inside a kernel: the build script can't tell what rustc will keep",
                "put `#[cfg]` on the whole module, or use a constant",
            ),
            Self::LibraryGlob => (
                "a kernel imports tasks and taskflows of the library by name, not by `*`",
                "write `use hpmoe_runtime::tasks::{dispatch, project};`, or the same with `taskflows`",
            ),
            Self::SecondMarker => ("a function has one marker", "write a function for each kind of core"),
            Self::TaskGeneric => {
                ("a task is generic over constants only", "write `<const N: usize>`, or one task for each type")
            }
            Self::TaskParameter => (
                "a task takes tiles only",
                "write `name: &Tile<bf16, ROWS, COLS>`, or `&mut Tile<…>` for what it writes",
            ),
            Self::TaskLet => (
                "a `let` in a task names one value, or each result of a function",
                "write `let name = value;` or `let (a, b) = function(…);`, without a type",
            ),
            Self::TaskLoop => ("a loop in a task runs over a constant range", "write `for i in 0..COUNT { … }`"),
            Self::TaskRange => ("a range in a task is `from..to`", "write both ends, the second one excluded"),
            Self::TaskItem => {
                ("a task body has only `let`, tile operations and loops over constants", "move this out of the task")
            }
            Self::TaskAssignment => (
                "a task assigns values to names of `let mut`, by `=`, `+=`, `-=`, `*=` or `/=`, in a separate statement",
                "write `let mut sum = first;` and later `sum = sum + next;`",
            ),
            Self::TaskIf => (
                "a task has no conditions: it treats all elements alike",
                "choose between numbers by `a.less(b).select(x, y)`, `.max(&b)`, `.min(&b)`, `.at_least(x)` and `.at_most(x)`",
            ),
            Self::TaskCall => (
                "a task calls functions of its kernel module only, by their names",
                "declare `fn name<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> { … }` in the module, or write \
                 out the operations",
            ),
            Self::TaskMacro => ("a task calls no macros", "write out the operations on its tiles and values"),
            Self::HelperGeneric => (
                "a function that a task calls is generic over constants only",
                "write `<const R: usize, const C: usize>`",
            ),
            Self::HelperParameter => (
                "a function that a task calls takes values and numbers",
                "write `name: &Value<ROWS, COLS>` or `name: f32`; tiles are loaded before the call, and stored after it",
            ),
            Self::HelperResult => (
                "a function that a task calls returns values and numbers, by its last expression",
                "write `-> Value<ROWS, COLS>`, `-> f32` or a tuple of them, and the result at the end, without `return` and `;`",
            ),
            Self::FlowGeneric => (
                "a taskflow that is `pub` has no generic parameters, and others have only `const` ones",
                "use constants of the module",
            ),
            Self::FlowSecondRoute => ("a taskflow has one group and one route", "take one `Ranks` and one `&Route`"),
            Self::FlowWithoutRoute => (
                "a taskflow takes `ep: Ranks` and `route: &Route`",
                "add both parameters, in this order, before the tensors; or make the route from ids, \
                 `let route = Route::of::<EXPERTS>(ep, &ids);`",
            ),
            Self::FlowRouteElsewhere => (
                "a taskflow has one route: a parameter, or the result of one statement outside all loops",
                "make the route once, outside all loops, and remove the parameter `route: &Route`",
            ),
            Self::LoopPattern => ("a loop has one variable, with a name", "name it, for instance `i`"),
            Self::FlowRange => ("a range in a taskflow begins at 0 and excludes its end", "write `0..N`"),
            Self::FlowIf => (
                "a taskflow has no `if`: its order is fixed when the kernel is built",
                "let loops over the route determine the number of rows, and constants everything else",
            ),
            Self::FlowStatement => (
                "a taskflow has only `let` tensors, loops, and calls of tasks and taskflows",
                "move this out of the taskflow",
            ),
            Self::FlowCall => ("a taskflow calls tasks and taskflows of its module", "call one by its name"),
            other => unreachable!("{other:?} has data"),
        }
    }
}

impl PartFault {
    fn words(&self) -> Sentence {
        match self {
            Self::NonePublic { name } => (
                format!("`{name}` is not `pub`: only other taskflows can call it, and no kernel is generated for it"),
                "make the taskflow `pub` to launch it".into(),
            ),
            Self::Recursive { name } => (
                format!("taskflow `{name}` calls itself, directly or through others, or a taskflow that does"),
                "calls are inlined: write repeated statements as a loop".into(),
            ),
            Self::InLoop { variable } => (
                format!("a taskflow runs on all ranks, but this call is inside the loop over `{variable}`"),
                "move the call out of the loop; only a loop over chunks may contain it".into(),
            ),
            Self::Arity { name, expected, given } => {
                let [expected, given] = [expected, given].map(|&count| counted(count, "argument"));
                (
                    format!("taskflow `{name}` takes {expected}, but {given} are passed"),
                    "pass the ranks, the route and each tensor".into(),
                )
            }
            Self::Argument { takes, what } => {
                (format!("a taskflow passes its own {what} to taskflows that it calls"), format!("write `{takes}`"))
            }
            Self::MakesRoute { name } => (
                format!(
                    "taskflow `{name}` makes its own route, but a taskflow that is called must use its caller's route"
                ),
                format!("let `{name}` take `route: &Route`, and make the route in the taskflow that calls it"),
            ),
            Self::ConstArity { name, expected, given } => {
                let [expected, given] = [expected, given].map(|&count| counted(count, "const argument"));
                (
                    format!("taskflow `{name}` takes {expected}, but the call writes {given}"),
                    "write a value for each, or `_` if it is the size of a tensor".into(),
                )
            }
            Self::ConstNotInferred { name, parameter } => (
                format!("no tensor that `{name}` takes has the size `{parameter}`, so it can't be inferred"),
                format!("write its value: `{name}::<…>(…)`"),
            ),
            Self::TensorForm { given, wanted } => {
                (format!("this call can't take the tensor as `{given}`"), format!("write `{wanted}`"))
            }
            Self::TensorType { name, takes, given } => (
                format!("`{name}` takes a `{takes}`, but this argument is a `{given}`"),
                format!("pass a tensor of that type, or declare `{name}` as a `{given}`"),
            ),
            Self::NotMut { name } => (
                format!("`{name}` is passed as `&mut {name}`, but its `let` is not `mut`"),
                format!("write `let mut {name} = …`"),
            ),
            Self::WholeTensor { name } => (
                format!("a taskflow takes whole tensors, but this argument for `{name}` is not one"),
                "pass the tensor's name: `x` for a parameter, `&t` or `&mut t` for a `let`".into(),
            ),
        }
    }
}

impl ArgumentForm {
    fn words(&self) -> Sentence {
        let (problem, help) = match self {
            Self::Value => {
                ("an argument is a reference to a tile", "write `&` for what the task reads, `&mut` for what it writes")
            }
            Self::NoRank { tensor } => {
                return (
                    format!("this argument doesn't state which rank's part of `{tensor}` it is"),
                    format!(
                        "write `{tensor}[r]` with the variable of a loop over ranks, or `{tensor}[e.owner()]`, then its rows"
                    ),
                );
            }
            Self::Rank => (
                "the rank in brackets is the variable of a loop over ranks, or the owner of an expert",
                "write `[r]` or `[e.owner()]`",
            ),
            Self::Accessor { form } => {
                return (
                    "accessors take variables of the loops around the call".into(),
                    format!("write `{form}`, with the names of your loop variables"),
                );
            }
            Self::Other => (
                "an argument is a tile of a tensor",
                "write `&tensor[r].group(e, m)`, or `&mut` for what the task writes, with a comma after each argument",
            ),
        };
        (problem.into(), help.into())
    }
}

fn attribute_argument(attribute: &str, argument: Option<&str>, known: &[&str]) -> Sentence {
    let problem = match argument {
        Some(argument) if !known.is_empty() => format!("`#[{attribute}]` has no argument `{argument}`"),
        None if !known.is_empty() => format!("arguments of `#[{attribute}]` have names"),
        _ => format!("`#[{attribute}]` takes no arguments"),
    };
    let nearest = argument.and_then(|argument| crate::names::nearest(argument, known.iter().copied()));
    let help = match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => format!("write `#[{attribute}]`"),
        None => format!("it takes {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    };
    (problem, help)
}

impl NotPlain {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Const => ("is `const`", "remove `const`: operations on tiles are not constants"),
            Self::Async => ("is `async`", "remove `async`: a call runs the function"),
            Self::Unsafe => ("is `unsafe`", "remove `unsafe`: tiles are checked"),
            Self::Abi => ("has an ABI", "remove `extern`"),
            Self::Result => ("has a result", "write results to `&mut` parameters"),
            Self::Lifetime => ("names a lifetime that it doesn't declare", "leave the lifetime out"),
            Self::Default => (
                "has a default for a const parameter",
                "leave the default out: calls write the size, or rustc infers it",
            ),
        }
    }
}

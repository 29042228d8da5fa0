//! Faults of form: Rust code that has no meaning in a kernel.

use super::BodyForm;

/// A part of a kernel module whose form the language doesn't know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SyntaxFault {
    /// `mod name;`: the module's text is in another file.
    ModuleElsewhere { module: String },
    /// A kernel module that uses nothing of the runtime.
    NoPrelude {
        module: String,
        /// The name of the crate `hpmoe-runtime`.
        runtime: String,
    },
    /// A size or a number that is declared as `static`.
    Static { name: String },
    /// A kernel module without a taskflow.
    NoTaskflow { module: String },
    /// A kernel module without a taskflow, and with an unmarked function that takes the ranks, as taskflows do.
    UnmarkedTaskflow { module: String, name: String },
    /// A macro call among the items of the module.
    MacroCall,
    /// `#[cfg]` or `#[cfg_attr]` inside the module.
    Cfg,
    /// `use hpmoe_runtime::tasks::*`.
    LibraryGlob,
    /// An attribute of hpmoe with an argument that it doesn't take.
    AttributeArgument {
        attribute: String,
        /// The argument's name, if it has one.
        argument: Option<String>,
        /// The arguments that the attribute takes.
        known: &'static [&'static str],
    },
    /// A second task or taskflow attribute on a function.
    SecondMarker,
    /// A second constant with the same name.
    SecondConstant { name: String },
    /// A second function with the same name as a task or a taskflow.
    SecondFunction { name: String },
    /// A function that is `const`, `async`, `unsafe` or `extern`, names a lifetime, or has a result.
    NotPlain(NotPlain),
    /// A type of the language that the module has not imported.
    NotImported { name: String, runtime: String },
    /// A type parameter or a lifetime of a task.
    TaskGeneric,
    /// A parameter of a task that is not a tile.
    TaskParameter,
    /// A `let` of a task that doesn't name exactly one value.
    TaskLet,
    /// A loop of a task over anything but a constant range.
    TaskLoop,
    /// `=` or an operator like `+=` in a task.
    TaskAssignment,
    /// `if` or `match` in a task.
    TaskIf,
    /// A call in a task of something other than a function of the module by its name.
    TaskCall,
    /// A macro call in a task.
    TaskMacro,
    /// A generic parameter or argument of a helper function that is not a constant.
    HelperGeneric,
    /// A parameter of a helper function that is neither a value nor a number.
    HelperParameter,
    /// A helper function that doesn't return values and numbers by its last expression.
    HelperResult,
    /// A range of a task that is not `from..to`.
    TaskRange,
    /// An item or a macro call in a task.
    TaskItem,
    /// An operator that values don't have.
    TaskOperator { sign: String },
    /// Any other expression in a task.
    TaskExpression(BodyForm),
    /// Generic parameters of a taskflow.
    FlowGeneric,
    /// A second `Ranks` or `Route` parameter.
    FlowSecondRoute,
    /// A parameter of a taskflow that is not a tensor.
    FlowParameter { text: String },
    /// A taskflow without `Ranks` or a route.
    FlowWithoutRoute,
    /// A route that is made with different arguments than it takes.
    FlowRouteOf { ranks: String },
    /// A route that is made inside of a loop, or next to another one.
    FlowRouteElsewhere,
    /// A statement that needs the route, before the one that makes it.
    FlowRouteLater { ranks: String, route: String },
    /// A `let` of a taskflow that makes no tensor.
    FlowLet {
        ranks: String,
        /// The route as the argument of a constructor: `route`, or `&chunk` inside a loop over chunks.
        route: String,
    },
    /// A constructor of a tensor with different arguments than it takes.
    FlowTensor {
        /// The constructor as it is written.
        form: String,
    },
    /// A type of elements that tiles and tensors don't have.
    ElementType { name: String },
    /// A loop with a pattern instead of a variable.
    LoopPattern,
    /// A range of a taskflow that is not `0..N`.
    FlowRange,
    /// A loop over the route with wrong arguments.
    FlowLoopForm {
        /// The loop's range as written.
        form: String,
    },
    /// A loop of a taskflow over anything that it can't run over.
    FlowLoop { ranks: String, route: String, chunk: bool },
    /// `if` in a taskflow.
    FlowIf,
    /// Any other statement in a taskflow.
    FlowStatement,
    /// A call of something other than a task.
    FlowCall,
    /// An argument of a task call that is not a tile of a tensor.
    FlowArgument(ArgumentForm),
    /// A call of a taskflow.
    Part(PartFault),
}

/// A fault of a taskflow that other taskflows call, or of such a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PartFault {
    /// No taskflow of the module is `pub`.
    NonePublic { name: String },
    /// The taskflow calls itself, directly or through another taskflow.
    Recursive { name: String },
    /// The call is inside of a loop over one of the ranks, experts or rows.
    InLoop { variable: String },
    /// A call with too few or too many arguments.
    Arity { name: String, expected: usize, given: usize },
    /// Something other than the caller's ranks or route.
    Argument { takes: String, what: &'static str },
    /// A part of a tensor, passed to a parameter that takes the whole tensor.
    WholeTensor { name: String },
    /// A tensor by value, or by a reference of a different kind than the call takes.
    TensorForm { given: String, wanted: String },
    /// A tensor of a different type than the parameter.
    TensorType { name: String, takes: String, given: String },
    /// `&mut` of a tensor whose `let` is not `mut`.
    NotMut { name: String },
    /// The taskflow makes its own route.
    MakesRoute { name: String },
    /// A call with too few or too many const arguments.
    ConstArity { name: String, expected: usize, given: usize },
    /// A const argument left to inference although no tensor has its size.
    ConstNotInferred { name: String, parameter: String },
}

/// Why an argument of a task call is not a tile of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ArgumentForm {
    /// A tile without `&` or `&mut`.
    Value,
    /// A tensor without a rank in brackets.
    NoRank { tensor: String },
    /// A rank that is neither a variable nor the owner of an expert.
    Rank,
    /// An accessor with different arguments than it takes; `form` is how it is written.
    Accessor { form: String },
    /// Any other expression.
    Other,
}

/// Why a function is not a plain one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotPlain {
    Const,
    Async,
    Unsafe,
    Abi,
    Result,
    /// A lifetime with a name.
    Lifetime,
    /// A const parameter with a default.
    Default,
}

//! What is not written as the language asks.

/// A part of a kernel module that has another form than the language knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Syntax {
    /// `mod name;`: the module's text is in another file.
    ModuleElsewhere {
        /// Name of the module.
        module: String,
    },
    /// A kernel module without a taskflow.
    NoTaskflow {
        /// Name of the module.
        module: String,
    },
    /// A macro call among the items of the module.
    MacroCall,
    /// `#[cfg]` or `#[cfg_attr]` inside the module.
    Cfg,
    /// `use hpmoe_runtime::tasks::*`.
    LibraryGlob,
    /// An attribute of ours with an argument that it doesn't take.
    AttributeArgument {
        /// Name of the attribute.
        attribute: String,
        /// The argument, where it has a name.
        argument: Option<String>,
        /// The arguments that the attribute takes.
        known: &'static [&'static str],
    },
    /// A second task or taskflow attribute on a function.
    SecondMarker,
    /// A function that is more than its body.
    NotPlain(NotPlain),
    /// A type parameter or a lifetime of a task.
    TaskGeneric,
    /// A parameter of a task that is not a tile.
    TaskParameter,
    /// A `let` of a task that names not exactly one value.
    TaskLet,
    /// A loop of a task over anything but a constant range.
    TaskLoop,
    /// A range of a task that is not `from..to`.
    TaskRange,
    /// An item or a macro call in a task.
    TaskItem,
    /// An operator that values don't have.
    TaskOperator,
    /// Any other expression in a task.
    TaskExpression,
    /// Generic parameters of a taskflow.
    FlowGeneric,
    /// A second `Ranks` or `Route` parameter.
    FlowSecondRoute,
    /// A parameter of a taskflow that is not a tensor.
    FlowParameter,
    /// A taskflow without `Ranks` or `&Route`.
    FlowWithoutRoute,
    /// A `let` of a taskflow that makes no tensor.
    FlowLet {
        /// Name of the ranks.
        ranks: String,
        /// The route as an argument: `route`, or `&chunk`.
        route: String,
    },
    /// A loop of a taskflow with a pattern.
    FlowLoopPattern,
    /// A loop of a taskflow over something else.
    FlowLoop {
        /// Name of the ranks.
        ranks: String,
        /// Name of the route.
        route: String,
    },
    /// `if` in a taskflow.
    FlowIf,
    /// Any other statement in a taskflow.
    FlowStatement,
    /// A call of something other than a task.
    FlowCall,
    /// An argument of a task call that is not a tile of a tensor.
    FlowArgument,
}

/// What makes more of a function than its body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotPlain {
    /// `async`.
    Async,
    /// `unsafe`.
    Unsafe,
    /// `extern`.
    Abi,
    /// A result type.
    Result,
}

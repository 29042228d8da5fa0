//! Finds values whose number of columns rustc can't infer. The use of some operations' results determines their columns. rustc infers these
//! from a store, an assignment, a function's parameter or result, and the left operand of an operator, but from no other use.

use super::kernel::functions_of_tasks;
use crate::finding::{BodyFault, Errors, Finding};
use crate::syntax::ast::Kernel;
use crate::syntax::spelled::unparenthesized;
use hpmoe_kernels::op::OperandKind;
use hpmoe_kernels::ops;
use proc_macro2::Span;
use std::collections::HashMap;
use syn::{
    AngleBracketedGenericArguments, BinOp, Block, Expr, ExprCall, ExprMethodCall, FnArg, GenericArgument, ItemFn,
    ItemMod, Pat, PathArguments, ReturnType, Stmt, Type,
};

/// Operations whose result has columns that rustc infers from its use, unless the call states them.
const INFERRED: [&str; 6] = ["concat", "interleave", "even_columns", "odd_columns", "unpack", "look_up"];

/// The columns of a value: `None` if they are known, else the index of an [`Unknown`].
type Columns = Option<usize>;

/// An unknown number of columns.
#[derive(Clone)]
struct Unknown {
    /// The columns, known or unknown, that these equal; `None` if nothing determines them.
    same: Option<Columns>,
    /// The operation whose result has these columns; `None` for a const parameter of a called function.
    operation: Option<(String, Span)>,
}

/// The names in scope, and all unknowns of a function.
struct Inference<'a> {
    functions: &'a [&'a ItemFn],
    bound: Vec<(String, Columns)>,
    unknowns: Vec<Unknown>,
}

/// Reports operations whose columns rustc can't infer, in a kernel's tasks and the functions that they call. The front end shows these
/// findings only if the kernel has no other fault.
pub(crate) fn columns(module: &ItemMod, kernel: &Kernel, errors: &mut Errors) {
    let functions = functions_of_tasks(module, kernel);
    for function in &functions {
        errors.within(Some(&function.sig.ident.to_string()));
        let mut inference = Inference { functions: &functions, bound: Vec::new(), unknowns: Vec::new() };
        let result = inference.block(&function.block);
        if matches!(function.sig.output, ReturnType::Type(..)) {
            result.into_iter().for_each(|columns| inference.equal(columns, None));
        }
        for (operation, at) in inference.left() {
            errors.push(at, Finding::Body(BodyFault::ColumnsNotInferred { operation }));
        }
    }
    errors.within(None);
}

impl Inference<'_> {
    /// The operations whose columns nothing determines. Of several with equal columns, only the first one is returned.
    fn left(&self) -> Vec<(String, Span)> {
        let open = (0..self.unknowns.len()).filter(|&unknown| self.root(Some(unknown)) == Some(unknown));
        let first = |root: usize| {
            let mut same = (0..self.unknowns.len()).filter(|&unknown| self.root(Some(unknown)) == Some(root));
            same.find_map(|unknown| self.unknowns[unknown].operation.clone())
        };
        open.filter_map(first).collect()
    }

    fn unknown(&mut self, operation: Option<(String, Span)>) -> Columns {
        self.unknowns.push(Unknown { same: None, operation });
        Some(self.unknowns.len() - 1)
    }

    fn root(&self, mut columns: Columns) -> Columns {
        while let Some(same) = columns.and_then(|unknown| self.unknowns[unknown].same) {
            columns = same;
        }
        columns
    }

    fn equal(&mut self, a: Columns, b: Columns) {
        match (self.root(a), self.root(b)) {
            (Some(a), b) if Some(a) != b => self.unknowns[a].same = Some(b),
            (None, Some(b)) => self.unknowns[b].same = Some(None),
            _ => {}
        }
    }

    /// The columns of each value that a block returns.
    fn block(&mut self, block: &Block) -> Vec<Columns> {
        let outside = self.bound.len();
        let mut results = Vec::new();
        for statement in &block.stmts {
            results = self.statement(statement);
        }
        self.bound.truncate(outside);
        results
    }

    fn statement(&mut self, statement: &Stmt) -> Vec<Columns> {
        match statement {
            Stmt::Local(local) => {
                let results = local.init.as_ref().map(|init| self.results(&init.expr)).unwrap_or_default();
                let names = match &local.pat {
                    Pat::Tuple(tuple) => tuple.elems.iter().collect(),
                    one => vec![one],
                };
                for (at, name) in names.into_iter().enumerate() {
                    if let Pat::Ident(name) = name {
                        self.bound.push((name.ident.to_string(), results.get(at).copied().flatten()));
                    }
                }
            }
            Stmt::Expr(Expr::ForLoop(each), _) => {
                self.block(&each.body);
            }
            Stmt::Expr(Expr::Assign(assign), _) => {
                let (to, from) = (self.expr(&assign.left), self.expr(&assign.right));
                self.equal(to, from);
            }
            Stmt::Expr(expr, _) => return self.results(expr),
            Stmt::Item(_) | Stmt::Macro(_) => {}
        }
        Vec::new()
    }

    /// The columns of each value that an expression returns.
    fn results(&mut self, expr: &Expr) -> Vec<Columns> {
        match unparenthesized(expr) {
            Expr::Call(call) => self.call(call),
            Expr::Tuple(tuple) => tuple.elems.iter().map(|element| self.expr(element)).collect(),
            Expr::Block(block) => self.block(&block.block),
            one => vec![self.expr(one)],
        }
    }

    fn expr(&mut self, expr: &Expr) -> Columns {
        match unparenthesized(expr) {
            Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                self.bound.iter().rev().find(|(known, _)| *known == name)?.1
            }
            Expr::Reference(reference) => self.expr(&reference.expr),
            Expr::Unary(unary) => self.expr(&unary.expr),
            Expr::Binary(binary) => {
                let (left, right) = (self.expr(&binary.left), self.expr(&binary.right));
                let number_first = matches!(unparenthesized(&binary.left), Expr::Lit(_));
                let assigns = matches!(
                    binary.op,
                    BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::MulAssign(_) | BinOp::DivAssign(_)
                );
                if number_first && !assigns { right } else { left }
            }
            Expr::MethodCall(call) => self.method(call),
            one @ (Expr::Call(_) | Expr::Block(_)) => self.results(one).first().copied().flatten(),
            _ => None,
        }
    }

    fn method(&mut self, call: &ExprMethodCall) -> Columns {
        let name = call.method.to_string();
        let receiver = self.expr(&call.receiver);
        let arguments: Vec<Columns> = call.args.iter().map(|argument| self.expr(argument)).collect();
        if INFERRED.contains(&name.as_str()) {
            let first = call.turbofish.as_ref().and_then(|sizes| sizes.args.first());
            let open = first.is_none_or(is_inferred);
            return open.then(|| self.unknown(Some((name, call.method.span())))).flatten();
        }
        match name.as_str() {
            "store" | "accumulate" => {
                arguments.into_iter().for_each(|stored| self.equal(stored, None));
                None
            }
            // As many as there are ids.
            "pick" => arguments.first().copied().flatten(),
            _ if of_its_own(&name) => None,
            _ => receiver,
        }
    }

    /// The columns of each result of a called function: known, or those of a const parameter, which arguments may determine.
    fn call(&mut self, call: &ExprCall) -> Vec<Columns> {
        let arguments: Vec<Columns> = call.args.iter().map(|argument| self.expr(argument)).collect();
        let Expr::Path(path) = &*call.func else { return Vec::new() };
        let function = self.functions.iter().find(|function| ends_in(path, function));
        let Some(function) = function.copied() else { return Vec::new() };
        let stated: Vec<&GenericArgument> = match path.path.segments.last().map(|last| &last.arguments) {
            Some(PathArguments::AngleBracketed(AngleBracketedGenericArguments { args, .. })) => args.iter().collect(),
            _ => Vec::new(),
        };
        let mut sizes: HashMap<String, Columns> = HashMap::new();
        for (at, parameter) in function.sig.generics.const_params().enumerate() {
            let open = stated.get(at).is_none_or(|size| is_inferred(size));
            sizes.insert(parameter.ident.to_string(), open.then(|| self.unknown(None)).flatten());
        }
        for (input, given) in function.sig.inputs.iter().zip(arguments) {
            if let FnArg::Typed(typed) = input {
                self.equal(given, columns_of(&typed.ty, &sizes));
            }
        }
        match &function.sig.output {
            ReturnType::Default => Vec::new(),
            ReturnType::Type(_, ty) => match &**ty {
                Type::Tuple(tuple) => tuple.elems.iter().map(|ty| columns_of(ty, &sizes)).collect(),
                one => vec![columns_of(one, &sizes)],
            },
        }
    }
}

/// Whether a path is the name of a function, with or without const arguments.
fn ends_in(path: &syn::ExprPath, function: &ItemFn) -> bool {
    path.path.segments.len() == 1 && path.path.segments[0].ident == function.sig.ident
}

fn is_inferred(size: &GenericArgument) -> bool {
    matches!(size, GenericArgument::Type(Type::Infer(_)))
}

/// The columns that a type in a function's signature states; `sizes` gives the function's const parameters.
fn columns_of(ty: &Type, sizes: &HashMap<String, Columns>) -> Columns {
    let Type::Path(path) = (match ty {
        Type::Reference(reference) => &*reference.elem,
        ty => ty,
    }) else {
        return None;
    };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    let name = match arguments.args.last()? {
        GenericArgument::Type(Type::Path(name)) => name.path.get_ident()?,
        _ => return None,
    };
    sizes.get(&name.to_string()).copied().flatten()
}

/// Whether the columns of an operation's result don't depend on those of its first operand.
fn of_its_own(operation: &str) -> bool {
    let reduces = operation.starts_with("row_") || operation == "arg_max";
    // The size of `fold_rows` is one of rows.
    reduces
        || operation != "fold_rows"
            && ops::named(operation).any(|operation| operation.operands.contains(&OperandKind::Size))
}

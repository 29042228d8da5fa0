//! The mutants of a file.

use crate::attributes::is_for_tests;
use crate::mutant::{Change, Mutant, one_line};
use crate::rules::{NEIGHBOURS, QUESTIONS, TWINS, is_plain, other_operator, twin, values};
use proc_macro2::Span;
use std::ops::Range;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, Item, Lit, Member, ReturnType, Stmt, Token, Type, UnOp};

/// All mutants of a file, in the order of their places, outer ones first.
///
/// # Errors
///
/// When the file is not Rust.
pub(crate) fn mutants(path: &str, source: &str) -> syn::Result<Vec<Mutant>> {
    let file = syn::parse_file(source)?;
    let mut finder = Finder { path, source, function: Vec::new(), found: Vec::new() };
    finder.visit_file(&file);
    let mut found = finder.found;
    found.sort_by_key(|mutant| (mutant.range.start, usize::MAX - mutant.range.end));
    for index in 0..found.len() {
        found[index].number = found[..index].iter().filter(|before| before.equals(&found[index])).count();
    }
    Ok(found)
}

struct Finder<'a> {
    path: &'a str,
    source: &'a str,
    /// The names of the items that are being read, outermost first.
    function: Vec<String>,
    found: Vec<Mutant>,
}

impl Finder<'_> {
    fn text(&self, span: Span) -> &str {
        &self.source[span.byte_range()]
    }

    fn add(&mut self, range: Range<usize>, change: Change) {
        let text = one_line(&self.source[range.clone()]);
        // A comment would take the rest of its line with it.
        if matches!(&change, Change::Instead(becomes) if becomes.contains("//")) || text.contains("//") {
            return;
        }
        let function = self.function.join("::");
        self.found.push(Mutant { path: self.path.to_owned(), function, range, text, change, number: 0 });
    }

    /// The text of a place in which a part is exchanged.
    fn exchange(&mut self, whole: Span, part: Span, becomes: &str) {
        let (whole, part) = (whole.byte_range(), part.byte_range());
        let text = format!("{}{becomes}{}", &self.source[whole.start..part.start], &self.source[part.end..whole.end]);
        self.add(whole, Change::Instead(text));
    }

    fn condition(&mut self, condition: &Expr) {
        if !has_let(condition) {
            self.add(condition.span().byte_range(), Change::True);
            self.add(condition.span().byte_range(), Change::False);
        }
    }

    fn body(&mut self, name: &str, output: &ReturnType, block: &Block) {
        let at = block.brace_token.span.open().byte_range().end;
        for value in values(output) {
            self.function.push(name.to_owned());
            self.add(at..at, Change::Returns(value));
            self.function.pop();
        }
    }

    fn inside<T>(&mut self, name: String, visit: impl FnOnce(&mut Self) -> T) -> T {
        self.function.push(name);
        let result = visit(self);
        self.function.pop();
        result
    }
}

/// Whether a condition has a pattern, which can't be put into an expression.
fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

fn is_unit_call(expression: &Expr) -> bool {
    matches!(expression, Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) | Expr::Binary(_))
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Const(_) | Item::Static(_) | Item::Macro(_) | Item::Enum(_) | Item::Struct(_) | Item::Type(_) => {}
            Item::Mod(module) if is_for_tests(&module.attrs) => {}
            Item::Mod(module) => self.inside(module.ident.to_string(), |finder| visit::visit_item_mod(finder, module)),
            Item::Impl(block) if is_for_tests(&block.attrs) || says_words(block) => {}
            Item::Impl(block) => {
                let name = one_line(self.text(block.self_ty.span()));
                let name = name.split('<').next().unwrap_or_default().to_owned();
                self.inside(name, |finder| visit::visit_item_impl(finder, block));
            }
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if function.sig.constness.is_some() || is_for_tests(&function.attrs) {
            return;
        }
        let name = function.sig.ident.to_string();
        self.body(&name, &function.sig.output, &function.block);
        self.inside(name, |finder| finder.visit_block(&function.block));
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if function.sig.constness.is_some() || is_for_tests(&function.attrs) {
            return;
        }
        let name = function.sig.ident.to_string();
        self.body(&name, &function.sig.output, &function.block);
        self.inside(name, |finder| finder.visit_block(&function.block));
    }

    fn visit_pat(&mut self, pattern: &'ast syn::Pat) {
        if let syn::Pat::Guard(guarded) = pattern {
            self.condition(&guarded.guard);
            self.visit_expr(&guarded.guard);
        }
    }

    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if matches!(statement, Stmt::Expr(expression, Some(_)) if is_unit_call(expression)) {
            self.add(statement.span().byte_range(), Change::LeftOut);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_if(&mut self, branch: &'ast syn::ExprIf) {
        self.condition(&branch.cond);
        visit::visit_expr_if(self, branch);
    }

    fn visit_expr_while(&mut self, repeat: &'ast syn::ExprWhile) {
        if !has_let(&repeat.cond) {
            self.add(repeat.cond.span().byte_range(), Change::False);
        }
        visit::visit_expr_while(self, repeat);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        match binary.op {
            BinOp::And(_) | BinOp::Or(_) => {
                let neutral = if matches!(binary.op, BinOp::And(_)) { Change::True } else { Change::False };
                for side in [&binary.left, &binary.right] {
                    let is_chain = matches!(&**side, Expr::Binary(inner) if inner.op == binary.op);
                    if !is_chain && !has_let(side) {
                        self.add(side.span().byte_range(), neutral.clone());
                    }
                }
            }
            operator => {
                if let Some(other) = other_operator(operator) {
                    self.exchange(binary.span(), operator.span(), other);
                }
            }
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_lit(&mut self, literal: &'ast syn::ExprLit) {
        let Lit::Int(number) = &literal.lit else {
            return;
        };
        let Ok(value) = number.base10_parse::<u64>() else {
            return;
        };
        let range = literal.span().byte_range();
        self.add(range.clone(), Change::Instead(format!("{}{}", value + 1, number.suffix())));
        if value > 0 {
            self.add(range, Change::Instead(format!("{}{}", value - 1, number.suffix())));
        }
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if matches!(unary.op, UnOp::Not(_)) {
            self.exchange(unary.span(), unary.op.span(), "");
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_range(&mut self, range: &'ast syn::ExprRange) {
        for end in [&range.start, &range.end].into_iter().flatten() {
            if !matches!(**end, Expr::Lit(_)) {
                let text = format!("({}) + 1", one_line(self.text(end.span())));
                self.add(end.span().byte_range(), Change::Instead(text));
            }
        }
        visit::visit_expr_range(self, range);
    }

    fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
        let name = match &field.member {
            Member::Named(name) => name.to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        };
        if let Some(other) = twin(&NEIGHBOURS, &name).filter(|_| is_plain(&field.base)) {
            self.exchange(field.span(), field.member.span(), other);
        }
        visit::visit_expr_field(self, field);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        self.swap(call.span(), &call.args);
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        if let Some(other) = twin(&TWINS, &name) {
            self.exchange(call.span(), call.method.span(), other);
        }
        if name == "is_empty" {
            let text = format!("!{}", one_line(self.text(call.span())));
            self.add(call.span().byte_range(), Change::Instead(text));
        }
        match call.args.last() {
            Some(Expr::Closure(closure))
                if QUESTIONS.contains(&name.as_str()) && !matches!(&*closure.body, Expr::Block(_)) =>
            {
                self.condition(&closure.body);
            }
            _ => {}
        }
        self.swap(call.span(), &call.args);
        visit::visit_expr_method_call(self, call);
    }
}

impl Finder<'_> {
    /// Neighbours among the arguments of a call, exchanged.
    fn swap(&mut self, call: Span, arguments: &Punctuated<Expr, Token![,]>) {
        for (a, b) in arguments.iter().zip(arguments.iter().skip(1)) {
            if is_plain(a) && is_plain(b) {
                let (first, second) = (a.span().byte_range(), b.span().byte_range());
                let whole = call.byte_range();
                let text = format!(
                    "{}{}{}{}{}",
                    &self.source[whole.start..first.start],
                    &self.source[second.clone()],
                    &self.source[first.end..second.start],
                    &self.source[first],
                    &self.source[second.end..whole.end]
                );
                self.add(whole, Change::Instead(text));
            }
        }
    }
}

/// Whether an implementation only makes text: `Display` or `Debug`.
fn says_words(block: &syn::ItemImpl) -> bool {
    let last = block.trait_.as_ref().and_then(|(path, _)| path.segments.last());
    last.is_some_and(|segment| segment.ident == "Display" || segment.ident == "Debug")
}

#[cfg(test)]
mod tests;

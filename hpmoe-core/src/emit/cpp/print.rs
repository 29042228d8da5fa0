//! The printer: indentation by four spaces, lines of at most 120 columns. Arguments that don't fit on the line are put below each other.

use super::expr::Expr;
use super::item::{Function, Item};
use super::stmt::{Case, Stmt};
use std::fmt::Write as _;

const WIDTH: usize = 120;
const STEP: usize = 4;

/// Items as text.
pub(in crate::emit) fn print(items: &[Item]) -> String {
    let mut printer = Printer { text: String::new(), indent: 0 };
    printer.items(items);
    printer.text
}

struct Printer {
    text: String,
    indent: usize,
}

impl Printer {
    fn line(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(&" ".repeat(self.indent));
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn comment(&mut self, text: &str) {
        for paragraph in text.lines() {
            for line in wrapped(paragraph, WIDTH - self.indent - "// ".len()) {
                self.line(format!("// {line}").trim_end());
            }
        }
    }

    fn inside(&mut self, print: impl FnOnce(&mut Self)) {
        self.indent += STEP;
        print(self);
        self.indent -= STEP;
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            self.item(item);
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Comment(text) => self.comment(text),
            Item::Blank => self.line(""),
            Item::Include(path) => self.line(&format!("#include \"{path}\"")),
            Item::Using(namespace) => self.line(&format!("using namespace {namespace};")),
            Item::Namespace(name, items) => {
                let space = if name.is_empty() { "" } else { " " };
                self.line(&format!("namespace{space}{name} {{"));
                self.items(items);
                self.line(&format!("}} // namespace{space}{name}"));
            }
            Item::Constant { ty, name, value, comment } => {
                let comment = if comment.is_empty() { String::new() } else { format!(" // {comment}") };
                self.statement(&format!("constexpr {ty} {name} = "), value, &format!(";{comment}"));
            }
            Item::Enum(names) => {
                self.line("enum : uint32_t {");
                self.inside(|printer| names.iter().for_each(|name| printer.line(&format!("{name},"))));
                self.line("};");
            }
            Item::Struct(name, items) => {
                self.line(&format!("struct {name} {{"));
                self.inside(|printer| printer.items(items));
                self.line("};");
            }
            Item::Function(function) => self.function(function),
        }
    }

    fn function(&mut self, function: &Function) {
        let params: Vec<String> = function.params.iter().map(|(ty, name)| declared(ty, name)).collect();
        let head = format!("{} {}(", function.head, function.name);
        let one_line = format!("{head}{}) {{", params.join(", "));
        if self.indent + one_line.len() <= WIDTH {
            self.line(&one_line);
        } else {
            self.line(&head);
            self.inside(|printer| {
                for (index, param) in params.iter().enumerate() {
                    let end = if index + 1 < params.len() { "," } else { ") {" };
                    printer.line(&format!("{param}{end}"));
                }
            });
        }
        self.inside(|printer| printer.statements(&function.body));
        self.line("}");
    }

    fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.stmt(statement);
        }
    }

    fn stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Comment(text) => self.comment(text),
            Stmt::Let { constexpr, ty, name, value } => {
                let keyword = if *constexpr { "constexpr" } else { "const" };
                self.statement(&format!("{keyword} {ty} {name} = "), value, ";");
            }
            Stmt::Expr(value) => self.statement("", value, ";"),
            Stmt::Return(value) => self.statement("return ", value, ";"),
            Stmt::If(condition, body) => {
                self.statement("if (", condition, ") {");
                self.inside(|printer| printer.statements(body));
                self.line("}");
            }
            Stmt::IfMacro(condition, body) => {
                self.line(&format!("if {condition} {{"));
                self.inside(|printer| printer.statements(body));
                self.line("}");
            }
            Stmt::For { counter, compare, bound, body } => {
                let start = flat(&Stmt::start());
                self.line(&format!(
                    "for (uint32_t {counter} = {start}; {counter} {compare} {}; ++{counter}) {{",
                    flat(bound)
                ));
                self.inside(|printer| printer.statements(body));
                self.line("}");
            }
            Stmt::Switch(value, cases) => {
                self.line(&format!("switch ({}) {{", flat(value)));
                for case in cases {
                    self.case(case);
                }
                self.line("}");
            }
        }
    }

    fn case(&mut self, case: &Case) {
        for comment in &case.comments {
            self.comment(comment);
        }
        self.line(&format!("case {}: {{", case.value));
        self.inside(|printer| printer.statements(&case.body));
        self.line("}");
    }

    /// `before expression after`. If the line is too long, the arguments of the outermost call are put below each other.
    fn statement(&mut self, before: &str, value: &Expr, after: &str) {
        let one_line = format!("{before}{}{after}", flat(value));
        if self.indent + one_line.len() <= WIDTH {
            self.line(&one_line);
            return;
        }
        match value {
            Expr::Call(callee, arguments) if !arguments.is_empty() => {
                self.arguments(&format!("{before}{}(", flat(callee)), arguments, &format!("){after}"));
            }
            Expr::Braces(ty, values) if !values.is_empty() => {
                self.arguments(&format!("{before}{ty}{{"), values, &format!("}}{after}"));
            }
            Expr::Not(operand) => self.statement(&format!("{before}!"), operand, after),
            _ => self.line(&one_line),
        }
    }

    fn arguments(&mut self, before: &str, arguments: &[Expr], after: &str) {
        self.line(before);
        self.inside(|printer| {
            for (index, argument) in arguments.iter().enumerate() {
                let end = if index + 1 < arguments.len() { "," } else { after };
                printer.statement("", argument, end);
            }
        });
    }
}

/// `type name`, references bound to the name.
fn declared(ty: &str, name: &str) -> String {
    let space = if ty.ends_with('&') || name.is_empty() { "" } else { " " };
    format!("{ty}{space}{name}")
}

/// An expression on one line.
fn flat(value: &Expr) -> String {
    match value {
        Expr::Name(name) => name.clone(),
        Expr::Int(value) => value.to_string(),
        Expr::Float(value) => format!("{value:?}f"),
        Expr::Call(callee, arguments) => format!("{}({})", flat(callee), list(arguments)),
        Expr::Member(object, member) => format!("{}.{member}", flat(object)),
        Expr::Index(array, index) => format!("{}[{}]", flat(array), flat(index)),
        Expr::Not(operand) => format!("!{}", grouped(operand, value.precedence())),
        Expr::Braces(ty, values) => format!("{ty}{{{}}}", list(values)),
        Expr::Binary(left, operator, right) => {
            let own = value.precedence();
            format!("{} {operator} {}", grouped(left, own), grouped(right, own + 1))
        }
    }
}

fn grouped(value: &Expr, needed: u8) -> String {
    if value.precedence() < needed { format!("({})", flat(value)) } else { flat(value) }
}

fn list(values: &[Expr]) -> String {
    let mut text = String::new();
    for (index, value) in values.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}{}", flat(value));
    }
    text
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::{float, int, name};
    use super::*;

    #[test]
    fn operators_keep_their_order() {
        let sum = name("a") + name("b");
        assert_eq!(flat(&(sum.clone() * name("c"))), "(a + b) * c");
        assert_eq!(flat(&(name("a") - (name("b") - name("c")))), "a - (b - c)");
        assert_eq!(flat(&(name("a") / int(4u64) * int(2u64))), "a / 4 * 2");
        assert_eq!(flat(&sum.binary("<", int(3u64)).negated()), "!(a + b < 3)");
        assert_eq!(flat(&float(-1.0)), "-1.0f");
    }

    #[test]
    fn what_does_not_matter_is_left_out() {
        assert_eq!(flat(&(name("n") * int(1u64) + int(0u64))), "n");
        assert_eq!(flat(&(name("n") * int(0u64) + name("m"))), "m");
    }

    #[test]
    fn long_calls_are_broken_at_their_arguments() {
        let long = name("x".repeat(70));
        let call = Stmt::If(name("f").call(vec![long.clone(), long.clone()]).negated(), vec![Stmt::Return(int(0u64))]);
        let function = Function { head: "void".into(), name: "g".into(), params: Vec::new(), body: vec![call] };
        let text = print(&[Item::Function(function)]);
        let x = "x".repeat(70);
        assert_eq!(
            text,
            format!("void g() {{\n    if (!f(\n        {x},\n        {x})) {{\n        return 0;\n    }}\n}}\n")
        );
    }

    #[test]
    fn comments_are_wrapped() {
        let text = print(&[Item::Comment("word ".repeat(40).trim_end().to_owned())]);
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().all(|line| line.starts_with("// word") && line.len() <= WIDTH));
    }
}

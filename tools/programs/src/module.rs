//! The text of a program's module, and of its test.

use crate::layer::{Generics, Layer};
use crate::tensor::{Origin, Rows, Tensor, WeightsKind};
use std::fmt::Write as _;

/// The parameters of the taskflow that follow ranks and route: name, type, and whether the taskflow writes it.
fn parameters(layer: &Layer) -> Vec<(&str, String, bool)> {
    let tensors = layer.tensors.iter().filter_map(|tensor| match tensor.origin {
        Origin::Made { .. } => None,
        Origin::Given => Some((tensor.name.as_str(), tensor.parameter(), false)),
        Origin::Returned { .. } => Some((tensor.name.as_str(), tensor.parameter(), true)),
    });
    let weights = layer.weights.iter();
    tensors.chain(weights.map(|it| (it.name.as_str(), it.parameter(), it.kind == WeightsKind::Gradient))).collect()
}

fn declared(name: &str, parameter: &str, written: bool) -> String {
    format!("        {name}: &{}{parameter},\n", if written { "mut " } else { "" })
}

/// Functions that bodies call: the beginning of a call, and the text of the function.
const HELPERS: [(&str, &str); 2] = [
    (
        "bend(",
        "    fn bend<const R: usize, const C: usize>(x: &Value<R, C>, height: f32) -> Value<R, C> {\n        \
         (x / height).tanh() * height\n    }\n\n",
    ),
    (
        "parted::",
        "    fn parted<const R: usize, const C: usize>(x: &Value<R, C>) -> (Value<R, C>, Value<R, C>) {\n        \
         (x.relu(), x.at_most(0.0))\n    }\n\n",
    ),
];

/// A Rust source file with the module.
pub(crate) fn source(layer: &Layer, name: &str) -> String {
    let tokens = first_tokens(layer);
    let (route, what) = match (layer.chunks, layer.makes_route) {
        (Some(_), _) => ("c", "&c"),
        (None, true) => ("route", "&route"),
        (None, false) => ("route", "route"),
    };
    let mut body = String::new();
    let is_early = |tensor: &Tensor| {
        layer.early.iter().any(|nest| nest.text(route, tokens, "").contains(&format!("{}[", tensor.name)))
    };
    let of_part = layer.part.clone().map(|part| Part::new(layer, part));
    let make = |tensor: &Tensor, what: &str| match tensor.origin {
        Origin::Made { by_peers } => {
            let mutable = of_part.as_ref().is_some_and(|part| part.writes(tensor));
            let made = tensor.constructor(by_peers, what);
            format!("        let {}{} = {made};\n", if mutable { "mut " } else { "" }, tensor.name)
        }
        _ => String::new(),
    };
    if layer.makes_route {
        layer.tensors.iter().filter(|tensor| is_early(tensor)).for_each(|tensor| body += &make(tensor, tokens));
        layer.early.iter().for_each(|nest| body += &nest.text(route, tokens, "        "));
        let _ = writeln!(body, "        let route = Route::of::<EXPERTS>(ep, ids);");
    }
    if let Some(chunks) = layer.chunks {
        let _ = writeln!(body, "        for c in route.chunks::<{chunks}>() {{");
    }
    layer.tensors.iter().filter(|tensor| !is_early(tensor)).for_each(|tensor| body += &make(tensor, what));
    let part = layer.part.clone().unwrap_or(0..0);
    for (number, nest) in layer.nests.iter().enumerate() {
        if let Some(part) = of_part.as_ref().filter(|_| number == part.start) {
            body += &part.call(what);
        }
        if !part.contains(&number) {
            body += &nest.text(route, tokens, "        ");
        }
    }
    if layer.chunks.is_some() {
        body += "        }\n";
    }
    let given = if layer.makes_route { "ids: &PerRank<Tensor<i32, TOP_K>>" } else { "route: &Route" };
    let list: String =
        parameters(layer).into_iter().map(|(name, parameter, written)| declared(name, &parameter, written)).collect();
    let (experts, top_k, most, tasks) = (layer.experts, layer.top_k, layer.tokens, &layer.tasks);
    let helpers: String = HELPERS.iter().filter(|(name, _)| tasks.contains(name)).map(|(_, text)| *text).collect();
    let part = of_part.map_or_else(String::new, |part| part.text);
    format!(
        "#[megakernel]\npub mod {name} {{\n    use hpmoe_runtime::prelude::*;\n\n    pub const EXPERTS: usize = {experts};\n    \
         pub const TOP_K: usize = {top_k};\n    pub const TOKENS: usize = {most};\n\n{helpers}{tasks}{part}    #[taskflow]\n    \
         pub fn forward(\n        ep: Ranks,\n        {given},\n{list}    ) {{\n{body}    }}\n}}\n"
    )
}

fn first_tokens(layer: &Layer) -> &str {
    layer.tensors.iter().find(|tensor| tensor.rows == Rows::Tokens).map_or("", |tensor| &tensor.name)
}

/// The number of iterations of the first loop over a range.
fn first_count(body: &str) -> Option<String> {
    let (_, rest) = body.split_once(" in 0..")?;
    rest.split_once(" {").map(|(count, _)| count.to_owned())
}

/// Returns whether a body accesses a tensor, and only by column tiles. A task whose tiles have all columns can't take a tensor of any
/// width.
fn is_cut(body: &str, tensor: &str) -> bool {
    let arguments = body.split('&').map(|text| text.trim_start_matches("mut "));
    let mut accesses = arguments.filter(|text| text.starts_with(&format!("{tensor}["))).peekable();
    accesses.peek().is_some() && accesses.all(|text| text.contains(".cols("))
}

/// Some of the statements, which become a separate taskflow.
struct Part<'a> {
    layer: &'a Layer,
    text: String,
    /// The arguments of its call: name, and whether the taskflow writes it.
    takes: Vec<(&'a str, bool)>,
    /// The arguments for its const parameters, including the angle brackets.
    constants: String,
}

impl<'a> Part<'a> {
    fn new(layer: &'a Layer, nests: std::ops::Range<usize>) -> Self {
        let mut body: String =
            layer.nests[nests].iter().map(|nest| nest.text("route", first_tokens(layer), "        ")).collect();
        let mut constants: Vec<(String, String)> = Vec::new();
        if let Some(count) = first_count(&body).filter(|_| layer.generics != Generics::None) {
            body = body.replacen(&format!(" in 0..{count} {{"), " in 0..COUNT {", 1);
            constants.push(("COUNT".to_owned(), count));
        }
        let mut list = String::new();
        let mut takes = Vec::new();
        let mut width = |tensor: &'a Tensor| {
            let parameter = tensor.parameter();
            if layer.generics == Generics::None || !is_cut(&body, &tensor.name) {
                return (tensor.name.as_str(), parameter);
            }
            let (name, columns) = (format!("{}_WIDTH", tensor.name.to_uppercase()), tensor.columns.to_string());
            let generic = parameter.replace(&format!(", {columns}>>"), &format!(", {name}>>"));
            constants.push((name, if layer.generics == Generics::Written { columns } else { "_".to_owned() }));
            (tensor.name.as_str(), generic)
        };
        let tensors: Vec<_> = layer.tensors.iter().map(&mut width).collect();
        for (name, parameter) in
            tensors.into_iter().chain(layer.weights.iter().map(|it| (it.name.as_str(), it.parameter())))
        {
            let (reads, writes) = (body.contains(&format!("&{name}[")), body.contains(&format!("&mut {name}[")));
            if reads || writes {
                list += &declared(name, &parameter, writes);
                takes.push((name, writes));
            }
        }
        let both = |part: fn(&(String, String)) -> String, colons: &str| match constants.as_slice() {
            [] => String::new(),
            all => format!("{colons}<{}>", all.iter().map(part).collect::<Vec<_>>().join(", ")),
        };
        let declared = both(|(name, _)| format!("const {name}: usize"), "");
        let text = format!(
            "    #[taskflow]\n    fn part{declared}(\n        ep: Ranks,\n        route: &Route,\n{list}    ) {{\n{body}    }}\n\n"
        );
        Self { layer, text, takes, constants: both(|(_, value)| value.clone(), "::") }
    }

    fn writes(&self, tensor: &Tensor) -> bool {
        self.takes.contains(&(tensor.name.as_str(), true))
    }

    fn call(&self, route: &str) -> String {
        let is_made = |name: &str| {
            let mut tensors = self.layer.tensors.iter();
            tensors.any(|tensor| tensor.name == name && matches!(tensor.origin, Origin::Made { .. }))
        };
        let argument = |&(name, writes): &(&str, bool)| match (is_made(name), writes) {
            (true, true) => format!("&mut {name}"),
            (true, false) => format!("&{name}"),
            (false, _) => name.to_owned(),
        };
        let arguments: Vec<String> = self.takes.iter().map(argument).collect();
        format!("        part{}(ep, {route}, {});\n", self.constants, arguments.join(", "))
    }
}

/// The text of a function that runs the taskflow as Rust and as a kernel, for a module called `name`.
pub(crate) fn check(layer: &Layer, name: &str) -> String {
    let mut given = String::new();
    let (mut outputs, mut written) = (String::new(), 0);
    let mut arguments = String::new();
    let mut output = |made: String, arguments: &mut String| {
        let _ = writeln!(outputs, "            {made},");
        let _ = write!(arguments, ", &mut OUT.{written}");
        written += 1;
    };
    for tensor in &layer.tensors {
        let (name, element, columns) = (&tensor.name, tensor.element.name(), tensor.columns);
        match (tensor.origin, tensor.rows) {
            (Origin::Made { .. }, _) => {}
            (Origin::Given, Rows::Slots) => {
                let _ = writeln!(given, "        let {name} = slots::<{element}, {columns}>(case, &route);");
                let _ = write!(arguments, ", &{name}");
            }
            (Origin::Given, _) => {
                let seed = name.trim_start_matches('t');
                let _ = writeln!(given, "        let {name} = tokens::<{element}, {columns}>(case, {seed});");
                let _ = write!(arguments, ", &{name}");
            }
            (Origin::Returned { .. }, Rows::Tokens) => {
                output(format!("case.zeros::<{element}, {columns}>()"), &mut arguments);
            }
            (Origin::Returned { by_peers }, _) => output(tensor.constructor(by_peers, "&route"), &mut arguments),
        }
    }
    for (number, weights) in layer.weights.iter().enumerate() {
        let (name, element, rows, columns) = (&weights.name, weights.element.name(), weights.rows, weights.columns);
        let size = format!("{element}, {rows}, {columns}");
        match weights.kind {
            WeightsKind::Gradient => {
                output(format!("experts::<{size}>(case, {}, {number})", layer.experts), &mut arguments)
            }
            kind => {
                let made = match kind {
                    WeightsKind::Matrix => format!("matrix::<{size}>(case, {number})"),
                    _ => format!("experts::<{size}>(case, {}, {number})", layer.experts),
                };
                let _ = writeln!(given, "        let {name} = {made};");
                let _ = write!(arguments, ", &{name}");
            }
        }
    }
    let route = if layer.makes_route { "&ids" } else { "&route" };
    let calls = |out: &str| arguments.replace("OUT", out);
    let equal: String = (0..written)
        .map(|number| format!("        check_bits!(case, ep, expected.{number}, found.{number});\n"))
        .collect();
    let (expected, found) = (calls("expected"), calls("found"));
    let needs_route = route == "&route" || [&given, &outputs].iter().any(|text| text.contains("&route"));
    let made = if needs_route { "        let route = Route::new(ep, EXPERTS, &ids).unwrap();\n" } else { "" };
    format!(
        "pub mod check_{name} {{
    use super::*;
    use super::{name}::{{EXPERTS, TOKENS, TOP_K, forward}};

    pub fn cases() -> impl Strategy<Value = Case> {{
        crate::random::cases(EXPERTS, TOKENS)
    }}

    pub fn check(case: &Case) -> Result<(), TestCaseError> {{
        let ep = case.ep();
        let ids = ids::<TOP_K>(case, EXPERTS);
{made}{given}        let outputs = || (
{outputs}        );
        let (mut expected, mut found) = (outputs(), outputs());
        // The group launches twice, and what is added is added twice.
        for _launch in 0..2 {{
            forward(ep, {route}{expected});
        }}
        let report = forward::launch(&case.group(), {route}{found});
        report.map_err(|error| TestCaseError::fail(format!(\"{{case:?}}: {{error}}\")))?;
{equal}        Ok(())
    }}
}}
"
    )
}

//! The build script's results for the macro: a file of Rust tokens for each module.
//!
//! ```text
//! constant HIDDEN: usize = 128;      // what the kernels were built with, to be asserted
//! set LIMIT: f32 = 8.0;              // likewise, but the build set the value: it replaces the one in the module
//! runs dispatch;                     // a function that a kernel runs
//! library 57 57 { pub fn dispatch … } // a function of the library, and the place that names it
//! taskflow forward hpmoe1_crate_layer_forward_0a layer_forward_0a device;
//! ```
//!
//! If the module has faults, the file contains these lines instead:
//!
//! ```text
//! faulty project;                    // a function whose body is replaced
//! fault 88 95 "message";             // from a token to another one, or `88 close` for the end of a group
//! ```

use crate::fingerprint::of_module;
use crate::tokens::SourceRange;
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Ident, ItemFn, ItemMod, LitInt, LitStr, Token, Type, braced};

/// The folder below `OUT_DIR` that holds everything that the build script writes.
pub const FOLDER: &str = "hpmoe";

/// The environment variable that a build script sets for rustc at the end of a run that builds kernels, even if some kernels have faults.
/// Unlike files below `OUT_DIR`, it can't be left from an earlier run.
pub const BUILT: &str = "HPMOE_BUILT";

/// The path of a taskflow's file below `OUT_DIR`, with a leading slash. `stem` is [`BuiltTaskflow::stem`]; `ending` has no leading dot.
#[must_use]
pub fn below_out_dir(stem: &str, ending: &str) -> String {
    format!("/{FOLDER}/{stem}.{ending}")
}

/// The name of the file below [`FOLDER`] that holds a module's [`Expansion`].
#[must_use]
pub fn file(module: &ItemMod) -> String {
    format!("{}_{}.expansion", module.ident, of_module(module).hex())
}

/// The name of the file below [`FOLDER`] that names the source file from which a module of this name was built last.
#[must_use]
pub fn latest_file(module: &ItemMod) -> String {
    format!("{}.built", module.ident)
}

/// The build script's result for one module, as input of the macro.
#[derive(Clone, Default)]
pub struct Expansion {
    /// The constants that the module's kernels were built with.
    pub constants: Vec<BuiltConstant>,
    /// The names of the functions that the module's kernels run: taskflows and tasks.
    pub runs: Vec<String>,
    /// The library functions that the module uses.
    pub library: Vec<LibraryTask>,
    /// The taskflows that were compiled.
    pub taskflows: Vec<BuiltTaskflow>,
    /// The names of functions that contain faults. The macro replaces their bodies, so that rustc doesn't report the same faults.
    pub faulty: Vec<String>,
    /// The faults of the module. If there are any, the other fields except `faulty` are ignored.
    pub faults: Vec<PlacedFault>,
}

/// A constant that kernels were built with.
#[derive(Clone)]
pub struct BuiltConstant {
    /// The constant's name in the module.
    pub name: String,
    /// The constant's type, `usize` or `f32`.
    pub ty: Type,
    /// The constant's value as the front end computed it.
    pub value: Expr,
    /// Whether the build set the value, rather than the source.
    pub set: bool,
}

/// A function of the library, under the name that a module gives it: a task, a taskflow or a helper function.
#[derive(Clone)]
pub struct LibraryTask {
    /// The place in the module that names the function, or the library function that calls it.
    pub at: SourceRange,
    /// The source of the function, with the name that the module gives it.
    pub function: ItemFn,
}

/// A taskflow that was compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuiltTaskflow {
    /// The name of the taskflow's function.
    pub name: String,
    /// The symbol of the taskflow's kernel, which is also the name of the static library that contains the kernel.
    pub symbol: String,
    /// The stem of the names of the taskflow's files below [`FOLDER`].
    pub stem: String,
    /// Whether the build also made a device object of the kernel.
    pub for_device: bool,
    /// Whether the crate has a C interface, through which the taskflow can be called as the kernel's reference.
    pub exported: bool,
}

/// A fault at a place of the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedFault {
    /// The tokens that the message points at.
    pub at: SourceRange,
    /// The message: the fault with a way out, or a sentence about another place of a fault.
    pub text: String,
}

impl Expansion {
    /// The text of the file that the macro reads.
    #[must_use]
    pub fn write(&self) -> String {
        let constants = self.constants.iter().map(|BuiltConstant { name, ty, value, set }| {
            let (kind, name) = (if *set { quote!(set) } else { quote!(constant) }, token(name));
            quote!(#kind #name: #ty = #value;)
        });
        let runs = self.runs.iter().map(|name| token(name)).map(|name| quote!(runs #name;));
        let library = self.library.iter().map(|LibraryTask { at, function }| {
            let at = written(*at);
            quote!(library #at { #function })
        });
        let taskflows = self.taskflows.iter().map(|BuiltTaskflow { name, symbol, stem, for_device, exported }| {
            let [name, symbol, stem] = [name, symbol, stem].map(|name| token(name));
            let device = for_device.then(|| quote!(device));
            let exported = exported.then(|| quote!(exported));
            quote!(taskflow #name #symbol #stem #device #exported;)
        });
        let faulty = self.faulty.iter().map(|name| token(name)).map(|name| quote!(faulty #name;));
        let faults = self.faults.iter().map(|PlacedFault { at, text }| {
            let at = written(*at);
            quote!(fault #at #text;)
        });
        let lines = constants.chain(runs).chain(library).chain(taskflows).chain(faulty).chain(faults);
        lines.map(|line| format!("{line}\n")).collect()
    }
}

/// The token of the identifier `name`, which may be raw (`r#move`).
fn token(name: &str) -> TokenStream {
    name.parse().expect("a name is a token")
}

fn written(SourceRange { first, last, close }: SourceRange) -> TokenStream {
    let [first, last] = [first, last].map(Literal::usize_unsuffixed);
    if close { quote!(#first close) } else { quote!(#first #last) }
}

impl Parse for Expansion {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut expansion = Self::default();
        while !input.is_empty() {
            let kind: Ident = input.parse()?;
            match kind.to_string().as_str() {
                "constant" => expansion.constants.push(constant(input, false)?),
                "set" => expansion.constants.push(constant(input, true)?),
                "runs" => expansion.runs.push(name(input)?),
                "library" => {
                    expansion.library.push(library(input)?);
                    // A group ends it.
                    continue;
                }
                "taskflow" => expansion.taskflows.push(taskflow(input)?),
                "faulty" => expansion.faulty.push(name(input)?),
                "fault" => {
                    let (at, text) = (range(input)?, input.parse::<LitStr>()?.value());
                    expansion.faults.push(PlacedFault { at, text });
                }
                other => return Err(syn::Error::new(kind.span(), format!("unknown kind of entry `{other}`"))),
            }
            input.parse::<Token![;]>()?;
        }
        Ok(expansion)
    }
}

fn name(input: ParseStream<'_>) -> syn::Result<String> {
    Ok(input.parse::<Ident>()?.to_string())
}

/// Consumes the next token if it is the word `wanted`; returns whether it was.
fn word(input: ParseStream<'_>, wanted: &str) -> bool {
    let ahead = input.fork();
    let follows = ahead.parse::<Ident>().is_ok_and(|word| word == wanted);
    if follows {
        input.advance_to(&ahead);
    }
    follows
}

fn constant(input: ParseStream<'_>, set: bool) -> syn::Result<BuiltConstant> {
    let name = name(input)?;
    input.parse::<Token![:]>()?;
    let ty = input.parse()?;
    input.parse::<Token![=]>()?;
    Ok(BuiltConstant { name, ty, value: input.parse()?, set })
}

fn library(input: ParseStream<'_>) -> syn::Result<LibraryTask> {
    let (at, function);
    at = range(input)?;
    braced!(function in input);
    Ok(LibraryTask { at, function: function.parse()? })
}

fn taskflow(input: ParseStream<'_>) -> syn::Result<BuiltTaskflow> {
    let (name, symbol, stem) = (name(input)?, name(input)?, name(input)?);
    Ok(BuiltTaskflow { name, symbol, stem, for_device: word(input, "device"), exported: word(input, "exported") })
}

fn range(input: ParseStream<'_>) -> syn::Result<SourceRange> {
    let number = |input: ParseStream<'_>| input.parse::<LitInt>()?.base10_parse();
    let first = number(input)?;
    let close = word(input, "close");
    Ok(SourceRange { first, last: if close { first } else { number(input)? }, close })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::ToTokens as _;

    #[test]
    fn what_is_written_is_read_again() {
        let constant = |name: &str, ty: &str, value: &str, set| BuiltConstant {
            name: name.to_owned(),
            ty: syn::parse_str(ty).unwrap(),
            value: syn::parse_str(value).unwrap(),
            set,
        };
        let at = SourceRange { first: 57, last: 57, close: true };
        let function: ItemFn = syn::parse_str("#[comm_put] pub fn r#move<const N: usize>(x: u8) { x; }").unwrap();
        let expansion = Expansion {
            constants: vec![constant("A", "usize", "128", false), constant("größe", "f32", "-8.0", true)],
            runs: vec!["r#try".to_owned()],
            library: vec![LibraryTask { at, function }],
            taskflows: vec![BuiltTaskflow {
                name: "r#try".to_owned(),
                symbol: "hpmoe1_a_b_try_0a".to_owned(),
                stem: "b_try_0a".to_owned(),
                for_device: true,
                exported: true,
            }],
            faulty: vec!["project".to_owned()],
            faults: vec![PlacedFault {
                at: SourceRange { first: 0, last: 3, close: false },
                text: "\"a\"\nb \\ ` é".to_owned(),
            }],
        };
        let text = expansion.write();
        let read: Expansion = syn::parse_str(&text).unwrap();
        assert_eq!(read.write(), text);
        assert_eq!(read.taskflows, expansion.taskflows);
        assert_eq!(read.faults, expansion.faults);
        assert_eq!((read.runs, read.faulty, read.library[0].at), (expansion.runs, expansion.faulty, at));
        let values = |read: &[BuiltConstant]| -> Vec<_> {
            read.iter().map(|read| (read.name.clone(), read.value.to_token_stream().to_string(), read.set)).collect()
        };
        assert_eq!(values(&read.constants), values(&expansion.constants));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["wish A;", "fault \"text\";", "constant A = 1;", "runs a", "taskflow a b;"] {
            assert!(syn::parse_str::<Expansion>(text).is_err(), "{text}");
        }
    }
}

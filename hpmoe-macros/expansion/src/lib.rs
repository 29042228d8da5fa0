//! The expansion of `#[megakernel]`: the user's module with the launch of each taskflow, or with its faults.
//!
//! The build script runs the compiler, and writes the results for each module as an [`Expansion`]; the macro only reads that file and edits
//! the module. The macro therefore doesn't contain the compiler and compiles quickly, which matters because every crate with kernels waits
//! for it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`expansion`] | the file that the build script writes for the macro |
//! | [`fingerprint`] | the hash in that file's name, by which the macro finds it |
//! | [`nesting`] | a bound on the depth of a source |
//! | [`tokens`] | places in the source that build script and macro both know: numbers of tokens |
//! | `module`, `launch`, `reference` | the edited module, and the items added for each taskflow |
//! | [`markers`], [`library`] | the attributes of functions, and `use` of the task library, read alike by compiler and macro |

#![forbid(unsafe_code)]

pub mod expansion;
pub mod fingerprint;
mod launch;
pub mod library;
pub mod markers;
mod module;
pub mod nesting;
mod reference;
mod signature;
pub mod tokens;

use expansion::{Expansion, FOLDER, PlacedFault};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, quote_spanned};
use std::path::{Path, PathBuf};
use syn::ItemMod;
use tokens::SourceTokens;

/// A function that returns the text of a file, or `None` if it can't read the file. This package itself does no I/O.
pub type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The state of the build script of the package that a module belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BuildScript {
    /// The package has no build script.
    Missing,
    /// The script's last run built no kernels.
    WithoutKernels,
    /// The script's last run built kernels, and wrote its files below this folder, the value of `OUT_DIR`.
    Built(PathBuf),
}

impl BuildScript {
    /// The state of the build script according to rustc's environment: the value of `OUT_DIR`, and whether [`BUILT`](expansion::BUILT) is
    /// set.
    #[must_use]
    pub fn new(out_dir: Option<PathBuf>, built: bool) -> Self {
        match out_dir {
            None => Self::Missing,
            Some(_) if !built => Self::WithoutKernels,
            Some(folder) => Self::Built(folder),
        }
    }
}

/// Expands `#[megakernel(arguments)]` on a module: the module with the launch of each taskflow, or with its faults as errors.
#[must_use]
pub fn megakernel(arguments: TokenStream, item: TokenStream, script: &BuildScript, read: Read<'_>) -> TokenStream {
    if let Some(place) = nesting::too_deep(&item) {
        // The item itself stays with rustc, which may read it.
        let mut tokens = item;
        tokens.extend(fault(place, nesting::TOO_DEEP));
        return tokens;
    }
    let mut tokens = match syn::parse2(item.clone()) {
        Ok(module) => expanded(&module, script, read),
        Err(error) if is_inline_module(item) => {
            let text = format!("this kernel is not valid Rust: {error}\nhelp: fix the errors that rustc reports first");
            fault(error.span(), &text)
        }
        Err(_) => fault(
            Span::call_site(),
            "`#[megakernel]` marks an inline module\nhelp: write `#[megakernel] mod name { … }`",
        ),
    };
    if let Some(first) = arguments.into_iter().next() {
        tokens.extend(fault(first.span(), "`#[megakernel]` takes no arguments [HP01]\nhelp: write `#[megakernel]`"));
    }
    tokens
}

/// Whether an item begins like a module and ends with braces.
fn is_inline_module(item: TokenStream) -> bool {
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let in_braces = matches!(tokens.pop(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace);
    in_braces && tokens.iter().any(|token| matches!(token, TokenTree::Ident(name) if name == "mod"))
}

fn expanded(module: &ItemMod, script: &BuildScript, read: Read<'_>) -> TokenStream {
    let expansion = match look_up(module, script, read) {
        Ok(expansion) => expansion,
        Err(missing) => {
            let mut tokens = module::stand_in(module, &[]).into_token_stream();
            tokens.extend(fault(module.ident.span(), &missing));
            return tokens;
        }
    };
    let source = SourceTokens::new(module);
    if expansion.faults.is_empty() {
        return module::with_launch(module, &expansion, &source);
    }
    let mut tokens = module::stand_in(module, &expansion.faulty).into_token_stream();
    tokens.extend(expansion.faults.iter().map(|PlacedFault { at, text }| fault_at(source.ends(*at), text)));
    tokens
}

/// The build script's results for a module, or the reason why there are none.
fn look_up(module: &ItemMod, script: &BuildScript, read: Read<'_>) -> Result<Expansion, String> {
    let name = &module.ident;
    let help = "help: name this file in the build script: `hpmoe_build::kernels([\"path/to/this_file.rs\"]).build();`";
    let out_dir = match script {
        BuildScript::Missing => return Err(format!("kernel `{name}` has no build script [HP17]\n{help}")),
        BuildScript::WithoutKernels => {
            return Err(format!("kernel `{name}` was not built: the build script builds no kernels [HP17]\n{help}"));
        }
        BuildScript::Built(out_dir) => out_dir,
    };
    let folder = out_dir.join(FOLDER);
    if let Some(text) = read(&folder.join(expansion::file(module))) {
        return syn::parse_str(&text).map_err(|error| {
            format!(
                "kernel `{name}`: the file that the build script wrote can't be read: {error} [HP17]\nhelp: use the same version of \
                 `hpmoe-build` and `hpmoe-runtime`"
            )
        });
    }
    Err(match read(&folder.join(expansion::latest_file(module))) {
        Some(source) => format!(
            "kernel `{name}` is stale: the build from `{}` does not match this module [HP17]\nhelp: let the build script name the \
             file that holds this module, and give each kernel of a package a unique name",
            source.trim()
        ),
        None => format!("kernel `{name}` was not built [HP17]\n{help}"),
    })
}

/// Expands a marker attribute outside a kernel module: `item` stays as it is, and an error follows it. `name` is the marker's name.
#[must_use]
pub fn stray_marker(name: &str, item: TokenStream) -> TokenStream {
    let text = format!(
        "`#[{name}]` is outside a kernel module [HP18]\nhelp: move the function into a `#[megakernel] mod … {{ }}`"
    );
    let span = item.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span());
    let mut tokens = item;
    tokens.extend(fault(span, &text));
    tokens
}

fn fault(span: Span, text: &str) -> TokenStream {
    fault_at((span, span), text)
}

/// An error that rustc shows at the tokens from span `first` to span `last`.
fn fault_at((first, last): (Span, Span), text: &str) -> TokenStream {
    let mut tokens = quote_spanned!(first=> ::core::compile_error!);
    tokens.extend(quote_spanned!(last=> { #text }));
    tokens
}

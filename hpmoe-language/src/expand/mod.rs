//! The expansion of `#[megakernel]`: the module with the launch of each taskflow, or with its faults.

mod launch;
mod module;

use crate::artifacts::{self, Artifact, Fault, Resolved};
use crate::finding::{Diagnostic, Errors};
use crate::fingerprint::{Fingerprint, of_module};
use crate::front::{Front, front};
use crate::syntax::{refuse_arguments, with_tasks};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use std::path::PathBuf;
use syn::ItemMod;

/// What the macro knows about the crate that it runs in.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The name of the package.
    pub package: String,
    /// The folder that its build script writes to, if it has one.
    pub out_dir: Option<PathBuf>,
}

/// A function that reads a file for the expansion; this package itself does no I/O.
pub type Read<'a> = &'a dyn Fn(&std::path::Path) -> Option<String>;

/// Expands `#[megakernel(arguments)]` on a module.
pub fn megakernel(arguments: TokenStream, item: TokenStream, environment: &Environment, read: Read<'_>) -> TokenStream {
    let mut errors = Errors::default();
    refuse_arguments("megakernel", arguments, Span::call_site(), &mut errors);
    let refused: TokenStream = errors.checkpoint().err().iter().flatten().flat_map(faults_of).collect();
    let mut tokens = expanded(item, environment, read);
    tokens.extend(refused);
    tokens
}

fn expanded(item: TokenStream, environment: &Environment, read: Read<'_>) -> TokenStream {
    let module: ItemMod = match syn::parse2(item.clone()) {
        Ok(module) => with_tasks(&module),
        Err(_) => {
            return fault(
                Span::call_site(),
                "`#[megakernel]` marks an inline module\nhelp: write `#[megakernel] mod name { … }`",
            );
        }
    };
    let hash = of_module(&module);
    let built = Built::find(&module, hash, environment, read);
    let overrides = match &built {
        Ok(built) => built.resolved.overrides.clone(),
        Err(_) => module::open_sizes(&module),
    };
    match front(&module, &overrides) {
        Err(faults) => {
            let functions: Vec<&str> = faults.iter().filter_map(|fault| fault.function.as_deref()).collect();
            let mut tokens = module::stand_in(&module, &functions).into_token_stream();
            tokens.extend(faults.iter().flat_map(faults_of));
            tokens
        }
        Ok(front) => match built {
            Ok(built) => module::with_launch(&module, &front, &built.resolved.overrides, |flow| {
                built.notice(&front, flow, hash, environment, read)
            }),
            Err(missing) => {
                let mut tokens = module::stand_in(&module, &[]).into_token_stream();
                tokens.extend(fault(module.ident.span(), &missing));
                tokens
            }
        },
    }
}

/// Expands a marker that stands outside of a kernel module.
pub fn stray_marker(name: &str, item: TokenStream) -> TokenStream {
    let text = format!(
        "`#[{name}]` stands outside of a kernel module [HP18]\nhelp: move the function into a `#[megakernel] mod … {{ }}`"
    );
    let span = item.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span());
    let mut tokens = item;
    tokens.extend(fault(span, &text));
    tokens
}

/// What the build script has made of a taskflow.
struct BuiltFlow {
    artifact: Artifact,
    /// Whether there is an object for the device, too.
    for_device: bool,
}

/// What the build script has written for a module.
struct Built {
    resolved: Resolved,
}

impl Built {
    fn find(module: &ItemMod, hash: Fingerprint, environment: &Environment, read: Read<'_>) -> Result<Self, String> {
        let name = module.ident.to_string();
        let help =
            "help: name this file in the build script: `hpmoe_build::kernels([\"path/to/this_file.rs\"]).build();`";
        let Some(out_dir) = &environment.out_dir else {
            return Err(format!("kernel `{name}` has no build script [HP17]\n{help}"));
        };
        let file = out_dir.join(artifacts::FOLDER).join(artifacts::resolved_file(&name, hash));
        match read(&file).as_deref().and_then(Resolved::read) {
            Some(resolved) => Ok(Self { resolved }),
            None => {
                let latest = out_dir.join(artifacts::FOLDER).join(format!("{name}.built"));
                Err(match read(&latest) {
                    Some(source) => format!(
                        "kernel `{name}` is stale: what was built from `{}` is not this module [HP17]\nhelp: let the \
                         build script name the file that holds this module, and give each kernel of a package a name of \
                         its own",
                        source.trim()
                    ),
                    None => format!("kernel `{name}` was not built [HP17]\n{help}"),
                })
            }
        }
    }

    /// What the build script made of a taskflow, or the fault that it found.
    fn notice(
        &self,
        front: &Front,
        flow: usize,
        hash: Fingerprint,
        environment: &Environment,
        read: Read<'_>,
    ) -> Result<BuiltFlow, Fault> {
        let graph = front.flows[flow].graph();
        let artifact = Artifact::new(
            &environment.package,
            &graph.kernel,
            &graph.taskflow,
            self.resolved.fingerprint_of(hash, graph),
        );
        let folder = environment.out_dir.clone().unwrap_or_default().join(artifacts::FOLDER);
        match read(&folder.join(format!("{}.fault", artifact.stem))) {
            Some(fault) => Err(Fault::read(&fault)),
            None => {
                let for_device = read(&folder.join(artifact.file("device"))).is_some();
                Ok(BuiltFlow { artifact, for_device })
            }
        }
    }
}

fn faults_of(diagnostic: &Diagnostic) -> impl Iterator<Item = TokenStream> + use<> {
    let words = diagnostic.words();
    let note = move |(span, text): &(Span, String)| fault(*span, &format!("{text} [{}]", words.code));
    std::iter::once(fault(diagnostic.at, &diagnostic.text())).chain(words.also.iter().map(note).collect::<Vec<_>>())
}

fn fault(span: Span, text: &str) -> TokenStream {
    quote_spanned!(span=> ::core::compile_error! { #text })
}

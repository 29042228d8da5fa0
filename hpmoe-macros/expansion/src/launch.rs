//! The module that the macro adds for a taskflow: its texts, its tables, and `launch`.

use crate::expansion::{BuiltTaskflow, below_out_dir};
use crate::reference;
use crate::signature::{last_is, outside, typed};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{ItemFn, Lifetime, Type};

/// The module that the macro adds for a taskflow that was built.
pub(crate) fn built(function: &ItemFn, built: &BuiltTaskflow, runtime: &Ident) -> TokenStream {
    let tables = below_out_dir(&built.stem, "rs");
    let (_, route) = parameters(function, false);
    let arguments = arguments(function);
    let (group, streams) = (group(), streams());
    let [launch, enqueue] = match route {
        Some(route) => [
            quote!(#group.launch(&KERNEL, #route, &[#(#arguments),*])),
            quote!(#group.enqueue(&KERNEL, #streams, #route, ::std::vec![#(#arguments),*])),
        ],
        None => [
            quote!(#group.launch_routed(&KERNEL, &[#(#arguments),*])),
            quote!(#group.enqueue_routed(&KERNEL, #streams, ::std::vec![#(#arguments),*])),
        ],
    };
    let kernel = kernel(built);
    let reference = built.exported.then(|| reference::registered(function));
    let items = quote! {
        ::core::include!(::core::concat!(::core::env!("OUT_DIR"), #tables));
        #kernel
        #reference
    };
    module(function, runtime, &items, &launch, &enqueue)
}

/// The compiled kernel: its entry point with the `TABLES` that the build script wrote for it.
///
/// The macro generates this item, not the build script: lints of the user's crate apply to an included file but not to the output of an
/// attribute macro. So kernels compile in crates with `forbid(unsafe_code)`, too.
fn kernel(BuiltTaskflow { symbol, stem, for_device, .. }: &BuiltTaskflow) -> TokenStream {
    let entry = Ident::new(symbol, Span::call_site());
    let device = for_device.then(|| {
        let object = below_out_dir(stem, "device.o");
        let bytes = quote!(::core::include_bytes!(::core::concat!(::core::env!("OUT_DIR"), #object)));
        quote!(.with_device(#symbol, #bytes))
    });
    quote! {
        #[link(name = #symbol, kind = "static")]
        unsafe extern "C" {
            fn #entry(launch: *mut u8);
        }
        #[doc(hidden)]
        pub static KERNEL: hpmoe_runtime::CompiledKernel = unsafe {
            // SAFETY: the symbol has the fingerprint of the tables: one run of the build script generated both.
            hpmoe_runtime::CompiledKernel::new(#entry, TABLES)#device
        };
    }
}

/// The module that the macro adds for a taskflow of a kernel with faults, so that code that uses the kernel compiles.
pub(crate) fn stand_in(function: &ItemFn, runtime: &Ident) -> TokenStream {
    let items = quote! {
        /// Placeholder, because the kernel has faults.
        pub const GRAPH: &str = "";
        /// Placeholder, because the kernel has faults.
        pub const SCHEDULE: &str = "";
        /// Placeholder, because the kernel has faults.
        pub const ASCENDC: &str = "";
        /// Placeholder, because the kernel has faults.
        pub const GRAPH_MERMAID: &str = "";
        /// Placeholder, because the kernel has faults.
        pub const TILE_SIZES: &str = "";
        /// Placeholder, because the kernel has faults.
        pub const FINGERPRINT: &str = "";
        /// Placeholder, because the kernel has faults.
        pub fn summary(_ranks: usize) -> ::core::option::Option<&'static str> { ::core::option::Option::None }
        /// Placeholder, because the kernel has faults.
        pub fn schedule_svg(_ranks: usize) -> ::core::option::Option<&'static str> { ::core::option::Option::None }
    };
    let unreachable = quote!(::core::unreachable!());
    module(function, runtime, &items, &unreachable, &unreachable)
}

/// The name of the first parameter of `launch`. With its hygiene, a tensor of the taskflow that is called `group` doesn't shadow it.
fn group() -> Ident {
    Ident::new("group", Span::mixed_site())
}

/// The name of the second parameter of `enqueue`, hygienic like `group`.
fn streams() -> Ident {
    Ident::new("streams", Span::mixed_site())
}

/// The lifetime of everything that a pending launch borrows.
fn pending() -> Lifetime {
    Lifetime::new("'pending", Span::mixed_site())
}

/// The module of a taskflow; `runtime` is the name that the user's crate has for `hpmoe-runtime`.
fn module(
    function: &ItemFn,
    runtime: &Ident,
    items: &TokenStream,
    launch: &TokenStream,
    enqueue: &TokenStream,
) -> TokenStream {
    let ((parameters, _), (borrowed, _)) = (parameters(function, false), parameters(function, true));
    let (streams, pending) = (streams(), pending());
    let (name, visibility) = (&function.sig.ident, &function.vis);
    let doc = format!("The megakernel of [`{name}`](fn@{name}): its texts and its launch.");
    let group = group();
    quote! {
        #[doc = #doc]
        #[allow(dead_code, reason = "a user need not use all texts and tables")]
        #visibility mod #name {
            #[allow(unused_imports, reason = "the parameters need some of these names")]
            use super::*;
            #[allow(unused_imports, redundant_imports, reason = "the crate may have this name already")]
            use ::#runtime as hpmoe_runtime;
            #items
            /// Runs the megakernel on every rank of the group.
            ///
            /// # Errors
            ///
            /// The arguments don't fit the kernel, and nothing runs. Or the kernel breaks a rule of the device or makes no progress; the
            /// error then contains a report of every core.
            #[allow(clippy::too_many_arguments, unused_variables, reason = "the taskflow's own parameters")]
            pub fn launch(
                #group: &hpmoe_runtime::Group,
                #(#parameters),*
            ) -> ::core::result::Result<hpmoe_runtime::Report, hpmoe_runtime::LaunchError> {
                #launch
            }
            /// Puts the megakernel on the streams of the group's NPUs and returns; `Pending::wait` waits for the launch. With `streams`,
            /// the launch is ordered after work already enqueued on these streams and before work enqueued later. On a group of CPU ranks,
            /// the function returns when the launch has ended.
            ///
            /// # Errors
            ///
            /// The errors that `launch` finds before the kernel runs.
            #[allow(clippy::too_many_arguments, unused_variables, reason = "the taskflow's own parameters")]
            pub fn enqueue<#pending>(
                #group: &#pending hpmoe_runtime::Group,
                #streams: ::core::option::Option<&hpmoe_runtime::Streams>,
                #(#borrowed),*
            ) -> ::core::result::Result<hpmoe_runtime::Pending<#pending>, hpmoe_runtime::LaunchError> {
                #enqueue
            }
        }
    }
}

/// The taskflow's parameters without the ranks, and the name of the route if it is one of them. If `pending`, tensors are borrowed for as
/// long as the launch is pending.
fn parameters(function: &ItemFn, pending: bool) -> (Vec<TokenStream>, Option<TokenStream>) {
    let mut route = None;
    let kept = typed(function)
        .filter(|(_, ty)| !last_is(ty, "Ranks"))
        .map(|(name, ty)| {
            let mut ty = ty.clone();
            if let Type::Reference(reference) = &mut ty {
                if last_is(&reference.elem, "Route") {
                    route = Some(quote!(#name));
                } else if pending {
                    reference.lifetime = Some(self::pending());
                }
            }
            let ty = outside(ty.to_token_stream(), false);
            quote!(#name: #ty)
        })
        .collect();
    (kept, route)
}

fn arguments(function: &ItemFn) -> Vec<TokenStream> {
    typed(function)
        .filter_map(|(name, ty)| {
            let Type::Reference(reference) = ty else { return None };
            if last_is(&reference.elem, "Route") {
                return None;
            }
            let text = name.to_string();
            Some(match reference.mutability {
                Some(_) => quote!(hpmoe_runtime::Argument::write(#text, #name)),
                None => quote!(hpmoe_runtime::Argument::read(#text, #name)),
            })
        })
        .collect()
}

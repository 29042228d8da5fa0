//! Registers taskflows as references: functions that a kernel library finds by the kernel and calls with the tensors of a launch.

use crate::signature::{last_is, outside, typed};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote};
use syn::{ItemFn, Type};

/// The item that registers `function` as the reference of its kernel. The macro puts it into the module that it adds for the taskflow.
pub(crate) fn registered(function: &ItemFn) -> TokenStream {
    let name = &function.sig.ident;
    let (mut taken, mut passed, mut given) = (Vec::new(), Vec::new(), Vec::new());
    for (_, ty) in typed(function) {
        if last_is(ty, "Ranks") {
            passed.push(quote!(call.ranks()));
            continue;
        }
        let Type::Reference(reference) = ty else { continue };
        if last_is(&reference.elem, "Route") {
            passed.push(quote!(call.route()));
            continue;
        }
        let number = taken.len();
        let (tensor, ty) = (
            format_ident!("argument_{number}", span = Span::mixed_site()),
            outside(reference.elem.to_token_stream(), false),
        );
        let mutable = reference.mutability;
        taken.push(quote!(let #mutable #tensor: #ty = call.tensor(#number);));
        passed.push(quote!(&#mutable #tensor));
        given.extend(mutable.map(|_| quote!(call.give_back(#number, &#tensor);)));
    }
    quote! {
        const _: () = {
            fn reference(call: &hpmoe_runtime::ReferenceCall<'_>) {
                #(#taken)*
                super::#name(#(#passed),*);
                #(#given)*
            }
            hpmoe_c::inventory::submit! { hpmoe_c::Reference::new(&KERNEL, reference) }
        };
    }
}

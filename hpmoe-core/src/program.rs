//! What a build leaves behind for one taskflow: the kernel, the tables that the macro includes, texts and pictures.

use crate::analyze::CheckedGraph;
use crate::artifacts::Artifact;
use crate::emit::{Ascendc, Tables};
use crate::validate::ValidSchedule;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// The files of one taskflow.
#[derive(Clone, Debug)]
pub struct Program {
    /// All of them.
    pub files: Vec<File>,
}

/// A file below the artifacts' folder.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Collects the files.
pub(crate) fn program(
    checked: &CheckedGraph,
    valid: &ValidSchedule,
    artifact: &Artifact,
    kernel: &Ascendc,
    tables: Tables,
    fingerprint: &str,
) -> Program {
    let schedule = valid.schedule();
    let texts = [
        Text { name: "GRAPH", ending: "graph.txt", doc: "The task graph.", text: String::new() },
        Text { name: "GRAPH_MERMAID", ending: "graph.mmd", doc: "The task graph as a Mermaid flowchart.", text: String::new() },
        Text { name: "SCHEDULE", ending: "schedule.txt", doc: "The schedule, for every number of ranks.", text: String::new() },
        Text { name: "ASCENDC", ending: "cpp", doc: "The generated AscendC.", text: kernel.text.clone() },
        Text { name: "SUMMARY", ending: "summary.txt", doc: "Graph and schedule in numbers.", text: String::new() },
    ];
    let _ = checked;
    let pictures: Vec<(u32, String)> = schedule.orders.iter().map(|order| (order.ranks, String::new())).collect();
    let constants: TokenStream = texts.iter().map(|text| text.constant(artifact)).collect();
    let pictures_by_ranks = svg_function(artifact, &pictures);
    let fingerprint = quote! {
        /// Identifies source, constants and compiler.
        pub const FINGERPRINT: &str = #fingerprint;
    };
    let rust = format!("{constants}\n{pictures_by_ranks}\n{fingerprint}\n{}", tables.rust);
    let mut files: Vec<File> =
        texts.into_iter().map(|text| File { name: artifact.file(text.ending), bytes: text.text.into_bytes() }).collect();
    files.extend(pictures.into_iter().map(|(ranks, svg)| File { name: artifact.file(&svg_ending(ranks)), bytes: svg.into_bytes() }));
    files.push(File { name: artifact.file("descriptors"), bytes: tables.descriptors });
    files.push(File { name: artifact.file("rs"), bytes: rust.into_bytes() });
    Program { files }
}

/// A text that the user's crate gets as a constant.
struct Text {
    name: &'static str,
    ending: &'static str,
    doc: &'static str,
    text: String,
}

impl Text {
    fn constant(&self, artifact: &Artifact) -> TokenStream {
        let (name, doc, path) = (format_ident!("{}", self.name), self.doc, artifact.below_out_dir(self.ending));
        quote! {
            #[doc = #doc]
            pub const #name: &str = ::core::include_str!(::core::concat!(::core::env!("OUT_DIR"), #path));
        }
    }
}

fn svg_ending(ranks: u32) -> String {
    format!("schedule_{ranks}.svg")
}

fn svg_function(artifact: &Artifact, pictures: &[(u32, String)]) -> TokenStream {
    let arms = pictures.iter().map(|(ranks, _)| {
        let (ranks, path) = (*ranks as usize, artifact.below_out_dir(&svg_ending(*ranks)));
        quote! {
            #ranks => ::core::option::Option::Some(::core::include_str!(::core::concat!(::core::env!("OUT_DIR"), #path))),
        }
    });
    quote! {
        /// The schedule as a picture (SVG), for a number of ranks that divides the experts.
        pub fn schedule_svg(ranks: usize) -> ::core::option::Option<&'static str> {
            match ranks {
                #(#arms)*
                _ => ::core::option::Option::None,
            }
        }
    }
}

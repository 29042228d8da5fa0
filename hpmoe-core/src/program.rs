//! The files that a build writes for one taskflow: the kernel, the tables that the macro includes, texts and pictures.

use crate::analyze::CheckedGraph;
use crate::artifacts::Artifact;
use crate::emit::{Ascendc, Tables};
use crate::report::{graph_text, mermaid, schedule_svg, schedule_text, summary};
use crate::target::Target;
use crate::validate::ValidSchedule;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// The files of one taskflow, and warnings about it.
#[derive(Clone, Debug)]
pub struct Program {
    /// The files, in the order in which they were made.
    pub files: Vec<File>,
    /// Warnings, each a sentence, about a kernel that works but is not as good as it could be.
    pub warnings: Vec<String>,
    /// The features that the kernel's route code is compiled for, as a C++ expression; `None` if the kernel does not make a route.
    pub route_needs: Option<String>,
}

impl Program {
    /// Adds `text`, which lists the tile sizes that the kernel is built with, one per line: as a file, and as the constant `TILE_SIZES`.
    pub fn add_tile_sizes(&mut self, artifact: &Artifact, text: String) {
        let text = Text {
            name: "TILE_SIZES",
            ending: "sizes.txt",
            doc: "The tile sizes, a line each, with where each comes from.",
            text,
        };
        let rust = artifact.file("rs");
        if let Some(file) = self.files.iter_mut().find(|file| file.name == rust) {
            file.bytes.extend(in_lines(std::iter::once(text.constant(artifact))).into_bytes());
        }
        self.files.push(File { name: artifact.file(text.ending), bytes: text.text.into_bytes() });
    }
}

/// A file in the folder of artifacts.
#[derive(Clone, Debug)]
pub struct File {
    /// The file's name in the folder of artifacts.
    pub name: String,
    /// The file's content, byte for byte.
    pub bytes: Vec<u8>,
}

/// File name ending of the source that compilers for devices get, if it differs from the host's.
pub const DEVICE_SOURCE: &str = "device.cpp";

/// The generated kernel for the host and, if it differs, for devices.
#[derive(Clone, Copy)]
pub(crate) struct Kernels<'a> {
    pub(crate) host: &'a Ascendc,
    pub(crate) device: Option<&'a Ascendc>,
}

/// Makes all files of a taskflow.
pub(crate) fn program(
    checked: &CheckedGraph,
    valid: &ValidSchedule,
    target: &Target,
    artifact: &Artifact,
    Kernels { host: kernel, device }: Kernels<'_>,
    tables: Tables,
    fingerprint: &str,
) -> Program {
    let schedule = valid.schedule();
    let texts = [
        Text { name: "GRAPH", ending: "graph.txt", doc: "The task graph.", text: graph_text(checked, schedule) },
        Text {
            name: "GRAPH_MERMAID",
            ending: "graph.mmd",
            doc: "The task graph as a Mermaid flowchart.",
            text: mermaid(checked, schedule),
        },
        Text {
            name: "SCHEDULE",
            ending: "schedule.txt",
            doc: "The schedule, for every number of ranks.",
            text: schedule_text(checked, schedule),
        },
        Text { name: "ASCENDC", ending: "cpp", doc: "The generated AscendC.", text: kernel.text.clone() },
    ];
    let ranks: Vec<u32> = schedule.orders.iter().map(|order| order.ranks).collect();
    let by_ranks = [
        ByRanks {
            name: "summary",
            ending: "summary.txt",
            doc: "Graph, schedule and memory in numbers, for a number of ranks that divides the experts.",
            texts: ranks.iter().map(|&ranks| (ranks, summary(checked, schedule, kernel, ranks))).collect(),
        },
        ByRanks {
            name: "schedule_svg",
            ending: "schedule.svg",
            doc: "The order of the schedule's entries as a picture (SVG), for a number of ranks that divides the experts.",
            texts: ranks
                .iter()
                .filter_map(|&ranks| Some((ranks, schedule_svg(checked, schedule, target, ranks)?)))
                .collect(),
        },
    ];
    let constants = texts.iter().map(|text| text.constant(artifact));
    let functions = by_ranks.iter().map(|text| text.function(artifact));
    let fingerprint = quote! {
        /// Identifies source, constants and compiler.
        pub const FINGERPRINT: &str = #fingerprint;
    };
    let rust = constants.chain(functions).chain([tables.rust, fingerprint]);
    let mut files = vec![
        File { name: artifact.file("rs"), bytes: in_lines(rust).into_bytes() },
        File { name: artifact.file("descriptors"), bytes: tables.descriptors },
    ];
    files
        .extend(texts.into_iter().map(|text| File { name: artifact.file(text.ending), bytes: text.text.into_bytes() }));
    let for_devices = device.map(|kernel| kernel.text.clone().into_bytes());
    files.extend(for_devices.map(|bytes| File { name: artifact.file(DEVICE_SOURCE), bytes }));
    files.extend(by_ranks.into_iter().flat_map(|text| text.files(artifact)));
    let warnings = unread(checked).chain(device.unwrap_or(kernel).beyond_the_caches()).collect();
    Program { files, warnings, route_needs: kernel.route_needs.clone() }
}

/// A warning for each tensor that is written, with all its traffic, and never read.
fn unread(checked: &CheckedGraph) -> impl Iterator<Item = String> {
    checked.unread().map(|tensor| {
        let name = &tensor.name;
        format!(
            "line {}: no call reads `{name}`, but it takes memory, and time to write: remove it and the calls that write it, or \
             take it as a `&mut` parameter if it is a result",
            tensor.span.start().line
        )
    })
}

/// Rust that only the compiler reads, with one or a few items per line. Formatting it nicely would cost a user's build more time than it is
/// worth.
fn in_lines(items: impl Iterator<Item = TokenStream>) -> String {
    items.map(|item| format!("{item}\n")).collect()
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
        let (name, doc, text) = (format_ident!("{}", self.name), self.doc, included(artifact, self.ending));
        quote! {
            #[doc = #doc]
            pub const #name: &str = #text;
        }
    }
}

/// A text for each number of ranks, which the user's crate gets by a function.
struct ByRanks {
    name: &'static str,
    ending: &'static str,
    doc: &'static str,
    texts: Vec<(u32, String)>,
}

impl ByRanks {
    fn function(&self, artifact: &Artifact) -> TokenStream {
        let (name, doc) = (format_ident!("{}", self.name), self.doc);
        let arms = self.texts.iter().map(|(ranks, _)| {
            let text = included(artifact, &self.ending_for(*ranks));
            let ranks = *ranks as usize;
            quote!(#ranks => ::core::option::Option::Some(#text),)
        });
        quote! {
            #[doc = #doc]
            pub fn #name(ranks: usize) -> ::core::option::Option<&'static str> {
                match ranks {
                    #(#arms)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    }

    fn files(self, artifact: &Artifact) -> Vec<File> {
        let named = |(ranks, text): &(u32, String)| File {
            name: artifact.file(&self.ending_for(*ranks)),
            bytes: text.clone().into_bytes(),
        };
        self.texts.iter().map(named).collect()
    }

    fn ending_for(&self, ranks: u32) -> String {
        format!("{ranks}.{}", self.ending)
    }
}

fn included(artifact: &Artifact, ending: &str) -> TokenStream {
    let path = artifact.below_out_dir(ending);
    quote!(::core::include_str!(::core::concat!(::core::env!("OUT_DIR"), #path)))
}

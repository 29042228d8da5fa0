//! Part of the build script: makes the examples' kernels again for each bundled layer, with its sizes and another name.
//! Users would set the constants with `HPMOE_SET`; one test program needs all of them at once.

use std::path::PathBuf;

/// Name, then HIDDEN, INTER, EXPERTS, TOP_K, TOKENS.
const LAYERS: [(&str, [usize; 5]); 3] = [
    ("deepseek_skewed", [128, 64, 16, 4, 384]),
    ("qwen3_balanced", [128, 64, 8, 2, 256]),
    ("qwen3_ragged", [96, 48, 12, 3, 200]),
];
/// The first layer again, in a kernel for many more tokens, for which the scheduler may dedicate cores to peers: this tests
/// such cores.
const MANY_TOKENS: (&str, [usize; 5]) = ("many_tokens", [128, 64, 16, 4, 2048]);
/// Tiles that are so small that each layer has several of each task. Tiles of int8 activations cross the boundaries of row tiles.
const TILES: [(&str, usize); 10] = [
    ("TILE_M", 16),
    ("TILE_N", 16),
    ("TILE_ROWS", 24),
    ("TILE_COPY", 16),
    ("TILE_UNPACK", 16),
    ("GRAD_M", 32),
    ("GRAD_N", 32),
    ("PUT", 8),
    ("BLOCK", 4),
    ("COLUMNS", 64),
];
const SIZES: [&str; 5] = ["HIDDEN", "INTER", "EXPERTS", "TOP_K", "TOKENS"];

/// Writes the modules, one file each, and returns the files.
pub fn write() -> Vec<PathBuf> {
    LAYERS.iter().map(|(name, sizes)| write_layer(name, sizes)).collect()
}

/// Writes the kernel of one bundled layer under another name.
pub fn write_again(name: &str) -> PathBuf {
    write_layer(name, &LAYERS[0].1)
}

/// Variants of the layer that are also checked with another bundled layer: whole examples, with the sizes of that
/// layer.
pub fn write_variants<const N: usize>(variants: [&str; N]) -> [PathBuf; N] {
    let ragged = &LAYERS[2];
    assert_eq!(ragged.0, "qwen3_ragged");
    variants.map(|name| write_file(name, &with_sizes(&whole(name), &ragged.1)))
}

/// The int8 layer, for a build whose ranks have spare places.
pub fn write_placed() -> PathBuf {
    let text = with_sizes(&kernel("moe_w8a8"), &LAYERS[2].1);
    write_file("placed_w8a8", &text.replacen("mod moe_w8a8", "mod placed_w8a8", 1))
}

/// The layer in chunks, for other numbers of chunks.
pub fn write_chunks() -> [PathBuf; 6] {
    [1, 2, 3, 4, 7, 8].map(|chunks| {
        let name = format!("in_{chunks}_chunk{}", if chunks == 1 { "" } else { "s" });
        let text = in_chunks(&with_sizes(&whole("moe_chunked"), &LAYERS[2].1), chunks);
        write_file(&name, &text.replace("moe_chunked", &format!("moe_{name}")))
    })
}

/// The backward pass and the small sums, for launches that choose up to 8 chunks; their references have 8.
pub fn write_chosen_sums() -> [PathBuf; 3] {
    let gradients = set(&with_sizes(&whole("moe_backward_chunked"), &LAYERS[2].1), "CHUNKS", 8);
    let sums = std::fs::read_to_string("kernels/sums.rs").expect("the kernels of this package");
    let sums = set(&sums[sums.find("\nuse ").expect("the kernels use the runtime")..], "CHUNKS", 8);
    let placed = set(&with_sizes(&kernel("moe_backward_chunked"), &LAYERS[2].1), "CHUNKS", 8);
    let placed = format!("use hpmoe_runtime::prelude::*;\n{placed}");
    let named = |name: &str, text: &str| write_file(name, &text.replace("moe_backward_chunked", name));
    [
        named("grad_in_chosen_chunks", &gradients),
        write_file("grad_in_placed_chunks", &placed.replace("moe_backward_chunked", "moe_back_in_placed_chunks")),
        write_file("sums_in_any_chunks", &sums.replace("mod sums {", "mod sums_at_launch {")),
    ]
}

/// The small forward layer and the small sums, with many experts: each core has tiles of only a few.
pub fn write_many_experts() -> [PathBuf; 2] {
    let many = |name: &str, sizes: &[(&str, usize)]| {
        let text = std::fs::read_to_string(format!("kernels/{name}.rs")).expect("the kernels of this package");
        let text = sizes.iter().fold(text, |text, (constant, size)| set(&text, constant, *size));
        let text = &text[text.find("\nuse ").expect("the kernel uses the runtime")..];
        write_file(&format!("many_{name}"), &text.replace(&format!("mod {name} {{"), &format!("mod many_{name} {{")))
    };
    [
        many("ffn", &[("HIDDEN", 32), ("INTER", 32), ("EXPERTS", 128), ("TOKENS", 96)]),
        many("sums", &[("EXPERTS", 128), ("TOKENS", 96)]),
    ]
}

/// The layer and the small kernels of chunks, for launches that choose the number of chunks, under other names.
pub fn write_chosen_chunks() -> [PathBuf; 3] {
    let layer = with_sizes(&whole("moe_chunked"), &LAYERS[2].1);
    let named = |name: &str| write_file(name, &layer.replace("moe_chunked", &format!("moe_{name}")));
    let small = std::fs::read_to_string("kernels/chunks.rs").expect("the kernels of this package");
    let small = small[small.find("\nuse ").expect("the kernels use the runtime")..]
        .replace("mod chunks {", "mod chunks_at_launch {");
    // Its test is for ranks without spare places.
    let placed = layer[..layer.find("#[cfg(test)]").expect("the example has a test")]
        .replace("moe_chunked", "moe_in_placed_chunks");
    [named("in_chosen_chunks"), write_file("in_any_chunks", &small), write_file("in_placed_chunks", &placed)]
}

/// The small layer whose kernel makes its route and cuts the tokens into chunks, for launches that choose the number of chunks:
/// without a placement, and for placements.
pub fn write_routed_chunks() -> [PathBuf; 2] {
    let text = std::fs::read_to_string("kernels/routed.rs").expect("the kernels of this package");
    let text = &text[text.find("\nuse ").expect("the kernels use the runtime")..];
    // An item begins after an empty line.
    let item = |words: &str| {
        let inside = text.find(words).expect("the taskflows of the file");
        text[..inside].rfind("\n\n").expect("an item ends before it")
    };
    let chunked = text[..item("#[taskflow]")].to_owned() + &text[item("pub fn chunked(")..];
    ["routed", "placed"].map(|name| {
        let kernel = chunked.replace("mod routed {", &format!("mod {name}_at_launch {{"));
        write_file(&format!("{name}_in_any_chunks"), &kernel)
    })
}

/// The small layer in chunks whose backward pass takes a kept route, for launches that choose the number of chunks: without a placement,
/// and for placements.
pub fn write_kept_chunks() -> [PathBuf; 2] {
    let text = std::fs::read_to_string("kernels/kept_chunks.rs").expect("the kernels of this package");
    let text = &text[text.find("\nuse ").expect("the kernels use the runtime")..];
    [("kept", 8), ("kept_placed", 4)].map(|(name, chunks)| {
        let kernel = text.replace("mod kept_chunks {", &format!("mod {name}_at_launch {{"));
        let kernel = set(&kernel, "CHUNKS", chunks);
        write_file(&format!("{name}_in_any_chunks"), &kernel)
    })
}

/// The backward example, for each bundled layer.
pub fn write_training() -> Vec<PathBuf> {
    let write = |(name, sizes): &(&str, [usize; 5])| {
        let name = format!("train_{name}");
        write_file(&name, &with_sizes(&whole("moe_backward"), sizes).replace("moe_train", &name))
    };
    tune(&MANY_TOKENS, "peer_cores = 20");
    tune(&LAYERS[2], "turn_rows = 16");
    LAYERS.iter().chain([&MANY_TOKENS]).map(write).collect()
}

/// Sets how peers are served, like `hpmoe tune`: by dedicated cores, or in turn.
fn tune((name, sizes): &(&str, [usize; 5]), choices: &str) {
    let shape: Vec<String> = SIZES.iter().zip(sizes).map(|(constant, size)| format!("{constant} = {size}")).collect();
    let text = format!(
        "[[tuned]]\nkernel = \"train_{name}\"\ntarget = \"ascend-a3\"\nmatrix_cores = 24\nshape = {{ {} }}\n\
         choices.backward = {{ {choices} }}\n",
        shape.join(", ")
    );
    write_to(&format!("train_{name}.tuned.toml"), &text);
}

/// The backward pass in chunks, of the last layer, for several numbers of chunks.
pub fn write_gradients_in_chunks() -> [PathBuf; 3] {
    [("grad_in_1_chunk", 1), ("grad_in_2_chunks", 2), ("grad_in_5_chunks", 5)].map(|(name, chunks)| {
        let text = with_sizes(&whole("moe_backward_chunked"), &LAYERS[2].1);
        write_file(name, &in_chunks(&text, chunks).replace("moe_backward_chunked", name))
    })
}

fn write_layer(name: &str, sizes: &[usize; 5]) -> PathBuf {
    let kernel = with_sizes(&kernel("moe_ffn"), sizes);
    write_file(name, &kernel.replacen("mod moe_ffn", &format!("mod {name}"), 1))
}

/// The kernel of an example.
fn kernel(name: &str) -> String {
    let source = read(name);
    let start = source.find("#[megakernel]").expect("the example has a kernel");
    let end = start + source[start..].find("\n}\n").expect("the kernel ends") + 3;
    source[start..end].to_owned()
}

/// An example without the comment at its top, which only a whole file can have.
fn whole(name: &str) -> String {
    let source = read(name);
    let start = source.find("\nuse ").expect("the example uses the runtime");
    source[start..].to_owned()
}

fn read(name: &str) -> String {
    let path = format!("../examples/{name}.rs");
    println!("cargo::rerun-if-changed={path}");
    println!("cargo::rerun-if-changed=layers.rs");
    std::fs::read_to_string(path).expect("the example is there")
}

fn with_sizes(text: &str, sizes: &[usize; 5]) -> String {
    let text = TILES.iter().fold(text.to_owned(), |text, (constant, size)| {
        text.replace(&format!("{constant}: usize = _;"), &format!("{constant}: usize = {size};"))
    });
    SIZES.iter().zip(sizes).fold(text, |text, (constant, size)| set(&text, constant, *size))
}

/// Writes a module.
fn write_file(name: &str, text: &str) -> PathBuf {
    write_to(&format!("{name}.rs"), text)
}

fn write_to(file: &str, text: &str) -> PathBuf {
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let path = out_dir.join(file);
    std::fs::write(&path, text).expect("OUT_DIR can be written");
    path
}

/// A kernel with a constant number of chunks.
fn in_chunks(text: &str, chunks: usize) -> String {
    set(&set(text, "CHUNKS", chunks), "CHUNKS_AT_MOST", 0)
}

fn set(text: &str, constant: &str, value: usize) -> String {
    let declared = format!("pub const {constant}: usize = ");
    let start = text.find(&declared).expect("the kernel declares it") + declared.len();
    let end = start + text[start..].find(';').expect("a constant ends");
    format!("{}{value}{}", &text[..start], &text[end..])
}

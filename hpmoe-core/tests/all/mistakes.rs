//! Mistakes that new users make: each error names the real cause.

use hpmoe_core::artifacts::parse_settings;
use hpmoe_core::fixture::with_small_tiles;
use hpmoe_core::front::{front, modules};
use hpmoe_core::syntax::Overrides;

const KERNEL: &str = include_str!("../../../ui-tests/kernels/ffn.rs");
const FUSED: &str = include_str!("../../../ui-tests/kernels/fused.rs");
const ROUTED: &str = include_str!("../../../ui-tests/kernels/routed.rs");
const LIBRARY: &str = include_str!("../../../ui-tests/kernels/sums.rs");

/// The errors of a kernel with these replacements: the text at each place, and the message with its way out.
fn told(source: &str, edits: &[(&str, &str)]) -> Vec<(String, String)> {
    let edited = edits.iter().fold(source.to_owned(), |source, (from, to)| {
        assert!(source.contains(from), "the kernel has no `{from}`");
        source.replacen(from, to, 1)
    });
    let module = &modules(&edited).expect("it is Rust")[0];
    let faults = front(module, &Overrides::new()).err().unwrap_or_default();
    let place = |fault: &hpmoe_core::finding::Diagnostic| {
        let (start, end) = (fault.at.start(), fault.at.end());
        let line = edited.lines().nth(start.line - 1).unwrap_or_default();
        let end = if end.line == start.line { end.column } else { line.chars().count() };
        line.chars().skip(start.column).take(end - start.column).collect()
    };
    faults.iter().map(|fault| (place(fault), fault.text())).collect()
}

/// Checks that there is one error, at this place, with these words.
#[track_caller]
fn check(edits: &[(&str, &str)], place: &str, words: &[&str]) {
    let told = told(KERNEL, edits);
    let [(at, text)] = &told[..] else { panic!("{edits:?}: {told:#?}") };
    assert_eq!(at, place, "{text}");
    for word in words {
        assert!(text.contains(word), "{edits:?}: {text}");
    }
}

/// Checks a vector task with another body.
#[track_caller]
fn check_body(body: &str, place: &str, words: &[&str]) {
    check(&[("h.store(gate.silu() * up.load());", body)], place, words);
}

/// The errors if launches choose up to `at_most` chunks.
fn told_of_chunks(source: &str, at_most: usize) -> String {
    let overrides: Overrides = [("CHUNKS_AT_MOST".to_owned(), at_most.into())].into_iter().collect();
    let module = &modules(source).expect("it is Rust")[0];
    let faults = front(module, &overrides).err().unwrap_or_default();
    faults.iter().map(hpmoe_core::finding::Diagnostic::text).collect::<Vec<_>>().join("\n")
}

#[test]
fn launches_choose_chunks_of_kernels_that_can_have_any_number() {
    let chunks = include_str!("../../../ui-tests/kernels/chunks.rs");
    assert_eq!([0, 1, 2, 8].map(|most| told_of_chunks(chunks, most)), [""; 4]);
    assert_eq!([KERNEL, LIBRARY].map(|source| told_of_chunks(source, 0)), [""; 2]);
    for most in [3, 16] {
        let words =
            format!("`CHUNKS_AT_MOST` is {most}, but it must be a power of two up to 8, or 0 if launches don't choose");
        assert!(told_of_chunks(chunks, most).contains(&words), "{}", told_of_chunks(chunks, most));
    }
    for (source, words) in [
        (KERNEL, "no taskflow of this kernel has chunks"),
        (
            LIBRARY,
            "the reference adds to `first` in 4 chunks `c`, but launches have up to 8 and could not add in the same order",
        ),
        (
            &ROUTED.replace("EXPERTS: usize = 8", "EXPERTS: usize = 288"),
            "288 experts in at most 8 chunks are 2,304 counts, but a kernel that makes its own route has room for 2,048",
        ),
    ] {
        assert!(told_of_chunks(source, 8).contains(words), "{}", told_of_chunks(source, 8));
    }
    assert_eq!(told_of_chunks(ROUTED, 8), "");
    let help =
        |experts| told_of_chunks(&ROUTED.replace("EXPERTS: usize = 8", &format!("EXPERTS: usize = {experts}")), 8);
    assert!(help(288).contains("build with `chunks_at_most(4)`, or take the route as a parameter"), "{}", help(288));
    assert!(help(2000).contains("build without `chunks_at_most`, or take"), "{}", help(2000));
    let made = LIBRARY
        .replace("route: &Route,", "ids: &PerRank<Tensor<i32, TOP_K>>,")
        .replace("for c in", "let route = Route::of::<EXPERTS>(ep, ids);\n        for c in");
    assert_eq!(told_of_chunks(&made, 4), "");
}

/// The reference must have as many chunks as the kernel adds parts.
#[test]
fn launches_choose_chunks_of_sums_in_as_many_parts_as_the_reference_has() {
    assert_eq!(told_of_chunks(LIBRARY, 4), "");
    let ways = "loop over `route.chunks::<1>()`, or build with `chunks_at_most(4)`";
    assert!(told_of_chunks(LIBRARY, 1).contains(ways), "{}", told_of_chunks(LIBRARY, 1));
    let five = LIBRARY.replace("CHUNKS: usize = 4", "CHUNKS: usize = 5");
    let ways = "loop over `route.chunks::<8>()`, or build without `chunks_at_most`";
    assert!(told_of_chunks(&five, 8).contains(ways), "{}", told_of_chunks(&five, 8));
}

#[test]
fn a_sum_in_chunks_that_launches_choose_is_one_product_of_rows() {
    let source = |sum: &str| {
        let task = format!(
            "    #[aic_task]
    pub fn added(
        dy: &Tile<bf16, RAGGED, TILE>,
        x: &Tile<bf16, RAGGED, TILE>,
        a: &Tile<bf16, TILE, TILE>,
        b: &Tile<bf16, TILE, TILE>,
        dw: &mut Tile<f32, TILE, TILE>,
    ) {{
        dw.accumulate({sum});
    }}

    #[taskflow]"
        );
        LIBRARY
            .replacen("    #[taskflow]", &task, 1)
            .replacen("weight_grad_onto::<TILE, TILE>(", "added(", 1)
            .replacen("        first: &mut", "        w: &PerRank<Experts<bf16, INTER, TILE>>,\n        first: &mut", 1)
            .replacen("&mut first[r]", "&w[r].expert(e).tile(m),\n&w[r].expert(e).tile(0),\n&mut first[r]", 1)
    };
    let told = told_of_chunks(&source("dy.t_matmul(x).add_matmul(a, b)"), 4);
    assert!(told.contains("`added` must add to `first` exactly one product of all rows of an expert"), "{told}");
}

#[test]
fn a_put_needs_memory_that_peers_reach() {
    let local = ("PerRank::symmetric::<bf16, HIDDEN>(ep, route)", "PerRank::ragged::<bf16, HIDDEN>(ep, route)");
    check(&[local], "recv", &["`recv` lies in memory that other ranks can't reach", "PerRank::symmetric"]);
}

/// One cause gives one error, even if nothing in the module can be understood without it.
#[test]
fn a_module_that_uses_nothing_is_told_to_use_the_prelude() {
    let prelude = "pub mod ffn {\n    use hpmoe_runtime::prelude::*;\n";
    let words =
        ["kernel `ffn` imports nothing from `hpmoe_runtime`", "begin the module with `use hpmoe_runtime::prelude::*;`"];
    check(&[(prelude, "pub mod ffn {\n")], "ffn", &words);
    for used in ["use super::*;", "use hpmoe_runtime as runtime;", "pub type Tokens = hpmoe_runtime::Tokens;"] {
        assert_eq!(told(KERNEL, &[(prelude, &format!("pub mod ffn {{\n    {used}\n"))]), [], "{used}");
    }
}

#[test]
fn a_taskflow_without_its_marker_is_named() {
    let words =
        ["has no taskflow, and `forward`, which takes the ranks, has no marker", "mark `forward` with `#[taskflow]`"];
    check(&[("    #[taskflow]\n", "")], "forward", &words);
    // Taskflows of the library are parts of others, so the module still lacks its own taskflow.
    let library = (
        "use hpmoe_runtime::prelude::*;",
        "use hpmoe_runtime::prelude::*;\n    use hpmoe_runtime::taskflows::project_rows;",
    );
    let begin = KERNEL.find("pub mod ffn {").unwrap();
    let told = told(&KERNEL[begin - "#[megakernel]\n".len()..], &[library, ("    #[taskflow]\n", "")]);
    let [(at, text)] = &told[..] else { panic!("{told:#?}") };
    assert!(at == "forward" && text.contains(words[1]), "{at}: {text}");
}

#[test]
fn a_marker_under_a_condition_is_refused_where_it_stands() {
    let conditional = "#[cfg_attr(all(), inline, aiv_task)]";
    for marker in ["#[aiv_task]", "#[taskflow]"] {
        let edited = conditional.replace("aiv_task", &marker[2..marker.len() - 1]);
        let told = told(KERNEL, &[(marker, &edited)]);
        assert!(
            told[0].0 == edited && told[0].1.contains("the build script can't tell what rustc will keep"),
            "{told:?}"
        );
    }
}

#[test]
fn a_missing_send_is_a_tensor_that_nothing_writes() {
    let begin = ROUTED.find("        for src in ep {").unwrap();
    let send = &ROUTED[begin..begin + ROUTED[begin..].find("        for r in ep {").unwrap()];
    let layer = told(ROUTED, &[(send, "")]);
    assert!(
        !layer.is_empty() && layer.iter().all(|(_, text)| text.contains("`recv` is read, but no call writes it")),
        "{layer:?}"
    );
}

#[test]
fn a_static_is_told_once_to_be_a_constant() {
    let size = ("pub const HIDDEN: usize = 128;", "pub static HIDDEN: usize = 128;");
    check(&[size], size.1, &["`HIDDEN` is a `static`, but kernels use constants only", "write `const HIDDEN`"]);
    let count = (
        "pub const HIDDEN",
        "pub static STARTS: std::sync::Mutex<u32> = std::sync::Mutex::new(0);\n    pub const HIDDEN",
    );
    assert_eq!(told(KERNEL, &[count]), []);
}

/// If the call that sends rows has an error of its own, the call that gives rows back is not also blamed for a missing
/// send.
#[test]
fn a_send_with_a_fault_is_the_only_fault() {
    let chunked = include_str!("../../../ui-tests/kernels/chunks.rs");
    let of_chunks = [
        ("let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, &c);", ""),
        ("let weight = PerRank::symmetric::<f32, 1>(ep, &c);", ""),
    ];
    let of_route = [("let recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);", "")];
    for (source, edits) in [(ROUTED, &of_route[..]), (chunked, &of_chunks[..])] {
        let told = told(source, edits);
        assert!(!told.is_empty() && told.iter().all(|(_, text)| text.contains("no tensor is called")), "{told:?}");
    }
}

#[test]
fn advice_leads_nowhere_back() {
    let put = "rows.put(tokens);";
    check(&[(put, "rows.store(tokens.load());")], "load", &["a put copies rows unchanged", "write `to.put(from);`"]);
    // The advice for the first mistake must not lead to the second.
    let marker = "#[comm_put]\n    pub fn dispatch";
    let vector = [(marker, "#[aiv_task]\n    pub fn dispatch"), (put, "rows.store(tokens.load());")];
    let told = told(KERNEL, &vector);
    assert!(!told.is_empty() && told.iter().all(|(_, text)| !text.contains("mark `dispatch`")), "{told:?}");
    let loaded = ("x.matmul_t(w)", "x.load().matmul_t(w)");
    check(&[loaded], "load", &["matrix cores have no `load`", "products take tiles as they are: leave out `.load()`"]);
    let marked = ("#[aic_task]", "#[aiv_task]");
    check(
        &[loaded, marked],
        "matmul_t",
        &["vector cores have no `matmul_t`", "a task of its own, marked `#[aic_task]`"],
    );
    check(&[("y.store(x.matmul_t(w));", "y.store(x.load().silu());")], "load", &["mark the task `#[aiv_task]`"]);
}

#[test]
fn relu_of_a_product_is_the_last_before_the_store() {
    let stored = |value: &str| told(KERNEL, &[("y.store(x.matmul_t(w));", &format!("y.store({value});"))]);
    assert!(stored("x.matmul_t(w).relu()").is_empty());
    for (value, at) in
        [("x.matmul_t(w).relu().relu()", "relu"), ("x.matmul_t(w).relu().add_matmul_t(x, w)", "add_matmul_t")]
    {
        let told = stored(value);
        let [(place, text)] = &told[..] else { panic!("{value}: {told:#?}") };
        assert!(place == at && text.contains(&format!("`{at}` uses its result")), "{value}: {place}: {text}");
        assert!(text.contains("compute the rest in an #[aiv_task]"), "{text}");
    }
}

#[test]
fn constants_of_other_types_are_known() {
    let needs = ["`EXPERTS` is of type u32, but sizes are of type usize", "declare it as `const EXPERTS: usize`"];
    check(&[("EXPERTS: usize", "EXPERTS: u32")], "EXPERTS", &needs);
    check(&[("EXPERTS: usize = 4", "EXPERTS: f32 = 4.0")], "EXPERTS", &["`EXPERTS` is of type f32"]);
    let told = told(KERNEL, &[("INTER: usize", "INTER: i64")]);
    assert!(
        told.len() > 3 && told.iter().all(|(at, text)| at == "INTER" && text.contains("is of type i64")),
        "{told:?}"
    );
    let limit = ("pub const INTER", "const LIMIT: f64 = 7.0;\n    pub const INTER");
    let body = ("gate.silu()", "gate.at_most(LIMIT)");
    check(&[limit, body], "LIMIT", &["`LIMIT` is of type f64, but numbers of a task are of type f32"]);
    check(&[("PUT: usize = 16", "PUT: usize = -16")], "-16", &["can't be negative"]);
}

#[test]
fn element_types_are_named() {
    let known = "use one of `bf16`, `f16`, `f32`, `i32`, `i8`, `i4x2`";
    check(&[("tokens: &Tile<bf16,", "tokens: &Tile<fp16,")], "fp16", &["elements of type `fp16`", known]);
    check(&[("x: &PerRank<Tensor<bf16,", "x: &PerRank<Tensor<f64,")], "f64", &["elements of type `f64`", known]);
    check(&[("PerRank::ragged::<bf16,", "PerRank::ragged::<half,")], "half", &["elements of type `half`", known]);
    check_body("h.store(gate.cast::<f64>());", "cast", &["`f64` is not an element type", "cast::<bf16>()"]);
}

#[test]
fn an_index_is_a_variable_or_a_constant() {
    let computed = ["is computed from the loop variable `n`", "write `n` or `n` plus a constant"];
    check(&[(".tile(n)", ".tile(n * 2)")], "n * 2", &computed);
    check(&[(".tile(n)", ".tile(n + n)")], "n + n", &computed);
    check(&[(".tile(n)", ".tile(m)")], "m", &["`m` is not the variable of a range"]);
}

#[test]
fn tiles_at_a_constant_distance_stay_inside_and_in_order() {
    let up_written = "&mut both[r].group(e, m).cols(n + TILES)";
    let up_read = "&both[r].group(e, m).cols(TILES + n)";
    let first = "gate_up[r].expert(e).tile(n + TILES)";
    for (from, to, words) in [
        (first, "gate_up[r].expert(e).tile(n + TILES * n)", "is computed from the loop variable `n`"),
        (
            first,
            "gate_up[r].expert(e).tile(n + TILES + 1)",
            "tile 12 of 32 rows starts after the 384 rows of `gate_up`",
        ),
        (first, "gate_up[r].expert(e).tile(n + LAYERS)", "no constant is called `LAYERS`"),
        // Later iterations write these columns.
        (up_read, "&both[r].group(e, m).cols(n + 1)", "`both`"),
        (up_read, "&both[r].group(e, m).cols(n + (TILES - 1))", "`both`"),
        // The first call writes these columns.
        (up_written, "&mut both[r].group(e, m).cols(n + 5)", "`both`"),
        // Nothing writes the last columns that are read.
        (up_written, "&mut both[r].group(e, m).cols(n + (TILES - 1))", "`both`"),
    ] {
        let told = told(FUSED, &[(from, to)]);
        assert!(told.iter().any(|(_, text)| text.contains(words)), "{to}: {told:#?}");
    }
    assert!(told(FUSED, &[(up_read, "&both[r].group(e, m).cols(TILES / 2 + (n + 3))")]).is_empty());
}

#[test]
fn what_rows_a_tensor_has_is_told_where_others_are_named() {
    let matrices = ["rows of `gate`, which has a matrix for each expert of the rank", "take `.expert(e)`"];
    check(&[("&gate[r].expert(e).tile(n)", "&gate[r].tile(n)")], "gate", &matrices);
    let received = ["rows of `g`, which has a row for each token received", "take `.group(e, m)` of a row tile"];
    check(&[("&mut g[r].group(e, m).cols(n)", "&mut g[r].cols(n)")], "g", &received);
    let tokens = [
        "rows of `weights`, which has a row for each token of the rank",
        "`.rows(t)` of a token block",
        "use a `Matrix`",
    ];
    check(&[("&weights[r].rows(t)", "&weights[r].tile(0)")], "weights", &tokens);
}

#[test]
fn what_is_to_be_written_is_told() {
    let told_of = |source, edit| told(source, &[edit]).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    let sizes = told_of(ROUTED, ("project::<TILE_N, _, _>(", "project("));
    assert!(sizes[0].contains("state it in the call: `project::<N, _, _>(..)`, with a size for `N`"), "{sizes:#?}");
    let ranks = told_of(KERNEL, ("ep: Ranks", "ep: &Ranks"));
    assert!(ranks[0].contains("write `ep: Ranks`, `route: &Route`, and tensors as `name: &PerRank"), "{ranks:#?}");
}

#[test]
fn a_number_is_not_an_expert() {
    let told = told(KERNEL, &[("for e in route.experts_of(r)", "for e in 0..EXPERTS")]);
    assert_eq!(told.len(), 4, "{told:#?}");
    for (_, text) in told {
        for words in ["the loop over `m` needs an expert, but `e` is not one", "`for e in route.experts_of(r)`"] {
            assert!(text.contains(words), "{text}");
        }
    }
}

#[test]
fn loops_have_named_variables_and_known_ranges() {
    check_body("for _ in 0..16 { h.store(gate); }", "_", &["a loop has one variable", "name it"]);
    check_body("for i in [1, 2] { h.store(gate); }", "[1, 2]", &["runs over a constant range"]);
    check_body("for i in 0..=16 { h.store(gate); }", "0..=16", &["the second one excluded"]);
    let range = "0..INTER.div_ceil(TILE_N)";
    check(&[(range, "1..4")], "1..4", &["begins at 0 and excludes its end"]);
    check(&[("row_tiles::<TILE_M>(e)", "row_tile::<TILE_M>(e)")], "row_tile", &["did you mean `row_tiles`?"]);
    let sends = ("sends::<PUT>(src, e)", "sends(src, e)");
    check(&[sends], "route.sends(src, e)", &["write `route.sends::<ROWS>(r, e)`"]);
}

#[test]
fn tasks_assign_only_by_name_and_have_no_conditions_or_calls() {
    check_body("let mut s = gate; up = s; h.store(s);", "up", &["tiles can't be assigned"]);
    check_body("let mut s = gate; s = s.row_sum(); h.store(s);", "s", &["`s` is a value of", "keeps its size"]);
    check_body("let mut s = 1.0; s += gate; h.store(s * gate);", "s", &["a number only a number"]);
    check_body("let mut s = gate.row_sum(); s += gate; h.store(s);", "+=", &["write the larger one on the left"]);
    check_body("up += gate; h.store(gate);", "+=", &["`+` takes"]);
    check_body("let mut s = 1.0; s = gate; h.store(s * gate);", "s", &["a number only a number"]);
    check_body(
        "let mut s = gate; h.store(s += 1.0);",
        "+=",
        &["a task assigns values to names of `let mut`, by `=`, `+=`"],
    );
    check_body("if true { h.store(gate); }", "if true { h.store(gate); }", &["a task has no conditions"]);
    check_body("h.store(half(gate));", "half", &["no function of this kernel module is called `half`"]);
    check_body("h.store(gate % 2.0);", "%", &["values have no operator `%`"]);
}

#[test]
fn helper_functions_take_values_and_return_some() {
    let with = |functions: &str, body: &str, place: &str, words: &[&str]| {
        let functions = format!("{functions}\n    #[aiv_task]\n    pub fn swiglu");
        let kernel =
            [("#[aiv_task]\n    pub fn swiglu", functions.as_str()), ("h.store(gate.silu() * up.load());", body)];
        check(&kernel, place, words);
    };
    let half = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> { x * 0.5 }";
    let of_gate = "h.store(half(&gate) * up.load());";
    with(
        half,
        "h.store(halfs(&gate) * up.load());",
        "halfs",
        &["no function of this kernel module", "did you mean `half`?"],
    );
    with(half, "h.store(half(&gate, 1.0) * up.load());", "half", &["takes 1 argument, but 2 arguments are passed"]);
    with(half, "h.store(half(up) * up.load());", "half", &["takes a value for `x`, but this is a tile", "load"]);
    with(half, "h.store(half(0.5) * up.load());", "half", &["takes a value for `x`, but this is a number", "f32"]);
    with(
        half,
        "h.store(half::<4>(&gate) * up.load());",
        "half",
        &["has 2 const arguments, but the call writes 1 const argument"],
    );
    with(half, "h.store(math::half(&gate) * up.load());", "math::half", &["of its kernel module only"]);
    with(half, "h.store(half!(&gate) * up.load());", "half!(&gate)", &["a task calls no macros"]);
    with("", "h.store(project(&gate) * up.load());", "project", &["`project` is a task"]);
    let fixed = "fn half(x: &Value<4, 8>) -> Value<4, 8> { x * 0.5 }";
    with(fixed, of_gate, "half", &["`x` of `half` is a value of 4x8", "const R: usize, const C: usize"]);
    let scaled = "fn half<const R: usize, const C: usize>(x: &Value<R, C>, by: f32) -> Value<R, C> { x * by }";
    with(scaled, "h.store(half(&gate, &gate) * up.load());", "half", &["takes a number for `by`"]);
    let hidden =
        "fn half<const R: usize, const C: usize, const N: usize>(x: &Value<R, C>) -> Value<R, C> { x * (N as f32) }";
    with(hidden, of_gate, "half", &["no argument of `half` has the size `N`"]);
    let itself = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> { twice(x) }\n    \
                  fn twice<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> { half(x) }";
    with(itself, of_gate, "half", &["`half` calls itself, or another function that does"]);
    let tile = "fn half<const R: usize, const C: usize>(x: &Tile<f32, R, C>) -> Value<R, C> { x.load() * 0.5 }";
    with(tile, of_gate, "x: &Tile<f32, R, C>", &["takes values and numbers", "tiles are loaded before the call"]);
    let typed = "fn half<T: Float>(x: &Value<4, 8>) -> Value<4, 8> { x * 0.5 }";
    with(typed, of_gate, "T: Float", &["generic over constants only"]);
    let without = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) { x * 0.5; }";
    with(without, of_gate, "half", &["returns values and numbers"]);
    let early = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> { return x * 0.5; }";
    with(early, of_gate, "}", &["returns values and numbers", "without `return`"]);
    let pair = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> (Value<R, C>, f32) { x * 0.5 }";
    with(pair, of_gate, "(Value<R, C>, f32)", &["returns values and numbers"]);
    let pair = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> (Value<R, C>, f32) { (x * 0.5, 0.5) }";
    with(pair, of_gate, "half", &["`half` returns 2 results", "let (a, b) = half(…);"]);
    let three = "let (a, b, c) = half(&gate); h.store(a * up.load());";
    with(pair, three, "(a, b, c)", &["3 names for 2 results"]);
    with("", "let (a, b) = gate.silu(); h.store(a * up.load());", "(a, b)", &["2 names for 1 result"]);
    with(pair, "let (a, [b]) = half(&gate); h.store(a * up.load());", "(a, [b])", &["or each result of a function"]);
    let unit = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> () { () }";
    with(unit, of_gate, "()", &["returns values and numbers"]);
    let wrong = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> { x.halve() }";
    with(wrong, of_gate, "halve", &["no operation is called `halve`"]);
}

#[test]
fn other_functions_of_a_module_are_any_rust() {
    let function =
        "fn oracle(x: Vec<f64>) -> Option<f64> { x.into_iter().reduce(f64::max) }\n    #[aiv_task]\n    pub fn swiglu";
    assert!(told(KERNEL, &[("#[aiv_task]\n    pub fn swiglu", function)]).is_empty());
}

#[test]
fn columns_and_rows_of_values_are_there() {
    check_body(
        "h.store(gate.top_k());",
        "top_k",
        &["is given a value", "sizes are const arguments: `x.top_k::<TOP_K>()`"],
    );
    check_body("h.store(gate.top_k::<40>());", "top_k", &["can't choose 40 of 32 columns", "choose from 1 to 32"]);
    check_body("h.store(gate.columns::<8>(25));", "columns", &["a value of 32 columns doesn't have"]);
    check_body("h.store(gate.columns::<32>(up));", "up", &["`up`"]);
    check_body("h.store(gate.columns::<32>(0.0));", "0.0", &["whole"]);
    check_body("h.store(gate.concat(&gate));", "store", &["32x64"]);
    check_body(
        "h.store(gate.concat(gate.row_sum().reshape::<1, 32>()));",
        "reshape",
        &["must be a multiple of 32, the rows of the smallest tile"],
    );
    check_body("h.store(gate.reshape::<8, 32>());", "reshape", &["`reshape` keeps all numbers"]);
    check_body("h.store(gate.place::<32>(gate.row_sum()));", "place", &["an id for each number"]);
    let whole = [
        "matrix cores store products of floating-point tiles as bf16, f16 or f32, but `y` is a tile of i32",
        "in an #[aiv_task]",
    ];
    check(&[("y: &mut Tile<bf16, TILE_M, TILE_N>", "y: &mut Tile<i32, TILE_M, TILE_N>")], "store", &whole);
}

#[test]
fn operations_are_told_by_what_there_is() {
    check_body("h.store(gate.max(0.0));", "max", &["is given a value and a number", "is `.at_least(number)`"]);
    check_body("h.store(gate.clone());", "clone", &["no operation is called `clone`", "leave it out"]);
    check_body("h.store(gate.swish());", "swish", &["no operation is called `swish`", "write `x.silu()`"]);
    check_body("h.store(gate.ceil());", "ceil", &["write `-(-&x).floor()`"]);
    check_body("h.store(gate.lt(up.load()));", "lt", &["`a.less(b)`"]);
    check_body("h.store(gate.erf());", "erf", &["compute it outside the kernel"]);
    check_body("h.store(gate.topk(2));", "topk", &["`x.top_k::<K>()` gives the ids", "`x.pick(&ids)`"]);
    check_body("h.store(gate.gather(up.load()));", "gather", &["`x.pick(&ids)`"]);
    check_body("h.store(gate.slice(0, 8));", "slice", &["`x.columns::<WIDTH>(first)`"]);
    check_body("h.store(gate.sillu());", "sillu", &["did you mean `silu`?"]);
    check_body("h.store(gate.argsrt());", "argsrt", &["the operations are `load`, "]);
}

#[test]
fn arguments_are_told_part_by_part() {
    let tile = "&recv[r].group(e, m)";
    check(&[(tile, "recv[r].group(e, m)")], "recv[r].group(e, m)", &["a reference to a tile", "`&mut`"]);
    check(&[(tile, "&recv.group(e, m)")], "recv", &["which rank's part of `recv`", "`recv[r]`"]);
    check(&[(tile, "&recv[0].group(e, m)")], "0", &["a loop over ranks"]);
    check(&[(tile, "&recv[r].grup(e, m)")], "grup", &["did you mean `group`?"]);
    check(&[(tile, "&recv[r].group(m)")], "group", &["write `.group(e, m)`"]);
    check(&[(tile, "&recv[r].group(e, k)")], "group", &["no loop variable is called `k`"]);
    check(&[(tile, "&recv[q].group(e, m)")], "recv", &["no loop variable is called `q`"]);
    check(&[(tile, "&recv[r].group(e, n)")], "group", &["`.group(e, m)` takes an expert and its row tile"]);
    let constructor = ["no constructor of a tensor is called `raged`", "did you mean `ragged`?"];
    check(&[("PerRank::ragged", "PerRank::raged")], "raged", &constructor);
    let tensor = "PerRank::slots::<bf16, HIDDEN>(ep, route)";
    check(
        &[(tensor, "PerRank::slots::<bf16, HIDDEN>(route)")],
        "PerRank::slots::<bf16, HIDDEN>(route)",
        &[tensor_form()],
    );
}

fn tensor_form() -> &'static str {
    "write `PerRank::slots::<bf16, COLS>(ep, route)`"
}

#[test]
fn functions_that_are_no_tasks_are_told_apart() {
    let plain = [("#[aiv_task]\n    pub fn swiglu", "pub fn swiglu")];
    check(&plain, "swiglu", &["`swiglu` is a function without a marker", "`#[aiv_task]`"]);
    let told = told(KERNEL, &[("swiglu(&g[r]", "forward(&g[r]")]);
    assert!(told[0].1.contains("taskflow `forward` calls itself"), "{told:?}");
}

#[test]
fn a_faulty_tensor_is_told_once() {
    let wide = ("let g = PerRank::ragged::<bf16, INTER>", "let g = PerRank::ragged::<bf16, 99999999>");
    check(&[wide], "g", &["`g` has 99999999 columns"]);
}

#[test]
fn an_update_in_place_is_called_one() {
    let update = ("&mut h[r].group(e, m).cols(n));", "&mut u[r].group(e, m).cols(n));");
    let told = told(KERNEL, &[update]);
    assert!(told.iter().any(|(at, text)| at == "swiglu" && text.contains("`u` is updated in place")), "{told:?}");
    assert!(told.iter().all(|(_, text)| !text.contains("order")), "{told:?}");
}

#[test]
fn faults_in_tasks_of_the_library_are_at_the_call() {
    let lines = |edit: (&str, &str)| -> Vec<(bool, String)> {
        let source = LIBRARY.replacen(edit.0, edit.1, 1);
        let flow = source.lines().position(|line| line.contains("#[taskflow]")).expect("there is a taskflow");
        let faults = front(&modules(&source).expect("it is Rust")[0], &Overrides::new()).err().unwrap_or_default();
        faults.iter().map(|fault| (fault.at.start().line > flow, fault.text())).collect()
    };
    // A row of a put that doesn't fit its core, and a body that doesn't fit its tiles.
    for edit in [("HIDDEN: usize = 24", "HIDDEN: usize = 100000"), ("SLOTS: usize = BLOCK * TOP_K", "SLOTS: usize = 3")]
    {
        let told = lines(edit);
        assert!(!told.is_empty() && told.iter().all(|(in_flow, _)| *in_flow), "{edit:?}: {told:#?}");
    }
}

#[test]
fn tensors_that_nothing_reads_are_known() {
    let unread = "swiglu(&g[r].group(e, m).cols(n), &u[r].group(e, m).cols(n), &mut extra[r].group(e, m).cols(n));";
    let source = KERNEL
        .replace("let back =", "let extra = PerRank::ragged::<bf16, INTER>(ep, route);\n        let back =")
        .replacen("swiglu(&g[r]", &format!("{unread}\n{}swiglu(&g[r]", ""), 1);
    let module = &modules(&source).expect("it is Rust")[0];
    let front = front(module, &Overrides::new()).unwrap_or_else(|faults| panic!("{}", faults[0].text()));
    let names: Vec<&str> = front.flows[0].unread().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(names, ["extra"]);
}

/// Tiles of an outer tile of a matrix: indices without such a tile, and tiles that would cross its border.
#[test]
fn tiles_of_a_tile_stay_inside() {
    let told = |accessor: &str| {
        let gate = "&gate_up[r].expert(e).tile(n)";
        told(FUSED, &[(gate, &format!("&gate_up[r].expert(e){accessor}"))])
    };
    assert_eq!(told(".tile::<INTER>(1).tile(n)"), []);
    assert_eq!(told(".tile::<{ 2 * INTER }>(0).tile::<INTER>(0).tile(n)"), []);
    for (accessor, problem, help) in [
        (
            ".tile::<INTER>(2).tile(n)",
            "tile 2 of 192 rows starts after the 384 rows of `gate_up`",
            "choose an index below 2",
        ),
        (
            ".tile::<96>(0).tile(n)",
            "tile 3 of 32 rows starts after the 96 rows of the tile that it is cut from, in `gate_up`",
            "end the range at 3",
        ),
        (
            ".tile::<INTER>(0).tile(n + TILES)",
            "tile 11 of 32 rows starts after the 192 rows of the tile",
            "choose an index below 6",
        ),
        (".tile(1).tile(n)", "doesn't state its number of rows", ".tile::<ROWS>(0).tile(n)"),
        (".tile::<32>(n).tile(0)", "a range selects the outer tile of 32 rows", "with a constant"),
        (
            ".tile::<0>(0).tile(n)",
            "a tile of 0 rows can't be taken from the 384 rows of `gate_up`",
            "from 1 to 384 rows",
        ),
        (
            ".tile::<385>(0).tile(n)",
            "a tile of 385 rows can't be taken from the 384 rows of `gate_up`",
            "from 1 to 384 rows",
        ),
        (".tile::<OUTER>(0).tile(n)", "no constant is called `OUTER`", "declare the constant"),
    ] {
        let told = told(accessor);
        let [(_, text)] = &told[..] else { panic!("{accessor}: {told:#?}") };
        assert!(text.contains(problem) && text.contains(help), "{accessor}: {text}");
    }
}

/// Calls that write different rows of experts' matrices don't conflict. A read needs all rows that it reads.
#[test]
fn rows_of_experts_matrices_have_one_writer() {
    let stacked = include_str!("../../../ui-tests/kernels/stacked.rs");
    assert_eq!(told(stacked, &[]), []);
    let second = "gradient[r].expert(e).tile::<INTER>(0)";
    let twice = told(stacked, &[(second, "gradient[r].expert(e).tile::<INTER>(1)")]);
    assert!(matches!(&twice[..], [(_, text)] if text.contains("written here a second time")), "{twice:#?}");
    // Two of three tiles of each half.
    let short = told(stacked, &[("for m in 0..INTER.div_ceil(TILE_N) {", "for m in 0..2 {")]);
    assert!(matches!(&short[..], [(_, text)] if text.contains("rows 64 to 80 of `products` are read")), "{short:#?}");
}

/// A loop over tiles of an expert's rows has an order, like a loop over columns.
#[test]
fn rows_that_later_iterations_write_are_not_read() {
    let stacked = include_str!("../../../ui-tests/kernels/stacked.rs");
    let told = |read: &str| {
        let task = "    #[aiv_task]
    pub fn copied(a: &Tile<bf16, 16, TILE_N>, b: &mut Tile<bf16, 16, TILE_N>) {
        b.store(a.load());
    }

    #[taskflow]";
        let other = "let products = PerRank::experts::<bf16, { 2 * INTER }, HIDDEN>(ep, route);";
        let both = format!("{other} {}", other.replace("let products", "let other"));
        let call = "                        weight_grad::";
        let copied = format!(
            "copied(&products[r].expert(e){read}.cols(n), &mut other[r].expert(e).tile::<INTER>(0).tile(m).cols(n)); {call}"
        );
        told(stacked, &[("    #[taskflow]", task), (other, &both), (call, &copied)])
    };
    assert_eq!(told(".tile::<INTER>(0).tile(m)"), []);
    let late = told(".tile::<INTER>(0).tile(2)");
    assert!(
        matches!(&late[..], [(_, text)] if text.contains("in the loop over `m`, whose later iterations")),
        "{late:#?}"
    );
}

/// If an operation takes no whole number, passing one is an error about the operation, not about the number's type.
#[test]
fn sizes_are_const_arguments() {
    check_body(
        "h.store(gate.fold_rows(TILE_M));",
        "fold_rows",
        &[
            "`fold_rows` takes its sizes as const arguments, but `TILE_M` is passed as a value",
            "write `fold_rows::<TILE_M>(..)`",
        ],
    );
    check_body("h.store(gate.top_k(2));", "top_k", &["`top_k` takes its sizes", "`top_k::<2>(..)`"]);
    check_body("h.store(gate.softmax(1));", "softmax", &["takes a value, but is given a value and a size"]);
    check_body("h.store(gate.at_least(1));", "1", &["write `1.0`"]);
    check_body("h.store(gate.at_least(TILE_M));", "TILE_M", &["write `(TILE_M as f32)`"]);
    check_body("h.store(gate as i32);", "gate as i32", &["this converts to i32", "a store rounds"]);
}

/// An error about an argument of a library's taskflow is shown at the call, not where the module imports the taskflow.
#[test]
fn faults_of_library_taskflows_are_those_of_their_calls() {
    let training = &with_small_tiles(include_str!("../../../examples/train_moe.rs"));
    let call = "project_rows::<TILE_M, TILE_N, _, _>(ep, route, recv, gate, g);";
    let wrong = told(training, &[(call, "project_rows::<TILE_M, 100000, _, _>(ep, route, recv, gate, g);")]);
    assert!(!wrong.is_empty());
    assert!(wrong.iter().all(|(at, _)| at == "project_rows::<TILE_M, 100000, _, _>"), "{wrong:#?}");
    // A name that the library does not have hides none of the other errors.
    let misspelt = told(training, &[("dispatch_tokens,", "dispatch_token,")]);
    let texts: Vec<&str> = misspelt.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        texts.len() > 1
            && texts.iter().all(|text| text.contains("dispatch_token"))
            && texts.iter().any(|text| text.contains("did you mean `dispatch_tokens`?")),
        "{texts:#?}"
    );
    // The module does not declare the tasks that a taskflow imports.
    let brought = told(training, &[("taskflows::{", "tasks::{project, projects}; use hpmoe_runtime::taskflows::{")]);
    let texts: Vec<&str> = brought.iter().map(|(_, text)| text.as_str()).collect();
    assert!(matches!(texts[..], [text] if text.contains("no task of the library is called `projects`")), "{texts:#?}");
}

#[test]
fn forms_that_no_body_has_are_named() {
    for (body, place, words) in [
        ("return; h.store(gate);", "return", ["no `return`", "ends with its last statement"]),
        ("let f = |v| v * 2.0; h.store(f(gate));", "|v| v * 2.0", ["no closures", "declare a function in the module"]),
        ("{ h.store(gate); }", "{ h.store(gate); }", ["no blocks", "in the body itself"]),
        ("loop { h.store(gate); }", "loop { h.store(gate); }", ["no `loop` and `while`", "for i in 0..COUNT"]),
        ("for i in 0..2 { break; } h.store(gate);", "break", ["no `break` and `continue`", "the range of the loop"]),
        ("h.store(gate[0]);", "gate[0]", ["no brackets", "`x.columns::<WIDTH>(first)`"]),
        ("h.store(gate * gate.rows);", "gate.rows", ["no fields", "write sizes as constants"]),
        ("h.store(gate?);", "gate?", ["no `?`", "operations have no errors"]),
        ("let (a, b) = (gate, up.load()); h.store(a * b);", "(gate, up.load())", ["no tuples", "`let` for each value"]),
        ("h.store(gate.at_most(f32::MAX));", "f32::MAX", ["no names of other modules", "such as `3.0e38`"]),
        ("h.store(gate.silu() as f32);", "gate.silu() as f32", ["`as` doesn't convert values", "values are f32"]),
        (
            "h.store((gate.silu()) as bf16);",
            "(gate.silu()) as bf16",
            ["`as` doesn't convert values", "`.cast::<bf16>()`"],
        ),
    ] {
        check_body(body, place, &words);
    }
    // A size can be converted.
    let size = ("h.store(gate.silu() * up.load());", "h.store(gate * (INTER.div_ceil(TILE_N) as f32) * up.load());");
    assert_eq!(told(KERNEL, &[size]), []);
}

/// A fault that only a value of the build causes names the constant, its value, and the values that are possible.
#[test]
fn values_that_a_build_sets_are_named_with_their_limits() {
    let told = |source: &str, settings: &str| -> Vec<String> {
        let module = &modules(source).expect("it is Rust")[0];
        let faults = front(module, &parse_settings(settings).expect("settings")).err().unwrap_or_default();
        faults.iter().map(hpmoe_core::finding::Diagnostic::text).collect()
    };
    for (settings, problem, help) in [
        ("TILE_N=0", "by zero in a constant: `TILE_N` is 0", "choose a value of at least 1 for `TILE_N`"),
        ("TILE_M=0", "0 rows of a row tile are out of range", "choose a value from 1 to 65,535 for `TILE_M`"),
        ("TILE_M=-16", "sets it to -16 [", "set `TILE_M` to a whole number from 1 to 65,535"),
        (
            "TILE_M=99999999999999999999",
            "sets it to more than 18,446,744,073,709,551,615",
            "set `TILE_M` to a whole number from 1 to 65,535",
        ),
        ("TILE_M=16.0", "sets it to 16.0", "set `TILE_M` to 16, without a decimal point"),
        ("TILE_M=0.0", "sets it to 0.0", "set `TILE_M` to a whole number from 1 to 65,535"),
        ("TILE_M=1e6", "sets it to 1000000.0", "set `TILE_M` to a whole number from 1 to 65,535"),
        ("INTER=-0.5", "sets it to -0.5", "set `INTER` to a whole number without a minus sign"),
        ("INTER=-0", "sets it to -0 [", "set `INTER` to a whole number without a minus sign"),
        (
            "INTER=99999999999999999999",
            "sets it to more than 18,446,744,073,709,551,615",
            "set `INTER` to a whole number of at most 18,446,744,073,709,551,615",
        ),
        ("HIDDEN=0", "`x` has 0 columns", "choose a value from 1 to 16,777,216 for `HIDDEN`"),
        ("INTER=0", "0 iterations of a range", "choose constants that give `INTER.div_ceil(TILE_N)` a value from 1 to"),
        ("TOKENS=0", "`TOKENS` is 0", "choose a value of at least 1 for `TOKENS`"),
        ("TOP_K=99", "`TOP_K` is 99", "choose a value from 1 to 4 for `TOP_K`, or of at least 99 for `EXPERTS`"),
        ("TOP_K=3000", "`TOP_K` is 3000", "choose a value from 1 to 4 for `TOP_K`, or of at least 3,000 for `EXPERTS`"),
        ("EXPERTS=70000", "`EXPERTS` is 70000", "choose a value from 1 to 65,535 for `EXPERTS`"),
        ("TOKENS=4000000000", "exceed 32 bits", "choose a value from 1 to 1,073,741,823 for `TOKENS`"),
    ] {
        let told = told(KERNEL, settings);
        let fits = |text: &String| text.contains(problem) && text.contains(&format!("help: {help}"));
        assert!(told.iter().any(fits), "{settings}: {told:#?}");
    }
    for (settings, last) in [
        // A range that begins with 0 would be wrong: other checks refuse 0.
        ("HIDDEN=7.5", "help: set `HIDDEN` to a whole number"),
        // More experts than possible are not a way out.
        ("TOP_K=3000000000,EXPERTS=65535", "help: choose a value from 1 to 65,535 for `TOP_K`"),
        ("TOP_K=80000,EXPERTS=70000", "help: choose a value from 1 to 65,535 for `TOP_K`"),
    ] {
        let told = told(KERNEL, settings);
        assert!(told.iter().any(|text| text.trim_end().ends_with(last)), "{settings}: {told:#?}");
    }
    // The text that is wrong is in the library, and not at the call.
    let unpacking = include_str!("../../../examples/moe_w4a8.rs");
    let told = told(&with_small_tiles(unpacking), "HIDDEN=101,GROUP=1,INTER=64");
    assert!(
        matches!(&told[..], [text, ..] if text.contains("in the library's `unpack_to_i8`: `unpack::<K>` states a different size than the 100 \
        columns that it makes here: `K` is 101") && text.contains("help: pass tensors whose sizes make `K` 100")),
        "{told:#?}"
    );
}

#[test]
fn sizes_are_shown_as_in_the_source() {
    let size = |written: &str, shown: &str| {
        let told = told(KERNEL, &[("for n in 0..INTER.div_ceil(TILE_N) {", &format!("for n in {written} {{"))]);
        let help = format!("help: choose constants that give `{shown}` a value from 1 to 65,535");
        assert!(told.iter().any(|(_, text)| text.contains(&help)), "{told:#?}");
    };
    size("0..(INTER >> 20)", "INTER >> 20");
    size("0..INTER << 20", "INTER << 20");
    size("0..(INTER >> (TOP_K << 1)).min(0)", "(INTER >> (TOP_K << 1)).min(0)");
    size("0..(INTER - INTER) * (TOP_K + 1)", "(INTER - INTER) * (TOP_K + 1)");
}

#[test]
fn a_range_can_be_in_parentheses() {
    assert_eq!(told(KERNEL, &[("for n in 0..INTER.div_ceil(TILE_N) {", "for n in (0..INTER.div_ceil(TILE_N)) {")]), []);
}

#[test]
fn what_a_constant_cannot_be_is_named() {
    let inter = |value: &str, place: &str, words: &[&str]| {
        let edit = format!("pub const INTER: usize = {value};\n    pub const OTHER: usize = 64;");
        check(&[("pub const INTER: usize = 64;", &edit)], place, words);
    };
    inter("usize::MAX + 1", "usize::MAX", &["`usize::MAX` is not a constant of this module"]);
    inter("super::WIDTH", "super::WIDTH", &["`super::WIDTH` is not a constant of this module"]);
    inter("64 / (TOP_K - TOP_K)", "64 / (TOP_K - TOP_K)", &["`/` by zero in a constant: `TOP_K - TOP_K` is 0"]);
    inter("64 % (TOP_K - TOP_K)", "64 % (TOP_K - TOP_K)", &["`%` by zero in a constant: `TOP_K - TOP_K` is 0"]);
    let help = "help: choose constants that give `TOP_K - TOP_K` a value of at least 1";
    inter("64.div_ceil(TOP_K - TOP_K)", "64.div_ceil(TOP_K - TOP_K)", &["`div_ceil` by zero in a constant", help]);
    inter("64 / 0", "64 / 0", &["`/` by zero in a constant", "help: write a number of at least 1"]);
    let range = "help: choose constants with which this is from 0 to 18,446,744,073,709,551,615";
    inter("TOP_K - 3", "TOP_K - 3", &["`-` in a constant leaves the range of usize: 2 - 3", range]);
    inter("TOP_K.pow(64)", "TOP_K.pow(64)", &["`pow` in a constant leaves the range of usize: 2.pow(64)", range]);
    let overflow = "leaves the range of usize: 18446744073709551615.next_multiple_of(2)";
    let next = "18446744073709551615.next_multiple_of(TOP_K)";
    inter(next, next, &["`next_multiple_of` in a constant", overflow, range]);
    inter("1 & 6", "1 & 6", &["the compiler doesn't compute `&` in a constant"]);
    let negative = ("gate: &Tile<bf16, TILE_M, TILE_N>", "gate: &Tile<bf16, -1, TILE_N>");
    check(&[negative], "-1", &["a constant of type usize can't be negative"]);
    let narrow = ("project<const K: usize>", "project<const K: u32>");
    check(&[narrow], "K", &["`K` is of type u32, but sizes are of type usize", "declare it as `const K: usize`"]);
}

#[test]
fn functions_have_names_of_their_own() {
    let twice = ["two functions of this kernel module are called", "give each function a unique name"];
    for (from, to, name) in [
        ("pub fn forward", "pub fn combine", "combine"),
        ("pub fn swiglu", "pub fn project", "project"),
        ("#[taskflow]", "fn combine() {}\n    #[taskflow]", "combine"),
        ("#[taskflow]", "#[taskflow]\n    pub fn forward(ep: Ranks, route: &Route) {}\n    #[taskflow]", "forward"),
    ] {
        check(&[(from, to)], name, &twice);
    }
    // Functions that no task calls may be any Rust.
    assert_eq!(
        told(KERNEL, &[("#[taskflow]", "#[cfg(a)]\n    fn a() {}\n    #[cfg(b)]\n    fn a() {}\n    #[taskflow]")]),
        []
    );
}

#[test]
fn in_a_chunk_the_chunk_is_the_route() {
    let chunked = include_str!("../../../ui-tests/kernels/chunks.rs");
    let told = told(chunked, &[("c.experts()", "route.experts()")]);
    let (at, text) = &told[0];
    assert_eq!(at, "route.experts()");
    assert!(text.contains("the chunk's route `c`, not over this") && text.contains("`c.experts()`"), "{text}");
}

#[test]
fn one_call_that_writes_twice_is_one() {
    let both = (
        "gate: &Tile<bf16, TILE_M, TILE_N>",
        "both: &mut Tile<bf16, TILE_M, TILE_N>, gate: &Tile<bf16, TILE_M, TILE_N>",
    );
    let stores = ("h.store(gate.silu() * up.load());", "both.store(&gate); h.store(gate.silu() * up.load());");
    let call = ("swiglu(&g[r]", "swiglu(&mut h[r].group(e, m).cols(n), &g[r]");
    let twice = ["this call writes the same elements of `h` twice", "different tensors for each `&mut`"];
    check(&[both, stores, call], "swiglu", &twice);
}

/// Tiles are square, so only the number of rows at run time shows that a product's operands are swapped.
#[test]
fn a_product_with_its_operands_swapped_is_told_by_its_rows() {
    let told = told(KERNEL, &[("x.matmul_t(w)", "w.matmul_t(x)")]);
    assert!(!told.is_empty());
    for (at, text) in told {
        assert_eq!(at, "project", "{text}");
        for words in ["`store` combines the rows of the loop's tile with", "a column for each row of `w`"] {
            assert!(text.contains(words), "{text}");
        }
    }
}

#[test]
fn what_rustc_alone_would_refuse_is_told_first() {
    // Moved values.
    check_body("let again = gate; h.store(gate.silu());", "gate", &["`gate` is used after it was moved", "`&gate`"]);
    check_body("let a = gate + up.load(); h.store(a * gate);", "gate", &["used after it was moved"]);
    check_body(
        "let mut s = up.load(); for i in 0..2 { s += gate * 2.0; } h.store(s);",
        "gate",
        &["used after it was moved"],
    );
    for body in [
        "let a = &gate + up.load(); h.store(a * gate);",
        "let again = &gate; h.store(again * &gate);",
        "let mut s = gate; s = s * 2.0; h.store(s);",
        "let half = 0.5; let s = gate * half; h.store(s + half);",
        "let a = &gate; h.store(a * a + &gate);",
        "let mut s = up.load(); for i in 0..2 { s += &gate; } h.store(s * gate);",
        "let tile = up; h.store(tile.load() * tile.load() + gate);",
    ] {
        assert_eq!(told(KERNEL, &[("h.store(gate.silu() * up.load());", body)]), [], "{body}");
    }
    // References to references.
    check_body("let a = &gate; h.store(&a * 2.0);", "a", &["`a` is already a reference", "write `a`"]);
    // Sizes.
    check_body(
        "h.store(&gate * gate.concat(up.load()).row_sum());",
        "concat",
        &["how many columns `concat` makes", "`concat::<COLUMNS>(..)`"],
    );
    check_body(
        "h.store(&gate * gate.concat::<7>(up.load()).row_sum());",
        "concat",
        &["`concat::<7>` states a different size than"],
    );
    check(
        &[("x: &Tile<bf16, TILE_M, K>", "x: &Tile<bf16, TILE_M, { 2 * K }>")],
        "{ 2 * K }",
        &["computed from a const parameter", "`const WIDTH: usize`"],
    );
    check(
        &[("pub const HIDDEN: usize = 128;", "pub const HIDDEN: usize = 128u32;")],
        "128u32",
        &["this number ends in `u32`", "leave the type out"],
    );
    check(
        &[("#[aiv_task]\n    pub fn swiglu", "#[aiv_task]\n    pub const fn swiglu")],
        "const",
        &["is `const`", "remove `const`"],
    );
    check(
        &[(
            "pub mod ffn {\n    use hpmoe_runtime::prelude::*;",
            "pub mod ffn {\n    use hpmoe_runtime::prelude::{PerRank, Ranks, Route, Tensor, Tile, bf16};",
        )],
        "Experts",
        &["the module doesn't import `Experts`", "`use hpmoe_runtime::prelude::*;`"],
    );
}

/// References in a taskflow's arguments: each error names the form to write.
#[test]
fn arguments_have_the_references_that_rust_wants() {
    for (from, to, words) in [
        ("(ep, route)", "(&ep, route)", "PerRank::"),
        ("(ep, route)", "(ep, &mut route)", "PerRank::"),
        (".gather(&s)", ".gather(s)", ".gather(&s)"),
        (".gather(&s)", ".gather(&mut s)", ".gather(&s)"),
        (".group(e, m)", ".group(&e, m)", ".group(e, m)"),
        (".group(e, m)", ".group(e, &m)", ".group(e, m)"),
        ("recv[r]", "recv[&r]", "rank"),
        ("0..", "0u32..", "0.."),
    ] {
        let told = told(KERNEL, &[(from, to)]);
        assert!(!told.is_empty() && told[0].1.contains(words), "{from} {to}: {told:?}");
    }
}

#[test]
fn a_store_that_is_forgotten_is_told_by_what_stands_in_its_place() {
    let said = ["`swiglu` never writes `h`: `let h = …` names a value", "write `h.store(…);` instead of the `let`"];
    check_body("let h = gate.silu() * up.load();", "h", &said);
    let said = ["never writes `h`, and a statement computes a value that nothing stores", "write `h.store(…);` around"];
    check_body("gate.silu() * up.load();", "h", &said);
    check_body("gate.silu();", "h", &said);
    check_body(
        "let other = gate.silu();",
        "h",
        &["`swiglu` never writes `h` [", "store a value to it, or take it by `&`"],
    );
}

#[test]
fn a_missing_send_of_a_chunk_is_a_tensor_that_nothing_writes() {
    let chunked = &with_small_tiles(include_str!("../../../examples/moe_chunked.rs"));
    let begin = chunked.find("            for src in ep {").unwrap();
    let send = &chunked[begin..begin + chunked[begin..].find("            for r in ep {").unwrap()];
    let layer = told(chunked, &[(send, "")]);
    assert!(
        !layer.is_empty() && layer.iter().all(|(_, text)| text.contains("`recv` is read, but no call writes it")),
        "{layer:?}"
    );
}

#[test]
fn columns_that_rustc_infers_from_no_use_are_written() {
    let words = |operation: &str| [format!("rustc can't infer how many columns `{operation}` makes here")];
    for (body, operation) in [
        ("let a = gate.even_columns(); let b = gate.odd_columns::<16>(); h.store(b.interleave(&a));", "even_columns"),
        (
            "h.store((gate.even_columns::<16>() + gate.odd_columns()).interleave(&gate.even_columns::<16>()));",
            "odd_columns",
        ),
        ("let both = gate.concat(&gate); h.store(both.columns::<TILE_N>(0));", "concat"),
        ("h.store(gate.interleave(&gate).even_columns());", "interleave"),
        ("let both = gate.concat::<_>(&gate).exp(); h.store(&gate - both.row_max());", "concat"),
    ] {
        check_body(body, operation, &words(operation).each_ref().map(String::as_str));
    }
    // A store, an assignment, and functions of the module determine them.
    let half = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> { x * 0.5 }\n    \
                fn evens(x: &Value<TILE_M, TILE_N>) -> Value<TILE_M, 16> { x.even_columns() }\n    #[aiv_task]\n    pub fn swiglu";
    for body in [
        "let both = gate.concat(&gate); h.store(both.exp().even_columns());",
        "let a = gate.even_columns(); let mut b = gate.odd_columns::<16>(); b = half(&a); h.store(b.interleave(&b));",
        "let a = evens(&gate); h.store(a.interleave(&a));",
    ] {
        let kernel = [("#[aiv_task]\n    pub fn swiglu", half), ("h.store(gate.silu() * up.load());", body)];
        let said = told(KERNEL, &kernel);
        let refused = body.starts_with("let both");
        assert_eq!(said.len(), usize::from(refused), "{body}: {said:#?}");
    }
}

#[test]
fn what_a_function_takes_and_returns_is_as_it_says() {
    let with = |function: &str, body: &str, place: &str, words: &[&str]| {
        let functions = format!("{function}\n    #[aiv_task]\n    pub fn swiglu");
        let edits =
            [("#[aiv_task]\n    pub fn swiglu", functions.as_str()), ("h.store(gate.silu() * up.load());", body)];
        check(&edits, place, words);
    };
    let turned = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> { x.row_max() }";
    with(
        turned,
        "h.store(&gate - half(&gate));",
        "Value<R, C>",
        &["`half` returns a value of 32x32, but its last expression makes one of 32x1"],
    );
    let number = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> f32 { x * 0.5 }";
    with(
        number,
        "h.store(gate * half(&gate));",
        "f32",
        &["`half` returns a number, but its last expression makes a value"],
    );
    let value = "fn half<const R: usize, const C: usize>(x: &Value<R, C>, by: f32) -> Value<R, C> { by }";
    with(
        value,
        "h.store(half(&gate, 1.0));",
        "Value<R, C>",
        &["`half` returns a value, but its last expression makes a number"],
    );
    let half = "fn half<const R: usize, const C: usize>(x: &Value<R, C>) -> Value<R, C> { x * 0.5 }";
    with(half, "h.store(half(gate));", "gate", &["`half` takes `x` by reference, but is given a value", "`&`"]);
    let owned = "fn half<const R: usize, const C: usize>(x: Value<R, C>) -> Value<R, C> { x * 0.5 }";
    with(owned, "h.store(half(&gate));", "&gate", &["`half` takes the value `x`, but is given a reference"]);
}

#[test]
fn references_are_where_rust_has_them() {
    check_body("h.store(gate.less(&0.0).select(1.0, &gate));", "&0.0", &["a reference to a number", "write `0.0`"]);
    let told_of = |edits: &[(&str, &str)]| told(ROUTED, edits);
    let route = "Route::of::<EXPERTS>(ep, ids)";
    let [(at, text)] = &told_of(&[(route, "Route::of::<EXPERTS>(ep, &ids)")])[..] else { panic!("one fault") };
    assert!(at == "route" && text.contains("`&ids` is a reference to a reference"), "{at}: {text}");
    let chosen = include_str!("../../../ui-tests/kernels/chosen.rs");
    let [(at, text)] = &told(chosen, &[("Route::of::<EXPERTS>(ep, &ids)", route)])[..] else { panic!("one fault") };
    assert!(at == "route" && text.contains("by reference") && text.contains("write `&ids`"), "{at}: {text}");
}

#[test]
fn const_arguments_are_where_rust_has_them() {
    let slots = "combine(&back[r].slots(t).cols(n)";
    assert_eq!(told(KERNEL, &[(slots, "combine(&back[r].slots::<SLOTS, _>(t).cols(n)")]), []);
    check(&[(slots, "combine(&back[r].slots::<7, _>(t).cols(n)")], "back", &["takes 32 rows as `slots`", "7 rows"]);
    check(&[(slots, "combine(&back[r].slots::<SLOTS>(t).cols(n)")], "slots", &[".slots(t)"]);
    check(&[("&weights[r].rows(t)", "&weights[r].rows::<7>(t)")], "rows", &[".rows(t)"]);
    // Rust doesn't know that a token has `TOP_K` slots.
    let summed = "pub fn combine<const ALL: usize>(\n        slots: &Tile<bf16, ALL, COLUMNS>,";
    let generic = ("pub fn combine(\n        slots: &Tile<bf16, SLOTS, COLUMNS>,", summed);
    check(&[generic], "combine", &["don't determine `ALL` of `combine`", "combine::<ALL>(..)"]);
    for right in ["combine::<SLOTS>(&back[r].slots(t).cols(n)", "combine(&back[r].slots::<SLOTS, _>(t).cols(n)"] {
        assert_eq!(told(KERNEL, &[generic, (slots, right)]), []);
    }
}

#[test]
fn declarations_are_those_of_rust() {
    let name = ("pub const INTER: usize = 64;", "pub const INTER: usize = 64;\n    pub const INTER: usize = 64;");
    check(&[name], "INTER", &["two constants of this kernel module are called `INTER`"]);
    check(&[("const K: usize>", "const K: usize = 8>")], "8", &["a default for a const parameter"]);
    check(&[("route: &Route", "route: &'a Route")], "a", &["names a lifetime that it doesn't declare"]);
    check(&[("gate: &Tile<bf16", "gate: &Tile<half::bf16")], "bf16", &["elements of type `half::bf16`"]);
    for right in ["&'static Route", "&'_ Route"] {
        assert_eq!(told(KERNEL, &[("route: &Route", &format!("route: {right}"))]), []);
    }
}

#[test]
fn parameters_and_imports_are_named() {
    for (from, to) in [("ep: Ranks", "ep: &Ranks"), ("route: &Route", "route: Route")] {
        check(&[(from, to)], to, &[&format!("but not `{to}`"), "write `ep: Ranks`, `route: &Route`"]);
    }
    let nested = "use hpmoe_runtime::{prelude::*, tasks::project as times};";
    let prelude = "pub mod ffn {\n    use hpmoe_runtime::prelude::*;\n";
    let edit = [(prelude, &*format!("{prelude}    {nested}\n"))];
    assert_eq!(told(KERNEL, &edit), []);
    let typed = "let recv: PerRank<_> = PerRank::symmetric";
    let kernel = [("let recv = PerRank::symmetric", typed)];
    assert!(told(KERNEL, &kernel)[0].1.contains("creates a tensor, and has no type"), "{:?}", told(KERNEL, &kernel));
}

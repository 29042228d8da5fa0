use super::*;
use crate::analyze::CheckedGraph;
use crate::fixture::{Layer, gated, moe_ffn, prepared, routed, scored, widened};
use crate::schedule::{Cores, schedule};
use crate::units::Bytes;
use crate::validate::{ValidSchedule, validate};

const NAMES: Names<'_> = Names { file: "src/moe.rs", symbol: "moe_ffn_forward", time_stamps: false };
const PATHS: Paths<'_> = Paths { fingerprint: "0123456789abcdef", descriptors: "/hpmoe/moe_ffn.descriptors" };

fn valid(checked: &CheckedGraph) -> ValidSchedule {
    let valid = validate(checked, schedule(checked, Cores::ASCEND_A3));
    valid.unwrap_or_else(|violations| panic!("{violations:?}"))
}

fn emitted(checked: &CheckedGraph) -> (Ascendc, ValidSchedule) {
    let schedule = valid(checked);
    (ascendc(checked, &schedule, &NAMES, Machine::Host), schedule)
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn the_same_program_is_the_same_text() {
    let checked = moe_ffn(&Layer::SMALL);
    assert_eq!(emitted(&checked).0, emitted(&moe_ffn(&Layer::SMALL)).0);
}

/// The device library finds the ids by their number, so no generated code names them. A compiler must not warn about that.
#[test]
fn tensors_that_only_a_route_reads_may_be_unused() {
    let checked = routed(&Layer::SMALL);
    let (kernel, _) = emitted(&checked);
    let ids = checked.graph().route.as_ref().expect("the kernel makes its route").ids;
    let name = &checked.graph().tensors[ids].name;
    assert!(kernel.text.contains(&format!(" {name} [[maybe_unused]] = {{")), "{name} in\n{}", kernel.text);
    assert_eq!(count(&kernel.text, "[[maybe_unused]]"), 1);
}

#[test]
fn every_call_is_a_case_headed_by_its_source() {
    let (kernel, _) = emitted(&moe_ffn(&Layer::SMALL));
    assert!(kernel.text.contains(
        "        // swiglu(&g[r].group(e, m).cols(n), &u[r].group(e, m).cols(n), &mut h[r].group(e, m).cols(n))\n        \
         // src/moe.rs:"
    ));
    assert_eq!(count(&kernel.text, "        case "), 7);
    assert_eq!(count(&kernel.text, "core.AwaitReady(tile.peer)"), 1, "rows go back only to peers that have started");
}

#[test]
fn regions_are_views_in_the_terms_of_the_graph() {
    let (kernel, _) = emitted(&moe_ffn(&Layer::SMALL));
    for view in [
        "core.Of(tensor::gate).Rows(tile.expert * 64 + tile.column * 32, 32),",
        "core.Of(tensor::g).Rows(tile.first, tile.rows).Cols(tile.column * 32, 32));",
        "core.OfPeer(tensor::recv, tile.peer).Rows(tile.first, tile.rows),",
        "core.Of(tensor::back).Rows(tile.first * 4, tile.rows * 4).Cols(0, 128),",
        "HPMOE_EXPECTS(y.rows <= 16 && y.cols <= 1024 && ROWS * 2048 <= y_out.bytes);",
    ] {
        assert!(kernel.text.contains(view), "no `{view}` in\n{}", kernel.text);
    }
}

/// Blocks of tokens and row tiles of one height are counted separately, because a rank has tokens before it receives any row.
#[test]
fn blocks_of_all_tokens_are_no_row_tiles() {
    let layer = Layer { block: 3, ..Layer::TINY };
    let (kernel, _) = emitted(&scored(&layer));
    let scores = "core.Await(counter::z_all, 0, CeilDiv(core.ChunkTokens(0), 4))";
    assert!(kernel.text.contains(scores), "no `{scores}` in\n{}", kernel.text);
}

#[test]
fn a_tile_that_has_to_wait_reads_its_weights_meanwhile() {
    let (kernel, _) = emitted(&moe_ffn(&Layer::SMALL));
    for (phase, weights) in [(1, "gate"), (2, "up")] {
        let tile = "Rows(tile.expert * 64 + tile.column * 32, 32)";
        let read = format!("core.Of(tensor::{weights}).{tile}}},\n                stages);");
        assert!(kernel.text.contains(&read), "no `{read}` in\n{}", kernel.text);
        assert!(kernel.text.contains(&format!("if (tile.phase == {phase}) {{\n            ReadAhead(")));
    }
    assert_eq!(count(&kernel.text, " ReadAhead("), 3);
    // Gate and down; the same tile of up follows that of gate, and finds the rows.
    let has_read = "HPMOE_EXPECTS(core.ahead > 0 || (tile.rows == 0));";
    let waits = format!("Ahead(core, tile, L1_STAGES);\n                {has_read}\n                if (!core.Await(");
    assert_eq!(count(&kernel.text, &waits), 2);
    // Weights that vector cores make.
    assert_eq!(count(&emitted(&widened(&Layer::SMALL)).0.text, " ReadAhead("), 0);
}

#[test]
fn flags_come_in_pairs_and_barriers_only_between_dependent_calls() {
    let (kernel, _) = emitted(&moe_ffn(&Layer::SMALL));
    for event in ["MTE2_V", "V_MTE2", "V_MTE3", "MTE3_V"] {
        let set = count(&kernel.text, &format!(" SetFlag<HardEvent::{event}>(stage)"));
        let wait = count(&kernel.text, &format!(" WaitFlag<HardEvent::{event}>(stage)"));
        assert_eq!((set, wait), (2, 2), "{event} in two vector tasks");
    }
    // Between Muls, Exp, Adds, Div and the product of swiglu and its store; after the sum, which waits by itself.
    assert_eq!(count(&kernel.text, "PipeBarrier<PIPE_V>();"), 6 + 1);
    let lines: Vec<&str> = kernel.text.lines().map(str::trim).collect();
    let up = lines.iter().position(|line| line.starts_with("Cast(up_value,")).expect("swiglu loads up");
    assert!(lines[up - 1].starts_with("// load") && lines[up - 2].starts_with("Div("), "up does not wait for silu");
}

#[test]
fn unused_counters_are_neither_declared_nor_allocated() {
    let checked = moe_ffn(&Layer::SMALL);
    let (kernel, schedule) = emitted(&checked);
    let tables = tables(&checked, &schedule, &NAMES, &PATHS);
    // Those of tasks are indented.
    let declared =
        count(&kernel.text, "\nconstexpr uint32_t ") - count(&kernel.text, "\nconstexpr uint32_t row_tiles_");
    assert!(declared < checked.counters().len(), "the schedule elides some");
    assert_eq!(count(&tables.rust.to_string(), "CounterTable {"), declared);
}

#[test]
fn tables_are_rust_and_name_what_they_need() {
    let checked = moe_ffn(&Layer::SMALL);
    let (_, schedule) = emitted(&checked);
    let tables = tables(&checked, &schedule, &NAMES, &PATHS);
    let file: syn::File = syn::parse_str(&tables.rust.to_string()).expect("tables are Rust");
    assert_eq!(file.items.len(), 3, "the descriptors and their cut, the tables of the kernel");
    assert!(tables.rust.to_string().contains("\"/hpmoe/moe_ffn.descriptors\""));
    let ranks = schedule.schedule().orders.iter().map(|order| order.ranks);
    let descriptors: u64 = ranks.map(|ranks| schedule.footprint(&checked, ranks, 1).descriptors).sum();
    assert_eq!(tables.descriptors.len() as u64, descriptors * 64);
}

#[test]
fn code_of_the_large_layer_fits_the_instruction_caches() {
    for checked in [moe_ffn(&Layer::DEEPSEEK), gated(&Layer::SMALL)] {
        let (kernel, _) = emitted(&checked);
        assert!(kernel.aic.loops < Bytes::kib(32), "AIC: {}", kernel.aic.loops);
        assert!(kernel.aiv.loops < Bytes::kib(16), "AIV: {}", kernel.aiv.loops);
    }
}

#[test]
fn code_beyond_a_cache_is_told_with_its_figure() {
    let code = |aic, aiv, once| {
        let [aic, aiv] = [aic, aiv].map(|loops| CodeBytes { loops: Bytes(loops), once: Bytes(once) });
        Ascendc { text: String::new(), aic, aiv, route_needs: None }
    };
    // Code that runs once makes room for what loops.
    assert!(code(32 * 1024, 16 * 1024, 40_000).beyond_the_caches().is_empty());
    let told = code(40_000, 16 * 1024 + 8, 0).beyond_the_caches();
    let [matrix, vector] = &told[..] else { panic!("{told:?}") };
    assert!(
        matrix.starts_with(
            "the code that loops on a matrix core is estimated at 40,000 B, but its instruction cache holds 32,768 B. This is not an error: "
        ),
        "{matrix}"
    );
    assert!(
        vector.contains(" 16,392 B, but") && vector.contains(" up to 33 times 512 B, which takes 3.6 µs if "),
        "{vector}"
    );
}

#[test]
fn the_head_of_the_file_tells_both_kinds_of_code() {
    for checked in [moe_ffn(&Layer::SMALL), routed(&Layer::SMALL)] {
        let (kernel, _) = emitted(&checked);
        for (core, code) in [("matrix core (cache 32,768 B)", kernel.aic), ("vector core (cache 16,384 B)", kernel.aiv)]
        {
            let told = format!("// Estimated code of a {core}: {}.\n", code.words());
            assert!(kernel.text.contains(&told), "{told}{}", kernel.text);
        }
    }
    let once = |checked: &CheckedGraph| emitted(checked).0.aiv.once.0;
    assert!(once(&routed(&Layer::SMALL)) > once(&moe_ffn(&Layer::SMALL)) + 16_000);
}

#[test]
fn what_fits_is_a_part_of_the_dispatch() {
    let (kernel, _) = emitted(&moe_ffn(&Layer::SMALL));
    assert!(!kernel.text.contains("\nHPMOE_ROUTINE") && !kernel.text.contains("__aicore__"));
    assert_eq!(count(&kernel.text, "\nHPMOE_INLINE void "), 6, "a function per task");
}

#[test]
fn the_compiler_takes_kernels_without_a_warning() {
    let kernels = [moe_ffn(&Layer::SMALL), moe_ffn(&Layer::DEEPSEEK), gated(&Layer::TINY), prepared(&Layer::SMALL)];
    for (number, checked) in kernels.iter().enumerate() {
        let path = std::env::temp_dir().join(format!("hpmoe-emit-{}-{number}.cpp", std::process::id()));
        std::fs::write(&path, emitted(checked).0.text).expect("the temporary folder can be written");
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let output = std::process::Command::new(compiler)
            .args(["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I"])
            .args([hpmoe_kernels::INCLUDE_DIR, "-I", hpmoe_kernels::HOST_DIR])
            .arg(&path)
            .output()
            .expect("a C++ compiler is needed to run kernels, too");
        std::fs::remove_file(&path).expect("it was written above");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn lines_are_short_and_free_of_trailing_blanks() {
    let (kernel, _) = emitted(&moe_ffn(&Layer::DEEPSEEK));
    for line in kernel.text.lines() {
        assert!(line.len() <= 120 && line == line.trim_end(), "{line:?}");
    }
}

#[test]
fn without_time_stamps_nothing_of_them_is_in_the_text_and_with_them_nothing_else_is() {
    let checked = moe_ffn(&Layer::SMALL);
    let (off, schedule) = emitted(&checked);
    assert!(!off.text.contains("tamp"));
    let on = ascendc(&checked, &schedule, &Names { time_stamps: true, ..NAMES }, Machine::Host);
    let undone = on.text.replace("#include \"hpmoe/stamps.h\"\n", "").replace("StampedProgram<Program>", "Program");
    let undone = undone.replace("Stamped<CubeCore>", "CubeCore").replace("Stamped<VectorCore>", "VectorCore");
    // The size of the code is told in the comment at the head.
    let code =
        |text: &str| text.lines().filter(|line| !line.starts_with("// Estimated")).collect::<Vec<_>>().join("\n");
    assert_ne!(code(&on.text), code(&off.text));
    assert_eq!(code(&undone), code(&off.text));
    assert!(on.aic.loops > off.aic.loops && on.aiv.loops > off.aiv.loops);
}

//! The subcommand `hpmoe emit`.

use crate::{LAYER, prints, refuses};

const EXTERNAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui-tests/kernels/external.rs");

#[test]
fn the_kernel_is_printed_for_either_machine() {
    let host = prints(&["emit", EXTERNAL, "--taskflow", "forward"]);
    let device = prints(&["emit", EXTERNAL, "--taskflow", "forward", "--device"]);
    assert!(host.contains("kernels/ops/gemm.h") && !host.contains("kernels/ops/combine.h"), "{host}");
    assert!(device.contains("#include \"kernels/ops/combine.h\"") && device.contains("::combine(slots, weights, y);"));
    assert_eq!(prints(&["emit", LAYER]), prints(&["emit", LAYER, "--device"]));
}

#[test]
fn the_entry_of_a_kernel_with_a_raw_name_is_a_symbol() {
    let odd = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui-tests/kernels/odd.rs");
    let printed = prints(&["emit", odd, "--taskflow", "r#try"]);
    assert!(printed.contains("\nextern \"C\" __global__ __mix__(1, 2) void odd_try(GM_ADDR launch) {"), "{printed}");
}

#[test]
fn a_contract_says_what_an_operator_has_and_leaves() {
    let printed = prints(&["emit", EXTERNAL, "--task", "project"]);
    for part in [
        "// #[aic_task(external = \"kernels/ops/gemm.h\")]",
        "// - x: read, Tile<bf16, 32, 128>",
        "// - y: written, Tile<bf16, 32, 32>",
        "// - L1: 16,384 B from address 0 on",
        "// - L0A: 65,536 B from address 0 on",
        "ids 0 to 5 of each pair of pipes, except for MTE3_S 0",
        "At entry all pipes are idle",
        "namespace ops {\ntemplate <uint32_t K> HPMOE_INLINE void project(",
        "    const hpmoe::View<bfloat16_t> &x,",
        "SetFlag<HardEvent::M_FIX>(0);",
    ] {
        assert!(printed.contains(part), "{part} is missing in\n{printed}");
    }
    // For a task without an operator, an operator that it could have.
    let printed = prints(&["emit", LAYER, "--task", "swiglu"]);
    for part in
        ["external = \"ops/swiglu.h\"", "- UB: 188,032 B from address 0 on", "LoadRows(", "HPMOE_INLINE void swiglu("]
    {
        assert!(printed.contains(part), "{part} is missing in\n{printed}");
    }
}

#[test]
fn what_has_no_contract_is_told_in_a_line() {
    assert!(refuses(&["emit", LAYER, "--task", "swigl"]).contains("did you mean `swiglu`?"));
    assert!(refuses(&["emit", LAYER, "--task", "dispatch"]).contains("only #[aic_task] and #[aiv_task] can"));
    assert!(refuses(&["emit", LAYER, "--taskflow", "sideways"]).contains("there is no taskflow `sideways`"));
}

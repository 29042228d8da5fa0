//! Deeply nested sources are read or refused, with half of the usual stack.

use hpmoe_core::front::{front, modules};
use hpmoe_core::syntax::Overrides;
use hpmoe_expansion::{BuildScript, megakernel};

const KERNEL: &str = include_str!("../../../ui-tests/kernels/ffn.rs");

/// Half of the stack that programs and rustc usually have.
const STACK: usize = 4 << 20;

/// Texts that are repeated before and after an expression: most are not valid in a kernel, and some are not Rust.
const KINDS: &[(&str, &str)] = &[
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("-", ""),
    ("!", ""),
    ("&", ""),
    ("*", ""),
    ("1 + ", ""),
    ("", " * 1"),
    ("", " as usize"),
    ("", ".min(1)"),
    ("", "?"),
    ("min(1, ", ")"),
    ("if true { 1 } else ", ""),
    ("if true { ", " } else { 1 }"),
    ("match 1 { _ => ", " }"),
    ("|a, b| ", ""),
    ("return ", ""),
    ("A::<u8, ", ">"),
    ("unsafe { loop { ", "} }"),
    ("a = ", ""),
    ("a += ", ""),
    ("1..", ""),
    ("&mut ", ""),
    ("break ", ""),
    ("let a = ", ""),
    ("async move { ", " }"),
    ("move || ", ""),
    ("if let A(", ") = 1 { 1 } else { 1 }"),
    ("A { a: ", " }"),
    ("", " as [u8; 1]"),
    ("1 as &", ""),
    ("1 as fn(", ")"),
    ("1 as impl Fn() -> ", ""),
    ("'a: loop { ", " }"),
    ("a[", "]"),
    ("", "[0]"),
    ("", "(0)"),
    ("", ".a"),
    ("{ fn f() { ", " } 1 }"),
    ("{ mod a { const A: u8 = ", "; } 1 }"),
];

/// The places of the nested expression in the kernel: a constant, and a value of a task.
const PLACES: [(&str, &str); 2] = [("pub const TILE_M: usize = ", ";"), ("h.store(", ");")];

/// Reads the kernel with an expression that is nested `count` times. Returns whether it was refused because of its depth.
fn is_too_deep((before, after): (&str, &str), (open, close): (&str, &str), count: usize) -> bool {
    let start = KERNEL.find(before).unwrap_or_else(|| panic!("the kernel has no `{before}`")) + before.len();
    let end = start + KERNEL[start..].find(after).unwrap();
    let expression = &KERNEL[start..end];
    let source =
        format!("{}{}{expression}{}{}", &KERNEL[..start], open.repeat(count), close.repeat(count), &KERNEL[end..]);
    let read = move || match modules(&source) {
        Ok(modules) => {
            // Most of these kernels have errors, rightly.
            let _ = front(&modules[0], &Overrides::new());
            false
        }
        Err(error) => error.to_string().contains("nested too deeply: hpmoe reads"),
    };
    std::thread::Builder::new().stack_size(STACK).spawn(read).unwrap().join().unwrap()
}

#[test]
fn every_depth_is_read_or_refused() {
    for &kind in KINDS {
        for place in PLACES {
            assert!(!is_too_deep(place, kind, 20), "{kind:?} at {place:?}");
            for count in [60, 120, 250, 340, 500, 1000] {
                is_too_deep(place, kind, count);
            }
            assert!(is_too_deep(place, kind, 5_000), "{kind:?} at {place:?}");
        }
    }
}

#[test]
fn the_macro_refuses_what_is_nested_too_deep() {
    let brackets = format!("mod a {{ const A: usize = {}1{}; }}", "(".repeat(3000), ")".repeat(3000));
    let expand = move || {
        let read = |_: &std::path::Path| None;
        megakernel(Default::default(), brackets.parse().unwrap(), &BuildScript::Missing, &read).to_string()
    };
    let text = std::thread::Builder::new().stack_size(STACK).spawn(expand).unwrap().join().unwrap();
    assert!(text.contains("compile_error") && text.contains("nested too deeply: hpmoe reads"), "{text}");
}

//! Flags that keep arithmetic as IEEE 754 and the source define it, regardless of flags in the environment.

/// Flags of both g++ and clang++ that undo what `-ffast-math`, `-Ofast` and each of their parts change in results. The last one forbids
/// fused multiplications, because the reference has none.
const BOTH: [&str; 7] = [
    "-fno-fast-math",
    "-fno-unsafe-math-optimizations",
    "-fno-associative-math",
    "-fno-reciprocal-math",
    "-fno-finite-math-only",
    "-fsigned-zeros",
    "-ffp-contract=off",
];

/// Constants are doubles unless they say otherwise; only g++ has an option to read them as floats.
const GNU: &str = "-fno-single-precision-constant";

/// Subnormal numbers are kept; only clang++ has an option to treat them as zeros.
const CLANG: &str = "-fdenormal-fp-math=ieee";

/// Each operation rounds to its type; `-mfpmath=387` would keep more bits in registers.
const X86_64: &str = "-mfpmath=sse";

/// The flags for a compiler. They follow all others.
pub(crate) fn arithmetic(tool: &cc::Tool) -> Vec<&'static str> {
    let of_one = if tool.is_like_clang() { CLANG } else { GNU };
    let is_x86_64 = std::env::var("TARGET").is_ok_and(|target| target.starts_with("x86_64"));
    BOTH.into_iter().chain([of_one]).chain(is_x86_64.then_some(X86_64)).collect()
}

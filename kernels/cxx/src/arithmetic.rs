//! Flags that keep arithmetic as IEEE 754 and the source define it, regardless of flags in the environment.

/// Flags of g++ and clang++ that undo what `-ffast-math`, `-Ofast` and each of their parts change in results. The last one forbids fused
/// multiply-add instructions, because the reference has none.
const BOTH: [&str; 7] = [
    "-fno-fast-math",
    "-fno-unsafe-math-optimizations",
    "-fno-associative-math",
    "-fno-reciprocal-math",
    "-fno-finite-math-only",
    "-fsigned-zeros",
    "-ffp-contract=off",
];

/// The flag by which constants stay doubles unless they say otherwise. Only g++ has an option that reads them as floats.
const GNU: &str = "-fno-single-precision-constant";

/// The flag by which subnormal numbers are kept. Only clang++ has an option that treats them as zeros.
const CLANG: &str = "-fdenormal-fp-math=ieee";

/// The flag by which each operation rounds to its type. With `-mfpmath=387`, registers would keep more bits.
const X86_64: &str = "-mfpmath=sse";

/// The flags for a compiler. They must follow all other flags.
pub(crate) fn arithmetic(tool: &cc::Tool) -> Vec<&'static str> {
    let of_one = if tool.is_like_clang() { CLANG } else { GNU };
    let is_x86_64 = std::env::var("TARGET").is_ok_and(|target| target.starts_with("x86_64"));
    BOTH.into_iter().chain([of_one]).chain(is_x86_64.then_some(X86_64)).collect()
}

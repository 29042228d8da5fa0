use super::*;
use crate::artifacts::parse_settings;
use crate::front::modules;

const FORWARD: &str = include_str!("../../../ui-tests/kernels/ffn.rs");
const LARGE: &str = "HIDDEN=7168,INTER=2048,EXPERTS=64,TOP_K=8,TOKENS=4096";
const ALL: [&str; 5] = ["BLOCK", "COLUMNS", "PUT", "TILE_M", "TILE_N"];

/// The forward layer with the given tile sizes fixed and all others open.
fn module(fixed: &[(&str, usize)]) -> ItemMod {
    let module = modules(FORWARD).unwrap().remove(0);
    let module = leaving_open(&module, &ALL.map(str::to_owned));
    fixed.iter().fold(module, |module, (name, size)| {
        let text = quote::quote!(#module).to_string();
        let open = format!("pub const {name} : usize = _ ;");
        assert!(text.contains(&open), "{text}");
        syn::parse_str(&text.replace(&open, &format!("pub const {name} : usize = {size} ;"))).unwrap()
    })
}

fn costly(module: &ItemMod, settings: &str, expected: Expected) -> Option<CostlySizes> {
    let (set, target) = (parse_settings(settings).unwrap(), Target::ascend_a3());
    let open = open_sizes(module, &set, &target, expected).unwrap();
    let front = front(module, &overrides(&set, &open)).unwrap();
    costly_sizes(BuiltKernel { module, set: &set, open: &open, front: &front }, &target, expected)
}

/// The sizes that a build chooses if all are open.
fn chosen(settings: &str) -> NamedSizes {
    open_sizes(&module(&[]), &parse_settings(settings).unwrap(), &Target::ascend_a3(), Expected::default()).unwrap()
}

#[test]
fn sizes_of_tests_cost_most_of_a_real_layer_and_better_ones_are_named() {
    let tiny = [("BLOCK", 4), ("COLUMNS", 64), ("PUT", 4), ("TILE_M", 16), ("TILE_N", 16)];
    let costly = costly(&module(&tiny), LARGE, Expected::default()).unwrap();
    assert!(costly.saved() > 0.8, "{costly:?}");
    let best = chosen(LARGE);
    let expected =
        tiny.map(|(name, fixed)| FixedSize { name: name.to_owned(), fixed, chosen: best[name], by: FixedBy::Source });
    assert_eq!(costly.sizes, expected);
    let said = costly.text(Surface::Build);
    let names = "write `pub const BLOCK: usize = _;` in the source, and likewise `COLUMNS`, `PUT`, `TILE_M`, `TILE_N`";
    assert!(said.contains(names) && said.contains(&format!("TILE_N = {}", best["TILE_N"])), "{said}");
    let saved = format!(
        "which save {:.0} % of the time for at most 8 ranks with `TOKENS` tokens each (mean of even and skewed routing): ",
        100.0 * costly.saved()
    );
    assert!(said.contains(&saved), "{said}");
    assert!(said.ends_with(". `.allow_slow_tile_sizes()` in the build script keeps the sizes without this warning"));
    assert!(!said.contains('\n') && !said.contains("HPMOE_SET"), "{said}");
}

#[test]
fn numbers_and_sizes_that_follow_from_others_are_not_fixed() {
    let mut module = module(&[("TILE_N", 16)]);
    let others: [syn::Item; 2] = [
        syn::parse_quote!(
            pub const TILE_SCALE: f32 = 0.5;
        ),
        syn::parse_quote!(
            pub const TILE_PAIRS: usize = 2 * TILE_N;
        ),
    ];
    module.content.as_mut().unwrap().1.extend(others);
    let costly = costly(&module, LARGE, Expected::default()).unwrap();
    let names: Vec<&str> = costly.sizes.iter().map(|size| size.name.as_str()).collect();
    assert_eq!(names, ["TILE_N"]);
}

#[test]
fn a_size_that_would_be_chosen_is_not_named() {
    let best = chosen(LARGE);
    let costly = costly(&module(&[("TILE_M", best["TILE_M"]), ("TILE_N", 16)]), LARGE, Expected::default()).unwrap();
    let names: Vec<&str> = costly.sizes.iter().map(|size| size.name.as_str()).collect();
    assert_eq!(names, ["TILE_N"]);
}

#[test]
fn chosen_sizes_and_those_that_cost_little_are_fixed_in_silence() {
    let best = chosen(LARGE);
    let same = best.iter().map(|(name, &size)| (name.as_str(), size)).collect::<Vec<_>>();
    assert_eq!(costly(&module(&same), LARGE, Expected::default()), None);
    assert_eq!(costly(&module(&[]), LARGE, Expected::default()), None);
    // Half as wide tiles cost the layer a few percent.
    let narrow = module(&[("TILE_N", best["TILE_N"] / 2)]);
    assert_eq!(costly(&narrow, LARGE, Expected::default()), None);
    let narrower = costly(&module(&[("TILE_N", best["TILE_N"] / 4)]), LARGE, Expected::default());
    assert!(narrower.is_some_and(|costly| costly.saved() > COSTLY && costly.saved() < 0.6));
}

#[test]
fn sizes_that_the_build_sets_are_said_to_be_set() {
    let settings = "HIDDEN=1024,INTER=512,EXPERTS=16,TOP_K=4,TOKENS=512,TILE_M=16,TILE_N=16";
    let costly = costly(&module(&[("TILE_N", 256)]), settings, Expected::default()).unwrap();
    let by: Vec<(&str, FixedBy)> = costly.sizes.iter().map(|size| (size.name.as_str(), size.by)).collect();
    assert_eq!(by, [("TILE_M", FixedBy::BuildAlone), ("TILE_N", FixedBy::Build)]);
    let said = costly.text(Surface::Command);
    assert!(said.contains("set `TILE_N` by `--set` to the values above"), "{said}");
    assert!(said.contains("leave `TILE_M` out of `--set`, to have them chosen"), "{said}");
    assert!(!said.contains("pub const") && said.contains("`--allow-slow-tile-sizes` keeps"), "{said}");
    assert!(costly.text(Surface::Build).contains("out of `HPMOE_SET` or `.set(..)`"));
}

/// Tall tiles save time if an expert has many rows, and cost none if it has few.
#[test]
fn sizes_are_judged_for_the_launches_that_are_expected() {
    let narrow = module(&[("TILE_N", 64)]);
    let many = costly(&narrow, LARGE, Expected::default());
    assert!(many.is_some());
    let few = Expected { ranks: Some(8), tokens: Some(16) };
    assert_eq!(costly(&narrow, LARGE, few), None);
    assert_eq!(
        costly(&narrow, LARGE, Expected { ranks: Some(8), tokens: None }).map(|costly| costly.sizes),
        many.map(|costly| costly.sizes)
    );
}

#[test]
fn launches_that_a_kernel_can_not_have_are_left_to_others() {
    let module = module(&[("TILE_N", 16)]);
    let (set, target, open) = (parse_settings(LARGE).unwrap(), Target::ascend_a3(), chosen(LARGE));
    let front = front(&module, &overrides(&set, &open)).unwrap();
    let built = BuiltKernel { module: &module, set: &set, open: &open, front: &front };
    for expected in [Expected { ranks: Some(3), tokens: None }, Expected { ranks: None, tokens: Some(4097) }] {
        assert_eq!(costly_sizes(built, &target, expected), None);
    }
}

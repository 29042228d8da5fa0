//! Builds for several targets side by side, without a C++ compiler.

use crate::expansions;

use crate::module::{Build, settings_of};
use crate::sources::{KernelGroup, KernelModule, read_sources, refuse_settings};
use crate::target::Machine;
use crate::tuned::{Kept, kept_for};
use crate::units::Unit;
use hpmoe_core::sizes::Expected;
use hpmoe_core::syntax::Overrides;
use hpmoe_expansion::expansion::FOLDER;
use hpmoe_expansion::{BuildScript, megakernel};
use quote::ToTokens as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui-tests/kernels/mixed.rs");
const ASCEND_A3: &str = include_str!("../../targets/ascend-a3.toml");

/// A package with a kernel, and two machines that differ from the built-in one.
struct Package {
    folder: TempDir,
}

impl Package {
    fn new() -> Self {
        let package = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::copy(KERNEL, package.path("mixed.rs")).unwrap();
        let named = |name: &str| ASCEND_A3.replace("name = \"ascend-a3\"", &format!("name = \"{name}\""));
        package.write("same.toml", ASCEND_A3);
        package.write("far.toml", &named("far").replace("other_package_ns = 929", "other_package_ns = 9290"));
        package.write("small.toml", &named("small").replace("aic = 24", "aic = 2").replace("aiv = 48", "aiv = 4"));
        package
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn machine(&self, file: &str) -> Machine {
        Machine { file: Some(self.path(file)), matrix_cores: None }
    }

    /// Builds the kernel below the folder `out`; returns the stems of the generated files.
    fn build(&self, machine: &Machine, out: &str) -> Vec<String> {
        self.build_with(machine, Overrides::new(), Expected::default(), out)
    }

    fn build_with(&self, machine: &Machine, settings: Overrides, expected: Expected, out: &str) -> Vec<String> {
        self.built(machine, settings, expected, (out, true)).0
    }

    /// Builds the kernel, with or without slow tile sizes allowed; returns the stems of the generated files, and the warnings.
    fn built(
        &self,
        machine: &Machine,
        settings: Overrides,
        expected: Expected,
        (out, allow_slow_tile_sizes): (&str, bool),
    ) -> (Vec<String>, Vec<String>) {
        let folder = self.path(out).join(FOLDER);
        std::fs::create_dir_all(&folder).unwrap();
        let target = machine.target().unwrap();
        let build = Build {
            settings,
            target,
            ranks: Vec::new(),
            expected,
            tune: machine.options(),
            device: None,
            time_stamps: false,
            allow_slow_tile_sizes,
            package: "user".into(),
            folder,
            root: self.path(""),
        };
        let built = build.module(&self.source()).unwrap();
        expansions::write(built.modules, &build.folder).unwrap();
        let stem = |unit: &Unit| unit.source.file_stem().unwrap().to_str().unwrap().to_owned();
        (built.units.iter().map(stem).collect(), built.warnings)
    }

    fn source(&self) -> KernelModule {
        read_sources(&[self.path("mixed.rs")]).unwrap().modules.remove(0)
    }

    /// The macro's expansion of the kernel after a build into the folder `out`.
    fn expand(&self, out: &str) -> String {
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        megakernel(
            Default::default(),
            self.source().module.into_token_stream(),
            &BuildScript::Built(self.path(out)),
            &read,
        )
        .to_string()
    }

    fn schedule(&self, out: &str, stem: &str) -> String {
        std::fs::read_to_string(self.path(out).join(FOLDER).join(format!("{stem}.schedule.txt"))).unwrap()
    }

    fn tile_sizes(&self, out: &str, stem: &str) -> String {
        std::fs::read_to_string(self.path(out).join(FOLDER).join(format!("{stem}.sizes.txt"))).unwrap()
    }

    fn refused(&self, machine: &Machine) -> String {
        machine.target().unwrap_err().replace(&format!("{}/", self.folder.path().display()), "")
    }
}

#[test]
fn macro_and_build_script_agree_on_the_target() {
    let package = Package::new();
    let machines = [("built_in", Machine::default()), ("far", package.machine("far.toml"))];
    let stems = machines.map(|(out, machine)| (out, package.build(&machine, out)));
    for (out, stems) in &stems {
        let text = package.expand(out);
        assert!(!text.contains("compile_error"), "{text}");
        assert!(!stems.is_empty() && stems.iter().all(|stem| text.contains(stem.as_str())), "{out}: {stems:?}");
    }
    // Nothing made for one is taken for the other.
    assert!(stems[0].1.iter().all(|stem| !stems[1].1.contains(stem)));
    assert_eq!(package.build(&package.machine("same.toml"), "same"), stems[0].1);
}

#[test]
fn the_scheduler_sees_the_target() {
    let package = Package::new();
    let stems = package.build(&package.machine("small.toml"), "small");
    let schedule = package.schedule("small", &stems[0]);
    assert!(schedule.contains("for 2 matrix and 4 vector cores"), "{schedule}");
    // As with the same cores on the built-in target, but not the same artifact.
    let cores = Machine { file: None, matrix_cores: Some(2) };
    let others = package.build(&cores, "cores");
    assert_eq!(package.schedule("cores", &others[0]), schedule);
    assert_ne!(others, stems);
    // What things cost decides who does them.
    package.write("slow.toml", &ASCEND_A3.replace("put_gb_per_s_per_aiv = 10", "put_gb_per_s_per_aiv = 0.1"));
    let (slow, plain) =
        (package.build(&package.machine("slow.toml"), "slow"), package.build(&Machine::default(), "plain"));
    assert_ne!(package.schedule("slow", &slow[0]), package.schedule("plain", &plain[0]));
}

#[test]
fn what_was_tuned_is_taken_by_the_targets_name() {
    let package = Package::new();
    let plain = package.build(&package.machine("far.toml"), "plain");
    let tuned = std::fs::read_to_string(Path::new(KERNEL).with_extension("tuned.toml")).unwrap();
    package.write("mixed.tuned.toml", &tuned.replace("target = \"ascend-a3\"", "target = \"far\""));
    let tuned_stems = package.build(&package.machine("far.toml"), "tuned");
    assert_ne!(tuned_stems, plain);
    assert_ne!(package.schedule("tuned", &tuned_stems[0]), package.schedule("plain", &plain[0]));
    assert!(!package.expand("tuned").contains("compile_error"));
    // Others get the default.
    let built_in = package.build(&Machine::default(), "built_in");
    assert_eq!(package.schedule("built_in", &built_in[0]), package.schedule("plain", &plain[0]));
}

#[test]
fn open_sizes_are_chosen_unless_something_says_more() {
    let package = Package::new();
    let source = std::fs::read_to_string(KERNEL).unwrap();
    let open = source.replace("pub const BLOCK: usize = 8;", "pub const BLOCK: usize = _;");
    assert_ne!(open, source);
    package.write("mixed.rs", &open);
    let built_in = Machine::default();
    let block = |out: &str| {
        let text = package.expand(out);
        assert!(!text.contains("compile_error"), "{text}");
        let start = text.find("pub const BLOCK : usize = ").unwrap() + "pub const BLOCK : usize = ".len();
        text[start..].split(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let stems = package.build(&built_in, "chosen");
    let chosen = block("chosen");
    // The kernel of the source with this number, but for the fingerprint of its tokens.
    package.write("mixed.rs", &source.replace("BLOCK: usize = 8", &format!("BLOCK: usize = {chosen}")));
    let written = package.build(&built_in, "written");
    assert_eq!(package.schedule("chosen", &stems[0]), package.schedule("written", &written[0]));
    package.write("mixed.rs", &open);
    assert_eq!(package.build(&built_in, "again"), stems);
    // What was tuned wins over what would be chosen, and what is set over both.
    std::fs::copy(Path::new(KERNEL).with_extension("tuned.toml"), package.path("mixed.tuned.toml")).unwrap();
    package.build(&built_in, "tuned");
    assert_eq!(block("tuned"), 4);
    let set = Overrides::from_iter([("BLOCK".to_owned(), 2.into())]);
    package.build_with(&built_in, set, Expected::default(), "set");
    assert_eq!(block("set"), 2);
}

/// The choices of a file are not for other sizes, whether the build sets these or the source has changed.
#[test]
fn what_was_tuned_is_built_only_with_its_tile_sizes() {
    let source = include_str!("../../../ui-tests/kernels/mixed.rs");
    let file = include_str!("../../../ui-tests/kernels/mixed.tuned.toml");
    let known = |source: &str, file: &str, settings: &str| {
        let module = hpmoe_core::front::modules(source).unwrap().remove(0);
        let set = hpmoe_core::artifacts::parse_settings(settings).unwrap();
        let (target, tuned) = (hpmoe_core::target::Target::ascend_a3(), hpmoe_core::tuned::Tuned::read(file).unwrap());
        let open = hpmoe_core::sizes::open_sizes(&module, &set, &target, Expected::default()).unwrap();
        kept_for(&tuned, &module, (&set, &open), &target).unwrap()
    };
    let is_used = |source: &str, file: &str, settings: &str| {
        let known = known(source, file, settings);
        assert_eq!(matches!(known, Kept::Fits(_)), known.default_because().is_none());
        known.default_because().unwrap_or_else(|| "used".to_owned())
    };
    let other_block = "has no schedule found with BLOCK = 2 (one was found with BLOCK = 4)";
    let open = source.replace("pub const BLOCK: usize = 8;", "pub const BLOCK: usize = _;");
    for source in [source, &open] {
        assert_eq!(is_used(source, file, ""), "used");
        assert_eq!(is_used(source, file, "BLOCK=4"), "used");
        assert_eq!(is_used(source, file, "BLOCK=2"), other_block);
    }
    // Files of older versions don't name sizes that the search has left as in the source.
    assert_eq!(is_used(source, file, "PUT=4"), "used");
    let with_put = file.replace("TOP_K = 2 }", "TOP_K = 2, PUT = 8 }");
    assert_eq!(is_used(source, &with_put, ""), "used");
    let other_put = "has no schedule found with PUT = 4 (one was found with PUT = 8)";
    assert_eq!(is_used(source, &with_put, "PUT=4"), other_put);
    let changed = source.replace("pub const PUT: usize = 8;", "pub const PUT: usize = 4;");
    assert_eq!(is_used(&changed, &with_put, ""), other_put);
    assert_eq!(is_used(&changed, &with_put, "PUT=8"), "used");
    // One file may have schedules for several sizes.
    let entry = &file[file.find("[[tuned]]").unwrap()..];
    let several = format!("{file}\n{}", entry.replace("BLOCK = 4", "BLOCK = 2").replace("put_cores = 20, ", ""));
    assert_ne!(known(source, &several, "BLOCK=2"), known(source, &several, "BLOCK=4"));
    assert_eq!(is_used(source, &several, "BLOCK=2"), "used");
    assert_eq!(known(source, &several, ""), known(source, file, ""));
    // Sizes may be arithmetic.
    let arithmetic = source.replace("pub const PUT: usize = 8;", "pub const PUT: usize = 2 * 4;");
    assert_eq!([source, &arithmetic].map(|source| is_used(source, &with_put, "PUT=4")), [other_put; 2]);
    // An entry that the kernel can't have any more hides no other.
    let outdated = entry.replace("BLOCK = 4", "BLOCK = 4, TILE_GONE = 8");
    assert_ne!(outdated, entry);
    assert_eq!(is_used(source, &outdated, ""), "has tile sizes that the kernel can't have any more");
    assert_eq!(known(source, &format!("{outdated}\n{entry}"), ""), known(source, file, ""));
}

#[test]
fn the_sizes_of_a_kernel_are_told_with_where_they_come_from() {
    let package = Package::new();
    let source = std::fs::read_to_string(KERNEL).unwrap();
    package.write("mixed.rs", &source.replace("pub const BLOCK: usize = 8;", "pub const BLOCK: usize = _;"));
    let expected = Expected { ranks: Some(4), tokens: None };
    let told = |out: &str, settings: &[(&str, usize)]| {
        let set = Overrides::from_iter(settings.iter().map(|&(name, size)| (name.to_owned(), size.into())));
        let stems = package.build_with(&Machine::default(), set, expected, out);
        package.tile_sizes(out, &stems[0])
    };
    let sizes = told("chosen", &[]);
    let [put, block] = sizes.lines().collect::<Vec<_>>()[..] else { panic!("{sizes}") };
    assert_eq!(put, "PUT = 8, as in the source");
    assert!(
        block.starts_with("BLOCK = ") && block.ends_with(", chosen for 4 ranks with `TOKENS` tokens each"),
        "{sizes}"
    );
    assert!(told("set", &[("PUT", 2)]).starts_with("PUT = 2, set for this build\n"));
    // The constant of the taskflow's module is this text.
    let rust = std::fs::read_dir(package.path("chosen").join(FOLDER)).unwrap().map(|entry| entry.unwrap().path());
    let rust = rust.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let rust: String = rust.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    assert!(rust.contains("pub const TILE_SIZES : & str = ") && rust.contains(".sizes.txt"), "{rust}");
    std::fs::copy(Path::new(KERNEL).with_extension("tuned.toml"), package.path("mixed.tuned.toml")).unwrap();
    assert!(told("tuned", &[]).contains("BLOCK = 4, found by `hpmoe tune`\n"));
}

#[test]
fn fixed_sizes_that_cost_time_are_warned_of_unless_they_are_allowed_or_tuned() {
    let package = Package::new();
    let set = Overrides::from_iter([("HIDDEN".to_owned(), 1024.into()), ("TOKENS".to_owned(), 512.into())]);
    let warnings = |file: &str, allowed| {
        package.write("mixed.rs", file);
        let built = package.built(&Machine::default(), set.clone(), Expected::default(), ("out", allowed));
        assert!(!built.0.is_empty());
        built.1
    };
    let layer = include_str!("../../../ui-tests/kernels/ffn.rs");
    let said = warnings(layer, false);
    assert!(said.len() == 1 && said[0].starts_with("kernel `ffn` is estimated to take "), "{said:?}");
    assert!(
        said[0].contains("write `pub const ") && said[0].contains("`.allow_slow_tile_sizes()` in the build"),
        "{said:?}"
    );
    assert_eq!(warnings(layer, true), [""; 0]);
    let open =
        layer.replace("TILE_M: usize = 32", "TILE_M: usize = _").replace("TILE_N: usize = 32", "TILE_N: usize = _");
    assert_ne!(open, layer);
    assert_eq!(warnings(&open, false), [""; 0]);
    let tuned = "[[tuned]]\nkernel = \"ffn\"\ntarget = \"ascend-a3\"\nmatrix_cores = 24\n\
                 shape = { EXPERTS = 4, HIDDEN = 1024, INTER = 64, TOKENS = 512, TOP_K = 2 }\nsizes = { TILE_M = 16 }\n";
    package.write("mixed.tuned.toml", tuned);
    assert_eq!(warnings(layer, false), [""; 0]);
}

#[test]
fn a_faulty_target_is_told_line_by_line() {
    let package = Package::new();
    package.write("faulty.toml", &ASCEND_A3.replace("clock_ghz = 1.85", "clock_mhz = 1850"));
    assert_eq!(
        package.refused(&package.machine("faulty.toml")),
        "`faulty.toml`, line 6: `cores.clock_ghz` is missing\n       \
         `faulty.toml`, line 9: unknown key `cores.clock_mhz`: is `cores.clock_ghz` meant?\n\
         help: a target has all keys of the built-in one, `hpmoe-core/targets/ascend-a3.toml`, and no others"
    );
    package.write("odd.toml", &ASCEND_A3.replace("aiv = 48", "aiv = 40").replace("l0a_kib = 64", "l0a_kib = 32"));
    assert_eq!(
        package.refused(&package.machine("odd.toml")),
        "`odd.toml`, line 8: `cores.aiv` is 40, but must be 48: kernels have two vector cores for each of 24 matrix cores \
         (`cores.aic`)\n       `odd.toml`, line 23: `memory.l0a_kib` is 32: kernels are generated for cores with 64 or more\n\
         help: kernels can't run on such a machine, but `hpmoe simulate --target` can simulate them"
    );
    let missing = package.refused(&package.machine("nowhere.toml"));
    assert!(missing.starts_with("target `nowhere.toml` is neither built in (ascend-a3) nor a file: "), "{missing}");
}

#[test]
fn numbers_of_cores_that_contradict_are_refused() {
    let package = Package::new();
    let with = |count| Machine { matrix_cores: Some(count), ..package.machine("small.toml") };
    assert_eq!(with(2).target().unwrap().cores.aiv, 4);
    assert_eq!(
        package.refused(&with(20)),
        "20 matrix cores contradict `small.toml`, line 7: `cores.aic` is 2\n\
         help: leave the number out, or describe the other machine in a file of its own"
    );
    for count in [0, 513, u32::MAX] {
        let built_in = Machine { matrix_cores: Some(count), ..Machine::default() };
        assert_eq!(package.refused(&built_in), format!("a rank can't have {count} matrix cores: choose from 1 to 512"));
    }
}

#[test]
fn a_source_that_is_nested_too_deep_is_told_with_its_place() {
    let package = Package::new();
    let source = std::fs::read_to_string(KERNEL).unwrap();
    package.write("mixed.rs", &format!("{source}\nconst A: u8 = {}1;\n", "-".repeat(3000)));
    let line = source.lines().count() + 2;
    let said = read_sources(&[package.path("mixed.rs")]).err().unwrap();
    assert!(said.contains(&format!("mixed.rs`, line {line}: this is nested too deeply: hpmoe reads")), "{said}");
    // rustc reports files that aren't Rust.
    package.write("mixed.rs", "mod {");
    // The kernels of other files are built.
    std::fs::copy(KERNEL, package.path("right.rs")).unwrap();
    let read = read_sources(&[package.path("mixed.rs"), package.path("right.rs")]).unwrap();
    assert!(!read.complete && read.modules.len() == 1 && read.modules[0].file.ends_with("right.rs"));
}

#[test]
fn a_module_that_is_not_rust_is_told_from_other_items() {
    let expand = |item: &str| {
        let script = hpmoe_expansion::BuildScript::Missing;
        megakernel(Default::default(), item.parse().unwrap(), &script, &|_| None).to_string()
    };
    let inside = expand("pub mod kernel { pub const A: usize = 160 fn f() {} }");
    assert!(inside.contains("this kernel is not valid Rust: expected `;`"), "{inside}");
    for item in ["mod elsewhere;", "fn f() {}", "struct S { a: u8 }"] {
        let said = expand(item);
        assert!(!said.contains("not valid Rust"), "{said}");
    }
}

#[test]
fn a_constant_is_set_in_all_kernels_or_in_one() {
    let kernel = |name: &str, constants: &str| -> syn::ItemMod {
        syn::parse_str(&format!("pub mod {name} {{ {constants} }}")).expect("a module")
    };
    let both = "pub const HIDDEN: usize = 8; pub const INTER: usize = 4;";
    let (rms, moe) = (kernel("rms", both), kernel("moe", both));
    let set = hpmoe_core::artifacts::parse_settings("rms::HIDDEN=32,HIDDEN=16,moe::INTER=2").unwrap();
    let of = |module: &syn::ItemMod| {
        let settings = settings_of(module, &set);
        ["HIDDEN", "INTER"].map(|name| settings.get(name).and_then(|value| value.size()))
    };
    assert_eq!((of(&rms), of(&moe)), ([Some(32), None], [Some(16), Some(2)]));
    let refused = |name: &str| {
        let set = hpmoe_core::artifacts::parse_settings(&format!("{name}=1")).unwrap();
        hpmoe_core::syntax::refuse_unknown_overrides(&set, std::iter::once(&rms)).unwrap_err()
    };
    assert!(refused("rms::HIDEN").contains("did you mean `rms::HIDDEN`?"));
    assert!(refused("rsm::HIDDEN").contains("no kernel declares a constant `rsm::HIDDEN`"));
}

#[test]
fn constants_that_follow_from_others_are_set_by_neither_script_nor_environment() {
    let sources = || {
        let modules = hpmoe_core::front::modules(&std::fs::read_to_string(KERNEL).unwrap()).unwrap();
        let source = |module| KernelModule { file: KERNEL.to_owned(), module, tuned: None };
        modules.into_iter().map(source).collect::<Vec<_>>()
    };
    let refused = |script: &str, environment: &str| {
        let [settings, environment] =
            [script, environment].map(|text| hpmoe_core::artifacts::parse_settings(text).unwrap());
        let group = KernelGroup {
            settings,
            target: hpmoe_core::target::Target::ascend_a3(),
            expected: Expected::default(),
            ranks: Vec::new(),
            tune: String::new(),
            device: None,
            toolkit: None,
            time_stamps: false,
            allow_slow_tile_sizes: false,
            sources: sources(),
        };
        refuse_settings(&[group], &environment)
    };
    assert_eq!(refused("BLOCK=4,SPARE=1", "TILE=32,CHUNKS_AT_MOST=8"), Ok(()));
    let words = "`SLOTS` can't be set, because kernel `mixed` computes it from other constants (`BLOCK * TOP_K`): set `BLOCK` or \
                 `TOP_K` instead";
    assert_eq!(refused("SLOTS=4", ""), Err(words.to_owned()));
    assert_eq!(refused("", "SLOTS=4"), Err(format!("HPMOE_SET: {words}")));
    // Nor by a file of tuned schedules.
    let file = include_str!("../../../ui-tests/kernels/mixed.tuned.toml").replace("BLOCK = 4", "PUT = 4");
    let file = hpmoe_core::tuned::Tuned::read(&file).unwrap();
    let source = std::fs::read_to_string(KERNEL).unwrap();
    let target = hpmoe_core::target::Target::ascend_a3();
    let known = |put: &str| {
        let source = source.replace("PUT: usize = 8;", &format!("PUT: usize = {put};"));
        let module = hpmoe_core::front::modules(&source).unwrap().remove(0);
        kept_for(&file, &module, (&Overrides::new(), &Default::default()), &target).unwrap()
    };
    assert!(matches!(known("8"), Kept::Fits(_)));
    assert_eq!(known("TILE / 2"), Kept::Outdated);
}

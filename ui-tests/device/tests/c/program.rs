//! A C program runs a kernel of the examples and gets the bits of a launch from Rust.

use std::path::{Path, PathBuf};
use std::process::Command;

use hpmoe_device_tests::hpmoe_library::LIBRARY;
use hpmoe_runtime::Argument;
use hpmoe_runtime::prelude::*;

const HIDDEN: usize = 128;
const INTER: usize = 64;
const EXPERTS: usize = 16;
const TOP_K: usize = 4;
const TOKENS: [usize; 2] = [24, 17];

/// The numbers of the C program, in its order.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 16
    }

    fn bf16(&mut self, count: usize) -> Vec<bf16> {
        (0..count)
            .map(|_| self.next())
            .map(|bits| bf16::from_bits(((bits & 0x8000) | (0x3d00 + (bits & 0xff))) as u16))
            .collect()
    }
}

/// The expected `y` of each rank, in hexadecimal digits.
fn launched_from_rust() -> Vec<String> {
    let (group, mut numbers) = (Group::new(2), Numbers(1));
    let ep = group.ranks();
    let (mut x, mut weights, mut gate, mut up, mut down, mut y) = (vec![], vec![], vec![], vec![], vec![], vec![]);
    for tokens in TOKENS {
        x.push(Tensor::<bf16, HIDDEN>::from_vec(numbers.bf16(tokens * HIDDEN)));
        let of_rank: Vec<f32> = (0..tokens * TOP_K).map(|_| (numbers.next() & 0xff) as f32 / 256.0).collect();
        weights.push(Tensor::<f32, TOP_K>::from_vec(of_rank));
        gate.push(Experts::<bf16, INTER, HIDDEN>::from_vec(numbers.bf16(8 * INTER * HIDDEN)));
        up.push(Experts::<bf16, INTER, HIDDEN>::from_vec(numbers.bf16(8 * INTER * HIDDEN)));
        down.push(Experts::<bf16, HIDDEN, INTER>::from_vec(numbers.bf16(8 * HIDDEN * INTER)));
        y.push(Tensor::<bf16, HIDDEN>::from_vec(numbers.bf16(tokens * HIDDEN)));
    }
    let ids = |tokens| (0..tokens).flat_map(|token| (0..TOP_K).map(move |k| ((token * 5 + k * 3) % EXPERTS) as i32));
    let ids = PerRank::from_vec(TOKENS.map(|tokens| Tensor::<i32, TOP_K>::from_vec(ids(tokens).collect())).into());
    let route = Route::new(ep, EXPERTS, &ids).unwrap();
    let [x, mut y] = [x, y].map(PerRank::from_vec);
    let (weights, gate, up, down) =
        (PerRank::from_vec(weights), PerRank::from_vec(gate), PerRank::from_vec(up), PerRank::from_vec(down));
    let kernel = LIBRARY.kernels().iter().find(|kernel| kernel.module == "moe_ffn").unwrap();
    let arguments = [
        Argument::read("x", &x),
        Argument::read("weights", &weights),
        Argument::read("gate", &gate),
        Argument::read("up", &up),
        Argument::read("down", &down),
        Argument::write("y", &mut y),
    ];
    group.launch(&kernel.compiled, &route, &arguments).unwrap();
    drop(arguments);
    y.iter().map(|y| y.to_vec().iter().map(|y| format!("{:04x}", y.to_bits())).collect()).collect()
}

/// The library, in the folder of this test or its parent.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let name = format!("{}hpmoe_device_tests{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let places: Vec<PathBuf> = test.ancestors().skip(1).take(2).map(|folder| folder.join(&name)).collect();
    places.iter().find(|place| place.exists()).unwrap_or_else(|| panic!("none of {places:?} is there")).clone()
}

fn compile(compiler: &str, arguments: &[&str], source: &Path, out: &Path) {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hpmoe-runtime/c/include");
    let mut command = Command::new(compiler);
    command.arg("-I").arg(include).arg(source).args(arguments).arg("-o").arg(out);
    let done = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(done.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&done.stderr));
}

/// The output of a C program that uses the library.
fn printed(source: &str, flags: &[&str]) -> String {
    let (folder, library) = (tempfile::tempdir().unwrap(), library());
    let program = folder.path().join("program");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let arguments = [flags, &["-pedantic", "-Wall", "-Wextra", "-Werror", library.to_str().unwrap(), "-lm"]].concat();
    compile("cc", &arguments, &source, &program);
    let run = Command::new(&program).env("LD_LIBRARY_PATH", library.parent().unwrap()).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{}\n{text}\n{}", run.status, String::from_utf8_lossy(&run.stderr));
    text
}

#[test]
fn the_arithmetic_of_the_caller_changes_no_bits_and_is_kept() {
    let text = printed("surroundings.c", &["-std=c11", "-frounding-math"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines, ["0 0 subnormal: 84", "launch differs: 0, reference differs: 0, state kept: 1"]);
}

#[test]
fn a_c_program_gets_the_bits_of_a_launch_from_rust() {
    let text = printed("program.c", &["-std=c99"]);
    let lines: Vec<&str> = text.lines().collect();
    let description: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(description["abi"], hpmoe_c::header::HPMOE_C_ABI);
    assert_eq!(lines[1..5], ["memory: 0 ", "3072 768 1 1", "group: 0 ", "launch: 0 "]);
    let report: serde_json::Value = serde_json::from_str(lines[5]).unwrap();
    let copied: Vec<_> =
        report["copied"].as_array().unwrap().iter().map(|copy| (&copy["tensor"], &copy["rank"])).collect();
    assert_eq!(copied, [(&"x".into(), &0.into()), (&"y".into(), &1.into())]);
    assert_eq!(report["kernel"], "moe_ffn::forward");
    assert_eq!(lines[6..8], launched_from_rust());
    let no_weights = "no weights: 1 `weights` of rank 0 is null, but has 24 rows: pass its address";
    assert_eq!(lines[8..11], [no_weights, "[]", "free: 0 "]);
    assert!(lines[11].starts_with("free again: 0 there is no group ") && lines[12..] == ["1"], "{}", lines[11]);
}

#[test]
fn the_header_is_c_and_cxx() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, ending, standard) in [("cc", "c", "-std=c99"), ("c++", "cpp", "-std=c++11")] {
        let source = folder.path().join(format!("only.{ending}"));
        std::fs::write(&source, "#include \"hpmoe.h\"\nint main(void) { return 0; }\n").unwrap();
        let out = folder.path().join(ending);
        compile(compiler, &[standard, "-pedantic", "-Wall", "-Wextra", "-Werror"], &source, &out);
    }
}

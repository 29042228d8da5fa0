//! Random kernels: taskflows of any shape with task bodies of any operations, as the text of a Rust module, and the text of a test
//! that launches one and compares the bits.
//!
//! A program is made from its seed alone. Each is right by construction: [`Program::faulty`] makes one that probably is not.
//!
//! | module | what it makes |
//! |---|---|
//! | `draw` | choices by chance |
//! | `tensor` | tensors with their rows, element types and columns |
//! | `body` | the bodies of vector tasks |
//! | `nest` | loops around calls |
//! | `stages` | the tasks and calls of each stage |
//! | `layer` | the parts of one program, and the order of its stages |
//! | `module` | the text of the module, and of its test |
//! | `fault` | changes of a program's text |

mod body;
mod draw;
mod fault;
mod layer;
mod module;
mod nest;
mod stages;
mod tensor;

use fastrand::Rng;
use std::ops::Range;

/// A random kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The name of its module.
    pub name: String,
    /// The module, with its attribute: a Rust source file.
    pub source: String,
    /// A function `check(case)` that runs the taskflow as Rust and as a kernel, and compares all outputs. It takes what
    /// the tests of kernels share; see `ui-tests/tests/all/programs.rs`.
    pub check: String,
}

impl Program {
    /// The program of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let layer = layer::Layer::new(&mut rng);
        let name = format!("program_{seed}");
        Self { source: module::source(&layer, &name), check: module::check(&layer, &name), name }
    }

    /// The program with one change to its text: a line left out, written twice or put elsewhere, another size, tensor, loop or
    /// accessor.
    #[must_use]
    pub fn faulty(&self, seed: u64) -> String {
        fault::changed(&self.source, &mut Rng::with_seed(seed))
    }
}

/// Environment variables: the number of programs, and the first one.
pub const SETTINGS: [&str; 2] = ["HPMOE_PROGRAMS", "HPMOE_PROGRAMS_FROM"];

/// The seeds that the environment asks for: the first `usual` ones, unless it sets others.
///
/// # Panics
///
/// If one of [`SETTINGS`] is not a number.
#[must_use]
pub fn seeds(usual: u64) -> Range<u64> {
    let setting = |name: &str, usual| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number, not `{text}`")),
        Err(_) => usual,
    };
    let [count, first] = SETTINGS;
    let first = setting(first, 0);
    first..first + setting(count, usual)
}

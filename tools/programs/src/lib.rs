//! Random kernels: taskflows of any shape with task bodies of any operations, as the text of a Rust module, and the text of a test that
//! launches one and compares the bits.
//!
//! A program depends only on its seed. Each is correct by construction; [`Program::faulty`] makes one that probably is not.
//!
//! | module | what it makes |
//! |---|---|
//! | `draw` | random choices |
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
    /// The name of the module.
    pub name: String,
    /// The text of a Rust source file that contains the module, with its attribute.
    pub source: String,
    /// The text of a function `check(case)`, which runs the taskflow as Rust and as a kernel, and compares all outputs. `case` is the one
    /// that the tests of kernels share; see `ui-tests/tests/all/programs.rs`.
    pub check: String,
}

impl Program {
    /// Makes the program of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let layer = layer::Layer::new(&mut rng);
        let name = format!("program_{seed}");
        Self { source: module::source(&layer, &name), check: module::check(&layer, &name), name }
    }

    /// Returns the program with one change to its text: a line that is left out, repeated or moved, or a different size, tensor, loop or
    /// accessor.
    #[must_use]
    pub fn faulty(&self, seed: u64) -> String {
        fault::changed(&self.source, &mut Rng::with_seed(seed))
    }
}

/// Environment variables: the number of programs, and the first seed.
pub const SETTINGS: [&str; 2] = ["HPMOE_PROGRAMS", "HPMOE_PROGRAMS_FROM"];

/// The seeds that the environment variables ask for; otherwise, the first `usual` ones.
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

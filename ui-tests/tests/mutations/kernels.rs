//! The kernels that mutants are made of, and how they are launched.

#[path = "../../kernels/coarse.rs"]
#[allow(dead_code, reason = "a kernel's module has more than a test takes")]
mod coarse_file;
#[path = "../../kernels/deep.rs"]
#[allow(dead_code, reason = "a kernel's module has more than a test takes")]
mod deep_file;
#[path = "../../kernels/echo.rs"]
#[allow(dead_code, reason = "a kernel's module has more than a test takes")]
mod echo_file;
#[path = "../../kernels/ffn.rs"]
#[allow(dead_code, reason = "a kernel's module has more than a test takes")]
mod ffn_file;

use crate::random::{experts, numbers, weights};
use crate::rows::{Launch, Row, rows};
use coarse_file::coarse;
use deep_file::deep;
use echo_file::echo;
use ffn_file::ffn;
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{Argument, KernelTables};

/// A kernel of this package.
pub struct Kernel {
    pub name: &'static str,
    /// The generated file.
    pub text: &'static str,
    pub tables: &'static KernelTables,
    /// Launches in a row: whether all had the bits of the reference.
    pub launch: fn(&KernelTables, &Group, &[Launch]) -> Result<bool, LaunchError>,
}

impl Kernel {
    pub fn rows(&self) -> Vec<Row> {
        rows(self)
    }
}

/// A kernel with its tensors for reading, in the order of its parameters; it writes `y`.
macro_rules! kernel {
    ($kernel:ident, $($tensor:ident = $make:expr),+) => {{
        fn launch(tables: &KernelTables, group: &Group, row: &[Launch]) -> Result<bool, LaunchError> {
            let routes: Vec<Route> =
                row.iter().map(|launch| launch.route::<{ $kernel::TOP_K }>($kernel::EXPERTS)).collect();
            $(let $tensor: Vec<_> = row.iter().map(|launch| $make(&launch.case)).collect();)+
            let reference = |at: usize| {
                let mut y = row[at].case.zeros();
                $kernel::forward(row[at].case.ep(), &routes[at], $(&$tensor[at],)+ &mut y);
                y
            };
            let expected: Vec<_> = (0..row.len()).map(reference).collect();
            let mut found = alike(&expected, row.iter().map(|launch| launch.case.zeros()).collect());
            let arguments: Vec<Vec<Argument<'_>>> = found
                .iter_mut()
                .enumerate()
                .map(|(at, y)| vec![$(Argument::read(stringify!($tensor), &$tensor[at]),)+ Argument::write("y", y)])
                .collect();
            let launches: Vec<_> = routes.iter().zip(&arguments).map(|(route, all)| (route, &all[..])).collect();
            group.launch_row(tables, &launches)?;
            Ok(found == expected)
        }
        Kernel {
            name: stringify!($kernel),
            text: $kernel::forward::ASCENDC,
            tables: &$kernel::forward::KERNEL,
            launch,
        }
    }};
}

/// The one that reaches most comes first.
pub static ALL: [Kernel; 4] = [
    kernel!(
        deep,
        x = numbers,
        z = weights,
        weights = weights,
        gate = |case| experts(case, deep::EXPERTS, 1),
        up = |case| experts(case, deep::EXPERTS, 2),
        down = |case| experts(case, deep::EXPERTS, 3)
    ),
    kernel!(
        ffn,
        x = numbers,
        weights = weights,
        gate = |case| experts(case, ffn::EXPERTS, 1),
        up = |case| experts(case, ffn::EXPERTS, 2),
        down = |case| experts(case, ffn::EXPERTS, 3)
    ),
    kernel!(coarse, x = numbers, w = |case| experts(case, coarse::EXPERTS, 1), weights = weights),
    kernel!(echo, x = numbers, weights = weights),
];

/// `made`, which is of the type of `like`.
fn alike<T>(_like: &[T], made: Vec<T>) -> Vec<T> {
    made
}

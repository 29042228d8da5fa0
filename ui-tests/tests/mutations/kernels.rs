//! The kernels that are mutated, and their launches.

use crate::kept::{launch_keeping, launch_taking};
use crate::random::{Case, bytes, experts, numbers, slots, tokens, weights};
use crate::rows::{Launch, Row, rows};
use crate::small_kernels::{
    bytes as octets, chosen, chunks, coarse, codes, columns, deep, echo, external, ffn, floats, kept, once, products,
    routed, rows as operations, sums,
};
use crate::stamped::{launch_stamped, stamped};
use hpmoe_runtime::prelude::*;
use hpmoe_runtime::{Argument, CompiledKernel, Report};

/// A kernel of this package.
pub struct Kernel {
    pub name: &'static str,
    /// The generated file.
    pub text: &'static str,
    pub compiled: &'static CompiledKernel,
    /// Runs launches in a row. Returns whether all had the bits of the reference.
    pub launch: fn(&CompiledKernel, &Group, &[Launch]) -> Result<bool, LaunchError>,
}

impl Kernel {
    pub fn rows(&self) -> Vec<Row> {
        rows(self)
    }
}

/// A kernel with its tensors, in the order of its parameters: first those that it reads, then those that it writes.
macro_rules! kernel {
    ($kernel:ident, $($tensor:ident = $make:expr),+; $($result:ident = $new:expr),+) => {{
        fn launch(compiled: &CompiledKernel, group: &Group, row: &[Launch]) -> Result<bool, LaunchError> {
            let routes: Vec<Route> =
                row.iter().map(|launch| launch.route::<{ $kernel::TOP_K }>($kernel::EXPERTS)).collect();
            let cases = || row.iter().map(|launch| &launch.case).zip(&routes);
            $(let $tensor: Vec<_> =
                cases().map(|(case, route)| $make(&of_tensor(case, stringify!($tensor)), route)).collect();)+
            let reference = |(at, (case, route)): (usize, (&Case, &Route))| {
                $(let mut $result = $new(case, route);)+
                $kernel::forward(case.ep(), route, $(&$tensor[at],)+ $(&mut $result),+);
                ($($result,)+)
            };
            let expected: Vec<_> = cases().enumerate().map(reference).collect();
            let mut found = alike(&expected, cases().map(|(case, route)| ($($new(case, route),)+)).collect());
            let arguments: Vec<Vec<Argument<'_>>> = found
                .iter_mut()
                .enumerate()
                .map(|(at, ($($result,)+))| vec![
                    $(Argument::read(stringify!($tensor), &$tensor[at]),)+
                    $(Argument::write(stringify!($result), $result),)+
                ])
                .collect();
            let launches: Vec<_> = routes.iter().zip(&arguments).map(|(route, all)| (route, &all[..])).collect();
            group.launch_row(compiled, &launches)?;
            Ok(found == expected)
        }
        Kernel {
            name: stringify!($kernel),
            text: $kernel::forward::ASCENDC,
            compiled: &$kernel::forward::KERNEL,
            launch,
        }
    }};
}

/// The case with the tensor's own seed: no two tensors have the same numbers, so that none can replace another.
fn of_tensor(case: &Case, name: &str) -> Case {
    let salt = name.bytes().fold(0u64, |salt, byte| (salt ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    Case { seed: case.seed ^ salt << 20, ..case.clone() }
}

/// Matrices of whole numbers.
fn whole_numbers<const N: usize, const K: usize>(case: &Case, route: &Route) -> PerRank<Experts<i8, N, K>> {
    let count = route.local_experts() * N * K;
    PerRank::from_fn(case.ep(), |rank| Experts::from_vec((0..count).map(|i| (37 * i + rank.id()) as i8).collect()))
}

/// Ids, some of which name no column.
fn ids_and_others<const K: usize>(case: &Case, _: &Route) -> PerRank<Tensor<i32, K>> {
    let named = |count: usize| (0..count).map(|n| (n * 7919 + case.seed as usize % 100) as i32 % 60 - 8).collect();
    PerRank::from_fn(case.ep(), |rank| Tensor::from_vec(named(case.tokens[rank.id()] * K)))
}

/// Pairs of 4-bit numbers.
fn pairs<const K: usize>(case: &Case, _: &Route) -> PerRank<Tensor<i4x2, K>> {
    let bytes: PerRank<Tensor<i8, K>> = bytes(case);
    let pair = |byte: i8| i4x2::from_bits(byte.cast_unsigned());
    bytes.map(|part| Tensor::from_vec(part.to_vec().into_iter().map(pair).collect()))
}

/// A table of different numbers.
fn table<const K: usize>(case: &Case, _: &Route) -> PerRank<Matrix<f32, 1, K>> {
    let first = (case.seed >> 20) as usize % K;
    let row: Vec<f32> = (0..K).map(|code| ((code * 37 + first) % K) as f32 / 8.0 - 3.0).collect();
    PerRank::from_fn(case.ep(), |_| Matrix::from_slice(&row))
}

/// Two rows of different non-zero numbers.
fn two_rows<const K: usize>(case: &Case, _: &Route) -> PerRank<Matrix<f32, 2, K>> {
    let row: Vec<f32> = (0..2 * K).map(|column| (column * 37 % 17) as f32 / 4.0 - 1.875).collect();
    PerRank::from_fn(case.ep(), |_| Matrix::from_slice(&row))
}

/// Matrices of ones, which are added to.
fn ones<const N: usize, const K: usize>(case: &Case, route: &Route) -> PerRank<Experts<f32, N, K>> {
    PerRank::from_fn(case.ep(), |_| Experts::from_vec(vec![1.0; route.local_experts() * N * K]))
}

/// Runs launches in a row of a kernel that makes or takes its route, with these arguments.
pub fn launch_all<'a>(
    compiled: &CompiledKernel,
    group: &Group,
    of_launch: impl Iterator<Item = Vec<Argument<'a>>>,
) -> Result<Report, LaunchError> {
    let arguments: Vec<Vec<Argument<'_>>> = of_launch.collect();
    let launches: Vec<&[Argument<'_>]> = arguments.iter().map(Vec::as_slice).collect();
    group.launch_routed_row(compiled, &launches)
}

/// Runs launches in a row of the kernel that makes its route.
fn launch_routed(compiled: &CompiledKernel, group: &Group, row: &[Launch]) -> Result<bool, LaunchError> {
    use routed::{EXPERTS, HIDDEN, TOP_K, chunked};
    struct Given {
        ids: PerRank<Tensor<i32, TOP_K>>,
        x: PerRank<Tensor<bf16, HIDDEN>>,
        weights: PerRank<Tensor<f32, TOP_K>>,
        gate: PerRank<Experts<bf16, { routed::INTER }, HIDDEN>>,
        down: PerRank<Experts<bf16, HIDDEN, { routed::INTER }>>,
    }
    let given = |launch: &Launch| Given {
        ids: launch.ids(EXPERTS),
        x: numbers(&launch.case),
        weights: weights(&launch.case),
        gate: experts(&launch.case, EXPERTS, 1),
        down: experts(&launch.case, EXPERTS, 2),
    };
    let given: Vec<Given> = row.iter().map(given).collect();
    let reference = |(launch, Given { ids, x, weights, gate, down }): (&Launch, &Given)| {
        let mut y: PerRank<Tensor<bf16, HIDDEN>> = launch.case.zeros();
        chunked(launch.case.ep(), ids, x, weights, gate, down, &mut y);
        y
    };
    let expected: Vec<_> = row.iter().zip(&given).map(reference).collect();
    let mut found = alike(&expected, row.iter().map(|launch| launch.case.zeros()).collect());
    let of_launch = given.iter().zip(&mut found).map(|(given, y)| {
        let Given { ids, x, weights, gate, down } = given;
        vec![
            Argument::read("ids", ids),
            Argument::read("x", x),
            Argument::read("weights", weights),
            Argument::read("gate", gate),
            Argument::read("down", down),
            Argument::write("y", y),
        ]
    });
    launch_all(compiled, group, of_launch)?;
    Ok(found == expected)
}

/// Launches in a row of the kernel that makes its route of ids that it chooses: those of the launch, which have the best scores.
fn launch_chosen(compiled: &CompiledKernel, group: &Group, row: &[Launch]) -> Result<bool, LaunchError> {
    use chosen::{EXPERTS, HIDDEN, INTER, TOP_K, told};
    struct Given {
        x: PerRank<Tensor<bf16, HIDDEN>>,
        z: PerRank<Tensor<f32, EXPERTS>>,
        gate: PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: PerRank<Experts<bf16, HIDDEN, INTER>>,
    }
    let scores = |ids: &Tensor<i32, TOP_K>| {
        let token = |ids: &[i32]| {
            let mut z = [-1.0; EXPERTS];
            ids.iter().enumerate().for_each(|(k, &id)| z[id as usize] = 2.0 - k as f32 / 2.0);
            z
        };
        Tensor::from_vec(ids.to_vec().chunks(TOP_K).flat_map(token).collect())
    };
    let given = |launch: &Launch| Given {
        x: numbers(&launch.case),
        z: launch.ids::<TOP_K>(EXPERTS).map(scores),
        gate: experts(&launch.case, EXPERTS, 1),
        down: experts(&launch.case, EXPERTS, 2),
    };
    let given: Vec<Given> = row.iter().map(given).collect();
    let room = |launch: &Launch| (launch.case.zeros(), launch.case.zeros(), launch.case.zeros());
    let reference = |(launch, Given { x, z, gate, down }): (&Launch, &Given)| {
        let (mut ids, mut weights, mut y) = room(launch);
        told(launch.case.ep(), x, z, gate, down, &mut ids, &mut weights, &mut y);
        (ids, weights, y)
    };
    let expected: Vec<_> = row.iter().zip(&given).map(reference).collect();
    let mut found = alike(&expected, row.iter().map(room).collect());
    let of_launch = given.iter().zip(&mut found).map(|(given, (ids, weights, y))| {
        vec![
            Argument::read("x", &given.x),
            Argument::read("z", &given.z),
            Argument::read("gate", &given.gate),
            Argument::read("down", &given.down),
            Argument::write("ids", ids),
            Argument::write("weights", weights),
            Argument::write("y", y),
        ]
    });
    launch_all(compiled, group, of_launch)?;
    Ok(found == expected)
}

/// The kernel that reaches the most points comes first.
pub static ALL: [Kernel; 19] = [
    kernel!(
        deep,
        x = |case, _| numbers(case),
        z = |case, _| weights(case),
        weights = |case, _| weights(case),
        gate = |case, _| experts(case, deep::EXPERTS, 1),
        up = |case, _| experts(case, deep::EXPERTS, 2),
        down = |case, _| experts(case, deep::EXPERTS, 3);
        y = |case: &Case, _| case.zeros()
    ),
    kernel!(
        ffn,
        x = |case, _| numbers(case),
        weights = |case, _| weights(case),
        gate = |case, _| experts(case, ffn::EXPERTS, 1),
        up = |case, _| experts(case, ffn::EXPERTS, 2),
        down = |case, _| experts(case, ffn::EXPERTS, 3);
        y = |case: &Case, _| case.zeros()
    ),
    kernel!(
        external,
        x = |case, _| numbers(case),
        weights = |case, _| weights(case),
        gate = |case, _| experts(case, external::EXPERTS, 1),
        up = |case, _| experts(case, external::EXPERTS, 2),
        down = |case, _| experts(case, external::EXPERTS, 3);
        y = |case: &Case, _| case.zeros()
    ),
    kernel!(
        coarse,
        x = |case, _| numbers(case),
        w = |case, _| experts(case, coarse::EXPERTS, 1),
        weights = |case, _| weights(case);
        y = |case: &Case, _| case.zeros()
    ),
    kernel!(echo, x = |case, _| numbers(case), weights = |case, _| weights(case); y = |case: &Case, _| case.zeros()),
    kernel!(
        products,
        x = |case, _| numbers(case),
        z = slots,
        w = |case, _| experts(case, products::EXPERTS, 1),
        v = |case, _| experts(case, products::EXPERTS, 2),
        u = |case, _| experts(case, products::EXPERTS, 3);
        recv = |case: &Case, route| PerRank::symmetric(case.ep(), route),
        g = |case: &Case, route| PerRank::ragged(case.ep(), route),
        back = slots,
        dw = |case: &Case, route| PerRank::experts(case.ep(), route),
        narrow = |case: &Case, route| PerRank::experts(case.ep(), route),
        sum = ones,
        onto = ones
    ),
    kernel!(
        operations,
        x = |case, _| numbers(case),
        w = |case, _| weights(case),
        each = |case, _| weights(case),
        wide = |case, _| weights(case),
        bias = |case, _| experts(case, operations::EXPERTS, 1),
        scale = |case, _| experts(case, operations::EXPERTS, 2);
        y = |case: &Case, _| case.zeros(),
        twice = |case: &Case, _| case.zeros(),
        total = |case: &Case, _| case.zeros(),
        folded = |case: &Case, _| case.zeros(),
        z = |case: &Case, _| case.zeros(),
        best = |case: &Case, _| case.zeros(),
        shares = |case: &Case, _| case.zeros(),
        same = |case: &Case, _| case.zeros()
    ),
    kernel!(
        columns,
        x = |case, _| weights(case),
        s = slots,
        w = |case, _| weights(case),
        v = |case, _| weights(case),
        i = ids_and_others,
        rows = two_rows;
        y = |case: &Case, _| case.zeros(),
        z = |case: &Case, _| case.zeros(),
        k = |case: &Case, _| case.zeros(),
        sy = |case: &Case, _| case.zeros(),
        m = |case: &Case, _| case.zeros(),
        best = |case: &Case, route| PerRank::slots(case.ep(), route),
        ids = |case: &Case, _| case.zeros(),
        wv = |case: &Case, _| case.zeros(),
        back = |case: &Case, _| case.zeros(),
        oy = |case: &Case, _| case.zeros(),
        wy = |case: &Case, _| case.zeros(),
        wz = |case: &Case, _| case.zeros()
    ),
    kernel!(
        octets,
        x = |case, _| bytes(case),
        scale = |case, _| weights(case),
        offset = whole_numbers,
        w = whole_numbers,
        weights = |case, _| weights(case);
        y = |case: &Case, _| case.zeros(),
        same = |case: &Case, _| case.zeros(),
        sums = |case: &Case, route| PerRank::ragged(case.ep(), route),
        rounded = |case: &Case, route| PerRank::ragged(case.ep(), route)
    ),
    kernel!(
        codes,
        packed = pairs,
        odd = pairs,
        wide = |case, _| bytes(case),
        ragged = |case, _| bytes(case),
        groups = |case, _| bytes(case),
        scales = |case, _| weights(case),
        small = |case, _| weights(case),
        units = |case, _| bytes(case),
        eights = |case, _| bytes(case),
        fours = |case, _| bytes(case),
        places = table,
        e2m1 = table,
        s1p2 = table,
        e8m0 = table,
        e6m2 = table,
        fp8 = table;
        w4a8 = |case: &Case, _| case.zeros(),
        w4a16 = |case: &Case, _| case.zeros(),
        mxfp4 = |case: &Case, _| case.zeros(),
        of_fp8 = |case: &Case, _| case.zeros(),
        hifloat4 = |case: &Case, _| case.zeros(),
        looked = |case: &Case, _| case.zeros(),
        repeated = |case: &Case, _| case.zeros(),
        sums = |case: &Case, _| case.zeros(),
        received = |case: &Case, route| PerRank::ragged(case.ep(), route),
        slots = |case: &Case, route| PerRank::slots(case.ep(), route)
    ),
    kernel!(
        floats,
        x = |case, _| tokens(case, 6),
        numbers = |case, _| weights(case),
        weights = |case, _| weights(case),
        w = |case, _| experts(case, floats::EXPERTS, 1),
        bias = |case, _| experts(case, floats::EXPERTS, 2),
        v = |case, _| experts(case, floats::EXPERTS, 3),
        u = |case, _| experts(case, floats::EXPERTS, 4),
        p = |case, _| experts(case, floats::EXPERTS, 5);
        halves = |case: &Case, _| case.zeros(),
        same = |case: &Case, _| case.zeros(),
        wide = |case: &Case, route| PerRank::ragged(case.ep(), route),
        alone = |case: &Case, route| PerRank::ragged(case.ep(), route),
        mixed = |case: &Case, route| PerRank::ragged(case.ep(), route),
        dw = |case: &Case, route| PerRank::experts(case.ep(), route),
        onto = ones,
        y = |case: &Case, _| case.zeros()
    ),
    kernel!(
        chunks,
        x = |case, _| numbers(case),
        weights = slots,
        gate = |case, _| experts(case, chunks::EXPERTS, 1),
        down = |case, _| experts(case, chunks::EXPERTS, 2);
        y = |case: &Case, _| case.zeros()
    ),
    kernel!(
        once,
        x = |case, _| numbers(case),
        z = |case, _| numbers(case),
        weights = |case, _| weights(case);
        kept = |case: &Case, route| PerRank::once(case.ep(), route),
        y = |case: &Case, _| case.zeros(),
        v = |case: &Case, _| case.zeros()
    ),
    kernel!(sums, x = |case, _| numbers(case), z = slots; first = ones, second = ones, y = |case: &Case, _| case.zeros()),
    Kernel {
        name: "routed",
        text: routed::chunked::ASCENDC,
        compiled: &routed::chunked::KERNEL,
        launch: launch_routed,
    },
    Kernel { name: "keeping", text: kept::forward::ASCENDC, compiled: &kept::forward::KERNEL, launch: launch_keeping },
    Kernel { name: "taking", text: kept::backward::ASCENDC, compiled: &kept::backward::KERNEL, launch: launch_taking },
    Kernel {
        name: "stamped",
        text: stamped::forward::ASCENDC,
        compiled: &stamped::forward::KERNEL,
        launch: launch_stamped,
    },
    Kernel { name: "chosen", text: chosen::told::ASCENDC, compiled: &chosen::told::KERNEL, launch: launch_chosen },
];

/// `made`, with the type of `like`.
fn alike<T>(_like: &[T], made: Vec<T>) -> Vec<T> {
    made
}

//! The tensors that are passed to a launch.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::tables::RowKind;
use hpmoe_kernels::op::ElementType;
use hpmoe_kernels::{Element, Experts, Matrix, Once, PerRank, Rank, Ranks, Received, Route, Routed, Slots, Tensor};

/// One rank's part of a tensor argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RankPart {
    /// Address of the part's first element.
    pub(crate) address: u64,
    /// Number of rows; for a tensor with rows for each expert, number of experts.
    pub(crate) count: usize,
}

/// A tensor that a launch reads or writes, borrowed for the launch. Generated code makes arguments.
///
/// Tensors consist of cells, which a kernel accesses from its own threads while the launching thread waits. No other
/// thread may access a tensor at the same time. So an argument stays on the thread that made it, like the tensor's own
/// reference:
///
/// ```compile_fail,E0277
/// # use hpmoe_runtime::{Argument, prelude::*};
/// let x: PerRank<Tensor<f32, 16>> = PerRank::from_fn(Ranks::new(1), |_| Tensor::zeros(1));
/// let argument = Argument::read("x", &x);
/// std::thread::scope(|scope| {
///     scope.spawn(|| drop(argument)); // not `Send`
/// });
/// ```
///
/// It can't be shared with another thread:
///
/// ```compile_fail,E0277
/// # use hpmoe_runtime::Argument;
/// fn shared<T: Sync>() {}
/// shared::<Argument<'static>>();
/// ```
///
/// And a tensor that is written has only one argument:
///
/// ```compile_fail,E0277
/// # use hpmoe_runtime::Argument;
/// fn copied<T: Clone>() {}
/// copied::<Argument<'static>>();
/// ```
#[derive(Debug)]
pub struct Argument<'a> {
    pub(crate) name: &'static str,
    pub(crate) element: ElementType,
    pub(crate) columns: usize,
    pub(crate) kind: RowKind,
    /// Ranks of the group that the tensor was made for. Only ranks of this process have parts.
    pub(crate) ranks: Ranks,
    parts: PerRank<RankPart>,
    pub(crate) writable: bool,
    /// Whether each part lies in the memory of its rank's NPU.
    pub(crate) on_npus: bool,
    /// The borrowed tensors, which are `Cell`s: neither `Send` nor `Sync`.
    borrow: PhantomData<&'a Cell<()>>,
}

impl<'a> Argument<'a> {
    /// An argument for a tensor that the launch reads. `name` is the tensor's name in the taskflow.
    pub fn read<X: TensorArgument>(name: &'static str, tensor: &'a X) -> Self {
        tensor.argument(name, false)
    }

    /// An argument for a tensor that the launch writes. `name` is the tensor's name in the taskflow.
    pub fn write<X: TensorArgument>(name: &'static str, tensor: &'a mut X) -> Self {
        tensor.argument(name, true)
    }

    /// An argument for a tensor that another library owns. `parts` has the address of each local rank's part, and
    /// `name` is the tensor's name in the taskflow.
    ///
    /// # Safety
    ///
    /// While the argument lives, the rows of each part lie at its address, without gaps and initialised, and nothing
    /// else writes them. If the tensor is writable, nothing else reads them either, and no other argument of the launch
    /// shares memory with it.
    #[expect(unsafe_code, reason = "memory that Rust does not know")]
    #[must_use]
    pub unsafe fn from_raw(name: &'static str, tensor: RawTensor, parts: &PerRank<RawPart>) -> Self {
        let part = |part: &RawPart| RankPart { address: part.address.expose_provenance() as u64, count: part.count };
        let RawTensor { element, columns, kind, writable } = tensor;
        let (ranks, parts) = (parts.ranks(), parts.map(part));
        Self { name, element, columns, kind, ranks, parts, writable, on_npus: false, borrow: PhantomData }
    }

    /// Like [`from_raw`](Self::from_raw), for a tensor in the memory of each rank's NPU: a framework's tensor, which a
    /// launch uses in place. The addresses are device addresses. The group must run on NPUs.
    ///
    /// # Safety
    ///
    /// The conditions of [`from_raw`](Self::from_raw) hold from the launch until it has been waited for or the group is
    /// dropped, even if the argument is dropped earlier. Earlier work that writes the tensor has finished, or is on a
    /// stream that [`Group::enqueue`](crate::Group::enqueue) is given.
    #[expect(unsafe_code, reason = "memory that Rust does not know")]
    #[must_use]
    pub unsafe fn on_npus(name: &'static str, tensor: RawTensor, parts: &PerRank<RawPart>) -> Self {
        // SAFETY: the caller's promise covers what is asked for here.
        Self { on_npus: true, ..unsafe { Self::from_raw(name, tensor, parts) } }
    }

    /// The tensor's part on `rank`, which is a rank of this process.
    pub(crate) fn part(&self, rank: Rank) -> RankPart {
        self.parts[rank]
    }

    /// The tensor's parts on the ranks of this process.
    pub(crate) fn places(&self) -> Vec<RankPart> {
        self.parts.iter().copied().collect()
    }

    /// Number of bytes of the tensor's part on `rank`.
    pub(crate) fn bytes(&self, rank: Rank) -> usize {
        let rows = match self.kind {
            RowKind::Expert(height) => self.part(rank).count * height as usize,
            _ => self.part(rank).count,
        };
        rows * self.columns * self.element.bytes()
    }
}

/// The description of a tensor that another library owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawTensor {
    /// Type of the elements.
    pub element: ElementType,
    /// Number of columns, the same in every row.
    pub columns: usize,
    /// The kind of the rows.
    pub kind: RowKind,
    /// Whether the launch may write the tensor.
    pub writable: bool,
}

/// One rank's part of a tensor that another library owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawPart {
    /// Address of the first element. It is a multiple of [`ALIGNMENT`](Self::ALIGNMENT), unless there are no rows.
    pub address: *mut u8,
    /// Number of rows; for a tensor with rows for each expert, number of experts.
    pub count: usize,
}

impl RawPart {
    /// Alignment of a part in bytes: one line of the scalar cache. A launch refuses a part that starts at any other address than a multiple
    /// of 64.
    pub const ALIGNMENT: usize = 64;
}

mod sealed {
    pub trait Sealed {}
    impl<X> Sealed for hpmoe_kernels::PerRank<X> {}
}

/// The types that a taskflow takes as tensors: `PerRank<Tensor<T, C>>`, `PerRank<Received<T, C>>`,
/// `PerRank<Once<T, C>>`, `PerRank<Slots<T, C>>`, `PerRank<Experts<T, N, K>>`, `PerRank<Matrix<T, N, K>>` and
/// `PerRank<Routed>`.
pub trait TensorArgument: sealed::Sealed {
    #[doc(hidden)]
    fn argument<'a>(&'a self, name: &'static str, writable: bool) -> Argument<'a>;

    /// A new tensor with unspecified contents for a copy of `argument`. It has as many rows as `argument`; received, once-sent and slot
    /// rows are as many as `route` needs. `route` is `None` if the kernel makes its own; a tensor of received rows then has as many rows on
    /// every rank as the largest part of `argument`.
    #[doc(hidden)]
    fn like(argument: &Argument<'_>, route: Option<&Route>) -> Self;
}

/// Implements [`TensorArgument`] for tensors whose argument differs only in its [`RowKind`] and in how `like` makes a
/// new tensor.
macro_rules! rows {
    ($($tensor:ident: $kind:ident, $like:expr;)*) => {$(
        impl<T: Element, const C: usize> TensorArgument for PerRank<$tensor<T, C>> {
            fn argument<'a>(&'a self, name: &'static str, writable: bool) -> Argument<'a> {
                let part = |tensor: &$tensor<T, C>| RankPart {
                    address: tensor.address().expose_provenance() as u64,
                    count: tensor.row_count(),
                };
                Argument {
                    name,
                    element: T::TYPE,
                    columns: C,
                    kind: RowKind::$kind,
                    ranks: self.ranks(),
                    parts: self.map(part),
                    writable,
                    on_npus: false,
                    borrow: PhantomData,
                }
            }

            fn like(argument: &Argument<'_>, route: Option<&Route>) -> Self {
                $like(argument, route)
            }
        }
    )*};
}

rows! {
    Tensor: Token, |argument: &Argument<'_>, _| PerRank::from_fn(argument.ranks, |rank| Tensor::zeros(argument.part(rank).count));
    Received: Received, received_like;
    Once: Once, |argument: &Argument<'_>, route| PerRank::once(argument.ranks, of_host(route));
    Slots: Slot, |argument: &Argument<'_>, route| PerRank::slots(argument.ranks, of_host(route));
}

fn received_like<T: Element, const C: usize>(
    argument: &Argument<'_>,
    route: Option<&Route>,
) -> PerRank<Received<T, C>> {
    let most = || argument.ranks.here().map(|rank| argument.part(rank).count).max().unwrap_or(0);
    match route {
        Some(route) => PerRank::symmetric(argument.ranks, route),
        None => PerRank::with_room(argument.ranks, most()),
    }
}

/// The route that sizes a tensor of slots or once-sent rows. Only the host makes routes for such tensors, so `route` is
/// never `None`.
fn of_host(route: Option<&Route>) -> &Route {
    route.expect("a kernel that makes its route takes no rows of slots, nor any that were sent once")
}

/// A matrix's number of rows as `u32`, the type in a kernel's tables. The front end refuses kernels with more rows.
fn rows(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl TensorArgument for PerRank<Routed> {
    fn argument<'a>(&'a self, name: &'static str, writable: bool) -> Argument<'a> {
        let part = |routed: &Routed| RankPart {
            address: routed.address().expose_provenance() as u64,
            count: routed.word_count(),
        };
        Argument {
            name,
            element: ElementType::i32,
            columns: 1,
            kind: RowKind::Routed,
            ranks: self.ranks(),
            parts: self.map(part),
            writable,
            on_npus: false,
            borrow: PhantomData,
        }
    }

    fn like(argument: &Argument<'_>, _: Option<&Route>) -> Self {
        PerRank::from_fn(argument.ranks, |rank| Routed::with_words(argument.part(rank).count))
    }
}

impl<T: Element, const N: usize, const K: usize> TensorArgument for PerRank<Experts<T, N, K>> {
    fn argument<'a>(&'a self, name: &'static str, writable: bool) -> Argument<'a> {
        let part = |experts: &Experts<T, N, K>| RankPart {
            address: experts.address().expose_provenance() as u64,
            count: experts.count(),
        };
        Argument {
            name,
            element: T::TYPE,
            columns: K,
            kind: RowKind::Expert(rows(N)),
            ranks: self.ranks(),
            parts: self.map(part),
            writable,
            on_npus: false,
            borrow: PhantomData,
        }
    }

    fn like(argument: &Argument<'_>, _: Option<&Route>) -> Self {
        PerRank::from_fn(argument.ranks, |rank| Experts::zeros(argument.part(rank).count))
    }
}

impl<T: Element, const N: usize, const K: usize> TensorArgument for PerRank<Matrix<T, N, K>> {
    fn argument<'a>(&'a self, name: &'static str, writable: bool) -> Argument<'a> {
        let part =
            |matrix: &Matrix<T, N, K>| RankPart { address: matrix.address().expose_provenance() as u64, count: N };
        Argument {
            name,
            element: T::TYPE,
            columns: K,
            kind: RowKind::Matrix(rows(N)),
            ranks: self.ranks(),
            parts: self.map(part),
            writable,
            on_npus: false,
            borrow: PhantomData,
        }
    }

    fn like(argument: &Argument<'_>, _: Option<&Route>) -> Self {
        PerRank::from_fn(argument.ranks, |_| Matrix::from_slice(&vec![T::default(); N * K]))
    }
}

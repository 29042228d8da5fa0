//! The caller's parts of ids and arguments, checked one by one.

use std::slice;

use hpmoe_runtime::op::ElementType;
use hpmoe_runtime::prelude::{Group, LaunchError, PerRank, Rank, Route};
use hpmoe_runtime::tables::{KernelTables, RowKind, TensorTable};
use hpmoe_runtime::{RawPart, RawTensor};

use crate::error::Failure;
use crate::header::{
    HPMOE_BF16, HPMOE_CPU, HPMOE_F16, HPMOE_F32, HPMOE_I4X2, HPMOE_I8, HPMOE_I32, HPMOE_I64, HPMOE_NPU, HpmoeDevice,
    HpmoeElement, HpmoeTensor,
};
use crate::memory::Part;

/// Reads an array that the caller passed.
///
/// # Safety
///
/// `start` is null, or points to `count` parts.
pub(crate) unsafe fn array<'a>(
    start: *const HpmoeTensor,
    count: usize,
    name: &str,
) -> Result<&'a [HpmoeTensor], Failure> {
    match (start.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::invalid(format!("`{name}` is null: pass an array of {count} parts"))),
        // SAFETY: the caller upholds the contract of this function.
        (false, _) => Ok(unsafe { slice::from_raw_parts(start, count) }),
    }
}

/// Reads the router's ids on each rank.
///
/// # Safety
///
/// The parts are arrays of the caller.
pub(crate) unsafe fn route_ids(
    tables: &KernelTables,
    group: &Group,
    parts: &[HpmoeTensor],
) -> Result<PerRank<Vec<i32>>, Failure> {
    let of_rank = |(rank, part): (Rank, &HpmoeTensor)| {
        let HpmoeTensor { data, rows, columns, element, device } = *part;
        if on_npu(device, || format!("the ids of {rank}"))? {
            return Err(Failure::invalid(format!(
                "the ids of {rank} lie in the memory of an NPU, but the host makes the route from them: pass a copy in this machine's memory"
            )));
        }
        if !matches!(element, HPMOE_I32 | HPMOE_I64) {
            let element = element_name(element);
            return Err(Failure::invalid(format!("the ids of {rank} are {element}: pass i32 or i64")));
        }
        if columns as usize != tables.top_k {
            let (kernel, top_k) = (tables.name, tables.top_k);
            return Err(Failure::invalid(format!(
                "the ids of {rank} have {columns} columns, but {kernel} was built with TOP_K = {top_k}: pass {top_k} ids for each token"
            )));
        }
        if rows > tables.tokens as u64 {
            let tokens = usize::try_from(rows).unwrap_or(usize::MAX);
            let error = LaunchError::Tokens { kernel: tables.name, rank: rank.id(), tokens, limit: tables.tokens };
            return Err(Failure::invalid(error.to_string()));
        }
        if data.is_null() && rows > 0 {
            return Err(Failure::invalid(format!(
                "the ids of {rank} are null, but have {rows} rows: pass their address"
            )));
        }
        let count = rows as usize * columns as usize;
        (0..count)
            .map(|at| {
                // SAFETY: an id of the caller, at any address.
                unsafe {
                    match element {
                        HPMOE_I32 => Ok(data.cast::<i32>().add(at).read_unaligned()),
                        _ => id(data.cast::<i64>().add(at).read_unaligned(), tables, rank, at),
                    }
                }
            })
            .collect()
    };
    let ids = group.ranks().here().zip(parts).map(of_rank).collect::<Result<Vec<Vec<i32>>, Failure>>()?;
    let mut ids = ids.into_iter();
    Ok(PerRank::from_fn(group.ranks(), |_| ids.next().expect("ids for each rank")))
}

/// Converts a 64-bit id to 32 bits. An id that does not fit is an error, because it names no expert.
fn id(id: i64, tables: &KernelTables, rank: Rank, at: usize) -> Result<i32, Failure> {
    i32::try_from(id).map_err(|_| {
        let (token, k, last) = (at / tables.top_k, at % tables.top_k, tables.experts - 1);
        Failure::invalid(format!(
            "topk_ids of {rank}, row {token}, column {k} is {id}, but experts are numbered from 0 to {last}, and -1 names none: check the router"
        ))
    })
}

/// Checks one rank's part of an argument. Returns its memory as this library tracks it ([`Part`]) and as the runtime takes it ([`RawPart`]).
pub(crate) fn part(
    tables: &KernelTables,
    table: &'static TensorTable,
    rank: Rank,
    route: Option<&Route>,
    tensor: &HpmoeTensor,
) -> Result<(Part, RawPart), Failure> {
    let HpmoeTensor { data, rows, columns, element, device } = *tensor;
    let name = table.name;
    let on_npu = on_npu(device, || format!("`{name}` of {rank}"))?;
    if (element, columns) != (number(table.element), table.columns) {
        return Err(Failure::invalid(format!(
            "`{name}` of {rank} has {columns} columns of {}, but {} takes {} columns of {}: pass such a tensor",
            element_name(element),
            tables.name,
            table.columns,
            table.element.name()
        )));
    }
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let (count, rows) = match table.row_kind {
        RowKind::Expert(height) if rows % height as usize != 0 => {
            return Err(Failure::invalid(format!(
                "`{name}` of {rank} has {rows} rows, which are not whole experts of {height} rows each: pass the rows of all experts of the rank"
            )));
        }
        RowKind::Expert(height) => (rows / height as usize, rows),
        RowKind::Received => at_least(name, rank, rows, route.map(|route| route.received(rank)))?,
        RowKind::Once => at_least(name, rank, rows, route.map(|route| route.received_once(rank)))?,
        RowKind::Token | RowKind::Slot | RowKind::Matrix(_) | RowKind::Routed => (rows, rows),
    };
    let bytes = rows.checked_mul(table.columns as usize * table.element.bytes());
    let bytes = bytes.ok_or_else(|| {
        Failure::invalid(format!(
            "`{name}` of {rank} can't have {rows} rows, more than any memory holds: check the number"
        ))
    })?;
    if data.is_null() && bytes > 0 {
        return Err(Failure::invalid(format!("`{name}` of {rank} is null, but has {rows} rows: pass its address")));
    }
    let address = data.cast();
    let part = Part { tensor: name, rank: rank.id(), address, bytes, writable: table.writable, on_npu };
    Ok((part, RawPart { address, count }))
}

/// Whether memory lies on an NPU rather than on the host. `what` names it in the error for an unknown device.
fn on_npu(device: HpmoeDevice, what: impl Fn() -> String) -> Result<bool, Failure> {
    match device {
        HPMOE_CPU => Ok(false),
        HPMOE_NPU => Ok(true),
        _ => {
            let what = what();
            Err(Failure::invalid(format!(
                "{what} can't be on device {device}, which does not exist: use HPMOE_CPU (0) or HPMOE_NPU (1)"
            )))
        }
    }
}

/// The number of rows to use of a tensor that may have more than the route needs, and the number that it has. If the kernel makes the
/// route, the number needed is not known here.
fn at_least(name: &str, rank: Rank, rows: usize, needed: Option<usize>) -> Result<(usize, usize), Failure> {
    let needed = needed.unwrap_or(rows);
    match rows >= needed {
        true => Ok((needed, needed)),
        false => Err(Failure::invalid(format!(
            "`{name}` of {rank} has room for {rows} rows, but the route needs {needed}: make room for the rows that hpmoe_memory returns"
        ))),
    }
}

pub(crate) fn raw_tensor(table: &TensorTable) -> RawTensor {
    let TensorTable { element, columns, row_kind: kind, writable, .. } = *table;
    RawTensor { element, columns: columns as usize, kind, writable }
}

const fn number(element: ElementType) -> HpmoeElement {
    match element {
        ElementType::bf16 => HPMOE_BF16,
        ElementType::f16 => HPMOE_F16,
        ElementType::f32 => HPMOE_F32,
        ElementType::i32 => HPMOE_I32,
        ElementType::i8 => HPMOE_I8,
        ElementType::i4x2 => HPMOE_I4X2,
    }
}

fn element_name(element: HpmoeElement) -> String {
    match ElementType::ALL.into_iter().find(|known| number(*known) == element) {
        Some(known) => known.name().to_owned(),
        None if element == HPMOE_I64 => "i64".to_owned(),
        None => format!("an unknown element type ({element})"),
    }
}

//! A launch on memory of the caller.

use std::ffi::{c_char, c_void};
use std::slice;

use hpmoe_runtime::op::ElementType;
use hpmoe_runtime::prelude::{Group, LaunchError, PerRank, Rank, Route};
use hpmoe_runtime::tables::{KernelTables, RowKind, TensorTable};
use hpmoe_runtime::{Argument, RawPart, RawTensor};

use crate::error::Failure;
use crate::groups;
use crate::header::{HPMOE_BF16, HPMOE_F32, HPMOE_I8, HPMOE_I32, HPMOE_I64, HpmoeElement, HpmoeGroup, HpmoeTensor};
use crate::kernels::Library;
use crate::memory::{Copied, InUse, Part, PartCopy, to_copy};
use crate::report;

/// What the caller wants to launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) group: HpmoeGroup,
    pub(crate) taskflow: *const c_char,
    pub(crate) ids: *const HpmoeTensor,
    pub(crate) ranks: u64,
    pub(crate) tensors: *const HpmoeTensor,
    pub(crate) arguments: u64,
    pub(crate) stream: *mut c_void,
}

/// Runs a kernel on the caller's memory, and keeps the report.
///
/// # Safety
///
/// As the header says of `hpmoe_launch`.
pub(crate) unsafe fn launch(library: &Library, request: &Request) -> Result<(), Failure> {
    report::forget();
    if !request.stream.is_null() {
        return Err(Failure::invalid("a launch waits until it has ended, and takes no stream: pass null"));
    }
    // SAFETY: the caller's string.
    let kernel = unsafe { library.kernel(request.taskflow) }?;
    let group = groups::find(request.group)?;
    let (tables, arguments) = (kernel.compiled.tables(), kernel.arguments());
    let here = group.ranks().here().count();
    counted("ranks", "the group runs", here, request.ranks)?;
    counted("arguments", "the taskflow takes", arguments.len(), request.arguments)?;
    // SAFETY: the caller's arrays, whose lengths have been compared.
    let (ids, tensors) =
        unsafe { (array(request.ids, here, "ids")?, array(request.tensors, here * arguments.len(), "tensors")?) };
    // SAFETY: the caller's ids.
    let ids = unsafe { route_ids(tables, &group, ids) }?;
    let refused = |error: LaunchError| {
        let message = error.to_string();
        if group.is_broken() { Failure::failed(message) } else { Failure::invalid(message) }
    };
    let route = Route::gather_ids(&*group, tables.experts, tables.top_k, &ids).map_err(refused)?;
    let mut raws = Vec::with_capacity(arguments.len());
    let mut parts = Vec::with_capacity(tensors.len());
    for (table, tensors) in arguments.iter().zip(tensors.chunks_exact(here)) {
        let mut tensors = tensors.iter();
        let mut part = |rank: Rank| part(tables, table, rank, &route, tensors.next().expect("a part for each rank"));
        let checked: Vec<(Part, RawPart)> = group.ranks().here().map(&mut part).collect::<Result<_, _>>()?;
        parts.extend(checked.iter().map(|(part, _)| *part));
        raws.extend(checked.into_iter().map(|(_, raw)| raw));
    }
    let reasons = to_copy(&parts)?;
    let _in_use = InUse::begin(&parts)?;
    let (mut copies, mut copied) = (Vec::with_capacity(reasons.len()), Vec::with_capacity(reasons.len()));
    for (number, reason) in reasons {
        let part @ Part { tensor, rank, bytes, .. } = parts[number];
        // SAFETY: the caller's memory.
        let mut copy = unsafe { PartCopy::new(part) }?;
        raws[number].address = copy.address();
        copies.push(copy);
        copied.push(Copied { tensor, rank, bytes, reason });
    }
    let argument = |(table, raws): (&&'static TensorTable, &[RawPart])| {
        let mut raws = raws.iter();
        let parts = PerRank::from_fn(group.ranks(), |_| *raws.next().expect("a part for each rank"));
        // SAFETY: memory of the caller, who promises what is asked for, as far as it has not been checked; or copies of it.
        unsafe { Argument::from_raw(table.name, raw_tensor(table), &parts) }
    };
    let arguments: Vec<Argument<'_>> = arguments.iter().zip(raws.chunks_exact(here)).map(argument).collect();
    let report = group.launch(&kernel.compiled, &route, &arguments).map_err(refused)?;
    // SAFETY: the caller's memory.
    copies.iter_mut().for_each(|copy| unsafe { copy.copy_back() });
    report::keep(&report, &group, &route, &copied);
    Ok(())
}

fn counted(what: &str, who: &str, wanted: usize, got: u64) -> Result<(), Failure> {
    match got == wanted as u64 {
        true => Ok(()),
        false => {
            Err(Failure::invalid(format!("{who} {wanted} {what}, but the call has {got}: pass parts for {wanted}")))
        }
    }
}

/// The caller's array.
///
/// # Safety
///
/// It is null, or there are `count` parts.
unsafe fn array<'a>(start: *const HpmoeTensor, count: usize, name: &str) -> Result<&'a [HpmoeTensor], Failure> {
    match (start.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::invalid(format!("`{name}` is null: pass an array of {count} parts"))),
        // SAFETY: as this function asks for.
        (false, _) => Ok(unsafe { slice::from_raw_parts(start, count) }),
    }
}

/// The router's ids on each rank.
///
/// # Safety
///
/// The parts are arrays of the caller.
unsafe fn route_ids(tables: &KernelTables, group: &Group, parts: &[HpmoeTensor]) -> Result<PerRank<Vec<i32>>, Failure> {
    let of_rank = |(rank, part): (Rank, &HpmoeTensor)| {
        let HpmoeTensor { data, rows, columns, element } = *part;
        if !matches!(element, HPMOE_I32 | HPMOE_I64) {
            let element = element_name(element);
            return Err(Failure::invalid(format!("the ids of {rank} are {element}: pass i32 or i64")));
        }
        if columns as usize != tables.top_k {
            let (kernel, top_k) = (tables.name, tables.top_k);
            return Err(Failure::invalid(format!(
                "the ids of {rank} have {columns} columns, but {kernel} was built with TOP_K = {top_k}: pass that many for each token"
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

/// An id of 64 bits as one of 32, in which all experts can be numbered.
fn id(id: i64, tables: &KernelTables, rank: Rank, at: usize) -> Result<i32, Failure> {
    i32::try_from(id).map_err(|_| {
        let (token, k, last) = (at / tables.top_k, at % tables.top_k, tables.experts - 1);
        Failure::invalid(format!(
            "topk_ids of {rank}, row {token}, column {k} is {id}, but experts are numbered from 0 to {last}: check the router"
        ))
    })
}

/// Checks one part of an argument; the memory that it takes, and the same as the runtime wants it.
fn part(
    tables: &KernelTables,
    table: &'static TensorTable,
    rank: Rank,
    route: &Route,
    tensor: &HpmoeTensor,
) -> Result<(Part, RawPart), Failure> {
    let HpmoeTensor { data, rows, columns, element } = *tensor;
    let name = table.name;
    if (element, columns) != (number(table.element), table.columns) {
        return Err(Failure::invalid(format!(
            "`{name}` of {rank} has {columns} columns of {}, but {} takes {} columns of {}: pass that",
            element_name(element),
            tables.name,
            table.columns,
            table.element.name()
        )));
    }
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let (count, rows) = match table.row_kind {
        RowKind::Expert(height) if !rows.is_multiple_of(height as usize) => {
            return Err(Failure::invalid(format!(
                "`{name}` of {rank} has {rows} rows, which are not whole experts of {height} rows each: pass those of all experts of the rank"
            )));
        }
        RowKind::Expert(height) => (rows / height as usize, rows),
        RowKind::Received => at_least(name, rank, rows, route.received(rank))?,
        RowKind::Once => at_least(name, rank, rows, route.received_once(rank))?,
        RowKind::Token | RowKind::Slot | RowKind::Matrix(_) => (rows, rows),
    };
    let bytes = rows.checked_mul(table.columns as usize * table.element.bytes());
    let bytes =
        bytes.ok_or_else(|| Failure::invalid(format!("`{name}` of {rank} can't have {rows} rows: check them")))?;
    if data.is_null() && bytes > 0 {
        return Err(Failure::invalid(format!("`{name}` of {rank} is null, but has {rows} rows: pass its address")));
    }
    let address = data.cast();
    let part = Part { tensor: name, rank: rank.id(), address, bytes, writable: table.writable };
    Ok((part, RawPart { address, count }))
}

/// The rows of a tensor that has room for more than the route needs.
fn at_least(name: &str, rank: Rank, rows: usize, needed: usize) -> Result<(usize, usize), Failure> {
    match rows >= needed {
        true => Ok((needed, needed)),
        false => Err(Failure::invalid(format!(
            "`{name}` of {rank} has room for {rows} rows, but the route brings {needed}: make room for those of hpmoe_memory"
        ))),
    }
}

fn raw_tensor(table: &TensorTable) -> RawTensor {
    let TensorTable { element, columns, row_kind: kind, writable, .. } = *table;
    RawTensor { element, columns: columns as usize, kind, writable }
}

const fn number(element: ElementType) -> HpmoeElement {
    match element {
        ElementType::bf16 => HPMOE_BF16,
        ElementType::f32 => HPMOE_F32,
        ElementType::i32 => HPMOE_I32,
        ElementType::i8 => HPMOE_I8,
    }
}

fn element_name(element: HpmoeElement) -> String {
    match ElementType::ALL.into_iter().find(|known| number(*known) == element) {
        Some(known) => known.name().to_owned(),
        None if element == HPMOE_I64 => "i64".to_owned(),
        None => format!("an unknown element type ({element})"),
    }
}

//! The contract of an external operator: its arguments and rules, as the head of a new file for it.

use super::cpp::{Expr, Function, Item, Stmt, int, name, print};
use crate::graph::{Param, Task, TaskGraph};
use crate::ids::TaskId;
use crate::plan::memory_of_operators;
use crate::units::Bytes;
use hpmoe_kernels::op::TaskKind;
use std::fmt::Write as _;

/// The text of a C++ file for a task's external operator: a comment with the contract, and a skeleton of the function. The task need not
/// name an operator yet. `place` is the task's place in the source file, as text. `None` for puts and for tasks without parameters, which
/// can't have an operator.
#[must_use]
pub fn contract(graph: &TaskGraph, task: TaskId, place: &str) -> Option<String> {
    let task = &graph.tasks[task];
    if task.kind == TaskKind::Put || task.params.is_empty() {
        return None;
    }
    let mut items = vec![Item::Comment(terms(graph, task, place))];
    let pragma = print(&items);
    items = vec![Item::Blank, Item::Include("hpmoe/kernel.h".to_owned()), Item::Blank];
    let (namespaces, function) = match function(task).rsplit_once("::") {
        Some((namespaces, function)) => (namespaces.to_owned(), function.to_owned()),
        None => (String::new(), function(task)),
    };
    let function = Item::Function(skeleton(task, &function));
    match namespaces.is_empty() {
        true => items.push(function),
        false => items.push(Item::Namespace(namespaces, vec![function])),
    }
    Some(format!("{pragma}#pragma once\n{}", print(&items)))
}

fn function(task: &Task) -> String {
    task.external.as_ref().map_or_else(|| task.name.clone(), |external| external.function.clone())
}

/// The C++ signature of the function of a task's external operator. If the task names no operator, the function has the task's name.
#[must_use]
pub fn signature(task: &Task) -> String {
    let function = function(task);
    let params: Vec<String> = parameters(task).into_iter().map(|(ty, name)| format!("{ty}{name}")).collect();
    format!("{} {function}({})", head(task), params.join(", "))
}

fn head(task: &Task) -> String {
    let generics: Vec<String> = task.arguments.iter().map(|(name, _)| format!("uint32_t {name}")).collect();
    let template = if generics.is_empty() { String::new() } else { format!("template <{}> ", generics.join(", ")) };
    format!("{template}HPMOE_INLINE void")
}

fn parameters(task: &Task) -> Vec<(String, String)> {
    let view = |param: &Param| format!("const hpmoe::View<{}> &", param.shape.element.ascendc());
    task.params.iter().map(|param| (view(param), param.name.clone())).collect()
}

/// The contract, in words.
fn terms(graph: &TaskGraph, task: &Task, place: &str) -> String {
    let marker = if task.kind == TaskKind::Matrix { "aic_task" } else { "aiv_task" };
    let declared = task.external.as_ref();
    let file = declared.map_or_else(|| format!("ops/{}.h", task.name), |external| external.file.clone());
    let mut text = format!(
        "The task `{}` of {}::{} ({place}), as an external operator:\n#[{marker}(external = \"{file}\")]\n\n\
         Each call makes one tile. Its parameters, in order:\n",
        task.label, graph.kernel, graph.taskflow
    );
    for param in &task.params {
        let way = if param.write { "written" } else { "read" };
        let _ = writeln!(text, "- {}: {way}, {}", param.name, param.shape);
    }
    text.push_str(
        "`rows` and `cols` of a view are those of the tile at hand, at most these. `At(row, col)` is its global memory; a row \
         begins `pitch` elements after the one before. The constants of the kernel are in the namespace `kernel`.\n\nMemory that is the operator's:\n",
    );
    for (memory, capacity) in memory_of_operators(task.kind) {
        let own = declared.and_then(|external| external.memory.iter().find(|(declared, _)| *declared == memory));
        let bytes = own.map_or(capacity, |(_, bytes)| *bytes);
        let _ = writeln!(text, "- {memory}: {bytes} from address 0 on");
    }
    text.push_str(match task.kind {
        TaskKind::Matrix => MATRIX_STATE,
        _ => VECTOR_STATE,
    });
    text
}

/// The maximum number of rows and of columns of an operand that the skeleton of a product copies to L1 at a time.
const BLOCK: usize = 128;

const MATRIX_STATE: &str = "\nEvents: ids 0 to 5 of each pair of pipes, except for MTE3_S 0, which is the library's.\n\
    At entry all pipes are idle, no flag is set, atomics are off, products are in the order of rows (`SetMMLayoutTransform(true)`), and\n\
    16-bit floats keep infinities and NaN (bit 48 of the control register is set).\n\
    At exit every flag that was set has been waited for, each L0C that a unit flag has taken is free again, products are in the order \
    of rows, and infinities are kept. Pipes may still be busy, and atomics on.";

const VECTOR_STATE: &str = "\nEvents: ids 0 to 5 of each pair of pipes, except for MTE3_S 0 to 3, which are the library's.\n\
    At entry all pipes are idle, no flag is set, atomics are off, the mask has all lanes, and 16-bit floats keep infinities and NaN\n\
    (bit 48 of the control register is set).\n\
    At exit every flag that was set has been waited for, and infinities are kept. Pipes may still be busy, atomics on, and the mask another one.";

fn skeleton(task: &Task, function: &str) -> Function {
    let body = match task.kind {
        TaskKind::Matrix => matrix_skeleton(task),
        _ => vector_skeleton(task),
    };
    let mut all = vec![Stmt::Expr(name("using namespace hpmoe"))];
    all.extend(body);
    Function { head: head(task), name: function.to_owned(), params: parameters(task), body: all }
}

/// The skeleton of a matrix task. It copies the first columns of each operand to L1, and the result out of L0C.
fn matrix_skeleton(task: &Task) -> Vec<Stmt> {
    let step = |event: &str| [Stmt::set_flag(event, int(0u64)), Stmt::wait_flag(event, int(0u64))];
    let mut body = vec![Stmt::Comment(format!("Operands to L1, {BLOCK} columns at a time."))];
    let mut at = Bytes(0);
    for param in task.params.iter().filter(|param| !param.write) {
        let view = || name(&param.name);
        let (element, rows) = (param.shape.element, param.shape.rows.min(BLOCK).next_multiple_of(16) as u64);
        let bytes = Bytes(rows * (param.shape.cols.min(BLOCK).next_multiple_of(16) * element.bytes()) as u64);
        let to = name(format!("Local<{}>", element.ascendc()));
        let to = to.call(vec![name("TPosition::A1"), int(at.0), int(bytes.0)]);
        // The headers of CANN have an `AlignUp`, too.
        let aligned = name("hpmoe::AlignUp").call(vec![view().dot("rows"), int(16u64)]);
        let columns = name("Min").call(vec![view().dot("cols"), int(BLOCK as u64)]);
        let sizes =
            [int(1u64), view().dot("rows"), columns, int(0u64), view().dot("pitch"), aligned, int(1u64), int(0u64)];
        let layout = name("Nd2NzParams").call(sizes.into());
        body.push(Stmt::call("DataCopy", vec![to, view().method("At", vec![int(0u64), int(0u64)]), layout]));
        at += bytes;
    }
    body.extend(step("MTE2_MTE1"));
    body.push(Stmt::Comment("From there to L0A and L0B: LoadData.".to_owned()));
    body.extend(step("MTE1_M"));
    body.push(Stmt::Comment("Products, into L0C: Mmad.".to_owned()));
    body.extend(step("M_FIX"));
    for param in task.params.iter().filter(|param| param.write) {
        let (view, element) = (|| name(&param.name), param.shape.element);
        let aligned = name("hpmoe::AlignUp").call(vec![view().dot("rows"), int(16u64)]);
        let sums = name("Local<float>").call(vec![name("TPosition::CO1"), int(0u64), name("L0C_BYTES")]);
        let rounding = name(format!("FixpipeRounding<{}>::mode", element.ascendc()));
        let (none, one) = (|| int(0u64), || int(1u64));
        let sizes = [view().dot("cols"), view().dot("rows"), aligned, view().dot("pitch"), name("false"), rounding];
        let more = [none(), one(), none(), none(), none()];
        let layout = name("FixpipeParamsV220").call(sizes.into_iter().chain(more).collect());
        let fixpipe = format!("Fixpipe<{}, float, CFG_ROW_MAJOR>", element.ascendc());
        body.push(Stmt::call(fixpipe, vec![view().method("At", vec![none(), none()]), sums, layout]));
    }
    body
}

/// The skeleton of a vector task. For each row of the result, it copies the tiles to UB, one after another, and the result back.
fn vector_skeleton(task: &Task) -> Vec<Stmt> {
    let leader = task.params.iter().find(|param| param.write).unwrap_or(&task.params[0]);
    let (mut loads, mut stores, mut at) = (Vec::new(), Vec::new(), Bytes(0));
    for param in &task.params {
        let (shape, row) = (param.shape, || name("row"));
        let per_row = (shape.rows / leader.shape.rows).max(1) as u64;
        let (first, count): (Expr, u64) = match shape.rows {
            rows if rows < leader.shape.rows => (int(0u64), 1),
            _ => (row() * int(per_row), per_row),
        };
        let bytes = Bytes((shape.cols.next_multiple_of(32) * shape.element.bytes()) as u64 * count);
        let ub = name(format!("Ub<{}>", shape.element.ascendc())).call(vec![int(at.0), int(bytes.0)]);
        at += bytes;
        let view = || name(&param.name);
        match param.write {
            true => stores.push(Stmt::call("StoreRows", vec![view(), first, int(count), ub])),
            false => loads.push(Stmt::call("LoadRows", vec![ub, view(), first, int(count)])),
        }
    }
    let flag = |event: &str| [Stmt::set_flag(event, int(0u64)), Stmt::wait_flag(event, int(0u64))];
    let mut body = loads;
    body.extend(flag("MTE2_V"));
    body.push(Stmt::Comment(
        "What the row becomes: vector calls, with PipeBarrier<PIPE_V>() between those that depend.".to_owned(),
    ));
    body.extend(flag("V_MTE3"));
    body.extend(stores);
    body.extend(flag("MTE3_MTE2"));
    let bound = name(&leader.name).dot("rows");
    vec![Stmt::For { counter: "row".to_owned(), compare: "<", bound, body }]
}

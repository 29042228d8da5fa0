//! The C++ functions of vector tasks. A function computes its tile in pieces of rows, and loads each piece while it computes the one
//! before.

mod barriers;
mod calls;
mod extents;

use super::cpp::{Expr, Function, Scope, Stmt, braces, int, name};
use super::expects::{expects, is_a_tile};
use crate::graph::Task;
use crate::ids::Arena;
use crate::plan::{Buffer, BufferId, Call, Holds, VectorPlan};
use barriers::barriers;
use extents::{Extent, columns, extents, rows};

/// Names that the generated functions of vector tasks use themselves.
const OWN: &[&str] = &["core", "ids", "pieces", "piece", "first", "rows", "stage"];

/// The C++ function of a vector task. The layout of UB for it has the name `layout::<function>`.
pub(super) fn vector(task: &Task, function: &str, plan: &VectorPlan, place: &dyn Fn(usize) -> String) -> Function {
    let mut scope = Scope::with(OWN);
    let params: Vec<String> = task.params.iter().map(|param| scope.new_name(&param.name)).collect();
    let buffers: Arena<BufferId, String> =
        plan.program.buffers.iter().map(|(_, buffer)| scope.new_name(&buffer.name)).collect();
    let addresses = buffers.iter().map(|(_, name)| scope.new_name(&format!("{name}_at"))).collect();
    let extents = extents(plan);
    let counts = extents.iter().map(|extent| scope.new_name(&extent.label(&extents, &params))).collect();
    let emitter = Emitter { task, plan, params, buffers, addresses, extents, counts, place };
    let views = task
        .params
        .iter()
        .zip(&emitter.params)
        .map(|(param, name)| (format!("const View<{}> &", param.shape.element.ascendc()), name.clone()));
    let ids = plan.program.takes_ids().then(|| ("uint64_t".to_owned(), "ids".to_owned()));
    Function {
        head: "HPMOE_INLINE void".to_owned(),
        name: function.to_owned(),
        params: std::iter::once(("VectorCore &".to_owned(), "core".to_owned())).chain(views).chain(ids).collect(),
        body: emitter.body(function),
    }
}

struct Emitter<'a> {
    task: &'a Task,
    plan: &'a VectorPlan,
    params: Vec<String>,
    buffers: Arena<BufferId, String>,
    /// Names of the offsets of values in UB, which routines take as arguments.
    addresses: Arena<BufferId, String>,
    /// The distinct extents that calls run over.
    extents: Vec<Extent>,
    /// The name of each extent's number of elements in the function.
    counts: Vec<String>,
    place: &'a dyn Fn(usize) -> String,
}

impl Emitter<'_> {
    fn body(&self, function: &str) -> Vec<Stmt> {
        let program = &self.plan.program;
        let leader = &self.params[program.leader];
        let mut body = vec![Stmt::constexpr("uint32_t", "ROWS", int(self.plan.rows))];
        body.extend(self.stages());
        body.extend(self.expected());
        body.push(Stmt::call("core.Use", vec![name(format!("layout::{function}"))]));
        let all = name("CeilDiv").call(vec![name(leader).dot("rows"), name("ROWS")]);
        body.push(Stmt::constant("uint32_t", "pieces", all));
        let load = self.load();
        let mut compute = vec![self.piece(name("piece") - int(1u64))];
        compute.extend(self.compute());
        let mut turns = Vec::new();
        if !load.is_empty() {
            let mut loaded = vec![self.piece(name("piece"))];
            loaded.extend(load);
            turns.push(Stmt::If(name("piece").binary("<", name("pieces")), loaded));
        }
        turns.push(Stmt::If(name("piece").binary(">", int(0u64)), compute));
        body.push(Stmt::for_up_to("piece", name("pieces"), turns));
        body
    }

    /// The first row, number of rows and stage of a piece.
    fn piece(&self, number: Expr) -> Stmt {
        let rows = name(&self.params[self.plan.program.leader]).dot("rows");
        let made = name("PieceOf").call(vec![rows, name("ROWS"), number]);
        Stmt::constant("auto", "[first, rows, stage]", made)
    }

    fn buffer(&self, id: BufferId) -> &Buffer {
        &self.plan.program.buffers[id]
    }

    /// The declarations of the stages of tiles, with their offsets and sizes in UB.
    fn stages(&self) -> Vec<Stmt> {
        let staged = self.plan.program.buffers.iter().filter(|(_, buffer)| buffer.holds != Holds::Value);
        staged
            .map(|(id, buffer)| {
                let place = braces("", vec![int(self.plan.offsets[id].0), int(self.plan.bytes(id).0)]);
                Stmt::constexpr(format!("Stages<{}>", buffer.element.ascendc()), &self.buffers[id], place)
            })
            .collect()
    }

    /// Host checks that no argument is larger than its tile, and that a piece of it fits its stages.
    fn expected(&self) -> impl Iterator<Item = Stmt> {
        self.task.params.iter().zip(&self.params).enumerate().map(|(number, (param, argument))| {
            let is_stage = |buffer: &Buffer| {
                !buffer.single && matches!(buffer.holds, Holds::Input(of) | Holds::Output(of) if of == number)
            };
            let stage = self.plan.program.buffers.iter().find(|(_, buffer)| is_stage(buffer));
            let fits = stage.map(|(id, _)| {
                let row = self.plan.bytes(id).0 / u64::from(self.plan.rows);
                (name("ROWS") * int(row)).binary("<=", name(&self.buffers[id]).dot("bytes"))
            });
            expects(fits.into_iter().fold(is_a_tile(param, argument), |tile, fits| tile.binary("&&", fits)))
        })
    }

    /// A buffer as an operand.
    fn operand(&self, id: BufferId) -> Expr {
        let named = name(&self.buffers[id]);
        if self.buffer(id).holds == Holds::Value { named } else { named.at(name("stage")) }
    }

    /// The address of a buffer in UB.
    fn address(&self, id: BufferId) -> Expr {
        if self.buffer(id).holds == Holds::Value {
            name(&self.addresses[id])
        } else {
            name(&self.buffers[id]).method("At", vec![name("stage")])
        }
    }

    fn load(&self) -> Vec<Stmt> {
        let inputs = self.plan.program.buffers.iter().filter_map(|(id, buffer)| match buffer.holds {
            Holds::Input(param) => Some((id, buffer, param)),
            _ => None,
        });
        let loads: Vec<Stmt> = inputs
            .map(|(id, buffer, param)| {
                let from = name(&self.params[param]);
                let [first, rows] = rows(buffer);
                Stmt::call("LoadRows", vec![self.operand(id), from, first, rows])
            })
            .collect();
        if loads.is_empty() {
            return loads;
        }
        let mut all = vec![Stmt::wait_flag("V_MTE2", name("stage"))];
        all.extend(loads);
        all.push(Stmt::set_flag("MTE2_V", name("stage")));
        all
    }

    fn compute(&self) -> Vec<Stmt> {
        let program = &self.plan.program;
        let mut body = self.values();
        body.extend(self.counts());
        let reads_input = |call: &Call| call.from.iter().any(|&id| matches!(self.buffer(id).holds, Holds::Input(_)));
        let writes_output = |call: &Call| matches!(self.buffer(call.to).holds, Holds::Output(_));
        let last_read = program.calls.iter().rposition(reads_input);
        let first_write = program.calls.iter().position(writes_output);
        if last_read.is_some() {
            body.push(Stmt::wait_flag("MTE2_V", name("stage")));
        }
        let barriers = barriers(self.plan);
        let mut step = None;
        for (number, call) in program.calls.iter().enumerate() {
            if step != Some(call.step) {
                step = Some(call.step);
                body.push(self.step_comment(call.step));
            }
            if barriers[number] {
                body.push(Stmt::call("PipeBarrier<PIPE_V>", Vec::new()));
            }
            if first_write == Some(number) {
                body.push(Stmt::wait_flag("MTE3_V", name("stage")));
            }
            body.push(self.call(call));
            if last_read == Some(number) {
                body.push(Stmt::set_flag("V_MTE2", name("stage")));
            }
        }
        body.extend(self.store());
        body
    }

    fn step_comment(&self, step: usize) -> Stmt {
        let step = &self.task.body.steps[step];
        Stmt::Comment(format!("{}  {}", step.operation.name(), (self.place)(step.line)))
    }

    fn values(&self) -> Vec<Stmt> {
        let values = self.plan.program.buffers.iter().filter(|(_, buffer)| buffer.holds == Holds::Value);
        let mut declared = Vec::new();
        for (id, buffer) in values {
            let calls = &self.plan.program.calls;
            let of_a_call = |routine| calls.iter().any(|call| call.is_routine() == routine && touches(call, id));
            let mut begin = int(self.plan.offsets[id].0);
            if of_a_call(true) {
                declared.push(Stmt::constexpr("uint32_t", &self.addresses[id], begin));
                begin = self.address(id);
            }
            if of_a_call(false) {
                let ty = buffer.element.ascendc();
                let made = name(format!("Ub<{ty}>")).call(vec![begin, int(self.plan.bytes(id).0)]);
                declared.push(Stmt::constant(format!("LocalTensor<{ty}>"), &self.buffers[id], made));
            }
        }
        declared
    }

    fn counts(&self) -> Vec<Stmt> {
        let value = |(extent, count): (&Extent, &String)| {
            let rows = if extent.single { int(1u64) } else { name("rows") * int(extent.rows) };
            let value = name("UbCount").call(vec![rows, columns(extent.width, &self.params)]);
            Stmt::constant("int32_t", count, value)
        };
        self.extents.iter().zip(&self.counts).map(value).collect()
    }

    fn store(&self) -> Vec<Stmt> {
        let outputs = self.plan.program.buffers.iter().filter_map(|(id, buffer)| match buffer.holds {
            Holds::Output(param) => Some((id, buffer, param)),
            _ => None,
        });
        let mut all = vec![Stmt::set_flag("V_MTE3", name("stage")), Stmt::wait_flag("V_MTE3", name("stage"))];
        all.extend(outputs.map(|(id, buffer, param)| {
            let to = name(&self.params[param]);
            let [first, rows] = rows(buffer);
            Stmt::call("StoreRows", vec![to, first, rows, self.operand(id)])
        }));
        all.push(Stmt::set_flag("MTE3_V", name("stage")));
        all
    }
}

fn touches(call: &Call, buffer: BufferId) -> bool {
    call.to == buffer || call.from.contains(&buffer) || call.scratch.contains(&buffer)
}

//! Checks that a kernel takes one argument.

use super::npu;
use super::probe::Probe;
use crate::answer::{Failure, Then};
use crate::examination::Examination;
use crate::heap::HeapPlan;
use crate::launch::{Die, Form, Launch, Seen, observation_lines};
use crate::request::{Request, Which};
use hpmoe_runtime::npus::DeviceMemory;

pub(super) static PROBE: Probe = Probe {
    name: "argument",
    assumption: "a kernel takes one argument, the address of its launch structure",
    needs: &["toolkit", "npu"],
    ranks: 1,
    run,
    means: "the compiler puts the address for flags between cores before it, or hands arguments over in another way",
    falls: "a launch reads its tables from an invalid address",
    change: "`arguments` in hpmoe-runtime/src/group/npus/rank.rs: `[0, tables.launch_address()]`; later probes do so",
};

/// The marks that tell which of the two structures a core has found.
const MARKS: [u32; 2] = [0x0f1e, 0x5ec0];

fn run(examination: &mut Examination) -> Result<String, Failure> {
    let limit = examination.limit;
    npu::dies(examination, limit)?;
    let forms = examination.each_die(|_, die| form(die))?;
    for (die, form) in examination.dies.iter_mut().zip(&forms) {
        die.form = *form;
    }
    match forms.iter().find(|form| **form == Form::Second) {
        None => Ok("the kernel found the structure that was passed first".to_owned()),
        Some(_) => {
            let seen =
                "the kernel found the structure that was passed second, after the address for flags between cores";
            Err(Failure { seen: seen.to_owned(), then: Then::Everything })
        }
    }
}

/// Passes two structures, and checks which of them the cores have found.
fn form(die: &Die) -> Result<Form, Failure> {
    let plan = HeapPlan::new(1, die.cores, 0);
    let request = Request { words: observation_lines(die.cores) as u32, ..Request::new(Which::Cores, 1) };
    // Either structure may be the one that the kernel reads.
    let heap = DeviceMemory::poisoned(&die.npu, plan.bytes, 0)?;
    let heaps = [heap.address()];
    let launch = |mark| Launch { request: Request { mark, ..request }, plan: &plan, heaps: &heaps, rank: 0 };
    let running = die.start_either([&launch(MARKS[0]), &launch(MARKS[1])])?;
    if let Err(failure) = die.wait(1) {
        std::mem::forget((running, heap));
        return Err(failure);
    }
    let marks = |seen: &Seen, mark| seen.observations.iter().filter(|observation| observation.mark == mark).count();
    let [first, second] = [marks(&running[0].seen()?, MARKS[0]), marks(&running[1].seen()?, MARKS[1])];
    match (first, second) {
        (1.., 0) => Ok(Form::First),
        (0, 1..) => Ok(Form::Second),
        (0, 0) => Err(Failure::new("no core found either of the two structures that were passed")),
        _ => Err(Failure::new(format!(
            "{first} cores found the structure that was passed first, and {second} the one passed second"
        ))),
    }
}

//! One launch of the probes' kernel on one NPU.
#![expect(unsafe_code, reason = "the launch of a kernel")]

use crate::answer::Failure;
use crate::cores::Cores;
use crate::heap::HeapPlan;
use crate::request::{Loop, Observation, Request};
use bytemuck::Zeroable as _;
use hpmoe_runtime::NpuError;
use hpmoe_runtime::abi::{HPMOE_DONE, HPMOE_GAVE_UP, HPMOE_REFUSED, HPMOE_STOPPED, HpmoeLaunch, HpmoeRecord};
use hpmoe_runtime::npus::{DeviceMemory, Npu, Program, Start};
use std::time::{Duration, Instant};

/// Ticks of the system counter in a second.
const FREQUENCY: f64 = 50e6;
/// Minimum time that a kernel may run, in addition to the limit of its waits.
const RUN: Duration = Duration::from_secs(60);
/// Additional time that the host waits after the kernel's time limit.
const MARGIN: Duration = Duration::from_secs(5);

/// The place at which a kernel finds its argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// The first argument.
    First,
    /// The second argument, after an address for flags between cores.
    Second,
}

/// An NPU with the kernel loaded.
pub(crate) struct Die {
    pub(crate) npu: Npu,
    pub(crate) program: Program,
    pub(crate) form: Form,
    pub(crate) cores: Cores,
    pub(crate) limit: Duration,
}

/// The request and the memory of a launch.
pub(crate) struct Launch<'a> {
    pub(crate) request: Request,
    pub(crate) plan: &'a HeapPlan,
    /// Address of each rank's heap.
    pub(crate) heaps: &'a [u64],
    pub(crate) rank: usize,
}

/// A launch that was put on the stream of an NPU.
pub(crate) struct Running {
    /// Launch structure, request, the tables that they refer to, records and observations.
    memory: DeviceMemory,
    cores: Cores,
}

/// The results of the cores.
pub(crate) struct Seen {
    pub(crate) cores: Cores,
    pub(crate) records: Vec<HpmoeRecord>,
    pub(crate) observations: Vec<Observation>,
}

/// Number of lines for observations, which is more than the cores should need.
pub(crate) const fn observation_lines(cores: Cores) -> usize {
    2 * cores.count()
}

impl Die {
    /// Puts a launch on the stream.
    pub(crate) fn start(&self, launch: &Launch<'_>) -> Result<Running, NpuError> {
        let running = Running::new(&self.npu, self.cores, launch, self.limit)?;
        // SAFETY: the memory was made for this kernel, and the heaps are those of its plan; the code that starts a launch waits
        // for it, or never frees its memory.
        unsafe { self.launch(&self.arguments(&running), self.seconds())? };
        Ok(running)
    }

    /// Puts a launch with two structures on the stream. The kernel finds one of them, depending on which argument it takes.
    pub(crate) fn start_either(&self, launches: [&Launch<'_>; 2]) -> Result<[Running; 2], NpuError> {
        let [first, second] = launches;
        let running = [
            Running::new(&self.npu, self.cores, first, self.limit)?,
            Running::new(&self.npu, self.cores, second, self.limit)?,
        ];
        let arguments = [running[0].memory.address(), running[1].memory.address()];
        // SAFETY: as in `start`, whichever of the two the kernel takes.
        unsafe { self.launch(&arguments, self.seconds())? };
        Ok(running)
    }

    /// Puts a launch on the stream, with a limit for its waits and a number of seconds after which CANN ends it.
    pub(crate) fn start_short(&self, launch: &Launch<'_>, limit: Duration, seconds: u16) -> Result<Running, NpuError> {
        let running = Running::new(&self.npu, self.cores, launch, limit)?;
        // SAFETY: as in `start`.
        unsafe { self.launch(&self.arguments(&running), seconds)? };
        Ok(running)
    }

    /// The arguments for the kernel, in the form that it takes.
    fn arguments(&self, running: &Running) -> Vec<u64> {
        let address = running.memory.address();
        if self.form == Form::First { vec![address] } else { vec![0, address] }
    }

    /// # Safety
    ///
    /// As for [`Program::enqueue`].
    unsafe fn launch(&self, arguments: &[u64], seconds: u16) -> Result<(), NpuError> {
        let start = Start { groups: self.cores.matrix, arguments, seconds };
        // SAFETY: the caller's.
        unsafe { self.program.enqueue(&self.npu, start) }
    }

    /// Maximum time that a launch may run.
    fn seconds(&self) -> u16 {
        let most = self.limit * 2 + RUN;
        u16::try_from(most.as_secs() + 1).unwrap_or(u16::MAX)
    }

    /// Waits for the given launches.
    pub(crate) fn wait(&self, launches: u32) -> Result<(), Failure> {
        self.wait_for(Duration::from_secs(self.seconds().into()) * launches + MARGIN)
    }

    /// Waits for at most the given time.
    pub(crate) fn wait_for(&self, limit: Duration) -> Result<(), Failure> {
        self.npu.wait(limit).map_err(|error| Failure::lost(error.to_string()))
    }

    /// The time from one launch to the next, measured with the given number of empty launches.
    pub(crate) fn time_empty(&self, launches: u32) -> Result<Duration, Failure> {
        let plan = HeapPlan::new(1, self.cores, 0);
        let heap = DeviceMemory::poisoned(&self.npu, plan.bytes, 0)?;
        let launch =
            Launch { request: Request::timed(Loop::Copy, 0, 0), plan: &plan, heaps: &[heap.address()], rank: 0 };
        let prepared = |_| Running::new(&self.npu, self.cores, &launch, self.limit);
        let running = (0..launches).map(prepared).collect::<Result<Vec<_>, _>>()?;
        let start = Instant::now();
        let started = running.iter().try_for_each(|running| {
            // SAFETY: as in `start`.
            unsafe { self.launch(&self.arguments(running), self.seconds()) }
        });
        let waited = self.wait(launches);
        let time = start.elapsed() / launches;
        match started.map_err(Failure::from).and(waited) {
            Ok(()) => running.iter().try_for_each(|running| running.seen()?.expect_done()).map(|()| time),
            Err(failure) => {
                // A kernel may still be using them.
                std::mem::forget((running, heap));
                Err(failure)
            }
        }
    }

    /// Runs one launch that works only on memory of its NPU, with the given number of bytes of data. `fill` writes the initial data, and
    /// sets their offsets in the request.
    pub(crate) fn run_alone(
        &self,
        mut request: Request,
        data_bytes: usize,
        fill: impl FnOnce(&DeviceMemory, &HeapPlan, &mut Request) -> Result<(), NpuError>,
    ) -> Result<Alone, Failure> {
        let plan = HeapPlan::new(1, self.cores, data_bytes);
        let heap = DeviceMemory::poisoned(&self.npu, plan.bytes, 0)?;
        request.data = plan.data as u64;
        fill(&heap, &plan, &mut request)?;
        let launch = Launch { request, plan: &plan, heaps: &[heap.address()], rank: 0 };
        let running = self.start(&launch)?;
        match self.wait(1) {
            Ok(()) => Ok(Alone { seen: running.seen()?, plan, heap }),
            Err(failure) => {
                // A kernel may still be using them.
                std::mem::forget((running, heap));
                Err(failure)
            }
        }
    }
}

/// The results of a launch on one NPU.
pub(crate) struct Alone {
    pub(crate) seen: Seen,
    pub(crate) plan: HeapPlan,
    pub(crate) heap: DeviceMemory,
}

impl Running {
    fn new(npu: &Npu, cores: Cores, launch: &Launch<'_>, limit: Duration) -> Result<Self, NpuError> {
        let lines = observation_lines(cores);
        let peers = size_of::<HpmoeLaunch>() + size_of::<Request>();
        let bases = peers + (8 * launch.heaps.len()).next_multiple_of(64);
        let records = Self::records_at(launch.heaps.len());
        let observations = records + cores.count() * size_of::<HpmoeRecord>();
        let memory = DeviceMemory::poisoned(npu, observations + lines * size_of::<Observation>(), 0)?;
        let at = |offset: usize| memory.address() + offset as u64;
        let HeapPlan { counters, launches, ready, freed, abort, .. } = *launch.plan;
        let structure = HpmoeLaunch {
            peers: at(peers),
            counter_bases: at(bases),
            counters: 0,
            counter_count: counters as u32,
            launches: launches as u64,
            ready: ready as u64,
            freed: freed as u64,
            abort: abort as u64,
            records: at(records),
            time_limit: (limit.as_secs_f64() * FREQUENCY) as u64,
            rank: launch.rank as u32,
            ranks: launch.heaps.len() as u32,
            aic: cores.matrix,
            aiv: cores.vector(),
            chunks: 1,
            ..HpmoeLaunch::zeroed()
        };
        let request = Request { observations: at(observations), ..launch.request };
        memory.write(0, bytemuck::bytes_of(&structure))?;
        memory.write(size_of::<HpmoeLaunch>(), bytemuck::bytes_of(&request))?;
        memory.write(peers, bytemuck::cast_slice(launch.heaps))?;
        Ok(Self { memory, cores })
    }

    /// The offset of the records for the given number of ranks.
    fn records_at(ranks: usize) -> usize {
        // After a line with the one base of counters, which is zero.
        size_of::<HpmoeLaunch>() + size_of::<Request>() + (8 * ranks).next_multiple_of(64) + 64
    }

    /// The results of the cores, after the host has waited for the stream.
    pub(crate) fn seen(&self) -> Result<Seen, Failure> {
        let cores = self.cores;
        let mut structure = HpmoeLaunch::zeroed();
        self.memory.read(0, bytemuck::bytes_of_mut(&mut structure))?;
        let mut records = vec![HpmoeRecord::zeroed(); cores.count()];
        let mut observations = vec![Observation::zeroed(); observation_lines(cores)];
        let at = Self::records_at(structure.ranks as usize);
        self.memory.read(at, bytemuck::cast_slice_mut(&mut records))?;
        let after = at + cores.count() * size_of::<HpmoeRecord>();
        self.memory.read(after, bytemuck::cast_slice_mut(&mut observations))?;
        Ok(Seen { cores, records, observations })
    }
}

impl Seen {
    /// Checks that all cores finished and that none read a wrong word.
    pub(crate) fn expect_done(&self) -> Result<(), Failure> {
        if let Some(stuck) = self.stuck() {
            return Err(Failure::new(stuck));
        }
        let wrong: u32 = self.observations.iter().map(|observation| observation.misses).sum();
        match self.observations.iter().enumerate().find(|(_, observation)| observation.misses > 0) {
            None => Ok(()),
            Some((slot, first)) => Err(Failure::new(format!(
                "{wrong} words were wrong; the first that {} saw, in round {}: word {} was {} instead of {}",
                self.cores.name(slot),
                first.miss_round,
                first.miss_word,
                first.miss_have,
                first.miss_need
            ))),
        }
    }

    /// The state of the first core that refused the launch; otherwise, of the first that gave up; otherwise, of the first that is not done.
    fn stuck(&self) -> Option<String> {
        let states = [HPMOE_REFUSED, HPMOE_GAVE_UP];
        let in_state = |state| self.records.iter().position(|record| record.state == state);
        let other = || self.records.iter().position(|record| record.state != HPMOE_DONE);
        let slot = states.into_iter().find_map(in_state).or_else(other)?;
        let (record, name) = (&self.records[slot], self.cores.name(slot));
        Some(match record.state {
            HPMOE_REFUSED => format!("{name} found a number of cores that differs from the launch's"),
            HPMOE_GAVE_UP => format!(
                "{name} gave up: it waited for word {} until that would be {}, and saw {} (on a busy machine: fewer --tries)",
                record.index, record.need, record.have
            ),
            HPMOE_STOPPED => format!("{name} left because a core of another rank had given up"),
            state => format!("{name} left no record of its end (its state is {state})"),
        })
    }
}

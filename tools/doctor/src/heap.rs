//! The memory of a rank that the probes' kernel writes: counters, words of peers, data.

use crate::answer::Failure;
use crate::cores::Cores;
use hpmoe_runtime::NpuError;
use hpmoe_runtime::abi::HPMOE_LINE;
use hpmoe_runtime::npus::DeviceMemory;

const LINE: usize = HPMOE_LINE as usize;

/// The offsets of all areas in the heap, which are the same on all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapPlan {
    /// Number of counters in each of the two sets.
    pub(crate) counters: usize,
    /// Offset of the lines in which each core keeps the number of the last launch.
    pub(crate) launches: usize,
    pub(crate) ready: usize,
    pub(crate) freed: usize,
    pub(crate) abort: usize,
    pub(crate) data: usize,
    pub(crate) bytes: usize,
}

impl HeapPlan {
    pub(crate) fn new(ranks: usize, cores: Cores, data_bytes: usize) -> Self {
        // Two for each core: whether a block has arrived, and whether it has been read.
        let counters = 2 * cores.count().max(8);
        let launches = 2 * counters * LINE;
        let ready = launches + cores.count() * LINE;
        let freed = ready + ranks * LINE;
        let abort = freed + ranks * LINE;
        let data = abort + LINE;
        Self { counters, launches, ready, freed, abort, data, bytes: data + data_bytes.next_multiple_of(LINE) }
    }

    /// The values of the first counters after launch 1.
    pub(crate) fn sums(&self, memory: &DeviceMemory, count: usize) -> Result<Vec<i32>, NpuError> {
        let mut sums = vec![0_i32; count];
        for (at, sum) in sums.iter_mut().enumerate() {
            // Launches with odd numbers have the second set.
            memory.read((self.counters + at) * LINE, bytemuck::bytes_of_mut(sum))?;
        }
        Ok(sums)
    }
}

/// Heaps of all ranks, as they are mapped in this process.
pub(crate) struct Heaps {
    pub(crate) plan: HeapPlan,
    /// The heaps of the local ranks.
    pub(crate) own: Vec<DeviceMemory>,
    /// The heaps of other processes, which stay mapped.
    pub(crate) others: Vec<DeviceMemory>,
    /// Address of each rank's heap.
    pub(crate) addresses: Vec<u64>,
}

impl Heaps {
    /// Sets all bytes of the local ranks' heaps to zero.
    pub(crate) fn clear(&self) -> Result<(), Failure> {
        let zeros = vec![0; self.plan.bytes];
        Ok(self.own.iter().try_for_each(|heap| heap.write(0, &zeros))?)
    }
}

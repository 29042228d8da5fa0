//! Counts of the work of host runs.

/// Counts of a rank's work on the host, over all its cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct HostStatistics {
    /// Number of AscendC calls of all kinds.
    pub calls: u64,
    /// Bytes moved between global and on-chip memory.
    pub dma_bytes: u64,
    /// Number of copies between global and on-chip memory.
    pub dmas: u64,
    /// Number of `Mmad` calls, which run on the cube.
    pub mmads: u64,
    /// Number of floating-point operations of the cube.
    pub mmad_flops: u64,
    /// Number of AscendC calls that run on the vector unit.
    pub vector_calls: u64,
    /// Number of waits for flags.
    pub flag_waits: u64,
    /// Number of times that a core was scheduled. A core runs until it waits or until it yields to other cores.
    pub turns: u64,
    /// Number of threads that were started. Threads are reused, so later launches start none.
    pub threads: u64,
}

impl HostStatistics {
    /// All counts, in the order of the fields.
    pub(crate) const fn figures(&self) -> [u64; 9] {
        let Self { calls, dma_bytes, dmas, mmads, mmad_flops, vector_calls, flag_waits, turns, threads } = *self;
        [calls, dma_bytes, dmas, mmads, mmad_flops, vector_calls, flag_waits, turns, threads]
    }

    /// Makes the statistics from all counts, in the order of the fields.
    pub(crate) const fn from_figures(figures: [u64; 9]) -> Self {
        let [calls, dma_bytes, dmas, mmads, mmad_flops, vector_calls, flag_waits, turns, threads] = figures;
        Self { calls, dma_bytes, dmas, mmads, mmad_flops, vector_calls, flag_waits, turns, threads }
    }

    /// Adds the counts of another rank.
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.dma_bytes += other.dma_bytes;
        self.dmas += other.dmas;
        self.mmads += other.mmads;
        self.mmad_flops += other.mmad_flops;
        self.vector_calls += other.vector_calls;
        self.flag_waits += other.flag_waits;
        self.turns += other.turns;
        self.threads += other.threads;
    }
}

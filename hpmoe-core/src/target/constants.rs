//! The constants of a target, and the table of their keys.

use super::provenance::TargetConstant;

/// The range of a constant's values. Values in their ranges keep all sums of a simulation in range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Range {
    /// A number of cores or dies.
    Cores,
    /// A whole number.
    Count,
    /// An amount of work per time or per cycle.
    Rate,
    /// A time in nanoseconds.
    Nanoseconds,
    /// A time in microseconds.
    Microseconds,
    /// A number above zero and at most one.
    Share,
}

/// One key of a target file.
pub(super) struct Key {
    pub(super) section: &'static str,
    pub(super) key: &'static str,
    pub(super) range: Range,
    pub(super) set: fn(&mut Target, f64),
    pub(super) get: fn(&Target) -> f64,
}

macro_rules! target {
    ($($(#[$about:meta])* $section:ident: $Section:ident {
        $($(#[$doc:meta])* $key:ident: $type:ident = $range:ident,)*
    })*) => {
        $(
            $(#[$about])*
            #[derive(Clone, PartialEq, Debug, Default)]
            pub struct $Section {
                $($(#[$doc])* pub $key: $type,)*
            }
        )*

        /// A machine: constants, each with its source.
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct Target {
            /// Name of the target.
            pub name: String,
            $($(#[$about])* pub $section: $Section,)*
            pub(super) constants: Vec<TargetConstant>,
        }

        pub(super) const KEYS: &[Key] = &[$($(Key {
            section: stringify!($section),
            key: stringify!($key),
            range: Range::$range,
            set: |target, value| target.$section.$key = value as $type,
            get: |target| f64::from(target.$section.$key),
        },)*)*];
    };
}

target! {
    /// Cores of a die.
    cores: Cores {
        /// Matrix cores (AIC) of a die.
        aic: u32 = Cores,
        /// Vector cores (AIV) of a die.
        aiv: u32 = Cores,
        /// Clock of the cores, GHz.
        clock_ghz: f64 = Rate,
    }
    /// The matrix unit of a matrix core.
    cube: Cube {
        /// FLOP per cycle of one matrix core in bf16.
        bf16_flop_per_cycle: u32 = Count,
        /// Operations per cycle of one matrix core in int8.
        int8_op_per_cycle: u32 = Count,
        /// Share of the peak in int8 that a product reaches.
        int8_efficiency: f64 = Share,
    }
    /// A vector core.
    vector: Vector {
        /// Bytes that the core's vector unit processes per cycle.
        bytes_per_cycle: f64 = Rate,
        /// Rate at which the core reads and writes bytes in elementwise work, including the copies to and from UB, GB/s.
        elementwise_gb_per_s: f64 = Rate,
    }
    /// Memories of a die.
    memory: Memory {
        /// Unified buffer of a vector core, KiB.
        ub_kib: u32 = Count,
        /// L1 of a matrix core, KiB.
        l1_kib: u32 = Count,
        /// L0A of a matrix core, KiB.
        l0a_kib: u32 = Count,
        /// L0B of a matrix core, KiB.
        l0b_kib: u32 = Count,
        /// L0C of a matrix core, KiB.
        l0c_kib: u32 = Count,
        /// Size of the die's L2, MiB.
        l2_mib: u32 = Count,
        /// Bandwidth of the die's HBM, reads and writes together, GB/s.
        hbm_gb_per_s: f64 = Rate,
        /// Bytes per cycle that one matrix core reads from HBM.
        hbm_bytes_per_cycle_core: f64 = Rate,
        /// Bytes per cycle that one matrix core reads from L2.
        l2_read_bytes_per_cycle_core: f64 = Rate,
        /// Bytes per cycle that one matrix core writes to L2.
        l2_write_bytes_per_cycle_core: f64 = Rate,
        /// Bytes per cycle that one vector core copies to or from its unified buffer.
        gm_ub_bytes_per_cycle: f64 = Rate,
        /// Bytes per cycle from L1 to L0A.
        l1_l0a_bytes_per_cycle: f64 = Rate,
        /// Bytes per cycle from L1 to L0B.
        l1_l0b_bytes_per_cycle: f64 = Rate,
        /// Bytes per cycle from L0C to global memory.
        fixpipe_bytes_per_cycle: f64 = Rate,
    }
    /// Links between dies.
    link: Link {
        /// Dies in a package; ranks fill packages in order.
        dies_per_package: u32 = Cores,
        /// Bandwidth of a die to the other dies of its package, each way, GB/s.
        same_package_gb_per_s: f64 = Rate,
        /// Latency to the other dies of the package, ns.
        same_package_ns: f64 = Nanoseconds,
        /// Bandwidth of a die to dies of other packages, each way, GB/s.
        other_package_gb_per_s: f64 = Rate,
        /// Latency to dies of other packages, ns.
        other_package_ns: f64 = Nanoseconds,
        /// Bandwidth of one vector core that puts to another die, GB/s.
        put_gb_per_s_per_aiv: f64 = Rate,
    }
    /// Synchronisation through global memory.
    sync: Sync {
        /// Time from a signal to the moment at which a waiting core sees it, ns.
        counter_visible_ns: f64 = Nanoseconds,
        /// Time that a fence takes after a put to another die, ns.
        fence_remote_ns: f64 = Nanoseconds,
        /// Time from the end of one task to the start of the next, ns.
        task_pickup_ns: f64 = Nanoseconds,
        /// Time of each task to check waits that are already over, compute extents and signal, ns.
        tile_overhead_ns: f64 = Nanoseconds,
        /// Time in which a core reads an entry of its queue and the entry's tables, even if it has no tile there, ns. For an entry of
        /// several peers, also the time to find each further peer with a tile.
        entry_ns: f64 = Nanoseconds,
        /// Time to check each wait of a task after the first one, if the wait is already over, ns.
        wait_ns: f64 = Nanoseconds,
        /// Time between two consecutive signals of one task, ns.
        signal_ns: f64 = Nanoseconds,
        /// Time from the end of a put's waits until its first bytes leave the core, ns.
        put_start_ns: f64 = Nanoseconds,
    }
    /// Costs of a launch.
    launch: Launch {
        /// Launch of one kernel, µs.
        kernel_us: f64 = Microseconds,
        /// Barrier of all ranks, µs.
        rank_sync_us: f64 = Microseconds,
        /// Time in which a core fetches 512 bytes of code that it has not run in this launch, ns.
        cold_code_ns: f64 = Nanoseconds,
    }
    /// Costs of the original system in addition to the work.
    original: Original {
        /// Interval at which a waiting matrix core reads the counter that it waits for, µs.
        poll_aic_us: f64 = Microseconds,
        /// Interval at which a waiting vector core reads the counter that it waits for, µs.
        poll_aiv_us: f64 = Microseconds,
        /// Time of a task without rows, µs.
        empty_task_us: f64 = Microseconds,
        /// Time in which a matrix core reads a descriptor, µs.
        descriptor_aic_us: f64 = Microseconds,
        /// Time in which a vector core reads a descriptor, µs.
        descriptor_aiv_us: f64 = Microseconds,
    }
    /// The only constants that are fitted to published latencies.
    fitted: Fitted {
        /// Share of the cube's peak that products reach in a fused kernel.
        gemm_fused_efficiency: f64 = Share,
        /// Share of the cube's peak that a grouped product reaches in a kernel of its own.
        gemm_operator_efficiency: f64 = Share,
        /// Share of the link's bandwidth that a collective all-to-all reaches.
        collective_efficiency: f64 = Share,
    }
}

impl Range {
    /// The least and the largest value.
    const fn ends(self) -> (f64, f64) {
        match self {
            Self::Cores => (1.0, 1024.0),
            Self::Count => (1.0, 1e6),
            Self::Rate => (1e-3, 1e6),
            Self::Nanoseconds => (0.0, 1e7),
            Self::Microseconds => (0.0, 1e4),
            Self::Share => (1e-3, 1.0),
        }
    }

    pub(super) fn holds(self, value: f64) -> bool {
        let (least, most) = self.ends();
        let whole = !matches!(self, Self::Cores | Self::Count) || value.fract() == 0.0;
        (least..=most).contains(&value) && whole
    }

    pub(super) fn words(self) -> String {
        let (least, most) = self.ends();
        let kind = if matches!(self, Self::Cores | Self::Count) { "a whole number" } else { "a number" };
        format!("{kind} from {least} to {most}")
    }
}

//! Memory of CANN's SHMEM library, which is opened when a group asks for it.
//!
//! Allocating and freeing in that library are collective calls of all processes. So each process allocates one block
//! once, and this module hands out parts of it to kernels. Freeing a part then waits for no other process, even if one
//! has died.
#![expect(unsafe_code, reason = "a C interface")]

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    dead_code,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    reason = "made by bindgen from aclshmem.h"
)]
#[rustfmt::skip]
mod bindings;
mod address;
mod ending;
mod error;
mod heap;
mod library;
mod ranges;

pub(crate) use ending::ends_alone;
pub use error::ShmemError;
pub(super) use heap::Heap;

use std::ffi::{c_char, c_int};
use std::ptr::{null, null_mut, with_exposed_provenance_mut};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hpmoe_kernels::printable::printable;

use super::symmetric::SymmetricMemory;
use super::{DeviceMemory, Npu, NpuError};
use crate::abi::LINE;
use address::Address;
use bindings::{
    ACLSHMEM_DATA_OP_MTE, ACLSHMEM_MAX_IP_PORT_LEN, ACLSHMEM_STATUS_IS_INITIALIZED, ACLSHMEMX_INIT_WITH_DEFAULT,
    ShmemCalls, aclshmem_init_optional_attr_t, aclshmemx_init_attr_t,
};
use error::check;
use ranges::FreeRanges;

/// The variable that sets the size of each rank's heap, in MiB, for all kernels together.
const HEAP: &str = "HPMOE_SHMEM_HEAP_MIB";
const MIB: usize = 1 << 20;
/// Default size of a heap, in MiB.
const HEAP_MIB: usize = 1024;
/// Maximum size of a heap, in MiB: the library allocates at most 40 GiB, including some for itself.
const MOST_MIB: usize = 40_000;

/// Bytes of the initialised memory that the library may use for itself.
const ROOM_OF_ITS_OWN: usize = 2 * MIB;

/// Maximum time, in seconds, that a process waits for another one in a call of the library.
const PATIENCE: u32 = 60;

/// The opened library, and the memory that it has allocated.
pub(super) struct Shmem {
    calls: ShmemCalls,
    heap_mib: usize,
    /// Rank 0's listening socket, from its offer until the library takes it.
    address: Mutex<Option<Address>>,
    /// The heap, from the first group's allocation until no group has memory in it.
    heap: Mutex<Option<Result<Arc<Heap>, NpuError>>>,
}

impl Shmem {
    /// The library, opened once per process. It is never closed, because others may use it too.
    pub(super) fn get() -> Result<&'static Self, ShmemError> {
        static OPENED: OnceLock<Result<Shmem, ShmemError>> = OnceLock::new();
        let open = || {
            let heap_mib = heap_mib()?;
            Ok(Self { calls: library::open()?, heap_mib, address: Mutex::default(), heap: Mutex::default() })
        };
        OPENED.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    /// Whether the library is initialised in this process, by this runtime or by the program.
    fn is_initialized(&self) -> bool {
        // SAFETY: takes nothing.
        u32::try_from(unsafe { self.calls.aclshmemx_init_status() }) == Ok(ACLSHMEM_STATUS_IS_INITIALIZED)
    }

    /// Initialises the library, unless the program has done so, and allocates the block of this process.
    fn start(&self, npu: &Npu, rank: usize, offers: &[Vec<u8>]) -> Result<Heap, NpuError> {
        let ranks = offers.len();
        let offers = offers.iter().map(|bytes| Offer::read(bytes)).collect::<Result<Vec<_>, _>>()?;
        if let Some((peer, other)) = offers.iter().enumerate().find(|(_, offer)| offer.heap_mib != self.heap_mib) {
            return Err(ShmemError::Sizes { rank, mib: self.heap_mib, peer, other: other.heap_mib }.into());
        }
        if let Some(peer) = offers.iter().position(|offer| offer.initialized != offers[rank].initialized) {
            let (with, without) = if offers[rank].initialized { (rank, peer) } else { (peer, rank) };
            return Err(ShmemError::Begun { with, without }.into());
        }
        let _here = npu.here()?;
        let of_program = offers[rank].initialized;
        if !of_program {
            self.initialize(rank, ranks, offers[0].port)?;
        }
        // SAFETY: takes nothing, and the library is initialised.
        let (pe, pes) = unsafe { (self.calls.aclshmem_my_pe(), self.calls.aclshmem_n_pes()) };
        if (usize::try_from(pe), usize::try_from(pes)) != (Ok(rank), Ok(ranks)) {
            return Err(ShmemError::Number { rank, ranks, pe, pes }.into());
        }
        // SAFETY: takes two numbers; all ranks are here.
        let memory = unsafe { self.calls.aclshmem_align(LINE, self.bytes()) };
        if memory.is_null() {
            return Err(ShmemError::NoHeap { mib: self.heap_mib }.into());
        }
        let base = memory.expose_provenance() as u64;
        let device = npu.number();
        match npu.acl.device_of(base)?.map(|number| number as i32) {
            Some(heap) if heap != device => Err(ShmemError::Device { rank, heap, device }.into()),
            _ => Ok(Heap { device, of_program, rank, ranks, base, free: Mutex::new(FreeRanges::new(self.bytes())) }),
        }
    }

    fn initialize(&self, rank: usize, ranks: usize, port: u16) -> Result<(), ShmemError> {
        // SAFETY: no certificates: the connections are those of one job, as its other ones are.
        check("aclshmemx_set_conf_store_tls", unsafe { self.calls.aclshmemx_set_conf_store_tls(false, null(), 0) })?;
        let own = lock(&self.address).take();
        let (url, socket) = match own {
            Some(own) => own.given_away(),
            None => (address::of_rank_0(rank, port)?, -1),
        };
        let mut ip_port = [0; ACLSHMEM_MAX_IP_PORT_LEN as usize];
        for (to, from) in ip_port.iter_mut().zip(url.bytes()) {
            *to = from as c_char;
        }
        let number = |number| c_int::try_from(number).unwrap_or(c_int::MAX);
        let mut attributes = aclshmemx_init_attr_t {
            my_pe: number(rank),
            n_pes: number(ranks),
            ip_port,
            local_mem_size: (self.bytes() + ROOM_OF_ITS_OWN) as u64,
            option_attr: aclshmem_init_optional_attr_t {
                version: (1 << 16) + size_of::<aclshmem_init_optional_attr_t>() as i32,
                data_op_engine_type: ACLSHMEM_DATA_OP_MTE,
                shm_init_timeout: PATIENCE,
                shm_create_timeout: PATIENCE,
                control_operation_timeout: PATIENCE,
                sockFd: socket,
            },
            comm_args: null_mut(),
            instance_id: 0,
        };
        // SAFETY: attributes that live until the call returns; all ranks call it.
        let code = unsafe { self.calls.aclshmemx_init_attr(ACLSHMEMX_INIT_WITH_DEFAULT, &raw mut attributes) };
        check("aclshmemx_init_attr", code)
    }

    const fn bytes(&self) -> usize {
        self.heap_mib * MIB
    }

    fn heap(&self) -> Result<Arc<Heap>, NpuError> {
        lock(&self.heap).as_ref().expect("the group has begun to use SHMEM").clone()
    }
}

impl SymmetricMemory for Shmem {
    /// Accepts every NPU: the library itself checks that it supports the NPU.
    fn fits(&self, _: &Npu) -> Result<(), NpuError> {
        Ok(())
    }

    fn offer(&self, rank: usize) -> Result<Vec<u8>, NpuError> {
        let initialized = self.is_initialized();
        let port = match rank == 0 && !initialized {
            true => lock(&self.address).insert(Address::of_this_rank()?).port(),
            false => 0,
        };
        Ok(Offer { heap_mib: self.heap_mib, initialized, port }.bytes())
    }

    fn begin(&self, npu: &Npu, rank: usize, offers: &[Vec<u8>]) -> Result<(), NpuError> {
        let start = || self.start(npu, rank, offers).map(Arc::new);
        let heap = lock(&self.heap).get_or_insert_with(start).clone()?;
        match (heap.rank, heap.ranks) == (rank, offers.len()) {
            true => Ok(()),
            false => {
                let number = |number| i32::try_from(number).unwrap_or(i32::MAX);
                let (pe, pes) = (number(heap.rank), number(heap.ranks));
                Err(ShmemError::Number { rank, ranks: offers.len(), pe, pes }.into())
            }
        }
    }

    fn allocate(&self, npu: &Npu, bytes: usize, poisoned: usize) -> Result<DeviceMemory, NpuError> {
        let heap = self.heap()?;
        let mut free = lock(&heap.free);
        let at = free.take(bytes).ok_or_else(|| ShmemError::Room {
            rank: heap.rank,
            bytes,
            left: free.largest(),
            mib: self.heap_mib,
        })?;
        drop(free);
        DeviceMemory::lent(npu, heap.base + at as u64, bytes, poisoned, heap)
    }

    fn ticket(&self, _: &Npu, memory: &DeviceMemory) -> Result<Vec<u8>, NpuError> {
        Ok([memory.address() - self.heap()?.base, memory.bytes() as u64].map(u64::to_le_bytes).concat())
    }

    fn open(&self, npu: &Npu, rank: usize, peer: usize, ticket: &[u8]) -> Result<DeviceMemory, NpuError> {
        let heap = self.heap()?;
        let [at, bytes] = words(ticket)?;
        let (own, pe) = (with_exposed_provenance_mut(heap.base as usize), c_int::try_from(peer).unwrap_or(-1));
        // SAFETY: an address that the library gave; it checks the number.
        let theirs = unsafe { self.calls.aclshmem_ptr(own, pe) };
        if theirs.is_null() {
            return Err(ShmemError::Reach { rank, peer }.into());
        }
        DeviceMemory::of_peer(npu, theirs.expose_provenance() as u64 + at, bytes as usize)
    }

    fn end(&self, npu: &Npu) {
        let mut begun = lock(&self.heap);
        match begun.as_ref() {
            Some(Ok(heap)) if heap.device == npu.number() && lock(&heap.free).largest() == self.bytes() => {
                let ended = Self::get().and_then(|shmem| ending::end(&shmem.calls, npu, heap));
                *begun = ended.err().map(|error| Err(error.into()));
            }
            _ => {}
        }
    }
}

/// The data that each rank sends to all others before the library is initialised.
struct Offer {
    heap_mib: usize,
    /// Whether the program has already initialised the library on this rank.
    initialized: bool,
    /// On rank 0, the port that its socket for the library listens on.
    port: u16,
}

impl Offer {
    fn bytes(&self) -> Vec<u8> {
        let words = [self.heap_mib as u64, self.initialized.into(), self.port.into()];
        words.map(u64::to_le_bytes).concat()
    }

    fn read(bytes: &[u8]) -> Result<Self, NpuError> {
        let [mib, initialized, port] = words(bytes)?;
        Ok(Self { heap_mib: mib as usize, initialized: initialized != 0, port: port as u16 })
    }
}

/// The `N` words of another rank's offer.
fn words<const N: usize>(bytes: &[u8]) -> Result<[u64; N], NpuError> {
    if bytes.len() != 8 * N {
        return Err(NpuError::Ticket { bytes: bytes.len() });
    }
    let word = |at: usize| bytes[8 * at..][..8].try_into().expect("a word has eight bytes");
    Ok(std::array::from_fn(|at| u64::from_le_bytes(word(at))))
}

/// The heap size in MiB: [`HEAP`] rounded up to an even number, or [`HEAP_MIB`].
fn heap_mib() -> Result<usize, ShmemError> {
    let Some(value) = std::env::var_os(HEAP).filter(|value| !value.is_empty()) else { return Ok(HEAP_MIB) };
    let value = printable(&value.to_string_lossy()).into_owned();
    let mib: Option<usize> = value.parse().ok().filter(|mib| (2..=MOST_MIB).contains(mib));
    // Memory of NPUs is pages of 2 MiB.
    mib.map(|mib| mib.next_multiple_of(2)).ok_or(ShmemError::HeapSize { value })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

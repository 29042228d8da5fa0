//! Launches on the NPUs of all ranks, which write to the heaps of peers.

use crate::answer::Failure;
use crate::examination::Examination;
use crate::heap::{HeapPlan, Heaps};
use crate::launch::{Launch, Running, Seen};
use crate::request::{BLOCK, Request};
use hpmoe_runtime::npus::{DeviceMemory, symmetric_memory};
use std::ops::RangeInclusive;
use std::thread::sleep;
use std::time::Duration;

impl Examination {
    /// Allocates the heaps of the local ranks, and maps those of other processes.
    pub(crate) fn make_heaps(&self) -> Result<Heaps, Failure> {
        let vector = self.cores.vector() as usize;
        // A block for each vector core, or for each rank.
        let plan = HeapPlan::new(self.team.ranks, self.cores, vector.max(self.team.ranks) * BLOCK);
        if !self.team.is_processes() {
            let own = self.each_die(|_, die| Ok(DeviceMemory::poisoned(&die.npu, plan.bytes, 0)?))?;
            let addresses = own.iter().map(DeviceMemory::address).collect();
            return Ok(Heaps { plan, own, others: Vec::new(), addresses });
        }
        let (npu, own_rank) = (&self.dies[0].npu, self.team.own().start);
        let shared = symmetric_memory().map_err(Failure::from);
        let offer = shared.clone().and_then(|shared| {
            shared.fits(npu)?;
            Ok(shared.offer(own_rank)?)
        });
        let (offers, shared) = (self.team.exchange(offer)?, shared?);
        let make = || -> Result<_, Failure> {
            shared.begin(npu, own_rank, &offers)?;
            let heap = shared.allocate(npu, plan.bytes, 0)?;
            let ticket = shared.ticket(npu, &heap)?;
            Ok((heap, ticket))
        };
        let made = make();
        let tickets = self.team.exchange(made.as_ref().map(|(_, ticket)| ticket.clone()).map_err(Clone::clone))?;
        let mut heaps = Heaps { plan, own: vec![made?.0], others: Vec::new(), addresses: Vec::new() };
        for (rank, ticket) in tickets.iter().enumerate() {
            if rank == own_rank {
                heaps.addresses.push(heaps.own[0].address());
                continue;
            }
            let failed = |error| Failure::new(format!("the memory of rank {rank} can't be mapped: {error}"));
            let memory = shared.open(npu, own_rank, rank, ticket).map_err(failed)?;
            heaps.addresses.push(memory.address());
            heaps.others.push(memory);
        }
        Ok(heaps)
    }

    /// Runs one launch on all NPUs, with heaps that are initially zero. Returns the results of each local rank.
    pub(crate) fn run_with_peers(&self, request: Request) -> Result<Vec<Seen>, Failure> {
        let of_one = |launches: Vec<Seen>| launches.into_iter().next();
        let seen = self.run_row_with_peers(request, 1..=1)?.into_iter().map(of_one);
        seen.collect::<Option<_>>().ok_or_else(|| Failure::new("no launch was made"))
    }

    /// Runs launches with the given numbers one after the other on all NPUs. Between launches, ranks don't wait for each other, and the
    /// last rank starts late in some launches. Heaps are zero before launch 1. Returns the results of each launch, for each rank in this
    /// process.
    pub(crate) fn run_row_with_peers(
        &self,
        request: Request,
        numbers: RangeInclusive<i32>,
    ) -> Result<Vec<Vec<Seen>>, Failure> {
        let Some(heaps) = &self.heaps else { return Err(Failure::new("there is no memory that peers can write")) };
        self.team.together(if *numbers.start() == 1 { heaps.clear() } else { Ok(()) })?;
        let mut running: Vec<Vec<Running>> = self.dies.iter().map(|_| Vec::new()).collect();
        let launches = numbers.clone().count() as u32;
        let started = self.start_with_peers(heaps, request, numbers, &mut running);
        // Waits even after an error, so that no kernel is running when the other processes learn of the error.
        let waited = Failure::joined(self.dies.iter().filter_map(|die| die.wait(launches).err()).collect());
        let seen = waited.and(started).and_then(|()| {
            let of_rank = |launches: &Vec<Running>| launches.iter().map(Running::seen).collect();
            running.iter().map(of_rank).collect::<Result<Vec<Vec<Seen>>, Failure>>()
        });
        if seen.is_err() {
            // A kernel may still be using it.
            std::mem::forget(running);
        }
        self.team.together(seen.as_ref().map(|_| ()).map_err(Clone::clone))?;
        seen
    }

    fn start_with_peers(
        &self,
        heaps: &Heaps,
        request: Request,
        numbers: RangeInclusive<i32>,
        running: &mut [Vec<Running>],
    ) -> Result<(), Failure> {
        let request = Request { data: heaps.plan.data as u64, ..request };
        for number in numbers {
            for ((rank, die), running) in self.team.own().zip(&self.dies).zip(running.iter_mut()) {
                if number % 4 == 0 && rank + 1 == self.team.ranks {
                    sleep(Duration::from_millis(2));
                }
                let launch = Launch { request, plan: &heaps.plan, heaps: &heaps.addresses, rank };
                running.push(die.start(&launch).map_err(|error| Failure::from(error).of_rank(rank, self.team.ranks))?);
            }
        }
        Ok(())
    }
}

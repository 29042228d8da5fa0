//! The ends of all ranks, exchanged between their processes.

use std::time::Duration;

use hpmoe_kernels::Rank;
use hpmoe_kernels::printable::printable_lines;

use super::member::{Member, same};
use super::rank_end::RankEnd;
use super::shared::LaunchShared;
use crate::abi::{HPMOE_GAVE_UP, HPMOE_STOPPED, HpmoeRecord};
use crate::backend::host::{HostStatistics, Outcome, Resource};
use crate::bootstrap::BootstrapError;
use crate::bootstrap::wire::{Message, Reader};
use crate::layout::stamps::RankStamps;
use crate::layout::tables::record_bytes;
use crate::report::StuckReport;
use crate::{KernelTables, LaunchError};

const RESOURCES: [Resource; 4] = [Resource::RankThread, Resource::WorkerThread, Resource::Stack, Resource::Memory];

/// Sends this rank's end to all others and returns the ends of all ranks. If a rank is gone, the error includes a report of this rank's
/// cores.
pub(super) fn exchange(shared: &LaunchShared<'_>, member: &Member, own: RankEnd) -> Result<Vec<RankEnd>, LaunchError> {
    let tables = shared.kernel.tables();
    // Cores of others may wait for a rank that has failed until their own limit.
    let others = if matches!(own.outcome, Outcome::Left(_)) { Duration::ZERO } else { shared.options.time_limit };
    let limit: Duration = shared.options.patience(shared.launches()).saturating_add(others);
    // Launches that are pending can be waited for in another order on another rank.
    let which = format!("{}, launch {}", tables.name, shared.first);
    let message = Message::default().bytes(which.as_bytes()).bytes(&encode(&own)).finish();
    let all = match member.exchange("the end of a launch", &message, limit) {
        Ok(all) => all,
        Err(LaunchError::Peers(cause)) => {
            let report = Some(Box::new(one_rank(tables, shared, member.rank(), &own)));
            return Err(LaunchError::Lost { cause, npu: None, report });
        }
        Err(error) => return Err(error),
    };
    let unread = |rank| {
        let message = "it sent an end of a launch that this version does not know".to_owned();
        LaunchError::OtherRank { rank, message }
    };
    let mut readers: Vec<Reader<'_>> = all.iter().map(|message| Reader(message)).collect();
    let waited: Vec<String> = readers.iter_mut().map(|reader| reader.text().unwrap_or_default()).collect();
    same("the launch that they wait for", &waited)?;
    let end = |reader: &mut Reader<'_>| decode(tables, reader.bytes()?);
    let ends = readers.iter_mut().enumerate().map(|(rank, reader)| end(reader).ok_or_else(|| unread(rank)));
    let ends: Vec<RankEnd> = ends.collect::<Result<_, _>>()?;
    match deserter(member, &ends, limit) {
        None => Ok(ends),
        Some(cause) => {
            let report = Some(Box::new(one_rank(tables, shared, member.rank(), &own)));
            Err(LaunchError::Lost { cause, npu: None, report })
        }
    }
}

/// The error for a rank that left after it sent its end, while cores of other ranks still ran and were stopped because of it. Another
/// exchange finds that rank: it fails on all ranks, and names it.
fn deserter(member: &Member, ends: &[RankEnd], limit: Duration) -> Option<BootstrapError> {
    if !are_stopped(ends) {
        return None;
    }
    match member.exchange("the rank that is gone", &[], limit) {
        Err(LaunchError::Peers(cause)) => Some(cause),
        _ => None,
    }
}

/// Whether a host stopped its cores because another rank was gone, rather than a core gave up.
fn are_stopped(ends: &[RankEnd]) -> bool {
    let any = |state| ends.iter().flat_map(|end| &end.records).any(|record| record.state == state);
    // On NPUs, only the cores' records tell.
    ends.iter().any(|end| matches!(end.outcome, Outcome::Stopped)) || (any(HPMOE_STOPPED) && !any(HPMOE_GAVE_UP))
}

fn one_rank(tables: &KernelTables, shared: &LaunchShared<'_>, rank: Rank, own: &RankEnd) -> StuckReport {
    StuckReport::of_rank(tables, shared.options.time_limit, shared.sizes.ranks, rank.id(), &own.records)
}

fn encode(end: &RankEnd) -> Vec<u8> {
    let RankEnd { outcome, records, number, host, stamps } = end;
    let message = match outcome {
        Outcome::Left(statistics) => add(Message::default().number(0), statistics),
        Outcome::BrokenRule { message, core } => {
            Message::default().number(1).bytes(message.as_bytes()).number(*core as u64)
        }
        Outcome::Lacking { resource, cause } => {
            let index = RESOURCES.iter().position(|other| other == resource).expect("all resources are listed");
            Message::default().number(2).number(index as u64).bytes(cause.as_bytes())
        }
        Outcome::Stopped => Message::default().number(3),
    };
    let message = message.bytes(bytemuck::cast_slice(records)).number(u64::from(*number as u32));
    stamps.add_to(add(message, host)).finish()
}

/// Reads a text of another rank, and escapes characters that would act on a terminal.
fn safe(reader: &mut Reader<'_>) -> Option<String> {
    Some(printable_lines(&reader.text()?).into_owned())
}

fn decode(tables: &KernelTables, end: &[u8]) -> Option<RankEnd> {
    let mut reader = Reader(end);
    let outcome = match reader.number()? {
        0 => Outcome::Left(statistics(&mut reader)?),
        1 => Outcome::BrokenRule { message: safe(&mut reader)?, core: reader.size()? },
        2 => Outcome::Lacking { resource: *RESOURCES.get(reader.size()?)?, cause: safe(&mut reader)? },
        3 => Outcome::Stopped,
        _ => return None,
    };
    let records = reader.bytes().filter(|bytes| bytes.len() == record_bytes(tables))?;
    let records = records.chunks_exact(size_of::<HpmoeRecord>()).map(bytemuck::pod_read_unaligned).collect();
    let number = u32::try_from(reader.number()?).ok()? as i32;
    let host = statistics(&mut reader)?;
    Some(RankEnd { outcome, records, number, host, stamps: RankStamps::decode(&mut reader)? })
}

fn add(message: Message, statistics: &HostStatistics) -> Message {
    statistics.figures().into_iter().fold(message, Message::number)
}

fn statistics(reader: &mut Reader<'_>) -> Option<HostStatistics> {
    let mut figures = HostStatistics::default().figures();
    for figure in &mut figures {
        *figure = reader.number()?;
    }
    Some(HostStatistics::from_figures(figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::Bootstrap;
    use crate::testing::TABLES;
    use bytemuck::Zeroable as _;

    /// A connection of rank 0 in a group of three, after rank 2 has left.
    struct Deserted;

    impl Bootstrap for Deserted {
        fn rank(&self) -> usize {
            0
        }

        fn ranks(&self) -> usize {
            3
        }

        fn all_gather(&self, _: &[u8], _: Duration) -> Result<Vec<Vec<u8>>, BootstrapError> {
            Err(BootstrapError::Gone { rank: 2, how: "its connection closed" })
        }

        fn gone(&self) -> Option<BootstrapError> {
            None
        }
    }

    #[test]
    fn a_rank_that_ends_well_and_is_gone_is_named_to_those_that_were_stopped() {
        let end = |outcome| RankEnd {
            outcome,
            records: Vec::new(),
            number: 1,
            host: HostStatistics::default(),
            stamps: RankStamps::default(),
        };
        let left = || end(Outcome::Left(HostStatistics::default()));
        let member = Member::new(Box::new(Deserted));
        let limit = Duration::from_secs(1);
        let cause = deserter(&member, &[end(Outcome::Stopped), left(), left()], limit);
        assert!(matches!(cause, Some(BootstrapError::Gone { rank: 2, .. })), "{cause:?}");
        // All ranks have left, so no rank reads it.
        assert!(deserter(&member, &[left(), left(), left()], limit).is_none());
        // Kernels on NPUs leave by themselves: their cores tell that they were stopped, and why, if one of them gave up.
        let with = |state| RankEnd { records: vec![HpmoeRecord { state, ..HpmoeRecord::zeroed() }], ..left() };
        let cause = deserter(&member, &[with(HPMOE_STOPPED), left(), left()], limit);
        assert!(matches!(cause, Some(BootstrapError::Gone { rank: 2, .. })), "{cause:?}");
        assert!(deserter(&member, &[with(HPMOE_STOPPED), with(HPMOE_GAVE_UP), left()], limit).is_none());
    }

    #[test]
    fn an_end_is_read_as_it_was_written() {
        let record = HpmoeRecord { state: HPMOE_GAVE_UP, index: 7, ..HpmoeRecord::zeroed() };
        let records = vec![record; (TABLES.aic + TABLES.aiv) as usize];
        let host = HostStatistics { calls: 1, flag_waits: 7, ..HostStatistics::default() };
        let outcomes = [
            Outcome::Left(HostStatistics { dmas: 3, ..host }),
            Outcome::BrokenRule { message: "core 3 …".to_owned(), core: 3 },
            Outcome::Lacking { resource: Resource::Stack, cause: "no".to_owned() },
            Outcome::Stopped,
        ];
        for outcome in outcomes {
            let stamps = RankStamps::for_test();
            let end = RankEnd { outcome, records: records.clone(), number: 5, host, stamps };
            let bytes = encode(&end);
            let read = decode(&TABLES, &bytes).unwrap();
            assert_eq!((&read.outcome, read.number, read.host), (&end.outcome, 5, host));
            assert_eq!(read.stamps.to_bytes(), end.stamps.to_bytes());
            assert_eq!(bytemuck::cast_slice::<_, u8>(&read.records), bytemuck::cast_slice::<_, u8>(&records));
            assert!(decode(&TABLES, &bytes[..bytes.len() - 1]).is_none());
        }
    }

    /// Checks that a text of another rank is shown without control characters, and may have several lines.
    #[test]
    fn an_end_does_not_act_on_terminals() {
        let records = vec![HpmoeRecord::zeroed(); (TABLES.aic + TABLES.aiv) as usize];
        let text = || "core\u{1b}[2J\n3\r".to_owned();
        for outcome in [
            Outcome::BrokenRule { message: text(), core: 3 },
            Outcome::Lacking { resource: Resource::Stack, cause: text() },
        ] {
            let (host, stamps) = (HostStatistics::default(), RankStamps::default());
            let end = RankEnd { outcome, records: records.clone(), number: 5, host, stamps };
            match decode(&TABLES, &encode(&end)).unwrap().outcome {
                Outcome::BrokenRule { message: text, .. } | Outcome::Lacking { cause: text, .. } => {
                    assert_eq!(text, "core\\u{1b}[2J\n3\\r");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Checks that an end is refused if it has records of another number of cores than this build's.
    #[test]
    fn an_end_with_records_of_other_cores_is_none() {
        let cores = (TABLES.aic + TABLES.aiv) as usize;
        for count in [0, 1, cores - 1, cores + 1] {
            let records = vec![HpmoeRecord::zeroed(); count];
            let host = HostStatistics::default();
            let end = RankEnd { outcome: Outcome::Stopped, records, number: 5, host, stamps: RankStamps::default() };
            assert!(decode(&TABLES, &encode(&end)).is_none(), "{count} records of {cores} cores");
        }
    }
}

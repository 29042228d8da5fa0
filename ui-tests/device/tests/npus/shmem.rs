//! Ranks that are processes share memory through CANN's SHMEM library.

use super::processes::{run_processes, run_processes_with};
use super::{Layer, SAID, joined};
use hpmoe_runtime::prelude::*;
use std::path::Path;

pub(super) const CHOICE: (&str, &str) = ("HPMOE_SYMMETRIC_MEMORY", "shmem");
pub(super) const HEAP: &str = "HPMOE_SHMEM_HEAP_MIB";

/// Launches with room for different numbers of rows, each of which replaces the memory of the one before: together,
/// they would exceed the heap. A launch that exceeds the heap by itself is refused, and the group stays usable.
pub(super) fn room_process() {
    let mut group = joined();
    let ranks = group.ranks().count();
    let (expected, rank) = (Layer::new(ranks).reference(), group.ranks().only().unwrap());
    let mut layer = Layer::of(&group);
    for rows in 0..24 {
        group = group.capacity_rows(300 + 64 * rows);
        layer.y = layer.result();
        layer.launch(&group).unwrap();
        assert!(layer.y[rank] == expected[rank], "rank {rank} of {ranks}");
    }
    group = group.capacity_rows(40_000);
    let error = layer.launch(&group).unwrap_err().to_string();
    let said = "left of the 4 MiB (HPMOE_SHMEM_HEAP_MIB) for all kernels: raise it, or lower Group::capacity_rows";
    assert!(error.contains(said), "{error}");
    // The library has ended with its last group, and starts again with the next one.
    drop(group);
    let group = joined();
    layer.y = layer.result();
    layer.launch(&group).unwrap();
    assert!(layer.y[rank] == expected[rank], "rank {rank} of {ranks}");
}

/// The group can't share memory.
pub(super) fn refused_group_process() {
    let group = Group::from_launcher().unwrap().unwrap();
    let error = group.on_npus().map(|_| ()).unwrap_err().to_string();
    let said = std::env::var(SAID).unwrap();
    assert!(error.starts_with(&said), "{error}");
}

/// The calls in a log that all processes write.
pub(super) fn calls(log: &Path, call: &str) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    text.lines().filter(|line| line.split(' ').next() == Some(call)).map(str::to_owned).collect()
}

#[test]
fn processes_that_share_memory_by_shmem_give_the_bits_of_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    for ranks in [2, 4] {
        let log = folder.path().join(ranks.to_string());
        run_processes("process", ranks, &[CHOICE, ("HPMOE_STANDIN_LOG", log.to_str().unwrap())]);
        for call in ["aclshmemx_init_attr", "aclshmem_align", "aclshmem_finalize"] {
            let found = calls(&log, call);
            assert!(found.len() == ranks && found.iter().all(|line| line.contains(": 0")), "{call}: {found:?}");
        }
        assert_eq!(calls(&log, "aclshmem_ptr").len(), ranks * (ranks - 1));
        assert!(calls(&log, "aclrtMemExportToShareableHandleV2").is_empty());
    }
    // A2 has no fabric handles.
    run_processes("kept process", 2, &[CHOICE, ("HPMOE_STANDIN_SOC", "Ascend910B2")]);
    run_processes("room process", 2, &[CHOICE, (HEAP, "4")]);
}

#[test]
fn a_process_that_ends_is_told_where_memory_is_shared_by_shmem() {
    run_processes("late process", 4, &[CHOICE]);
    run_processes("write to a gone process", 2, &[CHOICE, ("HPMOE_STANDIN_DELAY", "1000")]);
}

#[test]
fn what_shmem_lacks_is_told_on_all_ranks() {
    let refused = |case: &str, variables: &[(&str, &str)], said: &str| {
        run_processes(case, 2, &[variables, &[(SAID, said)]].concat());
    };
    let group = "refused group process";
    let other = "HPMOE_SYMMETRIC_MEMORY is `hbm`, but should be `fabric` or `shmem`: set it so, or unset it";
    refused(group, &[("HPMOE_SYMMETRIC_MEMORY", "hbm")], other);
    let size =
        "HPMOE_SHMEM_HEAP_MIB is `1`, but should be a number of MiB from 2 to 40,000: set it so, or unset it for 1024";
    refused(group, &[CHOICE, (HEAP, "1")], size);
    // A toolkit without the library.
    let folder = tempfile::tempdir().unwrap();
    let lib = folder.path().join("lib64");
    std::fs::create_dir(&lib).unwrap();
    std::os::unix::fs::symlink(Path::new(env!("STANDIN")).join("lib64/libacl_rt.so"), lib.join("libacl_rt.so"))
        .unwrap();
    let home = ("ASCEND_HOME_PATH", folder.path().to_str().unwrap());
    refused(group, &[CHOICE, home], "there is no SHMEM library of CANN (tried `libshmem.so`, `");
    // A different library with that name.
    let acl = Path::new(env!("STANDIN")).join("lib64/libacl_rt.so");
    std::os::unix::fs::symlink(acl, lib.join("libshmem.so")).unwrap();
    refused(group, &[CHOICE, home], &format!("`{}/lib64/libshmem.so` lacks a call that groups need (", home.1));

    let launch = "refused process";
    let begin =
        "aclshmemx_init_attr failed with error -6 (processes that don't find each other): its own output says why";
    refused(launch, &[CHOICE, ("HPMOE_STANDIN_REFUSE", "shmem")], begin);
    let memory = "aclshmemx_init_attr failed with error -3 (an error of its memory): its own output says why";
    refused(launch, &[CHOICE, ("HPMOE_STANDIN_MEMORY", "1000000000")], memory);
    let sizes = " MiB: set HPMOE_SHMEM_HEAP_MIB to one value on all ranks";
    run_processes_with(launch, 2, &[CHOICE, (SAID, sizes)], |rank| vec![(HEAP, (8 + 8 * rank).to_string())]);
}

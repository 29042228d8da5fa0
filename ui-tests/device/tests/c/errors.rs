//! Errors that a caller gets, and tensors that are copied.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use hpmoe_c::header::{
    HPMOE_BF16, HPMOE_CPU, HPMOE_F32, HPMOE_FAILED, HPMOE_I32, HPMOE_I64, HPMOE_INVALID, HPMOE_NPU, HPMOE_OK,
    HpmoeMemory, HpmoeOptions, HpmoeTensor,
};
use hpmoe_device_tests::hpmoe_library::{
    hpmoe_describe, hpmoe_enqueue, hpmoe_fix, hpmoe_fixed_free, hpmoe_group_free, hpmoe_group_join, hpmoe_group_new,
    hpmoe_launch, hpmoe_memory, hpmoe_memory_table, hpmoe_reference, hpmoe_refuse, hpmoe_replay, hpmoe_replayed,
    hpmoe_wait,
};

use super::support::{Echo, Group, HIDDEN, Memory, NO_OPTIONS, error, report};

/// The error of a launch that a test has changed.
fn refused(change: impl FnOnce(&mut Echo)) -> String {
    let (group, mut echo) = (Group::new(1), Echo::new(5));
    change(&mut echo);
    assert_eq!(echo.launch(group.0), HPMOE_INVALID, "{}", error());
    let said = error();
    assert!(report().is_none(), "a launch that was refused has no report");
    // The group is still usable.
    let echo = Echo::new(5);
    assert_eq!(echo.launch(group.0), HPMOE_OK, "{}", error());
    assert_eq!((echo.y.floats(), error()), (echo.expected(), String::new()));
    said
}

#[test]
fn names_of_taskflows() {
    let said = refused(|echo| echo.taskflow = c"echo::backward".to_owned());
    assert!(
        said.starts_with("this library has no taskflow `echo::backward`: it has ") && said.contains("echo::forward"),
        "{said}"
    );
    let mut memory = HpmoeMemory::default();
    // SAFETY: no name, and a structure of this function.
    assert_eq!(unsafe { hpmoe_memory(null(), 1, 0, &raw mut memory) }, HPMOE_INVALID);
    assert_eq!(error(), "the name of the taskflow is null: pass a name that hpmoe_describe() lists");
}

#[test]
fn memory_of_a_taskflow() {
    let mut memory = HpmoeMemory::default();
    let name = c"echo::forward";
    let mut ask = |ranks, capacity| {
        // SAFETY: a name, and a structure of this function.
        let status = unsafe { hpmoe_memory(name.as_ptr(), ranks, capacity, &raw mut memory) };
        (status, memory.received_rows, memory.once_rows)
    };
    assert_eq!((ask(1, 0), ask(2, 0), ask(2, 100)), ((HPMOE_OK, 128, 64), (HPMOE_OK, 256, 128), (HPMOE_OK, 100, 100)));
    assert_eq!(ask(3, 0).0, HPMOE_INVALID);
    assert_eq!(
        error(),
        "echo::forward has no schedule for 3 ranks: use one of 1, 2, 4, or name 3 in the build script, by `.ranks(3)`"
    );
    assert_eq!(ask(0, 0).0, HPMOE_INVALID);
    // SAFETY: a name, and no structure.
    assert_eq!(unsafe { hpmoe_memory(name.as_ptr(), 1, 0, null_mut()) }, HPMOE_INVALID);
    assert_eq!(error(), "`memory` is null: pass the address of an HpmoeMemory for the result");
}

#[test]
fn memory_of_a_taskflow_by_tensor() {
    let (mut table, mut memory) = (null(), HpmoeMemory::default());
    let mut ask = |ranks, capacity, tokens| {
        // SAFETY: a name, and a variable of this function.
        let status = unsafe { hpmoe_memory_table(c"echo::forward".as_ptr(), ranks, capacity, tokens, &raw mut table) };
        assert_eq!(status, HPMOE_OK, "{}", error());
        // SAFETY: a string that lives until the next call.
        let text = unsafe { CStr::from_ptr(table) }.to_str().unwrap();
        serde_json::from_str::<serde_json::Value>(text).unwrap()
    };
    let found = ask(2, 0, 60);
    // SAFETY: a name, and a structure of this function.
    assert_eq!(unsafe { hpmoe_memory(c"echo::forward".as_ptr(), 2, 0, &raw mut memory) }, HPMOE_OK);
    assert_eq!(
        (&found["heap_bytes"], &found["workspace_bytes"]),
        (&memory.heap_bytes.into(), &memory.workspace_bytes.into())
    );
    let bytes = |table: &serde_json::Value, place: &str| -> u64 {
        let lines = table["lines"].as_array().unwrap().iter().filter(|line| line["place"] == place);
        lines.map(|line| line["bytes"].as_u64().unwrap()).sum()
    };
    assert_eq!(
        (bytes(&found, "symmetric heap"), bytes(&found, "workspace")),
        (memory.heap_bytes, memory.workspace_bytes)
    );
    assert!(
        found["lines"].as_array().unwrap().iter().any(|line| line["formula"] == "T" && line["rows"] == 60),
        "{found}"
    );
    assert_eq!(ask(2, 100, 0)["capacity_rows"], 100);
    // SAFETY: a name, and a variable of this function, or none.
    let refused = |table| unsafe { hpmoe_memory_table(c"echo::forward".as_ptr(), 2, 0, 65, table) };
    assert_eq!(refused(&raw mut table), HPMOE_INVALID);
    assert_eq!(
        error(),
        "rank 0 has 65 tokens, but echo::forward was built with TOKENS = 64: raise TOKENS or pass fewer tokens"
    );
    assert_eq!(refused(null_mut()), HPMOE_INVALID);
    assert_eq!(error(), "`table` is null: pass the address of a pointer for the result");
}

#[test]
fn groups() {
    let options = HpmoeOptions::default();
    assert_eq!(Group::refused(0, options), "a group can't have 0 ranks: it has 1 to 256");
    assert_eq!(Group::refused(257, options), "a group can't have 257 ranks: it has 1 to 256");
    let said = Group::refused(1, HpmoeOptions { device: 2, ..options });
    assert_eq!(said, "there is no device 2: use HPMOE_CPU (0) or HPMOE_NPU (1)");
    // SAFETY: no options, and no variable.
    assert_eq!(unsafe { hpmoe_group_new(1, NO_OPTIONS, null_mut()) }, HPMOE_INVALID);
    assert_eq!(error(), "`group` is null: pass the address of an HpmoeGroup for the result");
    let mut group = 0;
    // SAFETY: no options, and a variable of this function.
    assert_eq!(unsafe { hpmoe_group_new(1, NO_OPTIONS, &raw mut group) }, HPMOE_OK);
    assert_eq!((hpmoe_group_free(group), hpmoe_group_free(group)), (HPMOE_OK, HPMOE_INVALID));
    let freed = format!("there is no group {group}: it has been freed; make one with hpmoe_group_new");
    assert_eq!(error(), freed);
    let echo = Echo::new(1);
    assert_eq!((echo.launch(group), error()), (HPMOE_INVALID, freed));
    let refused = |group| (echo.launch(group), error()).1;
    assert_eq!(refused(0), "there is no group 0: group numbers are never 0; make one with hpmoe_group_new");
    assert_eq!(refused(7), "there is no group 7: this library has never made it; make one with hpmoe_group_new");
}

#[test]
fn processes_that_can_not_join() {
    let mut group = 0;
    // SAFETY: strings, and a variable of this function.
    let mut join = |rank, ranks, address: *const _| unsafe {
        (hpmoe_group_join(rank, ranks, address, null(), NO_OPTIONS, &raw mut group), error())
    };
    let said = "a group of 2 ranks has no rank 2: number the processes from 0 to 1";
    assert_eq!(join(2, 2, c"127.0.0.1:1".as_ptr()), (HPMOE_INVALID, said.to_owned()));
    let said = "`address` is null: pass the address that rank 0 listens on, such as 127.0.0.1:28471";
    assert_eq!(join(0, 2, null()), (HPMOE_INVALID, said.to_owned()));
    let (status, said) = join(0, 2, c"nowhere".as_ptr());
    assert!(status == HPMOE_INVALID && said.starts_with("rank 0 can't listen on nowhere ("), "{said}");
    assert_eq!(join(0, 0, c"127.0.0.1:1".as_ptr()).1, "a group can't have 0 ranks: it has 1 to 256");
}

#[test]
fn a_refusal_has_the_words_of_the_caller() {
    let group = Group::new(1);
    // SAFETY: a string.
    assert_eq!(unsafe { hpmoe_refuse(group.0, c"there is no time".as_ptr()) }, HPMOE_INVALID);
    assert_eq!(error(), "there is no time");
    assert_eq!(Echo::new(3).launch(group.0), HPMOE_OK, "{}", error());
}

#[test]
fn what_a_launch_consists_of() {
    let said = refused(|echo| echo.streams = Some(vec![64]));
    assert_eq!(
        said,
        "streams of NPUs were passed, but the group runs on the host: pass none, or use HpmoeOptions.device"
    );
    let said = refused(|echo| echo.ranks = 2);
    assert_eq!(said, "the group runs 1 ranks, but the call has 2: pass parts for 1");
    let said = refused(|echo| echo.arguments = 4);
    assert_eq!(said, "the taskflow takes 3 arguments, but the call has 4: pass parts for 3");
    let (group, echo) = (Group::new(1), Echo::new(1));
    // SAFETY: arrays that are not there are refused.
    let launch = |ids, parts| unsafe { hpmoe_launch(group.0, echo.taskflow.as_ptr(), ids, 1, parts, 3, null_mut()) };
    assert_eq!(launch(null(), echo.parts.as_ptr()), HPMOE_INVALID);
    assert_eq!(error(), "`ids` is null: pass an array of 1 parts");
    assert_eq!(launch(&raw const echo.ids_part, null()), HPMOE_INVALID);
    assert_eq!(error(), "`tensors` is null: pass an array of 3 parts");
}

#[test]
fn ids() {
    assert_eq!(refused(|echo| echo.ids_part.element = HPMOE_F32), "the ids of rank 0 are f32: pass i32 or i64");
    assert_eq!(
        refused(|echo| echo.ids_part.element = 77),
        "the ids of rank 0 are an unknown element type (77): pass i32 or i64"
    );
    let said = refused(|echo| echo.ids_part.columns = 3);
    assert_eq!(
        said,
        "the ids of rank 0 have 3 columns, but echo::forward was built with TOP_K = 2: pass 2 ids for each token"
    );
    let said = refused(|echo| echo.ids_part.rows = 65);
    assert_eq!(
        said,
        "rank 0 has 65 tokens, but echo::forward was built with TOKENS = 64: raise TOKENS or pass fewer tokens"
    );
    let said = refused(|echo| echo.ids_part.data = null_mut());
    assert_eq!(said, "the ids of rank 0 are null, but have 5 rows: pass their address");
    let said = refused(|echo| {
        // SAFETY: the first of the ids.
        unsafe { echo.ids.address().cast::<i32>().write(4) };
    });
    assert_eq!(
        said,
        "topk_ids of rank 0, row 0, column 0 is 4, but experts are numbered from 0 to 3, and -1 names none: check the router"
    );
    let said = refused(|echo| {
        // SAFETY: the first of the ids.
        unsafe { echo.ids.address().cast::<i32>().write(1) };
    });
    assert_eq!(
        said,
        "topk_ids of rank 0, row 0 has expert 1 in column 0 and again in column 1: a token may name an expert only once"
    );
    // Two 32-bit ids form one 64-bit id: 1 + 2^32 for the first token.
    let said = refused(|echo| {
        echo.ids_part.element = HPMOE_I64;
        echo.ids_part.rows = 2;
        // SAFETY: the first of the ids.
        unsafe { echo.ids.address().cast::<i32>().write(1) };
    });
    let text = "topk_ids of rank 0, row 0, column 0 is 4294967297, but experts are numbered from 0 to 3, and -1 names none: check the router";
    assert_eq!(said, text);
}

#[test]
fn tensors() {
    let said = refused(|echo| echo.parts[0].element = HPMOE_F32);
    assert_eq!(
        said,
        "`x` of rank 0 has 48 columns of f32, but echo::forward takes 48 columns of bf16: pass such a tensor"
    );
    let said = refused(|echo| echo.parts[1].columns = 3);
    assert_eq!(
        said,
        "`weights` of rank 0 has 3 columns of f32, but echo::forward takes 2 columns of f32: pass such a tensor"
    );
    let said = refused(|echo| echo.parts[2].rows = 4);
    let text =
        "`y` of rank 0 has 4 rows, but the route needs 5: give it the rows of the tokens that the route was made from";
    assert_eq!(said, text);
    let said = refused(|echo| echo.parts[1].data = null_mut());
    assert_eq!(said, "`weights` of rank 0 is null, but has 5 rows: pass its address");
    let said = refused(|echo| echo.parts[0].device = HPMOE_NPU);
    let text = "`x` lies in the memory of NPUs, but the group runs on the host: use HpmoeOptions.device, or pass a tensor of this machine's memory";
    assert_eq!(said, text);
    let said = refused(|echo| echo.parts[0].device = 9);
    assert_eq!(said, "`x` of rank 0 can't be on device 9, which does not exist: use HPMOE_CPU (0) or HPMOE_NPU (1)");
    let said = refused(|echo| echo.ids_part.device = HPMOE_NPU);
    let text = "the ids of rank 0 lie in the memory of an NPU, but the host makes the route from them: pass a copy in this machine's memory";
    assert_eq!(said, text);
    let said = refused(|echo| echo.parts[0].rows = u64::MAX / 2);
    assert!(said.starts_with("`x` of rank 0 can't have "), "{said}");
    let said = refused(|echo| echo.parts[0].data = null_mut::<u8>().wrapping_sub(64).cast());
    assert!(said.starts_with("`x` of rank 0 has 480 bytes at address 0xff"), "{said}");
}

#[test]
fn a_fixed_launch_can_be_replayed() {
    let (group, mut echo) = (Group::new(1), Echo::new(5));
    let mut number = 0;
    let fix = |echo: &Echo, number: *mut u64| {
        let (flow, ids, parts) = (echo.taskflow.as_ptr(), &raw const echo.ids_part, echo.parts.as_ptr());
        // SAFETY: the parts are memory of `echo`, which lives until the last launch.
        (unsafe { hpmoe_fix(group.0, flow, ids, 1, parts, 3, number) }, error())
    };
    let replay = |echo: &Echo, number| {
        // SAFETY: as above.
        (unsafe { hpmoe_replay(number, 1, echo.parts.as_ptr(), 3, null()) }, error())
    };
    assert_eq!(fix(&echo, null_mut()).1, "`fixed` is null: pass the address of an HpmoeFixed for the result");
    assert_eq!(fix(&echo, &raw mut number), (HPMOE_OK, String::new()));
    assert_eq!((replay(&echo, number), hpmoe_wait(number)), ((HPMOE_OK, String::new()), HPMOE_OK));
    assert_eq!((echo.y.floats(), report().unwrap()["ranks"].as_u64()), (echo.expected(), Some(1)));
    // Tensors that have moved, other tensors, and another kind of launch.
    echo.parts[0].data = echo.parts[0].data.wrapping_byte_add(4);
    for said in [fix(&echo, &raw mut number), replay(&echo, number)] {
        assert!(
            said.0 == HPMOE_INVALID && said.1.starts_with("`x` of rank 0 can't be used in place (it starts at 0x"),
            "{said:?}"
        );
        assert!(
            said.1.ends_with(
                "but a fixed launch copies nothing: give it memory of its own that starts at a multiple of 64"
            ),
            "{said:?}"
        );
    }
    let said = replay(&Echo::new(5), number);
    assert!(
        said.0 == HPMOE_INVALID
            && said.1.starts_with("`x` has a different address or number of rows than when the launch was fixed"),
        "{said:?}"
    );
    assert_eq!((hpmoe_replayed(number, 1), error().contains("the group runs on the host")), (HPMOE_INVALID, true));
    assert_eq!((hpmoe_fixed_free(number), hpmoe_fixed_free(number)), (HPMOE_OK, HPMOE_INVALID));
    assert!(error().starts_with(&format!("there is no fixed launch {number}: it has been freed")), "{}", error());
    assert_eq!(hpmoe_wait(number), HPMOE_INVALID);
}

#[test]
fn a_launch_can_be_waited_for_later() {
    let (group, echo) = (Group::new(1), Echo::new(5));
    let enqueue = |pending| {
        let (flow, ids, parts) = (echo.taskflow.as_ptr(), &raw const echo.ids_part, echo.parts.as_ptr());
        // SAFETY: the parts are memory of `echo`, which lives until the launch has been waited for.
        (unsafe { hpmoe_enqueue(group.0, flow, ids, 1, parts, 3, null(), pending) }, error())
    };
    assert_eq!(enqueue(null_mut()).1, "`pending` is null: pass the address of an HpmoePending for the result");
    let mut numbers = [0; 2];
    assert_eq!(enqueue(&raw mut numbers[0]), (HPMOE_OK, String::new()));
    assert!(report().is_none(), "the report comes with the end");
    assert_eq!((hpmoe_wait(numbers[0]), error()), (HPMOE_OK, String::new()));
    assert_eq!((echo.y.floats(), report().unwrap()["ranks"].as_u64()), (echo.expected(), Some(1)));
    let said = |number| (hpmoe_wait(number), error()).1;
    let over = format!(
        "there is no pending launch {}: it has been waited for, or its group has been freed; pass a handle from hpmoe_enqueue",
        numbers[0]
    );
    assert_eq!(said(numbers[0]), over);
    assert!(said(0).starts_with("there is no pending launch 0: 0 is none;"), "{}", said(0));
    assert!(said(1 << 40).contains("this library has never made it"), "{}", said(1 << 40));
    // A launch that is pending when its group is freed.
    assert_eq!(enqueue(&raw mut numbers[1]), (HPMOE_OK, String::new()));
    drop(group);
    assert!(said(numbers[1]).contains("its group has been freed"), "{}", said(numbers[1]));
}

#[test]
fn a_reference_is_that_of_a_module_of_the_crate() {
    let (group, echo) = (Group::new(1), Echo::new(5));
    let reference = |flow: &CStr| {
        // SAFETY: the parts are memory of `echo`.
        unsafe { hpmoe_reference(group.0, flow.as_ptr(), &raw const echo.ids_part, 1, echo.parts.as_ptr(), 3) }
    };
    assert_eq!((reference(c"echo::forward"), error()), (HPMOE_OK, String::new()));
    assert_eq!(echo.y.floats(), echo.expected());
    assert_eq!(reference(c"once::forward"), HPMOE_INVALID);
    assert_eq!(error(), "the taskflow takes 6 arguments, but the call has 3: pass parts for 6");
    // The library has the kernel, but its crate has no module for it.
    let mut memory = [Memory::new(&[0; 4096], 0), Memory::new(&[0; 64], 0)];
    let [ids, x] = memory.each_mut();
    let part = |memory: &mut Memory, rows, columns, element| memory.tensor(rows, columns, element);
    let ids = HpmoeTensor { rows: 0, ..part(ids, 0, 4, HPMOE_I32) };
    let none = |columns, element| HpmoeTensor { rows: 0, columns, element, data: null_mut(), device: HPMOE_CPU };
    let kept = part(x, 0, 40, HPMOE_BF16);
    let parts = [
        none(40, HPMOE_BF16),
        none(16, HPMOE_BF16),
        none(4, HPMOE_F32),
        kept,
        none(40, HPMOE_F32),
        none(16, HPMOE_F32),
    ];
    // SAFETY: memory of this function.
    let status = unsafe { hpmoe_reference(group.0, c"once::forward".as_ptr(), &raw const ids, 1, parts.as_ptr(), 6) };
    let said = "the reference of once::forward can't be called: its module is not part of the library's crate; write `mod` with the name of its \
                file in lib.rs";
    assert_eq!((status, error()), (HPMOE_INVALID, said.to_owned()));
}

#[test]
fn what_is_written_has_memory_of_its_own() {
    let said = refused(|echo| echo.parts[0].data = echo.parts[2].data);
    assert_eq!(said, "`y` of rank 0 is written and shares memory with `x` of rank 0: give it memory of its own");
    let said = refused(|echo| echo.parts[1].data = echo.parts[2].data.wrapping_byte_add(64));
    assert_eq!(said, "`y` of rank 0 is written and shares memory with `weights` of rank 0: give it memory of its own");
}

#[test]
fn room_for_received_rows() {
    let (group, echo) = (Group::with(1, HpmoeOptions { capacity_rows: 3, ..HpmoeOptions::default() }), Echo::new(2));
    assert_eq!(echo.launch(group.0), HPMOE_INVALID);
    let text = "rank 0 would receive 4 rows, but there is room for 3: raise it with HpmoeOptions.capacity_rows = 4, which takes ";
    assert!(
        error().starts_with(text) && error().ends_with(" more bytes on each rank, or send fewer tokens"),
        "{}",
        error()
    );
}

#[test]
fn no_tokens_need_no_memory() {
    let (group, mut echo) = (Group::new(1), Echo::new(0));
    echo.ids_part.data = null_mut();
    echo.parts.iter_mut().for_each(|part| part.data = null_mut());
    assert_eq!(echo.launch(group.0), HPMOE_OK, "{}", error());
}

#[test]
fn memory_is_used_where_it_lies_unless_it_is_not_on_a_line() {
    let group = Group::new(1);
    let echo = Echo::new(9);
    assert_eq!((echo.launch(group.0), error()), (HPMOE_OK, String::new()));
    assert_eq!(echo.y.floats(), echo.expected());
    assert_eq!(report().unwrap()["copied"], serde_json::json!([]));
    let echo = Echo::shifted(9, [2, 32, 3]);
    assert_eq!((echo.launch(group.0), error()), (HPMOE_OK, String::new()));
    assert_eq!(echo.y.floats(), echo.expected());
    let report = report().unwrap();
    let copied: Vec<_> = report["copied"]
        .as_array()
        .unwrap()
        .iter()
        .map(|copy| (copy["tensor"].as_str().unwrap(), copy["bytes"].as_u64().unwrap()))
        .collect();
    let bytes = (9 * HIDDEN) as u64;
    assert_eq!(copied, [("x", 2 * bytes), ("weights", 9 * 2 * 4), ("y", 4 * bytes)]);
    assert!(
        report["text"].as_str().unwrap().contains("`y` of rank 0 was copied (1728 bytes): it starts at 0x"),
        "{report}"
    );
    // The library wrote its output, and nothing around it.
    assert!(echo.y.around().all(|byte| *byte == 0xee));
}

#[test]
fn a_library_describes_itself() {
    // SAFETY: the library's text.
    let text = unsafe { CStr::from_ptr(hpmoe_describe()) }.to_str().unwrap();
    let description: serde_json::Value = serde_json::from_str(text).unwrap();
    let kernels = description["kernels"].as_array().unwrap();
    let names: Vec<_> = kernels.iter().map(|kernel| kernel["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["echo", "evolving", "ffn", "kept", "kept_chunks", "moe_ffn", "once", "routed", "stamped"]);
    let layer = &kernels[5];
    assert_eq!(layer["constants"]["HIDDEN"], 128);
    assert!(layer["file"].as_str().unwrap().ends_with("moe_ffn.rs"), "{}", layer["file"]);
    let flow = &layer["taskflows"][0];
    assert_eq!((&flow["name"], &flow["ranks"]), (&"moe_ffn::forward".into(), &serde_json::json!([1, 2, 4, 8, 16])));
    let gate = serde_json::json!({
        "name": "gate", "element": "bf16", "columns": 128, "rows": "expert", "height": 64, "writable": false, "peers_write": false
    });
    assert_eq!(flow["arguments"][2], gate);
}

#[test]
fn a_launch_that_gets_stuck_breaks_its_group() {
    let (group, echo) =
        (Group::with(1, HpmoeOptions { time_limit_ms: 1, threads: 1, ..HpmoeOptions::default() }), Echo::new(64));
    let status = echo.launch(group.0);
    // A fast machine may finish in time.
    if status == HPMOE_OK {
        return;
    }
    assert_eq!(status, HPMOE_FAILED, "{}", error());
    assert_eq!(echo.launch(group.0), HPMOE_FAILED);
    assert!(error().contains("make a new Group"), "{}", error());
}

#[test]
fn rows_that_are_kept_may_have_room_for_more() {
    const TOKENS: usize = 7;
    let group = Group::new(2);
    let ids: Vec<u8> = (0..TOKENS * 4).flat_map(|slot| ((slot * 5 % 24) as i32).to_le_bytes()).collect();
    let mut ids = [Memory::new(&ids, 0), Memory::new(&[], 0)];
    let tokens = |columns: usize| Memory::new(&vec![0x3f; TOKENS * columns], 0);
    let (mut x, mut z, mut weights) = (tokens(2 * 40), tokens(2 * 16), tokens(4 * 4));
    let (mut y, mut v) = (tokens(4 * 40), tokens(4 * 16));
    let mut launch = |kept: [u64; 2]| {
        let mut memory = kept.map(|rows| Memory::new(&vec![0xee; rows as usize * 2 * 40], 0));
        let on_both = |memory: &mut Memory, columns, element| {
            let part = memory.tensor(TOKENS as u64, columns, element);
            [part, HpmoeTensor { data: null_mut(), rows: 0, ..part }]
        };
        let ids = [ids[0].tensor(TOKENS as u64, 4, HPMOE_I32), ids[1].tensor(0, 4, HPMOE_I32)];
        let mut parts = [
            on_both(&mut x, 40, HPMOE_BF16),
            on_both(&mut z, 16, HPMOE_BF16),
            on_both(&mut weights, 4, HPMOE_F32),
            [HpmoeTensor { data: null_mut(), rows: 0, columns: 0, element: 0, device: HPMOE_CPU }; 2],
            on_both(&mut y, 40, HPMOE_F32),
            on_both(&mut v, 16, HPMOE_F32),
        ];
        parts[3] = [0, 1].map(|rank| memory[rank].tensor(kept[rank], 40, HPMOE_BF16));
        let parts = parts.as_flattened();
        // SAFETY: memory of this function, of the stated sizes.
        let status =
            unsafe { hpmoe_launch(group.0, c"once::forward".as_ptr(), ids.as_ptr(), 2, parts.as_ptr(), 6, null_mut()) };
        (status, memory)
    };
    // Each token has an expert on each rank, so each rank receives 7 rows.
    let (status, memory) = launch([24, 7]);
    assert_eq!((status, error()), (HPMOE_OK, String::new()));
    let row = [0x3f; 2 * 40];
    for (rank, rows) in [24, 7].into_iter().enumerate() {
        let of_rank: Vec<&[u8]> = memory[rank].content().chunks_exact(2 * 40).collect();
        assert_eq!(of_rank.len(), rows);
        assert!(
            of_rank[..TOKENS].iter().all(|kept| *kept == row)
                && of_rank[TOKENS..].iter().all(|kept| *kept == [0xee; 80])
        );
    }
    assert_eq!(launch([24, 6]).0, HPMOE_INVALID);
    let text =
        "`kept` of rank 1 has room for 6 rows, but the route needs 7: make room for the rows that hpmoe_memory returns";
    assert_eq!(error(), text);
}

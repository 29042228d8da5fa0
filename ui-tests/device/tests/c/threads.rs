//! Calls from several threads.

use std::thread;

use hpmoe_c::header::{HPMOE_INVALID, HPMOE_OK};
use hpmoe_device_tests::hpmoe_library::hpmoe_group_free;

use super::support::{Echo, Group, error, report};

#[test]
fn threads_share_a_group_and_each_has_its_own_error_and_report() {
    let group = Group::new(2);
    let launch = |tokens: usize, valid: bool| {
        for _ in 0..3 {
            let mut echo = Echo::new(tokens);
            // Two ranks; the second one has no tokens.
            let empty = |part| hpmoe_c::header::HpmoeTensor { data: std::ptr::null_mut(), rows: 0, ..part };
            let ids = [echo.ids_part, empty(echo.ids_part)];
            echo.parts = echo.parts.iter().flat_map(|part| [*part, empty(*part)]).collect();
            echo.ranks = if valid { 2 } else { 1 };
            let status = echo.launch_ids(group.0, &ids);
            if valid {
                assert_eq!(status, HPMOE_OK, "{}", error());
                assert_eq!(echo.y.floats(), echo.expected());
                assert_eq!(report().unwrap()["received_rows"], serde_json::json!([tokens, tokens]));
            } else {
                assert_eq!((status, report()), (HPMOE_INVALID, None));
                assert_eq!(error(), "the group runs 2 ranks, but the call has 1: pass parts for 2");
            }
        }
    };
    thread::scope(|scope| {
        let threads = [(4, true), (8, true), (12, true), (4, false)];
        let threads = threads.map(|(tokens, valid)| scope.spawn(move || launch(tokens, valid)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_group_that_is_freed_while_it_runs_ends_well() {
    let own = Group::new(1);
    let group = own.0;
    let launches = thread::spawn(move || {
        let mut done = 0;
        loop {
            let echo = Echo::new(8);
            match echo.launch(group) {
                HPMOE_OK => assert_eq!(echo.y.floats(), echo.expected()),
                status => return (done, status, error()),
            }
            done += 1;
        }
    });
    thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(hpmoe_group_free(group), HPMOE_OK);
    // It would be freed a second time.
    std::mem::forget(own);
    let (done, status, said) = launches.join().unwrap();
    assert!(done > 0, "{said}");
    assert_eq!((status, said.contains("it has been freed")), (HPMOE_INVALID, true), "{said}");
}

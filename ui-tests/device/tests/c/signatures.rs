//! The library's functions have the signatures that the header declares.

use hpmoe_c::header;
use hpmoe_device_tests::hpmoe_library as library;

/// Compiles only if both functions have the same signature.
macro_rules! same {
    ($($name:ident($($_:tt),*)),* $(,)?) => {$(
        let _: [unsafe extern "C" fn($(same!(@type $_)),*) -> _; 2] = [header::$name, library::$name];
    )*};
    (@type $_:tt) => { _ };
}

#[test]
fn functions_are_those_of_the_header() {
    same!(
        hpmoe_c_abi(),
        hpmoe_describe(),
        hpmoe_memory(1, 2, 3, 4),
        hpmoe_memory_table(1, 2, 3, 4, 5),
        hpmoe_group_new(1, 2, 3),
        hpmoe_group_join(1, 2, 3, 4, 5, 6),
        hpmoe_listen(1, 2, 3, 4),
        hpmoe_group_host(1, 2, 3, 4, 5),
        hpmoe_listener_free(1),
        hpmoe_group_free(1),
        hpmoe_group_placed(1, 2, 3),
        hpmoe_place(1, 2, 3, 4, 5, 6, 7),
        hpmoe_launch(1, 2, 3, 4, 5, 6, 7),
        hpmoe_enqueue(1, 2, 3, 4, 5, 6, 7, 8),
        hpmoe_fix(1, 2, 3, 4, 5, 6, 7),
        hpmoe_replay(1, 2, 3, 4, 5),
        hpmoe_capture(1, 2, 3, 4, 5),
        hpmoe_replayed(1, 2),
        hpmoe_fixed_place(1, 2),
        hpmoe_fixed_free(1),
        hpmoe_wait(1),
        hpmoe_reference(1, 2, 3, 4, 5, 6),
        hpmoe_refuse(1, 2),
        hpmoe_last_error(),
        hpmoe_last_report(),
    );
    let bindings = include_str!("../../../../hpmoe-runtime/c/src/header/bindings.rs");
    assert_eq!(bindings.matches("pub fn hpmoe_").count(), 25, "add the new function of the header to this test");
    assert_eq!(library::hpmoe_c_abi(), header::HPMOE_C_ABI);
}

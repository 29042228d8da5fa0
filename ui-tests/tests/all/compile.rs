//! The errors that users see if a kernel has a fault. Renew the texts with
//! `TRYBUILD=overwrite cargo test -p hpmoe-ui-tests --test all compile`.

#[test]
fn faults_are_named_at_their_place() {
    trybuild::TestCases::new().compile_fail("cases/fail/*.rs");
}

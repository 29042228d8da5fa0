//! Tests that errors are printed as programs show them.

use super::*;

#[test]
fn a_program_that_returns_the_error_prints_its_text() {
    let source_line = Some("`norm` at src/moe.rs:7".to_owned());
    let error =
        LaunchError::Rule { message: "rank 0, AIV 3: Cast at ops/norm.h:9: race in UB".to_owned(), source_line };
    let returned: Box<dyn std::error::Error> = error.into();
    assert_eq!(
        format!("{returned:?}"),
        "rank 0, AIV 3: Cast at ops/norm.h:9: race in UB\n  while the core was in `norm` at src/moe.rs:7"
    );
}

//! `hpmoe calibrate`. It runs a hundred simulations, so a debug build tests only what it refuses.

use crate::refuses;
#[cfg(not(debug_assertions))]
use crate::{json, prints};

#[test]
#[cfg(not(debug_assertions))]
fn twelve_latencies_are_published_and_simulated() {
    let rows = json(&["calibrate", "--json"]);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 12);
    let mut others = Vec::new();
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        let error = (number("simulated_ms") / number("published_ms") - 1.0).abs();
        assert!(error <= 0.06, "{row}");
        assert_eq!(row["fitted_on"], number("ep") == 8.0);
        if row["fitted_on"] == false {
            others.push(error);
        }
    }
    assert_eq!(others.len(), 8);
    assert!(others.iter().sum::<f64>() / 8.0 <= 0.025, "{others:?}");
    let text = prints(&["calibrate"]);
    assert!(text.contains("simulated ms") && text.contains("original.empty_task_us = 1.5"), "{text}");
}

#[test]
fn bad_constants_are_refused() {
    assert!(refuses(&["calibrate", "--constant", "sync.fence=1"]).contains("no target has a constant"));
}

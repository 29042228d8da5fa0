//! `hpmoe calibrate`: fits three constants to latencies on 8 ranks, and compares all published latencies with simulated
//! ones.

use crate::options::CalibrateArgs;
use crate::output;
use crate::progress::{Progress, Reader};
use hpmoe_core::target::{Provenance, Target};
use hpmoe_simulator::calibrate::{Calibration, Comparison, Published, calibrate as fitted};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn calibrate(options: &CalibrateArgs) -> Result<ExitCode, String> {
    let target = options.target.read()?;
    let progress = Progress::counting("simulations of published latencies", Reader::new(options.json));
    let outcome = fitted(&target, &|published: &Published, target: &Target| {
        let ms = published.simulated_ms(target);
        progress.ended();
        ms
    });
    drop(progress);
    if options.json {
        output::line(Value::from_iter(outcome.rows.iter().map(object)))?;
    } else {
        output::text(&text(&target, &outcome))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn object(row: &Comparison) -> Value {
    let published = &row.published;
    json!({
        "ep": published.ranks,
        "direction": published.direction.name(),
        "policy": published.policy.name(),
        "published_ms": published.ms,
        "simulated_ms": row.simulated_ms,
        "fitted_on": published.fitted_on(),
    })
}

fn text(target: &Target, outcome: &Calibration) -> String {
    let fitted = &outcome.fitted;
    let mut text = format!(
        "fitted on EP8 alone, for {}\n  gemm_fused_efficiency = {}\n  gemm_operator_efficiency = {}\n  \
         collective_efficiency = {}\n\n{:<4} {:<9} {:<14} {:>13} {:>13} {:>8}\n",
        target.name,
        fitted.gemm_fused_efficiency,
        fitted.gemm_operator_efficiency,
        fitted.collective_efficiency,
        "EP",
        "direction",
        "policy",
        "published ms",
        "simulated ms",
        "error"
    );
    for row in &outcome.rows {
        let Comparison { published, simulated_ms } = row;
        text.push_str(&format!(
            "{:<4} {:<9} {:<14} {:>13.1} {:>13.2} {:>+6.1} %{}\n",
            published.ranks,
            published.direction.name(),
            published.policy.name(),
            published.ms,
            simulated_ms,
            100.0 * row.error(),
            if published.fitted_on() { "  fitted" } else { "" }
        ));
    }
    text.push_str(&format!(
        "\nsimulated: largest error {:.1} %, mean of the eight that were not fitted {:.1} %\n",
        100.0 * outcome.worst(),
        100.0 * outcome.mean_of_others()
    ));
    text.push_str("these figures depend on estimates (`assumed` in the target):\n");
    target.assumed().for_each(|constant| text.push_str(&format!("  {}\n", target.words(constant))));
    let given = target.constants().iter().filter(|constant| constant.provenance == Provenance::Given);
    given.for_each(|constant| text.push_str(&format!("  set for this run: {}\n", target.words(constant))));
    text
}

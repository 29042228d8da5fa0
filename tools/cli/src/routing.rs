//! `--routing`: `balanced`, `zipf:EXPONENT[:SEED]`, `drifting:EXPONENT[:SEED]`, or a file.

use crate::options::ScheduleArgs;
use crate::placements;
use hpmoe_core::graph::Sizes;
use hpmoe_kernels::{Placement, Ranks};
use hpmoe_simulator::simulate::{Routing, RoutingError, RoutingSizes};
use serde_json::Value;

/// A function that draws a routing with an exponent and a seed.
type Draw = fn(RoutingSizes, f64, u64) -> Routing;

/// The sizes of the routing of a kernel on a number of ranks.
pub(crate) fn sizes_of(kernel: &Sizes, ranks: u32) -> Result<RoutingSizes, String> {
    let small = |name: &str, size: usize| {
        u32::try_from(size).map_err(|_| format!("{name} is {size}: a routing has at most {}", u32::MAX))
    };
    Ok(RoutingSizes {
        ranks,
        experts: small("EXPERTS", kernel.experts)?,
        top_k: small("TOP_K", kernel.top_k)?,
        tokens: small("TOKENS", kernel.tokens)?,
    })
}

/// The routing given on the command line, for physical experts. Without a placement, each rank has consecutive experts.
pub(crate) fn routed(text: &str, kernel: &Sizes, ranks: u32, placement: Option<&Placement>) -> Result<Routing, String> {
    let logical = routing(text, sizes_of(kernel, ranks)?)?;
    let local = kernel.local_experts(ranks as usize);
    let placed = match placement {
        Some(placement) => logical.placed(placement),
        None if local * ranks as usize == kernel.experts => return Ok(logical),
        None => {
            let even = Placement::even(Ranks::new(ranks as usize), kernel.experts, kernel.spare);
            logical.placed(&even.map_err(|error| error.to_string())?)
        }
    };
    placed.map_err(|error| error.to_string())
}

/// The routing for `hpmoe schedule`, for a kernel's physical experts.
pub(crate) fn of_schedule(options: &ScheduleArgs, kernel: &Sizes) -> Result<Routing, String> {
    let ranks = options.group();
    let placement = placements::chosen(options.placement.as_ref(), ranks, kernel)?;
    routed(&options.routing, kernel, ranks, placement.as_ref())
}

/// The routing given on the command line, for logical experts.
fn routing(text: &str, sizes: RoutingSizes) -> Result<Routing, String> {
    let RoutingSizes { ranks, experts, top_k, .. } = sizes;
    if text == "balanced" {
        return Ok(Routing::balanced(sizes));
    }
    for (name, draw) in [("zipf", Routing::zipf as Draw), ("drifting", Routing::drifting)] {
        let Some(drawn) = text.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')) else { continue };
        let (exponent, seed) = drawn.split_once(':').unwrap_or((drawn, "0"));
        return match (exponent.parse::<f64>(), seed.parse()) {
            (Ok(exponent), Ok(seed)) if exponent.is_finite() && exponent >= 0.0 => Ok(draw(sizes, exponent, seed)),
            _ => Err(format!(
                "--routing {text}: after `{name}:` comes an exponent, zero or above and finite, and optionally `:SEED`, a whole \
                 number below 2^64"
            )),
        };
    }
    let words = |problem: String| format!("--routing {text}: {problem}");
    let content = std::fs::read_to_string(text).map_err(|error| {
        words(format!(
            "neither `balanced` nor `zipf:EXPONENT[:SEED]` nor `drifting:EXPONENT[:SEED]` nor a file: {error}"
        ))
    })?;
    let routing = from_json(&content, sizes).map_err(words)?;
    let own = (routing.ranks(), routing.experts(), routing.top_k());
    if own != (ranks, experts, top_k) {
        let sizes = |(ranks, experts, top_k)| format!("{ranks} ranks and {experts} experts, {top_k} for a token");
        return Err(words(format!("has {}, but the options ask for {}", sizes(own), sizes((ranks, experts, top_k)))));
    }
    Ok(routing)
}

/// Reads a routing from JSON: row counts by rank and expert, as a bare matrix or under `counts`; or the experts of each token, by rank,
/// under `topk_ids`.
fn from_json(content: &str, sizes: RoutingSizes) -> Result<Routing, String> {
    let value: Value = serde_json::from_str(content).map_err(|error| error.to_string())?;
    let refused = |error: RoutingError| error.to_string();
    let mistyped = |error: serde_json::Error| error.to_string();
    if let Some(ids) = value.get("topk_ids") {
        let ids: Vec<Vec<Vec<u32>>> = serde_json::from_value(ids.clone()).map_err(mistyped)?;
        return Routing::from_top_k(&ids, sizes.experts).map_err(refused);
    }
    let counts = value.get("counts").unwrap_or(&value);
    if !counts.is_array() {
        return Err("has neither `topk_ids` nor `counts`, and is not a matrix".to_owned());
    }
    let counts: Vec<Vec<u32>> = serde_json::from_value(counts.clone()).map_err(mistyped)?;
    Routing::new(&counts, sizes.top_k).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: RoutingSizes = RoutingSizes { ranks: 2, experts: 4, top_k: 2, tokens: 6 };

    #[test]
    fn names_and_files_make_routings() {
        assert_eq!(routing("balanced", SIZES), Ok(Routing::balanced(SIZES)));
        assert_eq!(routing("zipf:1.2", SIZES), Ok(Routing::zipf(SIZES, 1.2, 0)));
        assert_eq!(routing("zipf:1.2:7", SIZES), Ok(Routing::zipf(SIZES, 1.2, 7)));
        assert_eq!(routing("drifting:1.2:7", SIZES), Ok(Routing::drifting(SIZES, 1.2, 7)));
        let counts = Routing::new(&[vec![2, 1, 1, 0], vec![0, 1, 1, 0]], 2).unwrap();
        for text in ["[[2,1,1,0],[0,1,1,0]]", "{\"counts\":[[2,1,1,0],[0,1,1,0]]}"] {
            assert_eq!(from_json(text, SIZES), Ok(counts.clone()));
        }
        let tokens = from_json("{\"topk_ids\":[[[0,1],[0,2]],[[1,2]]]}", SIZES).unwrap();
        assert_eq!((tokens.rows(0, 0), tokens.tokens(0), tokens.tokens(1)), (2, 2, 1));
    }

    #[test]
    fn what_is_not_a_routing_is_refused() {
        let words = |text: &str| routing(text, SIZES).unwrap_err();
        assert!(words("zipf:x").contains("an exponent"));
        for exponent in ["-1", "NaN", "inf", "1e999"] {
            let refused = words(&format!("zipf:{exponent}"));
            assert!(refused.contains("an exponent, zero or above and finite"), "{refused}");
        }
        assert!(words("zipf:1:-1").contains("`:SEED`, a whole number below 2^64"));
        assert!(words("drifting:").contains("after `drifting:` comes an exponent"));
        assert!(words("even").contains("neither `balanced` nor"));
        assert!(from_json("{}", SIZES).unwrap_err().contains("neither `topk_ids` nor `counts`"));
    }
}

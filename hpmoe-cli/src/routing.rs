//! `--routing`: `balanced`, `zipf:EXPONENT[:SEED]`, or a file.

use hpmoe_simulator::simulate::{Routing, RoutingError};
use serde_json::Value;

/// What a routing is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) ranks: u32,
    pub(crate) experts: u32,
    pub(crate) top_k: u32,
    pub(crate) tokens: u32,
}

/// The routing of a command line.
pub(crate) fn routing(text: &str, sizes: Sizes) -> Result<Routing, String> {
    let Sizes { ranks, experts, top_k, tokens } = sizes;
    if !experts.is_multiple_of(ranks) {
        return Err(format!("{ranks} ranks don't share {experts} experts: choose --ranks among the divisors"));
    }
    if text == "balanced" {
        return Ok(Routing::balanced(ranks, experts, top_k, tokens));
    }
    if let Some(zipf) = text.strip_prefix("zipf:") {
        let (exponent, seed) = zipf.split_once(':').unwrap_or((zipf, "0"));
        let of = |exponent: f64, seed| Routing::zipf(ranks, experts, top_k, tokens, exponent, seed);
        return match (exponent.parse::<f64>(), seed.parse()) {
            (Ok(exponent), Ok(seed)) if exponent.is_finite() && exponent >= 0.0 => Ok(of(exponent, seed)),
            _ => Err(format!("--routing {text}: after `zipf:` comes an exponent, zero or above, and maybe `:SEED`")),
        };
    }
    let words = |problem: String| format!("--routing {text}: {problem}");
    let content = std::fs::read_to_string(text)
        .map_err(|error| words(format!("neither `balanced` nor `zipf:EXPONENT[:SEED]` nor a file: {error}")))?;
    let routing = from_json(&content, sizes).map_err(words)?;
    let own = (routing.ranks(), routing.experts(), routing.top_k());
    if own != (ranks, experts, top_k) {
        let of = |(ranks, experts, top_k)| format!("{ranks} ranks and {experts} experts, {top_k} for a token");
        return Err(words(format!("has {}; asked for are {}", of(own), of((ranks, experts, top_k)))));
    }
    Ok(routing)
}

/// Counts, by rank and expert, as a bare matrix or under `counts`; or the experts of each token, by rank, under `topk_ids`.
fn from_json(content: &str, sizes: Sizes) -> Result<Routing, String> {
    let value: Value = serde_json::from_str(content).map_err(|error| error.to_string())?;
    let no = |error: RoutingError| error.to_string();
    let typed = |error: serde_json::Error| error.to_string();
    if let Some(ids) = value.get("topk_ids") {
        let ids: Vec<Vec<Vec<u32>>> = serde_json::from_value(ids.clone()).map_err(typed)?;
        return Routing::of_tokens(&ids, sizes.experts).map_err(no);
    }
    let counts = value.get("counts").unwrap_or(&value);
    if !counts.is_array() {
        return Err("has neither `topk_ids` nor `counts`, and is no matrix".to_owned());
    }
    let counts: Vec<Vec<u32>> = serde_json::from_value(counts.clone()).map_err(typed)?;
    Routing::new(&counts, sizes.top_k).map_err(no)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { ranks: 2, experts: 4, top_k: 2, tokens: 6 };

    #[test]
    fn names_and_files_make_routings() {
        assert_eq!(routing("balanced", SIZES), Ok(Routing::balanced(2, 4, 2, 6)));
        assert_eq!(routing("zipf:1.2", SIZES), Ok(Routing::zipf(2, 4, 2, 6, 1.2, 0)));
        assert_eq!(routing("zipf:1.2:7", SIZES), Ok(Routing::zipf(2, 4, 2, 6, 1.2, 7)));
        let counts = Routing::new(&[vec![2, 1, 1, 0], vec![0, 1, 1, 0]], 2).unwrap();
        for text in ["[[2,1,1,0],[0,1,1,0]]", "{\"counts\":[[2,1,1,0],[0,1,1,0]]}"] {
            assert_eq!(from_json(text, SIZES), Ok(counts.clone()));
        }
        let tokens = from_json("{\"topk_ids\":[[[0,1],[0,2]],[[1,2]]]}", SIZES).unwrap();
        assert_eq!((tokens.rows(0, 0), tokens.tokens(0), tokens.tokens(1)), (2, 2, 1));
    }

    #[test]
    fn what_is_none_is_told() {
        let words = |text| routing(text, SIZES).unwrap_err();
        assert!(words("zipf:x").contains("an exponent"));
        assert!(words("zipf:-1").contains("zero or above"));
        assert!(words("even").contains("neither `balanced` nor"));
        assert!(from_json("{}", SIZES).unwrap_err().contains("neither `topk_ids` nor `counts`"));
        assert!(routing("balanced", Sizes { ranks: 3, ..SIZES }).unwrap_err().contains("3 ranks don't share 4"));
    }
}

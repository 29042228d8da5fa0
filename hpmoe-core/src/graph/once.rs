//! The expected number of rows sent if each token is sent once to every rank that it goes to.

use super::Sizes;

impl Sizes {
    /// Expected number of once-sent rows that a rank sends, including the rows to itself, if each token draws its experts evenly: `TOKENS`
    /// times the expected number of ranks that own an expert of the token.
    #[must_use]
    pub fn rows_once(&self, ranks: usize) -> u64 {
        let others = self.experts - self.experts.div_ceil(ranks);
        // The share of all draws without an expert of a given rank.
        let missed: f64 =
            (0..self.top_k).map(|drawn| others.saturating_sub(drawn) as f64 / (self.experts - drawn) as f64).product();
        (self.tokens as f64 * ranks as f64 * (1.0 - missed)).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_to_no_more_ranks_than_it_has_experts() {
        let sizes = Sizes { experts: 64, spare: 0, top_k: 8, tokens: 4096, chunks: 1, chunks_at_most: None };
        let rows: Vec<u64> = [1, 2, 8, 64].map(|ranks| sizes.rows_once(ranks)).to_vec();
        // Of 64 ranks with one expert each, a token goes to 8; of 2, nearly always to both.
        assert_eq!((rows[0], rows[3]), (4096, 8 * 4096));
        assert!(rows[1] > 8130 && rows[1] < 8192, "{rows:?}");
        // 8 (1 - C(56, 8) / C(64, 8)) = 5.43 ranks.
        assert_eq!(rows[2], 22_252);
    }
}

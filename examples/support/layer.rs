//! A Mixture-of-Experts layer from a file, divided among the ranks of a group.

use super::safetensors::TensorFile;
use hpmoe_runtime::prelude::*;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The numbers of one layer.
#[derive(Clone, Debug)]
pub struct Layer {
    pub tokens: usize,
    pub hidden: usize,
    pub inter: usize,
    pub experts: usize,
    pub top_k: usize,
    /// The input, `[tokens, hidden]`.
    pub hidden_states: Vec<bf16>,
    /// Experts of each token, `[tokens, top_k]`.
    pub topk_ids: Vec<i32>,
    /// The router's weights of these experts, `[tokens, top_k]`.
    pub topk_weights: Vec<f32>,
    /// `[experts, 2 * inter, hidden]`, gate rows first.
    pub gate_up_proj: Vec<bf16>,
    /// `[experts, hidden, inter]`.
    pub down_proj: Vec<bf16>,
    /// The shared expert, if the layer has one.
    pub shared: Option<Shared>,
    /// The expected output of the routed experts alone or, after `find` with a variant, that of the variant: `[tokens, hidden]`.
    pub output: Vec<f32>,
}

/// An expert that every token goes to.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Gate projection of the shared expert, `[inter, hidden]`.
    pub gate_proj: Vec<bf16>,
    /// Up projection of the shared expert, `[inter, hidden]`.
    pub up_proj: Vec<bf16>,
    /// Down projection of the shared expert, `[hidden, inter]`.
    pub down_proj: Vec<bf16>,
}

/// The folder of the bundled layers.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data");

impl Layer {
    /// Reads a bundled layer.
    pub fn find_bundled(name: &str, variant: Option<&str>) -> Result<Self, String> {
        Self::find(Some(&bundled(name)), variant)
    }

    /// Reads the layer in `file`, or else the default bundled one. The expected output of a variant is read from a separate file.
    pub fn find(file: Option<&Path>, variant: Option<&str>) -> Result<Self, String> {
        let file = bundled_or(file);
        let mut layer = Self::read(&file)?;
        if let (Some("shared" | "router"), None) = (variant, &layer.shared) {
            return Err(format!(
                "{}: this layer has no shared expert\nhelp: choose one with `shared_gate_proj`, `shared_up_proj` and \
                 `shared_down_proj`, for instance examples/data/deepseek_skewed.safetensors",
                file.display()
            ));
        }
        if let Some(variant) = variant {
            let name = format!("{}.{variant}.safetensors", file.file_stem().unwrap_or_default().display());
            let oracle = file.with_file_name("oracles").join(name);
            let output = || {
                let bytes = std::fs::read(&oracle).map_err(|error| error.to_string())?;
                let oracle = TensorFile::parse(&bytes)?;
                oracle.read("output", &[layer.tokens, layer.hidden], "F32", f32::from_le_bytes)
            };
            layer.output = output().map_err(|problem| {
                format!(
                    "no oracle in {}: {problem}\nhelp: python3 examples/data/make_oracles.py {}",
                    oracle.display(),
                    file.display()
                )
            })?;
        }
        Ok(layer)
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        Self::parse(&bytes(path)?).map_err(|problem| format!("{}: {problem}", path.display()))
    }

    /// Reads the bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file = TensorFile::parse(bytes)?;
        let [tokens, hidden] = file.shape("hidden_states")?;
        let [_, top_k] = file.shape("topk_ids")?;
        let [experts, _, inter] = file.shape("down_proj")?;
        // If the layer has a shared expert, `output` includes that expert's result.
        let output = if file.has("output_routed") { "output_routed" } else { "output" };
        Ok(Self {
            tokens,
            hidden,
            inter,
            experts,
            top_k,
            hidden_states: file.read("hidden_states", &[tokens, hidden], "BF16", bf16::from_le_bytes)?,
            topk_ids: file.read("topk_ids", &[tokens, top_k], "I32", i32::from_le_bytes)?,
            topk_weights: file.read("topk_weights", &[tokens, top_k], "F32", f32::from_le_bytes)?,
            gate_up_proj: file.read("gate_up_proj", &[experts, 2 * inter, hidden], "BF16", bf16::from_le_bytes)?,
            down_proj: file.read("down_proj", &[experts, hidden, inter], "BF16", bf16::from_le_bytes)?,
            shared: file.has("shared_gate_proj").then(|| Shared::parse(&file, hidden)).transpose()?,
            output: file.read(output, &[tokens, hidden], "F32", f32::from_le_bytes)?,
        })
    }

    /// The constants that a kernel for this layer needs, as `HPMOE_SET` takes them.
    pub fn settings(&self) -> String {
        format!(
            "HIDDEN={},INTER={},EXPERTS={},TOP_K={},TOKENS={}",
            self.hidden, self.inter, self.experts, self.top_k, self.tokens
        )
    }

    /// The tokens of a rank. They are consecutive, and numbers of tokens differ by at most one.
    pub fn tokens_of(&self, rank: Rank, ep: Ranks) -> Range<usize> {
        let at = |rank: usize| rank * self.tokens / ep.count();
        at(rank.id())..at(rank.id() + 1)
    }

    /// Rows of a `[tokens, C]` tensor, for each rank.
    pub fn by_tokens<T: Element, const C: usize>(&self, ep: Ranks, values: &[T]) -> PerRank<Tensor<T, C>> {
        PerRank::from_fn(ep, |rank| {
            let tokens = self.tokens_of(rank, ep);
            Tensor::from_slice(&values[tokens.start * C..tokens.end * C])
        })
    }

    /// Rows `first..first + N` of each expert's matrix of `rows` x `K` numbers, for the experts of each rank.
    pub fn by_experts<const N: usize, const K: usize>(
        &self,
        ep: Ranks,
        values: &[bf16],
        rows: usize,
        first: usize,
    ) -> PerRank<Experts<bf16, N, K>> {
        let own = self.experts / ep.count();
        PerRank::from_fn(ep, |rank| {
            let part = (rank.id() * own..(rank.id() + 1) * own).flat_map(|expert| {
                let start = (expert * rows + first) * K;
                values[start..start + N * K].iter().copied()
            });
            Experts::from_vec(part.collect())
        })
    }
}

impl Shared {
    fn parse(file: &TensorFile<'_>, hidden: usize) -> Result<Self, String> {
        let [inter, _] = file.shape("shared_gate_proj")?;
        let matrix = |name: &str, wanted: [usize; 2]| file.read(name, &wanted, "BF16", bf16::from_le_bytes);
        Ok(Self {
            gate_proj: matrix("shared_gate_proj", [inter, hidden])?,
            up_proj: matrix("shared_up_proj", [inter, hidden])?,
            down_proj: matrix("shared_down_proj", [hidden, inter])?,
        })
    }
}

pub(super) fn bundled(name: &str) -> PathBuf {
    Path::new(DATA).join(format!("{name}.safetensors"))
}

pub(super) fn bundled_or(file: Option<&Path>) -> PathBuf {
    file.map_or_else(|| bundled("deepseek_skewed"), Path::to_path_buf)
}

pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("can't read {}: {error}", path.display()))
}

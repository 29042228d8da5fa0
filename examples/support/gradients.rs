//! Gradients of a layer from a file.

use super::layer::{bundled_or, bytes};
use super::safetensors::TensorFile;
use hpmoe_runtime::prelude::*;
use std::path::Path;

/// The inputs of a backward pass, and the expected gradients.
#[derive(Clone, Debug)]
pub struct Gradients {
    /// `[tokens, hidden]`: the gradient of the output.
    pub output: Vec<bf16>,
    /// Gradient of the hidden states, `[tokens, hidden]`.
    pub hidden_states: Vec<f32>,
    /// Gradient of the router's weights, `[tokens, top_k]`.
    pub topk_weights: Vec<f32>,
    /// Gradient of both projections, `[experts, 2 * inter, hidden]`, gate rows first.
    pub gate_up_proj: Vec<f32>,
    /// `[experts, hidden, inter]`.
    pub down_proj: Vec<f32>,
}

impl Gradients {
    /// Reads the gradients in `file`, or else those in the default bundled file. The same file has the layer.
    pub fn find(file: Option<&Path>) -> Result<Self, String> {
        let file = bundled_or(file);
        Self::parse(&bytes(&file)?).map_err(|problem| format!("{}: {problem}", file.display()))
    }

    /// Reads the bytes of a file. For a layer with a shared expert, the file does not contain the routed experts' part of
    /// `grad_hidden_states` separately.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file = TensorFile::parse(bytes)?;
        let [tokens, hidden] = file.shape("hidden_states")?;
        let [_, top_k] = file.shape("topk_ids")?;
        let [experts, _, inter] = file.shape("down_proj")?;
        let f32s = |name: &str, wanted: &[usize]| file.read(name, wanted, "F32", f32::from_le_bytes);
        let mut hidden_states = f32s("grad_hidden_states", &[tokens, hidden])?;
        let output = file.read("grad_output", &[tokens, hidden], "BF16", bf16::from_le_bytes)?;
        if file.has("shared_gate_proj") {
            let shared = |name: &str, wanted: &[usize]| file.read(name, wanted, "BF16", bf16::from_le_bytes);
            let [inter, _] = file.shape("shared_gate_proj")?;
            let expert = Shared {
                gate: shared("shared_gate_proj", &[inter, hidden])?,
                up: shared("shared_up_proj", &[inter, hidden])?,
                down: shared("shared_down_proj", &[hidden, inter])?,
            };
            let x = shared("hidden_states", &[tokens, hidden])?;
            expert.take_away(&x, &output, &mut hidden_states, hidden, inter);
        }
        Ok(Self {
            output,
            hidden_states,
            topk_weights: f32s("grad_topk_weights", &[tokens, top_k])?,
            gate_up_proj: f32s("grad_gate_up_proj", &[experts, 2 * inter, hidden])?,
            down_proj: f32s("grad_down_proj", &[experts, hidden, inter])?,
        })
    }
}

/// The expert that every token goes to.
struct Shared {
    gate: Vec<bf16>,
    up: Vec<bf16>,
    down: Vec<bf16>,
}

impl Shared {
    /// Subtracts this expert's part, computed in f64, from the gradient of the hidden states.
    fn take_away(&self, x: &[bf16], dy: &[bf16], dx: &mut [f32], hidden: usize, inter: usize) {
        let dot = |a: &[bf16], b: &[bf16]| -> f64 { a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64()).sum() };
        for token in 0..x.len() / hidden {
            let row = token * hidden..(token + 1) * hidden;
            let (x, dy) = (&x[row.clone()], &dy[row.clone()]);
            for i in 0..inter {
                let weights = i * hidden..(i + 1) * hidden;
                let (gate, up) = (dot(x, &self.gate[weights.clone()]), dot(x, &self.up[weights.clone()]));
                let dh: f64 = (0..hidden).map(|h| dy[h].to_f64() * self.down[h * inter + i].to_f64()).sum();
                let sigmoid = 1.0 / (1.0 + (-gate).exp());
                let (dup, dgate) = (dh * gate * sigmoid, dh * up * sigmoid * (1.0 + gate * (1.0 - sigmoid)));
                for h in 0..hidden {
                    let part = dgate * self.gate[i * hidden + h].to_f64() + dup * self.up[i * hidden + h].to_f64();
                    dx[token * hidden + h] -= part as f32;
                }
            }
        }
    }
}

//! Layers computed in f32 by other software, from `examples/data`.

use hpmoe_kernels::{Element, Experts, PerRank, Ranks, Tensor, bf16};
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;

/// The file of one layer, with its inputs and outputs.
pub(crate) struct Oracle(Vec<u8>);

/// An element type of tensors in the file.
pub(crate) trait Stored: Element {
    /// The type's name in the file.
    const DTYPE: Dtype;
    /// Reads an element from its bytes.
    fn read(bytes: &[u8]) -> Self;
}

impl Stored for bf16 {
    const DTYPE: Dtype = Dtype::BF16;
    fn read(bytes: &[u8]) -> Self {
        Self::from_le_bytes(bytes.try_into().unwrap())
    }
}

impl Stored for f32 {
    const DTYPE: Dtype = Dtype::F32;
    fn read(bytes: &[u8]) -> Self {
        Self::from_le_bytes(bytes.try_into().unwrap())
    }
}

impl Stored for i32 {
    const DTYPE: Dtype = Dtype::I32;
    fn read(bytes: &[u8]) -> Self {
        Self::from_le_bytes(bytes.try_into().unwrap())
    }
}

impl Oracle {
    /// Reads the layer with the given name.
    pub(crate) fn read(name: &str) -> Self {
        let path = format!("{}/../examples/data/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
        Self(std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
    }

    fn tensor<T: Stored>(&self, name: &str) -> (Vec<T>, Vec<usize>) {
        let file = SafeTensors::deserialize(&self.0).unwrap();
        let view = file.tensor(name).unwrap();
        assert_eq!(view.dtype(), T::DTYPE, "{name}");
        let data = view.data().chunks_exact(size_of::<T>()).map(T::read);
        (data.collect(), view.shape().to_vec())
    }

    /// All elements of an f32 tensor.
    pub(crate) fn f32(&self, name: &str) -> Vec<f32> {
        self.tensor(name).0
    }

    /// Number of experts.
    pub(crate) fn experts(&self) -> usize {
        self.tensor::<bf16>("down_proj").1[0]
    }

    /// Each rank's rows of a tensor, which are consecutive. Numbers of rows differ by at most one.
    pub(crate) fn tensors<T: Stored, const C: usize>(&self, ep: Ranks, name: &str) -> PerRank<Tensor<T, C>> {
        let (data, shape) = self.tensor::<T>(name);
        assert_eq!(shape[1], C, "{name}");
        let start = |rank: usize| C * (rank * shape[0]).div_ceil(ep.count());
        PerRank::from_fn(ep, |r| Tensor::from_slice(&data[start(r.id())..start(r.id() + 1)]))
    }

    /// Each rank's gate and up projections.
    pub(crate) fn gate_up<const N: usize, const K: usize>(
        &self,
        ep: Ranks,
    ) -> (PerRank<Experts<bf16, N, K>>, PerRank<Experts<bf16, N, K>>) {
        let (data, shape) = self.tensor::<bf16>("gate_up_proj");
        assert_eq!(shape[1..], [2 * N, K]);
        let halves: Vec<&[bf16]> = data.chunks_exact(N * K).collect();
        let half = |first: usize| {
            let local = shape[0] / ep.count();
            PerRank::from_fn(ep, |r| {
                let experts = r.id() * local..(r.id() + 1) * local;
                Experts::from_vec(experts.flat_map(|e| halves[2 * e + first]).copied().collect())
            })
        };
        (half(0), half(1))
    }

    /// Each rank's down projection.
    pub(crate) fn down<const N: usize, const K: usize>(&self, ep: Ranks) -> PerRank<Experts<bf16, N, K>> {
        let (data, shape) = self.tensor::<bf16>("down_proj");
        assert_eq!(shape[1..], [N, K]);
        data.chunks_exact(data.len() / ep.count()).map(Experts::from_slice).collect()
    }
}

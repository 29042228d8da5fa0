//! Conversion of weights between logical and physical experts.

use super::{Placement, PlacementError};
use crate::{Element, Experts, PerRank, Rank};

impl Placement {
    /// The weight matrices of each rank's physical experts, copied from the matrices of all logical experts. Empty
    /// places hold zeros, which nothing reads.
    ///
    /// ```
    /// use hpmoe_kernels::{Experts, Placement, Rank, Ranks};
    ///
    /// let placement = Placement::new(Ranks::new(2), 3, &[Some(2), Some(0), Some(1), Some(2)])?;
    /// let placed = placement.place(&Experts::<f32, 1, 1>::from_slice(&[1.0, 2.0, 3.0]))?;
    /// assert_eq!([0, 1].map(|rank| placed[Rank::new(rank)].to_vec()), [[3.0, 1.0], [2.0, 3.0]]);
    /// # Ok::<(), hpmoe_kernels::PlacementError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the number of matrices is not the number of logical experts.
    pub fn place<T: Element, const N: usize, const K: usize>(
        &self,
        experts: &Experts<T, N, K>,
    ) -> Result<PerRank<Experts<T, N, K>>, PlacementError> {
        if experts.count() != self.experts() {
            return Err(PlacementError::Weights { matrices: experts.count(), wanted: self.experts() });
        }
        let (all, local) = (experts.to_vec(), self.local_experts());
        let of_rank = |rank: Rank| {
            let mut values = vec![T::default(); local * N * K];
            for (matrix, physical) in values.chunks_exact_mut(N * K).zip(rank.id() * local..) {
                if let Some(expert) = self.expert(physical) {
                    matrix.copy_from_slice(&all[expert.id() * N * K..][..N * K]);
                }
            }
            Experts::from_vec(values)
        };
        Ok(PerRank::from_fn(self.ranks(), of_rank))
    }

    /// The gradients of all logical experts, from a backward pass's gradients of all physical experts. The gradient of a
    /// logical expert is the sum of the gradients of its physical experts, added in ascending order.
    ///
    /// ```
    /// use hpmoe_kernels::{Experts, PerRank, Placement, Ranks};
    ///
    /// let placement = Placement::new(Ranks::new(2), 3, &[Some(2), Some(0), Some(1), Some(2)])?;
    /// let gradients = PerRank::from_vec([[1.0, 2.0], [4.0, 8.0]].map(|of| Experts::<f32, 1, 1>::from_slice(&of)).into());
    /// assert_eq!(placement.sum(&gradients)?.to_vec(), [2.0, 4.0, 9.0]);
    /// # Ok::<(), hpmoe_kernels::PlacementError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a rank's number of gradients is not its number of physical experts.
    ///
    /// # Panics
    ///
    /// If the gradients of some rank are in another process: gather them first.
    pub fn sum<const N: usize, const K: usize>(
        &self,
        gradients: &PerRank<Experts<f32, N, K>>,
    ) -> Result<Experts<f32, N, K>, PlacementError> {
        // The first physical expert's gradient is the sum that the others are added to: 0 + x may have a different sign than x.
        let mut sums: Vec<Option<Vec<f32>>> = vec![None; self.experts()];
        for rank in self.ranks() {
            let of_rank = &gradients[rank];
            if of_rank.count() != self.local_experts() {
                return Err(PlacementError::Weights { matrices: of_rank.count(), wanted: self.local_experts() });
            }
            let values = of_rank.to_vec();
            for (gradient, physical) in values.chunks_exact(N * K).zip(rank.id() * self.local_experts()..) {
                let Some(expert) = self.expert(physical) else { continue };
                match &mut sums[expert.id()] {
                    Some(sum) => sum.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += value),
                    first => *first = Some(gradient.to_vec()),
                }
            }
        }
        Ok(Experts::from_vec(sums.into_iter().flatten().flatten().collect()))
    }
}

//! Requirements of generated kernels on a machine. A machine that does not meet them can only be simulated.

use super::{FileFault, Target};

/// The size in KiB that the device library assumes for each memory of a core: `kernels/include/hpmoe/memory.h`.
const MEMORIES: [(&str, u32); 5] =
    [("ub_kib", 192), ("l1_kib", 512), ("l0a_kib", 64), ("l0b_kib", 64), ("l0c_kib", 128)];

impl Target {
    /// The reasons why kernels can't be built for this target, each with its line; empty if they can.
    #[must_use]
    pub fn unfit_for_kernels(&self) -> Vec<FileFault> {
        let two = 2 * u64::from(self.cores.aic);
        let cores = (u64::from(self.cores.aiv) != two).then(|| {
            let text = format!(
                "`cores.aiv` is {}, but must be {two}: kernels have two vector cores for each of {} matrix cores (`cores.aic`)",
                self.cores.aiv, self.cores.aic
            );
            FileFault { line: self.line_of("cores", "aiv"), text }
        });
        let memories = MEMORIES.iter().filter_map(|&(key, needed)| {
            let kib = self.get("memory", key).filter(|&kib| kib < f64::from(needed))?;
            let text = format!("`memory.{key}` is {kib}: kernels are generated for cores with {needed} or more");
            Some(FileFault { line: self.line_of("memory", key), text })
        });
        cores.into_iter().chain(memories).collect()
    }

    /// The line of the file that sets a constant; 0 if no constant has this section and key.
    #[must_use]
    pub fn line_of(&self, section: &str, key: &str) -> usize {
        let constant = self.constants.iter().find(|constant| (constant.section, constant.key) == (section, key));
        constant.map_or(0, |constant| constant.line)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ASCEND_A3;
    use super::*;

    #[test]
    fn dies_that_kernels_cannot_have_are_told_with_their_lines() {
        assert_eq!(Target::ascend_a3().unfit_for_kernels(), []);
        let roomy = ASCEND_A3
            .replace("aic = 24", "aic = 32")
            .replace("aiv = 48", "aiv = 64")
            .replace("ub_kib = 192", "ub_kib = 256");
        assert_eq!(Target::read(&roomy).unwrap().unfit_for_kernels(), []);
        let small = ASCEND_A3.replace("aiv = 48", "aiv = 24").replace("l0c_kib = 128", "l0c_kib = 64");
        let said: Vec<String> =
            Target::read(&small).unwrap().unfit_for_kernels().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "line 8: `cores.aiv` is 24, but must be 48: kernels have two vector cores for each of 24 matrix cores (`cores.aic`)",
                "line 25: `memory.l0c_kib` is 64: kernels are generated for cores with 128 or more",
            ]
        );
    }

    #[test]
    fn the_device_library_needs_as_much() {
        let header = include_str!("../../../kernels/include/hpmoe/memory.h");
        for line in [
            "UB_END = 184 * 1024 - 256;",
            "L1_END = 512 * 1024 - 256;",
            "L0_STAGE = 32 * 1024;",
            "L0C_BYTES = 128 * 1024;",
        ] {
            assert!(header.contains(&format!("constexpr uint32_t {line}")), "memory.h no longer says `{line}`");
        }
    }
}

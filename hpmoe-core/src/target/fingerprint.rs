//! The fingerprint of a target, so that a kernel scheduled for another machine is never linked.

use super::Target;
use crate::fingerprint::Fingerprint;

impl Target {
    /// The fingerprint of the target's name and of the values of all its constants. The sources of the values don't count.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let named = Fingerprint::default().text(&self.name);
        self.values().fold(named, |hash, (section, key, value)| hash.text(section).text(key).text(&value.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::ASCEND_A3;

    #[test]
    fn every_constant_of_a_target_counts_and_its_source_does_not() {
        let text = ASCEND_A3;
        let hash = |text: &str| Target::read(text).unwrap().fingerprint().hex();
        assert_eq!(hash(text), hash(&text.replace("# ini", "# read elsewhere")));
        let own = Target::ascend_a3();
        for (section, key, value) in own.values() {
            let mut other = own.clone();
            other.set(&format!("{section}.{key}={}", if value < 1.0 { value / 2.0 } else { value + 1.0 })).unwrap();
            assert_ne!(other.fingerprint().hex(), hash(text), "{section}.{key}");
        }
        assert_ne!(hash(&text.replace("name = \"ascend-a3\"", "name = \"ascend-a4\"")), hash(text));
    }
}

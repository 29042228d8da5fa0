//! A map by name, and suggestions for misspelled names.

/// A map from names to values, in order of insertion, for a handful of constants, const arguments or settings.
///
/// A linear search is fast enough for such maps, and quick to compile: instances of a general map were a seventh of the code that a build
/// of the macros generates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ByName<T>(Vec<(String, T)>);

impl<T> ByName<T> {
    /// Creates a map without entries.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value with this name; `None` if the map has none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Whether the map has a value with this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets the value with this name: replaces an earlier one in its position, or adds the value at the end.
    pub fn insert(&mut self, name: String, value: T) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, earlier)) => *earlier = value,
            None => self.0.push((name, value)),
        }
    }

    /// All names with their values, in order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// All names, in order of insertion.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> FromIterator<(String, T)> for ByName<T> {
    /// Collects entries; of several values with one name, the last one is kept.
    fn from_iter<I: IntoIterator<Item = (String, T)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (name, value) in entries {
            map.insert(name, value);
        }
        map
    }
}

impl<T> IntoIterator for ByName<T> {
    type Item = (String, T);
    type IntoIter = std::vec::IntoIter<(String, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The most similar of `names`, ignoring case. `None` if it differs from `name` in more than one letter and in more than a third of its
/// letters.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let name = name.to_lowercase();
    names
        .map(|candidate| (strsim::levenshtein(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().max(3) / 3)
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{ByName, nearest};

    #[test]
    fn the_last_value_of_a_name_stays_at_its_first_place() {
        let map = ByName::from_iter([("b", 1), ("a", 2), ("b", 3)].map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(map.iter().collect::<Vec<_>>(), [("b", &3), ("a", &2)]);
        assert_eq!((map.get("a"), map.get("c"), map.contains("b")), (Some(&2), None, true));
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("HIDEN", ["INTER", "HIDDEN"].into_iter()), Some("HIDDEN".into()));
        assert_eq!(nearest("hidden", ["HIDDEN"].into_iter()), Some("HIDDEN".into()));
        assert_eq!(nearest("FOO", ["HIDDEN"].into_iter()), None);
    }
}

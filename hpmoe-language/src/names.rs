//! Names that a user may have meant.

/// The nearest of `names`, where one is near enough to be meant: at most a third of its letters differ, case aside.
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
    use super::nearest;

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("HIDEN", ["INTER", "HIDDEN"].into_iter()), Some("HIDDEN".into()));
        assert_eq!(nearest("hidden", ["HIDDEN"].into_iter()), Some("HIDDEN".into()));
        assert_eq!(nearest("FOO", ["HIDDEN"].into_iter()), None);
    }
}

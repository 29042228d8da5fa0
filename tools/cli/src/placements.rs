//! Files of placements: JSON that contains the placement of each layer.

use hpmoe_core::graph::Sizes;
use hpmoe_kernels::printable::printable_path;
use hpmoe_kernels::{Placement, Ranks};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A layer's placement, as specified on a command line.
#[derive(Clone, Debug)]
pub(crate) struct PlacementChoice {
    file: PathBuf,
    layer: usize,
}

impl FromStr for PlacementChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbered = text.rsplit_once(':').and_then(|(file, layer)| Some((file, layer.parse().ok()?)));
        let (file, layer) = numbered.unwrap_or((text, 0));
        Ok(Self { file: file.into(), layer })
    }
}

impl PlacementChoice {
    /// Reads the placement, and checks that it suits a kernel on a number of ranks.
    fn read(&self, ranks: u32, kernel: &Sizes) -> Result<Placement, String> {
        let name = printable_path(&self.file);
        let layers = read(&self.file)?;
        let placement = layers.get(self.layer).ok_or_else(|| {
            format!("{name} has {} layers, numbered from 0, and none with the number {}", layers.len(), self.layer)
        })?;
        let found = (placement.ranks().count(), placement.experts());
        let wanted = (ranks as usize, kernel.experts);
        if found != wanted {
            return Err(format!(
                "{name} places {} experts on {} ranks, but the kernel has {} and --ranks is {}",
                found.1, found.0, wanted.1, wanted.0
            ));
        }
        let (places, built) = (placement.local_experts(), kernel.local_experts(ranks as usize));
        if places != built {
            let share = kernel.experts.div_ceil(ranks as usize);
            let help = match places.checked_sub(share) {
                Some(spare) => format!("--set SPARE={spare} gives the kernel as many"),
                None => format!("a rank's share of the experts is {share}"),
            };
            return Err(format!("{name} has {places} places on each rank, but the kernel has {built}: {help}"));
        }
        Ok(placement.clone())
    }
}

/// Reads the placement that the command line specifies, if any.
pub(crate) fn chosen(
    choice: Option<&PlacementChoice>,
    ranks: u32,
    kernel: &Sizes,
) -> Result<Option<Placement>, String> {
    choice.map(|choice| choice.read(ranks, kernel)).transpose()
}

/// Reads the placements of all layers.
pub(crate) fn read(file: &Path) -> Result<Vec<Placement>, String> {
    let name = printable_path(file);
    let text = std::fs::read_to_string(file).map_err(|error| format!("can't read {name}: {error}"))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
    let number = |key: &str| {
        let number = value.get(key).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| format!("{name} has no number `{key}`: `hpmoe place` writes such files"))
    };
    let (ranks, experts) = (number("ranks")?, number("experts")?);
    let layers = value.get("layers").and_then(Value::as_array);
    let layers = layers.ok_or_else(|| format!("{name} has no list `layers`: `hpmoe place` writes such files"))?;
    let layer = |(number, layer): (usize, &Value)| {
        placement(layer, ranks, experts).map_err(|problem| format!("{name}, layer {number}: {problem}"))
    };
    layers.iter().enumerate().map(layer).collect()
}

fn placement(layer: &Value, ranks: usize, experts: usize) -> Result<Placement, String> {
    let list = |key: &str| layer.get(key).map(|list| serde_json::from_value::<Vec<i64>>(list.clone()));
    let places = list("physical_to_logical").ok_or("there is no list `physical_to_logical`")?;
    let places = places.map_err(|error| format!("`physical_to_logical`: {error}"))?;
    let place = |&expert: &i64| match expert {
        -1 => Ok(None),
        _ => usize::try_from(expert)
            .map(Some)
            .map_err(|_| format!("`physical_to_logical` has {expert}: an empty place is -1")),
    };
    let places: Vec<Option<usize>> = places.iter().map(place).collect::<Result<_, _>>()?;
    let placement = Placement::new(Ranks::new(ranks), experts, &places).map_err(|error| error.to_string())?;
    let Some(shares) = list("shares") else { return Ok(placement) };
    let shares = shares.map_err(|error| format!("`shares`: {error}"))?;
    let share = |&share: &i64| {
        u32::try_from(share).map_err(|_| format!("`shares` has {share}: a share is from 0 to {}", u32::MAX))
    };
    let shares: Vec<u32> = shares.iter().map(share).collect::<Result<_, _>>()?;
    placement.with_shares(&shares).map_err(|error| error.to_string())
}

/// The content of a file. All layers have the same ranks and experts.
pub(crate) fn json(layers: &[Placement]) -> Value {
    let layer = |placement: &Placement| {
        let places: Vec<i64> =
            placement.physical_to_logical().iter().map(|expert| expert.map_or(-1, |expert| expert as i64)).collect();
        let shares: Vec<u32> = placement.cuts().iter().map(|cut| cut.end - cut.start).collect();
        json!({ "physical_to_logical": places, "shares": shares, "digest": format!("{:016x}", placement.digest()) })
    };
    let first = layers.first();
    json!({
        "ranks": first.map_or(0, |placement| placement.ranks().count()),
        "experts": first.map_or(0, Placement::experts),
        "layers": layers.iter().map(layer).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let ep = Ranks::new(2);
        let even = Placement::even(ep, 3, 1).unwrap();
        let copied = Placement::new(ep, 3, &[Some(2), Some(0), None, Some(1), Some(2), None]).unwrap();
        let layers = [even, copied.with_shares(&[3, 1, 0, 1, 1, 0]).unwrap()];
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("placement.json");
        std::fs::write(&file, json(&layers).to_string()).unwrap();
        assert_eq!(read(&file).unwrap(), layers);
        let sizes = Sizes { experts: 3, spare: 1, top_k: 1, tokens: 1, chunks: 1, chunks_at_most: None };
        let choose = |layer: &str| format!("{}{layer}", file.display()).parse::<PlacementChoice>().unwrap();
        assert_eq!(choose("").read(2, &sizes).unwrap(), layers[0]);
        assert_eq!(choose(":1").read(2, &sizes).unwrap(), layers[1]);
        assert!(
            choose(":2")
                .read(2, &sizes)
                .unwrap_err()
                .contains("has 2 layers, numbered from 0, and none with the number 2")
        );
        let spare = choose("").read(2, &Sizes { spare: 0, ..sizes }).unwrap_err();
        assert!(spare.contains("has 3 places on each rank, but the kernel has 2: --set SPARE=1"), "{spare}");
        let other = choose("").read(4, &sizes).unwrap_err();
        assert!(other.contains("places 3 experts on 2 ranks, but the kernel has 3 and --ranks is 4"), "{other}");
    }

    #[test]
    fn what_is_no_placement_is_refused() {
        let refused = |layer: &str| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("placement.json");
            std::fs::write(&file, format!(r#"{{"ranks": 1, "experts": 2, "layers": [{layer}]}}"#)).unwrap();
            read(&file).unwrap_err()
        };
        assert!(refused("{}").contains("layer 0: there is no list `physical_to_logical`"));
        assert!(refused(r#"{"physical_to_logical": [0, -2]}"#).contains("has -2: an empty place is -1"));
        assert!(refused(r#"{"physical_to_logical": [0, 0]}"#).contains("rank 0 has expert 0 in place 0 and again"));
        assert!(refused(r#"{"physical_to_logical": [0, 1], "shares": [0, 1]}"#).contains("all places of expert 0"));
        assert!(refused(r#"{"physical_to_logical": [0, 1], "shares": [-1, 1]}"#).contains("`shares` has -1"));
    }
}

//! `hpmoe place`: placements for the loads of experts, layer by layer.

use crate::options::{PayoffArgs, PlaceArgs};
use crate::{output, placements};
use hpmoe_kernels::printable::printable_path;
use hpmoe_kernels::{Payoff, Placement, PlacementCosts, Ranks};
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn place(options: &PlaceArgs) -> Result<ExitCode, String> {
    let name = printable_path(&options.loads);
    let text = std::fs::read_to_string(&options.loads).map_err(|error| format!("can't read {name}: {error}"))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
    let layers = loads(&value).map_err(|problem| format!("{name}: {problem}"))?;
    let current = options.current.as_deref().map(placements::read).transpose()?;
    if let Some(current) = &current {
        fits(options, current, &layers)?;
    }
    let ep = Ranks::new(options.ranks as usize);
    let place = |(layer, loads): (usize, &Vec<u64>)| {
        let placed = match current.as_ref().map(|current| &current[layer]) {
            Some(current) => current.rebalanced(loads, options.moves),
            None => Placement::balanced(ep, loads, options.spare),
        };
        placed.map_err(|error| format!("layer {layer}: {error}"))
    };
    let placed: Vec<Placement> = layers.iter().enumerate().map(place).collect::<Result<_, _>>()?;
    let payoffs = current.as_deref().map_or(Ok(None), |current| payoffs(&options.payoff, &layers, &placed, current))?;
    let kept = in_force(&placed, current.as_deref(), payoffs.as_deref());
    let mut json = placements::json(&kept);
    if let Some(payoffs) = &payoffs {
        json["payoffs"] = payoffs.iter().map(payoff_json).collect();
    }
    if let Some(path) = &options.output {
        let written = std::fs::write(path, format!("{json}\n"));
        written.map_err(|error| format!("can't write {}: {error}", printable_path(path)))?;
    }
    if options.json {
        output::line(&json)?;
    } else {
        output::text(&table(&layers, &placed, current.as_deref(), ep)?)?;
        payoffs.map_or(Ok(()), |payoffs| output::text(&payoff_table(&payoffs)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Savings and costs of each layer's new placement, if the command line asks for them.
fn payoffs(
    options: &PayoffArgs,
    layers: &[Vec<u64>],
    placed: &[Placement],
    current: &[Placement],
) -> Result<Option<Vec<Payoff>>, String> {
    let Some(launches) = options.launches else { return Ok(None) };
    let counted = options.counted.unwrap_or(launches);
    let ns = |us: u64| us.saturating_mul(1000);
    let costs = PlacementCosts {
        row_ns: options.row_ns.unwrap_or(0),
        read_ns: ns(options.read_us),
        copy_ns: ns(options.copy_us.unwrap_or(0)),
    };
    let payoff = |((loads, new), old): ((&Vec<u64>, &Placement), &Placement)| {
        let expected: Vec<u64> = loads.iter().map(|load| scaled(*load, launches, counted)).collect();
        new.payoff(old, &expected, launches, &costs).map_err(|error| error.to_string())
    };
    layers.iter().zip(placed).zip(current).map(payoff).collect::<Result<_, _>>().map(Some)
}

/// Number of rows in `launches` launches if `counted` launches had `rows` rows.
fn scaled(rows: u64, launches: u64, counted: u64) -> u64 {
    let (rows, launches, counted) = (u128::from(rows), u128::from(launches), u128::from(counted));
    u64::try_from((rows * launches + counted / 2) / counted).unwrap_or(u64::MAX)
}

/// The placements to use. A layer whose new placement does not pay keeps its current one.
fn in_force(placed: &[Placement], current: Option<&[Placement]>, payoffs: Option<&[Payoff]>) -> Vec<Placement> {
    let Some((current, payoffs)) = current.zip(payoffs) else { return placed.to_vec() };
    let chosen = placed.iter().zip(current).zip(payoffs);
    chosen.map(|((new, old), payoff)| if payoff.pays() { new.clone() } else { old.clone() }).collect()
}

const fn saved_ns(payoff: &Payoff) -> u64 {
    payoff.before_ns.saturating_sub(payoff.after_ns)
}

fn payoff_json(payoff: &Payoff) -> Value {
    json!({ "accepted": payoff.pays(), "saved_ns": saved_ns(payoff), "copies_ns": payoff.copies_ns })
}

/// A table that says for each layer whether the new placement is accepted, with the reason.
fn payoff_table(payoffs: &[Payoff]) -> String {
    let mut text = "\nlayer  saved us  copies us  accepted\n".to_owned();
    for (layer, payoff) in payoffs.iter().enumerate() {
        let reason = match (payoff.pays(), saved_ns(payoff)) {
            (true, _) => "yes",
            (false, 0) => "no: the new placement is not faster",
            (false, _) => "no: the copies take longer than the launches save",
        };
        let (saved, copies) = (saved_ns(payoff) as f64 / 1e3, payoff.copies_ns as f64 / 1e3);
        text.push_str(&format!("{layer:>5}  {saved:>8.0}  {copies:>9.0}  {reason}\n"));
    }
    text
}

/// Checks that the current placements are for these numbers of ranks and layers.
fn fits(options: &PlaceArgs, current: &[Placement], layers: &[Vec<u64>]) -> Result<(), String> {
    let file = options.current.as_deref().map(printable_path).unwrap_or_default();
    if current.len() != layers.len() {
        return Err(format!("{file} has {} layers, but the loads have {}", current.len(), layers.len()));
    }
    match current.iter().find(|placement| placement.ranks().count() != options.ranks as usize) {
        Some(other) => Err(format!("{file} is for {} ranks, but --ranks is {}", other.ranks().count(), options.ranks)),
        None => Ok(()),
    }
}

/// Loads by layer and expert, in the formats of this project, SGLang and vLLM.
fn loads(value: &Value) -> Result<Vec<Vec<u64>>, String> {
    if let Some(of_physical) = value.get("expert_load_pass").or_else(|| value.get("expert_load_view")) {
        let map = value.get("physical_to_logical_map").ok_or(
            "loads of physical experts (`expert_load_pass`, `expert_load_view`) need `physical_to_logical_map` next to them",
        )?;
        return of_logical(of_physical, map);
    }
    if let Some(counts) = value.get("counts") {
        return Ok(vec![of_ranks(&rows(counts)?)?]);
    }
    let named = ["loads", "logical_count", "global_expert_load"].iter().find_map(|key| value.get(key));
    let layers = rows(named.unwrap_or(value))?;
    let experts = layers.first().map_or(0, Vec::len);
    if experts == 0 {
        return Err("there are no loads: give a list of loads, one for each expert, for each layer".to_owned());
    }
    match layers.iter().position(|loads| loads.len() != experts) {
        Some(layer) => Err(format!("layer {layer} has {} loads, but layer 0 has {experts}", layers[layer].len())),
        None => Ok(layers),
    }
}

/// The loads of one layer, given the rows that each rank sends to each expert, in the format of `--routing`.
fn of_ranks(counts: &[Vec<u64>]) -> Result<Vec<u64>, String> {
    let experts = counts.first().map_or(0, Vec::len);
    if experts == 0 || counts.iter().any(|of_rank| of_rank.len() != experts) {
        return Err(
            "`counts` are rows of each rank to each expert: all ranks need the same number of experts, at least one"
                .to_owned(),
        );
    }
    Ok((0..experts).map(|expert| counts.iter().map(|of_rank| of_rank[expert]).fold(0, u64::saturating_add)).collect())
}

/// Loads by layer and expert. A single list is one layer; the lists of several steps are added.
fn rows(value: &Value) -> Result<Vec<Vec<u64>>, String> {
    let list =
        value.as_array().ok_or("there is no list of loads under `loads`, `logical_count` or `global_expert_load`")?;
    let depth = |value: &Value| -> usize {
        let mut depth = 0;
        let mut value = value;
        while let Some(list) = value.as_array() {
            depth += 1;
            let Some(first) = list.first() else { break };
            value = first;
        }
        depth
    };
    match depth(value) {
        1 => Ok(vec![layer_loads(value)?]),
        2 => list.iter().map(layer_loads).collect(),
        3 => {
            let mut sum: Vec<Vec<u64>> = Vec::new();
            for step in list {
                let step = rows(step)?;
                if sum.is_empty() {
                    sum = step;
                    continue;
                }
                let alike = sum.len() == step.len() && sum.iter().zip(&step).all(|(a, b)| a.len() == b.len());
                if !alike {
                    return Err("steps have different numbers of layers or experts".to_owned());
                }
                let both = sum.iter_mut().flatten().zip(step.iter().flatten());
                both.for_each(|(sum, load)| *sum = sum.saturating_add(*load));
            }
            Ok(sum)
        }
        depth => Err(format!("loads are nested {depth} deep: pass [layers, experts] or [steps, layers, experts]")),
    }
}

fn layer_loads(layer: &Value) -> Result<Vec<u64>, String> {
    let list = layer.as_array().ok_or("a layer is not a list of loads")?;
    list.iter().map(load).collect()
}

/// A load, which is an integer, or a mean that is rounded.
fn load(value: &Value) -> Result<u64, String> {
    let number = value
        .as_u64()
        .or_else(|| value.as_f64().filter(|mean| (0.0..1e15).contains(mean)).map(|mean| mean.round() as u64));
    number.ok_or_else(|| format!("{value} is not a load: loads are whole numbers of at least 0, or means below 10^15"))
}

fn of_logical(of_physical: &Value, map: &Value) -> Result<Vec<Vec<u64>>, String> {
    let (physical, map) = (rows(of_physical)?, rows_of_map(map)?);
    if physical.len() != map.len() {
        return Err(format!(
            "the loads have {} layers, but `physical_to_logical_map` has {}",
            physical.len(),
            map.len()
        ));
    }
    let layer = |(layer, (loads, map)): (usize, (&Vec<u64>, &Vec<i64>))| {
        if loads.len() != map.len() {
            return Err(format!(
                "layer {layer} has {} loads, but `physical_to_logical_map` has {} physical experts",
                loads.len(),
                map.len()
            ));
        }
        let experts = map.iter().max().map_or(0, |most| usize::try_from(most + 1).unwrap_or(0));
        let mut logical = vec![0_u64; experts];
        for (load, expert) in loads.iter().zip(map) {
            if let Some(sum) = usize::try_from(*expert).ok().and_then(|expert| logical.get_mut(expert)) {
                *sum = sum.saturating_add(*load);
            }
        }
        Ok(logical)
    };
    physical.iter().zip(&map).enumerate().map(layer).collect()
}

fn rows_of_map(map: &Value) -> Result<Vec<Vec<i64>>, String> {
    serde_json::from_value(map.clone()).map_err(|error| format!("`physical_to_logical_map`: {error}"))
}

/// A table of the load of the fullest rank, before and after.
fn table(
    layers: &[Vec<u64>],
    placed: &[Placement],
    current: Option<&[Placement]>,
    ep: Ranks,
) -> Result<String, String> {
    let before = if current.is_some() { "in force" } else { "consecutive" };
    let mut text = format!("fullest rank over the mean of all ranks\nlayer  {before:>11}  placed  places written\n");
    for (layer, (loads, placement)) in layers.iter().zip(placed).enumerate() {
        let even = Placement::even(ep, loads.len(), placement.local_experts() - loads.len().div_ceil(ep.count()));
        let even = even.map_err(|error| error.to_string())?;
        let old = current.map_or(&even, |current| &current[layer]);
        let over = |placement: &Placement| -> Result<f64, String> {
            let of_ranks = placement.loads(loads).map_err(|error| error.to_string())?;
            let (most, sum) = (of_ranks.iter().max().copied().unwrap_or(0), loads.iter().sum::<u64>());
            Ok(if sum == 0 { 1.0 } else { most as f64 * ep.count() as f64 / sum as f64 })
        };
        let moves = placement.moves(old).map_err(|error| error.to_string())?.len();
        text.push_str(&format!("{layer:>5}  {:>11.3}  {:>6.3}  {moves:>14}\n", over(old)?, over(placement)?));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Vec<u64>>, String> {
        loads(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn loads_of_layers_come_in_several_forms() {
        let two = Ok(vec![vec![1, 2, 3], vec![4, 5, 6]]);
        assert_eq!(read("[[1, 2, 3], [4, 5, 6]]"), two);
        assert_eq!(read(r#"{"loads": [[1, 2, 3], [4, 5, 6]]}"#), two);
        // SGLang: with one step, and with steps.
        assert_eq!(read(r#"{"logical_count": [[1, 2, 3], [4, 5, 6]]}"#), two);
        assert_eq!(read(r#"{"logical_count": [[[1, 0, 3], [4, 0, 0]], [[0, 2, 0], [0, 5, 6]]]}"#), two);
        // vLLM: of physical experts, with a copy of expert 0.
        let physical = r#"{"expert_load_pass": [[1, 2, 3, 9]], "physical_to_logical_map": [[0, 1, 2, 0]]}"#;
        assert_eq!(read(physical), Ok(vec![vec![10, 2, 3]]));
        assert_eq!(read("[1, 2.4, 3]"), Ok(vec![vec![1, 2, 3]]));
        // A routing of two ranks is one layer.
        assert_eq!(read(r#"{"counts": [[1, 2, 3], [4, 0, 1]]}"#), Ok(vec![vec![5, 2, 4]]));
    }

    #[test]
    fn rows_are_scaled_to_the_launches_to_come() {
        assert_eq!(scaled(100, 50, 20), 250);
        assert_eq!(scaled(3, 1, 2), 2);
        assert_eq!(scaled(u64::MAX, 2, 1), u64::MAX);
    }

    #[test]
    fn what_are_no_loads_is_refused() {
        let problem = |text| read(text).unwrap_err();
        assert!(problem("{}").contains("no list of loads"));
        assert!(problem("[]").contains("no loads"));
        assert!(problem("[[1, 2], [3]]").contains("layer 1 has 1 loads, but layer 0 has 2"));
        assert!(problem("[[1, -2]]").contains("-2 is not a load"));
        assert!(problem(r#"{"counts": [[1], [1, 2]]}"#).contains("all ranks need the same number of experts"));
        assert!(problem("[[[[1]]]]").contains("nested 4 deep"));
        assert!(problem("[[[1], [2]], [[1]]]").contains("steps have different numbers"));
        assert!(problem(r#"{"expert_load_pass": [[1]]}"#).contains("physical_to_logical_map"));
        let physical = r#"{"expert_load_pass": [[1, 2]], "physical_to_logical_map": [[0]]}"#;
        assert!(
            problem(physical).contains("layer 0 has 2 loads, but `physical_to_logical_map` has 1 physical experts")
        );
    }
}

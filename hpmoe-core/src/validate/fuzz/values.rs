//! Changes of single values and of lists.

use crate::ids::{Arena, Id};
use crate::random::Random;

/// Adds or subtracts 1, or takes a neighbour's value or an extreme one.
pub(super) fn number(value: &mut u32, neighbours: &[u32], random: &mut Random) {
    *value = match random.index(8) {
        0..3 => value.wrapping_add(1),
        3..6 => value.saturating_sub(1),
        6 => neighbours.get(random.index(neighbours.len().max(1))).copied().unwrap_or(0),
        _ => [0, 1, 2, u32::MAX][random.index(4)],
    };
}

/// Takes another id of an arena with `len` elements, or the first id after its end.
pub(super) fn id<I: Id>(value: &mut I, len: usize, random: &mut Random) {
    *value = I::new(if random.index(16) == 0 { len } else { random.index(len.max(1)) });
}

/// Removes, duplicates, moves, swaps or adds an element in one of `rare` cases; otherwise changes an element. Returns a
/// description of the change.
pub(super) fn list<T: Clone>(
    items: &mut Vec<T>,
    strangers: &[T],
    rare: usize,
    random: &mut Random,
    change: impl FnOnce(&mut T, &mut Random) -> String,
) -> String {
    let stranger = strangers.get(random.index(strangers.len().max(1)));
    let (len, edits) = (items.len(), random.index(rare) == 0);
    if len == 0 {
        items.extend(stranger.cloned());
        return ".added".to_owned();
    }
    let at = random.index(len);
    if !edits {
        return change(&mut items[at], random);
    }
    let done = match random.index(5) {
        0 => {
            items.remove(at);
            ".dropped"
        }
        1 => {
            items.insert(random.index(len + 1), items[at].clone());
            ".doubled"
        }
        2 => {
            let item = items.remove(at);
            items.insert(random.index(len), item);
            ".moved"
        }
        3 => {
            items.swap(at, random.index(len));
            ".swapped"
        }
        _ => {
            let place = random.index(len + 1);
            items.splice(place..place, stranger.cloned());
            ".added"
        }
    };
    done.to_owned()
}

/// Changes an arena as a list.
pub(super) fn arena<I: Id, T: Clone>(arena: &mut Arena<I, T>, change: impl FnOnce(&mut Vec<T>) -> String) -> String {
    let mut items: Vec<T> = arena.iter().map(|(_, item)| item.clone()).collect();
    let done = change(&mut items);
    *arena = items.into_iter().collect();
    done
}

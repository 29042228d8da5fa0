//! Rules of the device library that a compiler for CPUs does not enforce: the depth of calls, and the types of parameters.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A function of `include/hpmoe`, which is either inlined or a routine that is called.
struct Function {
    file: String,
    name: String,
    routine: bool,
    parameters: String,
    body: String,
}

/// Levels of calls that CANN's guide allows, including the entry point.
const MOST_LEVELS: usize = 4;

fn functions() -> Vec<Function> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/hpmoe");
    let files = files_below(&folder);
    let name = |path: &Path| path.strip_prefix(&folder).expect("a header").to_string_lossy().into_owned();
    let named = files.into_iter().map(|path| (name(&path), path));
    named.flat_map(|(file, path)| of_file(&file, &std::fs::read_to_string(path).expect("a header"))).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the device library").map(|entry| entry.expect("a file").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn of_file(file: &str, text: &str) -> Vec<Function> {
    let code: String = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| format!("{}\n", line.split("//").next().unwrap_or_default()))
        .collect();
    let mut found = Vec::new();
    for (head, routine) in [("HPMOE_INLINE ", false), ("HPMOE_ROUTINE ", true)] {
        for (at, _) in code.match_indices(head) {
            let rest = &code[at..];
            let open = rest.find('(').expect("parameters");
            let name = rest[..open].split_whitespace().next_back().expect("a name").to_owned();
            let parameters = rest[open..open + closing(&rest[open..], '(', ')')].to_owned();
            let begin = open + parameters.len() + rest[open + parameters.len()..].find('{').expect("a body");
            let body = rest[begin..begin + closing(&rest[begin..], '{', '}')].to_owned();
            found.push(Function { file: file.to_owned(), name, routine, parameters, body });
        }
    }
    found
}

/// Length of the text from an opening bracket to the bracket that closes it, including both.
fn closing(text: &str, open: char, close: char) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == open) - i32::from(c == close);
        if depth == 0 {
            return at + 1;
        }
    }
    panic!("a bracket is not closed: {}", &text[..text.len().min(80)]);
}

/// Names before an opening bracket, without template arguments.
fn called(body: &str) -> impl Iterator<Item = &str> {
    body.match_indices('(').filter_map(|(at, _)| {
        let before = body[..at].trim_end();
        let before =
            if before.ends_with('>') { before.rsplit_once('<').map_or(before, |(name, _)| name) } else { before };
        let name = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        (!name.is_empty()).then_some(name)
    })
}

/// Number of routines on the deepest chain of calls that starts at a function, including the function.
fn levels(function: usize, all: &[Function], named: &HashMap<&str, Vec<usize>>, above: &mut Vec<usize>) -> usize {
    above.push(function);
    let below = called(&all[function].body).flat_map(|name| named.get(name).into_iter().flatten().copied());
    // No function is recursive, so a call back to a function on the chain means another function with the same name.
    let below: Vec<usize> = below.filter(|next| !above.contains(next)).collect();
    let deepest = below.into_iter().map(|next| levels(next, all, named, above)).max().unwrap_or(0);
    above.pop();
    deepest + usize::from(all[function].routine)
}

#[test]
fn calls_are_few_levels_deep() {
    let all = functions();
    let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, function) in all.iter().enumerate() {
        named.entry(&function.name).or_default().push(number);
    }
    for (number, Function { file, name, .. }) in all.iter().enumerate() {
        // Tasks, which may be routines, call these.
        let of_tasks = ["columns.h", "compare.h", "ids.h", "matmul.h", "put.h", "reduce.h", "rows.h", "vector.h"]
            .contains(&file.as_str());
        let above = 1 + usize::from(of_tasks);
        let levels = above + levels(number, &all, &named, &mut Vec::new());
        assert!(levels <= MOST_LEVELS, "{file}: calls are {levels} levels deep in `{name}`, {MOST_LEVELS} are allowed");
    }
    let levels_of = |name: &str| levels(named[name][0], &all, &named, &mut Vec::new());
    assert_eq!(
        (levels_of("Publish"), levels_of("AwaitTokens"), levels_of("FoldRows")),
        (1, 3, 2),
        "as it is known to be"
    );
}

#[test]
fn routines_take_no_tensors() {
    let all = functions();
    let routines: Vec<&Function> = all.iter().filter(|function| function.routine).collect();
    assert!(routines.len() > 12, "{} routines were found", routines.len());
    for routine in routines {
        assert!(!routine.parameters.contains("Tensor<"), "{}{}", routine.name, routine.parameters);
    }
}

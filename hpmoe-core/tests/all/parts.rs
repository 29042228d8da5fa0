//! Taskflows that call other taskflows.

use crate::example::EXAMPLE;
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::finding::Diagnostic;
use hpmoe_core::front::{front, modules};
use hpmoe_core::syntax::Overrides;

/// The layer, with the experts' work in its own taskflow.
fn with_part() -> String {
    let loops = "        for r in ep {\n            for e in route.experts_of(r) {";
    let begin = EXAMPLE.find(loops).unwrap();
    let end = begin + EXAMPLE[begin..].find("        for src in ep {").unwrap();
    let work = &EXAMPLE[begin..end];
    let lets = ["g", "u", "h"].map(|name| format!("        let {name} = PerRank::ragged::<bf16, INTER>(ep, route);\n"));
    let part = format!(
        "    #[taskflow]
    fn experts(
        received: &PerRank<Received<bf16, HIDDEN>>,
        route: &Route,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        out: &mut PerRank<Received<bf16, HIDDEN>>,
        ep: Ranks,
    ) {{
{}{}    }}\n\n",
        lets.concat(),
        work.replace("recv[", "received[")
    );
    let call = "        experts(&recv, route, gate, up, down, &mut out, ep);\n";
    let mut source = EXAMPLE.replace(work, call).replace("let out =", "let mut out =");
    for declared in &lets {
        source = source.replace(declared, "");
    }
    let at = source.find("    /// The layer for the whole group").unwrap();
    source.insert_str(at, &part);
    source
}

fn read(source: &str) -> Result<Vec<CheckedGraph>, Vec<String>> {
    let module = modules(source).unwrap().remove(0);
    let text = |faults: Vec<Diagnostic>| faults.iter().map(Diagnostic::text).collect();
    front(&module, &Overrides::new()).map(|front| front.flows).map_err(text)
}

/// The contents of a graph, regardless of the positions of calls and the order of tensors.
fn said(checked: &CheckedGraph) -> Vec<String> {
    let graph = checked.graph();
    let name = |tensor| graph.tensors[tensor].name.trim_start_matches("experts_").to_owned();
    let phases = graph.phases.iter().map(|(_, phase)| {
        let accesses = phase.accesses.iter();
        let accesses: Vec<_> =
            accesses.map(|access| (name(access.tensor), access.region, access.write, access.remote)).collect();
        (graph.tasks[phase.task].name.clone(), graph.spaces[phase.space], phase.ranges.clone(), accesses)
    });
    let dependencies = checked.dependencies().iter().map(|dependency| {
        (
            dependency.before,
            dependency.after,
            name(dependency.tensor),
            dependency.signal.amount,
            dependency.wait.need.clone(),
        )
    });
    let mut dependencies: Vec<String> = dependencies.map(|dependency| format!("{dependency:?}")).collect();
    dependencies.sort();
    phases.map(|phase| format!("{phase:?}")).chain(dependencies).collect()
}

#[test]
fn a_call_passes_tensors_as_rust_takes_them() {
    let call = with_part();
    let begin = call.find("experts(&recv, ").expect("the call");
    let refused = |from: &str, to: &str| {
        let edited = format!("{}{}", &call[..begin], call[begin..].replacen(from, to, 1));
        read(&edited).err().unwrap_or_default()
    };
    for (from, to, help) in [
        ("&recv", "recv", "write `&recv`"),
        ("&mut out", "&out", "write `&mut out`"),
        ("&mut out", "out", "write `&mut out`"),
        (" gate", " &mut gate", "write `gate`"),
        ("&recv", "&mut recv", "write `let mut recv = …`"),
    ] {
        let faults = refused(from, to);
        let [fault] = &faults[..] else { panic!("{to}: {faults:?}") };
        assert!(fault.contains(help), "{to}: {fault}");
    }
    // Rust accepts a reference to a reference for a reference, and a `&mut` for a `&`.
    assert_eq!(refused(" gate", " &gate"), [""; 0]);
    let fault = &read(&call.replace("let mut out =", "let out =")).unwrap_err()[0];
    assert!(fault.contains("`out` is passed as `&mut out`, but its `let` is not `mut`"), "{fault}");
    assert_eq!(
        read(&call.replace("let recv =", "let mut recv =").replace("experts(&recv,", "experts(&mut recv,")).err(),
        None
    );
}

#[test]
fn a_taskflow_that_calls_another_is_the_one_with_its_statements() {
    let [whole, parted] = [&EXAMPLE, &with_part()].map(|source| read(source).unwrap());
    // The part is not `pub`, so no kernel is made of it.
    assert_eq!((whole.len(), parted.len()), (1, 1));
    assert_eq!(said(&whole[0]), said(&parted[0]));
    // A `pub` part is launched, too. Its arguments then include tensors that rows are put to elsewhere.
    let public = read(&with_part().replace("    fn experts(", "    pub fn experts(")).unwrap();
    assert_eq!(public.iter().map(|flow| flow.graph().taskflow.as_str()).collect::<Vec<_>>(), ["experts", "forward"]);
}

#[test]
fn statements_keep_their_lines_and_tensors_get_other_names() {
    let source =
        with_part().replace("let recv =", "let g = PerRank::ragged::<bf16, INTER>(ep, route);\n        let recv =");
    // The caller's `g` is a different tensor, which nothing writes or reads.
    let checked = read(&source).unwrap().remove(0);
    let graph = checked.graph();
    let names: Vec<&str> = graph.tensors.iter().map(|(_, tensor)| tensor.name.as_str()).collect();
    assert!(names.contains(&"g") && names.contains(&"experts_g") && names.contains(&"u"), "{names:?}");
    assert_eq!(checked.unread().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>(), ["g"]);
    let line = 1 + source[..source.find("swiglu(&g[r]").unwrap()].matches('\n').count();
    let swiglu = graph.phases.iter().find(|(_, phase)| graph.tasks[phase.task].name == "swiglu").unwrap().1;
    assert_eq!(swiglu.line, line);
}

#[test]
fn a_part_can_be_called_twice_and_by_parts() {
    let twice = with_part()
        .replace("&mut out, ep);\n", "&mut out, ep);\n        again(ep, route, &out, gate, up, down, &mut more);\n")
        .replace("let mut out =", "let mut more = PerRank::ragged::<bf16, HIDDEN>(ep, route);\n        let mut out =")
        .replace("give_back(&out[", "give_back(&more[")
        .replace(
            "    /// The layer for the whole group",
            "    #[taskflow]
    fn again(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Received<bf16, HIDDEN>>,
        gate: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        up: &PerRank<Experts<bf16, INTER, HIDDEN>>,
        down: &PerRank<Experts<bf16, HIDDEN, INTER>>,
        y: &mut PerRank<Received<bf16, HIDDEN>>,
    ) {
        experts(x, route, gate, up, down, y, ep);
    }
    /// The layer for the whole group",
        );
    let checked = read(&twice).unwrap().remove(0);
    let tasks = checked.graph().phases.iter().map(|(_, phase)| checked.graph().tasks[phase.task].name.as_str());
    assert_eq!(tasks.filter(|task| *task == "swiglu").count(), 2);
}

#[test]
fn a_part_runs_in_each_chunk() {
    let source = with_part();
    let (before, flow) = source.split_at(source.find("pub fn forward(").unwrap());
    let (head, rest) = flow.split_at(flow.find(") {\n").unwrap() + ") {\n".len());
    let (body, tail) = rest.split_at(rest.find("\n    }\n}").unwrap());
    let in_chunks = |body: &str| {
        let body = body.replace("route.", "c.").replace("(ep, route)", "(ep, &c)");
        format!("{before}{head}for c in route.chunks::<3>() {{\n{body}\n}}{tail}")
    };
    let checked = read(&in_chunks(&body.replace("(&recv, route,", "(&recv, &c,"))).unwrap().remove(0);
    assert_eq!(checked.graph().sizes.chunks, 3);
    assert!(checked.reuse().is_some());
    let faults = read(&in_chunks(body)).unwrap_err();
    assert!(faults[0].contains("write `&c`"), "{faults:?}");
}

#[test]
fn calls_that_cannot_be_are_told_apart() {
    let call = "experts(&recv, route, gate, up, down, &mut out, ep);";
    let words = |other: &str| {
        let faults = read(&with_part().replace(call, other)).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        faults.into_iter().next().unwrap()
    };
    for (other, said) in [
        ("experts(&recv, route, gate, up, down, &mut out);", "takes 7 arguments, but 6 arguments are passed"),
        ("experts(&recv, ep, gate, up, down, &mut out, route);", "write `route`"),
        ("experts(&recv, &route, gate, up, down, &mut out, ep);", "write `route`"),
        ("experts(&recv, route, gate, up, down, &mut out, route);", "write `ep`"),
        ("experts(&rec, route, gate, up, down, &mut out, ep);", "did you mean `recv`?"),
        ("experts(&recv[r], route, gate, up, down, &mut out, ep);", "this argument for `received` is not one"),
        (
            "for r in ep { experts(&recv, route, gate, up, down, &mut out, ep); }",
            "this call is inside the loop over `r`",
        ),
    ] {
        assert!(words(other).contains(said), "{other}: {}", words(other));
    }
    let recursive =
        with_part().replace("let g =", "experts(received, route, gate, up, down, out, ep);\n        let g =");
    let faults = read(&recursive).unwrap_err();
    assert!(faults[0].contains("taskflow `experts` calls itself"), "{faults:?}");
    let none = read(&with_part().replace("pub fn forward", "fn forward")).unwrap_err();
    assert!(none[0].contains("`experts` is not `pub`"), "{none:?}");
}

/// Like the function above, but the part has size parameters, which this call sets.
fn with_sizes(call: &str) -> String {
    let source = with_part().replace("        experts(&recv,", &format!("        {call}(&recv,"));
    let begin = source.find("    fn experts(").unwrap();
    let end = begin + source[begin..].find("\n    }\n").unwrap();
    let part = source[begin..end]
        .replace("fn experts(", "fn experts<const H: usize, const I: usize, const M: usize>(")
        .replace("HIDDEN", "H")
        .replace("INTER", "I")
        .replace("TILE_M", "M");
    [&source[..begin], &part, &source[end..]].concat()
}

#[test]
fn const_parameters_of_a_part_are_written_or_are_sizes_of_its_tensors() {
    let whole = said(&read(&EXAMPLE).unwrap()[0]);
    for call in ["experts::<HIDDEN, INTER, TILE_M>", "experts::<_, _, TILE_M>", "experts::<_, INTER, { 2 * 8 }>"] {
        assert_eq!(said(&read(&with_sizes(call)).unwrap()[0]), whole, "{call}");
    }
    // If the value is a sum, it is put in parentheses.
    let halves = read(&with_sizes("experts::<_, { INTER / 2 + INTER / 2 }, TILE_M>")).unwrap();
    assert_eq!(said(&halves[0]), whole);
}

#[test]
fn a_part_gives_its_own_sizes_to_the_parts_that_it_calls() {
    let outer = "    #[taskflow]
    fn again<const ROWS: usize, const C: usize>(
        ep: Ranks,
        route: &Route,
        x: &PerRank<Received<bf16, C>>,
        gate: &PerRank<Experts<bf16, INTER, C>>,
        up: &PerRank<Experts<bf16, INTER, C>>,
        down: &PerRank<Experts<bf16, C, INTER>>,
        y: &mut PerRank<Received<bf16, C>>,
    ) {
        experts::<C, _, ROWS>(x, route, gate, up, down, y, ep);
    }
    /// The layer for the whole group";
    let source = with_sizes("experts::<_, _, TILE_M>").replace("    /// The layer for the whole group", outer).replace(
        "experts::<_, _, TILE_M>(&recv, route, gate, up, down, &mut out, ep);",
        "again::<TILE_M, _>(ep, route, &recv, gate, up, down, &mut out);",
    );
    let flow = read(&source).unwrap().remove(0);
    assert_eq!(flow.graph().phases.iter().count(), read(&EXAMPLE).unwrap()[0].graph().phases.iter().count());
}

#[test]
fn sizes_that_no_call_tells_are_asked_for() {
    for (call, expected) in [
        ("experts", "no tensor that `experts` takes has the size `M`"),
        ("experts::<_, _, _>", "no tensor that `experts` takes has the size `M`"),
        ("experts::<_, TILE_M>", "`experts` takes 3 const arguments, but the call writes 2 const arguments"),
    ] {
        let faults = read(&with_sizes(call)).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains(expected), "{faults:?}");
    }
    let public =
        read(&with_sizes("experts::<_, _, TILE_M>").replace("    fn experts<", "    pub fn experts<")).unwrap_err();
    assert!(public[0].contains("a taskflow that is `pub` has no generic parameters"), "{public:?}");
    let of_type =
        with_sizes("experts::<_, _, TILE_M>").replace("fn experts<const H: usize,", "fn experts<T, const H: usize,");
    assert!(read(&of_type).unwrap_err()[0].contains("others have only `const` ones"));
}

/// A layer of the library's tasks, with explicit loops.
const LOOPS: &str = include_str!("../../../tools/cli/src/schedule/synthetic.rs");

/// The layer, written with the library's taskflows. `projections` are the calls that multiply the rows by gate and
/// up.
fn of_library(projections: &str) -> String {
    let begin = LOOPS.find("        let recv =").unwrap();
    let body = format!(
        "        let mut recv = PerRank::symmetric::<bf16, HIDDEN>(ep, route);
        let mut g = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut u = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut h = PerRank::ragged::<bf16, INTER>(ep, route);
        let mut out = PerRank::ragged::<bf16, HIDDEN>(ep, route);
        let mut back = PerRank::slots::<bf16, HIDDEN>(ep, route);
        dispatch_tokens::<PUT, _>(ep, route, x, &mut recv);
        {projections}
        swiglu_rows::<TILE_M, TILE_N, _>(ep, route, &g, &u, &mut h);
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, &h, down, &mut out);
        give_back_rows::<PUT, _>(ep, route, &out, &mut back);
        combine_slots::<BLOCK, SLOTS, COLUMNS, _, _>(ep, route, &back, weights, y);
    }}
}}
"
    );
    let head = LOOPS[..begin].replace(
        "tasks::{combine, dispatch, give_back, project, swiglu}",
        "taskflows::{combine_slots, dispatch_tokens, give_back_rows, project_rows, swiglu_rows}",
    );
    head + &body
}

const PROJECTIONS: &str = "project_rows::<TILE_M, TILE_N, _, _>(ep, route, &recv, gate, &mut g);
        project_rows::<TILE_M, TILE_N, _, _>(ep, route, &recv, up, &mut u);";

#[test]
fn taskflows_of_the_library_are_their_loops() {
    assert_eq!(said(&read(&of_library(PROJECTIONS)).unwrap()[0]), said(&read(LOOPS).unwrap()[0]));
}

#[test]
fn a_taskflow_of_the_library_calls_the_tasks_of_the_library() {
    // Only the product with up calls the module's own `project`.
    let own = "    #[aic_task]
    pub fn project(x: &Tile<bf16, TILE_M, HIDDEN>, w: &Tile<bf16, TILE_N, HIDDEN>, y: &mut Tile<bf16, TILE_M, TILE_N>) {
        y.store(x.matmul_t(w));
    }

    /// Dispatch, gate";
    let up = "project_rows::<TILE_M, TILE_N, _, _>(ep, route, &recv, gate, &mut g);
        for r in ep { for e in route.experts_of(r) { for m in route.row_tiles::<TILE_M>(e) { for n in 0..INTER.div_ceil(TILE_N) {
            project(&recv[r].group(e, m), &up[r].expert(e).tile(n), &mut u[r].group(e, m).cols(n));
        } } } }";
    let checked = |source: &str| read(source).unwrap_or_else(|faults| panic!("{faults:?}")).remove(0);
    let names = |source: &str| {
        let checked = checked(source);
        let graph = checked.graph();
        graph.phases.iter().map(|(_, phase)| graph.tasks[phase.task].name.clone()).collect::<Vec<_>>()
    };
    let usual = names(&of_library(PROJECTIONS));
    assert_eq!(usual, ["dispatch", "project", "project", "swiglu", "project", "give_back", "combine"]);
    let source = of_library(up).replace("    /// Dispatch, gate", own);
    let renamed = "project_rows_project";
    assert_eq!(names(&source), ["dispatch", renamed, "project", "swiglu", renamed, "give_back", "combine"]);
    // A task that the module uses already is the same task, also under another name.
    let used = "use hpmoe_runtime::tasks::{project, swiglu as dispatch};\n    use hpmoe_runtime::taskflows";
    let source = of_library(PROJECTIONS).replace("use hpmoe_runtime::taskflows", used);
    assert_eq!(
        names(&source),
        ["dispatch_tokens_dispatch", "project", "project", "swiglu", "project", "give_back", "combine"]
    );
}

#[test]
fn what_is_used_of_the_library_is_named_and_exists() {
    let words = |from: &str, to: &str| read(&of_library(PROJECTIONS).replace(from, to)).unwrap_err().concat();
    let unknown = words("swiglu_rows}", "swiglu_row}");
    assert!(
        unknown.contains("taskflow of the library") && unknown.contains("did you mean `swiglu_rows`?"),
        "{unknown}"
    );
    let all =
        words("taskflows::{combine_slots, dispatch_tokens, give_back_rows, project_rows, swiglu_rows}", "taskflows::*");
    assert!(all.contains("a kernel imports tasks and taskflows of the library by name"), "{all}");
    let size = words("dispatch_tokens::<PUT, _>", "dispatch_tokens::<_, _>");
    assert!(size.contains("no tensor that `dispatch_tokens` takes has the size `PUT`"), "{size}");
}

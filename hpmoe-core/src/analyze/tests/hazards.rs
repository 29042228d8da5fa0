//! Calls that are refused because elements would be read or written in no order.

use super::{checked, dispatch, swiglu, tiles};

/// The call of a task that makes columns of one tensor from those of another, in tiles of 8 rows.
fn columns(width: u32, from: (&str, u32), to: (&str, u32)) -> String {
    let part = |(tensor, n): (&str, u32)| format!("{tensor}[r].group(e, t).cols(n + {n})");
    let (from, to) = (part(from), part(to));
    let call = format!("swiglu::<{width}, _>(&{from}, &{from}, &mut {to});").replace("n + ", "");
    tiles(8, &call)
}

/// The faults of a taskflow that runs these calls and then gives `b` back.
fn faults(calls: &[String]) -> Vec<String> {
    checked(&(dispatch("x") + &calls.concat()), "b").err().unwrap_or_default()
}

const NONE: [&str; 0] = [];

#[test]
fn a_call_does_not_read_what_it_writes() {
    let all = swiglu(8, 32, "recv", "a");
    let last = swiglu(8, 32, "a", "b");
    let in_place = "`b` is updated in place: this call reads what it writes";
    for (read, written) in [(0, 0), (1, 1)] {
        let found = faults(&[all.clone(), last.clone(), columns(32, ("b", read), ("b", written))]);
        assert_eq!(found, [in_place]);
    }
    // Columns next to each other are others.
    for (read, written) in [(0, 1), (1, 0)] {
        let first = columns(32, ("recv", read), ("b", read));
        assert_eq!(faults(&[first, columns(32, ("b", read), ("b", written))]), NONE);
    }
    // A part of what is written, and the other way round.
    let project = |n| {
        format!(
            "project::<32, _, 16>(&b[r].group(e, t).cols({n}), &w[r].expert(e).tile(0).cols(0), &mut b[r].group(e, t).cols(0));"
        )
    };
    let halve = |n| format!("halve::<32>(&b[r].group(e, t).cols(0), &mut b[r].group(e, t).cols({n}));");
    for call in [project(0), project(1), halve(0), halve(1)] {
        let found = faults(&[all.clone(), last.clone(), tiles(8, &call)]);
        assert!(found.contains(&in_place.to_owned()), "{call}: {found:?}");
    }
    for call in [project(2), halve(2)] {
        let found = faults(&[all.clone(), last.clone(), tiles(8, &call)]);
        assert!(!found.contains(&in_place.to_owned()), "{call}: {found:?}");
    }
}

#[test]
fn what_is_read_has_been_written() {
    let read_all = swiglu(8, 64, "a", "b");
    let half = |n| columns(32, ("recv", n), ("a", n));
    let quarter = |n| columns(16, ("recv", n), ("a", n));
    // In any order, and the same from any column on.
    assert_eq!(faults(&[half(1), half(0), read_all.clone()]), NONE);
    assert_eq!(faults(&[half(1), quarter(1), quarter(0), read_all.clone()]), NONE);
    for n in [0, 1] {
        assert_eq!(
            faults(&[half(n), columns(32, ("a", n), ("b", n)), columns(32, ("recv", 1 - n), ("b", 1 - n))]),
            NONE
        );
    }
    let missing = |from, to| format!("columns {from} to {to} of `a` are read, but no call writes them");
    assert_eq!(faults(&[half(0), read_all.clone()]), [missing(32, 64)]);
    assert_eq!(faults(&[half(1), read_all.clone()]), [missing(0, 64)]);
    assert_eq!(
        faults(&[quarter(0), quarter(2), half(1), read_all.clone()])[..1],
        ["`a` is written here a second time, but each element has one writer"]
    );
    assert_eq!(faults(&[quarter(0), half(1), read_all.clone()]), [missing(16, 64)]);
    let b = |n| columns(32, ("recv", n), ("b", n));
    assert_eq!(faults(&[half(0), columns(32, ("a", 1), ("b", 1)), b(0)]), [missing(32, 64)]);
    assert_eq!(faults(&[half(1), columns(32, ("a", 0), ("b", 0)), b(1)]), [missing(0, 32)]);
    // What a later call writes does not count, nor does what the call itself writes.
    let found = faults(&[half(0), read_all.clone(), half(1)]);
    assert!(found.contains(&missing(32, 64)), "{found:?}");
    assert_eq!(faults(&[read_all.clone(), half(0), half(1)]), ["`a` is read before it is written"]);
    assert_eq!(faults(&[read_all]), ["`a` is read, but no call writes it"]);
}

#[test]
fn each_element_has_one_writer() {
    let half = |n| columns(32, ("recv", n), ("b", n));
    let quarter = |n| columns(16, ("recv", n), ("b", n));
    let again = "`b` is written here a second time, but each element has one writer";
    assert_eq!(faults(&[half(0), half(1)]), NONE);
    assert_eq!(faults(&[quarter(0), quarter(1), half(1)]), NONE);
    for second in [half(0), half(1), quarter(0), quarter(1), quarter(2), quarter(3)] {
        assert_eq!(faults(&[half(0), half(1), second]), [again]);
    }
    for first in [quarter(0), quarter(1)] {
        assert_eq!(faults(&[first, half(0), half(1)]), [again]);
    }
    let ranges = |call: &str| tiles(8, &format!("for n in 0..2 {{ for k in 0..2 {{ {call} }} }}"));
    let write = |n: &str| {
        format!(
            "swiglu::<32, _>(&recv[r].group(e, t).cols(0), &recv[r].group(e, t).cols(1), &mut b[r].group(e, t).cols({n}));"
        )
    };
    let by_each = |name| format!("all iterations over `{name}` write the same elements of `b`, in undefined order");
    assert_eq!(faults(&[ranges(&write("n"))]), [by_each("k")]);
    assert_eq!(faults(&[ranges(&write("k"))]), [by_each("n")]);
    // What chooses the columns of another result does not choose those of this one.
    let two = "#[aiv_task]
        pub fn both(x: &Tile<bf16, 8, 32>, a: &mut Tile<bf16, 8, 32>, b: &mut Tile<bf16, 8, 32>) {
            let x = x.load();
            a.store(&x + &x);
            b.store(&x * &x);
        }
        #[taskflow]";
    let both = |a: &str, b: &str| {
        let part = |tensor: &str, n: &str| format!("{tensor}[r].group(e, t).cols({n})");
        let call = format!("both(&{}, &mut {}, &mut {});", part("recv", "n"), part("a", a), part("b", b));
        let calls = dispatch("x") + &tiles(8, &format!("for n in 0..2 {{ {call} }}"));
        super::read(&super::source(&calls, "b").replacen("#[taskflow]", two, 1)).err().unwrap_or_default()
    };
    assert_eq!(both("n", "n"), NONE);
    assert_eq!(both("0", "n"), ["all iterations over `n` write the same elements of `a`, in undefined order"]);
    assert_eq!(both("n", "1")[..1], [by_each("n")]);
    // A range of one value is not a repetition.
    assert_eq!(faults(&[ranges(&write("n")).replace("for k in 0..2", "for k in 0..1")]), NONE);
}

#[test]
fn what_has_been_read_is_not_written() {
    let half = |n| columns(32, ("recv", n), ("a", n));
    let b = |n| columns(32, ("a", n), ("b", n));
    let read = "`a` is written here, after an earlier call has read it";
    assert_eq!(faults(&[half(0), half(1), b(0), b(1)]), NONE);
    assert_eq!(faults(&[half(0), b(0), half(1), b(1)]), [read]);
    // One call may read a part and write another.
    assert_eq!(faults(&[half(0), columns(32, ("a", 0), ("a", 1)), b(0), b(1)]), NONE);
}

#[test]
fn outputs_are_written_before_anything_reads_them() {
    let rows = "for r in ep { for t in route.token_blocks::<4>(r) { square::<4>(&y[r].rows(t), &mut z[r].rows(t)); } }";
    let found = faults(&[swiglu(8, 32, "recv", "b"), rows.to_owned()]);
    assert_eq!(found, ["`y` is read before it is written"]);
    // The call itself does not count as a writer before it.
    let found = faults(&[columns(32, ("b", 0), ("b", 1)), columns(32, ("recv", 0), ("b", 0))]);
    assert!(found.contains(&"`b` is read before it is written".to_owned()), "{found:?}");
    assert!(!found.iter().any(|fault| fault.contains("after an earlier call has read it")), "{found:?}");
}

#[test]
fn a_reader_is_shown_the_first_call_that_writes() {
    let half = |n| columns(32, ("recv", n), ("a", n));
    let calls = [dispatch("x"), swiglu(8, 64, "a", "b"), half(0), half(1)].concat();
    let source = super::source(&calls, "b");
    let fault = super::faults(&source).remove(0);
    let (writer, _) = fault.words().also.remove(0);
    let line = source.lines().position(|line| line.contains("&mut a[r]")).unwrap() + 1;
    assert_eq!(writer.start().line, line);
}

#[test]
fn a_task_that_does_not_fit_its_core_is_at_fault_itself() {
    // Rows of 65,536 numbers, of which the calls write 64.
    let source = super::source(&(dispatch("x") + &swiglu(8, 32, "recv", "b")), "b").replace("64", "65536");
    let faults = super::faults(&source);
    let places: Vec<_> = faults.iter().map(|fault| (fault.words().code, fault.function.as_deref())).collect();
    assert_eq!(places, [("HP10", Some("forward")), ("HP14", None), ("HP14", None), ("HP14", None)]);
}

#[test]
fn an_output_without_a_writer_is_refused_in_its_taskflow() {
    let source = super::source(&(dispatch("x") + &swiglu(8, 32, "recv", "b")), "b");
    let source = source.replace(
        "y: &mut PerRank<Tensor<bf16, 64>>)",
        "y: &mut PerRank<Tensor<bf16, 64>>, extra: &mut PerRank<Tensor<bf16, 64>>)",
    );
    assert_eq!(super::read(&source).err().unwrap(), ["`extra` is an output of the taskflow, but no call writes it"]);
    let faults = super::faults(&source);
    assert_eq!(faults.iter().map(|fault| fault.function.as_deref()).collect::<Vec<_>>(), [Some("forward")]);
}

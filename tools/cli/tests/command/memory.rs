//! `hpmoe memory`.

use crate::{BACKWARD, LAYER, SIZE, json, prints, refuses};
use serde_json::Value;

const CHUNKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/moe_chunked.rs");
const CHUNK_SIZE: &str = "HIDDEN=1024,INTER=256,EXPERTS=16,TOP_K=4";

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no {key} in {value}"))
}

fn line<'a>(memory: &'a Value, name: &str) -> &'a Value {
    memory["lines"].as_array().unwrap().iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

fn bytes_in(memory: &Value, place: &str) -> u64 {
    let lines = memory["lines"].as_array().unwrap().iter();
    lines.filter(|line| line["place"] == place).map(|line| number(line, "bytes")).sum()
}

#[test]
fn every_tensor_has_a_place_rows_and_bytes() {
    let memory = json(&["memory", LAYER, "--set", SIZE, "--ranks", "4", "--json"]);
    // Four ranks, 256 tokens, four of the four experts of a rank.
    assert_eq!(number(&memory, "capacity_rows"), 4 * 256 * 4);
    let recv = line(&memory, "recv");
    assert_eq!((recv["place"].as_str(), recv["formula"].as_str()), (Some("symmetric heap"), Some("rows")));
    assert_eq!((number(recv, "rows"), number(recv, "bytes")), (4096, 4096 * 1024 * 2));
    assert_eq!((&recv["written_by"], recv["read_by"].as_array().unwrap().len()), (&serde_json::json!(["dispatch"]), 2));
    assert_eq!(line(&memory, "x")["purpose"], "input");
    assert_eq!(line(&memory, "gate")["formula"], "S·256");
    for (place, key) in [("symmetric heap", "heap_bytes"), ("workspace", "workspace_bytes"), ("caller", "caller_bytes")]
    {
        assert_eq!(bytes_in(&memory, place), number(&memory, key), "{place}");
    }
    assert!(memory["on_chip"].as_array().unwrap().iter().any(|line| line["memory"] == "L0C"));
    let text = prints(&["memory", LAYER, "--set", SIZE, "--ranks", "4"]);
    for words in
        ["rows = 4096 received rows (the most that any routing brings)", "rows = 4096 of 2048 B", "dispatch → project"]
    {
        assert!(text.contains(words), "{words} is not in:\n{text}");
    }
}

#[test]
fn rows_and_tokens_make_room() {
    let memory =
        |more: &[&str]| json(&[&["memory", LAYER, "--ranks", "4", "--set", CHUNK_SIZE, "--json"], more].concat());
    let (whole, few) = (memory(&["--tokens", "512"]), memory(&["--tokens", "512", "--rows", "100"]));
    assert_eq!((number(&whole, "tokens"), number(&whole, "even_rows")), (512, 512 * 4));
    assert_eq!((number(&few, "capacity_rows"), number(&few, "default_capacity_rows")), (100, 4 * 512 * 4));
    assert_eq!(number(line(&few, "g"), "rows"), 100);
    assert_eq!(line(&few, "back"), line(&whole, "back"));
}

#[test]
fn chunks_and_kept_rows_are_counted() {
    let memory = |chunks: &str| {
        json(&["memory", CHUNKED, "--ranks", "4", "--tokens", "512", "--set", CHUNK_SIZE, "--chunks", chunks, "--json"])
    };
    let bytes = |chunks| number(&memory(chunks), "workspace_bytes");
    assert_eq!((number(&memory("4"), "chunks"), line(&memory("4"), "recv")["formula"].as_str()), (4, Some("2·rows")));
    assert_eq!(
        (bytes("1"), bytes("2"), bytes("4"), bytes("8")),
        (bytes("2"), 2 * bytes("4"), 2 * bytes("8"), bytes("8"))
    );
    let backward = ["memory", BACKWARD, "--ranks", "2", "--taskflow", "moe_train::forward", "--json"];
    let kept = json(&backward);
    assert_eq!(line(&kept, "recv")["purpose"], "kept for another launch");
    assert!(number(&kept, "kept_bytes") > 0);
    // With processes, the heap also has the tensor that peers write, and the word that stops them.
    let processes = json(&[&backward[..], &["--processes"]].concat());
    let received = number(line(&kept, "recv"), "bytes").next_multiple_of(512);
    assert_eq!(number(&processes, "heap_bytes"), number(&kept, "heap_bytes") + received + 512);
}

#[test]
fn what_can_not_be_is_refused() {
    let routed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui-tests/kernels/routed.rs");
    let said = refuses(&["memory", routed, "--ranks", "2", "--chunks", "3"]);
    assert!(said.contains("always has 1: write its loop as") && said.contains("choose another --taskflow"), "{said}");
    let said = refuses(&["memory", CHUNKED, "--set", "CHUNKS_AT_MOST=8", "--ranks", "4", "--chunks", "2"]);
    assert!(said.contains("choose up to 8 chunks: leave it out, or set CHUNKS_AT_MOST to 0"), "{said}");
    assert!(refuses(&["memory", LAYER, "--chunks", "2"]).contains("CHUNKS"));
    assert!(refuses(&["memory", LAYER, "--ranks", "7", "--taskflow", "none"]).contains("there is no taskflow `none`"));
}

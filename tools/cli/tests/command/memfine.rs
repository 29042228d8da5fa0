//! Figures of MemFine (arXiv 2511.21431), computed by its formulae, next to those of this project's kernels, as in docs/memory.md.

use crate::json;

const MEMORY: &str = include_str!("../../../../docs/memory.md");
/// Table 4: GB of active memory with full recomputation without chunks, with 8 chunks, and with the number that its scheduler chooses,
/// which is 2.
const PEAKS: [(u32, f64); 3] = [(1, 22.9), (8, 3.7), (2, 11.9)];
/// Table 4: GB of static memory of models I and II.
const STATIC: [f64; 2] = [43.0, 39.5];
const GB: f64 = 1e9;

/// The layer in its Table 3: the sizes of DeepSeek-V3, sequences of 4,096 tokens, bf16.
struct Shape {
    sequence: f64,
    hidden: f64,
    heads: f64,
    head: f64,
    router: f64,
    inter: f64,
    bytes: f64,
}

const SHAPE: Shape =
    Shape { sequence: 4096.0, hidden: 7168.0, heads: 128.0, head: 128.0, router: 256.0, inter: 2048.0, bytes: 2.0 };

impl Shape {
    /// The part of Eq. 2 that all chunks share, for one micro-batch and full recomputation: attention and router. There are as many heads
    /// of keys and values as of queries.
    fn whole(&self) -> f64 {
        let of_token = 5.0 * self.hidden + 3.0 * self.heads * self.head + self.router;
        self.bytes * self.sequence * of_token
    }

    /// Bytes for each row that a rank receives, by Eq. 2.
    fn of_row(&self) -> f64 {
        self.bytes * (2.0 * self.hidden + 2.0 * self.inter)
    }
}

/// Active memory by Eq. 2 if the received rows are divided into chunks, given the part that stays and the part that is divided.
fn active((whole, rows): (f64, f64), chunks: u32) -> f64 {
    whole + rows / f64::from(chunks)
}

/// Computes both parts from two printed peaks.
fn parts([(a, peak_a), (b, peak_b)]: [(u32, f64); 2]) -> (f64, f64) {
    let rows = (peak_a - peak_b) / (1.0 / f64::from(a) - 1.0 / f64::from(b));
    (peak_a - rows / f64::from(a), rows)
}

/// Eq. 8 and 9: the number of chunks, one of 1, 2, 4 and 8, for this many GB of rows; `None` if even 8 are not enough.
fn chosen(budget: f64, fixed: f64, whole: f64, rows: f64) -> Option<u32> {
    let room = budget - fixed - whole;
    let least = (rows / room).ceil();
    [1, 2, 4, 8].into_iter().find(|&bin| room > 0.0 && f64::from(bin) >= least)
}

fn saved(peak: f64, of: f64) -> f64 {
    100.0 * (1.0 - peak / of)
}

#[test]
fn its_peaks_follow_from_its_formula() {
    let whole_peak = PEAKS[0].1;
    assert_eq!(PEAKS.map(|(_, peak)| (saved(peak, whole_peak) * 100.0).round() / 100.0), [0.0, 83.84, 48.03]);
    // Two of the printed peaks give both parts of Eq. 2, and the third one follows.
    let parts = parts([PEAKS[0], PEAKS[1]]);
    assert!((parts.0 - 0.957).abs() < 0.001 && (parts.1 - 21.943).abs() < 0.001, "{parts:?}");
    for (chunks, printed) in PEAKS {
        assert!((active(parts, chunks) - printed).abs() < 0.05, "{chunks} chunks: {}", active(parts, chunks));
    }
    assert!((active(parts, 4) - 6.44).abs() < 0.005);
}

#[test]
fn its_formula_gives_the_savings_without_a_fit() {
    // From the shape alone and the rows that follow from the printed peak without chunks: within one percentage point.
    let whole = SHAPE.whole() / GB;
    assert!((whole - 0.698).abs() < 0.001, "{whole}");
    let parts = (whole, PEAKS[0].1 - whole);
    for (chunks, printed) in [(2, 48.03), (8, 83.84)] {
        let saves = saved(active(parts, chunks), PEAKS[0].1);
        assert!((saves - printed).abs() < 1.0, "{chunks} chunks save {saves} %");
    }
    // These rows are fewer than a rank can receive: 32 ranks of 4,096 tokens, each with 8 experts there.
    let rows = parts.1 * GB / SHAPE.of_row();
    assert!((590_000.0..610_000.0).contains(&rows) && rows < 32.0 * 4096.0 * 8.0, "{rows}");
}

#[test]
fn its_choice_of_chunks_follows_from_its_budget() {
    let (whole, rows) = parts([PEAKS[0], PEAKS[1]]);
    let worst = 32.0 * 4096.0 * 8.0 * SHAPE.of_row() / GB;
    // Two chunks for both models, and never more than four: the numbers that its Fig. 5 shows.
    for percent in 86..=97 {
        for fixed in STATIC {
            let choose = |rows| chosen(64.0 * f64::from(percent) / 100.0, fixed, whole, rows);
            assert_eq!(choose(rows), Some(2), "{percent} %");
            assert!(choose(worst).is_some_and(|chunks| chunks <= 4), "{percent} %");
        }
    }
    assert_eq!(chosen(64.0, STATIC[1], whole, rows), Some(1));
    assert_eq!(chosen(44.0, STATIC[0], whole, rows), None);
}

/// The cells of the rows that begin with the given words, from the tables in docs/memory.md.
fn row(first: &str) -> Vec<Vec<&'static str>> {
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    MEMORY.lines().filter(|line| line.starts_with('|')).map(cells).filter(|cells| cells[0] == first).collect()
}

const LAYER: &str = "HIDDEN=7168,INTER=2048,EXPERTS=64,TOP_K=8";

/// The memory that a taskflow of an example needs for that layer on 8 ranks: MiB of heap and workspace, and MiB that are kept.
fn needs(file: &str, more: &[&str]) -> (f64, f64) {
    let file = format!("{}/../../examples/{file}.rs", env!("CARGO_MANIFEST_DIR"));
    let common = ["memory", &file, "--ranks", "8", "--tokens", "4096", "--set", LAYER, "--json"];
    let memory = json(&[&common[..], more].concat());
    let mib = |key: &str| memory[key].as_f64().unwrap() / 1_048_576.0;
    (mib("heap_bytes") + mib("workspace_bytes"), mib("kept_bytes"))
}

fn thousands(mib: f64) -> String {
    let whole = mib.round() as u64;
    if whole < 1000 { format!("{whole} MiB") } else { format!("{},{:03} MiB", whole / 1000, whole % 1000) }
}

#[test]
fn the_page_has_the_memory_of_chunks() {
    let mut least = f64::NAN;
    for chunks in [1_u32, 2, 4, 8] {
        let (number, even) = (chunks.to_string(), (32_768 / chunks).to_string());
        let of = |file: &str, more: &[&str]| needs(file, &[&["--chunks", &number], more].concat()).0;
        let (forward, backward) = ("moe_chunked", "moe_backward_chunked");
        let most = of(backward, &[]);
        let found = [of(forward, &[]), of(forward, &["--rows", &even]), most, of(backward, &["--rows", &even])];
        let [ours, theirs] = &row(&number)[..] else { panic!("two tables have a row for {chunks} chunks") };
        assert_eq!(ours[1..], found.map(thousands), "{chunks} chunks");
        // Next to MemFine.
        let parts = parts([PEAKS[0], PEAKS[1]]);
        let (peak, saves) = (active(parts, chunks), |peak, of| saved(peak, of));
        let gb = most * 1_048_576.0 / GB;
        if chunks == 1 {
            least = gb;
        }
        // Rounded first: two chunks need a few words more than one, which must not be printed as a negative zero.
        let saved = format!("{gb:.1} (−{:.1} %)", (10.0 * saves(gb, least)).round() / 10.0 + 0.0);
        let words = match chunks {
            1 => [format!("{peak:.1}"), format!("{gb:.1}")],
            8 => [format!("{peak:.1} (−{:.2} %)", saves(peak, 22.9)), saved],
            _ => [format!("{peak:.2} (−{:.1} %)", saves(peak, 22.9)), saved],
        };
        assert_eq!(theirs[2..], words, "{chunks} chunks");
    }
}

#[test]
fn the_page_has_what_is_kept_between_passes() {
    let even = ["--rows", "32768"];
    for flow in ["backward", "backward_recomputing", "backward_dispatching"] {
        let (needs, kept) = needs("moe_backward", &[&["--taskflow", flow][..], &even].concat());
        assert_eq!(row(&format!("`{flow}`"))[0][1..], [thousands(kept), thousands(needs)], "{flow}");
    }
    let (needs, kept) = needs("moe_backward_chunked", &["--chunks", "8", "--rows", "4096"]);
    assert_eq!(row("`moe_backward_chunked`, 8 chunks")[0][1..], [thousands(kept), thousands(needs)]);
}

//! The construction of the original's program against the output of the original's own scheduler.
//!
//! One of its files is here in full. For the seven others there is a checksum of each section: FNV-1a over the section as JSON
//! without spaces.

#[path = "baseline/render.rs"]
mod render;

use flate2::read::GzDecoder;
use hpmoe_simulator::baseline::Direction::{Backward, Forward};
use hpmoe_simulator::baseline::{Direction, LayerShape, Limit, Operator, Original, OriginalCounter, OriginalWork};
use render::{SECTIONS, section};
use serde_json::Value;

const BUNDLED: &[u8] = include_bytes!("baseline/forward_ep4.json.gz");

/// 48 experts of hidden 5120: rows that neither ranks nor tiles divide.
const NARROW: LayerShape =
    LayerShape { ranks: 8, tokens: 4096, experts: 48, top_k: 8, hidden: 5120, intermediate: 1792 };

/// Checksums of the original's files, in the order of [`SECTIONS`].
#[rustfmt::skip]
const FILES: [(Direction, LayerShape, [u64; 5]); 8] = [
    (Forward, LayerShape::deepseek_v3(4), [
        0x373b_6cff_d19c_1ef8,
        0x88ca_0935_7301_774e,
        0x376e_4ae6_289c_5ffc,
        0xa263_2362_2044_f5ac,
        0x3371_8e80_0e9e_3882,
    ]),
    (Forward, LayerShape::deepseek_v3(8), [
        0x21e1_6ec7_0102_4166,
        0x2531_e867_9bbd_7281,
        0xe514_f89f_5183_0ef7,
        0x58cc_1e9d_9cfa_52b1,
        0x5567_4cb4_70f0_0aaa,
    ]),
    (Forward, LayerShape::deepseek_v3(16), [
        0xe12e_f1ab_ef2c_7453,
        0x9c5e_1a6a_061b_a086,
        0x6561_855b_24f7_9fbc,
        0xe78a_f989_9664_65a0,
        0xe1ee_3c84_17b5_ccb0,
    ]),
    (Forward, NARROW, [
        0xeccf_c30e_03a7_34cd,
        0xe7b0_7386_d988_4184,
        0x33b4_8e46_a87c_073a,
        0x0860_8548_4cdd_5e97,
        0x55b5_6a7a_1a8c_ec99,
    ]),
    (Backward, LayerShape::deepseek_v3(4), [
        0xebe5_697b_266f_bd27,
        0xfacc_e0c3_1572_6af0,
        0x2b8d_b088_a89c_e3e0,
        0xe9c2_d542_167a_4d37,
        0x9b7c_7849_f7df_3b6c,
    ]),
    (Backward, LayerShape::deepseek_v3(8), [
        0x4dd1_e5f6_dbf5_c75b,
        0x50b8_5316_5158_57b8,
        0x46b1_806c_8277_dd22,
        0x0dbb_45fa_3b99_25d5,
        0x0890_e410_8d62_0ca4,
    ]),
    (Backward, LayerShape::deepseek_v3(16), [
        0x284a_56a5_43c6_003a,
        0x8ff4_b601_b4e2_8b35,
        0x97f4_5ecd_6987_e3ed,
        0x7b60_72d9_8730_63a0,
        0x8da3_1f62_501e_5d66,
    ]),
    (Backward, NARROW, [
        0x2cbe_1403_ef5c_e9a4,
        0x7678_67aa_82a3_9bb4,
        0x32af_f324_aa7b_6292,
        0x7141_c74e_f399_ab92,
        0x0b7e_26f0_3a59_b18f,
    ]),
];

fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_bundled_file_is_equal_task_by_task() {
    let file: Value = serde_json::from_reader(GzDecoder::new(BUNDLED)).unwrap();
    let original = Original::new(LayerShape::deepseek_v3(4), Forward);
    for name in SECTIONS {
        let ours: Value = serde_json::from_str(&section(&original, name)).unwrap();
        if let (Value::Array(theirs), Value::Array(ours)) = (&file[name], &ours) {
            for (place, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                assert_eq!(theirs, ours, "{name}[{place}]");
            }
        }
        assert!(file[name] == ours, "{name} differs");
    }
    assert_eq!(file["tasks"].as_array().unwrap().len(), 3457);
    assert_eq!(file["meta"]["all_event_num"], original.counters().last().0);
    assert_eq!(file["meta"]["bal_rows_per_src_expert"], original.shape().balanced_rows());
}

#[test]
fn all_eight_files_are_equal_by_their_checksums() {
    for (direction, shape, expected) in FILES {
        let original = Original::new(shape, direction);
        for (name, expected) in SECTIONS.into_iter().zip(expected) {
            let found = fnv1a(&section(&original, name));
            assert_eq!(found, expected, "{name} of {} on {} ranks", direction.name(), shape.ranks);
        }
        assert_eq!(original.limits(), [], "the original ran it");
    }
}

#[test]
fn ranks_differ_in_the_first_wait_and_in_what_is_their_own() {
    let original = Original::new(LayerShape::deepseek_v3(4), Backward);
    for (mine, theirs) in original.tasks(0).iter().zip(original.tasks(3)) {
        let first_products = [Operator::ActGrad, Operator::W2Grad];
        let shift = if first_products.contains(&mine.operator) { 3 * 8 } else { 0 };
        assert_eq!(theirs.waits, OriginalCounter(mine.waits.0 + shift));
        assert_eq!((theirs.threshold, theirs.signals), (mine.threshold, mine.signals));
        match theirs.work {
            OriginalWork::Put { peer, .. } => assert_eq!((theirs.signals_at, mine.signals_at), (peer, peer)),
            _ => assert_eq!((theirs.signals_at, mine.signals_at), (3, 0)),
        }
    }
}

#[test]
fn what_the_original_refuses_is_told() {
    let limits = |shape| Original::new(shape, Forward).limits();
    assert_eq!(limits(LayerShape { tokens: 64, ..NARROW }), [Limit::Tokens { tokens: 64 }]);
    assert_eq!(limits(LayerShape::deepseek_v3(64)), [Limit::Tasks { tasks: 49_537 }]);
    assert_eq!(limits(LayerShape { ranks: 2, ..NARROW })[0], Limit::Experts { experts: 24 });
    assert_eq!(Limit::Tasks { tasks: 49_537 }.to_string(), "49537 tasks per rank exceed 25600");
}

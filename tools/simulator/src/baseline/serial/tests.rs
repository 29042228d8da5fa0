use super::{RowClass, Serial, SerialWork, Way};
use crate::baseline::{Direction, LayerShape, ProductExtent, extras};
use crate::simulate::{Routing, Time, Written, simulate};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::cost::gradient_bytes;
use hpmoe_core::fixture::{self, Layer, moe_backward, moe_ffn};
use hpmoe_core::target::Target;

fn names(checked: &CheckedGraph, routing: &Routing) -> Vec<String> {
    let serial = Serial::of_graph(checked, routing.clone(), &Target::ascend_a3());
    serial.operators().iter().map(|operator| operator.name.clone()).collect()
}

fn time(serial: &Serial) -> Time {
    simulate(&Target::ascend_a3(), serial, false).unwrap().time
}

/// Numbers of tokens per rank: that of the published latencies, and smaller ones.
const TOKENS: [usize; 3] = [4096, 512, 128];

#[test]
fn operators_of_the_graph_take_as_long_as_those_that_are_published() {
    let target = Target::ascend_a3();
    for tokens in TOKENS {
        let layer = Layer { tokens, ..Layer::DEEPSEEK };
        let shape = LayerShape { tokens: tokens as u32, ..LayerShape::deepseek_v3(8) };
        for (direction, checked) in [(Direction::Forward, moe_ffn(&layer)), (Direction::Backward, moe_backward(&layer))]
        {
            let own = Serial::of_graph(&checked, shape.balanced(), &target);
            let element = gradient_bytes(checked.graph()).unwrap_or(2);
            let published = Serial::published(shape, direction, shape.balanced(), &target);
            let published = published.with_gradients(Written::once(element, false));
            // The graph has permutation and sum over k, which the published latencies leave out.
            let around: Time = extras(&shape, &target).iter().map(|extra| extra.time).sum();
            let ratio = time(&own).us() / (time(&published) + around).us();
            assert!((ratio - 1.0).abs() < 0.01, "{tokens} tokens, {direction:?}: {ratio}");
        }
    }
}

#[test]
fn products_of_one_input_and_neighbouring_elementwise_phases_are_one_operator() {
    let layer = Layer { tokens: 256, ..Layer::SMALL };
    let routing = LayerShape { ranks: 4, tokens: 256, experts: 16, top_k: 4, hidden: 64, intermediate: 64 }.balanced();
    let forward = [
        "permutation for dispatch",
        "dispatch",
        "project→g + project→u",
        "swiglu",
        "project→out",
        "give_back",
        "combine",
    ];
    assert_eq!(names(&moe_ffn(&layer), &routing), forward);
    let backward = names(&moe_backward(&layer), &routing);
    let expected = [
        "permutation for dispatch + send_weights",
        "dispatch + send_weights",
        "project_back",
        "swiglu_grad_of",
        "input_grad",
        "weight_grad→ddown",
        "weight_grad→dgate + weight_grad→dup",
        "give_back + give_back_parts",
        "router_grad + sum_over_k",
    ];
    assert_eq!(backward, expected);
    // A kernel that makes its route has work before it.
    let router = names(&fixture::router(&layer), &routing);
    assert_eq!(router[..2], ["square", "score"]);
    assert!(router.contains(&"tables of the route".to_owned()), "{router:?}");
    // Chunks are a matter of the schedule.
    assert_eq!(names(&fixture::chunked(&layer, 4), &routing), names(&fixture::prepared(&layer), &routing));
    // A copy on the rank that tokens are sent to once is not a collective.
    let once = names(&fixture::once(&layer), &routing);
    assert_eq!(once[..3], ["permutation for dispatch→once", "dispatch→once", "dispatch→recv"]);
}

#[test]
fn extents_are_those_of_the_whole_operator() {
    let layer = Layer { hidden: 2048, inter: 768, ..Layer::DEEPSEEK };
    let shape = LayerShape::deepseek_v3(8);
    let serial = Serial::of_graph(&moe_backward(&layer), shape.balanced(), &Target::ascend_a3());
    let found = |name: &str| serial.operators().iter().find(|operator| operator.name == name).unwrap().work;
    let product = |name: &str| match found(name) {
        SerialWork::Product(product) => {
            let extents = product.extents;
            [extents.m, extents.n, extents.k].map(|extent| if extent == ProductExtent::Rows { 0 } else { extent.at(0) })
        }
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(product("project_back"), [0, 768, 2048]);
    // Two products are added up.
    assert_eq!(product("input_grad"), [0, 2048, 2 * 768]);
    assert_eq!(product("weight_grad→ddown"), [2048, 768, 0]);
    assert_eq!(product("weight_grad→dgate + weight_grad→dup"), [2 * 768, 2048, 0]);
    let SerialWork::Vector { rows, read, written } = found("swiglu_grad_of") else { panic!("it is elementwise") };
    // Five operands with a column for each of 768, a weight, and a part of a gradient for each tile of columns.
    assert_eq!((rows, read.row), (RowClass::Received, 4 * 2 * 768 + 4));
    assert_eq!(written.row - 3 * 2 * 768, 4 * 768u64.div_ceil(layer.tile_n as u64));
    let SerialWork::Collective { way, row } = found("dispatch + send_weights") else { panic!("it is a collective") };
    assert_eq!((way, row), (Way::Out, 2 * 2048 + 4));
}

#[test]
fn one_kernel_of_elementwise_phases_keeps_what_it_makes_on_chip() {
    // The activation twice: once into a tensor of its own that a second phase reads.
    let checked = fixture::activated_again(&Layer::SMALL, true);
    let routing = LayerShape { ranks: 4, tokens: 384, experts: 16, top_k: 4, hidden: 64, intermediate: 64 }.balanced();
    let serial = Serial::of_graph(&checked, routing, &Target::ascend_a3());
    let vectors = serial.operators().iter().filter_map(|operator| match operator.work {
        SerialWork::Vector { rows: RowClass::Received, read, written } => {
            Some((operator.name.as_str(), read.row, written.row))
        }
        _ => None,
    });
    // Gate and up are read, and the second activation is written: 64 columns of two bytes each.
    assert_eq!(vectors.collect::<Vec<_>>(), [("swiglu + again", 2 * 128, 128)]);
}

use super::{RoutingPrices, RoutingShape};
use crate::simulate::{Ours, Routing, Workload as _, simulate};
use hpmoe_core::analyze::CheckedGraph;
use hpmoe_core::fixture::{Layer, moe_ffn, routed, router};
use hpmoe_core::schedule::{Cores, schedule};
use hpmoe_core::target::Target;
use hpmoe_kernels::route::ExpertOrder;

/// The shape of DeepSeek-V3's forward layer, which has five spaces and nine phases.
pub(super) fn shape(ranks: u64, experts: u64, tokens: u64) -> RoutingShape {
    RoutingShape {
        ranks,
        local_experts: experts / ranks,
        placed: None,
        chunks: 1,
        choice: None,
        tokens,
        top_k: 8,
        cores: 48,
        expert_order: ExpertOrder::Load,
        row_tiles: 2,
        sends: 1,
        arrivals: 1,
        starts: (9, 30),
        is_kept: false,
        keeps: false,
        // As the compiler estimates it for such a layer.
        code: 22_008,
    }
}

/// Layers: ranks, experts, tokens, simulated time of the forward layer in µs, and the maximum share of that time that making tables may
/// take, in percent.
const LAYERS: [(u64, u64, u64, f64, f64); 4] =
    [(8, 64, 4096, 9467.0, 0.37), (8, 64, 64, 601.0, 4.2), (64, 512, 4096, 9478.0, 0.6), (64, 512, 64, 611.0, 6.5)];

/// Checks that a kernel that makes its route begins its entries later, by the time that it takes to make the route.
#[test]
fn a_kernel_that_makes_its_route_takes_the_time_for_it() {
    let target = Target::ascend_a3();
    let routing = Routing::new(&vec![vec![6; 16]; 4], 4).unwrap();
    let launch = |checked: &CheckedGraph| {
        let schedule = schedule(checked, Cores::ASCEND_A3);
        let shape = RoutingShape::new(checked, &schedule, &routing);
        let launch = Ours::new(&target, checked, &schedule, &routing).unwrap().costs().launch;
        (launch, shape.time(&target, &RoutingPrices::new(&target)))
    };
    let ((host, _), (kernel, tables)) = (launch(&moe_ffn(&Layer::SMALL)), launch(&routed(&Layer::SMALL)));
    assert!(tables.us() > 5.0 && tables.us() < 50.0, "{tables:?}");
    assert_eq!(kernel, host + tables);
}

/// Checks that tables are made after the tasks that make the ids, while cores do work that needs no route.
#[test]
fn tables_that_wait_for_ids_are_a_task() {
    let target = Target::ascend_a3();
    let routing = Routing::new(&vec![vec![6; 16]; 4], 4).unwrap();
    let run = |checked: &CheckedGraph| {
        let schedule = schedule(checked, Cores::ASCEND_A3);
        let tables = RoutingShape::new(checked, &schedule, &routing).time(&target, &RoutingPrices::new(&target));
        let ours = Ours::new(&target, checked, &schedule, &routing).unwrap();
        let (launch, op) = (ours.costs().launch, ours.ops().last().unwrap().name.clone());
        (launch, op, tables, simulate(&target, &ours, false).unwrap().time)
    };
    let (plain, _, _, host) = run(&moe_ffn(&Layer::SMALL));
    let (launch, op, tables, kernel) = run(&router(&Layer::SMALL));
    assert_eq!((launch, op.as_str()), (plain, "tables of the route"));
    let more = kernel.us() - host.us();
    assert!(more > 0.8 * tables.us() && more < 2.0 * tables.us() + 10.0, "{more} µs more, for tables of {tables:?}");
}

/// Checks that the code of a route, which runs once, costs the time to fetch it, 512 bytes at a time.
#[test]
fn code_that_runs_once_takes_the_time_of_its_fetch() {
    let target = Target::ascend_a3();
    let time = |code| {
        let shape = RoutingShape { code, ..shape(8, 64, 64) };
        shape.time(&target, &RoutingPrices::new(&target)).us()
    };
    let [none, line, lines] = [0, 1, 20 * 512].map(time);
    assert!((line - none - 0.235).abs() < 0.01 && (lines - none - 20.0 * 0.235).abs() < 0.01, "{none} {line} {lines}");
}

#[test]
fn tables_take_little_of_a_layer() {
    let target = Target::ascend_a3();
    for (ranks, experts, tokens, layer, most) in LAYERS {
        for times in [1.0, 2.0] {
            let prices = RoutingPrices::new(&target);
            let prices = RoutingPrices { scalar: times * prices.scalar, ..prices };
            let time = shape(ranks, experts, tokens).time(&target, &prices).us();
            let share = 100.0 * time / layer;
            println!("EP{ranks}, {experts} experts, {tokens} tokens, x{times}: {time:.1} µs, {share:.2} %");
            assert!(share <= most, "{share:.2} % of EP{ranks} with {tokens} tokens");
        }
    }
}

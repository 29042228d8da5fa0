//! Our construction, written the way the original's files are: each section as JSON without spaces, keys in their order.

use hpmoe_core::schedule::CoreKind;
use hpmoe_simulator::baseline::{
    BASE_TILE, Direction, Operator, OperatorKind, Original, OriginalTask, OriginalWork, ProductExtent,
};
use std::fmt::Write as _;

/// The sections of a file that are not measurements.
pub(crate) const SECTIONS: [&str; 5] = ["event_ranges", "events", "ops", "tasks", "queues"];

/// One section as text.
pub(crate) fn section(original: &Original, name: &str) -> String {
    match name {
        "event_ranges" => ranges(original),
        "events" => list(original.counters().all(), |(counter, threshold)| {
            format!(r#"{{"id":{},"threshold":{threshold}}}"#, counter.0)
        }),
        "ops" => operators(original),
        "tasks" => list(original.tasks(0).iter().enumerate(), |(id, one)| task(original, id, one)),
        "queues" => queues(original),
        _ => unreachable!("no section {name}"),
    }
}

fn list<T>(items: impl IntoIterator<Item = T>, mut render: impl FnMut(T) -> String) -> String {
    let items: Vec<String> = items.into_iter().map(&mut render).collect();
    format!("[{}]", items.join(","))
}

fn ranges(original: &Original) -> String {
    let counters = original.counters();
    let [first, vector, last] = match original.direction() {
        Direction::Forward => [Operator::UpProj, Operator::SwiGlu, Operator::DownProj],
        Direction::Backward => [Operator::ActGrad, Operator::SwiGluGrad, Operator::GateGrad],
    }
    .map(Operator::name);
    let lines = [
        format!("dispatch(global expert e) -> id {}+e", counters.arrived(0).0),
        format!("{first} -> {}+e", counters.first_product(0).0),
        format!("{vector} -> {}+e", counters.vector(0).0),
        format!("{last} -> {}+e", counters.last_product(0).0),
        format!("final(combine[,w1,w2]) -> {}", counters.last().0),
        format!("terminate -> {}", counters.terminated().0),
        format!("ready handshake -> {}", counters.handshake().0),
    ];
    list(lines, |line| format!("{line:?}"))
}

fn operators(original: &Original) -> String {
    let extent = |extent| match extent {
        ProductExtent::Rows => r#""rows_e""#.to_owned(),
        ProductExtent::Fixed(value) => value.to_string(),
    };
    list(original.operators(), |listed| {
        let operator = listed.operator;
        let kind = operator.kind(original.shape());
        let (kind_name, split) = match kind {
            OperatorKind::Put => ("alltoall", 128),
            OperatorKind::Product(_) => ("gmm", 4096),
            _ => (operator.name(), 128),
        };
        let queue = if operator.core(original.shape()) == CoreKind::Aic { "AIC" } else { "AIV" };
        let mut text = format!(
            r#"{{"name":"{}","type":"{kind_name}","task_num":{},"split_value":{split},"first_task_id":{},"queue":"{queue}""#,
            operator.name(),
            listed.tasks,
            listed.first,
        );
        if let OperatorKind::Product(product) = kind {
            let [m, n, k] = [product.m, product.n, product.k].map(extent);
            let [tile_m, tile_n, tile_k] = BASE_TILE;
            write!(text, r#","gemm":{{"M":{m},"N":{n},"K":{k}}},"base_tile_MNK":[{tile_m},{tile_n},{tile_k}]"#)
                .unwrap();
        }
        text + "}"
    })
}

fn task(original: &Original, id: usize, task: &OriginalTask) -> String {
    let kind = match task.operator {
        Operator::Dispatch | Operator::Combine => "SHMEM_PUT_MEM_SIGNAL",
        Operator::SwiGlu => "SWI_GLU",
        Operator::SwiGluGrad => "SWI_GLU_GRAD",
        Operator::Terminate => "TERMINATE",
        _ => "GROUPED_MATMUL",
    };
    let head = format!(
        r#"{{"id":{id},"op":"{}","type":"{kind}","i":{},"dep":{},"dep_thr":{},"trig":{}"#,
        task.operator.name(),
        task.index,
        task.waits.0,
        task.threshold,
        task.signals.0,
    );
    let at = format!(r#""trig_at_rank":{}"#, task.signals_at);
    let rows = task.work.rows().map(|(first, end)| {
        let end = end.map_or("null".to_owned(), |end| end.to_string());
        format!(r#""rows":[{first},{end}]"#)
    });
    let rows = rows.unwrap_or_default();
    let real = format!(r#""bal_rows":{}"#, original.balanced_rows(task).unwrap_or(0));
    let bytes = format!(r#""row_bytes":{}"#, task.operator.row_bytes(original.shape()));
    match task.work {
        OriginalWork::Put { peer, expert, global, tile } => format!(
            r#"{head},"peer":{peer},"expert_local":{expert},"tile":{tile},{rows},{at},{real},{bytes},"expert_global":{global}}}"#
        ),
        OriginalWork::Vector { expert, tile } => {
            format!(r#"{head},"expert_local":{expert},"tile":{tile},{rows},{at},{real},{bytes}}}"#)
        }
        OriginalWork::Product { expert, core } => {
            let share = original.share(task, original.balanced_rows(task).unwrap()).unwrap();
            format!(
                r#"{head},"expert_local":{expert},"core":{core},{at},{rows},{real},"bal_base_tiles":{},"bal_base_tiles_total":{},"bal_flop_share":{:?}}}"#,
                share.tiles, share.total, share.flops
            )
        }
        OriginalWork::Terminate => format!("{head},{at}}}"),
    }
}

fn queues(original: &Original) -> String {
    let ranks = (0..original.shape().ranks).map(|rank| {
        let queues = original.queues(rank);
        let [aic, aiv] = [&queues.aic, &queues.aiv].map(|queue| list(queue, u32::to_string));
        let base = rank * original.shape().experts_per_rank();
        let ready = original.counters().handshake().0;
        format!(r#""{rank}":{{"AIC":{aic},"AIV":{aiv},"up_dep_base":{base},"ready_event":{ready}}}"#)
    });
    format!("{{{}}}", ranks.collect::<Vec<_>>().join(","))
}

//! A marker outside a kernel module.

use hpmoe_runtime::prelude::*;

#[aiv_task]
fn activate(a: &Tile<bf16, 16, 32>, b: &mut Tile<bf16, 16, 32>) {
    b.store(a.load().silu());
}

fn main() {}

pub const HPMOE_ABI: u32 = 5;
pub const HPMOE_LINE: u32 = 512;
pub const HPMOE_CHUNK_BUFFERS: u32 = 2;
pub const HPMOE_DIGEST_WORDS: u32 = 8;
pub const HPMOE_DIGESTS: u32 = 1073741823;
pub const HPMOE_KEPT: u32 = 1919907188;
pub const HPMOE_READY_WORD: u32 = 65535;
pub const HPMOE_FREED_WORD: u32 = 65534;
pub const HPMOE_COUNTS: u32 = 65533;
pub const HPMOE_CLOCK_WORD: u32 = 65532;
pub const HPMOE_CLOCK_ROUNDS: u32 = 8;
pub const HPMOE_ROW_TILES: HpmoeSpaceKind = 0;
pub const HPMOE_SENDS: HpmoeSpaceKind = 1;
pub const HPMOE_ARRIVALS: HpmoeSpaceKind = 2;
pub const HPMOE_BLOCKS: HpmoeSpaceKind = 3;
pub const HPMOE_EXPERTS: HpmoeSpaceKind = 4;
pub const HPMOE_CHUNKS: HpmoeSpaceKind = 5;
pub const HPMOE_SENDS_ONCE: HpmoeSpaceKind = 6;
pub const HPMOE_ONCE_TILES: HpmoeSpaceKind = 7;
pub const HPMOE_ROUTE: HpmoeSpaceKind = 8;
pub type HpmoeSpaceKind = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeDescriptor {
    pub phase: u16,
    pub space: u16,
    pub kind: u16,
    pub band: u16,
    pub columns: u32,
    pub expert: u32,
    pub peer_offset: u32,
    pub core_first: u16,
    pub core_count: u16,
    pub column_rows: u32,
    pub more: u32,
    pub chunk: u32,
    pub arrival_turn: u32,
    pub rotation: u32,
    pub turn: u32,
    pub peers: u32,
    pub peer_step: u32,
    pub more_experts: u32,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeDescriptor"][::core::mem::size_of::<HpmoeDescriptor>() - 64usize];
    [
        "Alignment of HpmoeDescriptor",
    ][::core::mem::align_of::<HpmoeDescriptor>() - 4usize];
    [
        "Offset of field: HpmoeDescriptor::phase",
    ][::core::mem::offset_of!(HpmoeDescriptor, phase) - 0usize];
    [
        "Offset of field: HpmoeDescriptor::space",
    ][::core::mem::offset_of!(HpmoeDescriptor, space) - 2usize];
    [
        "Offset of field: HpmoeDescriptor::kind",
    ][::core::mem::offset_of!(HpmoeDescriptor, kind) - 4usize];
    [
        "Offset of field: HpmoeDescriptor::band",
    ][::core::mem::offset_of!(HpmoeDescriptor, band) - 6usize];
    [
        "Offset of field: HpmoeDescriptor::columns",
    ][::core::mem::offset_of!(HpmoeDescriptor, columns) - 8usize];
    [
        "Offset of field: HpmoeDescriptor::expert",
    ][::core::mem::offset_of!(HpmoeDescriptor, expert) - 12usize];
    [
        "Offset of field: HpmoeDescriptor::peer_offset",
    ][::core::mem::offset_of!(HpmoeDescriptor, peer_offset) - 16usize];
    [
        "Offset of field: HpmoeDescriptor::core_first",
    ][::core::mem::offset_of!(HpmoeDescriptor, core_first) - 20usize];
    [
        "Offset of field: HpmoeDescriptor::core_count",
    ][::core::mem::offset_of!(HpmoeDescriptor, core_count) - 22usize];
    [
        "Offset of field: HpmoeDescriptor::column_rows",
    ][::core::mem::offset_of!(HpmoeDescriptor, column_rows) - 24usize];
    [
        "Offset of field: HpmoeDescriptor::more",
    ][::core::mem::offset_of!(HpmoeDescriptor, more) - 28usize];
    [
        "Offset of field: HpmoeDescriptor::chunk",
    ][::core::mem::offset_of!(HpmoeDescriptor, chunk) - 32usize];
    [
        "Offset of field: HpmoeDescriptor::arrival_turn",
    ][::core::mem::offset_of!(HpmoeDescriptor, arrival_turn) - 36usize];
    [
        "Offset of field: HpmoeDescriptor::rotation",
    ][::core::mem::offset_of!(HpmoeDescriptor, rotation) - 40usize];
    [
        "Offset of field: HpmoeDescriptor::turn",
    ][::core::mem::offset_of!(HpmoeDescriptor, turn) - 44usize];
    [
        "Offset of field: HpmoeDescriptor::peers",
    ][::core::mem::offset_of!(HpmoeDescriptor, peers) - 48usize];
    [
        "Offset of field: HpmoeDescriptor::peer_step",
    ][::core::mem::offset_of!(HpmoeDescriptor, peer_step) - 52usize];
    [
        "Offset of field: HpmoeDescriptor::more_experts",
    ][::core::mem::offset_of!(HpmoeDescriptor, more_experts) - 56usize];
    [
        "Offset of field: HpmoeDescriptor::reserved",
    ][::core::mem::offset_of!(HpmoeDescriptor, reserved) - 60usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeQueue {
    pub first: u32,
    pub count: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeQueue"][::core::mem::size_of::<HpmoeQueue>() - 8usize];
    ["Alignment of HpmoeQueue"][::core::mem::align_of::<HpmoeQueue>() - 4usize];
    [
        "Offset of field: HpmoeQueue::first",
    ][::core::mem::offset_of!(HpmoeQueue, first) - 0usize];
    [
        "Offset of field: HpmoeQueue::count",
    ][::core::mem::offset_of!(HpmoeQueue, count) - 4usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoePair {
    pub rows: i32,
    pub at: i32,
    pub base: i32,
    pub order: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoePair"][::core::mem::size_of::<HpmoePair>() - 16usize];
    ["Alignment of HpmoePair"][::core::mem::align_of::<HpmoePair>() - 4usize];
    [
        "Offset of field: HpmoePair::rows",
    ][::core::mem::offset_of!(HpmoePair, rows) - 0usize];
    ["Offset of field: HpmoePair::at"][::core::mem::offset_of!(HpmoePair, at) - 4usize];
    [
        "Offset of field: HpmoePair::base",
    ][::core::mem::offset_of!(HpmoePair, base) - 8usize];
    [
        "Offset of field: HpmoePair::order",
    ][::core::mem::offset_of!(HpmoePair, order) - 12usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeExpert {
    pub first: i32,
    pub rows: i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeExpert"][::core::mem::size_of::<HpmoeExpert>() - 8usize];
    ["Alignment of HpmoeExpert"][::core::mem::align_of::<HpmoeExpert>() - 4usize];
    [
        "Offset of field: HpmoeExpert::first",
    ][::core::mem::offset_of!(HpmoeExpert, first) - 0usize];
    [
        "Offset of field: HpmoeExpert::rows",
    ][::core::mem::offset_of!(HpmoeExpert, rows) - 4usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeSpace {
    pub first_items: u64,
    pub peer_items: u64,
    pub counted: u64,
    pub arrival_order: u64,
    pub kind: u32,
    pub height: u32,
    pub turn: u32,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeSpace"][::core::mem::size_of::<HpmoeSpace>() - 48usize];
    ["Alignment of HpmoeSpace"][::core::mem::align_of::<HpmoeSpace>() - 8usize];
    [
        "Offset of field: HpmoeSpace::first_items",
    ][::core::mem::offset_of!(HpmoeSpace, first_items) - 0usize];
    [
        "Offset of field: HpmoeSpace::peer_items",
    ][::core::mem::offset_of!(HpmoeSpace, peer_items) - 8usize];
    [
        "Offset of field: HpmoeSpace::counted",
    ][::core::mem::offset_of!(HpmoeSpace, counted) - 16usize];
    [
        "Offset of field: HpmoeSpace::arrival_order",
    ][::core::mem::offset_of!(HpmoeSpace, arrival_order) - 24usize];
    [
        "Offset of field: HpmoeSpace::kind",
    ][::core::mem::offset_of!(HpmoeSpace, kind) - 32usize];
    [
        "Offset of field: HpmoeSpace::height",
    ][::core::mem::offset_of!(HpmoeSpace, height) - 36usize];
    [
        "Offset of field: HpmoeSpace::turn",
    ][::core::mem::offset_of!(HpmoeSpace, turn) - 40usize];
    [
        "Offset of field: HpmoeSpace::reserved",
    ][::core::mem::offset_of!(HpmoeSpace, reserved) - 44usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeLaunch {
    pub peers: u64,
    pub tensors: u64,
    pub queues: u64,
    pub descriptors: u64,
    pub spaces: u64,
    pub starts: u64,
    pub experts: u64,
    pub sends: u64,
    pub arrivals: u64,
    pub order: u64,
    pub counter_bases: u64,
    pub launches: u64,
    pub counters: u64,
    pub ready: u64,
    pub freed: u64,
    pub expert_order: u64,
    pub abort: u64,
    pub records: u64,
    pub time_limit: u64,
    pub rows_once: u64,
    pub origins: u64,
    pub counter_count: u32,
    pub rank: u32,
    pub ranks: u32,
    pub local_experts: u32,
    pub tokens: u32,
    pub aic: u32,
    pub aiv: u32,
    pub chunks: u32,
    pub chunk_tokens: u32,
    pub chunk_experts: u32,
    pub routing: u64,
    pub ids: u64,
    pub stamps: u64,
    pub clocks: u64,
    pub stamp_room: u32,
    pub chunk_parts: u32,
    pub parts: u64,
    pub choices: u64,
    pub reserved: [u64; 7usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeLaunch"][::core::mem::size_of::<HpmoeLaunch>() - 320usize];
    ["Alignment of HpmoeLaunch"][::core::mem::align_of::<HpmoeLaunch>() - 8usize];
    [
        "Offset of field: HpmoeLaunch::peers",
    ][::core::mem::offset_of!(HpmoeLaunch, peers) - 0usize];
    [
        "Offset of field: HpmoeLaunch::tensors",
    ][::core::mem::offset_of!(HpmoeLaunch, tensors) - 8usize];
    [
        "Offset of field: HpmoeLaunch::queues",
    ][::core::mem::offset_of!(HpmoeLaunch, queues) - 16usize];
    [
        "Offset of field: HpmoeLaunch::descriptors",
    ][::core::mem::offset_of!(HpmoeLaunch, descriptors) - 24usize];
    [
        "Offset of field: HpmoeLaunch::spaces",
    ][::core::mem::offset_of!(HpmoeLaunch, spaces) - 32usize];
    [
        "Offset of field: HpmoeLaunch::starts",
    ][::core::mem::offset_of!(HpmoeLaunch, starts) - 40usize];
    [
        "Offset of field: HpmoeLaunch::experts",
    ][::core::mem::offset_of!(HpmoeLaunch, experts) - 48usize];
    [
        "Offset of field: HpmoeLaunch::sends",
    ][::core::mem::offset_of!(HpmoeLaunch, sends) - 56usize];
    [
        "Offset of field: HpmoeLaunch::arrivals",
    ][::core::mem::offset_of!(HpmoeLaunch, arrivals) - 64usize];
    [
        "Offset of field: HpmoeLaunch::order",
    ][::core::mem::offset_of!(HpmoeLaunch, order) - 72usize];
    [
        "Offset of field: HpmoeLaunch::counter_bases",
    ][::core::mem::offset_of!(HpmoeLaunch, counter_bases) - 80usize];
    [
        "Offset of field: HpmoeLaunch::launches",
    ][::core::mem::offset_of!(HpmoeLaunch, launches) - 88usize];
    [
        "Offset of field: HpmoeLaunch::counters",
    ][::core::mem::offset_of!(HpmoeLaunch, counters) - 96usize];
    [
        "Offset of field: HpmoeLaunch::ready",
    ][::core::mem::offset_of!(HpmoeLaunch, ready) - 104usize];
    [
        "Offset of field: HpmoeLaunch::freed",
    ][::core::mem::offset_of!(HpmoeLaunch, freed) - 112usize];
    [
        "Offset of field: HpmoeLaunch::expert_order",
    ][::core::mem::offset_of!(HpmoeLaunch, expert_order) - 120usize];
    [
        "Offset of field: HpmoeLaunch::abort",
    ][::core::mem::offset_of!(HpmoeLaunch, abort) - 128usize];
    [
        "Offset of field: HpmoeLaunch::records",
    ][::core::mem::offset_of!(HpmoeLaunch, records) - 136usize];
    [
        "Offset of field: HpmoeLaunch::time_limit",
    ][::core::mem::offset_of!(HpmoeLaunch, time_limit) - 144usize];
    [
        "Offset of field: HpmoeLaunch::rows_once",
    ][::core::mem::offset_of!(HpmoeLaunch, rows_once) - 152usize];
    [
        "Offset of field: HpmoeLaunch::origins",
    ][::core::mem::offset_of!(HpmoeLaunch, origins) - 160usize];
    [
        "Offset of field: HpmoeLaunch::counter_count",
    ][::core::mem::offset_of!(HpmoeLaunch, counter_count) - 168usize];
    [
        "Offset of field: HpmoeLaunch::rank",
    ][::core::mem::offset_of!(HpmoeLaunch, rank) - 172usize];
    [
        "Offset of field: HpmoeLaunch::ranks",
    ][::core::mem::offset_of!(HpmoeLaunch, ranks) - 176usize];
    [
        "Offset of field: HpmoeLaunch::local_experts",
    ][::core::mem::offset_of!(HpmoeLaunch, local_experts) - 180usize];
    [
        "Offset of field: HpmoeLaunch::tokens",
    ][::core::mem::offset_of!(HpmoeLaunch, tokens) - 184usize];
    [
        "Offset of field: HpmoeLaunch::aic",
    ][::core::mem::offset_of!(HpmoeLaunch, aic) - 188usize];
    [
        "Offset of field: HpmoeLaunch::aiv",
    ][::core::mem::offset_of!(HpmoeLaunch, aiv) - 192usize];
    [
        "Offset of field: HpmoeLaunch::chunks",
    ][::core::mem::offset_of!(HpmoeLaunch, chunks) - 196usize];
    [
        "Offset of field: HpmoeLaunch::chunk_tokens",
    ][::core::mem::offset_of!(HpmoeLaunch, chunk_tokens) - 200usize];
    [
        "Offset of field: HpmoeLaunch::chunk_experts",
    ][::core::mem::offset_of!(HpmoeLaunch, chunk_experts) - 204usize];
    [
        "Offset of field: HpmoeLaunch::routing",
    ][::core::mem::offset_of!(HpmoeLaunch, routing) - 208usize];
    [
        "Offset of field: HpmoeLaunch::ids",
    ][::core::mem::offset_of!(HpmoeLaunch, ids) - 216usize];
    [
        "Offset of field: HpmoeLaunch::stamps",
    ][::core::mem::offset_of!(HpmoeLaunch, stamps) - 224usize];
    [
        "Offset of field: HpmoeLaunch::clocks",
    ][::core::mem::offset_of!(HpmoeLaunch, clocks) - 232usize];
    [
        "Offset of field: HpmoeLaunch::stamp_room",
    ][::core::mem::offset_of!(HpmoeLaunch, stamp_room) - 240usize];
    [
        "Offset of field: HpmoeLaunch::chunk_parts",
    ][::core::mem::offset_of!(HpmoeLaunch, chunk_parts) - 244usize];
    [
        "Offset of field: HpmoeLaunch::parts",
    ][::core::mem::offset_of!(HpmoeLaunch, parts) - 248usize];
    [
        "Offset of field: HpmoeLaunch::choices",
    ][::core::mem::offset_of!(HpmoeLaunch, choices) - 256usize];
    [
        "Offset of field: HpmoeLaunch::reserved",
    ][::core::mem::offset_of!(HpmoeLaunch, reserved) - 264usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeRouting {
    pub ids: u64,
    pub counts: u64,
    pub first_pairs: u64,
    pub start_pairs: u64,
    pub top_k: u32,
    pub count_pitch: u32,
    pub capacity: u32,
    pub phases: u32,
    pub spaces: u32,
    pub expert_order: u32,
    pub once: u32,
    pub made: u32,
    pub gaps: u32,
    pub before: u32,
    pub ids_ready: u32,
    pub ids_per_token: u32,
    pub kept: u64,
    pub placement: u64,
    pub is_kept: u32,
    pub group_slots: u32,
    pub group_experts: u32,
    pub experts: u32,
    pub digests: u64,
    pub sent: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeRouting"][::core::mem::size_of::<HpmoeRouting>() - 128usize];
    ["Alignment of HpmoeRouting"][::core::mem::align_of::<HpmoeRouting>() - 8usize];
    [
        "Offset of field: HpmoeRouting::ids",
    ][::core::mem::offset_of!(HpmoeRouting, ids) - 0usize];
    [
        "Offset of field: HpmoeRouting::counts",
    ][::core::mem::offset_of!(HpmoeRouting, counts) - 8usize];
    [
        "Offset of field: HpmoeRouting::first_pairs",
    ][::core::mem::offset_of!(HpmoeRouting, first_pairs) - 16usize];
    [
        "Offset of field: HpmoeRouting::start_pairs",
    ][::core::mem::offset_of!(HpmoeRouting, start_pairs) - 24usize];
    [
        "Offset of field: HpmoeRouting::top_k",
    ][::core::mem::offset_of!(HpmoeRouting, top_k) - 32usize];
    [
        "Offset of field: HpmoeRouting::count_pitch",
    ][::core::mem::offset_of!(HpmoeRouting, count_pitch) - 36usize];
    [
        "Offset of field: HpmoeRouting::capacity",
    ][::core::mem::offset_of!(HpmoeRouting, capacity) - 40usize];
    [
        "Offset of field: HpmoeRouting::phases",
    ][::core::mem::offset_of!(HpmoeRouting, phases) - 44usize];
    [
        "Offset of field: HpmoeRouting::spaces",
    ][::core::mem::offset_of!(HpmoeRouting, spaces) - 48usize];
    [
        "Offset of field: HpmoeRouting::expert_order",
    ][::core::mem::offset_of!(HpmoeRouting, expert_order) - 52usize];
    [
        "Offset of field: HpmoeRouting::once",
    ][::core::mem::offset_of!(HpmoeRouting, once) - 56usize];
    [
        "Offset of field: HpmoeRouting::made",
    ][::core::mem::offset_of!(HpmoeRouting, made) - 60usize];
    [
        "Offset of field: HpmoeRouting::gaps",
    ][::core::mem::offset_of!(HpmoeRouting, gaps) - 64usize];
    [
        "Offset of field: HpmoeRouting::before",
    ][::core::mem::offset_of!(HpmoeRouting, before) - 68usize];
    [
        "Offset of field: HpmoeRouting::ids_ready",
    ][::core::mem::offset_of!(HpmoeRouting, ids_ready) - 72usize];
    [
        "Offset of field: HpmoeRouting::ids_per_token",
    ][::core::mem::offset_of!(HpmoeRouting, ids_per_token) - 76usize];
    [
        "Offset of field: HpmoeRouting::kept",
    ][::core::mem::offset_of!(HpmoeRouting, kept) - 80usize];
    [
        "Offset of field: HpmoeRouting::placement",
    ][::core::mem::offset_of!(HpmoeRouting, placement) - 88usize];
    [
        "Offset of field: HpmoeRouting::is_kept",
    ][::core::mem::offset_of!(HpmoeRouting, is_kept) - 96usize];
    [
        "Offset of field: HpmoeRouting::group_slots",
    ][::core::mem::offset_of!(HpmoeRouting, group_slots) - 100usize];
    [
        "Offset of field: HpmoeRouting::group_experts",
    ][::core::mem::offset_of!(HpmoeRouting, group_experts) - 104usize];
    [
        "Offset of field: HpmoeRouting::experts",
    ][::core::mem::offset_of!(HpmoeRouting, experts) - 108usize];
    [
        "Offset of field: HpmoeRouting::digests",
    ][::core::mem::offset_of!(HpmoeRouting, digests) - 112usize];
    [
        "Offset of field: HpmoeRouting::sent",
    ][::core::mem::offset_of!(HpmoeRouting, sent) - 120usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoePlacementHead {
    pub digest: u32,
    pub columns: u32,
    pub reserved: [u32; 14usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of HpmoePlacementHead",
    ][::core::mem::size_of::<HpmoePlacementHead>() - 64usize];
    [
        "Alignment of HpmoePlacementHead",
    ][::core::mem::align_of::<HpmoePlacementHead>() - 4usize];
    [
        "Offset of field: HpmoePlacementHead::digest",
    ][::core::mem::offset_of!(HpmoePlacementHead, digest) - 0usize];
    [
        "Offset of field: HpmoePlacementHead::columns",
    ][::core::mem::offset_of!(HpmoePlacementHead, columns) - 4usize];
    [
        "Offset of field: HpmoePlacementHead::reserved",
    ][::core::mem::offset_of!(HpmoePlacementHead, reserved) - 8usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeKeptHead {
    pub kept: u32,
    pub launch: u32,
    pub ranks: u32,
    pub rank: u32,
    pub experts: u32,
    pub top_k: u32,
    pub tokens: u32,
    pub group_slots: u32,
    pub placement: u32,
    pub chunks: u32,
    pub reserved: [u32; 6usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeKeptHead"][::core::mem::size_of::<HpmoeKeptHead>() - 64usize];
    ["Alignment of HpmoeKeptHead"][::core::mem::align_of::<HpmoeKeptHead>() - 4usize];
    [
        "Offset of field: HpmoeKeptHead::kept",
    ][::core::mem::offset_of!(HpmoeKeptHead, kept) - 0usize];
    [
        "Offset of field: HpmoeKeptHead::launch",
    ][::core::mem::offset_of!(HpmoeKeptHead, launch) - 4usize];
    [
        "Offset of field: HpmoeKeptHead::ranks",
    ][::core::mem::offset_of!(HpmoeKeptHead, ranks) - 8usize];
    [
        "Offset of field: HpmoeKeptHead::rank",
    ][::core::mem::offset_of!(HpmoeKeptHead, rank) - 12usize];
    [
        "Offset of field: HpmoeKeptHead::experts",
    ][::core::mem::offset_of!(HpmoeKeptHead, experts) - 16usize];
    [
        "Offset of field: HpmoeKeptHead::top_k",
    ][::core::mem::offset_of!(HpmoeKeptHead, top_k) - 20usize];
    [
        "Offset of field: HpmoeKeptHead::tokens",
    ][::core::mem::offset_of!(HpmoeKeptHead, tokens) - 24usize];
    [
        "Offset of field: HpmoeKeptHead::group_slots",
    ][::core::mem::offset_of!(HpmoeKeptHead, group_slots) - 28usize];
    [
        "Offset of field: HpmoeKeptHead::placement",
    ][::core::mem::offset_of!(HpmoeKeptHead, placement) - 32usize];
    [
        "Offset of field: HpmoeKeptHead::chunks",
    ][::core::mem::offset_of!(HpmoeKeptHead, chunks) - 36usize];
    [
        "Offset of field: HpmoeKeptHead::reserved",
    ][::core::mem::offset_of!(HpmoeKeptHead, reserved) - 40usize];
};
pub const HPMOE_BY_NUMBER: HpmoeExpertOrder = 0;
pub const HPMOE_BY_LOAD: HpmoeExpertOrder = 1;
pub const HPMOE_MIXED: HpmoeExpertOrder = 2;
pub const HPMOE_LIGHTEST_FIRST: HpmoeExpertOrder = 3;
pub type HpmoeExpertOrder = ::core::ffi::c_uint;
pub const HPMOE_ROUTE_MADE: HpmoeRouteFaultKind = 0;
pub const HPMOE_ROUTE_ID: HpmoeRouteFaultKind = 1;
pub const HPMOE_ROUTE_TWICE: HpmoeRouteFaultKind = 2;
pub const HPMOE_ROUTE_CAPACITY: HpmoeRouteFaultKind = 3;
pub const HPMOE_ROUTE_KEPT: HpmoeRouteFaultKind = 4;
pub const HPMOE_ROUTE_APART: HpmoeRouteFaultKind = 5;
pub const HPMOE_ROUTE_PLACED: HpmoeRouteFaultKind = 6;
pub type HpmoeRouteFaultKind = ::core::ffi::c_uint;
pub const HPMOE_IDLE: HpmoeState = 0;
pub const HPMOE_RUNNING: HpmoeState = 1;
pub const HPMOE_WAITING: HpmoeState = 2;
pub const HPMOE_DONE: HpmoeState = 3;
pub const HPMOE_GAVE_UP: HpmoeState = 4;
pub const HPMOE_STOPPED: HpmoeState = 5;
pub const HPMOE_REFUSED: HpmoeState = 6;
pub const HPMOE_UNROUTED: HpmoeState = 7;
pub type HpmoeState = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeRecord {
    pub state: u32,
    pub phase: u32,
    pub group: u32,
    pub item: u32,
    pub column: u32,
    pub counter: u32,
    pub index: u32,
    pub need: i32,
    pub have: i32,
    pub tasks: u32,
    pub empty: u32,
    pub waits: u32,
    pub entries: u32,
    pub unrouted: u32,
    pub chunks: u32,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeRecord"][::core::mem::size_of::<HpmoeRecord>() - 64usize];
    ["Alignment of HpmoeRecord"][::core::mem::align_of::<HpmoeRecord>() - 4usize];
    [
        "Offset of field: HpmoeRecord::state",
    ][::core::mem::offset_of!(HpmoeRecord, state) - 0usize];
    [
        "Offset of field: HpmoeRecord::phase",
    ][::core::mem::offset_of!(HpmoeRecord, phase) - 4usize];
    [
        "Offset of field: HpmoeRecord::group",
    ][::core::mem::offset_of!(HpmoeRecord, group) - 8usize];
    [
        "Offset of field: HpmoeRecord::item",
    ][::core::mem::offset_of!(HpmoeRecord, item) - 12usize];
    [
        "Offset of field: HpmoeRecord::column",
    ][::core::mem::offset_of!(HpmoeRecord, column) - 16usize];
    [
        "Offset of field: HpmoeRecord::counter",
    ][::core::mem::offset_of!(HpmoeRecord, counter) - 20usize];
    [
        "Offset of field: HpmoeRecord::index",
    ][::core::mem::offset_of!(HpmoeRecord, index) - 24usize];
    [
        "Offset of field: HpmoeRecord::need",
    ][::core::mem::offset_of!(HpmoeRecord, need) - 28usize];
    [
        "Offset of field: HpmoeRecord::have",
    ][::core::mem::offset_of!(HpmoeRecord, have) - 32usize];
    [
        "Offset of field: HpmoeRecord::tasks",
    ][::core::mem::offset_of!(HpmoeRecord, tasks) - 36usize];
    [
        "Offset of field: HpmoeRecord::empty",
    ][::core::mem::offset_of!(HpmoeRecord, empty) - 40usize];
    [
        "Offset of field: HpmoeRecord::waits",
    ][::core::mem::offset_of!(HpmoeRecord, waits) - 44usize];
    [
        "Offset of field: HpmoeRecord::entries",
    ][::core::mem::offset_of!(HpmoeRecord, entries) - 48usize];
    [
        "Offset of field: HpmoeRecord::unrouted",
    ][::core::mem::offset_of!(HpmoeRecord, unrouted) - 52usize];
    [
        "Offset of field: HpmoeRecord::chunks",
    ][::core::mem::offset_of!(HpmoeRecord, chunks) - 56usize];
    [
        "Offset of field: HpmoeRecord::reserved",
    ][::core::mem::offset_of!(HpmoeRecord, reserved) - 60usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeStampHead {
    pub begun: u64,
    pub ended: u64,
    pub tiles: u32,
    pub reserved: [u32; 11usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeStampHead"][::core::mem::size_of::<HpmoeStampHead>() - 64usize];
    ["Alignment of HpmoeStampHead"][::core::mem::align_of::<HpmoeStampHead>() - 8usize];
    [
        "Offset of field: HpmoeStampHead::begun",
    ][::core::mem::offset_of!(HpmoeStampHead, begun) - 0usize];
    [
        "Offset of field: HpmoeStampHead::ended",
    ][::core::mem::offset_of!(HpmoeStampHead, ended) - 8usize];
    [
        "Offset of field: HpmoeStampHead::tiles",
    ][::core::mem::offset_of!(HpmoeStampHead, tiles) - 16usize];
    [
        "Offset of field: HpmoeStampHead::reserved",
    ][::core::mem::offset_of!(HpmoeStampHead, reserved) - 20usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeStamp {
    pub came: u64,
    pub waited: u32,
    pub lasted: u32,
    pub phase: u32,
    pub group: u32,
    pub item: u32,
    pub column: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeStamp"][::core::mem::size_of::<HpmoeStamp>() - 32usize];
    ["Alignment of HpmoeStamp"][::core::mem::align_of::<HpmoeStamp>() - 8usize];
    [
        "Offset of field: HpmoeStamp::came",
    ][::core::mem::offset_of!(HpmoeStamp, came) - 0usize];
    [
        "Offset of field: HpmoeStamp::waited",
    ][::core::mem::offset_of!(HpmoeStamp, waited) - 8usize];
    [
        "Offset of field: HpmoeStamp::lasted",
    ][::core::mem::offset_of!(HpmoeStamp, lasted) - 12usize];
    [
        "Offset of field: HpmoeStamp::phase",
    ][::core::mem::offset_of!(HpmoeStamp, phase) - 16usize];
    [
        "Offset of field: HpmoeStamp::group",
    ][::core::mem::offset_of!(HpmoeStamp, group) - 20usize];
    [
        "Offset of field: HpmoeStamp::item",
    ][::core::mem::offset_of!(HpmoeStamp, item) - 24usize];
    [
        "Offset of field: HpmoeStamp::column",
    ][::core::mem::offset_of!(HpmoeStamp, column) - 28usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone, bytemuck::Pod, bytemuck::Zeroable)]
pub struct HpmoeClock {
    pub sent: u64,
    pub got: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of HpmoeClock"][::core::mem::size_of::<HpmoeClock>() - 16usize];
    ["Alignment of HpmoeClock"][::core::mem::align_of::<HpmoeClock>() - 8usize];
    [
        "Offset of field: HpmoeClock::sent",
    ][::core::mem::offset_of!(HpmoeClock, sent) - 0usize];
    [
        "Offset of field: HpmoeClock::got",
    ][::core::mem::offset_of!(HpmoeClock, got) - 8usize];
};

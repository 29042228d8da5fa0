//! Calls of the library, like in a C program.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use hpmoe_c::header::{
    HPMOE_BF16, HPMOE_CPU, HPMOE_F32, HPMOE_I32, HpmoeElement, HpmoeGroup, HpmoeOptions, HpmoeStatus, HpmoeTensor,
};
use hpmoe_device_tests::hpmoe_library::{
    hpmoe_group_free, hpmoe_group_new, hpmoe_last_error, hpmoe_last_report, hpmoe_launch,
};
use serde_json::Value;

/// Bytes that start `shift` bytes after a line.
#[derive(Clone)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Memory {
    pub(crate) fn new(content: &[u8], shift: usize) -> Self {
        let mut bytes = vec![0xee; content.len() + 128 + shift];
        let start = bytes.as_ptr().align_offset(64) + shift;
        bytes[start..start + content.len()].copy_from_slice(content);
        Self { bytes, start, length: content.len() }
    }

    pub(crate) fn address(&mut self) -> *mut u8 {
        &raw mut self.bytes[self.start]
    }

    pub(crate) fn content(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    /// The bytes before and after it.
    pub(crate) fn around(&self) -> impl Iterator<Item = &u8> {
        self.bytes[..self.start].iter().chain(&self.bytes[self.start + self.length..])
    }

    pub(crate) fn floats(&self) -> Vec<f32> {
        self.content().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
    }

    pub(crate) fn tensor(&mut self, rows: u64, columns: u32, element: HpmoeElement) -> HpmoeTensor {
        HpmoeTensor { data: self.address().cast(), rows, columns, element, device: HPMOE_CPU }
    }
}

/// A launch of `echo::forward` on one rank, with 48 columns and two experts per token.
pub(crate) struct Echo {
    pub(crate) ids: Memory,
    pub(crate) x: Memory,
    pub(crate) weights: Memory,
    pub(crate) y: Memory,
    pub(crate) taskflow: CString,
    pub(crate) ids_part: HpmoeTensor,
    pub(crate) parts: Vec<HpmoeTensor>,
    pub(crate) ranks: u64,
    pub(crate) arguments: u64,
    /// Handles for each rank.
    pub(crate) streams: Option<Vec<usize>>,
}

pub(crate) const HIDDEN: usize = 48;

/// 1 in bf16, and small numbers after it.
const fn number(index: usize) -> u16 {
    0x3f80 + (index % 32) as u16
}

impl Echo {
    pub(crate) fn new(tokens: usize) -> Self {
        Self::shifted(tokens, [0; 3])
    }

    /// Uses tensors that start some bytes after a line.
    pub(crate) fn shifted(tokens: usize, [x, weights, y]: [usize; 3]) -> Self {
        let ids: Vec<u8> = (0..tokens)
            .flat_map(|token| [token % 4, (token + 1) % 4])
            .flat_map(|id| (id as i32).to_le_bytes())
            .collect();
        let numbers: Vec<u8> = (0..tokens * HIDDEN).flat_map(|index| number(index).to_le_bytes()).collect();
        let halves: Vec<u8> = (0..tokens * 2).flat_map(|index| (0.5 + index as f32).to_le_bytes()).collect();
        let mut echo = Self {
            ids: Memory::new(&ids, 0),
            x: Memory::new(&numbers, x),
            weights: Memory::new(&halves, weights),
            y: Memory::new(&vec![0; tokens * HIDDEN * 4], y),
            taskflow: c"echo::forward".to_owned(),
            ids_part: HpmoeTensor { data: null_mut(), rows: 0, columns: 0, element: HPMOE_I32, device: HPMOE_CPU },
            parts: Vec::new(),
            ranks: 1,
            arguments: 3,
            streams: None,
        };
        let rows = tokens as u64;
        echo.ids_part = echo.ids.tensor(rows, 2, HPMOE_I32);
        echo.parts = vec![
            echo.x.tensor(rows, HIDDEN as u32, HPMOE_BF16),
            echo.weights.tensor(rows, 2, HPMOE_F32),
            echo.y.tensor(rows, HIDDEN as u32, HPMOE_F32),
        ];
        echo
    }

    pub(crate) fn launch(&self, group: HpmoeGroup) -> HpmoeStatus {
        self.launch_ids(group, &[self.ids_part])
    }

    /// Uses ids for each rank.
    pub(crate) fn launch_ids(&self, group: HpmoeGroup, ids: &[HpmoeTensor]) -> HpmoeStatus {
        let streams = self.streams.as_ref().map_or(null(), |streams| streams.as_ptr().cast());
        let parts = self.parts.as_ptr();
        // SAFETY: the parts are memory of this value, unless a test sets them to what is refused before it is used.
        unsafe { hpmoe_launch(group, self.taskflow.as_ptr(), ids.as_ptr(), self.ranks, parts, self.arguments, streams) }
    }

    /// The expected `y`: each token multiplied by the sum of its weights.
    pub(crate) fn expected(&self) -> Vec<f32> {
        let weights = self.weights.floats();
        let numbers = self.x.content().chunks_exact(2).map(|bytes| u16::from_le_bytes(bytes.try_into().unwrap()));
        let numbers = numbers.map(|bits| f32::from_bits(u32::from(bits) << 16));
        numbers
            .enumerate()
            .map(|(index, x)| weights[index / HIDDEN * 2] * x + weights[index / HIDDEN * 2 + 1] * x)
            .collect()
    }
}

/// A group of this library that frees itself.
pub(crate) struct Group(pub(crate) HpmoeGroup);

impl Group {
    pub(crate) fn new(ranks: u64) -> Self {
        Self::with(ranks, HpmoeOptions::default())
    }

    pub(crate) fn with(ranks: u64, options: HpmoeOptions) -> Self {
        let mut group = 0;
        // SAFETY: a structure and a variable of this function.
        assert_eq!(unsafe { hpmoe_group_new(ranks, &raw const options, &raw mut group) }, 0, "{}", error());
        Self(group)
    }

    pub(crate) fn refused(ranks: u64, options: HpmoeOptions) -> String {
        let mut group = 0;
        // SAFETY: a structure and a variable of this function.
        assert_eq!(unsafe { hpmoe_group_new(ranks, &raw const options, &raw mut group) }, 1);
        assert_eq!(group, 0);
        error()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        hpmoe_group_free(self.0);
    }
}

/// A null pointer for options.
pub(crate) const NO_OPTIONS: *const HpmoeOptions = null();

pub(crate) fn error() -> String {
    // SAFETY: a string that lives until the next call.
    unsafe { CStr::from_ptr(hpmoe_last_error()) }.to_str().unwrap().to_owned()
}

pub(crate) fn report() -> Option<Value> {
    // SAFETY: a string that lives until the next launch.
    let report = unsafe { CStr::from_ptr(hpmoe_last_report()) }.to_str().unwrap();
    (!report.is_empty()).then(|| serde_json::from_str(report).unwrap())
}

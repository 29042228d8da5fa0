//! Structures in the byte order of devices, on any host.

use super::HpmoeDescriptor;
use std::mem::offset_of;

/// Adds a method to a structure of words that writes all fields except reserved ones at their offsets. A field that is
/// missing from the list is a compile error.
macro_rules! little_endian {
    ($name:ident { $($field:ident),* }) => {
        impl $name {
            /// Size of the structure in bytes.
            pub const BYTES: usize = size_of::<Self>();

            /// The structure as little-endian bytes. Reserved fields are zero.
            #[must_use]
            pub fn to_le_bytes(&self) -> [u8; Self::BYTES] {
                let Self { $($field,)* reserved: _ } = *self;
                let mut bytes = [0; Self::BYTES];
                $(
                    let word = $field.to_le_bytes();
                    bytes[offset_of!(Self, $field)..][..word.len()].copy_from_slice(&word);
                )*
                bytes
            }
        }
    };
}

little_endian!(HpmoeDescriptor {
    phase,
    space,
    kind,
    band,
    columns,
    expert,
    peer_offset,
    core_first,
    core_count,
    column_rows,
    more,
    chunk,
    arrival_turn,
    rotation,
    turn,
    peers,
    peer_step,
    more_experts
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_in_the_memory_of_a_little_endian_machine() {
        let mut bytes: Vec<u8> = (1..=HpmoeDescriptor::BYTES as u8).collect();
        bytes[offset_of!(HpmoeDescriptor, reserved)..].fill(0);
        let descriptor = HpmoeDescriptor {
            phase: 0x0201,
            space: 0x0403,
            kind: 0x0605,
            band: 0x0807,
            columns: 0x0c0b_0a09,
            expert: 0x100f_0e0d,
            peer_offset: 0x1413_1211,
            core_first: 0x1615,
            core_count: 0x1817,
            column_rows: 0x1c1b_1a19,
            more: 0x201f_1e1d,
            chunk: 0x2423_2221,
            arrival_turn: 0x2827_2625,
            rotation: 0x2c2b_2a29,
            turn: 0x302f_2e2d,
            peers: 0x3433_3231,
            peer_step: 0x3837_3635,
            more_experts: 0x3c3b_3a39,
            reserved: 0,
        };
        assert_eq!(descriptor.to_le_bytes(), bytes[..]);
        #[cfg(target_endian = "little")]
        assert_eq!(bytemuck::bytes_of(&descriptor), bytes);
    }
}

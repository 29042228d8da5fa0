//! Reads the chip of an object, and whether it was linked, from the header of the ELF file.

use elf::abi::{ET_EXEC, ET_REL};
use elf::endian::LittleEndian;
use elf::file::FileHeader;

/// `e_machine` of objects for the cores of Ascend NPUs.
const MACHINE: u16 = 0x1029;

/// `e_flags` of objects for Ascend A2 and A3 with code for matrix cores, or for both kinds of core.
const A2_AND_A3: u32 = 0x94_0000;

/// `e_flags` of objects for other cores. All values were read from device objects of public packages.
const OTHERS: [(u32, &str); 4] = [
    (0x93_0000, "the vector cores of Ascend A2 and A3 alone"),
    (0x99_0000, "Ascend 950"),
    (0x9a_0000, "Ascend 950"),
    (0x8a_0000, "Ascend 310P"),
];

/// Checks that the object is for an NPU of any kind.
pub(super) fn check_machine(head: &FileHeader<LittleEndian>) -> Result<(), String> {
    if head.e_machine == MACHINE {
        return Ok(());
    }
    Err(format!(
        "its e_machine is {:#x} instead of {MACHINE:#x}, an Ascend NPU: it is an object for another machine",
        head.e_machine
    ))
}

/// Checks that the object was linked, for both kinds of core of an A2 or A3.
pub(super) fn check(head: &FileHeader<LittleEndian>) -> Result<(), String> {
    if head.e_flags != A2_AND_A3 {
        let other = OTHERS.iter().find(|(flags, _)| *flags == head.e_flags);
        let chip = other.map_or("a chip that hpmoe doesn't know", |(_, chip)| chip);
        return Err(format!(
            "its e_flags are {:#x}, {chip}, instead of {A2_AND_A3:#x}, both kinds of core of Ascend A2 and A3",
            head.e_flags
        ));
    }
    match head.e_type {
        ET_EXEC => Ok(()),
        ET_REL => Err("it is not linked, and CANN's runtime library loads linked objects only".to_owned()),
        other => Err(format!("its e_type is {other} instead of {ET_EXEC}, a linked object")),
    }
}

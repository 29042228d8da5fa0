//! Checks on a device object: it is linked, built for the right chip, has both halves of a kernel, and gives the loader
//! the right kernel type.

mod chip;
mod kind;

use elf::ElfBytes;
use elf::endian::LittleEndian;
use elf::file::Class;
use std::path::Path;

/// The two halves of a kernel: the ending of its symbol, and the cores that run it.
const HALVES: [(&str, &str); 2] = [("_mix_aic", "matrix"), ("_mix_aiv", "vector")];

/// Matrix and vector cores in one group of cores: two vector cores for each matrix core.
const RATIO: [u16; 2] = [1, 2];

/// Record types in the section that describes a half of the object.
const KERNEL_TYPE: u16 = 1;
const TASK_RATIO: u16 = 3;

/// The bytes of an object.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("can't read `{}`: {error}", path.display()))
}

/// Checks that an object can be launched on an A2 or A3: linked, with both halves of a kernel, and with the kernel type and core ratio that launches need.
pub(super) fn check(bytes: &[u8], symbol: &str) -> Result<(), String> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(bytes).ok().filter(|file| file.ehdr.class == Class::ELF64);
    let file = file.ok_or("it is not a little-endian 64-bit ELF file")?;
    chip::check_machine(&file.ehdr)?;
    // The kernel type of the remaining half says that the other one is empty. The object may also be for one kind of core
    // only.
    HALVES.iter().try_for_each(|half| check_other(&file, symbol, *half))?;
    chip::check(&file.ehdr)?;
    check_mixed(&file, symbol)?;
    HALVES.iter().try_for_each(|half| check_half(&file, symbol, *half))
}

/// Bytes of the functions of both halves of a kernel, and of all code, in an object that [`check`] has passed.
pub(super) fn sizes(bytes: &[u8], symbol: &str) -> ([u64; 2], u64) {
    let Ok(file) = ElfBytes::<LittleEndian>::minimal_parse(bytes) else { return ([0; 2], 0) };
    let entries = HALVES.map(|(ending, _)| size_of_symbol(&file, &format!("{symbol}{ending}")).unwrap_or(0));
    let text = file.section_header_by_name(".text").ok().flatten();
    (entries, text.map_or(0, |text| text.sh_size))
}

fn size_of_symbol(file: &ElfBytes<'_, LittleEndian>, name: &str) -> Option<u64> {
    let (symbols, names) = file.symbol_table().ok()??;
    let found = symbols.iter().find(|symbol| names.get(symbol.st_name as usize).is_ok_and(|found| found == name));
    found.map(|symbol| symbol.st_size)
}

/// Checks that the section of one half doesn't declare the half for the other kind of core empty.
fn check_other(file: &ElfBytes<'_, LittleEndian>, symbol: &str, (ending, _): (&str, &str)) -> Result<(), String> {
    let said = section(file, &section_name(symbol, ending)).and_then(kernel_type);
    match said.and_then(|said| Some((said, kind::empty_half(said)?))) {
        Some((said, cores)) => Err(format!(
            "its half for {cores} cores is empty (`{}` has kernel type {said}): CANN's compiler has found no code for {cores} cores in \
             `{symbol}`",
            section_name(symbol, ending)
        )),
        None => Ok(()),
    }
}

/// Checks that the kernel is for both kinds of core. A kernel for one kind has one section, and its symbol has no ending.
fn check_mixed(file: &ElfBytes<'_, LittleEndian>, symbol: &str) -> Result<(), String> {
    let name = section_name(symbol, "");
    match section(file, &name).and_then(kernel_type) {
        None | Some(kind::BOTH) => Ok(()),
        Some(other) => Err(format!("`{name}` has {} instead of {}", kind::named(other), kind::named(kind::BOTH))),
    }
}

fn check_half(file: &ElfBytes<'_, LittleEndian>, symbol: &str, (ending, cores): (&str, &str)) -> Result<(), String> {
    let half = format!("{symbol}{ending}");
    if !defines(file, &half) {
        return Err(format!("it has no code for {cores} cores, `{half}`"));
    }
    let name = section_name(symbol, ending);
    let data = section(file, &name).ok_or_else(|| format!("it has no section `{name}` about its {cores} cores"))?;
    match kernel_type(data) {
        Some(kind::BOTH) => {}
        Some(other) => {
            return Err(format!("`{name}` has {} instead of {}", kind::named(other), kind::named(kind::BOTH)));
        }
        None => return Err(format!("`{name}` has no kernel type, but needs {}", kind::named(kind::BOTH))),
    }
    let ratio = value(data, TASK_RATIO).and_then(|value| {
        let [a, b, c, d] = value.try_into().ok()?;
        Some([u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])])
    });
    match ratio {
        Some(RATIO) => Ok(()),
        Some([aic, aiv]) => {
            Err(format!("`{name}` has a ratio of {aic} matrix to {aiv} vector cores instead of 1 to 2"))
        }
        None => Err(format!("`{name}` has no ratio of matrix to vector cores, but needs 1 to 2")),
    }
}

/// Name of the section about a half.
fn section_name(symbol: &str, ending: &str) -> String {
    format!(".ascend.meta.{symbol}{ending}")
}

/// Contents of a section.
fn section<'data>(file: &ElfBytes<'data, LittleEndian>, name: &str) -> Option<&'data [u8]> {
    let header = file.section_header_by_name(name).ok().flatten()?;
    Some(file.section_data(&header).ok()?.0)
}

/// The kernel type that the section about a half has.
fn kernel_type(data: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(value(data, KERNEL_TYPE)?.try_into().ok()?))
}

/// Whether the object defines a symbol.
fn defines(file: &ElfBytes<'_, LittleEndian>, name: &str) -> bool {
    let Ok(Some((symbols, names))) = file.symbol_table() else { return false };
    symbols
        .iter()
        .any(|symbol| !symbol.is_undefined() && names.get(symbol.st_name as usize).is_ok_and(|found| found == name))
}

/// The first value of type `wanted` in a section. A section is a list of entries: a type and a length of 16 bits each, and that many bytes.
fn value(mut data: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (head, rest) = data.split_at_checked(4)?;
        let (kind, length) = (u16::from_le_bytes([head[0], head[1]]), u16::from_le_bytes([head[2], head[3]]));
        let (value, rest) = rest.split_at_checked(usize::from(length))?;
        if kind == wanted {
            return Some(value);
        }
        data = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_type() {
        let data = [1, 0, 4, 0, 4, 0, 0, 0, 3, 0, 4, 0, 1, 0, 2, 0, 9, 0, 8, 0];
        assert_eq!(value(&data, KERNEL_TYPE), Some(&[4, 0, 0, 0][..]));
        assert_eq!(value(&data, TASK_RATIO), Some(&[1, 0, 2, 0][..]));
        // A value that ends beyond the section is not a value.
        assert_eq!((value(&data, 9), value(&data, 2)), (None, None));
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        let said = check(b"kernel", "k").unwrap_err();
        assert!(said.starts_with("it is not a little-endian 64-bit ELF file"), "{said}");
    }

    /// A file that consists of a header only.
    fn head(kind: u16, machine: u16, flags: u32) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[16..18].copy_from_slice(&kind.to_le_bytes());
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[20] = 1;
        bytes[48..52].copy_from_slice(&flags.to_le_bytes());
        bytes[52] = 64;
        bytes
    }

    #[test]
    fn objects_of_other_chips_and_unlinked_ones_are_refused_by_their_heads() {
        let said = |kind, machine, flags| check(&head(kind, machine, flags), "k").unwrap_err();
        assert_eq!(said(2, 0x1029, 0x94_0000), "it has no code for matrix cores, `k_mix_aic`");
        assert!(said(2, 62, 0).starts_with("its e_machine is 0x3e instead of 0x1029"));
        for (flags, chip) in [
            (0x93_0000, "the vector cores of Ascend A2 and A3 alone"),
            (0x99_0000, "Ascend 950"),
            (0x9a_0000, "Ascend 950"),
            (0x8a_0000, "Ascend 310P"),
            (0, "a chip that hpmoe doesn't know"),
        ] {
            let said = said(2, 0x1029, flags);
            assert!(said.starts_with(&format!("its e_flags are {flags:#x}, {chip}, instead of 0x940000")), "{said}");
        }
        assert!(said(1, 0x1029, 0x94_0000).starts_with("it is not linked"));
        assert_eq!(said(3, 0x1029, 0x94_0000), "its e_type is 3 instead of 2, a linked object");
    }
}

//! The contract of a device object: both halves of a kernel, and what the loader is told about them.

use elf::ElfBytes;
use elf::endian::LittleEndian;
use elf::file::Class;

/// The two halves of a kernel: the ending of its symbol, and the cores that run it.
const HALVES: [(&str, &str); 2] = [("_mix_aic", "matrix"), ("_mix_aiv", "vector")];

/// Of a kernel with both kinds of core, counted by its matrix cores.
const MIX_AIC_MAIN: u32 = 4;
/// Matrix and vector cores of a group.
const RATIO: [u16; 2] = [1, 2];

/// Types of what a half's section says of it.
const KERNEL_TYPE: u16 = 1;
const TASK_RATIO: u16 = 3;

/// Checks that an object has both halves of a kernel, of the type and ratio that launches rely on.
pub(super) fn check(bytes: &[u8], symbol: &str) -> Result<(), String> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(bytes).ok().filter(|file| file.ehdr.class == Class::ELF64);
    let file = file.ok_or("it is not a 64-bit ELF file, low byte first")?;
    HALVES.iter().try_for_each(|half| check_half(&file, symbol, *half))
}

fn check_half(file: &ElfBytes<'_, LittleEndian>, symbol: &str, (ending, cores): (&str, &str)) -> Result<(), String> {
    let half = format!("{symbol}{ending}");
    if !defines(file, &half) {
        return Err(format!("it has no code for {cores} cores, `{half}`"));
    }
    let name = format!(".ascend.meta.{half}");
    let section = file.section_header_by_name(&name).ok().flatten();
    let data = section.and_then(|header| Some(file.section_data(&header).ok()?.0));
    let data = data.ok_or_else(|| format!("it has no section `{name}` about its {cores} cores"))?;
    let kind = value(data, KERNEL_TYPE).and_then(|value| Some(u32::from_le_bytes(value.try_into().ok()?)));
    if kind != Some(MIX_AIC_MAIN) {
        let kind = kind.map_or("no kernel type".to_owned(), |kind| format!("kernel type {kind}"));
        return Err(format!("`{name}` has {kind} instead of {MIX_AIC_MAIN}, both kinds of core"));
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
        None => Err(format!("`{name}` has no ratio of matrix to vector cores instead of 1 to 2")),
    }
}

/// Whether the object has code for a symbol.
fn defines(file: &ElfBytes<'_, LittleEndian>, name: &str) -> bool {
    let Ok(Some((symbols, names))) = file.symbol_table() else { return false };
    symbols
        .iter()
        .any(|symbol| !symbol.is_undefined() && names.get(symbol.st_name as usize).is_ok_and(|found| found == name))
}

/// The first value of a type in a section: each is a type and a length of 16 bits, and that many bytes.
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
        // A value that ends beyond the section is none.
        assert_eq!((value(&data, 9), value(&data, 2)), (None, None));
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        let said = check(b"kernel", "k").unwrap_err();
        assert!(said.starts_with("it is not a 64-bit ELF file,"), "{said}");
    }
}

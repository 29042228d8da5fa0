//! Files in safetensors form: the length of a header in eight bytes, the header in JSON, and the bytes of all tensors.

use jzon::JsonValue;

/// A file, with the place of each tensor in it.
#[derive(Debug)]
pub struct TensorFile<'a> {
    /// In the order of their bytes.
    tensors: Vec<Stored<'a>>,
}

/// A tensor of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored<'a> {
    pub name: String,
    /// The type of its elements, as `BF16`.
    pub dtype: String,
    pub shape: Vec<usize>,
    pub bytes: &'a [u8],
}

impl<'a> TensorFile<'a> {
    /// Finds the tensors of a file.
    pub fn parse(file: &'a [u8]) -> Result<Self, String> {
        Self::find(file).map_err(|problem| format!("no safetensors file: {problem}"))
    }

    fn find(file: &'a [u8]) -> Result<Self, String> {
        let (length, rest) = file.split_first_chunk().ok_or("it has no eight bytes for the length of its header")?;
        let length = u64::from_le_bytes(*length);
        let parts = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let (header, data) =
            parts.ok_or_else(|| format!("its header should have {length} bytes, but {} follow", rest.len()))?;
        let header = std::str::from_utf8(header).map_err(|error| format!("its header: {error}"))?;
        let header = jzon::parse(header).map_err(|error| format!("its header: {error}"))?;
        let tensors = header.entries().filter(|(name, _)| *name != "__metadata__");
        let mut tensors: Vec<_> = tensors.map(|(name, entry)| Entry::read(name, entry)).collect::<Result<_, _>>()?;
        tensors.sort_by_key(|tensor| tensor.offsets);
        let mut end = 0;
        let mut stored = Vec::new();
        for Entry { name, dtype, shape, offsets: [start, next] } in tensors {
            let bytes = data.get(start..next).filter(|_| start == end);
            let bytes = bytes.ok_or_else(|| {
                format!("`{name}` has bytes {start} to {next}, but the tensors before it end at byte {end}, and there are {} bytes", data.len())
            })?;
            end = next;
            stored.push(Stored { name, dtype, shape, bytes });
        }
        if end != data.len() {
            return Err(format!("its tensors have {end} bytes, but {} follow the header", data.len()));
        }
        Ok(Self { tensors: stored })
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> Result<&Stored<'a>, String> {
        self.tensors.iter().find(|tensor| tensor.name == name).ok_or_else(|| format!("there is no tensor `{name}`"))
    }

    /// Whether there is a tensor of that name.
    pub fn has(&self, name: &str) -> bool {
        self.tensor(name).is_ok()
    }

    /// The dimensions of a tensor.
    pub fn shape<const D: usize>(&self, name: &str) -> Result<[usize; D], String> {
        let shape = &self.tensor(name)?.shape;
        let wrong = |_| format!("`{name}` has {} dimensions instead of {D}", shape.len());
        shape.as_slice().try_into().map_err(wrong)
    }

    /// The elements of a tensor, which must have this shape and this type of `B` bytes.
    pub fn read<T, const B: usize>(
        &self,
        name: &str,
        wanted: &[usize],
        dtype: &str,
        element: impl Fn([u8; B]) -> T,
    ) -> Result<Vec<T>, String> {
        let Stored { dtype: found, shape, bytes, .. } = self.tensor(name)?;
        if shape != wanted {
            return Err(format!("`{name}` is {shape:?}, but the other tensors need {wanted:?}"));
        }
        if found != dtype {
            return Err(format!("`{name}` holds {found}, but the layer takes {dtype}"));
        }
        let expected = shape.iter().try_fold(B, |product, size| product.checked_mul(*size));
        if expected != Some(bytes.len()) {
            return Err(format!("`{name}` is {shape:?} of {dtype} and has {} bytes", bytes.len()));
        }
        let (elements, _) = bytes.as_chunks();
        Ok(elements.iter().map(|bytes| element(*bytes)).collect())
    }
}

/// A tensor's entry in the header.
struct Entry {
    name: String,
    dtype: String,
    shape: Vec<usize>,
    offsets: [usize; 2],
}

impl Entry {
    fn read(name: &str, entry: &JsonValue) -> Result<Self, String> {
        let numbers =
            |key: &str| -> Option<Vec<usize>> { entry[key].as_array()?.iter().map(JsonValue::as_usize).collect() };
        let (dtype, shape) = (entry["dtype"].as_str(), numbers("shape"));
        let offsets = numbers("data_offsets").and_then(|offsets| offsets.try_into().ok());
        match (dtype, shape, offsets) {
            (Some(dtype), Some(shape), Some(offsets)) => {
                Ok(Self { name: name.to_owned(), dtype: dtype.to_owned(), shape, offsets })
            }
            _ => Err(format!("`{name}` needs `dtype`, `shape` and two `data_offsets` in its header")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TensorFile;
    use crate::layer::bundled;
    use ::safetensors::SafeTensors;

    #[test]
    fn bundled_files_hold_what_another_library_finds() {
        for name in ["deepseek_skewed", "qwen3_balanced", "qwen3_ragged"] {
            let file = std::fs::read(bundled(name)).expect("it is bundled");
            let (found, expected) = (TensorFile::parse(&file).unwrap(), SafeTensors::deserialize(&file).unwrap());
            assert_eq!(found.tensors.len(), expected.len(), "{name}");
            for (tensor, expected) in expected.iter() {
                let found = found.tensor(tensor).unwrap();
                assert_eq!((&found.dtype, &*found.shape), (&format!("{:?}", expected.dtype()), expected.shape()));
                assert!(found.bytes == expected.data(), "{name}: other bytes of {tensor}");
            }
        }
    }

    #[test]
    fn a_part_of_a_file_is_refused() {
        let file = std::fs::read(bundled("qwen3_ragged")).expect("it is bundled");
        for length in [0, 7, 8, 9, 1000, file.len() / 2, file.len() - 1] {
            assert!(TensorFile::parse(&file[..length]).is_err(), "{length} bytes");
        }
        let longer = [file.as_slice(), &[0]].concat();
        assert!(TensorFile::parse(&longer).unwrap_err().ends_with("follow the header"));
    }

    /// A file with this header and this number of bytes for tensors.
    fn file(header: &str, bytes: usize) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &vec![0; bytes]].concat()
    }

    #[test]
    fn headers_with_mistakes_are_refused() {
        let problem = |header: &str| TensorFile::parse(&file(header, 8)).unwrap_err();
        let of = |text: &str| format!("no safetensors file: {text}");
        assert_eq!(
            TensorFile::parse(&[255; 9]).unwrap_err(),
            of(&format!("its header should have {} bytes, but 1 follow", u64::MAX))
        );
        assert!(problem("{").starts_with(&of("its header: ")), "{}", problem("{"));
        assert_eq!(problem("{}"), of("its tensors have 0 bytes, but 8 follow the header"));
        let parts = of("`a` needs `dtype`, `shape` and two `data_offsets` in its header");
        for entry in [
            "7",
            r#"{"dtype":"F32","shape":[2]}"#,
            r#"{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}"#,
            r#"{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}"#,
        ] {
            assert_eq!(problem(&format!("{{\"a\":{entry}}}")), parts);
        }
        let two = |first: [usize; 2], second: [usize; 2]| {
            problem(&format!(
                r#"{{"a":{{"dtype":"F32","shape":[1],"data_offsets":{first:?}}},"b":{{"dtype":"F32","shape":[1],"data_offsets":{second:?}}}}}"#
            ))
        };
        assert_eq!(
            two([0, 4], [0, 8]),
            of("`b` has bytes 0 to 8, but the tensors before it end at byte 4, and there are 8 bytes")
        );
        assert_eq!(
            two([0, 2], [4, 8]),
            of("`b` has bytes 4 to 8, but the tensors before it end at byte 2, and there are 8 bytes")
        );
        assert_eq!(
            two([0, 4], [4, 12]),
            of("`b` has bytes 4 to 12, but the tensors before it end at byte 4, and there are 8 bytes")
        );
        assert_eq!(
            two([0, 4], [4, 2]),
            of("`b` has bytes 4 to 2, but the tensors before it end at byte 4, and there are 8 bytes")
        );
    }

    #[test]
    fn tensors_of_other_types_and_sizes_are_refused() {
        let bytes = file(r#"{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}"#, 8);
        let found = TensorFile::parse(&bytes).unwrap();
        let read = |name, wanted: &[usize], dtype| found.read(name, wanted, dtype, f32::from_le_bytes);
        assert_eq!(read("a", &[1, 2], "F32"), Ok(vec![0.0; 2]));
        assert_eq!(read("b", &[1, 2], "F32").unwrap_err(), "there is no tensor `b`");
        assert_eq!(read("a", &[2, 1], "F32").unwrap_err(), "`a` is [1, 2], but the other tensors need [2, 1]");
        assert_eq!(read("a", &[1, 2], "I32").unwrap_err(), "`a` holds F32, but the layer takes I32");
        assert_eq!(found.shape::<3>("a").unwrap_err(), "`a` has 2 dimensions instead of 3");
        let bytes = file(r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}"#, 8);
        let found = TensorFile::parse(&bytes).unwrap();
        assert_eq!(found.read("a", &[3], "F32", f32::from_le_bytes).unwrap_err(), "`a` is [3] of F32 and has 8 bytes");
    }
}

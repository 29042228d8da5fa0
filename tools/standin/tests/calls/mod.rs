//! Calls of the stand-in's library by their CANN names.

/// Calls a function of `$acl.library` that returns an error number.
macro_rules! call {
    ($acl:expr, $name:literal, $($value:expr => $type:ty),*) => {{
        // SAFETY: as the headers of the runtime and of the stand-in declare it; every pointer is to a value that lives.
        unsafe {
            let function = $acl.library.get::<unsafe extern "C" fn($($type),*) -> c_int>($name.as_bytes()).unwrap();
            function($($value),*)
        }
    }};
}
pub(crate) use call;

/// An option for loading a kernel: its type and value.
#[repr(C)]
pub(crate) struct LoadOption {
    pub(crate) kind: u32,
    pub(crate) value: [u32; 4],
}

#[repr(C)]
pub(crate) struct LoadOptions {
    pub(crate) options: *const LoadOption,
    pub(crate) count: usize,
}

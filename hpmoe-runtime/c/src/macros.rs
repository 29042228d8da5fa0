//! The macros of a crate that exports its kernels.

/// Gives this crate's library the C interface of `hpmoe.h`, for all kernels that the build script builds. The crate
/// must have the type `cdylib`. Call the macro once, at the crate's root or in any module.
///
/// The macro adds a module `hpmoe_library` to the module that calls it. It holds the exported functions and a static
/// `LIBRARY`.
#[macro_export]
macro_rules! export {
    () => {
        /// The C interface of this crate's kernels, as `hpmoe.h` of `hpmoe-c` describes it.
        #[allow(
            unused_imports,
            dead_code,
            unreachable_pub,
            reason = "tables and texts have more than the interface needs"
        )]
        pub mod hpmoe_library {
            use $crate::kernels;
            ::core::include!(::core::concat!(
                ::core::env!(
                    "OUT_DIR",
                    "hpmoe_c::export!() needs a build script: `hpmoe_build::kernels([..]).build();`"
                ),
                "/hpmoe/exports.rs"
            ));
            $crate::functions! { LIBRARY }
        }
    };
}

/// Defines the static `LIBRARY` from the list of kernels that the build script writes.
#[doc(hidden)]
#[macro_export]
macro_rules! kernels {
    (
        faults [$($fault:literal)*]
        $(kernel $symbol:ident $name:literal of $module:literal, tables $tables:literal, device [$($device:literal)?],
            constants [$($constant:literal = $kind:ident($value:expr)),*];)*
    ) => {
        $(::core::compile_error!($fault);)*
        $(
            mod $symbol {
                use $crate::hpmoe_runtime;
                ::core::include!(::core::concat!(::core::env!("OUT_DIR"), $tables));
                #[link(name = $name, kind = "static")]
                unsafe extern "C" {
                    fn $symbol(launch: *mut u8);
                }
                pub(super) const KERNEL: $crate::hpmoe_runtime::CompiledKernel = unsafe {
                    // SAFETY: the symbol has the fingerprint of the tables: one run of the build script generated both.
                    $crate::hpmoe_runtime::CompiledKernel::new($symbol, TABLES)
                        $(.with_device($name, ::core::include_bytes!(::core::concat!(::core::env!("OUT_DIR"), $device))))?
                };
            }
        )*
        /// The kernels of this crate.
        pub static LIBRARY: $crate::Library = $crate::Library::new(&[$(
            $crate::Kernel {
                module: $module,
                constants: &[$(($constant, $crate::Constant::$kind($value))),*],
                compiled: $symbol::KERNEL,
            },
        )*]);
    };
}

/// Defines the exported functions of the C header for one library.
#[doc(hidden)]
#[macro_export]
macro_rules! functions {
    ($library:ident) => {
        /// The version of the C interface, `HPMOE_C_ABI`.
        #[unsafe(no_mangle)]
        pub extern "C" fn hpmoe_c_abi() -> u32 {
            $crate::functions::abi()
        }

        /// A description of the library's kernels, as JSON.
        #[unsafe(no_mangle)]
        pub extern "C" fn hpmoe_describe() -> *const ::core::ffi::c_char {
            $crate::functions::describe(&$library)
        }

        /// The memory that a launch of a taskflow needs on each rank.
        ///
        /// # Safety
        ///
        /// The conditions in the header apply.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_memory(
            taskflow: *const ::core::ffi::c_char,
            ranks: u64,
            capacity_rows: u64,
            memory: *mut $crate::HpmoeMemory,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::memory(&$library, taskflow, ranks, capacity_rows, memory) }
        }

        /// The memory that a launch of a taskflow needs on each rank, tensor by tensor, as JSON.
        ///
        /// # Safety
        ///
        /// The conditions in the header apply.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_memory_table(
            taskflow: *const ::core::ffi::c_char,
            ranks: u64,
            capacity_rows: u64,
            tokens: u64,
            table: *mut *const ::core::ffi::c_char,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::memory_table(&$library, taskflow, ranks, capacity_rows, tokens, table) }
        }

        /// Makes a group whose ranks are threads of this process.
        ///
        /// # Safety
        ///
        /// The conditions in the header apply.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_group_new(
            ranks: u64,
            options: *const $crate::HpmoeOptions,
            group: *mut $crate::HpmoeGroup,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::group_new(ranks, options, group) }
        }

        /// Joins a group of processes as one of its ranks.
        ///
        /// # Safety
        ///
        /// The conditions in the header apply.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_group_join(
            rank: u64,
            ranks: u64,
            address: *const ::core::ffi::c_char,
            joining: *const $crate::HpmoeJoining,
            options: *const $crate::HpmoeOptions,
            group: *mut $crate::HpmoeGroup,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::group_join(rank, ranks, address, joining, options, group) }
        }

        /// Starts listening as rank 0 of a group of processes.
        ///
        /// # Safety
        ///
        /// The conditions in the header apply.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_listen(
            address: *const ::core::ffi::c_char,
            joining: *const $crate::HpmoeJoining,
            listener: *mut $crate::HpmoeListener,
            port: *mut u16,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::listen(address, joining, listener, port) }
        }

        /// Joins a group of processes as rank 0, with a listener.
        ///
        /// # Safety
        ///
        /// The conditions in the header apply.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_group_host(
            listener: $crate::HpmoeListener,
            ranks: u64,
            joining: *const $crate::HpmoeJoining,
            options: *const $crate::HpmoeOptions,
            group: *mut $crate::HpmoeGroup,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::group_host(listener, ranks, joining, options, group) }
        }

        /// Frees a listener that no group has used.
        #[unsafe(no_mangle)]
        pub extern "C" fn hpmoe_listener_free(listener: $crate::HpmoeListener) -> $crate::HpmoeStatus {
            $crate::functions::listener_free(listener)
        }

        /// Frees a group.
        #[unsafe(no_mangle)]
        pub extern "C" fn hpmoe_group_free(group: $crate::HpmoeGroup) -> $crate::HpmoeStatus {
            $crate::functions::group_free(group)
        }

        /// Makes another handle to a group, whose launches use a placement of experts.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_group_placed(
            group: $crate::HpmoeGroup,
            placement: *const $crate::HpmoePlacement,
            placed: *mut $crate::HpmoeGroup,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::group_placed(group, placement, placed) }
        }

        /// Computes a placement of experts that balances their loads.
        ///
        /// # Safety
        ///
        /// The conditions in the header apply.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_place(
            ranks: u64,
            experts: u64,
            places: u64,
            loads: *const u64,
            current: *const i32,
            moves: u64,
            physical_to_logical: *mut i32,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::place(ranks, experts, places, loads, current, moves, physical_to_logical) }
        }

        /// Runs a taskflow on all ranks of a group, and waits for it.
        ///
        /// # Safety
        ///
        /// The conditions in the header apply.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_launch(
            group: $crate::HpmoeGroup,
            taskflow: *const ::core::ffi::c_char,
            ids: *const $crate::HpmoeTensor,
            ranks: u64,
            tensors: *const $crate::HpmoeTensor,
            arguments: u64,
            streams: *const *mut ::core::ffi::c_void,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::launch(&$library, group, taskflow, ids, ranks, tensors, arguments, streams) }
        }

        /// Enqueues a launch of a taskflow on NPUs, and returns before the launch has ended.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "those of the header")]
        pub unsafe extern "C" fn hpmoe_enqueue(
            group: $crate::HpmoeGroup,
            taskflow: *const ::core::ffi::c_char,
            ids: *const $crate::HpmoeTensor,
            ranks: u64,
            tensors: *const $crate::HpmoeTensor,
            arguments: u64,
            streams: *const *mut ::core::ffi::c_void,
            pending: *mut $crate::HpmoePending,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe {
                $crate::functions::enqueue(&$library, group, taskflow, ids, ranks, tensors, arguments, streams, pending)
            }
        }

        /// Fixes a launch: makes its argument block, and launches nothing.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_fix(
            group: $crate::HpmoeGroup,
            taskflow: *const ::core::ffi::c_char,
            ids: *const $crate::HpmoeTensor,
            ranks: u64,
            tensors: *const $crate::HpmoeTensor,
            arguments: u64,
            fixed: *mut $crate::HpmoeFixed,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::fix(&$library, group, taskflow, ids, ranks, tensors, arguments, fixed) }
        }

        /// Launches a fixed launch once more.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_replay(
            fixed: $crate::HpmoeFixed,
            ranks: u64,
            tensors: *const $crate::HpmoeTensor,
            arguments: u64,
            streams: *const *mut ::core::ffi::c_void,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::replay(fixed, ranks, tensors, arguments, streams) }
        }

        /// Enqueues a fixed launch on streams that are being captured.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_capture(
            fixed: $crate::HpmoeFixed,
            ranks: u64,
            tensors: *const $crate::HpmoeTensor,
            arguments: u64,
            streams: *const *mut ::core::ffi::c_void,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::capture(fixed, ranks, tensors, arguments, streams) }
        }

        /// Tells the library how many times graphs have launched a fixed launch.
        #[unsafe(no_mangle)]
        pub extern "C" fn hpmoe_replayed(fixed: $crate::HpmoeFixed, launches: u32) -> $crate::HpmoeStatus {
            $crate::functions::replayed(fixed, launches)
        }

        /// Changes the placement of experts of a fixed launch.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_fixed_place(
            fixed: $crate::HpmoeFixed,
            placement: *const $crate::HpmoePlacement,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::fixed_place(fixed, placement) }
        }

        /// Waits for the launches of a fixed launch, and frees it.
        #[unsafe(no_mangle)]
        pub extern "C" fn hpmoe_fixed_free(fixed: $crate::HpmoeFixed) -> $crate::HpmoeStatus {
            $crate::functions::fixed_free(fixed)
        }

        /// Waits for a pending launch, or for all launches of a fixed launch.
        #[unsafe(no_mangle)]
        pub extern "C" fn hpmoe_wait(pending: $crate::HpmoePending) -> $crate::HpmoeStatus {
            $crate::functions::wait(pending)
        }

        /// Runs the reference of a taskflow on copies of tensors in host memory.
        ///
        /// # Safety
        ///
        /// The conditions in the header apply.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_reference(
            group: $crate::HpmoeGroup,
            taskflow: *const ::core::ffi::c_char,
            ids: *const $crate::HpmoeTensor,
            ranks: u64,
            tensors: *const $crate::HpmoeTensor,
            arguments: u64,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::reference(&$library, group, taskflow, ids, ranks, tensors, arguments) }
        }

        /// Reports to the other ranks that this process can't make a launch.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn hpmoe_refuse(
            group: $crate::HpmoeGroup,
            message: *const ::core::ffi::c_char,
        ) -> $crate::HpmoeStatus {
            // SAFETY: the caller upholds the contract of this function.
            unsafe { $crate::functions::refuse(group, message) }
        }

        /// The message of this thread's last failed call; empty if the last call succeeded.
        #[unsafe(no_mangle)]
        pub extern "C" fn hpmoe_last_error() -> *const ::core::ffi::c_char {
            $crate::functions::last_error()
        }

        /// The report of the last launch that this thread has waited for, as JSON; empty if the launch failed.
        #[unsafe(no_mangle)]
        pub extern "C" fn hpmoe_last_report() -> *const ::core::ffi::c_char {
            $crate::functions::last_report()
        }
    };
}

# AArch64 on another machine. Debian's packages bring a cross compiler, an emulator, and a Rust that has the target's standard library:
# that of rust-toolchain.toml fits no other compiler, and no package registry has it.
. .ci/debian_rust.sh
aarch64=target/aarch64
of_both=(-o APT::Architectures::=arm64)

# Installs the cross compiler and the emulator, and fetches the lists of the target's packages.
aarch64_tools() {
    as_root apt-get -qq "${of_both[@]}" update
    have aarch64-linux-gnu-g++ && have qemu-aarch64-static || as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
}

# The newest of Debian's Rusts for AArch64 that builds examples, as `VERSION NAME`, or nothing.
aarch64_rustc() { debian_rusts "$(rust_version python/stock)" arm64 | tail -n 1; }

# Unpacks a Rust for AArch64, by its version and name.
aarch64_rust() { debian_rust "$1" "$2" "$aarch64/rust" "libstd-rust${2#rustc}-dev:arm64=$1"; }

# Builds examples, by their names.
aarch64_build() {
    local name packages=()
    for name; do packages+=(-p "hpmoe-example-$name" --example "$name"); done
    RUSTC=$PWD/$aarch64/rust/rustc CARGO_TARGET_DIR=$aarch64 CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        cargo build --locked --target aarch64-unknown-linux-gnu "${packages[@]}"
}

# Runs an example, which prints how its result compares with its reference.
aarch64_run() { qemu-aarch64-static -L /usr/aarch64-linux-gnu "$aarch64/aarch64-unknown-linux-gnu/debug/examples/$1" --json "${@:2}"; }

# Runs an example; fails unless its result has the bits of its reference.
aarch64_layer() { aarch64_run "$@" | grep -F '"bitwise_equal":true'; }

# Runs an example by two processes. Programs of another architecture can't start each other here, so each rank is started as by a launcher. Rank 0
# reports on both.
aarch64_processes() {
    local -x HPMOE_RANK HPMOE_RANKS=2 HPMOE_ADDRESS_FILE=$PWD/$aarch64/rank0-$$
    local other
    HPMOE_RANK=1 aarch64_run "$1" >/dev/null &
    other=$!
    HPMOE_RANK=0 aarch64_layer "$1"
    wait "$other"
}

# The C++ cases of the host's AscendC, which need no Rust.
aarch64_cases() {
    local cxx=aarch64-linux-gnu-g++ out=$aarch64/cases sum
    mkdir -p "$out"
    rm -f "$out"/*.o
    # An object for each file: `host-dma.o`, `tests-host-gemm.o`.
    xargs -P "$(nproc)" -I '{}' bash -euc '
        object=${2#kernels/} && object=${object//\//-}
        "$0" -std=c++17 -O1 -ffp-contract=off -pthread -I kernels/host -I kernels/include -c "$2" -o "$1/${object%.cpp}.o"' \
        "$cxx" "$out" '{}' < <(find kernels/host kernels/tests/host -maxdepth 1 -name '*.cpp')
    "$cxx" -static -pthread "$out"/*.o -o "$out/cases"
    sum=$(sed -n 's/^pub const EXP_CHECKSUM: u64 = 0x\([0-9a-f_]*\);$/\1/p' kernels/src/math/mod.rs)
    HPMOE_EXP_CHECKSUM="${sum//_/}" qemu-aarch64-static "$out/cases"
}

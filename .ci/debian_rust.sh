# Rust from Debian's packages: compilers older than that of rust-toolchain.toml, and standard libraries for other architectures, which
# package registries don't have.

# The version of a package that would be installed, or nothing.
candidate() { LC_ALL=C apt-cache "${of_both[@]}" policy "$1" | sed -n 's/^  Candidate: \([0-9].*\)/\1/p'; }

# The lowest Rust version that a package of this workspace states.
rust_version() { sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$1/Cargo.toml"; }

# The name of the oldest Rust that is as new as asked, for an architecture: a stable release of Debian updates `rustc-web` alone. Nothing if there is none.
debian_rustc() {
    local needed=$1 architecture=$2 name
    for name in rustc rustc-web; do
        if dpkg --compare-versions "$(candidate "libstd-rust${name#rustc}-dev:$architecture")" ge "$needed"; then
            echo "$name"
            return
        fi
    done
}

# Unpacks a Rust of that name to a folder: `rustc` and `cargo` there run it. Installed, it would be in the way of other toolchains. The libraries that
# its programs need are installed. More packages of the same version can be named.
debian_rust() {
    local name=$1 root=$PWD/$2 version of cargo libraries
    of=libstd-rust${name#rustc} cargo=cargo${name#rustc}
    version=$(candidate "$name")
    [ ! -e "$root/$version" ] || return 0
    rm -rf "$root"
    mkdir -p "$root"
    (cd "$root" && apt-get -qq -o APT::Sandbox::User=root "${of_both[@]}" download "$name=$version" "$of-dev=$version" "${@:3}" \
        "$cargo=$(candidate "$cargo")")
    mapfile -t libraries < <(dpkg-deb --field "$root/$cargo"_*.deb Depends | tr , '\n' | sed -n 's/^ *\(lib[^ ]*\).*/\1/p')
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$of-$(cut -d . -f 1,2 <<<"$version")" \
        "${libraries[@]}"
    find "$root" -name '*.deb' -exec dpkg-deb --extract '{}' "$root" ';' -delete
    printf '#!/bin/sh\nexec "%s/usr/bin/rustc" --sysroot "%s/usr" "$@"\n' "$root" "$root" >"$root/rustc"
    printf '#!/bin/sh\nRUSTC="%s/rustc" exec "%s/usr/bin/cargo" "$@"\n' "$root" "$root" >"$root/cargo"
    # For packages of this workspace alone.
    printf '#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec "$@" "-Zcrate-attr=feature(%s)"\n' "$later" >"$root/with_sizes"
    chmod +x "$root/rustc" "$root/cargo" "$root/with_sizes"
    touch "$root/$version"
}

# What examples and layers use that Rust has since 1.86 to 1.89, as features of an older one: `_` for a size of a kernel, and functions.
later=generic_arg_infer,unsigned_is_multiple_of,slice_as_chunks,os_str_display

# Runs cargo with such a Rust on packages whose kernels write `_` for sizes.
debian_cargo_with_sizes() {
    local root=$PWD/$1 sizes=()
    if ! dpkg --compare-versions "$("$root/rustc" --version | cut -d ' ' -f 2)" ge "$(rust_version stock)"; then
        sizes=(RUSTC_WORKSPACE_WRAPPER="$root/with_sizes")
        set -- "${@:1:2}" --ignore-rust-version "${@:3}"
    fi
    env "${sizes[@]}" "$root/cargo" "${@:2}"
}

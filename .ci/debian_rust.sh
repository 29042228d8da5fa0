# Rust from Debian's packages: compilers older than that of rust-toolchain.toml, and standard libraries for other architectures, which
# package registries don't have.

# The lowest Rust version that a package of this workspace states, by its folder.
rust_version() { sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$1/Cargo.toml"; }

# Debian's Rusts for an architecture, of a version or newer, the oldest first: a line `VERSION NAME` each. A stable release updates only `rustc-web`.
debian_rusts() {
    local needed=$1 architecture=$2 name version
    for name in rustc rustc-web; do
        LC_ALL=C apt-cache "${of_both[@]}" policy "libstd-rust${name#rustc}-dev:$architecture" |
            sed -n 's/^ [ *]\{4\}\([0-9][^ ]*\) -\{0,1\}[0-9]*$/\1/p' |
            while read -r version; do
                if dpkg --compare-versions "$version" ge "$needed"; then echo "$version $name"; fi
            done
    done | sort --version-sort
}

# Unpacks one of these Rusts to a folder, with other packages of its version, because an installed one would conflict with other toolchains. In the
# folder, `rustc` runs it, and so does `cargo` if its package is among the others. The libraries that its programs need are installed.
debian_rust() {
    local version=$1 name=$2 root=$PWD/$3 of libraries
    of=libstd-rust${name#rustc}
    [ ! -e "$root/$version" ] || return 0
    rm -rf "$root"
    mkdir -p "$root"
    (cd "$root" && apt-get -qq -o APT::Sandbox::User=root "${of_both[@]}" download "$name=$version" "$of-dev=$version" "${@:4}")
    libraries=("$of-$(cut -d . -f 1,2 <<<"$version")")
    if [ -e "$(echo "$root"/cargo*.deb)" ]; then
        mapfile -t -O 1 libraries < <(dpkg-deb --field "$root"/cargo*.deb Depends | tr , '\n' | sed -n 's/^ *\(lib[^ ]*\).*/\1/p')
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${libraries[@]}"
    find "$root" -name '*.deb' -exec dpkg-deb --extract '{}' "$root" ';' -delete
    printf '#!/bin/sh\nexec "%s/usr/bin/rustc" --sysroot "%s/usr" "$@"\n' "$root" "$root" >"$root/rustc"
    printf '#!/bin/sh\nRUSTC="%s/rustc" exec "%s/usr/bin/cargo" "$@"\n' "$root" "$root" >"$root/cargo"
    chmod +x "$root/rustc" "$root/cargo"
    touch "$root/$version"
}

#!/usr/bin/env bash
# Renders the book and the repository's other documents as one static site, which needs no server and no network: target/book. Finds dead links in it. The
# tools are installed below target/ when it runs for the first time.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Installs a tool of crates.io in this version.
tool() {
    local name=$1 version=$2
    "target/tools/bin/$name" --version 2>/dev/null | grep -qwF "$version" ||
        cargo install --quiet --locked --root target/tools --version "$version" "${@:3}" "$name"
}
tool mdbook 0.5.4 --no-default-features --features search
tool hyperlink 0.3.2

rm -rf target/book
target/tools/bin/mdbook build docs/book
# Mermaid's script is part of a package of crates.io, of which nothing else is needed and nothing is built.
mkdir -p target/tools/mermaid/src
printf '[package]\nname = "scripts"\nedition = "2024"\n[dependencies]\nmdbook-mermaid = "=0.17.1"\n[workspace]\n' >target/tools/mermaid/Cargo.toml
touch target/tools/mermaid/src/lib.rs
package=$(cargo metadata --quiet --format-version 1 --manifest-path target/tools/mermaid/Cargo.toml |
    python3 -c 'import json, sys; print(*(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "mdbook-mermaid"))')
cp "$(dirname "$package")"/src/bin/assets/mermaid*.js target/book
# mdbook copies the folder next to the pages, too. Pages that link to its files have been made.
rm -rf target/book/book
# The page for missing pages is for servers, which show it under any address.
rm target/book/404.html
target/tools/bin/hyperlink --check-anchors target/book
echo "open target/book/index.html"

#!/usr/bin/env bash
# Renders the book and the repository's other documents as one static site, which needs no server and no network: target/book. Finds dead links in it. The
# tools are installed below target/ when it runs for the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

# Installs a tool of crates.io in this version.
tool() {
    local name=$1 version=$2
    "target/tools/bin/$name" --version 2>/dev/null | grep -qwF "$version" ||
        cargo install --quiet --locked --root target/tools --version "$version" "${@:3}" "$name"
}
tool mdbook 0.5.4 --no-default-features --features search
tool mdbook-mermaid 0.17.1
tool hyperlink 0.3.2

rm -rf target/book
target/tools/bin/mdbook build book
# Mermaid itself, which the tool has.
mkdir -p target/tools/mermaid
touch target/tools/mermaid/book.toml
target/tools/bin/mdbook-mermaid install target/tools/mermaid 2>/dev/null
cp target/tools/mermaid/mermaid*.js target/book
# The page for missing pages is for servers, which show it under any address.
rm target/book/404.html
target/tools/bin/hyperlink --check-anchors target/book
echo "open target/book/index.html"

# Shared by the scripts of this folder: their settings, and steps that print their time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# One stream, so that lines appear in order.
exec 2>&1
export CARGO_TERM_COLOR=never
# Each build runs once, and needs no debugger.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=none

# Options of cargo with which Clippy compiles the workspace. `cargo clippy` would build every library that build scripts need, and run the
# build scripts, a second time. Crates that tests build with cargo are not linted. `cargo clippy -- -D warnings` sets CLIPPY_ARGS like this.
lint=(--config 'build.rustc-workspace-wrapper="clippy-driver"')
export CLIPPY_ARGS=-Dwarnings

# Packages that only this repository uses.
unpublished=(--exclude hpmoe-book --exclude 'hpmoe-example-*' --exclude hpmoe-ui-tests --exclude hpmoe-standin --exclude hpmoe-device-tests \
    --exclude hpmoe-mutants --exclude hpmoe-sweep --exclude hpmoe-stock \
    --exclude hpmoe-programs)

have() { command -v "$1" >/dev/null 2>&1; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# Python packages go into an environment of this workspace.
venv=target/venv
make_venv() { [ -x "$venv/bin/python" ] || python3 -m venv "$venv"; }

# Runs a command between a line that names it and a line with its time. The first command that fails ends the script.
step() {
    local command="$*"
    [ "${#command}" -le 160 ] || command="${command:0:160} …"
    echo "+ $command"
    local TIMEFORMAT="= %0R s, processors %0U s + %0S s: $command"
    time "$@"
}

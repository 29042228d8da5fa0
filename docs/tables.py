#!/usr/bin/env python3
"""Renews the tables of docs/time.md and the README from `hpmoe simulate --json`: run it after a change of schedules or constants.

    cargo build --release -p hpmoe-cli
    python3 docs/tables.py            # rewrites the pages
    python3 docs/tables.py --check    # says whether the pages are current, and changes nothing
"""

import functools
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIME = ROOT / "docs" / "time.md"
README = ROOT / "README.md"
TARGET = pathlib.Path(
    json.loads(subprocess.check_output(["cargo", "metadata", "--format-version=1", "--no-deps"], cwd=ROOT))[
        "target_directory"
    ]
)
HPMOE = TARGET / "release" / "hpmoe"

FORWARD = "examples/moe_ffn.rs"
BACKWARD = "examples/moe_backward.rs"
CHUNKED = "examples/moe_chunked.rs"
CHUNKED_BACKWARD = "examples/moe_backward_chunked.rs"
INT8 = "examples/moe_w8a8.rs"
INT4 = "examples/moe_w4a8.rs"
# Sizes that only the narrow layers have: rows of a tile of the activation, columns of a group, rows of weights that are unpacked at a time.
INT8_SIZES = ",TILE_ROWS=32"
INT4_SIZES = ",GROUP=128,TILE_ROWS=32,TILE_UNPACK=32"
TILES = "TILE_M=128,TILE_N=256,PUT=8,BLOCK=16,COLUMNS=1024"
# Tiles of the backward pass are taller than L0C holds at a time: their panels of 128 rows pay for one tile.
BACKWARD_TILES = "TILE_M=256,TILE_N=256,PUT=16,BLOCK=16,COLUMNS=1024,GRAD_M=512,GRAD_N=256"
DEEPSEEK = "HIDDEN=7168,INTER=2048,TOP_K=8"
QWEN = "HIDDEN=4096,INTER=1536,EXPERTS=128,TOP_K=8"
# The layers with all of their experts.
MODELS = {
    "DeepSeek-V3": f"{DEEPSEEK},EXPERTS=256",
    "Qwen3-235B": QWEN,
    "Kimi-K2": f"{DEEPSEEK},EXPERTS=384",
    "MiniMax-M2": "HIDDEN=3072,INTER=1536,EXPERTS=256,TOP_K=8",
}
# Not the seeds that schedules are tuned on.
SEEDS = range(101, 121)
# Tile overheads, and what the original costs: "on" and "off" say whether it polls, "free" that it does not and that its descriptors
# and its empty tasks cost nothing; "bf16" that it does not poll, and that the others' weight gradients are bf16 instead of f32.
CASES = [(200, "on"), (200, "off"), (200, "free"), (900, "on"), (900, "off")]
BACKWARD_CASES = [*CASES, (200, "bf16")]
# With few tokens polling decides everything, so ratios are without it.
FEW_TOKENS = [(200, "off"), (200, "free"), (900, "off")]
FEW_TOKENS_BACKWARD = [*FEW_TOKENS, (200, "bf16")]
FREE = ["empty_task_us", "descriptor_aic_us", "descriptor_aiv_us"]
ORIGINAL = {"on": "polls", "off": "does not poll", "free": "does not poll, its estimates 0",
            "bf16": "does not poll; gradients of both others in bf16"}


def arguments(sizes, ranks, direction="forward", routing="balanced", file=FORWARD):
    file, tiles = (file, TILES) if direction == "forward" else (BACKWARD, BACKWARD_TILES)
    line = ["simulate", file, "--set", f"{sizes},{tiles}", "--ranks", str(ranks)]
    if direction != "forward":
        line += ["--direction", direction]
    if routing != "balanced":
        line += ["--routing", routing]
    return line


def output(*line):
    """The JSON that a command prints."""
    done = subprocess.run([HPMOE, *line, "--json"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"hpmoe {' '.join(line)}\n{done.stderr}")
    return json.loads(done.stdout)


@functools.cache
def run(line, policy, overhead, polling):
    line = [*line, "--policy", policy]
    if overhead != 200:
        line += ["--constant", f"sync.tile_overhead_ns={overhead}"]
    if polling != "on":
        line += ["--polling", "off"]
    if polling == "bf16":
        line += ["--gradients", "bf16"]
    if polling == "free":
        line += [word for key in FREE for word in ("--constant", f"original.{key}=0")]
    return output(*line)


def policies(line, overhead, polling):
    """The runs of all policies; only the original polls."""
    line = tuple(line)
    return {
        "ours": run(line, "ours", overhead, "on"),
        "original": run(line, "hyperparallel", overhead, polling),
        "serial": run(line, "serial", overhead, "bf16" if polling == "bf16" else "on"),
    }


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def command(line):
    return "```sh\nhpmoe " + " ".join(line) + "\n```"


HEADER = ["tile overhead", "the original", "ours, simulated", "original", "serial", "original/ours", "serial/ours",
          "ours/bound", "AIC useful"]


# Comparisons in which ours is slower, or hardly faster.
CLOSE = []


def close(name, overhead, polling, ratios, share=""):
    """Notes a comparison in which ours is slower, or faster by less than 3 %."""
    for other, ratio in ratios.items():
        if ratio < 1.03:
            said = f"takes {1 / ratio:.3f} times as long as {other}" if ratio < 1 else f"is {ratio:.3f} times as fast as {other}"
            poll = f", which {ORIGINAL[polling]}" if other == "the original" else ", gradients in bf16" if polling == "bf16" else ""
            CLOSE.append(f"- {name}, {overhead} ns: ours {said}{poll}{share}")


def row(name, found, overhead, polling):
    ours, original, serial = (found[policy]["simulated_us"] for policy in ("ours", "original", "serial"))
    ratios = {"the original": original / ours} | ({"serial": serial / ours} if polling in ("off", "bf16") else {})
    close(name, overhead, polling, ratios)
    return [
        f"{overhead} ns", ORIGINAL[polling], f"{ours:,.1f} µs", f"{original:,.1f}", f"{serial:,.1f}", f"{original / ours:.3f}",
        f"{serial / ours:.3f}", f"{ours / found['ours']['bound_us']:.3f}", f"{found['ours']['aic_useful']:.3f}",
    ]


def layer(name, sizes, ranks, direction="forward", cases=CASES):
    line = arguments(sizes, ranks, direction)
    found = {case: policies(line, *case) for case in cases}
    if "on" not in {polling for _, polling in cases}:
        line += ["--polling", "off"]
    refused = found[cases[0]]["original"]["refused_by_the_original"]
    note = f"\n\nThe original itself refuses this layer: {'; '.join(refused)}." if refused else ""
    rows = [row(name, found[case], *case) for case in cases]
    return found, f"### {name}\n\n{command(line)}\n\n{table(HEADER, rows)}{note}\n"


def both(forward, backward):
    """The table of both passes together."""
    rows = []
    for case in BACKWARD_CASES:
        time = {
            policy: forward[case if case in forward else (case[0], "off")][policy]["simulated_us"] + backward[case][policy]["simulated_us"]
            for policy in ("ours", "original", "serial")
        }
        rows.append([
            f"{case[0]} ns", ORIGINAL[case[1]], *(f"{time[policy]:,.1f}" for policy in time),
            f"{time['original'] / time['ours']:.3f}", f"{time['serial'] / time['ours']:.3f}",
        ])
    return "### DeepSeek-V3, EP8, 4,096 tokens, both passes\n\nSums of the two tables above.\n\n" + table(HEADER[:7], rows) + "\n"


# The layers for which choices are turned off one at a time, and those choices.
WORTH = [("4,096 tokens, forward", 4096, "forward"), ("4,096 tokens, backward", 4096, "backward"),
         ("512 tokens, forward", 512, "forward")]
OFF = ["", "by_load=false"]


def choices():
    rows = []
    for name, tokens, direction in WORTH:
        row = [name]
        for off in OFF:
            ratios = []
            for seed in SEEDS:
                line = arguments(f"{DEEPSEEK},EXPERTS=64,TOKENS={tokens}", 8, direction, f"zipf:1.2:{seed}")
                ours = run((*line, "--choices", off), "ours", 200, "on")
                ratios.append(ours["simulated_us"] / ours["bound_us"])
            row.append(f"{sum(ratios) / len(ratios):.3f} ({max(ratios):.3f})")
        rows.append(row)
    header = ["DeepSeek-V3, EP8", "all", *(f"`{off}`" for off in OFF[1:])]
    line = " ".join(arguments(f"{DEEPSEEK},EXPERTS=64,TOKENS=512", 8, routing="zipf:1.2:SEED"))
    return f"```sh\nhpmoe {line} --choices by_load=false\n```\n\n{table(header, rows)}\n"


def skewed(direction):
    sizes = f"{DEEPSEEK},EXPERTS=64,TOKENS=4096"
    rows = []
    for case in CASES:
        found = [policies(arguments(sizes, 8, direction, f"zipf:1.2:{seed}"), *case) for seed in SEEDS]
        def ratios(above, below):
            return [above(one) / below(one) for one in found]
        def mean(values):
            return sum(values) / len(values)
        ours = lambda one: one["ours"]["simulated_us"]
        original = ratios(lambda one: one["original"]["simulated_us"], ours)
        serial = ratios(lambda one: one["serial"]["simulated_us"], ours)
        bound = ratios(ours, lambda one: one["ours"]["bound_us"])
        slower = sum(ratio < 1 for ratio in original)
        share = f"; it is slower for {slower} of {len(SEEDS)} seeds"
        close(f"Zipf 1.2, {direction}, worst seed", *case, {"the original": min(original)}, share)
        rows.append([
            f"{case[0]} ns", ORIGINAL[case[1]], f"{mean([ours(one) for one in found]):,.1f} µs",
            f"{mean(original):.3f} ({min(original):.3f})", f"{mean(serial):.3f} ({min(serial):.3f})",
            f"{mean(bound):.3f} ({max(bound):.3f})",
        ])
    header = ["tile overhead", "the original", "ours, simulated", "original/ours", "serial/ours", "ours/bound"]
    return (f"### DeepSeek-V3, EP8, 4,096 tokens, Zipf 1.2, {direction}\n\n"
            f"Means of the seeds {SEEDS[0]} to {SEEDS[-1]}, with the worst of them in brackets.\n\n"
            + command(arguments(sizes, 8, direction, "zipf:1.2:SEED")) + "\n\n" + table(header, rows) + "\n")


def narrow(name, file, more=""):
    """A layer of whole numbers next to the one in bf16, whole latencies."""
    rows = []
    for tokens in (4096, 512, 64):
        sizes = f"{DEEPSEEK},EXPERTS=64,TOKENS={tokens}"
        for overhead in (200, 900):
            wide = run(tuple(arguments(sizes, 8)), "ours", overhead, "on")
            whole = run(tuple(arguments(sizes + more, 8, file=file)), "ours", overhead, "on")
            times = [one["simulated_us"] for one in (wide, whole)]
            rows.append([
                f"{tokens:,}", f"{overhead} ns", f"{times[0]:,.1f} µs", f"{times[1]:,.1f}", f"{times[0] / times[1]:.3f}",
                f"{whole['bound_us']:,.1f} µs", f"{times[1] / whole['bound_us']:.3f}",
            ])
    header = ["tokens", "tile overhead", "bf16, simulated", name, f"bf16/{name}", f"bound of {name}", f"{name}/bound"]
    line = arguments(f"{DEEPSEEK},EXPERTS=64,TOKENS=4096{more}", 8, file=file)
    return f"{command(line)}\n\n{table(header, rows)}\n"


# Passes, ranks and tokens of the layers that are simulated without weights read ahead.
AHEAD = [
    *(("forward", 64, tokens) for tokens in (16, 64, 128)),
    *(("forward", 8, tokens) for tokens in (16, 64, 128, 512)),
    *(("forward", 2, tokens) for tokens in (16, 64)),
    *(("backward", 64, tokens) for tokens in (16, 64, 128)),
    *(("backward", 8, tokens) for tokens in (16, 64, 512)),
]


def ahead():
    """The time that weights read ahead save, with all tile sizes left open."""
    def line(sizes, direction, ranks, tokens):
        file = FORWARD if direction == "forward" else BACKWARD
        return ["simulate", file, "--set", f"{sizes},TOKENS={tokens}", "--ranks", str(ranks), "--direction", direction, "--policy", "ours"]
    off = ["--choices", "read_ahead=false"]
    rows = []
    for direction, ranks, tokens in AHEAD:
        row = [direction, str(ranks), str(tokens)]
        for sizes in MODELS.values():
            one = line(sizes, direction, ranks, tokens)
            saved = 1 - output(*one)["simulated_us"] / output(*one, *off)["simulated_us"]
            row.append(f"{round(100 * saved, 1) + 0.0:.1f}")
        rows.append(row)
    first = [*line(MODELS["DeepSeek-V3"], *AHEAD[0]), *off]
    return f"{command(first)}\n\n{table(['pass', 'ranks', 'tokens', *MODELS], rows)}\n"


# Layers of the kinds in which another policy is faster: name, file, sizes, ranks, direction and routing.
BEHIND = [
    ("DeepSeek-V3, one token, one rank, forward", FORWARD, f"{DEEPSEEK},EXPERTS=256,TOKENS=1", 1, "forward", "balanced"),
    ("gpt-oss-120b, 4 tokens, EP2, backward in chunks", CHUNKED_BACKWARD, "HIDDEN=2880,INTER=2880,TOP_K=4,EXPERTS=128,TOKENS=4", 2, "backward",
     "balanced"),
    ("Mixtral 8x22B, 1,024 tokens, one rank, forward, Zipf 1.2", FORWARD, "HIDDEN=6144,INTER=16384,TOP_K=2,EXPERTS=8,TOKENS=1024", 1, "forward",
     "zipf:1.2:101"),
]


def behind():
    """Layers in which another policy is faster, with all tile sizes left open."""
    rows, lines = [], []
    for name, file, sizes, ranks, direction, routing in BEHIND:
        line = ["simulate", file, "--set", sizes, "--ranks", str(ranks), "--direction", direction, "--routing", routing, "--polling", "off"]
        lines.append(" ".join(["hpmoe", *line]))
        found = {one["policy"]: one.get("simulated_us") for one in output(*line)}
        ours, others = found["ours"], [found.get(policy) for policy in ("hyperparallel", "serial")]
        rows.append([name, f"{ours:,.1f} µs", *(f"{time:,.1f}" if time else "does not apply" for time in others),
                     f"{min(time for time in others if time) / ours:.3f}"])
    header = ["layer", "ours, simulated", "original", "serial", "the faster of both/ours"]
    return "```sh\n" + "\n".join(lines) + f"\n```\n\n{table(header, rows)}\n"


# Choices for the end of the layer, and how the table names them.
ENDS = {"": "default: 25 sending cores", "put_cores=16": "`put_cores=16`: more cores for the sum", "put_cores=28": "`put_cores=28`",
        "put_cores=32": "`put_cores=32`", "by_arrival=always peer_cores=20": "`by_arrival=always peer_cores=20`: sending cores for each peer"}


def ends():
    line = arguments(f"{DEEPSEEK},EXPERTS=64,TOKENS=4096", 8)
    rows = []
    for choices, name in ENDS.items():
        found = run((*line, "--choices", choices), "ours", 200, "on")
        rows.append([name, f"{found['simulated_us']:,.0f} µs"])
    return f"{command([*line, '--choices', 'put_cores=16'])}\n\n{table(['choices', 'simulated'], rows)}\n"


def chunks():
    """Memory and latency of the layer in chunks."""
    rows = []
    for number in (1, 4, 8):
        row = [str(number)]
        for direction, file, tiles in (("forward", CHUNKED, TILES), ("backward", CHUNKED_BACKWARD, BACKWARD_TILES)):
            sizes = f"{DEEPSEEK},EXPERTS=64,TOKENS=4096,{tiles},CHUNKS={number},CHUNKS_AT_MOST=0"
            memory = output("memory", file, "--set", sizes, "--ranks", "8", "--taskflow", direction)
            simulated = output("simulate", file, "--set", sizes, "--ranks", "8", "--direction", direction, "--policy", "ours")
            row += [f"{(memory['workspace_bytes'] + memory['heap_bytes']) / 2**20:,.0f} MiB", f"{simulated['simulated_us']:,.0f} µs"]
        rows.append(row)
    header = ["`CHUNKS`", "forward: workspace and symmetric heap of a rank", "latency, simulated",
              "backward: workspace and symmetric heap", "latency, simulated"]
    return table(header, rows) + "\n"


def calibration():
    found = output("calibrate")
    rows = [[
        str(one["ep"]), one["direction"], one["policy"], f"{one['published_ms']:.1f} ms", f"{one['simulated_ms']:.2f} ms",
        f"{100 * (one['simulated_ms'] / one['published_ms'] - 1):+.1f} %", "yes" if one["fitted_on"] else "",
    ] for one in found]
    header = ["EP", "direction", "policy", "published", "simulated", "error", "fitted on"]
    return f"```sh\nhpmoe calibrate\n```\n\n{table(header, rows)}\n"


def scheduling():
    rows = []
    for tiles in (10_000, 100_000, 1_000_000, 10_000_000):
        # The fastest of a few: the machine is busy with other things as well.
        found = min((output("schedule", "--tile-tasks", str(tiles)) for _ in range(5)), key=lambda one: one["seconds"])
        rows.append([f"{found['tasks']:,}", f"{found['entries']:,}", f"{1e3 * found['seconds']:.1f} ms",
                     f"{found['tasks'] / found['seconds'] / 1e6:.1f} million", f"{found['bytes_per_task']:.1f}"])
    return table(["tile tasks of a rank", "entries", "time", "tasks per second", "bytes per task"], rows) + "\n"


def tables():
    deepseek = f"{DEEPSEEK},EXPERTS=64"
    forward, text = layer("DeepSeek-V3, EP8, 4,096 tokens, forward", f"{deepseek},TOKENS=4096", 8)
    layers = [text]
    has_backward = (ROOT / BACKWARD).exists()
    if has_backward:
        name = "DeepSeek-V3, EP8, 4,096 tokens, backward"
        backward, text = layer(name, f"{deepseek},TOKENS=4096", 8, "backward", BACKWARD_CASES)
        layers += [text, both(forward, backward)]
    for tokens in (512, 128, 64, 32):
        layers.append(layer(f"DeepSeek-V3, EP8, {tokens} tokens, forward", f"{deepseek},TOKENS={tokens}", 8, cases=FEW_TOKENS)[1])
    if has_backward:
        for tokens in (512, 64):
            name = f"DeepSeek-V3, EP8, {tokens} tokens, backward"
            layers.append(layer(name, f"{deepseek},TOKENS={tokens}", 8, "backward", FEW_TOKENS_BACKWARD)[1])
    layers.append(layer("DeepSeek-V3, EP64, 4,096 tokens, forward", f"{DEEPSEEK},EXPERTS=512,TOKENS=4096", 64)[1])
    layers.append(layer("DeepSeek-V3, EP64, 128 tokens, forward", f"{DEEPSEEK},EXPERTS=512,TOKENS=128", 64, cases=FEW_TOKENS)[1])
    layers.append(skewed("forward"))
    if has_backward:
        layers.append(skewed("backward"))
    for tokens in (4096, 512, 64):
        cases = CASES if tokens > 512 else FEW_TOKENS
        layers.append(layer(f"Qwen3-235B, EP8, {tokens:,} tokens, forward", f"{QWEN},TOKENS={tokens}", 8, cases=cases)[1])
    comparisons = "\n".join(CLOSE) if CLOSE else "None in the tables above."
    time = {"calibration": calibration(), "layers": "\n".join(layers), "close": comparisons + "\n", "behind": behind(), "choices": choices(),
            "int8": narrow("int8", INT8, INT8_SIZES), "int4": narrow("int4", INT4, INT4_SIZES), "ahead": ahead(), "ends": ends(),
            "scheduling": scheduling()}
    return {TIME: time, README: {"chunks": chunks()}}


def filled(page, name, text):
    start, end = f"<!-- {name}: made by docs/tables.py -->\n", f"<!-- end of {name} -->"
    head, rest = page.split(start)
    _, tail = rest.split(end)
    return f"{head}{start}\n{text}\n{end}{tail}"


def main():
    stale = []
    for path, texts in tables().items():
        before = page = path.read_text()
        for name, text in texts.items():
            # The time of scheduling differs from run to run.
            if name != "scheduling" or "--check" not in sys.argv:
                page = filled(page, name, text)
        if page != before:
            stale.append(str(path.relative_to(ROOT)))
            if "--check" not in sys.argv:
                path.write_text(page)
    if stale and "--check" in sys.argv:
        sys.exit(f"{' and '.join(stale)}: not current; run python3 docs/tables.py")


main()

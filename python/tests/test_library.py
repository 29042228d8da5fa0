"""Libraries, groups and launches, without PyTorch."""

import _ctypes
import copy
import ctypes
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy
import pytest

import hpmoe
from hpmoe import _processes

T, H, I, E, K = 24, 64, 32, 8, 2


def bf16(values: numpy.ndarray) -> numpy.ndarray:
    """The bits of numbers in bf16, rounded to nearest, ties to even."""
    bits = values.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


def f32(bits: numpy.ndarray) -> numpy.ndarray:
    """Numbers in bf16, widened to float32."""
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def aligned(values: numpy.ndarray, shift: int = 0) -> numpy.ndarray:
    """A copy that starts `shift` bytes after a multiple of 64."""
    memory = numpy.zeros(values.nbytes + 128, numpy.uint8)
    start = -memory.ctypes.data % 64 + shift
    copy = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def layer(tokens: int = T, seed: int = 0) -> tuple[numpy.ndarray, dict[str, numpy.ndarray]]:
    """Ids, and the inputs of the forward pass."""
    random = numpy.random.default_rng(seed)
    ids = numpy.array([random.permutation(E)[:K] for _ in range(tokens)], numpy.int64).reshape(tokens, K)
    normal = lambda scale, *shape: aligned(bf16(scale * random.standard_normal(shape)))  # noqa: E731
    tensors = {
        "x": normal(1, tokens, H),
        "weights": aligned(random.random((tokens, K)).astype(numpy.float32)),
        "gate": normal(0.1, E, I, H),
        "up": normal(0.1, E, I, H),
        "down": normal(0.1, E, H, I),
    }
    return ids, tensors


def expected(ids: numpy.ndarray, tensors: dict[str, numpy.ndarray]) -> numpy.ndarray:
    """The layer in f64."""
    x, gate, up, down = (f32(tensors[name]).astype(numpy.float64) for name in ["x", "gate", "up", "down"])
    y = numpy.zeros_like(x)
    for k in range(K):
        e = ids[:, k]
        g, u = (numpy.einsum("th,tih->ti", x, matrices[e]) for matrices in (gate, up))
        h = g / (1 + numpy.exp(-g)) * u
        y += tensors["weights"][:, k : k + 1] * numpy.einsum("ti,thi->th", h, down[e])
    return y


def test_a_launch_is_the_layer_and_has_the_same_bits_on_any_number_of_ranks(library: hpmoe.Library) -> None:
    ids, tensors = layer()
    forward = library["swiglu::forward"]
    want, first = expected(ids, tensors), None
    for ranks in (1, 2, 4, 8):
        with hpmoe.Group(ranks=ranks, seed=ranks) as group:
            (y,) = forward(group, ids, **tensors)
            (again,) = forward(group, ids.astype(numpy.int32), **tensors)
        assert numpy.abs(f32(y) - want).max() < 0.01 * numpy.abs(want).max()
        assert (y == again).all()
        first = y if first is None else first
        assert (y == first).all()
        assert hpmoe.last_report()["ranks"] == ranks


def test_references_have_the_bits_of_launches(library: hpmoe.Library, biased: hpmoe.Library) -> None:
    from test_gradients import inputs

    random = numpy.random.default_rng(5)
    for kernels, name in [(library, "swiglu"), (library, "swiglu_joined"), (biased, "gpt_oss")]:
        ids, tensors = inputs(kernels, name)
        tensors["dy"] = bf16(random.standard_normal((len(ids), H)))
        for flow in (kernels[f"{name}::forward"], kernels[f"{name}::backward"]):
            given = {argument.name: tensors[argument.name] for argument in flow.arguments if not argument.writable}
            for ranks in (1, 4):
                with hpmoe.Group(ranks=ranks) as group:
                    results = zip(flow(group, ids, **given), flow.reference(group, ids, **given), strict=True)
                    assert all(numpy.array_equal(mine.view(numpy.uint8), other.view(numpy.uint8)) for mine, other in results)
    with pytest.raises(hpmoe.HpmoeError, match="`x` has elements of f32, but swiglu::forward takes bf16"):
        library["swiglu::forward"].reference(hpmoe.Group(), ids, **layer(len(ids))[1] | {"x": numpy.zeros((len(ids), H), numpy.float32)})


def test_tokens_need_not_be_shared_equally(library: hpmoe.Library) -> None:
    for tokens in (0, 1, 7):
        ids, tensors = layer(tokens)
        with hpmoe.Group(ranks=4) as group:
            (y,) = library["swiglu::forward"](group, ids, **tensors)
        assert y.shape == (tokens, H)
        assert numpy.allclose(f32(y), expected(ids, tensors), atol=0.02)


def test_memory_is_used_where_it_lies(library: hpmoe.Library, group: hpmoe.Group) -> None:
    ids, tensors = layer()
    out = aligned(numpy.full((T, H), 0x7FC0, numpy.uint16))
    (y,) = library["swiglu::forward"](group, ids, **tensors, y=out)
    assert y is out and not (out == 0x7FC0).any()
    assert hpmoe.last_report()["copied"] == []
    tensors["x"] = aligned(tensors["x"], shift=2)
    (same,) = library["swiglu::forward"](group, ids, **tensors)
    copied = hpmoe.last_report()["copied"]
    assert (copied[0]["tensor"], copied[0]["bytes"]) == ("x", T * H * 2) and (same == y).all()
    assert "`x` of rank 0 was copied (3072 bytes): it starts at 0x" in hpmoe.last_report()["text"]


def test_a_fixed_launch_uses_what_its_tensors_hold(library: hpmoe.Library) -> None:
    ids, tensors = layer()
    forward = library["swiglu::forward"]
    assert not forward.capturable
    with hpmoe.Group(ranks=1) as group, forward.fix(group, ids, **tensors) as fixed:
        assert fixed.wait() is None
        for seed in range(5):
            for name, values in layer(seed=seed)[1].items():
                tensors[name][...] = values
            (want,) = forward(group, ids, **tensors)
            (y,) = fixed.launch()
            assert y is fixed.tensors["y"] and (y == want).all() and y.any()
            assert hpmoe.last_report() == fixed.wait() and hpmoe.last_report()["kernel"] == "swiglu::forward"
        with pytest.raises(hpmoe.HpmoeError, match=r"`x` of rank 0 can't be used in place \(it starts at .*a fixed launch copies nothing"):
            forward.fix(group, ids, **tensors | {"x": aligned(tensors["x"], shift=2)})
        other = forward.fix(group, ids, **tensors)
        fixed.close()
        with pytest.raises(hpmoe.HpmoeError, match="there is no fixed launch [0-9]+: it has been freed"):
            fixed.launch()
    with pytest.raises(hpmoe.HpmoeError, match="its group has"):
        other.launch()


def test_buffers_are_tensors_too(library: hpmoe.Library, group: hpmoe.Group) -> None:
    ids, tensors = layer()
    (y,) = library["swiglu::forward"](group, ids, **tensors)
    x = (ctypes.c_uint16 * (T * H)).from_buffer(bytearray(tensors["x"].tobytes()))
    out = memoryview(bytearray(T * H * 2)).cast("H").cast("B").cast("H", (T, H))
    tensors["x"] = memoryview(x).cast("B").cast("H", (T, H))
    library["swiglu::forward"](group, ids, **tensors, y=out)
    assert bytes(out) == y.tobytes()


def test_a_library_describes_itself(library: hpmoe.Library) -> None:
    forward = library["swiglu::forward"]
    assert forward.constants["HIDDEN"] == H and forward.constants["TOKENS"] == 64
    assert [flow.name for flow in library] == [
        "swiglu::backward",
        "swiglu::forward",
        "swiglu_joined::backward",
        "swiglu_joined::forward",
    ]
    assert (forward.ranks, forward.top_k, forward.experts) == ((1, 2, 4, 8), K, E)
    gate = hpmoe.Argument("gate", "bf16", H, "expert", I, writable=False, peers_write=False)
    assert forward.arguments[2] == gate
    assert forward.shapes(hpmoe.Group(ranks=2), 10)["gate"] == (E, I, H)
    assert re.fullmatch("[0-9a-f]{16}", forward.fingerprint)
    memory = forward.memory(hpmoe.Group(ranks=2))
    assert (memory.received_rows, memory.once_rows) == (2 * 64 * K, 2 * 64) and memory.heap_bytes > 0
    assert hpmoe.load(library.path) is library
    json.dumps(library.describe())


def test_reports_of_other_threads_are_those_of_the_group(library: hpmoe.Library, group: hpmoe.Group) -> None:
    ids, tensors = layer()
    library["swiglu::forward"](group, ids, **tensors)
    found: list[object] = []

    def other() -> None:
        try:
            found.append(hpmoe.last_report())
        except hpmoe.HpmoeError as error:
            found.append(str(error))
        found.append(group.last_report())
        library["swiglu::forward"](group, ids[:3], **{name: tensor[:3] if len(tensor) == T else tensor for name, tensor in tensors.items()})
        found.append(hpmoe.last_report())

    thread = threading.Thread(target=other, name="other")
    thread.start()
    thread.join()
    said, of_group, own = found
    assert re.search("thread 'other' has launched nothing, and last_report.. is about the thread that calls it: call last_report.. of the group", str(said))
    # Another thread's launch does not change this thread's last report, but it is the group's.
    assert of_group == hpmoe.last_report() and own == group.last_report() and own["received_rows"] == [3 * K]
    assert isinstance(own, hpmoe.LaunchReport) and 0 < time.time_ns() - own["began_unix_ns"] < 60e9
    assert hpmoe.Group().last_report() is None


def test_what_is_copied_and_pickled(library: hpmoe.Library, group: hpmoe.Group) -> None:
    assert pickle.loads(pickle.dumps(library)) is library and copy.deepcopy(library) is library
    flow = library["swiglu::forward"]
    assert pickle.loads(pickle.dumps(flow)) is flow
    assert copy.copy(group) is group and copy.deepcopy(group) is group
    with pytest.raises(hpmoe.HpmoeError, match=r"a group can't be pickled, because its ranks live in this process: make it in the process that needs it, Group\(ranks=1,"):
        pickle.dumps(group)


def test_a_file_that_has_changed_is_refused(library: hpmoe.Library, tmp_path) -> None:
    path = tmp_path / "kernels.so"
    shutil.copy(library.path, path)
    mine = hpmoe.load(path)
    assert hpmoe.load(path) is mine
    path.unlink()
    assert hpmoe.load(path) is mine
    shutil.copy(library.path, path)
    with pytest.raises(hpmoe.HpmoeError, match="has changed since this process opened it, and can't be opened again"):
        hpmoe.load(path)


def test_files_that_are_no_libraries(tmp_path) -> None:
    with pytest.raises(hpmoe.HpmoeError, match=r"there is no library .*none.so: build one with hpmoe.build"):
        hpmoe.load(tmp_path / "none.so")
    text = tmp_path / "text.so"
    text.write_text("no library")
    with pytest.raises(hpmoe.HpmoeError, match="can't be opened as a library"):
        hpmoe.load(text)
    with pytest.raises(hpmoe.HpmoeError, match="has no function hpmoe_c_abi: a library of kernels has"):
        hpmoe.load(_ctypes.__file__)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": None}, "swiglu::forward reads `x`, which is missing: pass x=.."),
        ({"z": 1}, "swiglu::forward has no argument `z`: it has x, weights, gate, up, down, y"),
        ({"x": 7}, "`x` is of type int: pass a tensor of torch, an array of numpy, or a buffer"),
        ({"x": numpy.zeros((T, H), numpy.float32)}, "`x` has elements of f32, but swiglu::forward takes bf16"),
        ({"x": numpy.zeros((T, H))}, "`x` has elements of float64: pass float32"),
        ({"x": numpy.zeros((T, H), ">u2")}, "`x` has elements of >u2: pass float32"),
        ({"x": numpy.zeros((T, H - 1), numpy.uint16)}, "`x` has the shape [24, 63], but swiglu::forward takes [24, 64]"),
        ({"x": numpy.zeros((T + 1, H), numpy.uint16)}, "`x` has the shape [25, 64], but"),
        ({"x": numpy.zeros((T, H), numpy.float16)}, "`x` has elements of f16, but swiglu::forward takes bf16"),
        ({"x": numpy.zeros((T, 2 * H), numpy.uint16)[:, ::2]}, "`x` has gaps between its elements: pass numpy.ascont"),
        ({"gate": numpy.zeros((E, H, I), numpy.uint16)}, "`gate` has the shape [8, 64, 32], but swiglu::forward takes [8, 32, 64]"),
        ({"weights": numpy.zeros((T, K + 1), numpy.float32)}, "`weights` has the shape [24, 3], but"),
        ({"y": numpy.zeros((T, H), numpy.float32)}, "`y` has elements of f32, but swiglu::forward takes bf16"),
        ({"y": numpy.frombuffer(bytes(T * H * 2), numpy.uint16).reshape(T, H)}, "swiglu::forward writes `y`, which is read-only"),
        ({"ids": numpy.zeros((T, K + 1), numpy.int64)}, "`ids` has the shape [24, 3], but swiglu::forward takes [tokens, 2]"),
        ({"ids": numpy.zeros(T, numpy.int64)}, "`ids` has the shape [24], but"),
        ({"ids": numpy.zeros((T, K), numpy.float32)}, "`ids` has elements of f32: pass int32 or int64"),
        ({"ids": numpy.full((T, K), [0, E])}, "topk_ids of rank 0, row 0, column 1 is 8, but experts are numbered from 0 to 7"),
        ({"ids": numpy.full((T, K), [0, -2])}, "topk_ids of rank 0, row 0, column 1 is -2, but"),
        ({"ids": numpy.full((T, K), [3, 3])}, "topk_ids of rank 0, row 0 has expert 3 in column 0 and again in column 1"),
    ],
)
def test_what_does_not_fit_is_said(library: hpmoe.Library, group: hpmoe.Group, change: dict, said: str) -> None:
    ids, tensors = layer()
    tensors.update(change)
    ids = tensors.pop("ids", ids)
    with pytest.raises(hpmoe.HpmoeError) as error:
        library["swiglu::forward"](group, ids, **tensors)
    assert said in str(error.value)
    assert not isinstance(error.value, hpmoe.LaunchError) and hpmoe.last_report() is None
    # The group is still usable.
    library["swiglu::forward"](group, *layer()[:1], **layer()[1])


def test_more_is_refused(library: hpmoe.Library, group: hpmoe.Group) -> None:
    forward, (ids, tensors) = library["swiglu::forward"], layer(65)
    with pytest.raises(hpmoe.HpmoeError, match="rank 0 has 65 tokens, but swiglu::forward was built with TOKENS = 64"):
        forward(group, ids, **tensors)
    ids, tensors = layer()
    with pytest.raises(hpmoe.HpmoeError, match="`y` of rank 0 is written and shares memory with `x` of rank 0"):
        forward(group, ids, **tensors, y=tensors["x"])
    with pytest.raises(hpmoe.HpmoeError, match="has no taskflow 'swiglu::other': it has swiglu::backward, swiglu::forward, swiglu_joined"):
        library["swiglu::other"]
    with pytest.raises(hpmoe.HpmoeError, match="swiglu::forward has no schedule for 3 ranks: use one of 1, 2, 4, 8"):
        forward(hpmoe.Group(ranks=3), ids, **tensors)
    with pytest.raises(hpmoe.HpmoeError, match=r"rank [01] would receive \d+ rows, but there is room for 5: raise it"):
        forward(hpmoe.Group(ranks=2, capacity_rows=5), ids, **tensors)


def test_memory_is_what_a_group_allocates(library: hpmoe.Library) -> None:
    flow = library["swiglu::forward"]
    table = hpmoe.memory(flow, ranks=2, tokens=40)
    group = flow.memory(hpmoe.Group(ranks=2))
    assert (table.heap_bytes, table.workspace_bytes) == (group.heap_bytes, group.workspace_bytes)
    for place, total in [("symmetric heap", table.heap_bytes), ("workspace", table.workspace_bytes)]:
        assert sum(line.bytes for line in table.lines if line.place == place) == total
    lines = {line.name: line for line in table.lines}
    assert (lines["x"].purpose, lines["x"].formula, lines["x"].rows) == ("input", "T", 40)
    assert table.capacity_rows == group.received_rows and "kept for another launch" in str(table)
    few = hpmoe.memory(flow, ranks=2, rows=10)
    assert few.capacity_rows == 10 and few.workspace_bytes < table.workspace_bytes
    for arguments, said in [
        ({"ranks": 3}, "has no schedule for 3 ranks"),
        ({"ranks": 2, "rows": 0}, "rows is 0, but must be a whole number of at least 1"),
        ({"ranks": 2, "tokens": 65}, "was built with TOKENS = 64"),
    ]:
        with pytest.raises(hpmoe.HpmoeError, match=said):
            hpmoe.memory(flow, **arguments)


def test_groups(library: hpmoe.Library) -> None:
    for arguments, said in [
        ({"ranks": 0}, "ranks is 0, but must be a whole number of at least 1"),
        ({"ranks": 1.5}, "ranks is 1.5, but"),
        ({"device": "gpu"}, "there is no device 'gpu': use one of 'cpu', 'npu'"),
        ({"time_limit": 0}, "time_limit is 0, but must be a number of seconds above 0"),
    ]:
        with pytest.raises(hpmoe.HpmoeError, match=re.escape(said)):
            hpmoe.Group(**arguments)
    group = hpmoe.Group(ranks=2, seed=3)
    assert repr(group) == "Group(ranks=2, seed=3, time_limit=60.0, capacity_rows=None, threads=None, device='cpu', join_time_limit=None, checks=None)"
    ids, tensors = layer()
    library["swiglu::forward"](group, ids, **tensors)
    group.close()
    with pytest.raises(hpmoe.HpmoeError, match="this group has been closed: make a new hpmoe.Group"):
        library["swiglu::forward"](group, ids, **tensors)


def test_a_group_whose_launch_went_wrong(library: hpmoe.Library) -> None:
    ids, tensors = layer(64)
    group = hpmoe.Group(time_limit=0.001, threads=1)
    try:
        library["swiglu::forward"](group, ids, **tensors)
    except hpmoe.LaunchError as error:
        assert "rank 0" in str(error)
        with pytest.raises(hpmoe.LaunchError, match="make a new Group"):
            library["swiglu::forward"](group, ids, **tensors)


def test_a_launch_lets_other_threads_run(library: hpmoe.Library, group: hpmoe.Group) -> None:
    ids, tensors = layer(64)
    forward = library["swiglu::forward"]
    forward(group, ids, **tensors)
    done, results = threading.Event(), []

    def launches() -> None:
        for _ in range(40):
            results.append(forward(group, ids, **tensors)[0])
        done.set()

    threads = [threading.Thread(target=launches) for _ in range(3)]
    for thread in threads:
        thread.start()
    turns = 0
    while not done.wait(0.0002):
        turns += 1
    for thread in threads:
        thread.join()
    # Forty launches take about 50 ms. If they held Python's lock, there would be at most one turn per launch.
    assert turns > 45 and len(results) == 120
    assert all((result == results[0]).all() for result in results)


#: One rank of two processes, which prints its results. Rank 1 has no tokens and is late, then passes invalid tensors, then ends.
RANK = """
import os, sys, time
sys.path.insert(0, {tests!r})
import numpy, hpmoe
from test_library import H, layer
rank, (ids, tensors) = int(sys.argv[1]), layer(9)
forward = hpmoe.load({library!r})["swiglu::forward"]
own = {{"x": tensors["x"][9 * rank:], "weights": tensors["weights"][9 * rank:]}}
own.update({{name: tensors[name][4 * rank:][:4] for name in ["gate", "up", "down"]}})
ids = ids[9 * rank:]
group = hpmoe.Group.join(rank, 2, {address!r}, time_limit=10)
time.sleep(rank * 0.3)
y, = forward(group, ids, **own)
print(y.tobytes().hex(), hpmoe.last_report()["received_rows"], flush=True)
for change in [{{"x": None}}, {{"x": own["x"].astype(numpy.float32)}}, {{"gate": own["gate"][:3].copy()}}] if rank else [{{}}] * 3:
    try:
        forward(group, ids, **{{**own, **change}})
    except hpmoe.HpmoeError as error:
        print(error, flush=True)
again, = forward(group, ids, **own)
print((y == again).all(), flush=True)
if rank == 1:
    os._exit(7)
try:
    forward(group, ids, **own)
except hpmoe.LaunchError as error:
    print(str(error).splitlines()[0], flush=True)
"""


def test_ranks_as_processes(library: hpmoe.Library, group: hpmoe.Group, tmp_path: Path) -> None:
    address = f"file:{tmp_path}/rank0"
    tests = str(Path(__file__).parent)
    script = RANK.format(tests=tests, library=library.path, address=address)
    environment = {**os.environ, "PYTHONPATH": str(Path(hpmoe.__file__).parents[1])}
    start = lambda rank: subprocess.Popen(  # noqa: E731
        [sys.executable, "-c", script, str(rank)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    ranks = [start(rank) for rank in range(2)]
    said = [process.communicate(timeout=120) for process in ranks]
    assert [process.returncode for process in ranks] == [0, 7], said
    lines = [out.splitlines() for out, _ in said]
    ids, tensors = layer(9)
    (want,) = library["swiglu::forward"](group, ids, **tensors)
    received = [int((ids // 4 == rank).sum()) for rank in range(2)]
    assert lines[0][0] == f"{want.tobytes().hex()} [{received[0]}]" and lines[1][0] == f" [{received[1]}]"
    for number, error in enumerate(lines[1][1:4], 1):
        # The same error on both ranks, with its origin.
        assert error in lines[0][number] and "rank 1 failed with this error" in lines[0][number], lines[0]
    assert lines[0][4] == lines[1][4] == "True"
    assert "rank 1 " in lines[0][5], lines[0]


#: One rank of two processes. Rank 1 joins and sleeps; rank 0 waits in a given place until Ctrl-C.
WAITING = """
import os, sys, time
sys.path.insert(0, {tests!r})
import hpmoe
from hpmoe import _processes
from test_library import layer
rank, waits = int(sys.argv[1]), sys.argv[2]
ids, tensors = layer(9)
forward = hpmoe.load({library!r})["swiglu::forward"]
own = {{"x": tensors["x"][9 * rank:], "weights": tensors["weights"][9 * rank:]}}
own.update({{name: tensors[name][4 * rank:][:4] for name in ["gate", "up", "down"]}})
group = hpmoe.Group.join(rank, 2, {address!r}, time_limit=60, secret="what both ranks know", join_time_limit=60)
if waits == "joining" and rank == 1:
    sys.exit()
if waits == "launch":
    group._handle(forward.library._interface)
    if rank == 1:
        print("joined", flush=True)
        time.sleep(4)
print("waits", flush=True)
began = time.monotonic()
try:
    forward(group, ids[9 * rank:], **own)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    time.sleep(2)  # The group lives, and the others are notified all the same.
    try:
        forward(group, ids[9 * rank:], **own)
    except hpmoe.HpmoeError as error:
        print(str(error).splitlines()[0], flush=True)
except hpmoe.HpmoeError as error:
    print(str(error).splitlines()[0], time.monotonic() - began < 2, flush=True)
"""


@pytest.mark.parametrize("waits", ["joining", "launch"])
def test_ctrl_c_ends_a_wait_and_the_others_are_told(library: hpmoe.Library, tmp_path: Path, waits: str) -> None:
    script = WAITING.format(tests=str(Path(__file__).parent), library=library.path, address=f"file:{tmp_path}/rank0")
    environment = {**os.environ, "PYTHONPATH": str(Path(hpmoe.__file__).parents[1])}
    # Shells make background processes ignore the signal, and children inherit this.
    heed = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    start = lambda rank: subprocess.Popen(  # noqa: E731
        [sys.executable, "-c", script, str(rank), waits], env=environment, stdout=subprocess.PIPE, text=True, preexec_fn=heed
    )
    first, second = start(0), start(1)
    assert first.stdout and second.stdout
    try:
        if waits == "launch":
            assert second.stdout.readline() == "joined\n"
        assert first.stdout.readline() == "waits\n"
        time.sleep(0.5)
        first.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert first.stdout.readline() == "interrupted\n"
        assert time.monotonic() - sent < 1
        assert "cancelled" in first.stdout.readline() or waits == "launch"
        assert first.wait(timeout=60) == 0
        if waits == "launch":
            assert second.stdout.read() == "waits\nrank 0 is gone: it left the group while others went on. Its own output says why True\n"
        assert second.wait(timeout=60) == 0
    finally:
        first.kill()
        second.kill()


def test_settings_of_joining_that_the_library_would_read_otherwise_are_refused() -> None:
    def said(address: str = "127.0.0.1:28471", **settings) -> str:
        with pytest.raises(hpmoe.HpmoeError) as error:
            hpmoe.Group.join(0, 2, address, **settings)
        return str(error.value)

    assert said(job="a\0b").startswith("job is 'a\\x00b', but must be text in UTF-8 without a NUL")
    assert said(job="a\ud800").startswith("job is 'a\\ud800', but must be text")
    assert said("file:a\0b").startswith("address is 'file:a\\x00b', but must be text")
    assert said("127.0.0.1:²").startswith("'127.0.0.1:²' is not an address")
    assert said(join_time_limit=float("inf")).startswith("join_time_limit is inf, but must be a number of seconds above 0")
    assert _processes.joining(None, None, 1e30, False).time_limit_ms == 2**63, "and not what is left of it"


def test_who_may_join_and_how_long_it_may_take(library: hpmoe.Library) -> None:
    def said(address: str = "127.0.0.1:0", **settings) -> str:
        with pytest.raises(hpmoe.HpmoeError) as error, hpmoe.Group.join(0, 2, address, join_time_limit=0.1, **settings) as group:
            group._handle(library._interface)
        return str(error.value)

    assert "rank 1 did not join rank 0 at 127.0.0.1:0 within 100ms: start them, or raise the time limit of joining" in said()
    exposed = said("0.0.0.0:0")
    assert "which other machines reach, without a secret" in exposed and "HPMOE_SECRET_FILE" in exposed
    assert "rank 1 did not join" in said("0.0.0.0:0", secret=b"what both ranks know")
    assert "rank 1 did not join" in said("0.0.0.0:0", let_anyone_join=True)
    assert said(secret="short").startswith("the secret has 5 bytes")
    with pytest.raises(hpmoe.HpmoeError, match="join_time_limit is 0, but must be a number of seconds above 0"):
        hpmoe.Group(2, join_time_limit=0)
    # The settings that errors name: environment variables apply if the call has no argument.
    variables = {"HPMOE_JOIN_TIME_LIMIT": "0.2", "HPMOE_JOB": "x"}
    script = f"import hpmoe; hpmoe.Group.join(0, 2, '127.0.0.1:0')._handle(hpmoe.load({library.path!r})._interface)"
    environment = {**os.environ, **variables, "PYTHONPATH": str(Path(hpmoe.__file__).parents[1])}
    process = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert "within 200ms: start them, or raise HPMOE_JOIN_TIME_LIMIT (seconds)" in process.stderr


def test_control_characters_of_errors_are_escaped(tmp_path: Path) -> None:
    from hpmoe._printable import printable

    with pytest.raises(hpmoe.HpmoeError) as error:
        hpmoe.load(str(tmp_path / "a\x1b[2J\x9b1A\u202e.so"))
    assert r"a\u{1b}[2J\u{9b}1A\u{202e}.so" in str(error.value)
    assert str(hpmoe.LaunchError("one\n\ttwo\r\x00")) == "one\n\ttwo\\r\\u{0}"
    # Compares with Rust, character by character.
    acts = [c for c in map(chr, range(0x110000)) if printable(c) != c]
    listed = "\u061c\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\ufeff"
    assert acts == sorted([chr(c) for c in [*range(0x20), *range(0x7F, 0xA0), *range(0x2060, 0x2070)]] + list(listed))


@pytest.mark.slow
def test_halves_of_many_rows_give_the_bits_of_two_matrices() -> None:
    """The number of rows is not a multiple of the tile's: gate's last tile ends where up begins."""
    from hpmoe._build import built
    from hpmoe._moe import crate

    constants = {"HIDDEN": 32, "INTER": 1050, "EXPERTS": 4, "TOP_K": 2, "TOKENS": 16}
    library = hpmoe.load(built(crate(), constants, {"HPMOE_STOCK_CORES": "2"}, None, "halves"))
    assert 1050 % library["swiglu_joined::forward"].constants["TILE_N"] != 0
    random = numpy.random.default_rng(2)
    normal = lambda scale, *shape: aligned(bf16(scale * random.standard_normal(shape)))  # noqa: E731
    gate, up, down = normal(0.1, 4, 1050, 32), normal(0.1, 4, 1050, 32), normal(0.1, 4, 32, 1050)
    for ranks in [1, 4]:
        tokens = 8 * ranks
        ids = numpy.array([random.permutation(4)[:2] for _ in range(tokens)], numpy.int64)
        given = {"x": normal(1, tokens, 32), "weights": aligned(random.random((tokens, 2)).astype(numpy.float32)), "down": down}
        with hpmoe.Group(ranks=ranks) as group:
            (apart,) = library["swiglu::forward"](group, ids, gate=gate, up=up, **given)
            (joined,) = library["swiglu_joined::forward"](group, ids, gate_up=aligned(numpy.concatenate([gate, up], 1)), **given)
        assert (numpy.asarray(apart) == numpy.asarray(joined)).all() and numpy.asarray(apart).any()

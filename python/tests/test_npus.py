"""Tensors of NPUs, with the stand-in for CANN and a device "npu" for PyTorch, each case in its own process. This device has all operators of PyTorch,
and calls CANN only when a case asks for it: `test_torch_npu.py` tests the real torch_npu."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import hpmoe  # noqa: E402
from test_build import crate  # noqa: E402, F401

ROOT = Path(__file__).parents[2]
TOOLKIT = ROOT / "target" / "cann"
FOLDER = ROOT / "target" / "npu"

#: The start of each case.
START = """
import os, sys
import torch, torch._dynamo.testing, standin_npu
from pathlib import Path
npu = standin_npu.install(Path({folder!r}))
import hpmoe
from test_npus import LogWindow, call, refused, step
from test_torch import H, inputs, with_gradients
layer = hpmoe.moe(hidden=64, inter=32, experts=8, top_k=2, max_tokens=64)
forward = layer.library["swiglu::forward"]
names = [argument.name for argument in forward.arguments if not argument.writable]
"""
#: The end of each case. A thread of PyTorch's backward pass may still be freeing memory when Python ends, which would abort the process.
END = """
sys.stdout.flush()
os._exit(0)
"""


class LogWindow:
    """The CANN calls that the stand-in logs from now on."""

    def __init__(self) -> None:
        """Starts the window."""
        self.path = Path(os.environ["HPMOE_STANDIN_LOG"])
        self.start = len(self.path.read_text().splitlines())

    def calls(self, *names: str) -> list[str]:
        """The calls with one of these names, in order."""
        return [line for line in self.path.read_text().splitlines()[self.start :] if line.split(" ")[0] in names]

    def names(self) -> list[str]:
        """The names of all calls, except those that choose a device and starts of kernels."""
        names = [line.split(" ")[0] for line in self.path.read_text().splitlines()[self.start :]]
        return [name for name in names if name not in ("aclrtGetDevice", "aclrtSetDevice", "kernel")]


def call(layer, ids, tensors, **options):
    """Calls the layer with ids and a list of the other tensors."""
    return layer(tensors[0], ids, *tensors[1:], **options)


def step(layer, ids, tensors, **options) -> list:
    """The result, and the gradients of a sum that depends on it, on the CPU."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    y = call(layer, ids, leaves, **options)
    y.float().pow(2).sum().backward()
    return [y.detach().cpu(), *(leaf.grad.cpu() for leaf in leaves)]


def refused(function) -> str:
    """The error of a call that is refused."""
    try:
        function()
    except hpmoe.HpmoeError as error:
        return str(error)
    raise AssertionError("nothing was refused")


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """The environment of a process with the stand-in; builds everything first."""
    subprocess.run(["cargo", "run", "--release", "--quiet", "--package", "hpmoe-standin", "--", TOOLKIT], cwd=ROOT, check=True)
    folders = [Path(hpmoe.__file__).parents[1], Path(__file__).parent, Path(__file__).parent / "npu"]
    made = {"ASCEND_HOME_PATH": str(TOOLKIT), "HPMOE_DEVICE": "cann", "HPMOE_STOCK_CORES": "2"}
    return {**os.environ, **made, "PYTHONPATH": os.pathsep.join(map(str, folders))}


def run(environment: dict[str, str], folder: Path, script: str, start: str = START, **variables: str) -> str:
    """The output of a process that runs a script, after the common start of cases."""
    log = folder / "log"
    log.touch()
    everything = {**environment, "HPMOE_STANDIN_LOG": str(log), **variables}
    command = [sys.executable, "-c", start.format(folder=str(FOLDER)) + script + END]
    done = subprocess.run(command, env=everything, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_a_layer_takes_other_types_and_shapes_and_is_compiled(environment: dict[str, str], tmp_path: Path) -> None:
    script = """
assert forward.for_npus and not forward.capturable
# No tokens, and a loss that other operators compute.
for tokens in (23, 0):
    ids, tensors = inputs(tokens) if tokens else [torch.zeros(0, 2, dtype=torch.int64), [t[:0] if n < 2 else t for n, t in enumerate(inputs(1)[1])]]
    want, on_npu = step(layer, ids, tensors), [tensor.to("npu:0") for tensor in tensors]
    y = call(layer, ids, on_npu)
    assert y.device == torch.device("npu:0") and y.dtype == torch.bfloat16, y.device
    assert all(torch.equal(mine, other) for mine, other in zip(step(layer, ids, on_npu), want))
# Other types and shapes, and gate and up in one tensor.
x, weights, gate, up, down = on_npu = [tensor.to("npu:0") for tensor in inputs(24)[1]]
ids = inputs(24)[0].to("npu:0")
want = call(layer, ids, on_npu).cpu()
wide = layer(x.float().view(4, 6, H), ids.view(4, 6, 2), weights.view(4, 6, 2), gate.float(), up.float(), down.float())
assert wide.dtype == torch.float32 and torch.equal(wide.cpu().view(24, H), want.float())
assert torch.equal(layer(x, ids, weights, torch.cat([gate, up], 1), down).cpu(), want)
assert torch.equal(layer(x, ids, weights, gate.transpose(1, 2).contiguous().transpose(1, 2), up, down).cpu(), want)
# One graph for any number of tokens.
counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
compiled = torch.compile(lambda ids, *tensors: call(layer, ids, tensors) * 2, fullgraph=True, dynamic=True, backend=counter)
for tokens in (17, 24, 40):
    ids, tensors = inputs(tokens, seed=tokens)
    assert torch.equal(compiled(ids.to("npu:0"), *[tensor.to("npu:0") for tensor in tensors]).cpu(), (call(layer, ids, tensors) * 2))
assert counter.frame_count == 1, counter.frame_count
# Tensors of the CPU are copied there and back.
ids, tensors = inputs(9)
assert torch.equal(call(layer, ids, tensors, group=hpmoe.Group(ranks=2, device="npu")), call(layer, ids, tensors))
assert hpmoe.last_report()["on_npus"] is False
print("done")
"""
    assert run(environment, tmp_path, script) == "done\n"


def test_a_launch_is_put_on_the_current_stream_and_copies_no_tensor(environment: dict[str, str], tmp_path: Path) -> None:
    script = """
ids, tensors = inputs(24)
want = call(layer, ids, tensors)
tensors = dict(zip(names, [tensor.to("npu:0") for tensor in tensors]))
y = torch.zeros(24, H, dtype=torch.bfloat16).to("npu:0")
with hpmoe.Group(device="npu:0") as group:
    npu.set_stream(npu.new_stream(0))
    log = LogWindow()
    forward(group, ids, **tensors, y=y)
# The call returns before the kernel starts, and waits for nothing.
    assert log.calls("kernel", "aclrtSynchronizeStreamWithTimeout") == [], log.calls("kernel", "aclrtSynchronizeStreamWithTimeout")
    stream = f"stream {npu.current_stream(0).npu_stream:#x}"
    order = [line.partition(" ")[0] for line in log.calls("aclrtRecordEvent", "aclrtLaunchKernelWithHostArgs", "aclrtStreamWaitEvent")
             if line.endswith(stream) or line.startswith("aclrtLaunch")]
    assert order == ["aclrtRecordEvent", "aclrtLaunchKernelWithHostArgs", "aclrtStreamWaitEvent"], log.calls("aclrtRecordEvent")
    sizes = {f"{tensor.nbytes} bytes" for tensor in [y, *tensors.values()]}
    copies = [line.partition(": 0 ")[2].partition(",")[0] for line in log.calls("aclrtMemcpy", "aclrtMemcpyAsync")]
    assert copies and not sizes & set(copies), copies
# Later work on the stream runs after the launch.
    assert torch.equal(y.cpu(), want)
# The addresses are torch's.
    given = []
    enqueue = type(layer.library._interface).enqueue
    type(layer.library._interface).enqueue = lambda self, group, what, stream: given.append((what, stream)) or enqueue(self, group, what, stream)
    forward(group, ids.to("npu:0"), **tensors, y=y)
    (what, handle), = given
    assert [part.data for part in what.tensors] == [tensor.data_ptr() for tensor in [*tensors.values(), y]]
    assert {part.device for part in what.tensors} == {1} and handle == npu.current_stream(0).npu_stream
# Many launches that are never waited for.
    for _ in range(20):
        forward(group, ids, **tensors, y=y)
    assert 0 < len(group._launches._pending) <= 17
    group.synchronize()
    assert len(group._launches._pending) == 0 and torch.equal(y.cpu(), want)
    assert hpmoe.last_report()["on_npus"] and hpmoe.last_report()["launches"] == 1
print("done")
"""
    assert run(environment, tmp_path, script, HPMOE_STANDIN_DELAY="100") == "done\n"


def test_what_does_not_fit_on_an_npu_is_said(environment: dict[str, str], tmp_path: Path) -> None:
    script = """
ids, tensors = inputs(24)
want = call(layer, ids, tensors)
on_npu = dict(zip(names, [tensor.to("npu:0") for tensor in tensors]))
group = hpmoe.Group(device="npu:0")
launch = lambda group=group, ids=ids, **change: refused(lambda: forward(group, ids, **{**on_npu, **change}))
gate = on_npu["gate"]
print(launch(gate=gate.cpu()))
print(launch(gate=gate.to("npu:1")))
print(launch(**{name: tensor.to("npu:1") for name, tensor in on_npu.items()}))
print(launch(group=hpmoe.Group()))
print(launch(group=hpmoe.Group(ranks=2, device="npu")))
print(launch(gate=gate.float()))
print(launch(gate=gate.transpose(0, 1)))
print(launch(ids=ids.float().to("npu:0")))
print(refused(lambda: layer(on_npu["x"], ids, *[tensor.cpu() for tensor in list(on_npu.values())[1:]])))
print(refused(lambda: forward.reference(group, ids, **on_npu)))
print(refused(lambda: hpmoe.Group(device="npu:9") and forward(hpmoe.Group(device="npu:9"), ids, **on_npu)))
print(refused(lambda: hpmoe.Group(device="npu:x")))
# Tensors that don't start at a multiple of 64 bytes are copied on the NPU.
shifted = torch.empty(gate.numel() + 1, dtype=torch.bfloat16).to("npu:0")[1:].view_as(gate).copy_(gate)
y = torch.zeros(24 * H + 1, dtype=torch.bfloat16).to("npu:0")[1:].view(24, H)
forward(group, ids, **{**on_npu, "gate": shifted}, y=y)
assert torch.equal(y.cpu(), want)
copied = hpmoe.last_report()["copied"]
assert [(copy["tensor"], copy["bytes"]) for copy in copied] == [("gate", gate.nbytes), ("y", y.nbytes)], copied
assert "`gate` of rank 0 was copied (" in hpmoe.last_report()["text"]
"""
    said = run(environment, tmp_path, script).splitlines()
    expected = [
        "`gate` is on cpu, but `x` on npu:0: move it there with .to('npu:0')",
        "`gate` is on npu:1, but `x` on npu:0: move it there with .to('npu:0')",
        "in the memory of NPU 1, but the rank runs on NPU 0: pass a tensor of NPU 0, or make the group on NPU 1",
        "`x` is on npu:0, but the group runs on the CPU: make it with hpmoe.Group(device='npu:0')",
        "`x` is on npu:0, but the group has 2 ranks in this process, each with an NPU of its own: use a process for each rank",
        "`gate` has elements of f32, but swiglu::forward takes bf16",
        "`gate` has gaps between its elements",
        "`ids` has elements of f32: pass int32 or int64",
        "weights is on cpu, but x on npu:0: move it there with .to('npu:0')",
        "there are tensors on npu:0, but a reference runs on the CPU: move them there with .cpu()",
        "the group needs the NPUs 9 to 9, but this process sees 8, numbered from 0",
        "there is no device 'npu:x': use one of 'cpu', 'npu', or an NPU by its number, such as 'npu:0'",
    ]
    assert len(said) == len(expected)
    for line, part in zip(said, expected):
        assert part in line, line


def test_a_fixed_launch_routes_other_ids_and_makes_no_other_call(environment: dict[str, str], tmp_path: Path, crate: Path) -> None:  # noqa: F811
    shutil.copy(ROOT / "ui-tests" / "kernels" / "routed.rs", crate / "src")
    (crate / "build.rs").write_text('fn main() { hpmoe_build::kernels(["src/routed.rs"]).matrix_cores(2).build(); }\n')
    (crate / "src" / "lib.rs").write_text("pub mod routed;\nhpmoe_c::export!();\n")
    script = """
library = hpmoe.build(os.environ["CRATE"])
forward = library["routed::forward"]
assert forward.capturable and not library["routed::hosted"].capturable
random = torch.Generator().manual_seed(3)
normal = lambda *shape: (0.3 * torch.randn(*shape, generator=random)).bfloat16()
def router():
    ids = torch.stack([torch.randperm(8, generator=random)[:3] for _ in range(37)]).int()
    return ids.masked_fill(torch.rand(37, 3, generator=random) < 0.2, -1)
given = {"x": normal(37, 48), "weights": torch.rand(37, 3, generator=random), "gate": normal(8, 32, 48), "down": normal(8, 48, 32)}
on_npu = {name: tensor.to("npu:0") for name, tensor in given.items()}
ids = router().to("npu:0")
cpu, group = hpmoe.Group(), hpmoe.Group(device="npu:0", time_limit=30)
fixed = forward.fix(group, ids, **on_npu)
assert fixed.wait() is None
for number in range(50):
    chosen, given["x"] = router(), normal(37, 48)
    want = forward(cpu, chosen, **given)[1]
    ids.copy_(chosen)
    on_npu["x"].copy_(given["x"])
    log = LogWindow()
    y = fixed.launch()[1]
    names = log.names()
    assert names.count("aclrtLaunchKernelWithHostArgs") == 1, names
    assert set(names) == {"aclrtLaunchKernelWithHostArgs", "aclrtRecordEvent", "aclrtStreamWaitEvent"}, names
    assert torch.equal(y.cpu(), want), number
report = fixed.wait()
assert report["on_npus"] and fixed.wait() == report
fixed.launch()
assert hpmoe.last_report()["kernel"] == "routed::forward" and list(group._launches._pending) == [fixed]
group.synchronize()
# An ordinary launch in between.
assert torch.equal(forward(group, ids, **on_npu)[1].cpu(), want) and torch.equal(fixed.launch()[1].cpu(), want)
ids.copy_(torch.full((37, 3), 8).int())
fixed.launch()
print(refused(fixed.wait))
ids.copy_(chosen)
assert torch.equal(fixed.launch()[1].cpu(), want) and fixed.wait()["on_npus"]
print(refused(lambda: forward.fix(group, chosen, **given)))
shifted = torch.empty(37 * 48 + 1, dtype=torch.bfloat16).to("npu:0")[1:].view(37, 48)
print(refused(lambda: forward.fix(group, ids, **{**on_npu, "x": shifted})))
on_npu["x"].data = on_npu["x"].clone()
print(refused(fixed.launch))
group.close()
fixed.close()
"""
    environment = {**environment, "HPMOE_CACHE": str(tmp_path / "cache")}
    said = run(environment, tmp_path, script, CRATE=str(crate)).splitlines()
    expected = [
        "topk_ids of rank 0, row 0, column 0 is 8, but experts are numbered from 0 to 7",
        "lies in this machine's memory, but a fixed launch on NPUs copies nothing",
        "`x` can't be used in place (it starts at 0x",
        "`x` has a different address or shape than when the launch was fixed: write new data into the same tensor, or call Taskflow.fix again",
    ]
    assert len(said) == len(expected), said
    for line, part in zip(said, expected):
        assert part in line, line


def test_a_kernel_that_fails_is_told_at_the_next_wait(environment: dict[str, str], tmp_path: Path) -> None:
    script = """
ids, tensors = inputs(24)
tensors = dict(zip(names, [tensor.to("npu:1") for tensor in tensors]))
group = hpmoe.Group(device="npu:1", time_limit=0.5)
forward(group, ids, **tensors)
for wait in (hpmoe.last_report, group.synchronize, lambda: forward(group, ids, **tensors)):
    try:
        wait()
    except hpmoe.LaunchError as error:
        print(str(error).splitlines()[0])
"""
    said = run(environment, tmp_path, script, HPMOE_STANDIN_FAULT="1:507015").splitlines()
    assert len(said) == 3 and all("failed with error 507015" in line for line in said[:2]), said
    assert "make a new Group" in said[2], said


def test_a_model_of_transformers_on_an_npu(environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("transformers", minversion="5")
    script = """
import hpmoe.hf
from test_hf import model_of
model = model_of("Qwen3Moe", 0)
model.set_experts_implementation("hpmoe")
words = torch.randint(1, 96, (2, 12), generator=torch.Generator().manual_seed(0))
out = model(input_ids=words, labels=words)
out.loss.backward()
want = {name: parameter.grad.float() for name, parameter in model.named_parameters()}
model.zero_grad()
model.to("npu:0")
mine = model(input_ids=words.to("npu:0"), labels=words.to("npu:0"))
assert hpmoe.last_report()["on_npus"] and hpmoe.last_report()["copied"] == []
assert (mine.logits.cpu() - out.logits).abs().max() < 1e-2
mine.loss.backward()
for name, parameter in model.named_parameters():
    assert (parameter.grad.cpu().float() - want[name]).norm() < 3e-2 * want[name].norm(), name
print("done")
"""
    assert run(environment, tmp_path, script) == "done\n"

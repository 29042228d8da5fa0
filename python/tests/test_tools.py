"""Results of the command ``hpmoe``, as typed objects."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hpmoe
from hpmoe import _command, _figures, _source
from hpmoe._command import command

ROOT = Path(__file__).parents[2]
LAYER = ROOT / "examples" / "moe_ffn.rs"
#: Sizes with a short simulation.
SIZE = {"HIDDEN": 64, "INTER": 32, "EXPERTS": 8, "TOP_K": 2, "max_tokens": 64}


def program() -> Path:
    """The command; builds it if it is older than its sources."""
    built = Path(os.environ["CARGO_TARGET_DIR"]) / "debug" / "hpmoe"
    sources = [file for folder in ("tools/cli", "tools/simulator", "hpmoe-core") for file in (ROOT / folder).rglob("*.rs")]
    if not built.exists() or built.stat().st_mtime < max(file.stat().st_mtime for file in sources):
        subprocess.run(["cargo", "build", "--package", "hpmoe-cli"], cwd=ROOT, check=True)
    return built


@pytest.fixture(autouse=True)
def _with_command(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [program()]
    monkeypatch.setattr(_command, "_places", lambda: places)


def test_a_file_is_simulated() -> None:
    found = hpmoe.simulate(LAYER, ranks=2, **SIZE)
    ours = found.ours
    assert ours is found["ours"] and ([run.policy for run in found], found.does_not_apply) == (["ours", "hyperparallel", "serial"], {})
    assert (ours.ranks, ours.direction, ours.target, ours.tokens) == (2, "forward", "ascend-a3", 64)
    assert 0 < ours.bound_us < ours.simulated_us < found["serial"].simulated_us
    assert ours.tasks > 0 and ours.empty_tasks == 0 and set(ours.tile_sizes) >= {"TILE_M", "TILE_N"}
    assert 0 < sum(mean.aic for mean in [*ours.idle.values(), *ours.busy.values()]) <= ours.simulated_us * 1.01
    assert ours.json["policy"] == "ours" and found["serial"].schedule is None
    assert hpmoe.simulate(LAYER, ranks=2, **SIZE) == found
    assert hpmoe.simulate(LAYER, ranks=4, **SIZE).ours.simulated_us != ours.simulated_us
    with pytest.raises(hpmoe.HpmoeError, match="there is no run by the policy 'fast'"):
        found["fast"]
    assert "<td>serial</td>" in found._repr_html_()


def test_a_timeline_is_a_picture() -> None:
    found = hpmoe.timeline(LAYER, ranks=2, policy="serial", **SIZE)
    assert found.run == hpmoe.simulate(LAYER, ranks=2, **SIZE)["serial"]
    assert ElementTree.fromstring(found.svg).tag.endswith("svg") and found._repr_svg_() is found.svg
    with pytest.raises(hpmoe.HpmoeError, match="there is no policy 'fast': use one of 'ours', 'hyperparallel', 'serial'"):
        hpmoe.timeline(LAYER, policy="fast")


def test_a_report_has_figures_timeline_and_page(tmp_path: Path) -> None:
    found = hpmoe.report(LAYER, ranks=2, out=tmp_path / "page.html", **SIZE)
    assert found.page == (tmp_path / "page.html").read_text() and "<html" in found.page
    assert found.simulation == hpmoe.simulate(LAYER, ranks=2, **SIZE) and found.timeline.run == found.simulation.ours
    shown = found._repr_html_()
    assert "<svg" in shown and f"{found.simulation.ours.simulated_us:,.1f}" in shown


def test_faults_have_places(tmp_path: Path) -> None:
    right = hpmoe.check(LAYER, HIDDEN=256)
    assert right and right.faults == right.warnings == () and right.taskflows[0].taskflow == "forward"
    assert "moe_ffn::forward is right" in str(right)
    text = LAYER.read_text().replace("h.store(gate.silu()", "h.store(gates.silu()")
    wrong = tmp_path / "<b>.rs"
    wrong.write_text(text)
    found = hpmoe.check(wrong)
    (fault,) = found.faults
    assert not found and fault.line == 1 + text[: text.index("gates.silu()")].count("\n")
    assert fault.code and fault.code.startswith("HP") and "gates" in fault.message and fault.help
    assert f":{fault.line}:{fault.column}: error[{fault.code}]: {fault.message}" in str(found)
    shown = found._repr_html_()
    assert "<b>" not in shown and "&lt;b&gt;.rs" in shown


def test_what_the_command_refuses_is_said_in_words_of_python(tmp_path: Path) -> None:
    with pytest.raises(hpmoe.HpmoeError, match="there is no kernel file .*none.rs: pass a .rs file"):
        hpmoe.check(tmp_path / "none.rs")
    with pytest.raises(hpmoe.HpmoeError, match="no kernel declares a constant `HIDEN`: did you mean `HIDDEN`"):
        hpmoe.simulate(LAYER, HIDEN=64)
    with pytest.raises(hpmoe.HpmoeError, match=re.escape("there is no taskflow `backward`: choose taskflow=.. among moe_ffn::forward")):
        hpmoe.simulate(LAYER, taskflow="backward")
    with pytest.raises(hpmoe.HpmoeError, match="ranks is 0, but must be a whole number from 1 to 256"):
        hpmoe.report(LAYER, ranks=0)
    with pytest.raises(hpmoe.HpmoeError, match="HIDDEN is '64': constants of kernels are"):
        hpmoe.simulate(LAYER, HIDDEN="64")
    # Faults that only the given constants cause are shown at their lines.
    with pytest.raises(hpmoe.HpmoeError, match=r"kernel `moe_ffn` has 1 fault with TILE_M = 0\n\nerror\[HP04\]: (.|\n)*moe_ffn.rs:\d+:\d+\n"):
        hpmoe.simulate(LAYER, TILE_M=0)
    with pytest.raises(hpmoe.HpmoeError, match="an object of type int has no kernel file: pass a .rs file, a layer, a taskflow or a library"):
        hpmoe.simulate(7)


def test_costly_tile_sizes_are_a_warning() -> None:
    with pytest.warns(UserWarning, match="TILE_M"):
        hpmoe.simulate(LAYER, ranks=2, **{"HIDDEN": 1024, "INTER": 256, "max_tokens": 256, "TILE_M": 16, "TILE_N": 16})


def test_a_tuned_schedule_for_another_size_is_a_warning(tmp_path: Path) -> None:
    layer = tmp_path / "layer.rs"
    layer.write_text(LAYER.read_text())
    shape = "EXPERTS = 8, HIDDEN = 64, INTER = 32, TOKENS = 64, TOP_K = 2"
    (tmp_path / "layer.tuned.toml").write_text(
        f'[[tuned]]\nkernel = "moe_ffn"\ntarget = "ascend-a3"\nmatrix_cores = 24\nshape = {{ {shape} }}\nsizes = {{ PUT = 8 }}\n'
    )
    with pytest.warns(UserWarning) as caught:
        hpmoe.simulate(layer, ranks=2, PUT=4, **SIZE)
    said = [str(warning.message) for warning in caught if "tuned.toml" in str(warning.message)]
    assert len(said) == 1 and said[0].startswith("kernel `moe_ffn` has the default schedule: `")
    assert "has no schedule found with PUT = 4 (one was found with PUT = 8) on ascend-a3" in said[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hpmoe.simulate(layer, ranks=2, PUT=8, **SIZE).ours.schedule == "tuned"


def test_without_the_command_an_error_tells_where_it_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "hpmoe"
    script.write_text("#!/usr/bin/python\n")
    script.chmod(0o755)
    monkeypatch.setattr(_command, "_places", lambda: [tmp_path / "nothing", script])
    with pytest.raises(hpmoe.BuildError, match="there is no command hpmoe.* the wheel brings it along; in a checkout, install it with `cargo install --path tools/cli`"):
        hpmoe.simulate(LAYER)
    # A program of another version.
    monkeypatch.setattr(_command, "_places", lambda: [Path("/bin/echo")])
    with pytest.raises(hpmoe.BuildError, match="the command /bin/echo has version"):
        hpmoe.simulate(LAYER)


def test_the_environment_comes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(program().parent))
    assert _command._places()[0] == Path(sys.executable).parent / "hpmoe" and _command._places()[-1] == program()
    if not any(map(_command._is_program, _command._places()[:-1])):
        assert command() == program()


def test_libraries_know_their_kernel_files(library: hpmoe.Library, biased: hpmoe.Library, tmp_path: Path) -> None:
    source = _source.source_of(library["swiglu_joined::backward"])
    assert source.file == ROOT / "python" / "stock" / "src" / "joined.rs" and source.taskflow == "swiglu_joined::backward"
    assert source.constants == {"HIDDEN": 64, "INTER": 32, "EXPERTS": 8, "TOP_K": 2, "TOKENS": 64}
    backward = hpmoe.simulate(library["swiglu::backward"], ranks=2)
    assert backward.ours.simulated_us > hpmoe.simulate(library["swiglu::forward"], ranks=2).ours.simulated_us
    assert hpmoe.check(library["swiglu::forward"])
    # A single file with two taskflows: uses the forward pass.
    assert hpmoe.simulate(biased, ranks=2, max_tokens=32).ours.tokens == 32
    with pytest.raises(hpmoe.HpmoeError, match=r"was built from 2 kernel files: pass one of its taskflows \(swiglu::backward, "):
        hpmoe.simulate(library)


def test_sources_that_have_changed_are_not_simulated(library: hpmoe.Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    flow = library["swiglu::forward"]
    monkeypatch.setattr(_source, "digest", lambda file: "other")
    with pytest.raises(hpmoe.HpmoeError, match="separate.rs has changed since .* was built from it: build it again, or pass the file itself"):
        hpmoe.simulate(flow)
    monkeypatch.setattr(library, "path", str(tmp_path / "moved.so"))
    with pytest.raises(hpmoe.HpmoeError, match="the source files of .*moved.so are unknown: build it with hpmoe.build, or pass"):
        hpmoe.simulate(flow)


def test_notebooks_show_libraries_and_escape_texts(library: hpmoe.Library) -> None:
    shown = library._repr_html_()
    assert "swiglu::forward on 1, 2, 4, 8 ranks" in shown and "<td>32 x 64</td>" in shown and "HIDDEN = 64" in shown
    simulation = _figures.Simulation({}, {"<i>": "<script>"})
    assert "<script>" not in simulation._repr_html_() and "&lt;script&gt;" in simulation._repr_html_()
    report = hpmoe.LaunchReport(kernel="<b>", text="<u>", trace=None)
    assert report._repr_html_() == "<div><strong>&lt;b&gt;</strong><pre>&lt;u&gt;</pre></div>"

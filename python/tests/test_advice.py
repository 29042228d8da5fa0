"""The ways out that errors name exist in Python."""

import inspect
import re
import socket
from pathlib import Path

import pytest

import hpmoe
from hpmoe._advice import IN_PYTHON, in_python

ROOT = Path(__file__).parents[2]


def test_every_name_of_c_has_one_in_python() -> None:
    table = (ROOT / "hpmoe-runtime/c/src/advice.rs").read_text().split("];")[0]
    in_c = {c for _, c in re.findall(r'\("([A-Za-z]+::[a-z_]+)", "([A-Za-z_.]+)"\)', table)}
    assert len(in_c) > 5
    assert set(IN_PYTHON) == in_c


def test_every_name_of_python_exists() -> None:
    for advice in IN_PYTHON.values():
        call = re.fullmatch(r"hpmoe\.([A-Za-z.]+)\((\w+)=.*\)", advice)
        if call is None:
            assert advice == "a call of the taskflow" or hasattr(hpmoe, advice.removeprefix("hpmoe.").split(".")[0]), advice
            continue
        found = hpmoe
        for name in call[1].split("."):
            found = getattr(found, name)
        assert call[2] in inspect.signature(found).parameters, advice


def test_every_argument_that_a_message_names_exists() -> None:
    """Names in texts of the package: ``hpmoe.Group(device=..)``, ``hpmoe.Group.join(secret=..)``."""
    named = set()
    for file in (ROOT / "python/src/hpmoe").rglob("*.py"):
        named.update(re.findall(r"hpmoe\.((?:[A-Za-z_]+\.)*[A-Za-z_]+)\(([a-z_]+)=", file.read_text()))
    assert len(named) > 3
    for path, argument in named:
        found = hpmoe
        for name in path.split("."):
            if not hasattr(found, name):
                found = __import__(f"hpmoe.{path.rsplit('.', 1)[0]}", fromlist=["_"])
                name = path.rsplit(".", 1)[1]
            found = getattr(found, name)
        parameters = inspect.signature(found).parameters
        assert argument in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values()), f"hpmoe.{path}({argument}=..)"


def test_values_stay_with_their_names() -> None:
    assert in_python("raise it with HpmoeOptions.capacity_rows = 12 or") == "raise it with hpmoe.Group(capacity_rows=12) or"
    assert in_python("lower HpmoeOptions.threads, or") == "lower hpmoe.Group(threads=..), or"


def test_errors_of_launches_name_arguments_of_python(library: hpmoe.Library) -> None:
    numpy = pytest.importorskip("numpy")
    tokens, hidden, inter, experts = 8, 64, 32, 8
    zeros = lambda *shape: numpy.zeros(shape, numpy.uint16)  # noqa: E731
    tensors = {
        "x": zeros(tokens, hidden),
        "weights": numpy.ones((tokens, 2), numpy.float32),
        "gate": zeros(experts, inter, hidden),
        "up": zeros(experts, inter, hidden),
        "down": zeros(experts, hidden, inter),
    }
    ids = numpy.tile(numpy.array([[0, 1]], numpy.int32), (tokens, 1))
    with hpmoe.Group(capacity_rows=1) as group, pytest.raises(hpmoe.HpmoeError, match=r"with hpmoe\.Group\(capacity_rows=16\)"):
        library["swiglu::forward"](group, ids, **tensors)


def test_errors_of_joining_name_no_variable_that_an_address_overrules(library: hpmoe.Library) -> None:
    numpy = pytest.importorskip("numpy")
    zeros = lambda *shape: numpy.zeros(shape, numpy.uint16)  # noqa: E731
    tensors = {
        "x": zeros(4, 64),
        "weights": numpy.ones((4, 2), numpy.float32),
        "gate": zeros(4, 32, 64),
        "up": zeros(4, 32, 64),
        "down": zeros(4, 64, 32),
    }
    ids = numpy.tile(numpy.array([[0, 5]], numpy.int32), (4, 1))
    with socket.socket() as taken, socket.socket() as free:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        free.bind(("127.0.0.1", 0))
        ports = [taken.getsockname()[1], free.getsockname()[1]]
        free.close()
        said = []
        for address in [f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}", "file:/nowhere/address"]:
            group = hpmoe.Group.join(0, 2, address, join_time_limit=0.2)
            with pytest.raises(hpmoe.HpmoeError) as error:
                library["swiglu::forward"](group, ids, **tensors)
            said.append(str(error.value))
    assert all("HPMOE_PORT" not in text and "HPMOE_ADDRESS_FILE" not in text for text in said), said
    assert "choose another address" in said[0]
    assert "raise the time limit of joining" in said[1]
    assert "name another file as the address" in said[2]

"""A replacement for torch_npu on the stand-in for CANN: tensors in the memory of NPUs, streams, and the module ``torch.npu``."""

from __future__ import annotations

import ctypes
import os
import subprocess
import types
from pathlib import Path

import torch
from torch.utils.cpp_extension import include_paths, library_paths

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def compiled(folder: Path, toolkit: Path) -> Path:
    """The library of the device, compiled for this PyTorch."""
    library = folder / f"npu-{torch.__version__}.so"
    if not library.exists() or library.stat().st_mtime < (HERE / "device.cpp").stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O0", "-shared", "-fPIC", "-w", "-o", str(library), str(HERE / "device.cpp")]
        command += [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}", f"-I{ROOT / 'hpmoe-runtime' / 'acl'}"]
        command += [f"-I{path}" for path in include_paths()]
        for path in library_paths():
            command += [f"-L{path}", f"-Wl,-rpath,{path}"]
        command += ["-ltorch_cpu", "-lc10", f"-L{toolkit / 'lib64'}", "-lacl_rt", f"-Wl,-rpath,{toolkit / 'lib64'}"]
        subprocess.run(command, check=True)
    return library


class Stream:
    """A stream of an NPU."""

    def __init__(self, device: int, handle: int) -> None:
        """Makes a stream with CANN's handle."""
        self.device_index, self.npu_stream = device, handle


class Device(types.ModuleType):
    """The module ``torch.npu``."""

    def __init__(self, library: Path) -> None:
        """Opens the library, initialises CANN, and makes a stream for each NPU."""
        super().__init__("torch.npu")
        ctypes.CDLL("libacl_rt.so" if library is None else str(Path(os.environ["ASCEND_HOME_PATH"]) / "lib64/libacl_rt.so")).aclInit(None)
        torch.ops.load_library(str(library))
        self._calls = ctypes.CDLL(str(library))
        self._calls.npu_stream.restype = self._calls.npu_new_stream.restype = ctypes.c_void_p
        self._calls.npu_set_stream.argtypes = [ctypes.c_int, ctypes.c_void_p]
        for device in range(2):
            self._calls.npu_set_stream(device, self._calls.npu_new_stream(device))

    def is_available(self) -> bool:
        """Returns True."""
        return True

    def device_count(self) -> int:
        """Number of devices that have a stream."""
        return 2

    def current_device(self) -> int:
        """The current device of this thread."""
        return self._calls.npu_current()

    def set_device(self, device: int) -> None:
        """Sets the current device of this thread."""
        self._calls.npu_set(device)

    def current_stream(self, device: torch.device | int | None = None) -> Stream:
        """The current stream of a device."""
        index = device.index if isinstance(device, torch.device) else device
        index = self.current_device() if index is None else index
        return Stream(index, self._calls.npu_stream(index))

    def new_stream(self, device: int) -> Stream:
        """Makes another stream on a device."""
        return Stream(device, self._calls.npu_new_stream(device))

    def set_stream(self, stream: Stream) -> None:
        """Makes a stream the current one of its device."""
        self._calls.npu_set_stream(stream.device_index, stream.npu_stream)

    def synchronize(self, device: int = 0) -> None:
        """Waits for the device's current stream."""
        self._calls.npu_synchronize(device)

    def _is_in_bad_fork(self) -> bool:
        return False


def install(folder: Path) -> Device:
    """Makes "npu" a device of PyTorch."""
    torch.utils.rename_privateuse1_backend("npu")
    device = Device(compiled(folder, Path(os.environ["ASCEND_HOME_PATH"])))
    torch._register_device_module("npu", device)
    return device

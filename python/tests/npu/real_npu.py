"""The real torch_npu, on the stand-in for CANN."""

from __future__ import annotations

import ctypes
import os
import subprocess
import types
from pathlib import Path

import torch
from torch.utils.cpp_extension import include_paths, library_paths

# PyTorch refuses an allocator setting that two backends register. Builds for CUDA register some settings that torch_npu registers, too; usually, torch_npu is
# used with CPU builds.
FORGET = """
#include <c10/core/AllocatorConfig.h>
extern "C" void forget() { c10::CachingAllocator::AcceleratorAllocatorConfig::getMutableKeys().clear(); }
"""


def install(folder: Path) -> types.ModuleType:
    """Imports torch_npu with any build of PyTorch, and returns the module ``torch.npu``."""
    if torch.version.cuda is not None:
        library = folder / f"forget-{torch.__version__}.so"
        if not library.exists():
            folder.mkdir(parents=True, exist_ok=True)
            draft = library.with_suffix(f".{os.getpid()}")
            command = [os.environ.get("CXX", "g++"), "-std=c++20", "-shared", "-fPIC", "-w", "-x", "c++", "-", "-o", str(draft)]
            command += [f"-I{path}" for path in include_paths()] + [f"-L{path}" for path in library_paths()] + ["-lc10"]
            subprocess.run(command, input=FORGET, text=True, check=True)
            draft.replace(library)
        ctypes.CDLL(str(library)).forget()
    import torch_npu  # noqa: F401

    return torch.npu

"""The GPU as the driver tells of it: by a library in the place of the driver's, since tests are to see no GPU."""

import subprocess
from pathlib import Path

import pytest

from scripts.gpu_check.card import Card, NoCardError, driver

_DRIVER = r"""
#include <string.h>
#include <stddef.h>
#include <stdlib.h>
static void *current;
int cuInit(unsigned flags) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  return visible && atoi(visible) < 0 ? 100 : 0;
}
int cuGetErrorString(int error, const char **text) { *text = "no CUDA-capable device is detected"; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 7; return ordinal; }
int cuDriverGetVersion(int *version) { *version = 13010; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "NVIDIA Fake", length); return device != 7; }
int cuDeviceGetAttribute(int *value, int which, int device) {
  *value = which == 75 ? 9 : which == 76 ? 0 : which == 16 ? 132 : -1;
  return device != 7;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &current; return device != 7; }
int cuCtxPushCurrent_v2(void *context) { current = context; return 0; }
int cuCtxPopCurrent_v2(void **context) { *context = current; current = NULL; return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) {
  *free = 70UL << 30;
  *total = 80UL << 30;
  return current != &current ? 201 : 0;
}
"""


@pytest.fixture
def library(tmp_path: Path) -> str:
    path = tmp_path / "libcuda.so.1"
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
    subprocess.run(command, input=_DRIVER, text=True, check=True)
    return str(path)


@pytest.fixture
def card(library: str, monkeypatch: pytest.MonkeyPatch) -> Card:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    return Card(library)


def test_a_card_is_told_as_the_driver_tells_it(card: Card) -> None:
    assert (card.name, card.capability, card.multiprocessors, card.cuda) == ("NVIDIA Fake", "9.0", 132, "13.1")


def test_memory_is_read_in_a_context(card: Card) -> None:
    assert card.memory() == card.memory() == (10 << 30, 80 << 30)


def test_tests_see_no_gpu_and_a_driver_says_so_in_its_own_words(library: str) -> None:
    with pytest.raises(NoCardError, match="no NVIDIA GPU: cuInit: no CUDA-capable device is detected"):
        Card(library)


def test_a_machine_without_a_driver_is_told_by_the_library_that_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(NoCardError, match="no NVIDIA driver: libcuda.so.1 cannot be loaded"):
        Card(str(tmp_path / "libcuda.so.1"))


def test_the_version_of_the_kernels_driver_is_read(tmp_path: Path) -> None:
    path = tmp_path / "version"
    path.write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n")
    assert (driver(path), driver(tmp_path / "gone")) == ("580.159.04", "-")

import pytest

from providers.core.footprint import accelerator_percent, estimate_mib
from providers.core.types import LoadedCopy
from providers.core.units import mib_from_bytes


@pytest.mark.parametrize(
    ("size", "mib"), [(0, 0), (1, 1), (1048576, 1), (1048577, 2), (22_000_000_000, 20981), (13_000_000_000, 12398)]
)
def test_bytes_become_mib_rounded_up(size, mib):
    assert mib_from_bytes(size) == mib


@pytest.mark.parametrize(("on_disk", "estimate"), [(0, 0), (1, 2), (5, 6), (8533, 10240), (17066, 20480), (5120, 6144)])
def test_a_model_never_seen_loaded_is_taken_for_a_fifth_more_than_its_file(on_disk, estimate):
    assert estimate_mib(size_mib=on_disk) == estimate


@pytest.mark.parametrize(
    ("on_accelerator", "on_host", "percent"), [(20981, 23842, 47), (0, 3072, 0), (100, 0, 100), (0, 0, 0)]
)
def test_the_share_of_a_copy_that_runs_from_accelerator_memory(on_accelerator, on_host, percent):
    """C04: 22 of 47 GB are 47 % on the GPU, and so 53 % on the CPU."""
    copy = LoadedCopy(model="m", footprint_mib=on_accelerator, host_mib=on_host)

    assert accelerator_percent(copy) == percent

"""What processes hold, as the idle bench counts it."""

import os
import subprocess
import sys

from kubemoot_web.management.benches.processes import family


def test_a_process_is_counted_with_everything_it_has_started():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        found = family(os.getpid())

    assert {os.getpid(), child.pid} <= set(found)
    assert all(held.resident_mib >= held.shared_mib > 0 for held in found.values())
    assert found[os.getpid()].cpu_s > 0

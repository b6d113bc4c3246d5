"""Asks auditwheel which platform a wheel runs on, if the machine's FFmpeg is left to the machine; `auditwheel show` cannot.

Usage: python audit.py WHEEL
"""

import pathlib
import sys

from auditwheel.architecture import Architecture
from auditwheel.libc import Libc
from auditwheel.wheel_abi import analyze_wheel_abi

LEFT_OUT = frozenset({"libav*.so.*", "libsw*.so.*"})

wheel = pathlib.Path(sys.argv[1])
machine = Architecture(wheel.stem.split("2_17_")[1])
abi = analyze_wheel_abi(Libc.GLIBC, machine, wheel, LEFT_OUT, disable_isa_ext_check=False, allow_graft=False)
print(abi.overall_policy.name)

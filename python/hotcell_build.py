"""Makes the wheel: the package and libhotcell.so beside it. Needs nothing but Python, so pip fetches nothing.

The library is $HOTCELL_LIBRARY; else that of the tree's build/; else it is built there, by Meson and Ninja.
"""

import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parent
NAME = "hotcell"
TAG = f"py3-none-linux_{platform.machine()}"


def field(name):
    """One text of pyproject.toml; there is a reader for all of it only since Python 3.11."""
    found = re.search(rf'^{name} = "(.*)"$', (HERE / "pyproject.toml").read_text(), re.MULTILINE)
    return found.group(1)


VERSION = field("version")
INFO = f"{NAME}-{VERSION}.dist-info"


# ---- the library ----


def build_library(build):
    for tool in ("meson", "ninja"):
        if not shutil.which(tool):
            raise RuntimeError(f"libhotcell.so is not built and {tool} is missing: 'tools/setup.sh demo' installs it, or name a library in HOTCELL_LIBRARY")
    if not (build / "build.ninja").exists():
        subprocess.run(["meson", "setup", str(build), str(TREE)], check=True)
    subprocess.run(["ninja", "-C", str(build), "libhotcell.so.1.0.0"], check=True)


def library():
    named = os.environ.get("HOTCELL_LIBRARY")
    if named:
        if not Path(named).is_file():
            raise RuntimeError(f"HOTCELL_LIBRARY names '{named}', which is no file")
        return Path(named)
    built = TREE / "build" / "libhotcell.so"
    if not built.exists():
        build_library(TREE / "build")
    return built.resolve()


# ---- the wheel ----


def metadata():
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {NAME}",
        f"Version: {VERSION}",
        f"Summary: {field('description')}",
        f"Requires-Python: {field('requires-python')}",
        "License: Apache-2.0",
        "Description-Content-Type: text/markdown",
        "",
        (HERE / "README.md").read_text(),
    ]
    return "\n".join(lines)


def wheel_file():
    return f"Wheel-Version: 1.0\nGenerator: hotcell_build\nRoot-Is-Purelib: false\nTag: {TAG}\n"


def contents():
    for path in sorted((HERE / NAME).iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield f"{NAME}/{path.name}", path.read_bytes()
    yield f"{NAME}/libhotcell.so", library().read_bytes()
    yield f"{INFO}/METADATA", metadata().encode()
    yield f"{INFO}/WHEEL", wheel_file().encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"{NAME}-{VERSION}-{TAG}.whl"
    record = []
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        for path, data in contents():
            wheel.writestr(path, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")
        record.append(f"{INFO}/RECORD,,")
        wheel.writestr(f"{INFO}/RECORD", "\n".join(record) + "\n")
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = Path(metadata_directory) / INFO
    folder.mkdir()
    (folder / "METADATA").write_text(metadata())
    (folder / "WHEEL").write_text(wheel_file())
    return INFO


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    raise RuntimeError("there is no source archive of the package alone: it is built from hotcell's tree, by 'pip install ./python'")

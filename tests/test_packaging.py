"""The package as others get it: wheel, sdist, and the link to transforms/."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.more

ROOT = Path(__file__).parents[1]

# A stand-in for a user's script: nothing of the repository but the wheel is in reach.
USE_POLYGEN = """
import importlib, pathlib, pkgutil
import polygen, polygen.transforms
assert callable(polygen.make_kernel)
for module in pkgutil.walk_packages(polygen.transforms.__path__, "polygen.transforms."):
    importlib.import_module(module.name)
    print(module.name)
print(pathlib.Path(polygen.__file__).parent)
print(pathlib.Path(polygen.transforms.__file__).parent)
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command that must succeed; its output."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, source: Path, into: Path) -> Path:
    """Build a wheel or an sdist of the project in `source`."""
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", into, cwd=source)
    (built,) = into.iterdir()
    return built


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def transformations() -> list[str]:
    """The files of transforms/ as the working tree has them."""
    folder = ROOT / "transforms"
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))


def transformation_modules() -> list[str]:
    """The names under which these are imported, without that of the package itself."""
    paths = [Path(name).with_suffix("") for name in transformations()]
    parts = [path.parent.parts if path.name == "__init__" else path.parts for path in paths]
    return sorted(".".join(("polygen", "transforms", *names)) for names in parts if names)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked sdist."""
    archive = build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return unpacked


def test_wheel_holds_the_transformations_once(wheel: Path) -> None:
    found = [name for name in names_in(wheel) if "transforms/" in name]
    assert found == [f"polygen/transforms/{name}" for name in transformations()]


def test_wheel_holds_one_package_and_its_types(wheel: Path) -> None:
    names = names_in(wheel)
    top = {name.split("/")[0] for name in names}
    assert top == {"polygen", "polygen-0.1.0.dist-info"}
    assert {"polygen/py.typed", "polygen/__init__.pyi"} <= set(names)
    assert len([name for name in names if name.endswith(".tables")]) == 4
    assert "polygen-0.1.0.dist-info/licenses/LICENSE" in names


@pytest.mark.parametrize("package", ["polygen/emission/texts", "polygen/targets/texts"])
def test_wheel_holds_texts(wheel: Path, package: str) -> None:
    there = [path.name for path in (ROOT / package).iterdir() if path.is_file()]
    found = [name for name in names_in(wheel) if name.startswith(f"{package}/")]
    assert sorted(Path(name).name for name in found) == sorted(there)
    assert [name for name in there if name.endswith(".h")]


def test_wheel_is_imported_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    *modules, package, transforms = run(
        sys.executable, "-c", USE_POLYGEN, cwd=elsewhere, PYTHONPATH=str(site)
    ).splitlines()
    assert sorted(modules) == transformation_modules()
    assert Path(package) == site / "polygen"
    assert Path(transforms) == site / "polygen" / "transforms"


def test_wheel_has_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith("entry_points.txt")]
        lines = archive.read(name).decode().splitlines()
    assert lines == ["[console_scripts]", "polygen = polygen.cli:main"]


def test_sdist_builds_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    again = build("wheel", sdist, tmp_path)
    assert names_in(again) == names_in(wheel)
    with zipfile.ZipFile(again) as new, zipfile.ZipFile(wheel) as old:
        assert all(new.read(name) == old.read(name) for name in names_in(wheel))


def test_sdist_holds_nothing_local(sdist: Path) -> None:
    assert {path.name for path in sdist.iterdir()} == {
        ".gitignore",
        "CHANGELOG.md",
        "LICENSE",
        "PKG-INFO",
        "README.md",
        "polygen",
        "pyproject.toml",
    }


def test_transforms_is_a_link_in_the_tree() -> None:
    link = ROOT / "polygen" / "transforms"
    assert link.is_symlink()
    assert link.readlink() == Path("../transforms")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_transforms_is_a_link_in_git() -> None:
    mode, *_ = run("git", "ls-files", "--stage", "polygen/transforms", cwd=ROOT).split()
    assert mode == "120000"


def test_transforms_is_refused_under_the_wrong_name() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import transforms"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    message = done.stderr.splitlines()[-1]
    assert message.startswith("ImportError: ")
    assert "polygen.transforms" in message


@pytest.mark.deep
def test_wheel_brings_all_that_it_needs(wheel: Path, tmp_path: Path) -> None:
    """An environment with the wheel and its declared dependencies only."""
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", environment, cwd=tmp_path)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    *modules, package, _ = run(python, "-c", USE_POLYGEN, cwd=tmp_path).splitlines()
    assert sorted(modules) == transformation_modules()
    assert environment in Path(package).parents
    shutil.rmtree(environment)

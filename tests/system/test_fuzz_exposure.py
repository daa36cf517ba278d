"""What the cells of a fuzzed function are shown: the target's own project and what its lock files name, and nothing that only lies
around it. Each target here looks for something of the user's, and fails if it finds it."""

import base64
import hashlib
import json
import os
import shutil

import pytest

from harness import ROOT, hotcell

GO_CACHE = ROOT / "build-engines" / "go"  # what is compiled already, see tools/setup.sh
JAVASCRIPT = ROOT / "build-engines" / "javascript"
SECRET = "the-design-of-another-project"

C_LOOKS = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int parse(const char *data, size_t size)
{
	static const char *const paths[] = {"/target/private/design.txt", "/target/../private/design.txt", NULL};
	char text[100] = "";
	for (int i = 0; paths[i]; i++) {
		FILE *file = fopen(paths[i], "r");
		if (!file)
			continue;
		fgets(text, sizeof(text), file);
		fprintf(stderr, "%s\\n", text);
		abort();
	}
	return size && data[0] == 1;
}
"""
JS_LOOKS = """const fs = require("fs");
exports.parse = function parse(text) {
	let found = "";
	try { found = fs.readFileSync("/target/private/design.txt", "utf8"); } catch (error) { return 0; }
	throw new Error(found);
};
"""
RUST_LOOKS = """pub fn parse(data: &[u8]) -> usize {
    for path in ["PATHS"] {
        if let Ok(text) = std::fs::read_to_string(path) {
            panic!("{}", text);
        }
    }
    data.len()
}
"""


def make(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def fuzz(folder, *words, env=None, timeout=170):
    return hotcell("fuzz", "function", *words, "--json", "--no-coverage", "--max-execs", "200", "--duration", "60s", cwd=folder, env=env,
                   timeout=timeout)


def found(ran):
    """What it found; that it ran is certain."""
    result = json.loads(ran.out)
    assert result["targets"][0]["execs"] > 0, ran
    return [each["message"] for each in result["findings"]]


def saw_nothing(ran, *folders):
    assert found(ran) == [] and ran.code == 0, ran
    assert SECRET.encode() not in ran.out + ran.err
    for folder in folders:
        for path in folder.rglob("*"):
            assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


@pytest.fixture
def work(tmp_path):
    """A folder of many projects, which has a Makefile and a package.json of its own."""
    folder = tmp_path / "work"
    make(folder, {"Makefile": "", "package.json": "{}", "Cargo.toml": "[workspace]\n", "private/design.txt": SECRET})
    (folder / "private" / "design.txt").chmod(0o600)
    return folder


# ---- the project ----


@pytest.mark.parametrize("where", ["inside", "above", "elsewhere"])
def test_a_marker_above_a_clone_does_not_show_its_siblings(work, tmp_path, where):
    make(work, {"evil/Makefile": "", "evil/p.c": C_LOOKS})
    if where == "above":  # whoever stands there shows that folder, but for what is a repository of its own
        (work / "evil" / ".git").mkdir()
    folder, word = {"inside": (work / "evil", "p.c:parse"), "above": (work, "evil/p.c:parse"), "elsewhere": (tmp_path, work / "evil/p.c:parse")}[where]
    ran = fuzz(folder, word, "--state", tmp_path / "state")
    saw_nothing(ran, tmp_path / "state")


def test_a_package_above_a_repository_is_not_its_top(work):
    make(work, {"evil/.git/HEAD": "", "evil/lib/p.js": JS_LOOKS})
    ran = fuzz(work / "evil", "lib/p.js:parse", "--engine", f"javascript={JAVASCRIPT}")
    saw_nothing(ran, work / "evil" / ".hotcell")


def test_a_workspace_around_a_crate_is_not_shown(work):
    make(work, {"deep/evil/Cargo.toml": '[package]\nname = "evil"\nversion = "0.1.0"\n[workspace]\n',
                "deep/evil/src/lib.rs": RUST_LOOKS.replace("PATHS", "/target/private/design.txt")})
    saw_nothing(fuzz(work / "deep" / "evil", "src/lib.rs:parse", "--engine", "rust=/usr"))


def test_what_is_not_below_the_current_folder_is_told(work, tmp_path):
    make(work, {"evil/p.c": C_LOOKS})
    (tmp_path / "other").mkdir()
    ran = fuzz(tmp_path / "other", work / "evil" / "p.c:parse")
    assert f"mounted the folder '{work}/evil' read-only".encode() in ran.err, ran
    assert f"if the project begins at '{work}', name it by --root".encode() in ran.err, ran
    ran = fuzz(work / "evil", "p.c:parse")
    assert b"mounted the folder" not in ran.err and b"mounted only" in ran.err, ran


def test_a_folder_that_is_named_is_shown(work):
    make(work, {"evil/p.c": C_LOOKS})
    ran = fuzz(work / "evil", "p.c:parse", "--root", "..")
    assert ran.code == 1 and found(ran) and f"mounted the folder '{work}' read-only".encode() in ran.err, ran
    (finding,) = json.loads(ran.out)["findings"]
    capsule = work / "evil" / "capsule.json"
    capsule.write_text(json.dumps(finding))
    again = hotcell("repro", capsule, cwd=work / "evil", timeout=100)  # a capsule's word is no user's
    assert again.code != 1 and SECRET.encode() not in again.out, again


@pytest.mark.parametrize("root, says", [("/", b"a home or a shared folder"), ("/tmp", b"a home or a shared folder"), ("sub", b"does not hold the target"),
                                        ("p.c", b"Not a directory"), ("none", b"No such file")])
def test_a_root_that_cannot_be_is_refused(work, root, says):
    make(work, {"evil/p.c": C_LOOKS, "evil/sub/x": ""})
    ran = fuzz(work / "evil", "p.c:parse", "--root", root)
    assert ran.code == 2 and says in ran.err and not ran.out, ran


# ---- the engine ----


@pytest.mark.parametrize("below", [".local/bin", "bin", "tools/bin"])
def test_a_program_called_rustc_is_no_toolchain(tmp_path, below):
    home = tmp_path / "home"
    make(home, {f"{below}/rustc": '#!/bin/sh\nexec /usr/bin/rustc "$@"\n', ".local/share/keys": SECRET, "keys": SECRET, "share/keys": SECRET,
                "tools/share/keys": SECRET, ".local/lib/rustlib/x/lib/y": ""})
    (home / below / "rustc").chmod(0o755)
    make(tmp_path / "p", {"t.rs": RUST_LOOKS.replace('"PATHS"', '"/engine/share/keys", "/engine/keys"')})
    saw_nothing(fuzz(tmp_path / "p", "t.rs:parse", env={"HOME": os.fspath(home), "PATH": f"{home / below}:/usr/bin:/bin"}))


def test_an_active_environment_is_no_home(tmp_path):
    home = tmp_path / "home"
    make(home, {"bin/python3": "", ".local/bin/python3": ""})
    make(tmp_path / "p", {"t.py": "def f(data: bytes): pass\n"})
    for folder in (home, home / ".local"):
        ran = fuzz(tmp_path / "p", "t.py:f", env={"HOME": os.fspath(home), "VIRTUAL_ENV": os.fspath(folder)})
        assert ran.code == 2 and b"$VIRTUAL_ENV" in ran.err and b"--venv" in ran.err, ran


# ---- what was fetched before ----


def go_sum(files):
    """As `go mod` writes it: of the sums of files, by their names."""
    lines = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items()))
    return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()


def go_module(cache, path, version, files):
    """In the module cache; what go.sum says of it."""
    whole = go_sum({f"{path}@{version}/{name}": text for name, text in files.items()})
    name = "".join("!" + letter.lower() if letter.isupper() else letter for letter in path)
    make(cache / f"{name}@{version}", files)
    make(cache / "cache" / "download" / name / "@v", {f"{version}.mod": files["go.mod"], f"{version}.ziphash": whole})
    return f"{path} {version} {whole}\n{path} {version}/go.mod {go_sum({'go.mod': files['go.mod']})}\n"


def with_go(state):
    """A state folder that hotcell made, and Go's packages in it, compiled already."""
    make(state.parent / "maker", {"t.c": C_LOOKS, "seeds/one": "1"})
    ran = hotcell("corpus", "import", "t.c:parse", "seeds", "--state", state, cwd=state.parent / "maker")
    assert ran.code == 0, ran
    shutil.copytree(GO_CACHE, state / "cache" / "go")


@pytest.mark.parametrize("by", ["comment", "requirement", "link"])
def test_of_the_module_cache_a_build_sees_what_go_sum_names(tmp_path, by):
    cache, project, state = tmp_path / "mod", tmp_path / "p", tmp_path / "state"
    with_go(state)
    sums = go_module(cache, "example.com/Dep", "v1.2.0", {"go.mod": "module example.com/Dep\n\ngo 1.19\n", "d.go": "package dep\n\nfunc Len(s string) int { return len(s) }\n"})
    private = go_module(cache, "corp.example/secret", "v1.0.0", {"go.mod": "module corp.example/secret\n", "s.h": SECRET})
    guessed = "".join(f"{' '.join(line.split()[:2])} h1:{base64.b64encode(bytes(32)).decode()}\n" for line in private.splitlines())
    make(cache, {"cache/vcs/0/config": SECRET, "cache/lock": ""})
    paths = ["/libraries/cache/vcs/0/config", "/libraries/corp.example/secret@v1.0.0/s.h", "/libraries/cache/lock",
             "/libraries/cache/download/corp.example/secret/@v/v1.0.0.mod"]
    seen = "".join(f'#if __has_include("{path}")\n#define SEEN\n#endif\n' for path in paths)
    imports = 'import dep "example.com/Dep"\n' if by == "requirement" else ""
    call = "dep.Len(s)" if by == "requirement" else "len(s)"
    make(project, {
        "go.mod": "module m\n\ngo 1.19\n" + ("\nrequire example.com/Dep v1.2.0\n" if by == "requirement" else "// require\n"),
        "go.sum": sums + guessed,
        "p.go": f"package p\n\n/*\n{seen}#ifdef SEEN\nstatic int seen(void) {{ return 1; }}\n#else\nstatic int seen(void) {{ return 0; }}\n#endif\n*/\n"
                f'import "C"\n{imports}\nfunc Parse(s string) int {{\n\tif C.seen() != 0 {{\n\t\tpanic("it was shown")\n\t}}\n\treturn {call}\n}}\n'})
    if by == "link":  # to the sums of a project that has the right ones
        make(tmp_path, {"other/go.sum": private})
        (project / "go.sum").unlink()
        (project / "go.sum").symlink_to("../other/go.sum")
    saw_nothing(fuzz(project, "p.go:Parse", "--state", state, env={"GOMODCACHE": os.fspath(cache)}))


def test_of_cargos_registry_a_build_sees_what_cargo_lock_names(tmp_path):
    cargo, project = tmp_path / "cargo", tmp_path / "p"
    make(cargo / "registry" / "src", {
        "index.crates.io-6f17d22bba15001f/tiny-0.3.1/Cargo.toml": '[package]\nname = "tiny"\nversion = "0.3.1"\n',
        "index.crates.io-6f17d22bba15001f/tiny-0.3.1/src/lib.rs": "pub fn add(list: &[u8]) -> usize { list.len() }\n",
        "corp.example-0123456789abcdef/secret-1.0.0/Cargo.toml": '[package]\nname = "secret"\nversion = "1.0.0"\n',
        "corp.example-0123456789abcdef/secret-1.0.0/src/lib.rs": SECRET,
        "index.crates.io-6f17d22bba15001f/other-1.0.0/src/lib.rs": SECRET})
    make(cargo / "registry" / "cache", {"corp.example-0123456789abcdef/secret-1.0.0.crate": "its archive"})
    paths = [f"/packages/{name}/src/lib.rs" for name in ("corp.example-0123456789abcdef/secret-1.0.0", "index.crates.io-6f17d22bba15001f/other-1.0.0")]
    listed = ", ".join(f'"{path}"' for path in paths)
    registry = 'source = "registry+https://github.com/rust-lang/crates.io-index"\n'
    make(project, {
        "Cargo.toml": '[package]\nname = "p"\nversion = "0.1.0"\n[dependencies]\ntiny = "0.3"\n',
        "Cargo.lock": f'version = 3\n\n[[package]]\nname = "p"\nversion = "0.1.0"\ndependencies = [\n "tiny",\n]\n\n[[package]]\nname = "tiny"\nversion = "0.3.1"\n{registry}'
                      f'\n[[package]]\nname = "secret"\nversion = "1.0.0"\n{registry}checksum = "{"0" * 64}"\n',
        "build.rs": f'fn main() {{ for path in [{listed}] {{ if std::path::Path::new(path).exists() {{ println!("cargo:rustc-cfg=seen"); }} }} }}\n',
        "src/lib.rs": f'pub fn parse(data: &[u8]) -> usize {{\n    if cfg!(seen) {{ panic!("it was shown to the build"); }}\n    for path in [{listed}] {{\n'
                      '        if let Ok(text) = std::fs::read_to_string(path) { panic!("{}", text); }\n    }\n    tiny::add(data)\n}\n'})
    saw_nothing(fuzz(project, "src/lib.rs:parse", "--engine", "rust=/usr", env={"CARGO_HOME": os.fspath(cargo)}))


def test_many_modules_are_shown(tmp_path):
    """More than a cell takes mounts."""
    cache, project, state = tmp_path / "mod", tmp_path / "p", tmp_path / "state"
    with_go(state)
    sums = "".join(go_module(cache, f"example.com/d{n}", "v1.0.0", {"go.mod": f"module example.com/d{n}\n\ngo 1.19\n", "d.go": f"package d{n}\n\nconst N = {n}\n"}) for n in range(300))
    needs = "".join(f"\texample.com/d{n} v1.0.0\n" for n in range(300))
    uses = "".join(f'import "example.com/d{n}"\n' for n in (0, 7, 299))
    make(project, {"go.mod": f"module m\n\ngo 1.19\n\nrequire (\n{needs})\n", "go.sum": sums,
                   "p.go": f"package p\n\n{uses}\nfunc Parse(s string) int {{ return len(s) + d0.N + d7.N + d299.N }}\n"})
    saw_nothing(fuzz(project, "p.go:Parse", "--state", state, env={"GOMODCACHE": os.fspath(cache)}))


# ---- what builds keep ----


def test_a_build_does_not_write_to_the_cache_of_another_project(tmp_path):
    """One state serves all that is below it."""
    state = tmp_path / "state"
    with_go(state)
    before = {path.name for path in (state / "cache" / "go").rglob("*")}
    for name in ("one", "two"):
        make(tmp_path / name, {"go.mod": f"module {name}\n\ngo 1.19\n", "p.go": f"package p\n\nfunc Parse(s string) int {{ return len(s) }}\n// {name}\n"})
        saw_nothing(fuzz(tmp_path / name, "p.go:Parse", "--state", state))
    assert {path.name for path in (state / "cache" / "go").rglob("*")} == before
    kept = sorted(path.name for path in (state / "cache").iterdir())
    assert len(kept) == 3 and all(name.startswith("go") for name in kept), kept


def test_a_corpus_leads_to_nothing_outside_of_its_project(work):
    make(work, {"evil/p.c": "#include <stddef.h>\nint parse(const char *data, size_t size) { return size && data[0] == 1; }\n"})
    saw_nothing(fuzz(work / "evil", "p.c:parse"))
    (about,) = (work / "evil" / ".hotcell" / "corpus").glob("*/about.json")
    said = json.loads(about.read_text())
    shutil.copy(work / "evil" / "p.c", work / "private" / "p.c")
    what = f"{said['language']}\n{work}/private/p.c\n{said['function']}"
    said.update(file=f"{work}/private/p.c", id=hashlib.sha256(what.encode()).hexdigest()[: len(said["id"])])
    about.write_text(json.dumps(said))
    about.parent.rename(about.parent.with_name(said["id"]))
    ran = hotcell("corpus", "minimise", said["id"], cwd=work / "evil", timeout=100)
    assert ran.code == 2 and b"outside of this project" in ran.err, ran

"""Functions, and builds, that write all they can: each has a file system with a size, the host's disk is never what they fill, and whoever
is fuzzed beside them goes on."""

import json
import os
import subprocess
import threading

import pytest

from harness import HOTCELL, ROOT, environment, hotcell, small_disk
from test_fuzz_bad_targets import runs, wait_until

MB = 1 << 20
KEPT = 256 * MB  # of one corpus: CORPUS_BYTES_MAX
BUILT = 64 * MB  # two harnesses of C, and what belongs to them
HOSTILE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static char block[1 << 20], name[512];
static unsigned made;

static const char *next(void)
{
	snprintf(name, sizeof(name), "/fuzz/%s/%d-%u", made % 2 ? "corpus" : "crashes", (int)getpid(), made);
	made++;
	return name;
}

static int fresh(void) { return open(next(), O_RDWR | O_CREAT, 0600); }

int f(const char *data, size_t len)
{
	memset(block, 1 + made % 100, sizeof(block));
	for (int i = 0; i < 200000 && errno != ENOSPC; i++) { /* once it is full, more would only take time */
		errno = 0;
BODY
	}
	errno = 0;
	return 0;
}
"""
WAYS = {
    "files without a name": "int fd = fresh(); unlink(name); for (int k = 0; k < 8; k++) if (write(fd, block, sizeof(block)) < 0) break;",
    "files": "int fd = fresh(); (void)!write(fd, block, sizeof(block)); close(fd);",
    "names": "close(fresh());",
    "long names": 'snprintf(name, sizeof(name), "/fuzz/corpus/%0240u", made++); close(open(name, O_RDWR | O_CREAT, 0600));',
    "hard links": 'static char first[512]; if (!*first) { close(fresh()); strcpy(first, name); } (void)!link(first, next());',
    "symbolic links": "static char text[4000]; memset(text, 'x', sizeof(text) - 1); (void)!symlink(text, next());",
    "folders": "mkdir(next(), 0700);",
    "deep folders": 'if (!made++) (void)!chdir("/fuzz/corpus"); mkdir("d", 0700); (void)!chdir("d");',
    "fallocate": "int fd = fresh(); (void)!fallocate(fd, 0, 0, 8 << 20); (void)!fallocate(fd, FALLOC_FL_KEEP_SIZE, 8 << 20, 8 << 20); close(fd);",
    "attributes": """int fd = fresh(); for (int k = 0; k < 15; k++) { char key[32]; snprintf(key, sizeof(key), "user.k%d", k);
		if (fsetxattr(fd, key, block, 60000, 0) < 0) break; } (void)!write(fd, block, 4096); close(fd);""",
    "mapped": """int fd = fresh(); unlink(name); if (ftruncate(fd, 1 << 20) == 0 && fallocate(fd, 0, 0, 1 << 20) == 0) {
		char *at = mmap(NULL, 1 << 20, PROT_WRITE, MAP_SHARED, fd, 0); close(fd); if (at != MAP_FAILED) memset(at, 1, 1 << 20); }""",
}
SPARSE = """int fd = fresh(); (void)!pwrite(fd, &made, sizeof(made), 0); (void)!ftruncate(fd, i % 2 ? (off_t)1 << 40 : 1 << 20); close(fd);
		if (made > 20000) break;"""
HONEST = """
#include <stddef.h>
int g(const char *data, size_t len) { if (len > 1 && data[0] == 'a') __builtin_trap(); return 0; }
"""


class Disk:
    """The state's own disk while hotcell runs: the most that was ever taken of it, names or not."""

    def __init__(self, folder, *words, size="700m", **more):
        self.state = folder / "state"
        self.state.mkdir()
        self.peak = 0
        self.process = subprocess.Popen(
            [HOTCELL, "fuzz", "function", *map(os.fspath, words), "--state", self.state, "--json", "--quiet", "--no-coverage"],
            cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=small_disk(self.state, size), **more)
        watcher = threading.Thread(target=self.watch, daemon=True)
        watcher.start()
        out, self.err = self.process.communicate(timeout=200)
        watcher.join()
        self.code = self.process.returncode
        assert out, self.err
        self.said = json.loads(out)

    def watch(self):
        seen = False
        while self.process.poll() is None:
            try:
                fs = os.statvfs(f"/proc/{self.process.pid}/root{self.state}")
            except OSError:
                continue  # it has ended
            seen = True
            self.peak = max(self.peak, (fs.f_blocks - fs.f_bfree) * fs.f_frsize)
            threading.Event().wait(0.02)
        assert seen

    def problems(self, number):
        return "\n".join(self.said["targets"][number]["problems"])


def both(folder, body, *words, **more):
    (folder / "bad.c").write_text(HOSTILE.replace("BODY", body))
    (folder / "good.c").write_text(HONEST)
    return Disk(folder, "bad.c:f", "good.c:g", "--workers", "3", *(words or ("--duration", "12s", "--corpus-max", "32M")), **more)


def good_goes_on(ran):
    assert ran.code == 1, (ran.code, ran.err)
    assert [each["target"] for each in ran.said["findings"]] == ["good.c:g"], ran.said
    assert not ran.problems(1) and ran.said["targets"][1]["execs"] > 0, ran.said
    assert not any("nearly full" in gap for gap in ran.said["limitations"]), ran.said


@pytest.mark.parametrize("way", WAYS)
def test_what_a_function_writes_never_fills_the_disk(tmp_path, way):
    ran = both(tmp_path, WAYS[way])
    told = "it ended before it could be called" if way == "deep folders" else "it filled its corpus and crashes, which hold 32 MB"
    assert told in ran.problems(0), ran.said
    assert ran.peak < BUILT + 33 * MB, ran.peak >> 20
    good_goes_on(ran)


def test_what_has_no_name_takes_nothing_of_the_disk_by_default_either(tmp_path):
    """The disk holds more than the 1 GB that files with names may take."""
    ran = both(tmp_path, WAYS["files without a name"], "--duration", "5s", size="1300m")
    assert ran.peak < BUILT, ran.peak >> 20
    good_goes_on(ran)


def test_holes_are_no_more_than_a_corpus_may_hold(tmp_path):
    ran = both(tmp_path, SPARSE)
    assert ran.peak < BUILT + KEPT, ran.peak >> 20
    good_goes_on(ran)


def test_all_that_a_function_can_write_to_has_a_size(tmp_path):
    """By what it says itself: nothing of the host's disk is writable in its cell."""
    (tmp_path / "t.py").write_text("""
import os
def f(x: str):
    bad = []
    for line in open("/proc/self/mountinfo"):
        words = line.split()
        kind = words[words.index("-") + 1]
        if words[5].split(",")[0] == "rw" and kind not in ("proc", "devpts"):
            fs = os.statvfs(words[4])
            if kind != "tmpfs" or fs.f_blocks * fs.f_frsize > 1 << 30 or fs.f_files > 300_000:
                bad.append(words[4])
    if bad:
        raise RuntimeError("written without end: " + " ".join(bad))
""")
    ran = hotcell("fuzz", "function", "t.py:f", "--venv", ROOT / "build-engines" / "python", "--duration", "2s", "--json", "--quiet",
                  cwd=tmp_path, timeout=100)
    assert ran.code == 0 and json.loads(ran.out)["findings"] == [], ran


# ---- builds ----

BUILD = """
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
fn main() {
    let block = vec![7u8; 1 << 20];
    let mut open = Vec::new();
    for number in 0..400 {
        let name = format!("/fuzz/big{number}");
        let mut file = match File::create(&name) { Ok(file) => file, Err(_) => break };
        if WITHOUT_NAMES { let _ = std::fs::remove_file(&name); }
        for _ in 0..16 { if file.write_all(&block).is_err() { break } }
        let _ = file.write_at(&block, 1 << 29);
        open.push(file);
    }
}
"""


@pytest.mark.parametrize("names", ("true", "false"))
def test_a_build_script_fills_what_it_is_lent_and_no_disk(tmp_path, names):
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "t"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n')
    (tmp_path / "build.rs").write_text(BUILD.replace("WITHOUT_NAMES", names))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text("pub fn f(data: &[u8]) -> usize { data.len() }\n")
    ran = Disk(tmp_path, "src/lib.rs:f", "--duration", "2s", "--build-max", "150M")
    assert ran.peak < 151 * MB, ran.peak >> 20
    if names == "false":
        assert ran.code == 4 and "it filled the 150 MB that a build may write; --build-max gives more" in ran.problems(0), ran.said


# ---- its end ----


def test_a_run_that_is_killed_leaves_no_mount_and_nothing_that_the_next_one_does_not_remove(tmp_path):
    # a call makes few files, so that calls are counted soon on a busy machine
    (tmp_path / "bad.c").write_text(HOSTILE.replace("BODY", WAYS["files without a name"] + " if (made > 16) break;"))
    mounts = set(open("/proc/self/mountinfo"))
    with subprocess.Popen([HOTCELL, "fuzz", "function", "bad.c:f", "--duration", "60s", "--corpus-max", "4G", "--no-coverage"], cwd=tmp_path,
                          env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: any(json.loads(each.read_text())["execs"] for each in (tmp_path / ".hotcell").glob("fuzz/*/status.json")), 120)
        process.kill()
    assert set(open("/proc/self/mountinfo")) == mounts
    taken = sum(each.lstat().st_blocks * 512 for each in tmp_path.rglob("*"))
    assert taken < BUILT, taken >> 20
    (tmp_path / "bad.c").write_text("int f(const char *data) { return 0; }")
    ran = hotcell("fuzz", "function", "bad.c:f", "--max-execs", "1000", "--quiet", "--no-coverage", cwd=tmp_path, timeout=100)
    assert ran.code == 0, ran
    assert runs(tmp_path) == []


def test_a_disk_that_others_fill_ends_the_run_with_a_sentence(tmp_path):
    (tmp_path / "t.c").write_text("int f(const char *data) { return 0; }")
    fill = small_disk(tmp_path / "state", "200m")

    def prepare():
        fill()
        (tmp_path / "state" / "s").mkdir(mode=0o700)
        with open(tmp_path / "state" / "others", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 194 * MB)

    (tmp_path / "state").mkdir()
    ran = hotcell("fuzz", "function", "t.c:f", "--duration", "60s", "--state", tmp_path / "state" / "s", "--json", "--quiet", "--no-coverage",
                  cwd=tmp_path, timeout=100, preexec_fn=prepare)
    assert ran.code == 4 and any("the disk of the state folder is nearly full" in gap for gap in json.loads(ran.out)["limitations"]), ran


def test_seeds_that_do_not_fit_are_told_with_the_option_that_gives_more(tmp_path):
    (tmp_path / "t.c").write_text("int f(const char *data) { return 0; }")
    (tmp_path / "seeds").mkdir()
    for number in range(20):
        (tmp_path / "seeds" / str(number)).write_bytes(bytes([number]) * MB)
    words = ("fuzz", "function", "t.c:f", "--max-execs", "1000", "--quiet", "--no-coverage", "--seed-corpus", "seeds")
    ran = hotcell(*words, "--corpus-max", "16M", cwd=tmp_path, timeout=100)
    assert ran.code == 4 and b"--seed-corpus is larger than --corpus-max" in ran.out + ran.err, ran
    ran = hotcell(*words, cwd=tmp_path, timeout=100)
    assert ran.code == 0, ran


@pytest.mark.parametrize("option", ("--corpus-max", "--build-max"))
def test_a_size_that_is_too_small_is_refused(tmp_path, option):
    (tmp_path / "t.c").write_text("int f(const char *data) { return 0; }")
    ran = hotcell("fuzz", "function", "t.c:f", option, "1M", cwd=tmp_path)
    assert ran.code == 2 and f"{option}: less than 16 MB is too little".encode() in ran.err, ran

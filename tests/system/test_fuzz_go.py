"""Go functions and fuzz tests: planted faults are found by libFuzzer and by Go's own engine, done again and kept; what ends the
process is a finding, too; what cannot be fuzzed is said; what a build keeps is nothing that fuzzed code can write."""

import base64
import json
import shutil

import pytest

from fuzzing import core_shows
from harness import LONG, ROOT, hotcell, trust

CACHE = ROOT / "build-engines" / "go"  # what is compiled already, see tools/setup.sh
WATERFALL = ROOT / "examples" / "waterfall" / "go" / "waterfall.go"


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """One for all: compiling Go's own packages takes most of a build."""
    folder = tmp_path_factory.mktemp("state")
    shutil.copytree(CACHE, folder / "cache" / "go")
    return trust(folder)


def fuzz(state, folder, *words, timeout=170):
    cover = () if "--coverage" in words else ("--no-coverage",)
    ran = hotcell("fuzz", "function", *words, *cover, "--state", state, "--json", "--quiet", cwd=folder, timeout=timeout)
    return ran.code, json.loads(ran.out) if ran.out else ran.err


def messages(result):
    return sorted(each["message"] for each in result["findings"])


def test_the_waterfall_is_found_and_reproduced(state, tmp_path):
    shutil.copy(WATERFALL, tmp_path / "waterfall.go")
    code, result = fuzz(state, tmp_path, "waterfall.go:check", "--max-execs", "1000000", "--duration", "60s", "--seed", "7",
                        "--max-findings", "1", "--coverage", "--core")
    assert result["coverage"]["files"][0]["file"].endswith("waterfall.go") and result["coverage"]["files"][0]["lines_hit"] > 10
    (finding,) = result["findings"]
    assert code == 1 and finding["oracle"] == "exception" and finding["seen"] == finding["tried"] == 3
    assert finding["message"] == "panic: runtime error: index out of range [7] with length 7"
    assert finding["frames"] == ["panic: runtime error: index out of range", "hotcell.invalid/target.check (waterfall.go)"]
    assert base64.b64decode(finding["input"]) == b"hotcell"
    assert finding["file"] == "waterfall.go" and finding["line"] == 27
    frames = core_shows(state, finding)
    assert b"runtime.gopanic" in frames and b"target.check (" in frames and b"waterfall.go:27" in frames, frames
    again = hotcell("findings", "repro", "--trust", "--json", "--state", state, finding["id"], cwd=tmp_path, timeout=100)
    assert again.code == 1 and json.loads(again.out)["verdict"] == "reproduced", again.err


MODULE = {
    "go.mod": "module example.com/m\n\ngo 1.19\n",
    "internal/p/p.go": """package p

import (
	"errors"
	"os"
	"time"
)

type level int8
type point struct {
	X, Y   int16
	Name   string
	hidden chan int
}

func several(a string, n int8, b []byte) error {
	if n == 7 {
		panic("seven")
	}
	if len(a) == 2 {
		var m map[string]int
		m[a] = 1
	}
	if len(b) == 3 {
		return errors.New("declared: no finding")
	}
	if len(b) == 4 {
		panic(errors.New("expected thing"))
	}
	return nil
}

func typed(l level, p *point, list []string, more ...int) {
	if p != nil && p.hidden != nil {
		panic("what is not exported was set")
	}
	if l == 3 && p != nil && len(list) > 1 && len(more) > 0 {
		panic("all of them")
	}
}

func deep(data []byte) int { return deep(data) + 1 }

func ends(data []byte) {
	switch string(data) {
	case "d":
		deep(data)
	case "q":
		os.Exit(0)
	case "l":
		go func() { panic("in another goroutine") }()
		time.Sleep(time.Millisecond)
	}
}

func unmade(a int, x interface{ Foo() }) {}
""",
    "internal/p/p_test.go": """package p_test

import "testing"

func FuzzWord(f *testing.F) {
	f.Add("the magic worm", uint8(1))
	f.Fuzz(func(t *testing.T, word string, n uint8) {
		if len(word) > 40 {
			t.Skip("too long")
		}
		if word == "the magic word" {
			panic("found")
		}
	})
}

func FuzzTold(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 2 {
			t.Errorf("it has %d", len(data))
		}
	})
}
""",
    "internal/p/testdata/fuzz/FuzzWord/seed": "go test fuzz v1\nstring(\"the magic work\")\nbyte('\\x05')\n",
}


@pytest.fixture
def module(tmp_path):
    for name, text in MODULE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_it_goes_on_after_a_panic_and_arguments_are_made_by_their_types(state, module):
    """Results of type error and expected panics are no findings."""
    words = ["internal/p/p.go:several", "internal/p/p.go:typed", "--expect", "expected thing"]
    _, result = fuzz(state, module, *words, "--workers", "2", "--max-execs", "400000", "--duration", "60s")
    assert messages(result) == ["panic: all of them", "panic: assignment to entry in nil map", "panic: seven"]
    assert all(each["file"] == "internal/p/p.go" and each["line"] > 0 for each in result["findings"])


def test_what_ends_the_process_is_a_finding(state, module):
    (module / "seeds").mkdir()
    for each in "dql":
        (module / "seeds" / each).write_text(each)
    code, result = fuzz(state, module, "internal/p/p.go:ends", "--workers", "1", "--seed-corpus", "seeds", "--duration", "60s", "--max-findings", "3")
    assert code == 1 and sorted((each["oracle"], each["message"]) for each in result["findings"]) == [
        ("crash", "fatal error: stack overflow"),
        ("crash", "it ended the process"),
        ("exception", "panic: in another goroutine"),
    ]


def test_fuzz_tests_of_a_folder_are_found_with_their_seeds(state, module):
    _, result = fuzz(state, module, ".", "--workers", "2", "--max-execs", "100000", "--duration", "60s", "--max-findings", "2")
    assert [each["name"].rpartition("/")[2] for each in result["targets"]] == ["p_test.go:FuzzTold", "p_test.go:FuzzWord"]
    told, found = sorted(result["findings"], key=lambda each: each["subject"])
    assert told["message"] == "failed: it has 3" and told["line"] == 20
    assert found["message"] == "panic: found" and base64.b64decode(found["input"]).startswith(b"the magic word")
    assert found["file"] == "internal/p/p_test.go" and found["line"] == 12


def test_without_clang_it_is_done_with_the_engine_of_go(state, module):
    code, result = fuzz(state, module, "internal/p/p.go:several", "--forbid", "clang", "--max-execs", "20000", "--duration", "60s")
    assert code == 1 and "panic: seven" in messages(result)
    assert result["targets"][0]["execs"] > 100


REFUSED = [
    ("func f(a int, x interface{ Foo() }) {}", "its parameter 2, of type interface { Foo() }, cannot be made"),
    ("func f(done chan int) {}", "its parameter 1, done, of type 'chan int', cannot be made"),
    ("func f(a int) { return undeclared }", "undeclared"),
    ("import \"os\"\n\nfunc init() { os.Exit(0) }\nfunc f(a int) {}", "ended before its function was called, with exit code 0"),
    ("func init() { panic(\"at the beginning\") }\nfunc f(a int) {}", "panic: at the beginning"),
]


def test_what_cannot_be_fuzzed_is_told(state, tmp_path):
    wrong = REFUSED if LONG else REFUSED[:-1]
    for i, (text, _) in enumerate(wrong):
        (tmp_path / f"t{i}.go").write_text(f"package p\n\n{text}\n")
    words = [f"t{i}.go:f" for i in range(len(wrong))]
    code, result = fuzz(state, tmp_path, *words, "--duration", "20s", "--workers", "2")
    assert code == 4 and result["findings"] == []
    for target, (_, says) in zip(result["targets"], wrong):
        assert says in target["problems"][0], target


def test_methods_and_unknown_names_are_refused(tmp_path):
    (tmp_path / "t.go").write_text("package p\n\ntype T int\n\nfunc (t T) Method(a int) {}\nfunc Parse(a int) {}\n")
    for word, says in (("t.go:Method", b"no function 'Method'"), ("t.go:parse", b"did you mean 'Parse'"), ("t.go", b"holds no harness")):
        ran = hotcell("fuzz", "function", word, cwd=tmp_path)
        assert ran.code == 2 and says in ran.err, ran.err


def test_a_noisy_target_writes_neither_what_it_was_built_to_nor_what_builds_keep(state, tmp_path):
    (tmp_path / "t.go").write_text("""package p

import (
	"fmt"
	"os"
	"strings"
)

func f(a string) {
	fmt.Print(strings.Repeat("x", 1000000))
	fmt.Fprint(os.Stderr, strings.Repeat("#99999999999 NEW cov: 1 ft: 99 corp: 9/9b exec/s: 9 rss: 9Mb\\n", 100))
	for _, each := range []string{"/fuzz/harness", "/fuzz/go_target.sh", "/target/t.go", "/cache/x", "/libraries/x"} {
		if os.WriteFile(each, []byte("x"), 0755) == nil {
			panic("it can be written: " + each)
		}
	}
	if _, err := os.Stat("/cache"); err == nil {
		panic("what builds keep can be seen")
	}
}
""")
    code, result = fuzz(state, tmp_path, "t.go:f", "--duration", "3s")
    assert code in (0, 4) and result["findings"] == []


@pytest.mark.parametrize("module", ["module m\n\ngo 1.16\n", pytest.param("module m\n", marks=pytest.mark.long)])
def test_a_fuzz_test_of_a_module_of_an_older_go_is_built(state, tmp_path, module):
    (tmp_path / "go.mod").write_text(module)
    (tmp_path / "p_test.go").write_text("""package p

import "testing"

func FuzzF(f *testing.F) {
	f.Fuzz(func(t *testing.T, a string) {
		if len(a) == 3 {
			panic("three")
		}
	})
}
""")
    code, result = fuzz(state, tmp_path, "p_test.go:FuzzF", "--max-execs", "20000", "--duration", "60s", "--max-findings", "1")
    assert code == 1 and messages(result) == ["panic: three"], result


def test_a_file_alone_is_built_without_the_c_beside_it(state, tmp_path):
    (tmp_path / "t.go").write_text("package t\n\nfunc F(a string) bool { return len(a) > 1 && a[0] == 'a' }\n")
    (tmp_path / "t.c").write_text("int f(const char *text) { return *text; }\n")
    code, result = fuzz(state, tmp_path, "t.go:F", "--max-execs", "5000", "--duration", "60s")
    assert code == 0 and result["execs"] >= 5000, result


def test_a_function_of_go_is_called_with_what_fits_its_schema(state, tmp_path):
    """Errors that it returns, declared panics and what its types do not take reject; what is printed is nobody's answer."""
    (tmp_path / "t.go").write_text("""package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

type kind string

func init() { fmt.Println("noise") }
func main() { os.Exit(3) }

func area(ctx context.Context, k kind, sizes []uint8) (int, error) {
	fmt.Println("noise", ctx.Err())
	switch {
	case len(sizes) == 0:
		return 0, errors.New("index out of range")
	case len(sizes) == 4:
		panic("declared")
	case k == "square" && len(sizes) == 3:
		return int(sizes[len(sizes)]), nil
	}
	return len(sizes), nil
}

func unmade(n int, x interface{ Foo() }) {}
func text(data []byte) {
	if string(data) == "[true,false]" {
		panic("found")
	}
}
""")
    (tmp_path / "s.json").write_text(json.dumps({"type": "object", "required": ["k", "sizes"], "additionalProperties": False, "properties": {
        "k": {"enum": ["circle", "square"]}, "sizes": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 4}}}))
    (tmp_path / "b.json").write_text('{"type": "array", "items": {"type": "boolean"}, "maxItems": 2}')
    words = ["--max-execs", "200", "--seed", "5"]
    code, result = fuzz(state, tmp_path, "t.go:area", "--schema", "s.json", "--expect", "declared", *words)
    (finding,) = result["findings"]
    assert code == 1 and finding["message"] == "panic: runtime error: index out of range [3] with length 3"
    assert finding["frames"] == ["hotcell.invalid/target.area (t.go)"] and (finding["file"], finding["line"]) == ("t.go", 23)
    assert finding["kind"] == "function-go" and json.loads(finding["input"]) == {"k": "square", "sizes": [0, 0, 0]}
    assert result["tools"][0]["rejected"] > 0 and result["tools"][0]["ok"] > 0 and result["tools"][0]["ended"] == 0
    again = hotcell("findings", "repro", "--trust", "--json", "--state", state, finding["id"], cwd=tmp_path, timeout=100)
    assert again.code == 1 and json.loads(again.out)["verdict"] == "reproduced" and not json.loads(again.out)["changed"], again
    _, result = fuzz(state, tmp_path, "t.go:text", "--schema", "b.json", *words)
    assert messages(result) == ["panic: found"] and json.loads(result["findings"][0]["input"]) == [True, False]
    code, said = fuzz(state, tmp_path, "t.go:unmade", "--schema", "s.json", *words)
    assert code == 4 and b"its parameter 2, of type interface { Foo() }, cannot be made from a document" in said, said

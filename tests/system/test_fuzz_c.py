"""C and C++ of several files: what a target needs of its project is found, built and measured with it; what is thrown, asserted
or ended by a signal is told by its name."""

import base64
import json
import subprocess

import pytest

from harness import LONG, hotcell

LEX = {
    "Makefile": "",
    "include/lex/lex.h": "#include <stddef.h>\nint lex(const char *text, size_t len);\nextern int lex_calls;\n",
    "src/Makefile": "",
    "src/lex.c": '#include "lex/lex.h"\n#include "depth.h"\nint lex_calls;\n'
    "int lex(const char *text, size_t len) { lex_calls++; return depth_of(text, len); }\n",
    "src/parts/depth.h": "#include <stddef.h>\nint depth_of(const char *text, size_t len);\n",
    "src/parts/depth.c": '#include "depth.h"\n'
    "int\ndepth_of(const char *text, size_t len)\n{\n\tchar small[4];\n\tint at = 0;\n\tfor (size_t i = 0; i < len; i++)\n"
    "\t\tif (text[i] == '(')\n\t\t\tsmall[at++] = ')';\n\treturn at ? small[at - 1] : 0;\n}\n",
    # these define the same, and are not it
    "src/main.c": '#include "lex/lex.h"\nint main(int argc, char **argv) { return lex(argv[0], 1) + lex_calls; }\n',
    "tests/lex.c": '#include "lex/lex.h"\nint broken(int;\nint lex(const char *text, size_t len) { return 1; }\n',
    "fuzz/fuzz_lex.c": '#include "lex.h"\n#include <stdint.h>\n'
    "int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { lex((const char *)data, size); return 0; }\n",
}
SHAPES = {
    "a/shape.h": "#include <string>\nnamespace geo { class Shape { public: virtual ~Shape(); virtual int parse(const std::string &); };\n"
    "Shape *make(); }\n",
    "b/shape.cc": '#include "shape.h"\nextern "C" int count_c(const char *);\nnamespace geo {\n  Shape::~Shape() {}\n'
    "  int Shape::parse(const std::string &s) { return count_c(s.c_str()) > 1 ? *(volatile int *)0 : 0; }\n"
    "  Shape *make() { return new Shape; }\n}\n",
    "b/count.c": "int count_c(const char *class) { int n = 0; for (; *class; class++) n += *class == '!'; return n; }\n",
    "top.cc": '#include "shape.h"\nint parse(const std::string &s) { geo::Shape *x = geo::make(); int r = x->parse(s); delete x; return r; }\n',
}
THROWS = """#include <stdexcept>
#include <string>
namespace p { struct bad : std::runtime_error { using runtime_error::runtime_error; }; }
int parse(const std::string &s)
{
	if (s[0] == 'a')
		throw p::bad("it begins with a");
	if (s[0] == 'b')
		s.at(100);
	if (s[0] == 'c')
		throw 7;
	return 0;
}
"""


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def fuzz(folder, *words, duration="40s", execs="200000", timeout=170):
    ran = hotcell("fuzz", "function", *words, "--json", "--quiet", "--max-execs", execs, "--duration", duration, cwd=folder, timeout=timeout)
    return ran, json.loads(ran.out) if ran.out else None


def measured(result, folder):
    return {each["file"].removeprefix(f"{folder}/") for each in result["coverage"]["files"]}


@pytest.mark.parametrize("target", [pytest.param("fuzz/fuzz_lex.c", marks=pytest.mark.long), "src/lex.c:lex"])
def test_what_a_target_needs_of_its_project_is_built_with_it(tmp_path, target):
    write(tmp_path, LEX)
    ran, result = fuzz(tmp_path, target, "--coverage", "--max-findings", "1")
    assert ran.code == 1, ran
    (finding,) = result["findings"]
    assert finding["message"] == "undefined behaviour: index 4 out of bounds for type 'char[4]'"
    assert finding["frames"][1:] == ["depth_of (depth.c)", "lex (lex.c)"] and finding["file"].endswith("src/parts/depth.c")
    assert base64.b64decode(finding["input"]).count(b"(") == 5
    assert {"src/lex.c", "src/parts/depth.c"} <= measured(result, tmp_path) <= {"src/lex.c", "src/parts/depth.c", "fuzz/fuzz_lex.c"}
    again = hotcell("findings", "repro", "--json", finding["id"], cwd=tmp_path, timeout=100)
    assert again.code == 1 and json.loads(again.out)["verdict"] == "reproduced", again


@pytest.mark.parametrize("option", [
    pytest.param(("--no-sandbox",), id="no-sandbox"), pytest.param(("--fuzzer", "afl++"), id="afl", marks=pytest.mark.long)])
def test_so_it_is_in_other_ways_to_run_it(tmp_path, option):
    write(tmp_path, LEX)
    ran, result = fuzz(tmp_path, "fuzz/fuzz_lex.c", *option, "--no-coverage", "--max-findings", "1")
    assert ran.code == 1, ran
    assert [each["frames"][1] for each in result["findings"]] == ["depth_of (depth.c)"]


def test_a_function_of_cxx_may_need_files_of_c(tmp_path):
    write(tmp_path, SHAPES)
    ran, result = fuzz(tmp_path, "top.cc:parse", "--coverage", "--max-findings", "1")
    assert ran.code == 1, ran
    (finding,) = result["findings"]
    assert finding["message"] == "AddressSanitizer: SEGV" and base64.b64decode(finding["input"]) == b"!!"
    assert measured(result, tmp_path) == {"top.cc", "b/shape.cc", "b/count.c"}


def test_a_folder_of_harnesses_is_of_the_same_project(tmp_path):
    write(tmp_path, LEX)
    ran, result = fuzz(tmp_path, "fuzz", "--no-coverage", "--max-findings", "1")
    assert ran.code == 1 and [each["frames"][1] for each in result["findings"]] == ["depth_of (depth.c)"], ran


NEEDS = {
    "abi": ({"t.cc": "#include <string>\nstd::string hexed(int);\nint f(const std::string &s) { return hexed(s.size() + 1)[0]; }\n",
             "a.cc": '#include <string>\nstd::string hexed(int n) { return std::string(n, 120); }\n'}, "t.cc:f"),
    "operator": ({"t.cc": '#include "v.h"\nint f(int n) { return V{n} == V{77}; }\n', "v.h": "struct V { int n; };\nbool operator==(V, V);\n",
                  "v.cc": '#include "v.h"\nbool operator==(V a, V b) { return a.n == b.n; }\n'}, "t.cc:f"),
    "weak": ({"t.c": "int hook(int);\nint f(int n) { return hook(n); }\n",
              "h.c": "__attribute__((weak)) int hook(int n) { return n; }\n"}, "t.c:f"),
    "template": ({"t.cc": '#include "box.h"\nint f(int n) { return Box<int>().get(n); }\n',
                  "box.h": "template <class T> struct Box { T get(T) const; };\n",
                  "box.cc": '#include "box.h"\ntemplate <class T> T Box<T>::get(T n) const { return n; }\ntemplate struct Box<int>;\n'},
                 "t.cc:f"),
    "crowd": ({"t.c": "int helper(int);\nint f(int n) { return helper(n); }\n",
               "the_definition_of_it.c": "int helper(int n) { return n; }\n"}
              | {f"x{each}.c": f"int helper(int);\nint x{each}(int n) {{ return helper(n); }}\n" for each in range(40)}, "t.c:f"),
    "headers": ({"Makefile": "", "src/t.c": '#include "config.h"\nint f(int n) { return n == SPECIAL; }\n',
                 "win/config.h": "#error not here\n", "linux/config.h": "#define SPECIAL 77\n"}, "src/t.c:f"),
    "names": ({"t.c": "#define left 1\n#define at 2\nint data(int size) { return size + left + at; }\n"}, "t.c:data"),
    "default": ({"t.cc": "static int size(int bytes, int n = 0) { return bytes + n; }\n"}, "t.cc:size"),
}


@pytest.mark.parametrize("case", NEEDS if LONG else ["abi", "template", "crowd", "headers", "names"])
def test_whatever_is_needed_is_found(tmp_path, case):
    files, target = NEEDS[case]
    write(tmp_path, files)
    ran, result = fuzz(tmp_path, target, "--no-coverage", "--sanitizer", "none", execs="500")
    assert ran.code == 0 and result["targets"][0]["execs"] >= 500, ran


def test_flags_of_two_words_and_archives_keep_their_meaning(tmp_path):
    write(tmp_path, {"t.c": '#include "s.h"\nint more(int);\nint f(int n) { return SEEN + secret(n) + more(n); }\n', "inc/s.h": "int secret(int);\n",
                     "cfg/cfg.h": "#define SEEN 1\n", "more.c": "int more(int n) { return n; }\n", "secret.c_": "int secret(int n) { return n; }\n"})
    subprocess.run("cc -x c -c secret.c_ -o s.o && ar rc libs.a s.o", shell=True, cwd=tmp_path, check=True, timeout=60)
    ran, result = fuzz(tmp_path, "t.c:f", "--no-coverage", "--sanitizer", "none", "--cflag=-include", "--cflag=cfg/cfg.h", "--cflag=libs.a",
                       execs="500")
    assert ran.code == 0 and result["targets"][0]["execs"] >= 500, ran


def test_a_header_that_is_a_link_and_a_hidden_project_are_found(tmp_path):
    folder = tmp_path / ".hidden"
    write(folder, {"t.c": '#include "conf.h"\nint g(int);\nint f(int n) { return g(n) == CONF; }\n', "real.h_": "#define CONF 1\n",
                   "a/g.c": "int g(int n) { return n; }\n"})
    (folder / "a" / "conf.h").symlink_to("../real.h_")
    ran, result = fuzz(folder, "t.c:f", "--no-coverage", "--sanitizer", "none", "--no-sandbox", execs="500")
    assert ran.code == 0 and result["targets"][0]["execs"] >= 500, ran


@pytest.mark.parametrize("flag, code, why", [
    ("-o", 2, "--cflag=-o: what is built has a place already"),
    ("", 2, "--cflag needs a FLAG"),
    ("-I", 4, "argument to '-I' is missing"),
    ("-fnonsense", 4, "unknown argument: '-fnonsense'"),
    ("nothere.c", 4, "no such file or directory: 'nothere.c'"),
])
def test_wrong_flags_are_told(tmp_path, flag, code, why):
    write(tmp_path, {"t.c": "int f(int n) { return n; }\n"})
    ran, _ = fuzz(tmp_path, "t.c:f", "--no-coverage", f"--cflag={flag}", execs="500")
    assert ran.code == code and why in (ran.out + ran.err).decode(), ran


def test_what_is_declared_for_cxx_and_is_of_c_is_told(tmp_path):
    write(tmp_path, {"t.cc": "int keep(int);\nint f(int n) { return keep(n); }\n", "k.c": "int keep(int n) { return n; }\n"})
    ran, result = fuzz(tmp_path, "t.cc:f", "--no-coverage")
    assert ran.code == 4 and 'k.c has keep as a function of C: declare it with extern "C"' in result["targets"][0]["problems"][0], ran


@pytest.mark.parametrize("first", [
    pytest.param("n == 1 && d[0] == 10", id="newline", marks=pytest.mark.long), pytest.param("!n", id="nothing")])
def test_what_fails_with_the_first_input_is_fuzzed_on(tmp_path, first):
    write(tmp_path, {"t.c": "#include <stdlib.h>\nint f(const unsigned char *d, unsigned long n)\n"
                     f"{{\n\tif ({first})\n\t\tabort();\n\treturn d[0] == 'Q' ? d[n + 3] : 0;\n}}\n"})
    ran, result = fuzz(tmp_path, "t.c:f", "--no-coverage", "--max-findings", "2")
    assert sorted(each["message"] for each in result["findings"]) == ["AddressSanitizer: heap-buffer-overflow", "a signal ended it: SIGABRT"], ran
    assert not result["targets"][0]["problems"]


def test_what_different_functions_throw_is_told_apart(tmp_path):
    write(tmp_path, {"t.cc": "#include <stdexcept>\n" + "".join(
        f'__attribute__((noinline)) int {name}(int n) {{ if (n == {at}) throw std::runtime_error("a"); if (n == {at + 1}) throw std::runtime_error("b"); return n; }}\n'
        for name, at in (("one", 1), ("two", 5))) + "int f(unsigned char n) { return one(n) + two(n); }\n"})
    ran, result = fuzz(tmp_path, "t.cc:f", "--no-coverage", "--max-findings", "2")
    assert sorted(each["frames"][1] for each in result["findings"]) == ["one(int) (t.cc)", "two(int) (t.cc)"], ran


def test_a_function_may_be_called_with_documents_of_a_schema(tmp_path):
    write(tmp_path, LEX)
    (tmp_path / "schema.json").write_text('{"const": "((((("}')
    ran = hotcell("fuzz", "function", "src/lex.c:lex", "--schema", "schema.json", "--json", "--quiet", "--max-execs", "8", cwd=tmp_path,
                  timeout=170)
    assert ran.code == 1 and "index 4 out of bounds" in ran.out.decode(), ran


def test_what_no_file_defines_is_named_and_a_flag_may_bring_it(tmp_path):
    write(tmp_path, {"z.c": "#include <zlib.h>\n#ifndef WANTED\n#error WANTED is not there\n#endif\n"
                     "int un(const unsigned char *d, unsigned long n) { unsigned char o[9]; unsigned long l = 9; return uncompress(o, &l, d, n); }\n"})
    ran, result = fuzz(tmp_path, "z.c:un", "--no-coverage")
    assert ran.code == 4 and "WANTED is not there" in result["targets"][0]["problems"][0], ran
    ran, result = fuzz(tmp_path, "z.c:un", "--no-coverage", "--cflag=-DWANTED")
    assert ran.code == 4, ran
    assert "undefined reference to `uncompress'" in result["targets"][0]["problems"][0]
    assert "looked through /target: no other file that could be compiled has uncompress" in result["targets"][0]["problems"][0]
    ran, result = fuzz(tmp_path, "z.c:un", "--coverage", "--cflag=-DWANTED", "--cflag=-lz", execs="500")
    assert ran.code == 0 and result["targets"][0]["execs"] >= 500, ran
    assert measured(result, tmp_path) == {"z.c"}


def test_a_file_that_would_be_needed_and_cannot_be_compiled_is_shown(tmp_path):
    write(tmp_path, {"f.c": "int g(const char *);\nint f(const char *t) { return g(t); }\n",
                     "g.c": '#include "made_by_configure.h"\nint g(const char *t) { return 0; }\n'})
    ran, result = fuzz(tmp_path, "f.c:f", "--no-coverage")
    (problem,) = result["targets"][0]["problems"]
    assert ran.code == 4, ran
    assert "g.c was looked at for g, and cannot be compiled:" in problem and "'made_by_configure.h' file not found" in problem


def test_names_of_files_are_no_words_of_a_shell(tmp_path):
    write(tmp_path, {"f.c": "int g(const char *);\nint f(const char *t) { return g(t); }\n",
                     "a 'b' $(touch x);c.c": "int g(const char *t) { if (t[0] == 'x') __builtin_trap(); return 0; }\n"})
    ran, result = fuzz(tmp_path, "f.c:f", "--max-findings", "1")
    assert ran.code == 1 and len(result["findings"]) == 1, ran


def test_what_cxx_throws_is_told_by_its_type_and_may_be_expected(tmp_path):
    write(tmp_path, {"e.cc": THROWS})
    ran, result = fuzz(tmp_path, "e.cc:parse", "--no-coverage", "--max-findings", "3")
    assert ran.code == 1, ran
    assert sorted((each["oracle"], each["message"].split(" (")[0]) for each in result["findings"]) == [
        ("exception", "int"),
        ("exception", "p::bad: it begins with a"),
        ("exception", "std::out_of_range: basic_string::at: __n"),
    ]
    # a base class stands for all that are made from it
    ran, result = fuzz(tmp_path, "e.cc:parse", "--no-coverage", "--expect", "std::runtime_error", "--expect", "int", duration="6s")
    assert [each["frames"][0] for each in result["findings"]] == ["std::out_of_range"], ran
    ran, result = fuzz(tmp_path, "e.cc:parse", "--no-coverage", "--expect", "p::unknown")
    assert ran.code == 4 and "unknown" in result["targets"][0]["problems"][0], ran


def test_an_assertion_and_a_signal_are_told_by_their_names(tmp_path):
    write(tmp_path, {"s.c": "#include <assert.h>\n#include <signal.h>\n#include <stddef.h>\n#include <stdlib.h>\n"
                     "int f(int len, const unsigned char *bytes)\n{\n\tassert(!len || bytes[0] != 'a');\n"
                     "\tif (len && bytes[0] == 'b')\n\t\tabort();\n\tif (len && bytes[0] == 'c')\n\t\traise(SIGPIPE);\n\treturn 0;\n}\n"})
    ran, result = fuzz(tmp_path, "s.c:f", "--no-coverage", "--max-findings", "3")
    assert sorted((each["message"], each["cwe"]) for each in result["findings"]) == [
        ("a signal ended it: SIGABRT", 617), ("a signal ended it: SIGPIPE", 248), ("assertion failed: !len || bytes[0] != 'a'", 617)], ran


def test_a_length_may_stand_before_its_bytes(tmp_path):
    write(tmp_path, {"l.c": "int f(int len, const unsigned char *bytes) { return len > 1 && bytes[0] == 'a' ? bytes[len] : 0; }\n"})
    ran, result = fuzz(tmp_path, "l.c:f", "--no-coverage", "--max-findings", "1")
    assert [each["message"] for each in result["findings"]] == ["AddressSanitizer: heap-buffer-overflow"], ran


@pytest.mark.parametrize("name", ["fuzz.c", "fuzzer.cc", "parse-fuzz.c", "fuzz-parse.cpp"])
def test_harnesses_are_found_by_these_names_too(tmp_path, name):
    mark = 'extern "C" ' if not name.endswith(".c") else ""
    write(tmp_path, {name: f"{mark}int LLVMFuzzerTestOneInput(const unsigned char *data, unsigned long size) {{ return 0; }}\n"})
    ran = hotcell("fuzz", "function", ".", "--list", cwd=tmp_path)
    assert ran.code == 0 and name in ran.out.decode(), ran

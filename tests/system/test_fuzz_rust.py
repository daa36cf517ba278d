"""Rust functions and cargo-fuzz harnesses: planted faults are found, told apart and done again; packages are built in cells,
without a network; what cannot be is said."""

import base64
import json
import shutil

import pytest

from fuzzing import core_shows
from harness import LONG, ROOT, hotcell

WATERFALL = ROOT / "examples" / "waterfall" / "rust" / "waterfall.rs"


def fuzz(folder, *words, timeout=170):
    return hotcell("fuzz", "function", *words, "--json", "--quiet", "--no-coverage", "--seed", "7", cwd=folder, timeout=timeout)


def said(ran):
    return json.loads(ran.out)


def make(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_waterfall_is_found_and_reproduced(tmp_path):
    shutil.copy(WATERFALL, tmp_path / "waterfall.rs")
    ran = hotcell("fuzz", "function", "waterfall.rs:check", "--engine", "rust=/usr", "--duration", "60s", "--max-findings", "1", "--core", "--coverage" if LONG else "--no-coverage",
                  "--json", "--quiet", "--seed", "7", cwd=tmp_path, timeout=170)
    assert ran.code == 1, ran.err + ran.out
    result = said(ran)
    (finding,) = result["findings"]
    assert finding["oracle"] == "exception" and finding["seen"] == finding["tried"] == 3
    assert finding["message"].startswith("index out of bounds: the len is ")
    assert finding["frames"] == ["index out of bounds", "waterfall::check (waterfall.rs)"]
    assert (finding["file"], finding["line"]) == ("waterfall.rs", 25)
    assert base64.b64decode(finding["input"]).startswith(b"hotcell")
    frames = core_shows(tmp_path / ".hotcell", finding)
    assert b"waterfall::check" in frames and b"waterfall.rs:25" in frames, frames
    assert result["targets"][0]["execs"] > 1000
    again = hotcell("findings", "repro", "--trust", "--json", finding["id"], cwd=tmp_path, timeout=100)
    assert again.code == 1 and json.loads(again.out)["verdict"] == "reproduced", again.err
    if LONG:  # another build: by lines, with the llvm of the compiler
        coverage = result["coverage"]
        (file,) = coverage["files"]
        assert file["file"].endswith("waterfall.rs") and file["lines_hit"] > 10, ran
        assert coverage["functions_hit"] >= 1 and 0 < coverage["lines_hit"] <= coverage["lines"]


FAULTS = """
fn endless(n: u64) -> u64 { 1 + endless(unsafe { std::ptr::read_volatile(&n) }) }
fn private(data: &[u8]) -> Result<u64, String> {
    if data.len() != 1 {
        return Err("declared by its type".into());
    }
    let _ = std::panic::catch_unwind(|| panic!("caught"));
    match data[0] {
        1 => Ok(data[data.len()] as u64),
        2 => panic!("a word of its own: {}", data.len()),
        3 => Ok(endless(1)),
        4 => std::process::exit(0),
        5 => Ok({ let mut list = Vec::<u8>::with_capacity(1 << 45); list.push(data[0]); list.capacity() as u64 }),
        6 => panic!("expected, every time"),
        7 => Ok(data[0] as u64 - 8),
        8 => std::process::abort(),
        _ => Ok(0),
    }
}
"""


def test_it_goes_on_and_tells_panics_ends_and_overflows_apart(tmp_path):
    make(tmp_path, "t.rs", FAULTS)
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    for each in range(9):
        (seeds / str(each)).write_bytes(bytes([each]))
    result = said(fuzz(tmp_path, "t.rs:private", "--seed-corpus", seeds, "--expect", "expected, every", "--duration", "5s"))
    assert sorted((each["oracle"], each["message"]) for each in result["findings"]) == [
        ("crash", "a signal ended it: SIGABRT"),
        ("crash", "it ended the process"),
        ("crash", "stack-overflow"),
        ("exception", "attempt to subtract with overflow"),
        ("exception", "index out of bounds: the len is 1 but the index is 1"),
        ("exception", "panic: a word of its own: 1"),
        ("memory", "one input asked for too much memory"),
    ]
    frames = {each["message"]: each["frames"] for each in result["findings"]}
    assert frames["stack-overflow"][:2] == ["stack-overflow", "t::endless (t.rs)"]
    assert frames["it ended the process"] == ["it ended the process", "t::private (t.rs)"]
    assert all(each["tried"] == each["seen"] == 3 for each in result["findings"])


def package(folder):
    make(folder, "Cargo.toml", '[package]\nname = "my-crate"\nversion = "0.1.0"\nedition = "2018"\n[dependencies]\ntiny = "0.3"\n')
    make(folder, "Cargo.lock", 'version = 3\n[[package]]\nname = "tiny"\nversion = "0.3.1"\nchecksum = "00"\n')
    make(folder, "build.rs", """
fn main() {
    std::fs::write(std::env::var("OUT_DIR").unwrap() + "/n.rs", "pub const N: usize = 3;").unwrap();
    for each in ["/target/owned", "/usr/owned"] {
        assert!(std::fs::write(each, "x").is_err());
    }
    assert!(std::net::TcpStream::connect("1.1.1.1:53").is_err());
}
""")
    make(folder, "src/lib.rs", '#![forbid(unsafe_code)]\ninclude!(concat!(env!("OUT_DIR"), "/n.rs"));\nmod deep;\npub use deep::sum;\n')
    make(folder, "src/deep.rs", """
struct Table { rows: Vec<u8> }
impl Table { fn row(rows: Vec<u8>, at: Option<u16>) -> u8 { let table = Table { rows }; at.map_or(0, |at| table.rows[at as usize]) } }
pub fn sum(list: &[u8]) -> u8 { if list.len() > crate::N { tiny::add(list).wrapping_add(1) } else { 0 } }
""")
    make(folder, "vendor/tiny/Cargo.toml", '[package]\nname = "tiny"\nversion = "0.3.1"\n')
    make(folder, "vendor/tiny/src/lib.rs", "pub fn add(list: &[u8]) -> u8 { list.iter().sum() }\n")
    make(folder, "vendor/tiny/.cargo-checksum.json", '{"files":{}}')
    make(folder, "fuzz/Cargo.toml", """
[package]
name = "my-crate-fuzz"
version = "0.0.0"
edition = "2021"
[dependencies]
libfuzzer-sys = "0.4"
arbitrary = { version = "1", features = ["derive"] }
[dependencies.my-crate]
path = ".."
[[bin]]
name = "sum"
path = "fuzz_targets/first.rs"
[workspace]
""")
    make(folder, "fuzz/fuzz_targets/first.rs", """#![no_main]
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
#[derive(Debug, Arbitrary)]
enum Op { Push(u8), Clear, Both { a: u8, b: u8 } }
fuzz_target!(|ops: Vec<Op>| {
    let mut list = Vec::new();
    for op in ops {
        match op { Op::Push(n) => list.push(n), Op::Clear => list.clear(), Op::Both { a, b } => list.extend([a, b]) }
    }
    my_crate::sum(&list);
});
""")


def test_packages_and_their_harnesses_are_built_without_a_network(tmp_path):
    package(tmp_path)
    result = said(fuzz(tmp_path, ".", ".::deep::Table::row", "--workers", "2", "--duration", "4s"))
    assert [(each["name"].rpartition("/")[2], each["problems"]) for each in result["targets"]] == [("first.rs", []), ("deep.rs:Table::row", [])]
    found = {each["target"].rpartition("/")[2]: each for each in result["findings"]}
    assert sorted(found) == ["deep.rs:Table::row", "first.rs"]
    assert found["first.rs"]["message"] == "attempt to add with overflow"
    assert found["first.rs"]["frames"][1] == "my_crate::deep::sum (deep.rs)"
    assert found["first.rs"]["file"] == "src/deep.rs" and found["first.rs"]["line"] == 4
    assert found["deep.rs:Table::row"]["message"].startswith("index out of bounds")
    assert not (tmp_path / "owned").exists() and (tmp_path / "Cargo.lock").read_text().endswith('"00"\n')


@pytest.mark.parametrize("name, text, word, problem", [
    ("t.rs", "pub fn f(x: u8, it: &mut Thing) {}\npub struct Thing;\n", "t.rs:f", "its parameter 2, 'it: &mut Thing'"),
    ("t.rs", "pub fn f(x: &str) -> u8 { undeclared }\n", "t.rs:f", "cannot find value `undeclared`"),
    ("src/lib.rs", "pub fn f(x: &str) {}\n", ".::f", "the crate missing is not here, and a cell has no network"),
    ("t.rs", "extern \"C\" fn early() { std::process::exit(0) }\n#[used] #[link_section = \".init_array\"]\nstatic E: extern \"C\" fn() = early;\n"
     "pub fn f(x: &str) {}\n", "t.rs:f", "ended before it could be called"),
])
def test_what_cannot_be_fuzzed_is_said(tmp_path, name, text, word, problem):
    if name == "src/lib.rs":
        make(tmp_path, "Cargo.toml", '[package]\nname = "p"\nversion = "0.1.0"\n[dependencies]\nmissing = "1"\n')
    make(tmp_path, name, text)
    ran = fuzz(tmp_path, word, "--duration", "3s")
    assert ran.code == 4 and problem in said(ran)["targets"][0]["problems"][0], ran.out


def test_a_sanitizer_that_the_toolchain_lacks_is_named(tmp_path):
    make(tmp_path, "t.rs", "pub fn f(x: &str) {}\n")
    ran = fuzz(tmp_path, "t.rs:f", "--duration", "3s", "--sanitizer", "memory")
    assert ran.code == 4 and "there is no other" in said(ran)["targets"][0]["problems"][0]


SERVED = r"""
use std::collections::BTreeMap;
#[derive(arbitrary::Arbitrary, Debug)]
enum Shape { Dot, Box(i16, Option<f32>) }
#[derive(arbitrary::Arbitrary, Debug)]
struct Item { name: String, r#type: Option<char>, shape: Shape }
mod inner {
    use super::*;
    fn check(text: &str, sizes: &[u8], items: BTreeMap<String, Item>, more: Option<bool>) -> usize {
        println!("{{\"noise\": 1}}");
        assert!(more.is_none(), "declared: {:?}", more);
        let item = items.get("k").map(|item| (item.name.as_str(), item.r#type, &item.shape));
        if text == "é😀\"\\\n" && matches!(item, Some(("n", Some('x'), Shape::Box(-7, Some(half)))) if *half == 0.5) {
            return sizes[sizes.len()] as usize;
        }
        assert!(!text.contains('é') || items.is_empty(), "it is another document: {:?} {:?}", text, items);
        matches!(item, Some((_, None, Shape::Dot))) as usize
    }
}
"""


def test_a_function_is_called_with_what_fits_its_schema(tmp_path):
    make(tmp_path, "t.rs", SERVED)
    exact = {"text": 'é😀"\\\n', "sizes": [1, 255], "items": {"k": {"name": "n", "type": "x", "shape": {"Box": [-7, 0.5]}}}}
    others = [{**exact, "sizes": [256]}, {**exact, "sizes": "no list", "more": True}, [1], {**exact, "items": {"k": {"name": "n", "shape": "Round"}}},
              {"text": "", "sizes": [], "items": {"k": {"name": "n", "shape": "Dot", "other": 1}}, "more": None}]
    make(tmp_path, "s.json", json.dumps({"enum": [exact, *others]}))
    ran = hotcell("fuzz", "function", "t.rs:inner::check", "--schema", "s.json", "--expect", "declared", "--json", "--quiet", "--seed", "7", "--max-execs", "60",
                  cwd=tmp_path, timeout=170)
    assert ran.code == 1, ran
    result = said(ran)
    (finding,) = result["findings"]
    assert (finding["oracle"], finding["kind"], finding["subject"]) == ("exception", "function-rust", "inner::check"), finding
    assert finding["message"] == "panic: index out of bounds: the len is 2 but the index is 2" and finding["frames"] == ["t::inner::check (t.rs)"]
    assert json.loads(finding["input"]) == exact
    (tool,) = result["tools"]
    assert tool["ok"] > 0 and tool["rejected"] > 0 and tool["ended"] == tool["broken"] == 0, tool
    again = hotcell("findings", "repro", "--json", finding["id"], cwd=tmp_path, timeout=100)  # what is below this folder needs no trust
    assert again.code == 1 and json.loads(again.out)["verdict"] == "reproduced" and not json.loads(again.out)["changed"], again

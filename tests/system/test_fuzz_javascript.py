"""JavaScript functions and harnesses, fuzzed with Jazzer.js: what is found, what arguments are made, what targets do."""

import base64
import json
import shutil
import signal
import subprocess

import pytest

from harness import HOTCELL, LONG, ROOT, environment, eventually, hotcell

ENGINE = ROOT / "build-engines" / "javascript"  # see tools/setup.sh
WATERFALL = ROOT / "examples" / "waterfall"


def fuzz(folder, *words, engine=True, cover=False, timeout=170):
    with_engine = ["--engine", f"javascript={ENGINE}"] if engine else []
    return hotcell("fuzz", "function", *words, *with_engine, "--coverage" if cover else "--no-coverage", "--json", "--quiet", cwd=folder, timeout=timeout)


def said(ran):
    return json.loads(ran.out)


def messages(ran):
    return sorted(each["message"] for each in said(ran)["findings"])


def make(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return name


def test_the_waterfall_is_found_made_small_and_reproduced(tmp_path):
    shutil.copy(WATERFALL / "javascript" / "waterfall.js", tmp_path)
    ran = fuzz(tmp_path, "waterfall.js:check", "--max-execs", "30000", "--seed", "7", cover=True)
    assert ran.code == 1, ran.err
    result = said(ran)
    (finding,) = result["findings"]
    assert (finding["oracle"], finding["message"]) == ("exception", "Error: the whole word was found")
    assert finding["frames"] == ["Error", "check (waterfall.js)"]
    assert finding["file"] == "waterfall.js" and finding["line"] == 16
    assert finding["seen"] == finding["tried"] == 3
    assert base64.b64decode(finding["input"]) == b"hotcell"
    assert result["targets"][0]["execs"] > 1000 and result["targets"][0]["coverage"] > 0
    coverage = result["coverage"]
    assert (coverage["lines"], coverage["functions"], coverage["functions_hit"]) == (10, 1, 1) and coverage["lines_hit"] >= 8
    again = hotcell("findings", "repro", "--trust", "--json", finding["id"], cwd=tmp_path, timeout=100)
    assert again.code == 1 and json.loads(again.out)["verdict"] == "reproduced", again.err


LAZY = """
function* byGenerator(data) { yield 1; if (data[0] === "a") throw new Error("in a generator"); }
async function* byAsyncGenerator(data) { yield 1; if (data[0] === "a") throw new Error("in an async generator"); }
function* endless(data) { for (;;) yield data; }
function byArguments() { if (arguments[0][0] === "a") throw new Error("by arguments"); }
function nothing() { return 1; }
module.exports = { byGenerator, byAsyncGenerator, endless, byArguments, nothing };
"""


@pytest.mark.parametrize("name, what", [
    pytest.param("byGenerator", ["Error: in a generator"], marks=pytest.mark.long),
    ("byAsyncGenerator", ["Error: in an async generator"]),
    ("byArguments", ["Error: by arguments"]),
    ("endless", []),
])
def test_what_a_call_gives_is_run_to_its_end(tmp_path, name, what):
    make(tmp_path, "t.js", LAZY)
    ran = fuzz(tmp_path, f"t.js:{name}", "--max-execs", "3000" if what else "500", "--duration", "60s")
    assert messages(ran) == what and said(ran)["execs"] > 0, ran


SPACES = """
class One { static parse(s) { if (s[0] === "a") throw new Error("on one line"); } static two(s) {} }
class Many { static *gen(s) { yield 1; if (s[0] === "a") throw new Error("in a generator"); } static async *later(s) { yield 1; if (s[0] === "a")
	throw new Error("in an async generator"); }
	static arrow = (s) => { if (s[0] === "a") throw new Error("in a field"); };
	go(s) {}
}
class Made { constructor(n = 3) { if (typeof n !== "number") throw new Error("no number"); if (n > 7) throw new RangeError("by a constructor"); } }
const hidden = { inner: { f(/** @type {boolean} */ on) { if (typeof on !== "boolean") throw new Error("no boolean"); if (on) throw new Error("inside"); } } };
const space = {
	f(other) { return other; },
	deep: {
		/** @param {number} text */
		f(text) {
			if (typeof text !== "number") throw new Error("no number");
			if (text > 7) throw new RangeError("deep inside");
		},
	},
};
module.exports = { One, Many, Made, space };
"""


PLACES = [
    ("One.parse", ["Error: on one line"]),
    ("Many.arrow", ["Error: in a field"]),
    ("Many.gen", ["Error: in a generator"]),
    ("Many.later", ["Error: in an async generator"]),
    ("Made", ["RangeError: by a constructor"]),
    ("hidden.inner.f", ["Error: inside"]),
    ("space.deep.f", ["RangeError: deep inside"]),
]


@pytest.mark.parametrize("name, what", PLACES if LONG else [PLACES[0], PLACES[4], PLACES[6]])
def test_functions_in_classes_and_objects_are_found_with_their_own_types(tmp_path, name, what):
    make(tmp_path, "t.js", SPACES)
    ran = fuzz(tmp_path, f"t.js:{name}", "--max-execs", "3000", "--duration", "60s", "--seed", "7")
    assert messages(ran) == what, ran


@pytest.mark.parametrize("name, why", [
    ("Many.go", "t.js has no Many.go: go is a method of its objects: write a function that makes one and calls it, and name that"),
    ("space.deep.go", "t.js has no space.deep.go: it has f"),
    ("space.deep", "space.deep of t.js is no function, but of type object"),
])
def test_what_is_no_function_is_told_by_what_is_there(tmp_path, name, why):
    make(tmp_path, "t.js", SPACES)
    ran = fuzz(tmp_path, f"t.js:{name}", "--duration", "60s")
    assert ran.code == 4 and why in said(ran)["targets"][0]["problems"][0], ran


def test_names_from_another_module_are_found(tmp_path):
    make(tmp_path, "lib.js", "exports.parse = (text) => { if (text[0] === 'a') throw new Error('from elsewhere'); };\n")
    make(tmp_path, "t.js", "module.exports = require('./lib');\n")
    assert messages(fuzz(tmp_path, "t.js:parse", "--max-execs", "100000", "--max-findings", "1")) == ["Error: from elsewhere"]


@pytest.mark.long
def test_what_nests_too_deep_is_empty_and_of_its_type(tmp_path):
    make(tmp_path, "t.js", """
/** @param {Array<Array<Array<Array<Array<Array<Array<string>>>>>>>} deep */
function take(deep) {
	for (const a of deep) for (const b of a) for (const c of b) for (const d of c) for (const e of d) for (const f of e) for (const g of f) g.trim();
}
module.exports = { take };
""")
    ran = fuzz(tmp_path, "t.js:take", "--max-execs", "3000", "--duration", "60s")
    assert messages(ran) == [] and said(ran)["execs"] > 0, ran


def test_a_function_that_takes_nothing_is_not_fuzzed(tmp_path):
    make(tmp_path, "t.js", LAZY)
    ran = fuzz(tmp_path, "t.js:nothing", "--duration", "60s")
    assert ran.code == 4 and said(ran)["execs"] == 0, ran
    assert "nothing takes nothing, so there is nothing to fuzz" in said(ran)["targets"][0]["problems"][0]


def test_arguments_are_made_by_jsdoc_defaults_and_names(tmp_path):
    make(tmp_path, "t.mjs", """
import assert from "node:assert";
/**
 * @typedef {Object} Point
 * @property {number} x
 * @property {string} [name]
 */
/**
 * @param {Point} point
 * @param {Buffer} data
 * @param {Array<number>} numbers
 * @param {{a: string, b?: boolean}} shape
 * @param {("one"|"two"|null)} choice
 */
function take(point, data, numbers, shape, choice, flag = false, { depth = 3 } = {}) {
	assert(typeof point.x === "number" && ["string", "undefined"].includes(typeof point.name), "point");
	assert(Buffer.isBuffer(data) && Array.isArray(numbers) && numbers.every((each) => typeof each === "number"), "data");
	assert(typeof shape.a === "string" && ["boolean", "undefined"].includes(typeof shape.b), "shape");
	assert([null, "one", "two"].includes(choice) && typeof flag === "boolean" && typeof depth === "number", "choice");
	if (numbers.length > 2) throw new RangeError("all of them are right");
}
""")
    assert messages(fuzz(tmp_path, "t.mjs:take", "--max-execs", "5000")) == ["RangeError: all of them are right"]


def test_it_goes_on_and_what_is_expected_or_wrongly_guessed_is_no_finding(tmp_path):
    make(tmp_path, "t.js", """
class Declared extends TypeError {}
exports.parse = function (input) {
	if (input.length === 1) throw new Declared("declared");
	if (input.length === 2) throw new SyntaxError("two");
	if (input.length === 3) throw "text";
	if (input.length === 4) return undefined.x;
	if (input.length === 5) process.exit(0);
	if (input.length === 6) (function down() { down(); })();
	input.codePointAt(0);
};
""")
    ran = fuzz(tmp_path, "t.js:parse", "--expect", "Declared", "--max-execs", "5000")
    assert messages(ran) == [
        "ProcessExit: process.exit(0)", "RangeError: Maximum call stack size exceeded", "SyntaxError: two",
        "TypeError: Cannot read properties of undefined (reading 'x')", "string was thrown, which is no Error"]


@pytest.mark.long
def test_promises_are_awaited(tmp_path):
    make(tmp_path, "t.js", """
async function inner(text) {
	await new Promise((resolve) => setImmediate(resolve));
	if (text.startsWith("later")) throw new Error("in a promise");
}
exports.outer = (text) => inner(text);
""")
    assert messages(fuzz(tmp_path, "t.js:outer", "--max-execs", "8000", "--max-findings", "1")) == ["Error: in a promise"]


LATER = """
import { setTimeout as set } from "node:timers";
const fail = (text, where) => { if (text[0] === "a") throw new Error(`in ${where}`); };
export const timer = (text) => { setTimeout(() => fail(text, "a timer"), 5); };
export const imported = (text) => { set(() => fail(text, "a timer"), 5); };
export const tick = (text) => { process.nextTick(() => fail(text, "a tick")); };
export const rejection = (text) => { (async () => { await null; fail(text, "a promise"); })(); };
export const later = async (text) => { (async () => { await new Promise((resolve) => setTimeout(resolve, 20)); fail(text, "a promise"); })(); };
export const guarded = (text) => { clearTimeout(setTimeout(() => fail("a", "what was taken back"), 1)); return text.length; };
"""


LATE = [
    ("timer", ["Error: in a timer"]),
    ("rejection", ["Error: in a promise"]),
    ("guarded", []),
    ("tick", ["Error: in a tick"]),
    ("imported", ["Error: in a timer"]),
    ("later", ["Error: in a promise"]),
]


@pytest.mark.parametrize("name, what", LATE if LONG else LATE[1:4])
def test_what_is_thrown_after_the_call_is_a_finding_of_its_input(tmp_path, name, what):
    make(tmp_path, "t.mjs", LATER)
    ran = fuzz(tmp_path, f"t.mjs:{name}", "--max-execs", "2000", "--duration", "60s", "--seed", "7")
    assert messages(ran) == what and said(ran)["execs"] > 1000, ran
    assert all(base64.b64decode(each["input"])[:1] == b"a" for each in said(ran)["findings"])


def test_bug_detectors_of_the_engine_are_findings(tmp_path):
    make(tmp_path, "t.js", """
/** @param {string} text */
exports.run = (text) => {
	if (text.startsWith("p")) return Object.assign(Object.prototype, { [text]: 1 });
	try { new Function("// " + text); } catch (error) { /* all of them */ }
};
""")
    found = {each["oracle"]: each for each in said(fuzz(tmp_path, "t.js:run", "--max-execs", "8000", "--max-findings", "2"))["findings"]}
    assert found["command"]["message"].startswith("Remote Code Execution: using Function: '// ")
    assert found["command"]["severity"] == "critical"
    assert found["exception"]["message"].startswith("Prototype Pollution: Prototype of Object changed")


@pytest.mark.long
def test_harnesses_of_a_folder_are_found_and_run(tmp_path):
    make(tmp_path, "fuzz_one.js", """
const { FuzzedDataProvider } = require("@jazzer.js/core");
module.exports.fuzz = function (data) {
	if (new FuzzedDataProvider(data).consumeRemainingAsString().startsWith("ab")) throw new Error("one");
};
""")
    make(tmp_path, "two.fuzz.mjs", """
export function fuzz(data, done) {
	setImmediate(() => done(data.length === 3 ? new Error("two") : undefined));
}
""")
    make(tmp_path, "node_modules/other/fuzz_other.js", "exports.fuzz = () => {};\n")
    ran = fuzz(tmp_path, ".", "--max-execs", "6000", "--workers", "2", "--max-findings", "2")
    assert [each["name"] for each in said(ran)["targets"]] == ["fuzz_one.js", "two.fuzz.mjs"]
    assert messages(ran) == ["Error: one", "Error: two"]


@pytest.mark.long
def test_too_much_memory_is_a_finding(tmp_path):
    make(tmp_path, "t.js", "exports.f = (data) => { if (data.length === 3) Buffer.alloc(2 ** 30, 1); };\n")
    ran = fuzz(tmp_path, "t.js:f", "--max-execs", "300")
    assert [each["oracle"] for each in said(ran)["findings"]] == ["memory"]


def test_wrong_targets_and_a_missing_engine_are_named(tmp_path):
    make(tmp_path, "t.js", "function parse(text) {}\nmodule.exports = { parse };\n")
    ran = fuzz(tmp_path, "t.js:prase")
    assert ran.code == 2 and b"did you mean 'parse'" in ran.err
    make(tmp_path, "t.ts", "export function parse(text: string): void {}\n")
    ran = fuzz(tmp_path, "t.ts:parse")
    assert ran.code == 4 and "t.ts is TypeScript" in said(ran)["targets"][0]["problems"][0]
    ran = fuzz(tmp_path, "t.js:parse", engine=False)
    assert ran.code == 3
    assert "Jazzer.js is not there; to install it: npm install --prefix" in said(ran)["targets"][0]["problems"][0]


@pytest.mark.parametrize("body, problem", [
    ("process.exit(0);\n", "ended before it could be called"),
    ("throw { not: 'an error' };\n", "ended before it could be called"),
    ("throw new Error('at load');\n", "at load"),
])
def test_a_module_that_ends_when_it_is_loaded_is_told(tmp_path, body, problem):
    make(tmp_path, "t.js", body + "exports.f = (text) => {};\n")
    ran = fuzz(tmp_path, "t.js:f", "--duration", "10s")
    assert ran.code == 4 and problem in said(ran)["targets"][0]["problems"][0]


def test_a_target_that_changes_the_language_is_told_of_rightly(tmp_path):
    make(tmp_path, "t.js", """
Error = class {}; JSON = null; Promise = null; Buffer.prototype.toString = null;
process.stderr.write = () => { throw 1; };
Array.prototype.push = Array.prototype.map = Array.prototype[Symbol.iterator] = () => { throw 2; };
exports.f = function (text) {
	process.stdout.write("x".repeat(100000));
	if (text.charCodeAt(0) === 104) null.x;
};
""")
    ran = fuzz(tmp_path, "t.js:f", "--max-execs", "5000")
    assert messages(ran) == ["TypeError: Cannot read properties of null (reading 'x')"]
    assert said(ran)["findings"][0]["frames"][:2] == ["TypeError", "exports.f (t.js)"]


def take_harness(folder, target):
    """The harness as a run of hotcell leaves it for its cells, to be run outside of them."""
    make(folder, "slow.js", "exports.f = (data) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);\n")
    words = ["fuzz", "function", "slow.js:f", "--engine", f"javascript={ENGINE}", "--quiet", "--duration", "60s"]
    place = folder / "harness"
    with subprocess.Popen([HOTCELL, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()) as running:
        try:
            assert eventually(lambda: [each for each in folder.glob(".hotcell/fuzz/*/0/work/target.json") if each.stat().st_size], 20)
            (work,) = folder.glob(".hotcell/fuzz/*/0/work")
            shutil.copytree(work, place)
        finally:
            running.send_signal(signal.SIGINT)
    config = json.loads((place / "target.json").read_text())
    config.update(root=str(folder / "project"), engine=str(ENGINE), **target)
    (place / "target.json").write_text(json.dumps(config))
    return place / "harness_of_hotcell.cjs"


def test_the_harness_measures_and_serves(tmp_path):
    project = tmp_path / "project"
    shutil.copytree(WATERFALL / "javascript", project)
    harness = take_harness(tmp_path, {"file": "waterfall.js", "function": "check"})
    make(tmp_path, "corpus/a", "hot")
    make(tmp_path, "corpus/b", "hot-----")
    subprocess.run(["node", harness, "cover", tmp_path / "corpus"], check=True, timeout=60)
    lines = (harness.parent / "coverage.info").read_text().splitlines()
    assert f"SF:{project}/waterfall.js" in lines and "FNDA:2,check" in lines
    assert [each for each in lines if each.startswith("DA:1")] == [
        "DA:10,1", "DA:11,1", "DA:12,1", "DA:13,0", "DA:14,0", "DA:15,0", "DA:16,0", "DA:19,1"]
    ran = subprocess.run(["node", harness, "serve"], input=b'{"word": "hotx---"}\n"hot"\n"hotcell"\n1\n', capture_output=True, timeout=60)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert answers[:2] == [{"result": 3}, {"result": 0}] and ran.returncode == 0
    assert answers[2]["exception"] == "Error: the whole word was found"
    assert answers[2]["traceback"].startswith("Error: the whole word was found\n    at check (")
    assert answers[3]["result"] == 0


def test_a_function_is_called_with_what_fits_its_schema(tmp_path):
    make(tmp_path, "s.json", json.dumps({"type": "object", "required": ["kind", "sizes"], "additionalProperties": False, "properties": {
        "kind": {"enum": ["circle", "square"]}, "sizes": {"type": "array", "items": {"type": "integer"}, "maxItems": 4}}}))
    make(tmp_path, "t.js", """
exports.area = async (kind, sizes) => {
	console.log("noise");
	if (!sizes.length) throw new RangeError("declared");
	if (kind === "square" && sizes.length === 3) return sizes.none.x;
};
""")
    ran = fuzz(tmp_path, "t.js:area", "--schema", "s.json", "--expect", "RangeError", "--max-execs", "200", "--seed", "5")
    (finding,) = said(ran)["findings"]
    assert finding["message"].startswith("TypeError: Cannot read properties of undefined") and finding["frames"] == ["exports.area (t.js)"]
    assert (finding["file"], finding["line"]) == ("t.js", 5)
    assert json.loads(finding["input"]) == {"kind": "square", "sizes": [0, 0, 0]}
    assert said(ran)["tools"][0]["rejected"] > 0 and said(ran)["tools"][0]["ok"] > 0

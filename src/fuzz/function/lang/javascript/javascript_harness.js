/* Calls one JavaScript function with values made from bytes, for Jazzer.js. Runs inside a cell.
 *
 *	node harness build                   makes the engine's library load on this machine
 *	node harness fuzz FLAG...            as an engine: libFuzzer's flags and folders
 *	node harness replay FILE...          exits with 77 where one does what it must not; of several, each is named first
 *	node harness minimise FILE OUT SECONDS
 *	node harness cover FOLDER            the inputs of a folder; leaves coverage.info
 *	node harness serve                   a JSON document a line, answered by what the function returned
 *
 * It goes on after an error: each new one, told apart by its name and the innermost frames of the target's code, is left in
 * crashes/ as NAME.txt (the stack), then NAME.input. What the target does to this process (it may change all of it) is judged
 * outside: an input counts when it does the same in a fresh cell. So that a target that changes the language's own objects is
 * told of rightly all the same, what is needed later is taken before it is loaded. */
"use strict";

const { createHash } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { syncBuiltinESMExports } = require("node:module");
const timers = require("node:timers");
const { types } = require("node:util");
const { spawnSync } = require("node:child_process");
const engines = require("./harness_of_hotcell_engine.cjs");
const { argumentsOf, put, wordsOf } = require("./harness_of_hotcell_values.cjs");

const CONFIG = JSON.parse(fs.readFileSync(path.join(__dirname, "target.json"), "utf8"));
const EXIT_FOUND = 77;
const EXIT_EXPECTED = CONFIG.expect.includes("ProcessExit");
const TEXT_MAX = 65536;
const ANSWER_MAX = 3500;
const CRASHES_MAX = 1000;
const KEY_FRAMES = 3;
const QUICK_MAX = 10000;
const DRAIN_MAX = 1000;
const STRAYS_MAX = 100;
const WAIT_MS = 500;
const OVERFLOW = "Maximum call stack size exceeded";
const MARK = "=== Uncaught JavaScript exception: ===";
const DETECTED = "=== Jazzer.js bug detector: ===";

const { openSync, writeSync, closeSync, linkSync, unlinkSync, readFileSync, writeFileSync, readdirSync, renameSync } = fs;
const { isNativeError, isPromise, isGeneratorObject } = types;
const { apply, ownKeys, getOwnPropertyDescriptor, getPrototypeOf, defineProperty, deleteProperty } = Reflect;
const { is } = Object;
const { next: nextOf } = getPrototypeOf(function* () {}).prototype;
const { next: nextOfAsync } = getPrototypeOf(async function* () {}).prototype;
const { isPrototypeOf } = Object.prototype;
const ASYNC_ITEMS = getPrototypeOf(async function* () {}).prototype;
const [ErrorOf, TypeErrorOf, MapOf, PromiseOf, now, pid] = [Error, TypeError, Map, Promise, Date.now, process.pid];
const [setNow, setLater] = [setImmediate, setTimeout];
const { _tickCallback: runTicks, getActiveResourcesInfo: activeNow } = process;
const { get: mapGet, has: mapHas, set: mapSet } = MapOf.prototype;
const reallyExit = process.reallyExit.bind(process);
const processExit = process.exit;
ErrorOf.stackTraceLimit = 50;

/* ---- the end of the process, as a target sees it ---- */

class ProcessExit extends ErrorOf {}
let calling = false;
let exited = null; /* it was wished for; a target that catches everything cannot take it back */

process.exit = function exit(code) {
	if (!calling) return apply(processExit, process, [code]);
	exited = new ProcessExit(`process.exit(${code === undefined ? "" : Number(code)})`);
	ErrorOf.captureStackTrace(exited, exit);
	throw exited;
};

/* ---- what a call leaves for later ---- */

let running = null; /* the input whose code runs, or ran last; null: none yet */
let current = null; /* that of the last call */
let leaves = false; /* it set a timer */
let strayed = null; /* told of errors that nobody waited for, with their inputs */

/* What it throws, or rejects, is of the input that left it. */
function left(fn, raw) {
	return function () {
		if (running !== raw) {
			running = raw;
			setNow(() => (running = current));
		}
		try {
			return apply(fn, this, arguments);
		} catch (error) {
			strayed(error, raw); /* thrown on from a tick, it would leave Node's own books wrong */
		}
	};
}

function watch(owner, name, waits) {
	const original = owner[name];
	const set = function (fn) {
		if (running !== null && typeof fn === "function") {
			leaves = leaves || waits;
			arguments[0] = left(fn, running);
		}
		return apply(original, this, arguments);
	};
	Object.defineProperties(set, Object.getOwnPropertyDescriptors(original));
	owner[name] = set;
	if (name in globalThis) globalThis[name] = set;
}

for (const name of ["setTimeout", "setInterval", "setImmediate"]) watch(timers, name, true);
watch(process, "nextTick", !runTicks);
watch(globalThis, "queueMicrotask", !runTicks);
syncBuiltinESMExports();

function isQuiet() {
	const active = activeNow ? apply(activeNow, process, []) : [];
	for (let i = 0; i < active.length; i++) if (active[i] === "Timeout" || active[i] === "Immediate") return false;
	return true;
}

/* ---- the prototypes that everything has ---- */

const SHARED = [Object, Array, String, Number, Boolean, Function].map((each) => each.prototype);

/* What the target made of them when it was loaded is how they are; what an input makes of them is undone. */
class Prototypes {
	constructor() {
		this.known = {};
		this.keys = {};
		for (let i = 0; i < SHARED.length; i++) {
			this.known[i] = new MapOf();
			this.keys[i] = ownKeys(SHARED[i]);
			for (let k = 0; k < this.keys[i].length; k++)
				apply(mapSet, this.known[i], [this.keys[i][k], getOwnPropertyDescriptor(SHARED[i], this.keys[i][k])]);
		}
	}
	restore() {
		let changed = false;
		for (let i = 0; i < SHARED.length; i++) {
			const keys = ownKeys(SHARED[i]);
			for (let k = 0; k < keys.length; k++) {
				if (apply(mapGet, this.known[i], [keys[k]])) continue;
				changed = true;
				deleteProperty(SHARED[i], keys[k]);
			}
			for (let k = 0; k < this.keys[i].length; k++) {
				const was = apply(mapGet, this.known[i], [this.keys[i][k]]);
				const other = getOwnPropertyDescriptor(SHARED[i], this.keys[i][k]);
				if (other && is(other.value, was.value) && other.get === was.get && other.set === was.set) continue;
				changed = true;
				defineProperty(SHARED[i], this.keys[i][k], was);
			}
		}
		return changed;
	}
}

/* ---- what is wrong ---- */

function isExpected(error) {
	for (let at = error, depth = 0; at !== null && typeof at === "object" && depth < 20; at = getPrototypeOf(at), depth++) {
		const maker = getOwnPropertyDescriptor(at, "constructor");
		const own = getOwnPropertyDescriptor(at, "name");
		const code = getOwnPropertyDescriptor(at, "code");
		for (let i = 0; i < CONFIG.expect.length; i++) {
			const name = CONFIG.expect[i];
			if (maker && maker.value && maker.value.name === name) return true;
			if ((own && own.value === name) || (code && code.value === name)) return true;
		}
	}
	return false;
}

function framesOf(stack) {
	const lines = typeof stack === "string" ? stack.split("\n").filter((line) => /^\s+at /.test(line)) : [];
	const own = lines.findIndex((line) => line.includes("harness_of_hotcell"));
	return own < 0 ? lines : lines.slice(0, own);
}

/* Where it was when the stack ended is chance; what went round and round is not. */
function roundOf(frames) {
	const twice = [...new Set(frames.filter((line, at) => frames.indexOf(line) !== at))].sort();
	return twice.length ? twice : frames;
}

function nameOf(error) {
	const name = typeof error.name === "string" && error.name ? error.name : "Error";
	const made = error.constructor && typeof error.constructor.name === "string" ? error.constructor.name : "";
	return name === "Error" && made ? made : name;
}

/* Where an error was made, without what it costs to tell so in the words of the target's own text; "" if that is known no more. */
function quickOf(error) {
	const tell = ErrorOf.prepareStackTrace;
	let sites = null;
	ErrorOf.prepareStackTrace = (which, list) => (sites = list);
	try {
		void error.stack; /* it is made when it is asked for first */
	} finally {
		ErrorOf.prepareStackTrace = tell;
	}
	const whole = () => {
		try {
			return sites === null ? error.stack : tell(error, sites);
		} catch { /* there is nobody to tell, or the target broke it */
			let stack = "";
			for (let i = 0; i < sites.length; i++) stack += `\n    at ${sites[i]}`;
			return stack;
		}
	};
	if (sites === null || error.message === OVERFLOW) return { quick: "", whole };
	let quick = nameOf(error);
	for (let i = 0; i < sites.length && i < KEY_FRAMES; i++)
		quick += ` ${sites[i].getFunctionName()} ${sites[i].getScriptNameOrSourceURL()} ${sites[i].getLineNumber()}`;
	return { quick, whole };
}

/* A problem: its kind, its frames, and all that is told of it. */
function problemOf(error, stack) {
	if (!isNativeError(error) && !(error instanceof ErrorOf)) {
		const kind = error === null ? "null" : typeof error;
		let value = "";
		try {
			value = typeof error === "object" ? JSON.stringify(error) : String(error);
		} catch {
			value = "that cannot be shown";
		}
		return { kind, frames: [], text: `${MARK}\n${kind} was thrown, which is no Error\nvalue: ${value}\n` };
	}
	const message = String(error.message);
	const kind = message === "Array buffer allocation failed" ? "MemoryError" : nameOf(error);
	const lines = framesOf(stack === undefined ? error.stack : stack);
	const frames = kind === "RangeError" && message === OVERFLOW ? roundOf(lines) : lines;
	return { kind, frames, text: `${MARK}\n${kind}${message ? ": " : ""}${message}\n${frames.join("\n")}\n` };
}

function problemOfFinding(finding) {
	const lines = String(finding.message).split("\n");
	const frames = framesOf(finding.stack).filter((line) => !line.includes("/@jazzer.js/"));
	const head = lines.map((line) => line.trim().replace(/:$/, "")).filter(Boolean).join(": ");
	return { kind: lines[0], frames, text: `${DETECTED}\n${head}\n${frames.join("\n")}\n` };
}

/* Whatever it is, and whatever the target did to what tells it: something is told. */
function safely(tell, what, stack) {
	try {
		return tell(what, stack);
	} catch {
		return { kind: "Error", frames: [], text: `${MARK}\nError: what it threw cannot be told\n` };
	}
}

function keyOf(problem) {
	try {
		const own = problem.frames.filter((line) => line.includes(CONFIG.root + "/"));
		const named = (own.length ? own : problem.frames).slice(0, KEY_FRAMES).map((line) => line.trim().replace(/:\d+:\d+\)?$/, ""));
		return createHash("sha1").update(JSON.stringify([problem.kind, named])).digest("hex").slice(0, 16);
	} catch {
		return "0000000000000000";
	}
}

function bytesOf(problem) {
	const whole = Buffer.from(problem.text, "utf8");
	if (whole.length <= TEXT_MAX) return whole;
	return Buffer.concat([whole.subarray(0, TEXT_MAX / 2), Buffer.from("\n...\n"), whole.subarray(-TEXT_MAX / 2)]);
}

/* ---- a call, and what comes of it ---- */

class NeedsAsync extends ErrorOf {}

/* What a generator does, it does when it is asked for items. */
const isAsyncItems = (result) => isGeneratorObject(result) && apply(isPrototypeOf, ASYNC_ITEMS, [result]);

function drain(items) {
	const found = [];
	for (let step; found.length < DRAIN_MAX && !(step = apply(nextOf, items, [])).done; ) put(found, found.length, step.value);
	return found;
}

async function drainAsync(items) {
	const found = [];
	for (let step; found.length < DRAIN_MAX && !(step = await apply(nextOfAsync, items, [])).done; ) put(found, found.length, step.value);
	return found;
}

async function awaited(result) {
	const items = await result;
	return isAsyncItems(items) ? drainAsync(items) : isGeneratorObject(items) ? drain(items) : items;
}

/* A harness gets the bytes, and perhaps something to call when it is done. */
function harnessArguments(fn) {
	return { names: ["data"], make: (raw) => [raw], other: null, callback: fn.length === 2 };
}

/* What says nothing of its parameters: it is no text, or asks for what it was called with. */
const SILENT = /\barguments\b|\[native code\]/;

class Caller {
	constructor({ fn, owner }, args, engine) {
		this.fn = fn;
		this.owner = owner;
		this.args = CONFIG.harness ? harnessArguments(fn) : args || argumentsOf(String(fn), "");
		if (this.args.nothing && SILENT.test(String(fn))) this.args = argumentsOf("(text) => 0", "");
		this.engine = engine;
		this.prototypes = engine ? new Prototypes() : null;
		this.stray = null; /* an error that nobody waited for */
		this.others = []; /* the same, of calls before: with their inputs */
		this.waits = false; /* for timers */
		this.known = null;
	}
	isAsync() {
		return types.isAsyncFunction(this.fn) || Boolean(this.args.callback);
	}
	begin(raw) {
		exited = null;
		this.stray = null;
		leaves = false;
		running = current = raw;
		calling = true;
		if (this.engine) this.engine.callbacks.runBeforeEachCallbacks();
	}
	/* Null, or what is wrong. `thrown` is a list of what it threw. */
	end(thrown) {
		let finding;
		calling = false;
		try {
			if (this.engine) {
				this.engine.callbacks.runAfterEachCallbacks();
				finding = this.engine.takeFinding();
			}
		} catch {
			finding = undefined; /* what looks for it was taken away */
		}
		if (finding && (!/^Prototype Pollution\n *Prototype of/.test(finding.message) || this.prototypes.restore()))
			return safely(problemOfFinding, finding);
		if (exited && !EXIT_EXPECTED) return safely(problemOf, exited);
		if (this.stray) thrown = this.stray;
		if (!thrown || exited || (finding !== undefined && thrown[0] === finding)) return null;
		let expected = false;
		try {
			expected = isExpected(thrown[0]);
		} catch {
			expected = false;
		}
		return expected ? null : this.told(thrown[0]);
	}
	/* While fuzzing, what was told already is not told again. */
	told(error) {
		if (this.known === null || !isNativeError(error)) return safely(problemOf, error);
		try {
			const { quick, whole } = quickOf(error);
			if (quick && apply(mapHas, this.known, [quick])) return null;
			if (quick && this.known.size < QUICK_MAX) apply(mapSet, this.known, [quick, true]);
			return safely(problemOf, error, whole());
		} catch {
			return safely(problemOf, error);
		}
	}
	sync(raw, args) {
		let thrown = null;
		let result;
		this.begin(raw);
		try {
			result = apply(this.fn, this.owner, args);
			if (isGeneratorObject(result) && !isAsyncItems(result)) drain(result);
		} catch (error) {
			thrown = [error];
		}
		const promised = isPromise(result) || isAsyncItems(result);
		if (!promised && runTicks && strayed !== null) runTicks(); /* else what it left for then waits as long as the engine runs */
		if (promised || leaves) {
			calling = false;
			throw new NeedsAsync("it returned a promise, or set a timer");
		}
		return this.end(thrown);
	}
	async async(raw, args) {
		let thrown = null;
		this.begin(raw);
		try {
			if (this.args.callback)
				await new PromiseOf((resolve, reject) =>
					apply(this.fn, this.owner, [raw, (error) => (error ? reject(error) : resolve())]));
			else await awaited(apply(this.fn, this.owner, args));
			await new PromiseOf((resolve) => setNow(resolve)); /* what nobody waited for comes now */
			for (const end = now() + WAIT_MS; this.waits && leaves && !this.stray && !isQuiet() && now() < end; )
				await new PromiseOf((resolve) => setLater(resolve, 5));
		} catch (error) {
			thrown = [error];
		}
		return this.end(thrown);
	}
	made(make, raw) {
		try {
			return make(raw);
		} catch {
			return null; /* what these bytes stand for cannot be made: not the function's fault */
		}
	}
	/* A guess that was wrong is not the function's fault either: then the other one does no harm. */
	isMisfit(problem) {
		return problem !== null && this.args.other !== null && problem.kind === "TypeError";
	}
	call(raw) {
		const args = this.made(this.args.make, raw);
		const problem = args && this.sync(raw, args);
		const other = this.isMisfit(problem) ? this.made(this.args.other, raw) : null;
		return other && !this.sync(raw, other) ? null : problem;
	}
	async callAsync(raw) {
		const args = this.made(this.args.make, raw);
		const problem = args && (await this.async(raw, args));
		const other = this.isMisfit(problem) ? this.made(this.args.other, raw) : null;
		return other && !(await this.async(raw, other)) ? null : problem;
	}
	/* Where there is no engine between: as the function wants it. */
	async callAny(raw) {
		if (this.isAsync()) return this.callAsync(raw);
		try {
			return this.call(raw);
		} catch (error) {
			if (!(error instanceof NeedsAsync)) throw error;
			return this.callAsync(raw);
		}
	}
	takeStrays() {
		strayed = (error, raw) => {
			if (calling && raw === current) this.stray = [error];
			else if (this.others.length < STRAYS_MAX) put(this.others, this.others.length, { error, raw });
		};
		process.on("unhandledRejection", (error) => strayed(error, running));
		process.on("uncaughtException", (error) => strayed(error, running));
	}
	/* Of calls before this one. */
	takeOthers(take) {
		for (let i = 0; i < this.others.length; i++) {
			const { error, raw } = this.others[i];
			if (!isExpected(error)) take(this.told(error), raw);
		}
		this.others = [];
	}
}

async function openCaller(engineOptions) {
	const text = readFileSync(engines.fileOf(CONFIG), "utf8");
	engines.checkLanguage(CONFIG);
	if (engines.isModule(CONFIG)) engines.readyModule(CONFIG, text);
	const engine = engineOptions
		? await engines.openEngine(CONFIG, engineOptions.flags, { ...engineOptions, words: wordsOf(text) })
		: null;
	const [args, argsOfClass] = ["", ".constructor"].map((part) => argumentsOf(text, CONFIG.function + part));
	const target = await engines.loadTarget(CONFIG, text);
	const caller = new Caller(target, target.isClass ? argsOfClass : args, engine);
	if (engine && caller.args.nothing) throw new engines.Refused(`${CONFIG.function} takes nothing, so there is nothing to fuzz`);
	return { caller, engine };
}

/* ---- modes ---- */

/* Whole or not at all; whoever was first keeps the name. */
function leave(name, data) {
	const whole = `${__dirname}/crashes/${name}`;
	const part = `${whole}.${pid}.part`;
	const fd = openSync(part, "w");
	writeSync(fd, data);
	closeSync(fd);
	try {
		linkSync(part, whole);
	} catch {
		/* it is there */
	}
	unlinkSync(part);
}

/* The engine in one of its two ways; a function that turns out to return promises gets the other one, in another process:
 * the engine cannot be started twice in one. */
async function run(mode, flags, dry, take) {
	const wantsAsync = mode.endsWith("-async");
	const { caller, engine } = await openCaller({ flags, dry, sync: !wantsAsync });
	const other = () => {
		const again = spawnSync(process.execPath, [...process.execArgv, __filename, `${mode}-async`, ...flags], { stdio: "inherit" });
		return again.signal ? process.kill(pid, again.signal) : reallyExit(again.status);
	};
	if (!wantsAsync && caller.isAsync()) return other();
	caller.takeStrays();
	caller.waits = dry;
	if (!dry) caller.known = new MapOf();
	const one = wantsAsync
		? async (raw) => {
			take(await caller.callAsync(raw), raw);
			if (!dry && caller.others.length) caller.takeOthers(take);
		}
		: (raw) => {
			take(caller.call(raw), raw);
		};
	try { /* not from a promise: while one is done, no other is, and a call that is not waited for may leave some */
		await new PromiseOf((resolve, reject) => setNow(() => {
			try {
				resolve(engine.start(one));
			} catch (error) {
				reject(error);
			}
		}));
	} catch (error) {
		if (error instanceof NeedsAsync) return other();
		throw error;
	}
}

async function fuzz(mode, flags) {
	const seen = new MapOf();
	let count = 0;
	await run(mode, flags, false, (problem, raw) => {
		if (problem === null) return;
		const key = keyOf(problem);
		if (apply(mapHas, seen, [key]) || count >= CRASHES_MAX) return;
		apply(mapSet, seen, [key, true]);
		count++;
		try {
			leave(`${key}.txt`, bytesOf(problem));
			leave(`${key}.input`, raw);
		} catch {
			/* inputs are only merged: nothing is left */
		}
	});
	reallyExit(0);
}

/* One input; or several, each after a line that names it. The engine is between for its clock and its eye on memory. */
async function replay(mode, words) {
	const files = words.filter((word) => !word.startsWith("-"));
	const flags = CONFIG.memory ? [`-rss_limit_mb=${Math.floor(CONFIG.memory / 1048576)}`] : [];
	const names = files.map((file) => `\n== hotcell input ${path.basename(file)}\n`);
	let [found, at] = [false, 0];
	await run(mode, [...flags, `-timeout=${CONFIG.timeout}`, "-artifact_prefix=/tmp/", ...files], true, (problem) => {
		if (names.length > 1) writeSync(2, names[at++]);
		if (problem === null) return;
		found = true;
		writeSync(2, "\n");
		writeSync(2, bytesOf(problem));
	});
	reallyExit(found ? EXIT_FOUND : 0);
}

/* Parts are taken away, then bytes made plain, as long as the same error comes. */
async function minimise(file, out, seconds) {
	const { caller } = await openCaller({ flags: [], dry: true, sync: true });
	caller.takeStrays();
	caller.waits = true;
	const end = now() + seconds * 1000;
	let best = readFileSync(file);
	const wanted = await caller.callAny(best);
	if (wanted === null) reallyExit(1);
	const key = keyOf(wanted);
	async function keep(raw) {
		const problem = await caller.callAny(Buffer.from(raw));
		if (problem === null || keyOf(problem) !== key) return false;
		best = raw;
		writeFileSync(`${out}.part`, best);
		renameSync(`${out}.part`, out);
		return true;
	}
	for (let size = Math.max(best.length >> 1, 1); size && best.length && now() < end; ) {
		let shorter = false;
		for (let at = 0; at < best.length && now() < end; ) {
			if (await keep(Buffer.concat([best.subarray(0, at), best.subarray(at + size)]))) shorter = true;
			else at += size;
		}
		if (!shorter || size > 1) size = size > 1 ? size >> 1 : Number(shorter);
	}
	for (let at = 0; at < best.length; at++) {
		for (const plain of Buffer.from("0a A")) {
			if (best[at] === plain || now() >= end) break;
			const other = Buffer.from(best);
			other[at] = plain;
			if (await keep(other)) break;
		}
	}
	reallyExit(0);
}

async function cover(folder) {
	const { Coverage } = require("./harness_of_hotcell_cover.cjs");
	const coverage = new Coverage(CONFIG.root);
	const out = path.join(__dirname, "coverage.info");
	const { caller } = await openCaller(null);
	caller.takeStrays();
	const end = now() + (CONFIG.cover_seconds - 1) * 1000;
	let told = 0;
	for (const name of readdirSync(folder).sort()) {
		if (now() >= end) break;
		if (now() - told > 1000) { /* an input may end all of it */
			coverage.take();
			coverage.write(out);
			told = now();
		}
		try {
			await caller.callAny(readFileSync(path.join(folder, name)));
		} catch {
			/* no file */
		}
	}
	coverage.take();
	coverage.write(out);
	reallyExit(0);
}

/* An object whose keys are the parameters' names is spread over them; anything else is the only argument. */
function argumentsFor(given, names) {
	const keys = given !== null && typeof given === "object" && !Array.isArray(given) ? Object.keys(given) : [];
	const spread = keys.length > 0 && keys.every((key) => names.includes(key));
	return spread ? names.map((name) => given[name]) : [given];
}

async function answerOf(caller, line) {
	try {
		caller.begin(null);
		const result = await awaited(apply(caller.fn, caller.owner, argumentsFor(JSON.parse(line), caller.args.names)));
		return { result: isShort(result) ? result ?? null : typeof result };
	} catch (error) {
		if (isExpected(error)) return { rejected: `by ${nameOf(error)}, which is declared` };
		const [, head, ...rest] = safely(problemOf, error).text.slice(0, ANSWER_MAX).split("\n");
		return { exception: head, traceback: [head, ...rest].join("\n") };
	} finally {
		calling = false;
	}
}

function isShort(value) {
	try {
		return (JSON.stringify(value) ?? "").length <= ANSWER_MAX;
	} catch {
		return false; /* a circle, or a BigInt */
	}
}

async function serve() {
	const { caller } = await openCaller(null);
	process.stdout.write = () => true; /* what the target prints is for nobody */
	for await (const line of require("node:readline").createInterface({ input: process.stdin, crlfDelay: Infinity }))
		writeSync(1, `${JSON.stringify(await answerOf(caller, line))}\n`);
	reallyExit(0);
}

function build() {
	engines.checkLanguage(CONFIG);
	engines.prepare(CONFIG);
}

const [mode, ...words] = process.argv.slice(2);
const MODES = {
	build,
	fuzz: () => fuzz(mode, words),
	"fuzz-async": () => fuzz(mode, words),
	replay: () => replay(mode, words),
	"replay-async": () => replay(mode, words),
	minimise: () => minimise(words[0], words[1], Number(words[2])),
	cover: () => cover(words[0]),
	serve,
};

Promise.resolve()
	.then(MODES[mode])
	.catch((error) => {
		let text = "an error that cannot be shown";
		try {
			text = isNativeError(error) ? (mode === "build" || error instanceof engines.Refused ? error.message : error.stack) : `it threw ${String(error)}`;
		} catch {
			/* as it stands */
		}
		writeSync(2, `${text}\n`);
		reallyExit(1);
	});

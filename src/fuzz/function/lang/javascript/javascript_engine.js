/* Jazzer.js and the target's file, for the harness beside this one. Runs inside a cell.
 *
 * Jazzer.js 4.0.0 comes with a library that is built for a newer C library than many machines have. It needs next to nothing of
 * it: two names of functions that are there under older names, and one that is only a mark. Where the library does not load, the
 * build leaves a copy that asks for the older names, and the engine loads that. */
"use strict";

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const WORK = __dirname;
const PATCHED = path.join(WORK, "fuzzer.node");
const { readFileSync, existsSync } = fs;
const { construct } = Reflect;

/* ---- where it is ---- */

/* A module of the engine: in the folder that was named for it, else in the project's own. */
function resolveEngine(name, config) {
	const bases = [config.engine, path.dirname(path.join(config.root, config.file)), config.root].filter(Boolean);
	let last;
	for (const base of bases) {
		try {
			return Module.createRequire(path.join(base, "x.js")).resolve(name);
		} catch (error) {
			last = error;
		}
	}
	throw last;
}

/* Harnesses ask for it from where they lie. */
function shareEngine(config) {
	const original = Module._resolveFilename;
	Module._resolveFilename = function (name, ...rest) {
		try {
			return Reflect.apply(original, this, [name, ...rest]);
		} catch (error) {
			if (typeof name === "string" && name.startsWith("@jazzer.js/")) return resolveEngine(name, config);
			throw error;
		}
	};
}

/* ---- its library ---- */

const RENAMED = new Set(["__isoc23_strtol", "__isoc23_strtoul", "__isoc23_strtoll", "__isoc23_strtoull"]);
const PREFIX = "__isoc23_".length;
const UNNEEDED = "_ZSt21ios_base_library_initv";
const NEWER = /^(GLIBC_2\.(3[89]|[4-9]\d)|GLIBCXX_3\.4\.(3[1-9]|[4-9]\d))$/;
const TYPES = { symbols: 11, versions: 0x6fffffff, needs: 0x6ffffffe };

function sectionsOf(elf) {
	const table = Number(elf.readBigUInt64LE(0x28));
	const size = elf.readUInt16LE(0x3a);
	const all = [];
	for (let i = 0; i < elf.readUInt16LE(0x3c); i++) {
		const at = table + i * size;
		all.push({
			type: elf.readUInt32LE(at + 4),
			offset: Number(elf.readBigUInt64LE(at + 24)),
			size: Number(elf.readBigUInt64LE(at + 32)),
			link: elf.readUInt32LE(at + 40),
			count: elf.readUInt32LE(at + 44),
		});
	}
	return all;
}

function nameAt(elf, strings, at) {
	const from = strings.offset + at;
	return elf.toString("latin1", from, elf.indexOf(0, from));
}

/* Versions that are too new are no longer insisted on. Returns the number of the oldest of the C library. */
function weakenVersions(elf, needs, strings) {
	let oldest = 0;
	for (let at = needs.offset, i = 0; i < needs.count; i++, at += elf.readUInt32LE(at + 12)) {
		const isLibc = nameAt(elf, strings, elf.readUInt32LE(at + 4)) === "libc.so.6";
		for (let aux = at + elf.readUInt32LE(at + 8), k = 0; k < elf.readUInt16LE(at + 2); k++, aux += elf.readUInt32LE(aux + 12)) {
			const name = nameAt(elf, strings, elf.readUInt32LE(aux + 8));
			if (NEWER.test(name)) elf.writeUInt16LE(elf.readUInt16LE(aux + 4) | 2, aux + 4);
			if (isLibc && (name === "GLIBC_2.2.5" || name === "GLIBC_2.17")) oldest = elf.readUInt16LE(aux + 6);
		}
	}
	return oldest;
}

function patched(bytes) {
	const elf = Buffer.from(bytes);
	if (elf.toString("latin1", 0, 6) !== "\x7fELF\x02\x01") throw new Error("it is not a 64-bit ELF file");
	const sections = sectionsOf(elf);
	const one = (type) => sections.find((each) => each.type === type);
	const symbols = one(TYPES.symbols);
	const versions = one(TYPES.versions);
	const needs = one(TYPES.needs);
	const strings = sections[symbols.link];
	const oldest = weakenVersions(elf, needs, strings);
	for (let i = 0, at = symbols.offset; at < symbols.offset + symbols.size; i++, at += 24) {
		const name = nameAt(elf, strings, elf.readUInt32LE(at));
		if (elf.readUInt16LE(at + 6) !== 0) continue; /* it is in here */
		if (RENAMED.has(name)) {
			elf.writeUInt32LE(elf.readUInt32LE(at) + PREFIX, at); /* the end of the name is the older name */
			elf.writeUInt16LE(oldest, versions.offset + 2 * i);
		} else if (name === UNNEEDED) {
			elf[at + 4] = (elf[at + 4] & 15) | (2 << 4);
		}
	}
	return elf;
}

function loads(file) {
	try {
		process.dlopen({ exports: {} }, file);
		return null;
	} catch (error) {
		return error;
	}
}

/* The build: a copy that loads, where the library itself does not. */
function prepare(config) {
	const core = Module.createRequire(resolveEngine("@jazzer.js/core", config));
	const fuzzer = path.dirname(path.dirname(core.resolve("@jazzer.js/fuzzer")));
	const library = path.join(fuzzer, "prebuilds", `fuzzer-${process.platform}-${process.arch}.node`);
	const why = loads(library);
	if (!why) return;
	fs.writeFileSync(PATCHED, patched(readFileSync(library)), { mode: 0o755 });
	const still = loads(PATCHED);
	if (!still) return;
	throw new Error(`the library of Jazzer.js cannot be loaded on this machine: ${why.message}; ` +
		`and changed for an older one: ${still.message}`);
}

function usePatched() {
	const original = Module._extensions[".node"];
	if (!existsSync(PATCHED)) return;
	Module._extensions[".node"] = function (module, filename) {
		const own = filename.includes("/@jazzer.js/fuzzer/prebuilds/");
		return own ? process.dlopen(module, PATCHED) : original(module, filename);
	};
}

/* ---- starting it ---- */

const MERGE = "-merge=1"; /* Jazzer.js would do it by a program in /tmp, where a cell lets nothing run */

function flagNumber(flags, name, otherwise) {
	const found = flags.filter((each) => each.startsWith(`-${name}=`)).pop();
	return found ? Number(found.slice(name.length + 2)) : otherwise;
}

/* What only instruments takes two thirds of the time to start. An input that is tried again goes without: whoever asks for it
 * gets something that is nothing. Of the version that is known to do without, and while the engine itself is loaded. */
const INSTRUMENTS = /^(?:@babel\/|istanbul-|yargs$|source-map-support$|proper-lockfile$)/;
const nothing = new Proxy(function () {}, {
	get: (target, key) => (typeof key === "symbol" ? undefined : nothing),
	apply: () => nothing,
	construct: () => nothing,
});

function withoutInstruments(home) {
	const original = Module._load;
	const { version } = JSON.parse(readFileSync(path.join(path.dirname(home), "..", "package.json"), "utf8"));
	if (version === "4.0.0")
		Module._load = (name, ...rest) =>
			INSTRUMENTS.test(name) ? nothing : Reflect.apply(original, Module, [name, ...rest]);
	return () => (Module._load = original);
}

/* All that is needed of it, taken before the target can change anything. With dry, its bug detectors look, and nothing is
 * instrumented. */
async function openEngine(config, flags, { dry, sync, words }) {
	usePatched();
	shareEngine(config);
	const home = resolveEngine("@jazzer.js/core", config);
	const need = Module.createRequire(home); /* the very modules that it uses itself */
	const whole = dry ? withoutInstruments(home) : () => {};
	const core = need(home);
	const { getCallbacks } = need("./callback.js");
	const { clearFirstFinding } = need("./finding.js");
	const { addDictionary, convertDictionaryEntry } = need("./dictionary.js");
	const { buildFuzzerOption } = need("./options.js");
	const instrumenting = need("@jazzer.js/instrumentor");
	const { fuzzer } = need("@jazzer.js/fuzzer");
	const excludes = [WORK + "/", config.engine ? config.engine + "/" : "node_modules"];
	if (!config.file.includes("node_modules/")) excludes.push("node_modules");
	const options = new core.OptionsManager(core.OptionSource.DefaultCLIOptions).merge(
		{ includes: ["*"], excludes, dryRun: dry, sync, fuzzerOptions: flags.filter((each) => each !== MERGE),
			timeout: 1000 * flagNumber(flags, "timeout", 10) },
		core.OptionSource.CommandLineArguments);
	core.registerGlobals(options);
	const instrumentor = await core.initFuzzing(options);
	for (const word of words) addDictionary(convertDictionaryEntry(word));
	whole();
	if (isModule(config) && !dry) {
		instrumenting.registerEsmLoaderHooks(instrumentor);
		instrumentor.sendHooksToLoader();
	}
	const params = buildFuzzerOption(options);
	if (flags.includes(MERGE)) { /* libFuzzer starts itself again, by what it takes for its name, in a shell */
		params[0] = [process.execPath, ...process.execArgv, ...process.argv.slice(1, 3)].join(" ");
		params.push(MERGE);
	}
	const { startFuzzing, startFuzzingAsync } = fuzzer;
	const start = sync ? (one) => startFuzzing(one, params, () => {}) : (one) => startFuzzingAsync(one, params);
	return { callbacks: getCallbacks(), takeFinding: clearFirstFinding, start };
}

/* ---- the target ---- */

const TARGET = "hotcell_target"; /* what a function is called by that its module keeps to itself */

function fileOf(config) {
	return path.join(config.root, config.file);
}

function nearestType(file) {
	for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
		try {
			return JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")).type || "commonjs";
		} catch {
			if (folder === "/") return "";
		}
	}
}

const IMPORTS = /^import\s*[\w*{"'][^;]*?(?:from\s*)?["']/m;
const EXPORTS = /^export(?:\s+(?:default|async|function|const|let|var|class)\b|\s*[{*])/m;

function isModule(config) {
	const file = fileOf(config);
	if (/\.m[jt]s$/.test(file)) return true;
	if (/\.c[jt]s$/.test(file)) return false;
	if (nearestType(file) === "module") return true;
	const text = readFileSync(file, "utf8");
	return (IMPORTS.test(text) || EXPORTS.test(text)) && !/\bmodule\.exports\b/.test(text);
}

/* What is added to its text: a way to a function that nobody exports. */
function wayIn(config, text) {
	const name = config.function.split(".")[0];
	const before = "^(?:export\\s+)?(?:default\\s+)?(?:async\\s+)?(?:function\\s*\\*?|class|const|let|var)\\s+";
	const declared = new RegExp(`${before}${name.replace(/\$/g, "\\$&")}(?![\\w$])`, "m");
	return /^[\w$]+$/.test(name) && name !== "default" && declared.test(text) ? name : null;
}

/* Runs in the thread that loads modules: the target's file is one, whatever its package says, with a way in at its end. */
function loaderSource(url, tail, engine) {
	return `
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
const url = ${JSON.stringify(url)}, tail = ${JSON.stringify(tail)}, engine = ${JSON.stringify(engine)};
export async function resolve(name, context, next) {
	try {
		return await next(name, context);
	} catch (error) {
		if (!name.startsWith("@jazzer.js/") || !engine) throw error;
		return next(pathToFileURL(createRequire(engine + "/x.js").resolve(name)).href, context);
	}
}
export async function load(which, context, next) {
	if (which !== url) return next(which, context);
	const format = context.format === "commonjs" || !context.format ? "module" : context.format;
	const result = await next(which, { ...context, format });
	return { ...result, source: Buffer.from(result.source).toString("utf8") + tail };
}`;
}

/* Before openEngine: hooks that are registered later are asked first, and the engine's must see what ours made. */
function readyModule(config, text) {
	const name = wayIn(config, text);
	const tail = name ? `\nexport { ${name} as ${TARGET} };\n` : "";
	const source = loaderSource(pathToFileURL(fileOf(config)).href, tail, config.engine || "");
	if (!Module.register)
		throw new Error(`Node ${process.version} cannot load the ES module ${config.file} here: 20.6 or newer can`);
	Module.register("data:text/javascript," + encodeURIComponent(source));
}

function loadCommon(config, text) {
	const file = fileOf(config);
	const name = wayIn(config, text);
	const original = Module.prototype._compile;
	let inside;
	if (name) {
		globalThis[TARGET] = (value) => (inside = value);
		Module.prototype._compile = function (content, filename, ...rest) {
			const more = filename === file ? `\n;globalThis.${TARGET}(${name});` : "";
			return Reflect.apply(original, this, [content + more, filename, ...rest]);
		};
	}
	const exported = Module.createRequire(file)(file);
	Module.prototype._compile = original;
	delete globalThis[TARGET];
	return { exported, inside };
}

class Refused extends Error {}

/* What there is in place of a name that is not there. */
function insteadOf(value, part) {
	if (typeof value === "function" && value.prototype && typeof value.prototype[part] === "function")
		return `${part} is a method of its objects: write a function that makes one and calls it, and name that`;
	const own = value === undefined || value === null ? [] : Object.keys(value).filter((key) => key !== TARGET && typeof value[key] === "function");
	return own.length ? `it has ${own.slice(0, 8).join(", ")}${own.length > 8 ? ", ..." : ""}` : "it is neither exported nor declared at the top";
}

/* The function, and what it is called on. A class is called by what makes an object of it. */
async function loadTarget(config, text) {
	let found;
	if (isModule(config)) {
		const exported = await import(pathToFileURL(fileOf(config)).href);
		found = { exported, inside: exported[TARGET] };
	} else {
		found = loadCommon(config, text);
	}
	const { exported, inside } = found;
	const parts = config.function.split(".");
	let owner;
	let value = exported;
	for (let i = 0; i < parts.length; i++) {
		let next = value === undefined || value === null ? undefined : value[parts[i]];
		if (i === 0 && next === undefined && exported && exported.default) next = exported.default[parts[0]];
		if (i === 0 && next === undefined) next = inside;
		if (i === 0 && next === undefined && parts[0] === "default") next = exported;
		if (next === undefined)
			throw new Refused(`${config.file} has no ${parts.slice(0, i + 1).join(".")}: ${insteadOf(value, parts[i])}`);
		owner = i === 0 ? undefined : value;
		value = next;
	}
	if (typeof value !== "function") throw new Refused(`${config.function} of ${config.file} is no function, but of type ${typeof value}`);
	const isClass = /^class\b/.test(Function.prototype.toString.call(value));
	return { fn: isClass ? (...args) => construct(value, args) : value, owner, isClass };
}

function checkLanguage(config) {
	if (!/\.[mc]?ts$/.test(config.file) || process.features.typescript) return;
	throw new Error(`${config.file} is TypeScript, which this Node (${process.version}) does not run: ` +
		"compile it to JavaScript and name that file, or use Node 22.18 or newer");
}

module.exports = { Refused, prepare, openEngine, readyModule, loadTarget, isModule, checkLanguage, fileOf };

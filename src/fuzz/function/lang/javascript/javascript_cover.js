/* Which lines and functions of the target's files were reached, from V8's own counts, as lcov. Runs inside a cell, for the
 * harness beside this one. */
"use strict";

const inspector = require("node:inspector");
const { readFileSync, writeFileSync, renameSync } = require("node:fs");
const { fileURLToPath } = require("node:url");

const NO_CODE = /^\s*(?:\/\/.*|\/?\*.*|[{}()[\];,\s]*|(?:'|")use strict(?:'|");?|\}\s*else\s*\{)?$/;

class Coverage {
	constructor(root) {
		this.root = root + "/";
		this.files = new Map();
		this.session = new inspector.Session();
		this.session.connect();
		this.post("Profiler.enable");
		this.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
	}
	post(method, params) { /* of this very thread: it answers before it returns */
		let answer;
		this.session.post(method, params || {}, (error, result) => {
			if (error) throw error;
			answer = result;
		});
		return answer;
	}
	fileOf(url) {
		let file = url;
		try {
			file = url.startsWith("file://") ? fileURLToPath(url) : url;
		} catch {
			return null;
		}
		if (!file.startsWith(this.root) || file.includes("/node_modules/")) return null;
		if (!this.files.has(file)) {
			let text;
			try {
				text = readFileSync(file, "utf8");
			} catch {
				return null;
			}
			this.files.set(file, { lines: linesOf(text), functions: new Map() });
		}
		return this.files.get(file);
	}
	/* Counts since the last time are added to what was known. */
	take() {
		for (const script of this.post("Profiler.takePreciseCoverage").result) {
			const file = this.fileOf(script.url);
			if (file) add(file, script.functions);
		}
	}
	write(out) {
		const text = [...this.files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, file]) => lcov(name, file)).join("");
		writeFileSync(out + ".part", text);
		renameSync(out + ".part", out);
	}
}

function linesOf(text) {
	const lines = [];
	let at = 0;
	for (const line of text.split("\n")) {
		const lead = /^[\s})\];,]*(?:else\b\s*)?/.exec(line)[0].length; /* these end what was before */
		lines.push({ from: at + lead, code: !NO_CODE.test(line), count: 0 });
		at += line.length + 1;
	}
	return lines;
}

function lineAt(lines, offset) {
	let low = 0;
	let high = lines.length - 1;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (lines[middle].from <= offset) low = middle;
		else high = middle - 1;
	}
	return low;
}

/* A line is reached where its first word is; the innermost range counts. Ranges come with what holds them first. */
function add(file, functions) {
	const counts = file.lines.map(() => 0);
	const ranges = functions.flatMap((each) => each.ranges);
	ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
	for (const { startOffset, endOffset, count } of ranges) {
		for (let i = lineAt(file.lines, startOffset); i < file.lines.length && file.lines[i].from < endOffset; i++)
			if (file.lines[i].from >= startOffset) counts[i] = count;
	}
	file.lines.forEach((line, i) => (line.count += counts[i]));
	for (const { functionName, ranges: [whole] } of functions) {
		if (whole.startOffset === 0 && functionName === "") continue; /* the file itself */
		const line = lineAt(file.lines, whole.startOffset) + 1;
		const name = functionName || `(anonymous_${line})`;
		const known = file.functions.get(`${line} ${name}`) || { line, name, count: 0 };
		known.count += whole.count;
		file.functions.set(`${line} ${name}`, known);
	}
}

function lcov(name, { lines, functions }) {
	const out = ["TN:", `SF:${name}`];
	const list = [...functions.values()].sort((a, b) => a.line - b.line);
	for (const { line, name: each } of list) out.push(`FN:${line},${each}`);
	for (const { name: each, count } of list) out.push(`FNDA:${count},${each}`);
	out.push(`FNF:${list.length}`, `FNH:${list.filter((each) => each.count > 0).length}`);
	lines.forEach((line, i) => line.code && out.push(`DA:${i + 1},${line.count}`));
	const code = lines.filter((line) => line.code);
	out.push(`LF:${code.length}`, `LH:${code.filter((line) => line.count > 0).length}`, "end_of_record", "");
	return out.join("\n");
}

module.exports = { Coverage };

/* What a JavaScript function wants: types of its parameters from its JSDoc, its defaults, and the names and uses of what is left.
 * Runs inside a cell, for the harness beside this one.
 *
 * All of it is read from the text of the target's file, which is the same whether the function is instrumented or not: an input
 * means the same when it is tried again. */
"use strict";

const BODY_LOOK = 8000; /* characters of a function in which uses are looked for */

/* ---- types from texts ---- */

const TEXT = { kind: "string" };
const BYTES = { kind: "bytes" };
const NUMBER = { kind: "number" };
const BOOLEAN = { kind: "boolean" };
const OPEN = { kind: "object", fields: [], open: true };
const literal = (value) => ({ kind: "literal", value });
const ANY = { kind: "union", of: [TEXT, NUMBER, BOOLEAN, literal(null), { kind: "array", of: TEXT }, OPEN, BYTES] };
const typed = (of) => ({ kind: "typed", of });
const NAMED = {
	string: TEXT, String: TEXT, number: NUMBER, Number: NUMBER, float: NUMBER, double: NUMBER,
	int: { kind: "integer" }, integer: { kind: "integer" }, bigint: { kind: "bigint" }, BigInt: { kind: "bigint" },
	boolean: BOOLEAN, Boolean: BOOLEAN, bool: BOOLEAN, Buffer: BYTES, Uint8Array: typed(Uint8Array),
	Int8Array: typed(Int8Array), Uint16Array: typed(Uint16Array), Uint32Array: typed(Uint32Array), Int32Array: typed(Int32Array),
	Float64Array: typed(Float64Array), ArrayBuffer: typed(ArrayBuffer), null: literal(null), undefined: literal(undefined),
	void: literal(undefined), true: literal(true), false: literal(false), NaN: literal(NaN), any: ANY, unknown: ANY, "*": ANY,
	object: OPEN, Object: OPEN, Function: { kind: "function" }, function: { kind: "function" }, Date: { kind: "date" },
	RegExp: { kind: "regexp" }, Array: { kind: "array", of: TEXT }, Error: literal(new Error("an error")),
};

const TOKEN = /\s*(?:(\.\.\.|=>|\.<|[\w$]+(?:\.[\w$]+)*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[-\d.]+)|(.))/gsy;

function tokensOf(text) {
	const tokens = [];
	TOKEN.lastIndex = 0;
	for (let match; tokens.length < 500 && (match = TOKEN.exec(text)); ) if (match[0].trim()) tokens.push(match[1] || match[2]);
	return tokens;
}

/* JSDoc's and TypeScript's types, as far as they say what to make. Throws where it is at a loss. */
class TypeReader {
	constructor(text, typedefs) {
		this.tokens = tokensOf(text);
		this.at = 0;
		this.typedefs = typedefs;
	}
	is(token) {
		if (this.tokens[this.at] !== token) return false;
		this.at++;
		return true;
	}
	want(token) {
		if (!this.is(token)) throw new SyntaxError(`no ${token}`);
	}
	union() {
		const all = [];
		this.is("|");
		do all.push(this.postfix());
		while (this.is("|"));
		return all.length === 1 ? all[0] : { kind: "union", of: all };
	}
	postfix() {
		if (this.is("?")) return { kind: "union", of: [this.postfix(), literal(null)] };
		if (this.is("!") || this.is("...")) return this.postfix();
		let type = this.primary();
		while (this.is("[")) {
			this.want("]");
			type = { kind: "array", of: type };
		}
		return this.is("=") ? { kind: "optional", of: type } : type;
	}
	primary() {
		const token = this.tokens[this.at++];
		if (token === undefined) throw new SyntaxError("no type");
		if (token === "(") return this.parenthesis();
		if (token === "{") return this.fields();
		if (token === "[") return { kind: "tuple", of: this.list("]") };
		if (/^["']/.test(token)) return literal(token.slice(1, -1));
		if (/^-?\.?\d/.test(token)) return literal(Number(token));
		if (token === "function" && this.tokens[this.at] === "(") {
			this.skip();
			if (this.is(":")) this.union();
			return NAMED.function;
		}
		if (token === "readonly" || token === "keyof" || token === "typeof") return this.postfix();
		return this.is("<") || this.is(".<") ? this.generic(token, this.list(">")) : this.named(token);
	}
	parenthesis() {
		const before = this.at;
		this.at--;
		this.skip();
		if (this.is("=>")) {
			this.union();
			return NAMED.function;
		}
		this.at = before;
		const type = this.union();
		this.want(")");
		return type;
	}
	skip() { /* "(" and what belongs to it */
		let depth = 0;
		do {
			const token = this.tokens[this.at++];
			if (token === undefined) throw new SyntaxError("no )");
			depth += token === "(" ? 1 : token === ")" ? -1 : 0;
		} while (depth > 0);
	}
	list(end) {
		const all = [];
		while (!this.is(end)) {
			all.push(this.union());
			if (!this.is(",")) {
				this.want(end);
				break;
			}
		}
		return all;
	}
	fields() {
		const fields = [];
		while (!this.is("}")) {
			const name = (this.tokens[this.at++] || "").replace(/^["']|["']$/g, "");
			const optional = this.is("?");
			if (!/^[\w$ -]+$/.test(name)) throw new SyntaxError("no field");
			fields.push({ name, optional, type: this.is(":") ? this.union() : ANY });
			if (!this.is(",")) this.is(";");
		}
		return { kind: "object", fields, open: false };
	}
	generic(name, of) {
		const first = of[0] || TEXT;
		if (/^(Array|ReadonlyArray|Iterable)$/.test(name)) return { kind: "array", of: first };
		if (name === "Set") return { kind: "set", of: first };
		if (name === "Map") return { kind: "map", key: first, value: of[1] || TEXT };
		if (/^(Object|object|Record)$/.test(name)) return { kind: "record", value: of[1] || first };
		return /^(Promise|Readonly|Partial|Required|NonNullable)$/.test(name) ? first : this.named(name);
	}
	named(name) {
		if (Object.hasOwn(NAMED, name)) return NAMED[name];
		if (this.typedefs && this.typedefs.has(name)) return this.typedefs.get(name);
		throw new SyntaxError(`no type ${name}`);
	}
}

function readType(text, typedefs) {
	try {
		const reader = new TypeReader(text, typedefs);
		const type = reader.union();
		return reader.at === reader.tokens.length ? type : null;
	} catch {
		return null;
	}
}

/* ---- JSDoc ---- */

/* "{TYPE} [name=default] ..." behind a tag; braces may be in the type. */
function tagsOf(doc, tag) {
	const found = [];
	const text = doc.replace(/^[ \t]*\*(?!\/)/gm, "");
	for (const match of text.matchAll(new RegExp(`@(?:${tag})\\s*\\{`, "g"))) {
		let at = match.index + match[0].length;
		const from = at;
		for (let depth = 1; at < text.length && depth > 0; at++) depth += text[at] === "{" ? 1 : text[at] === "}" ? -1 : 0;
		const rest = /^\s*(\[)?\s*([\w$.]+(?:\[\])?(?:\.[\w$]+)*)?/.exec(text.slice(at));
		found.push({ type: text.slice(from, at - 1), name: rest[2] || "", optional: Boolean(rest[1]) });
	}
	return found;
}

function setField(type, tag, name, typedefs) {
	const field = { name, optional: tag.optional, type: readType(tag.type, typedefs) || ANY };
	if (field.type === OPEN) field.type = { kind: "object", fields: [], open: true };
	type.fields.push(field);
	type.open = false;
	return field.type;
}

function typedefsOf(text) {
	const typedefs = new Map();
	for (const [doc] of text.matchAll(/\/\*\*[^]*?\*\//g)) {
		for (const tag of tagsOf(doc, "typedef")) {
			let type = readType(tag.type, typedefs);
			if (!type) continue;
			const fields = tagsOf(doc, "property|prop");
			if (fields.length && type === OPEN) {
				type = { kind: "object", fields: [], open: false };
				for (const field of fields) if (!field.name.includes(".")) setField(type, field, field.name, typedefs);
			}
			typedefs.set(tag.name, type);
		}
	}
	return typedefs;
}

/* Types by the parameters' places and names; "opts.a" is a field of opts. */
function docTypes(doc, typedefs) {
	const list = [];
	for (const tag of tagsOf(doc, "param|arg|argument")) {
		const [first, ...inner] = tag.name.split(".");
		const above = inner.length ? list.find((each) => each.name === first.replace("[]", "")) : null;
		if (above) {
			if (inner.length === 1 && above.type && above.type.kind === "object") setField(above.type, tag, inner[0], typedefs);
			continue;
		}
		let type = readType(tag.type, typedefs);
		if (type === OPEN) type = { kind: "object", fields: [], open: true };
		list.push({ name: tag.name, type, optional: tag.optional || /=\s*$/.test(tag.type), rest: /^\s*\.\.\./.test(tag.type) });
	}
	return list;
}

/* ---- the function's text ---- */

const SKIPPED = /^(?:\/\/.*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)/;
const CLOSING = { "(": ")", "[": "]", "{": "}" };

/* From behind an opening bracket to its end: the parts between commas. Strings and comments hold no brackets. */
function partsOf(text, at) {
	const parts = [];
	const open = [CLOSING[text[at - 1]]];
	let part = "";
	for (; at < text.length && open.length; at++) {
		const c = text[at];
		const skipped = /["'`/]/.test(c) ? SKIPPED.exec(text.slice(at, at + 2000)) : null;
		if (skipped) {
			part += skipped[0].startsWith("//") ? "" : skipped[0];
			at += skipped[0].length - 1;
		} else if (CLOSING[c]) {
			open.push(CLOSING[c]);
			part += c;
		} else if (c === open[open.length - 1]) {
			open.pop();
			part += open.length ? c : "";
		} else if (c === "," && open.length === 1) {
			parts.push(part.trim());
			part = "";
		} else {
			part += c;
		}
	}
	if (part.trim()) parts.push(part.trim());
	return { parts, end: at };
}

const quoted = (name) => name.replace(/\$/g, "\\$&");

/* "(a, b = f(1)) {": what is called in a body is not declared there. */
function isMethod(text, at) {
	return text[at] === "(" && /^\s*\{/.test(text.slice(partsOf(text, at + 1).end));
}

function declarationsOf(text, name) {
	const own = quoted(name);
	const inner = "(?<=^|[{};,]|\\*\\/)[ \\t]*"; /* there may be more than one on a line */
	const rows = name === "default"
		? [`^[ \\t]*(?:module\\.)?exports\\s*=\\s*`, `^[ \\t]*export\\s+default\\s+`]
		: [`^[ \\t]*(?:export\\s+)?(?:default\\s+)?(?:async\\s+)?function\\s*\\*?\\s*${own}\\s*(?=\\()`,
			`^[ \\t]*(?:export\\s+)?(?:const|let|var)\\s+${own}\\s*=\\s*`,
			`^[ \\t]*(?:[\\w$]+\\.)+${own}\\s*=\\s*`,
			`${inner}static\\s+${own}\\s*=\\s*`,
			`${inner}["']?${own}["']?\\s*:\\s*(?=async\\b|function\\b|\\(|[\\w$]+\\s*(?:=>|[,}]|$))`];
	const method = `${inner}(?:static\\s+)?(?:async\\s+)?\\*?\\s*${own}\\s*(?=\\()`;
	const all = (row) => [...text.matchAll(new RegExp(row, "gm"))].map((match) => ({
		from: match.index, to: match.index + match[0].length }));
	const methods = name === "default" ? [] : all(method).filter(({ to }) => isMethod(text, to));
	return [...rows.flatMap(all), ...methods];
}

/* Of "Class.method" and "space.inner.name", where it is and what it is called there. */
function placeOf(text, name) {
	const parts = name.split(".");
	const last = parts.pop();
	for (const part of parts) {
		const head = new RegExp(`(?:\\b(?:class|const|let|var|static)\\s+|[.{,;]\\s*|^[ \\t]*)["']?${quoted(part)}["']?\\s*` +
			"(?:[:=]\\s*)?(?:class\\b[^{;]*|extends\\b[^{;]*)?\\{", "m").exec(text);
		if (!head) return { text, last };
		const from = head.index + head[0].length;
		text = text.slice(from, partsOf(text, from).end - 1);
	}
	return { text, last };
}

function docBefore(text, from) {
	const before = text.slice(0, from).trimEnd();
	const begin = before.endsWith("*/") ? before.lastIndexOf("/**") : -1;
	return begin < 0 || before.indexOf("*/", begin) !== before.length - 2 ? null : before.slice(begin);
}

/* Its parameters as they are written, its body, and its JSDoc. */
function signatureOf(text, name, depth = 0) {
	let doc = null;
	let found = null;
	for (const { from, to } of declarationsOf(text, name)) {
		doc = doc || docBefore(text, from);
		const head = /^(?:async\b\s*)?(?:function\b\s*\*?\s*[\w$]*\s*)?(?:\(|([\w$]+)\s*=>)/.exec(text.slice(to));
		const alias = /^([\w$]+)\s*(?:[;,}]|$)/m.exec(text.slice(to));
		if (found) continue;
		if (head && head[1]) found = { parts: [head[1]], body: text.slice(to, to + BODY_LOOK) };
		else if (head) {
			const { parts, end } = partsOf(text, to + head[0].length);
			found = { parts, body: text.slice(end, end + BODY_LOOK) };
		} else if (alias && alias.index === 0 && depth < 3) {
			const other = signatureOf(text, alias[1], depth + 1);
			doc = doc || other.doc;
			found = other.parts ? other : null;
		}
	}
	return { parts: found && found.parts, body: found ? found.body : "", doc };
}

/* ---- guesses, where nothing is said ---- */

const STRING_USE = "charCodeAt|codePointAt|charAt|split|startsWith|endsWith|trim\\w*|replace\\w*|match\\w*|" +
	"toLowerCase|toUpperCase|substr\\w*|normalize|search|padStart|localeCompare";
const BYTES_USE = "readU?Int\\w*|readBig\\w*|readFloat\\w*|readDouble\\w*|byteLength|subarray|copy|equals|" +
	"toString\\(\\s*[\"'](?:utf|latin|ascii|hex|base)";
const ARRAY_USE = "map|forEach|push|filter|reduce|some|every|join|pop|shift|flat|flatMap";
const BY_NAME = [
	[/^(buf|buffer|bytes|chunk|blob|binary)$/i, BYTES],
	[/(^|_)(cb|callback|done|fn|func|handler|next|resolve|reject)$/i, { kind: "function" }],
	[/^(is|has|should|allow|enable)[A-Z_]|^(flag|enabled|force|strict|verbose)$/, BOOLEAN],
	[/^(n|i|k|x|y|z|num\w*|count|index|size|len|length|offset|limit|width|height|max|min|port|depth|level|start|end)$/i, NUMBER],
	[/^(age|year|month|day|amount|total|ms|seconds)$/i, NUMBER],
	[/^(list|items|arr|array|args|values|elements|rows|entries)$/i, { kind: "array", of: TEXT }],
	[/^(opts?|options|config|settings|params|props|obj|object|context|ctx)$/i, "object"],
	[/^(query|body|headers|event|req|request|payload|user)$/i, "object"],
];

/* An object with the fields that the function asks for. */
function objectBy(name, body) {
	const fields = new Map();
	const add = (field) => /^[\w$]+$/.test(field) && fields.size < 20 && fields.set(field, true);
	for (const match of body.matchAll(new RegExp(`\\b${name}\\??\\.([\\w$]+)`, "g"))) add(match[1]);
	for (const match of body.matchAll(new RegExp(`\\{([^{}]*)\\}\\s*=\\s*${name}\\b`, "g")))
		for (const part of match[1].split(",")) add(part.split(/[:=]/)[0].trim());
	const list = [...fields.keys()].map((field) => ({ name: field, optional: true, type: guess(field, "") }));
	return { kind: "object", open: true, fields: list };
}

function guess(name, body) {
	const own = quoted(name);
	const used = (what) => new RegExp(`\\b${own}\\??\\.(?:${what})`).test(body);
	const numbers = new RegExp(`\\b${own}\\[[^\\]]*\\]\\s*[!=]==?\\s*(?:0x|\\d)`);
	if (used(BYTES_USE) || numbers.test(body)) return { ...BYTES, guessed: true };
	if (used(STRING_USE) || new RegExp(`JSON\\.parse\\(\\s*${own}\\b`).test(body)) return { ...TEXT, guessed: true };
	for (const [pattern, type] of BY_NAME) if (pattern.test(name)) return type === "object" ? objectBy(own, body) : type;
	if (used(ARRAY_USE)) return { kind: "array", of: TEXT };
	return { ...TEXT, guessed: true };
}

function typeOfDefault(text, name, body) {
	if (/^["'`]/.test(text)) return TEXT;
	if (/^-?[\d.]+n$/.test(text)) return NAMED.bigint;
	if (/^-?(?:[\d.]|Infinity|NaN|Number\.)/.test(text)) return NUMBER;
	if (/^(?:true|false)\b/.test(text)) return BOOLEAN;
	if (/^\[/.test(text)) return NAMED.Array;
	if (/^\{/.test(text)) return objectBy(name, body);
	if (/^(?:Buffer\.|new Uint8Array)/.test(text)) return BYTES;
	return /=>|^function\b/.test(text) ? NAMED.function : guess(name, body);
}

const WRITTEN = /^([\w$]+)\s*(\?)?\s*(?::\s*([^=]+(?:=>[^=]*)?))?(?:=\s*([^]*))?$/;

/* One parameter as it is written: "a", "b = 5", "{ c, d = 1 } = {}", "...rest", "/** @type {T} *" "/ e", "f: T". */
function parameter(written, body, typedefs) {
	const said = /^\/\*\*?\s*(?:@type\s*)?\{?([^}*]+)\}?\s*\*\/\s*/.exec(written);
	let text = said ? written.slice(said[0].length) : written;
	const rest = text.startsWith("...");
	text = rest ? text.slice(3).trim() : text;
	if (text.startsWith("{")) {
		const fields = partsOf(text, 1).parts.filter((part) => !part.startsWith("...")).map((part) => {
			const [, name, , value] = /^["']?([\w$-]+)["']?\s*(:[^=]*)?(?:=\s*([^]*))?$/.exec(part) || [null, part, "", ""];
			return { name, optional: value !== undefined, type: value ? typeOfDefault(value, name, body) : guess(name, body) };
		});
		return { name: "", rest, optional: /\}\s*=/.test(text), type: { kind: "object", fields, open: false } };
	}
	if (text.startsWith("[")) return { name: "", rest, optional: false, type: NAMED.Array };
	const [, name, mark, annotated, value] = WRITTEN.exec(text) || [null, text, "", "", undefined];
	const type = (said && readType(said[1], typedefs)) || (annotated && readType(annotated.trim(), typedefs)) ||
		(value !== undefined ? typeOfDefault(value, name, body) : guess(name, body));
	return { name, rest, optional: Boolean(mark) || value !== undefined, type };
}

/* Null: the text has no such function. */
function parametersOf(text, name) {
	const typedefs = typedefsOf(text);
	const place = placeOf(text, name);
	const inside = signatureOf(place.text, place.last);
	const { parts, body, doc } = inside.parts || place.last === "constructor" ? inside : signatureOf(text, place.last);
	const said = doc ? docTypes(doc, typedefs) : [];
	if (!parts) return null;
	return parts.map((part, at) => {
		const own = parameter(part, body, typedefs);
		const tag = said.find((each) => each.name === own.name) || (own.name === "" ? said[at] : null);
		const told = tag && tag.type ? tag : null;
		let type = told ? told.type : own.type;
		const bare = told && type.kind === "object" && type.open && !type.fields.length;
		if (bare && own.name) type = objectBy(quoted(own.name), body);
		return { name: own.name, rest: own.rest, optional: own.optional || Boolean(told && told.optional), type };
	});
}

/* Of a function that is not in the target's file: by its names, and no more, for its own text may be instrumented. */
function parametersOfOwn(text) {
	const head = /^[^(=]*?(?:\(|^([\w$]+)\s*=>)/.exec(text);
	const parts = head ? (head[1] ? [head[1]] : partsOf(text, head[0].length).parts) : [];
	const names = parts.map((part) => (/^[\w$]+/.exec(part) || ["value"])[0]);
	return (names.length ? names : ["value"]).map((name) => ({ name, rest: false, optional: false, type: guess(name, "") }));
}

module.exports = { ANY, parametersOf, parametersOfOwn, readType };

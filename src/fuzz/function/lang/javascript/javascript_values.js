/* What a JavaScript function is called with: values of the types of its parameters, from bytes. Runs inside a cell, for the
 * harness beside this one. What makes them uses nothing that the target can have changed. */
"use strict";

const { isUtf8 } = require("node:buffer");
const { ANY, parametersOf, parametersOfOwn } = require("./harness_of_hotcell_types.cjs");

const DEPTH_MAX = 4;
const ITEMS_MAX = 8;
const WORDS_MAX = 200;
const SMALL = [0, 1, -1, 127, 128, 255, 256, 32767, 65535, 65536];
const NUMBERS = [...SMALL, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53 - 1, 2 ** 53];
const FLOATS = [0.5, -0, NaN, Infinity, -Infinity, 1e308, 5e-324, 0.1];
const { defineProperty } = Object;
const { subarray } = Uint8Array.prototype;
const { utf8Slice, latin1Slice, readDoubleLE } = Buffer.prototype;
const call = Reflect.apply;
const [bufferFrom, BigIntOf, DateOf, MapOf, SetOf] = [Buffer.from, BigInt, Date, Map, Set];

/* ---- values from bytes ---- */

/* Choices come from the end and contents from the front, so that a text in an input stays in one piece. */
class Data {
	constructor(raw) {
		this.raw = raw;
		this.at = 0;
		this.end = raw.length;
	}
	byte() {
		return this.end > this.at ? this.raw[--this.end] : 0;
	}
	below(count) {
		let number = this.byte();
		if (count > 256) number = number * 256 + this.byte();
		return number % count;
	}
	take(count) {
		const from = this.at;
		this.at += count;
		return call(subarray, this.raw, [from, this.at]);
	}
	some(last) {
		const left = this.end - this.at;
		const most = left < 255 ? left : 255;
		if (last) return this.take(left);
		const count = this.below(most + 1);
		return this.take(count < this.end - this.at ? count : this.end - this.at);
	}
}

/* Every input means something, and what is ASCII in it is the same in the text. */
function textOf(raw) {
	return call(isUtf8(raw) ? utf8Slice : latin1Slice, raw, []);
}

function makeNumber(data, whole) {
	const kind = data.below(4);
	if (kind === 0) return data.below(256) - 16;
	if (kind === 1) {
		const at = data.below(NUMBERS.length + (whole ? 0 : FLOATS.length));
		return at < NUMBERS.length ? NUMBERS[at] : FLOATS[at - NUMBERS.length];
	}
	let number = data.byte() | (data.byte() << 8) | (data.byte() << 16) | (data.byte() << 24);
	if (kind === 3 && whole) return number * 2097152 + data.below(2097152);
	if (kind === 3 && data.end - data.at >= 8) return call(readDoubleLE, data.take(8), [0]);
	return number;
}

function put(object, key, value) {
	defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true }); /* "__proto__", too */
}

const ODD_KEYS = ["__proto__", "constructor", "prototype", "length", "toString", "0"];

function makeObject(type, data, depth) {
	const object = {};
	for (let i = 0; i < type.fields.length; i++) {
		const field = type.fields[i];
		if (field.optional && data.below(4) === 0) continue;
		put(object, field.name, make(field.type, data, depth + 1, false));
	}
	for (let more = type.open ? data.below(3) : 0; more > 0; more--) {
		const odd = data.below(2) === 0;
		const key = odd ? ODD_KEYS[data.below(ODD_KEYS.length)] : textOf(data.some(false));
		put(object, key, make(ANY, data, depth + 1, false));
	}
	return object;
}

function makeItems(item, data, depth) {
	const count = data.below(ITEMS_MAX + 1);
	const items = [];
	for (let i = 0; i < count; i++) put(items, i, make(item, data, depth + 1, false));
	return items;
}

function makeRecord(type, data, depth) {
	const object = {};
	for (let count = data.below(ITEMS_MAX + 1); count > 0; count--)
		put(object, textOf(data.some(false)), make(type.value, data, depth + 1, false));
	return object;
}

const MAKERS = {
	string: (type, data, depth, last) => textOf(data.some(last)),
	bytes: (type, data, depth, last) => call(bufferFrom, Buffer, [data.some(last)]),
	typed: (type, data, depth, last) => {
		const raw = data.some(last);
		const size = type.of.BYTES_PER_ELEMENT || 1;
		const copy = new Uint8Array(raw.length - (raw.length % size));
		for (let i = 0; i < copy.length; i++) copy[i] = raw[i];
		return type.of === ArrayBuffer ? copy.buffer : type.of === Uint8Array ? copy : new type.of(copy.buffer);
	},
	number: (type, data) => makeNumber(data, false),
	integer: (type, data) => makeNumber(data, true),
	bigint: (type, data) => BigIntOf(makeNumber(data, true)),
	boolean: (type, data) => data.below(2) === 1,
	literal: (type) => type.value,
	date: (type, data) => new DateOf(makeNumber(data, true)),
	regexp: () => /a/,
	function: () => () => undefined,
	union: (type, data, depth, last) => make(type.of[data.below(type.of.length)], data, depth, last),
	optional: (type, data, depth, last) => (data.below(4) === 0 ? undefined : make(type.of, data, depth, last)),
	array: (type, data, depth) => makeItems(type.of, data, depth),
	tuple: (type, data, depth) => {
		const items = [];
		for (let i = 0; i < type.of.length; i++) put(items, i, make(type.of[i], data, depth + 1, false));
		return items;
	},
	set: (type, data, depth) => new SetOf(makeItems(type.of, data, depth)),
	map: (type, data, depth) => new MapOf(makeItems({ kind: "tuple", of: [type.key, type.value] }, data, depth)),
	record: makeRecord,
	object: makeObject,
};

/* What nests too deep is empty, and of its type all the same where that has an end. */
const EMPTY = {
	array: () => [],
	set: () => new SetOf(),
	map: () => new MapOf(),
	record: () => ({}),
	optional: () => undefined,
	union: () => null,
	tuple: () => null,
	object: () => null,
};

function make(type, data, depth, last) {
	if (depth > DEPTH_MAX && EMPTY[type.kind]) return EMPTY[type.kind]();
	return MAKERS[type.kind](type, data, depth, last);
}

/* ---- arguments ---- */

const OTHER = { string: "bytes", bytes: "string" };

function flipped(type) {
	return type.guessed ? { kind: OTHER[type.kind], guessed: true } : type;
}

/* `make` gives a list of arguments for bytes; `other` the same with guesses turned round, and is null where there are none;
 * `nothing` says that it takes none.
 * Null: the text does not have the function. Without a name, the text is its own. */
function argumentsOf(text, name) {
	const wanted = name ? parametersOf(text, name) : parametersOfOwn(text);
	if (!wanted) return null;
	function maker(list) {
		const only = list.length === 1 && !list[0].rest && /^(string|bytes)$/.test(list[0].type.kind) ? list[0].type.kind : null;
		if (only) return only === "bytes" ? (raw) => [raw] : (raw) => [textOf(raw)]; /* the input itself */
		return (raw) => {
			const data = new Data(raw);
			const args = [];
			for (let i = 0; i < list.length; i++) {
				const { type, optional, rest } = list[i];
				const items = rest ? makeItems(type.kind === "array" ? type.of : type, data, 1) : null;
				if (rest) for (let k = 0; k < items.length; k++) put(args, args.length, items[k]);
				else put(args, args.length, optional && data.below(4) === 0 ? undefined : make(type, data, 0, i === list.length - 1));
			}
			return args;
		};
	}
	const guessed = wanted.some((each) => each.type.guessed);
	return {
		nothing: wanted.length === 0,
		names: wanted.filter((each) => !each.rest).map((each) => each.name),
		make: maker(wanted),
		other: guessed ? maker(wanted.map((each) => ({ ...each, type: flipped(each.type) }))) : null,
	};
}

/* Words of the target's own text, for the engine to try. It is not led by comparisons of single letters; letters that the text has
 * one after another are often compared so, and are a word, too. */
function wordsOf(text) {
	const words = new Set();
	let letters = "";
	const add = (word) => word && words.size < WORDS_MAX && words.add(word);
	for (const match of text.matchAll(/"((?:[^"\\\n]|\\.){1,64})"|'((?:[^'\\\n]|\\.){1,64})'/g)) {
		const word = match[1] || match[2];
		if (word.includes("\\")) continue;
		if (word.length > 1 || letters.length === 64) {
			add(letters);
			letters = "";
		}
		letters += word.length === 1 ? word : "";
		add(word);
	}
	add(letters);
	return [...words];
}

module.exports = { argumentsOf, put, wordsOf };

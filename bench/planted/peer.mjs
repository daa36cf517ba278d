// json-schema-faker on a schema, for ../schemas.py: node peer.mjs MODULE SCHEMA SECONDS
// Says in a line of JSON how many examples it makes for each second of processor time.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const [modulePath, path, seconds] = process.argv.slice(2);
const module = await import(pathToFileURL(modulePath));
const schema = JSON.parse(fs.readFileSync(path, "utf8"));
const make = module.generateSync ?? module.generate ?? module.default?.generate;
const used = () => { const all = process.cpuUsage(); return (all.user + all.system) / 1e6; };

try {
	for (let i = 0; i < 200; i++)
		await make(schema); // let it be compiled first
	let begun = used(), count = 0, bytes = 0;
	while (used() - begun < Number(seconds)) {
		for (let i = 0; i < 20; i++, count++)
			bytes += JSON.stringify(await make(schema)).length;
	}
	console.log(JSON.stringify({ per_second: count / (used() - begun), count, bytes: bytes / count }));
} catch (error) {
	console.log(JSON.stringify({ raises: String(error).slice(0, 200) }));
}

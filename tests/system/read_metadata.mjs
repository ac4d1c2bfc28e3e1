// Reads .metadata of a distributed checkpoint with npm's pickleparser, and prints where each chunk of each tensor is, as JSON:
// [name, offsets, file, offset, length], and the sizes of all tensors.
// read_metadata.mjs FILE; the environment variable HAUL_NPM names the folder of the npm packages
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { Parser } = await import(pathToFileURL(join(process.env.HAUL_NPM ?? 'build/npm', 'node_modules/pickleparser/dist/index.js')));

// Functions for pickles that call a class, and for those that make an instance of it.
const resolver = { resolve: (module, name) => name === 'Size' ? sizes => ({ sizes }) : function () {
	return { __setstate__(state) { this.state = state; } };
} };
const list = size => Array.from(size.sizes);
const parsed = new Parser({ nameResolver: resolver, unpicklingTypeOfDictionary: 'Map' }).parse(readFileSync(process.argv[2]));
const field = (object, name) => object.state.get(name);
const chunks = [];
for (const [index, info] of field(parsed, 'storage_data'))
	chunks.push([field(index, 'fqn'), list(field(index, 'offset')),
		field(info, 'relative_path'), field(info, 'offset'), field(info, 'length')]);
const sizes = {};
for (const [name, tensor] of field(parsed, 'state_dict_metadata'))
	sizes[name] = list(field(tensor, 'size'));
console.log(JSON.stringify({ chunks, sizes }));

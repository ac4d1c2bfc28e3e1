// Reads a results file as a page in a browser would, with h5wasm, and prints what it finds as JSON: the root's attributes, and of
// each NXdata group its signal's shape and sum, and the length of each axis.
// read_h5wasm.mjs FILE; the environment variable HAUL_NPM names the folder of the npm packages
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { default: h5wasm, ready, File } = await import(
	pathToFileURL(join(process.env.HAUL_NPM ?? 'build/npm', 'node_modules/h5wasm/dist/node/hdf5_hl.js')));
await ready;

const file = new File(process.argv[2], 'r');
const attribute = (from, name) => from.attrs[name]?.value;
const number = value => Number(value);

function walk(group, found) {
	for (const name of group.keys()) {
		const child = group.get(name);
		if (child?.type !== 'Group')
			continue;
		if (attribute(child, 'NX_class') === 'NXdata') {
			const signal = child.get(attribute(child, 'signal'));
			const sum = Array.from(signal.value, number).filter(Number.isFinite).reduce((a, b) => a + b, 0);
			found[child.path] = {shape: signal.shape.map(number), sum,
				axes: attribute(child, 'axes').map(axis => number(child.get(axis).shape[0]))};
		}
		walk(child, found);
	}
	return found;
}

console.log(JSON.stringify({status: attribute(file, 'status'), ranks: number(attribute(file, 'ranks')),
	phases: file.get('phases').keys(), nxdata: walk(file, {})}));

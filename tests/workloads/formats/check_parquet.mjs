// Parquet files: DuckDB reads the files that write_files made, with the right schema, row groups, rows and ids. Each value of
// each column is computed here a second time, from the definition of the payload in core/content/fill.h.
// check_parquet.mjs WRITE_FILES; the environment variable HAUL_NPM names the folder of the npm packages
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import assert from 'node:assert/strict';

let duckdb;
try {
	duckdb = createRequire(join(process.env.HAUL_NPM ?? 'build/npm', 'package.json'))('@duckdb/node-api');
} catch {
	console.log('@duckdb/node-api is not installed: packaging/install-npm.sh');
	process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), 'haul-parquet-'));
const db = await duckdb.DuckDBInstance.create(':memory:');
const connection = await db.connect();

async function rows(query) {
	return (await connection.runAndReadAll(query)).getRowObjects();
}

const ROW_GROUP = 3n; // as in write_files
// The columns that write_files gives its wide files, as DuckDB names their types.
const TYPES = [['DOUBLE', 2, 8], ['BIGINT', 1, 8], ['INTEGER', 3, 4], ['FLOAT', 4, 4], ['BLOB', 4, 2], ['BLOB', 1, 3]];
const PAGE_HEADER = 29;
const LARGE = 4096;
const PAGE = 1 << 20; // the largest size of a page's values
const MASK = (1n << 64n) - 1n;
const GOLDEN = 0x9e3779b97f4a7c15n;

function mix64(x) {
	x &= MASK;
	x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
	x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK;
	return x ^ (x >> 31n);
}

// Bytes [offset, offset + length) of the payload's stream of the file with this number of samples, for seed 7.
function stream(samples, offset, length) {
	const key = mix64(mix64(7n + GOLDEN) + BigInt(samples + 1) * GOLDEN);
	const first = Math.floor(offset / 8);
	const words = Buffer.alloc(8 * (Math.ceil((offset + length) / 8) - first));
	for (let i = 0; 8 * i < words.length; i++)
		words.writeBigUInt64LE(mix64(key + BigInt(first + i + 1) * GOLDEN), 8 * i);
	return words.subarray(offset - 8 * first, offset - 8 * first + length);
}

// Whether a value that DuckDB read is the one stored in these bytes. Object.is treats all NaNs as equal.
function agrees(type, value, bytes) {
	switch (type) {
	case 'BLOB':
		return bytes.equals(Buffer.from(value.bytes));
	case 'BIGINT':
		return bytes.readBigInt64LE() === value;
	case 'INTEGER':
		return bytes.readInt32LE() === value;
	case 'DOUBLE':
		return Object.is(bytes.readDoubleLE(), value);
	default:
		return Object.is(bytes.readFloatLE(), value);
	}
}

async function check(name) {
	const [, samples, size] = name.split('.')[0].split('-').map(Number);
	const path = join(folder, name);
	const wide = name.split('.').length > 2;
	const groups = await rows(`select row_group_id, row_group_num_rows, num_values, type, compression, encodings,
		data_page_offset, total_compressed_size, path_in_schema from parquet_metadata('${path}')
		order by row_group_id, column_id`);
	const columns = wide ? 15 : 1;
	const wanted = (BigInt(samples) + ROW_GROUP - 1n) / ROW_GROUP;
	assert.equal(BigInt(groups.length), wanted * BigInt(columns));
	let counted = 0n;
	for (const g of groups) {
		assert.equal(g.compression, 'UNCOMPRESSED');
		assert.equal(g.encodings, 'PLAIN');
		assert.equal(g.num_values, g.row_group_num_rows);
		if (g.path_in_schema === 'c00000')
			counted += g.row_group_num_rows;
	}
	assert.equal(counted, BigInt(samples));
	await checkValues(path, samples, groups, wide ? TYPES : [['BLOB', 1, size]]);
	const [{ n }] = await rows(`select count(*) n from '${path}'`);
	assert.equal(n, BigInt(samples));
}

// The bytes of value k of a column chunk. Pages have whole values and a header each. Of large values it returns both ends.
function valueAt(samples, chunk, width, k) {
	const pageRows = Math.max(1, Math.floor(PAGE / width));
	const at = Number(chunk.data_page_offset) + (Math.floor(k / pageRows) + 1) * PAGE_HEADER + k * width;
	return width <= LARGE ? stream(samples, at, width)
		: Buffer.concat([stream(samples, at, 512), stream(samples, at + width - 512, 512)]);
}

async function checkValues(path, samples, groups, types) {
	const columns = types.flatMap(([type, count, width]) => Array(count).fill([type, width]));
	// Ids are in the first column that is read and has eight bytes or more. In wide files it is the int64 after two float64.
	const withIds = columns.length > 1 ? 2 : columns[0][1] >= 8 ? 0 : -1;
	const described = await rows(`describe select * from '${path}'`);
	assert.deepEqual(described.map((d) => d.column_type), columns.map(([type]) => type));
	const values = (await connection.runAndReadAll(`select * from '${path}'`)).getRows();
	groups.forEach((chunk, i) => {
		const column = i % columns.length;
		const [type, width] = columns[column];
		const first = Number(chunk.row_group_id) * Number(ROW_GROUP);
		for (let k = 0; k < Number(chunk.num_values); k++) {
			let value = values[first + k][column];
			const want = valueAt(samples, chunk, width, k);
			if (column === withIds)
				want.writeBigUInt64LE(BigInt(1000 * samples + first + k));
			if (width > LARGE) {
				assert.equal(value.bytes.length, width);
				value = { bytes: Buffer.concat([value.bytes.slice(0, 512), value.bytes.slice(-512)]) };
			}
			assert.ok(agrees(type, value, want), `${chunk.path_in_schema}, row ${first + k}`);
		}
	});
}

try {
	execFileSync(process.argv[2], [folder, 'parquet']);
	const names = readdirSync(folder).filter((name) => name.endsWith('.parquet'));
	assert.ok(names.length > 150, String(names.length));
	assert.ok(names.some((name) => name.split('.').length > 2));
	for (const name of names) {
		try {
			await check(name);
		} catch (e) {
			console.log(name);
			throw e;
		}
	}
	console.log(names.length, 'files');
} finally {
	rmSync(folder, { recursive: true });
}

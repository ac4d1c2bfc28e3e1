// DuckDB reads the Parquet files that write_files made: schema, row groups, rows, ids, sums of bytes.
// check_parquet.mjs WRITE_FILES, with the environment's HAUL_NPM
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import assert from 'node:assert/strict';

let duckdb;
try {
	duckdb = createRequire(join(process.env.HAUL_NPM ?? 'build/npm', 'package.json'))('@duckdb/node-api');
} catch {
	console.log('@duckdb/node-api is not installed: packaging/install-npm.sh');
	process.exit(77);
}

const folder = mkdtempSync(join(tmpdir(), 'haul-parquet-'));
const db = await duckdb.DuckDBInstance.create(':memory:');
const connection = await db.connect();

async function rows(query) {
	return (await connection.runAndReadAll(query)).getRowObjects();
}

const ROW_GROUP = 3n; // write_files' own
// The columns that write_files gives its wide files, as DuckDB names their types.
const TYPES = [['DOUBLE', 2], ['BIGINT', 1], ['INTEGER', 3], ['FLOAT', 4], ['BLOB', 5]];

async function check(name) {
	const [, samples, size] = name.split('.')[0].split('-').map(Number);
	const path = join(folder, name);
	const wide = name.split('.').length > 2;
	const file = readFileSync(path);
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
	if (wide)
		await checkWide(path, samples);
	else if (size >= 8)
		await checkIds(path, samples, size, file);
	const [{ n }] = await rows(`select count(*) n from '${path}'`);
	assert.equal(n, BigInt(samples));
}

async function checkIds(path, samples, size, file) {
	const got = await rows(`select c00000 v from '${path}'`);
	for (let i = 0; i < samples; i += 1 + Math.floor(samples / 7)) {
		const bytes = Buffer.from(got[i].v.bytes);
		assert.equal(bytes.length, size);
		assert.equal(bytes.readBigUInt64LE(0), BigInt(1000 * samples + i));
		assert.ok(file.includes(bytes));
	}
}

async function checkWide(path, samples) {
	const described = await rows(`describe select * from '${path}'`);
	let at = 0;
	for (const [type, count] of TYPES)
		for (let i = 0; i < count; i++)
			assert.equal(described[at++].column_type, type);
	// The first column that is read and has eight bytes: the int64 behind two float64.
	const ids = await rows(`select c00002 v from '${path}'`);
	ids.forEach((row, i) => assert.equal(row.v, BigInt(1000 * samples + i)));
	const [{ n }] = await rows(`select sum(octet_length(c00014)) n from '${path}'`);
	assert.equal(BigInt(n), BigInt(3 * samples));
}

try {
	execFileSync(process.argv[2], [folder]);
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

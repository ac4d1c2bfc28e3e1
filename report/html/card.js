/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// The card of an assessment: how many accelerators each workload gets, what stands in the way, and the ceilings of the storage.
const card = (() => {
	const kinds = {'B/s': 'rate', '1/s': 'frequency', ns: 'ns'};
	const trains = row => row.unit === 'accelerators';

	function draw(assess) {
		return bars.draw({
			title: 'Accelerators that each training can have', kind: 'count',
			note: `On ${format.count(assess.ranks)} rank${assess.ranks === 1 ? '' : 's'} and ${format.count(assess.nodes)} node${assess.nodes === 1 ? '' : 's'}. What was not measured follows from the ceilings.`,
			rows: assess.workloads.filter(trains).map(row => ({label: row.basis === 'measured' ? `${row.name}, measured` : row.name, value: row.carries, strong: row.basis === 'measured'})),
		});
	}

	// Of users whose number is unknown, a bound follows.
	const bounded = row => row.unit === 'users' && !format.known(row.carries) && format.known(row.follows);
	const carried = row => bounded(row) ? `at most ${format.count(row.follows)} users` : !format.known(row.carries) ? format.nothing
		: row.unit === 'users' ? (row.carries < 1 ? 'none' : `${format.count(row.carries)} users`) : trains(row) ? (row.carries < 1 ? 'none' : format.count(row.carries))
		: `${format.number(row.carries)} checkpoints an hour`;

	function tables(file) {
		const assess = file.assess;
		if (!assess)
			return null;
		const remedies = [...new Set(assess.workloads.map(row => row.raised_by).filter(one => one))];
		return [
			dom.element('h2', null, 'What it carries'),
			table.plain(['workload', 'carries', 'first limit', 'how known', 'bytes per second of one', 'full run', 'its data'], assess.workloads.map(row => [
				row.name, carried(row), row.limit_words, row.basis, row.bytes_per_second > 0 ? format.rate(row.bytes_per_second) : format.nothing,
				format.duration(row.full_seconds), format.known(row.data_bytes) ? format.bytes(row.data_bytes) : format.nothing]), [0, 1, 2, 3]),
			assess.workloads.filter(bounded).map(row => dom.element('p', null, `At most so many users of ${row.name} follow from the ceilings. For how many of them 95 of 100 requests are answered within ${format.duration(row.target)} depends on which requests meet, and is measured by a run of its own: haul run ${row.name} --find kvcache.users=1..${row.follows} --until "kvcache.request_p95 <= ${format.duration(row.target)}".`)),
			remedies.length ? dom.element('p', null, 'What would raise it:') : null,
			remedies.length ? dom.element('ul', null, remedies.map(one => dom.element('li', null, `${one}.`))) : null,
			dom.element('h2', null, 'Ceilings of the storage'),
			table.plain(['ceiling', 'measured', 'with'], assess.ceilings.map(row => [row.label, format[kinds[row.unit]](row.value), row.settings || format.nothing]), [0, 2]),
		];
	}

	return {draw, tables};
})();

/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// The page of a plan: what a job asks for on several numbers of nodes. Every figure is one that haul plan --json prints.
const plan = (() => {
	const nodes = count => `${format.count(count)} node${count === 1 ? '' : 's'}`;
	const ranks = count => `${format.count(count)} rank${count === 1 ? '' : 's'}`;
	// What is 0 in all plans does not apply to the phase.
	const some = values => values.some(value => value > 0) ? values : null;
	const percent = share => `${format.number(share * 100)} %`;

	const axis = plans => ({label: 'nodes', kind: 'count', log: plans.length > 1, ticks: true, values: plans.map(one => one.nodes)});

	// A chart over the numbers of nodes. A demand that grows with them is a straight line between logarithmic axes.
	function over(plans, title, kind, series, note = null) {
		return chart.draw({title, note, x: axis(plans), y: {kind, log: plans.length > 1}, series});
	}

	// The phase that asks for most, by the plan of the most nodes.
	function chief(last) {
		const asking = last.phases.filter(one => one.demand.bytes_per_second > 0);
		const most = asking.sort((a, b) => b.demand.bytes_per_second - a.demand.bytes_per_second)[0];
		return most || last.phases.find(one => one.steps_per_epoch > 0) || last.phases.find(one => one.bytes > 0) || last.phases[0];
	}

	function sentence(last) {
		const main = chief(last);
		if (!main)
			return 'The job has no phases.';
		const who = `On ${nodes(last.nodes)}, the ${ranks(last.ranks)} of ${main.name}`;
		const {demand} = main;
		if (demand.bytes_per_second > 0) {
			const target = demand.target > 0 && demand.target < 1
				? `, and ${format.rate(demand.at_target_bytes_per_second)} for the target of ${percent(demand.target)}` : '';
			return `${who} need ${format.rate(demand.bytes_per_second)} for an AU of 100 %${target}.`;
		}
		if (main.steps_per_epoch > 0)
			return `${who} take the full speed of storage: no compute time is set.`;
		return main.bytes > 0 ? `${who} move ${format.bytes(main.bytes)}.` : `${who} have no demand that is known before the run.`;
	}

	function heading(all, part) {
		const {plans} = part, last = plans[plans.length - 1], main = chief(last);
		const each = main && main.demand.bytes_per_second_per_node > 0 ? `${format.rate(main.demand.bytes_per_second_per_node)} per node · ` : '';
		return [
			dom.element('p', {class: 'verdict'}, sentence(last)),
			dom.element('p', {class: 'muted'}, `${each}${format.bytes(last.memory_bytes_per_node)} of memory per node for haul · seed ${last.seed}`),
			kept(all.limits, part.table),
		];
	}

	// What the storage and the network cards of the command line let the job come to.
	function kept(limits, rows) {
		const given = [
			format.known(limits.storage_bytes_per_second) ? `storage of ${format.rate(limits.storage_bytes_per_second)}` : null,
			format.known(limits.nic_bytes_per_second_per_node) ? `network cards of ${format.rate(limits.nic_bytes_per_second_per_node)} per node` : null,
		].filter(one => one);
		if (!given.length || !rows.scaling.some(row => format.known(row.bytes_per_second)))
			return null;
		const most = rows.nodes_max === null ? 'on any number of nodes' : rows.nodes_max === 0 ? 'on no number of nodes' : `on up to ${nodes(rows.nodes_max)}`;
		return dom.element('p', null, `With ${given.join(' and ')}, an AU of ${percent(rows.target_au)} is kept ${most}.`);
	}

	function refusals(part) {
		return part.refused.map(row => dom.element('p', {class: 'bad'}, `The job refuses ${nodes(row.nodes)}: ${row.why}`));
	}

	const COLUMNS = [
		['ranks', 'ranks', 'count'], ['files', 'files', 'count'], ['data_bytes', 'data set', 'bytes'], ['global_batch', 'global batch', 'count'],
		['bytes_per_second', 'needs', 'rate'], ['worker_bytes_per_second', 'each worker', 'rate'], ['au', 'AU', 'share'], ['seconds_per_epoch', 'epoch', 'seconds'],
		['generate_seconds', 'generate', 'seconds'], ['cached_share', 'cached', 'share'], ['node_hours', 'node-hours', 'number'],
	];

	function rows(part) {
		const list = part.table.scaling;
		const columns = COLUMNS.filter(([key]) => list.some(row => row[key] > 0 || (row[key] === 0 && key === 'cached_share')));
		return [dom.element('h2', null, 'By number of nodes'), table.plain(['nodes', ...columns.map(column => column[1])],
			list.map(row => [format.count(row.nodes), ...columns.map(([key, , kind]) => format[kind](row[key]))]), [])];
	}

	// The charts of the phase at that place in the job.
	function phase(plans, i) {
		const list = plans.map(one => one.phases[i]), {name, kind, demand} = list[list.length - 1];
		const of = key => some(list.map(one => one[key])), asked = key => some(list.map(one => one.demand[key]));
		const target = demand.target > 0 && demand.target < 1 ? `AU ${percent(demand.target)}` : null;
		const both = (title, key, unit) => over(plans, title, unit, [{label: 'AU 100 %', values: asked(key)}, ...(target ? [{label: target, values: asked(`at_target_${key}`), color: 'line-3'}] : [])]);
		const expected = list.map(one => one.expected ? one.expected.seconds_per_epoch : null);
		return chart.group(name === kind ? name : `${name} (${kind})`,
			both('Bandwidth that all nodes need', 'bytes_per_second', 'rate'),
			both('Bandwidth that each node needs', 'bytes_per_second_per_node', 'rate'),
			both('Opens per second of all nodes', 'opens_per_second', 'frequency'),
			over(plans, 'Files', 'number', [{label: 'all nodes', values: of('files')}, {label: 'per node', values: of('files_per_node'), color: 'line-4'}]),
			over(plans, 'Time if storage keeps up', 'seconds', [
				{label: 'an epoch', values: of('seconds_per_epoch')}, {label: 'the phase', values: of('total_seconds'), color: 'line-2'},
				{label: 'an epoch, as the store is set up', values: some(expected), color: 'line-4'}]),
			over(plans, 'Bytes', 'bytes', [{label: 'moved', values: of('bytes')}, {label: 'new on its stores', values: of('space_bytes'), color: 'line-2'}]));
	}

	function charts(plans) {
		const sets = one => one.dataset || {};
		return [
			chart.group('Nodes and data',
				over(plans, 'Memory of a node that haul takes', 'bytes', [{label: 'memory', values: some(plans.map(one => one.memory_bytes_per_node)), color: 'line-5'}]),
				over(plans, 'Data set', 'bytes', [{label: 'bytes', values: some(plans.map(one => sets(one).bytes)), color: 'line-3'}])),
			...plans[0].phases.map((first, i) => phase(plans, i)),
		];
	}

	// A table that a kind of phase reports: its units name the kinds of its columns.
	function phaseTable(name, list) {
		const kinds = {bytes: 'bytes', s: 'seconds', ns: 'ns', fraction: 'share'};
		const cut = list.left_out ? dom.element('p', {class: 'muted'}, `${format.count(list.left_out.rows)} more are not on this page.`) : null;
		return [dom.element('h3', null, format.words(name)), table.plain(list.columns, list.rows.map(row => row.map((value, i) =>
			format[kinds[list.units[i]] || 'number'](value))), []), cut];
	}

	function phaseDetails(one) {
		return [
			one.totals ? [dom.element('h3', null, `${one.name}: totals`), table.pairs(one.totals)] : null,
			Object.entries(one.tables || {}).map(([name, list]) => phaseTable(`${one.name}: ${name}`, list)),
			one.datasize ? [dom.element('h3', null, `${one.name}: the data set that MLPerf wants`), table.pairs(one.datasize)] : null,
		];
	}

	// All of one plan.
	function details(one) {
		const sets = one.datasets || (one.dataset ? [one.dataset] : []);
		return dom.element('div', null,
			dom.element('p', {class: 'muted'}, `${ranks(one.ranks)} · ${format.bytes(one.memory_bytes_per_node)} of memory per node`),
			one.notes.map(line => dom.element('p', null, line)),
			sets.length ? [dom.element('h3', null, 'Data sets'), table.objects(sets, ['name', 'store', 'format'])] : null,
			dom.element('h3', null, 'Phases'),
			table.plain(['phase', 'kind', 'store', 'steps per epoch', 'files', 'bytes', 'needs at AU 100 %', 'per node', 'opens', 'time', 'memory per rank', 'new on its stores'], one.phases.map(p => [
				p.name, p.kind, p.store, format.count(p.steps_per_epoch), format.count(p.files), format.bytes(p.bytes), format.rate(p.demand.bytes_per_second),
				format.rate(p.demand.bytes_per_second_per_node), format.frequency(p.demand.opens_per_second), format.seconds(p.total_seconds),
				format.bytes(p.memory_bytes_per_rank), format.bytes(p.space_bytes)]), [0, 1, 2]),
			one.phases.map(phaseDetails));
	}

	// A combination of the sweeps' values, or the only one.
	function combination(all, part) {
		if (part.brief)
			return [dom.element('p', {class: 'muted'}, 'There was no room for its charts.'), refusals(part), rows(part)];
		const last = part.plans[part.plans.length - 1];
		return [
			heading(all, part),
			refusals(part),
			last.notes.length ? dom.later(`Notes for ${nodes(last.nodes)}`, {class: 'notes'}, () => dom.element('div', null, last.notes.map(line => dom.element('p', null, line)))) : null,
			rows(part),
			charts(part.plans),
			dom.element('h2', null, 'Each number of nodes'),
			part.plans.map(one => dom.later(nodes(one.nodes), {class: 'phase'}, () => details(one))),
		];
	}

	const jobName = all => (all.combinations.flatMap(part => part.plans || []).find(one => one.name) || {name: 'a job'}).name;

	function parts(all) {
		const several = all.combinations.length > 1, [first] = all.combinations;
		const made = [dom.element('h1', null, `Plan of ${jobName(all)}`)];
		if (!several && first)
			made.push(combination(all, first));
		for (const part of several ? all.combinations : [])
			made.push((part === first ? dom.open : details => details)(dom.later(part.sweep, {class: 'phase'}, () => dom.element('div', null, combination(all, part)))));
		if (all.combinations_left_out)
			made.push(dom.element('p', {class: 'muted'}, `${format.count(all.combinations_left_out)} more combinations are not on this page: haul plan --json has them.`));
		return made;
	}

	return {parts, title: all => `Plan of ${jobName(all)} · haul plan`};
})();

/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// One phase: its verdict, its figures, its charts and tables.
const phase = (() => {
	const ACCOUNTS = ['compute', 'open', 'first_byte', 'transfer', 'queue', 'ranks', 'decode', 'generate', 'copy', 'checkpoint', 'haul'];
	// Lists of objects that have a place of their own; all others are shown as tables under their names.
	const PLACED = ['targets', 'failures', 'epochs', 'evaluations', 'sets', 'verdict', 'doubts', 'mlperf_figures', 'mlperf_criteria'];

	function title(p, file) {
		const run = file.runs > 1 ? `run ${p.run}, ` : '';
		const extra = (p.warmup ? ', warm-up' : '') + (p.together && p.together.alone ? ', alone' : '');
		return `${run}${p.name}${p.name === p.kind ? '' : ` (${p.kind})`}${extra}${p.sweep ? ` · ${p.sweep}` : ''}`;
	}

	// told: the verdict stands elsewhere on the page.
	function element(p, file, told = false) {
		const parts = [told ? () => [] : verdict, head, cards, targets, mlperf, accounts, utilisation, timeline, steps, latencies, spread, client, residency,
			tables, failures, all];
		return dom.element('div', null, parts.map(part => part(p, file)).flat());
	}

	const statusWords = {
		done: null, limit: 'It ended at its limit of time.', ended: 'It ended with a phase beside it.',
		running: 'It was still running when it was last published.', interrupted: 'It was interrupted.', failed: 'It failed.',
	};

	// What the verdict says beside the first sentence of the page.
	const rest = p => p.verdict.slice(1).map(line => dom.element('p', null, line));

	const verdict = p => p.verdict.map((line, i) => dom.element('p', {class: i ? null : 'verdict'}, line));

	function head(p) {
		const status = p.status in statusWords ? statusWords[p.status] : p.status;
		return [
			// A phase that ends at its limit, or with one beside it, has done what it was asked for.
			status ? dom.element('p', {class: ['limit', 'ended'].includes(p.status) ? 'muted' : 'bad'}, status) : null,
			p.error ? dom.element('p', {class: 'bad'}, p.error) : null,
			p.said ? dom.element('p', null, p.said) : null,
		];
	}

	function card(label, value, kind) {
		return format.known(value)
			? dom.element('div', null, dom.element('dt', null, label), dom.element('dd', {'data-value': value}, format[kind](value)))
			: null;
	}

	// Rates of a phase, of which the first is the one that it is judged by.
	function ratesOf(rates) {
		const all = [['bytes_per_second', 'rate', 'bytes per second'], ['samples_per_second', 'number', `${rates.items || 'samples'} per second`],
			['operations_per_second', 'number', 'operations per second']].map(([key, kind, what]) => ({key, kind, what, value: rates[key]}));
		return all.sort((a, b) => (b.key === rates.main) - (a.key === rates.main));
	}

	function cards(p) {
		const {rates} = p;
		return dom.element('dl', {class: 'cards'}, [
			card('AU of all ranks', rates.au, 'share'),
			...ratesOf(rates).map(one => card(one.what, one.value, one.kind)),
			card(rates.latency ? `p99 of ${format.words(rates.latency)}` : 'p99', rates.p99_ns, 'ns'),
			card('time', p.seconds, 'seconds'),
			card('read', p.bytes_read, 'bytes'),
			card('written', p.bytes_written, 'bytes'),
			card('from the page cache', rates.cached_share, 'share'),
			card('of the ceiling', p.ceiling && p.ceiling.share, 'share'),
			card('failed requests', p.errors, 'count'),
			card('retries', p.retries, 'count'),
		].filter(one => one));
	}

	const unitKinds = {fraction: 'share', ns: 'ns', 'B/s': 'rate', '1/s': 'frequency'};
	const inUnit = (unit, number) => format[unitKinds[unit] || 'number'](number);
	const judged = one => dom.element('span', {class: one.state === 'unanswered' ? 'muted' : one.met ? 'good' : 'bad'},
		one.state === 'unanswered' ? 'neither met nor missed' : one.met ? 'met' : 'missed');

	function targets(p) {
		if (!p.targets.length)
			return null;
		return [dom.element('h3', null, 'Targets'), table.plain(['target', 'asked', 'found', ''], p.targets.map(target => [
			target.label, `${target.bound === 'most' ? 'at most' : 'at least'} ${inUnit(target.unit, target.asked)}`,
			inUnit(target.unit, target.found), judged(target)]))];
	}

	// What MLPerf's key-value cache benchmark would report of a phase, and its criteria.
	function mlperf(p) {
		const figures = p.mlperf_figures || [], criteria = p.mlperf_criteria || [];
		return [
			figures.length ? [dom.element('h3', null, "MLPerf's figures"),
				table.plain(["MLPerf's name", 'unit', 'as MLPerf counts', 'all ranks together', 'what differs'], figures.map(one => [
					one.name, one.unit, format.number(one.mlperf), format.number(one.haul), one.note]), [0, 1, 4])] : [],
			criteria.length ? [dom.element('h3', null, "MLPerf's criteria"),
				dom.element('p', null, 'They are no part of its score.'),
				table.plain(['criterion', 'asked', 'found', ''], criteria.map(one => [
					`${one.name}${one.device ? ' (device)' : ''}`,
					`${one.bound === 'most' ? 'below' : 'above'} ${inUnit(one.unit, one.asked)}`, inUnit(one.unit, one.found), judged(one)]))] : [],
		].flat();
	}

	// The rows of by_rank or by_node as the x of a chart.
	function places(rows, what) {
		const per = rows[what === 'rank' ? 'ranks_per_row' : 'nodes_per_row'];
		const values = rows[what].map((value, i) => what === 'rank' ? value : i * per);
		return {
			label: what, kind: 'count', whole: true, step: per, values,
			text: i => per > 1 ? `${rows.ranks[i]} ranks from rank ${rows.rank[i]}` : `${what} ${format.count(values[i])}`,
		};
	}

	function perRow(rows, what) {
		const per = rows[what === 'rank' ? 'ranks_per_row' : 'nodes_per_row'];
		return per > 1 ? `Each value is the average of ${per} ${what}s.` : null;
	}

	function accounts(p) {
		const rows = p.by_rank;
		if (!rows || !rows.accounts)
			return null;
		const names = [...ACCOUNTS.filter(name => name in rows.accounts), ...Object.keys(rows.accounts).filter(name => !ACCOUNTS.includes(name))];
		const made = names.filter(name => rows.accounts[name].some(value => value > 0)).map(name => ({
			label: format.words(name), values: rows.accounts[name], color: name, style: 'bars'}));
		return chart.group('Where the time of each rank went',
			chart.draw({title: 'Time accounts', note: perRow(rows, 'rank'), x: places(rows, 'rank'), y: {kind: 'seconds'}, series: made, stacked: true}),
			p.by_node && p.by_node.accounts ? chart.draw({
				title: 'Time accounts, average of each node', note: perRow(p.by_node, 'node'), x: places(p.by_node, 'node'), y: {kind: 'seconds'},
				series: names.map(name => ({label: format.words(name), values: p.by_node.accounts[name], color: name, style: 'bars'}))
					.filter(one => one.values.some(value => value > 0)),
				stacked: true,
			}) : null);
	}

	function utilisation(p) {
		const rows = p.epochs.filter(row => row.au !== undefined);
		if (!rows.length)
			return null;
		const numbers = rows.map((row, i) => row.epoch === undefined ? i + 1 : row.epoch);
		const target = p.targets.find(one => one.name === 'target_au');
		const differ = rows.some(row => format.known(row.au_min));
		const note = [differ ? 'A bar leads from the least AU of a rank to the greatest.' : null, leftOut(p, 'epochs')].filter(one => one).join(' ');
		return chart.group('Epochs',
			chart.draw({
				title: 'AU of each epoch', note: note || null, x: {label: 'epoch', kind: 'count', whole: true, values: numbers},
				y: {kind: 'share', max: 1}, levels: target ? [{at: target.asked, label: 'target'}] : [],
				series: [{label: 'AU', values: rows.map(row => row.au), style: 'points',
					...(differ ? {low: rows.map(row => row.au_min), high: rows.map(row => row.au_max)} : {})}],
			}),
			chart.draw({
				title: 'Time of each epoch', x: {label: 'epoch', kind: 'count', whole: true, values: numbers}, y: {kind: 'seconds'},
				series: [{label: 'seconds', values: rows.map(row => row.seconds ?? null), style: 'points', color: 'line-2'}],
			}));
	}

	const leftOut = (p, name) => p.left_out && p.left_out[name] ? `${format.count(p.left_out[name])} more are not on this page.` : null;

	function timeline(p) {
		const t = p.timeline;
		if (!t)
			return null;
		const x = {label: 'time', kind: 'seconds', values: t.time_s};
		const note = `Each point is the average of ${format.seconds(t.interval_s)}.`;
		const some = values => values && values.some(value => value > 0) ? values : null;
		return chart.group('Over time',
			chart.draw({title: 'Bandwidth of all ranks', note, x, y: {kind: 'rate'}, series: [
				{label: 'read', values: some(t.bytes_read_per_second)},
				{label: 'written', values: some(t.bytes_written_per_second), color: 'line-2'}]}),
			chart.draw({title: 'Ranks that waited for storage', note, x, y: {kind: 'number'}, series: [
				{label: 'ranks', values: some(t.ranks_stalled), color: 'line-4'}]}),
			chart.draw({title: 'Operations of all ranks', note, x, y: {kind: 'frequency'}, series: [
				{label: 'operations', values: some(t.operations_per_second), color: 'line-3'}]}));
	}

	function steps(p) {
		const s = p.steps;
		if (!s)
			return null;
		const x = {label: 'step', kind: 'count', whole: true, values: s.step};
		const note = s.steps_per_row > 1 ? `Each point is ${format.count(s.steps_per_row)} steps.` : null;
		return chart.group('Steps',
			chart.draw({title: 'A step on average over the ranks', note, x, y: {kind: 'ns'}, series: [
				{label: 'load', values: s.load_ns, color: 'line-2'},
				{label: 'compute', values: s.compute_ns, color: 'line-3'},
				{label: 'other ranks', values: s.ranks_ns, color: 'line-1'}]}),
			chart.draw({title: 'The longest wait for a batch', note, x, y: {kind: 'ns'}, series: [
				{label: 'longest load', values: s.load_max_ns, color: 'line-2'}]}));
	}

	function latency(name, p) {
		const {edges, counts} = p.distribution_ns[name], figures = p.latency_ns[name] || {};
		return chart.draw({
			title: `Latency: ${format.words(name)}`, note: `${format.count(figures.count)} requests; the scale of time is logarithmic.`,
			x: {
				label: 'between', kind: 'ns', log: true, values: edges.map(edge => Math.max(edge, 1)),
				text: i => `${format.ns(edges[i])} and ${format.ns(edges[i + 1])}`,
			},
			y: {kind: 'count'},
			series: [{label: 'requests', values: [...counts, 0], style: 'steps'}],
			marks: [['p50', 'p50'], ['p95', 'p95'], ['p99', 'p99'], ['p999', 'p99.9'], ['max', 'max']]
				.map(([key, label]) => ({at: Math.max(figures[key], 1), label})),
		});
	}

	function latencies(p) {
		const names = Object.keys(p.distribution_ns).sort((a, b) => p.latency_ns[b].count - p.latency_ns[a].count);
		if (!names.length)
			return null;
		const columns = [['p50', 'p50'], ['p95', 'p95'], ['p99', 'p99'], ['p999', 'p99.9'], ['p9999', 'p99.99'], ['max', 'max'], ['mean', 'mean']];
		const few = names.slice(0, 4), rest = names.slice(4);
		return [
			chart.group('Latencies', few.map(name => latency(name, p))),
			rest.length ? dom.later(`${rest.length} more distributions`, null, () => dom.element('div', {class: 'charts'}, rest.map(name => latency(name, p)))) : null,
			table.plain(['latency of', 'requests', ...columns.map(column => column[1])], names.map(name => [
				format.words(name), format.count(p.latency_ns[name].count), ...columns.map(([key]) => format.ns(p.latency_ns[name][key]))])),
		];
	}

	function spreadOf(rows, what) {
		if (!rows || rows.rank.length < 2)
			return [];
		const x = places(rows, what), note = perRow(rows, what), folded = note !== null || what === 'node';
		const two = (mean, worst, words) => [{label: folded ? 'average' : words, values: rows[mean], style: 'points'},
			...(folded ? [{label: 'worst rank', values: rows[worst], style: 'points', color: 'line-2'}] : [])];
		return [
			chart.draw({title: `AU by ${what}`, note, x, y: {kind: 'share', max: 1}, series: two('au', 'au_min', 'AU')}),
			chart.draw({title: `Wait for storage by ${what}`, note, x, y: {kind: 'seconds'}, series: two('storage_wait_s', 'storage_wait_s_max', 'wait')}),
			chart.draw({title: `Bytes per second by ${what}`, note: what === 'node' ? 'Average of the ranks of the node.' : note, x, y: {kind: 'rate'},
				series: two('bytes_per_second', 'bytes_per_second_min', 'bytes per second')}),
			chart.draw({title: `p99 by ${what}`, note, x, y: {kind: 'ns'}, series: [{label: folded ? 'worst p99' : 'p99', values: rows.p99_ns, style: 'points'}]}),
		];
	}

	const slowKinds = {storage_wait_s: 'seconds', p99_ns: 'ns', bytes_per_second: 'rate'};

	function slow(p) {
		if (!p.slow)
			return p.by_rank && p.by_rank.rank.length > 1 ? dom.element('p', null, 'No rank and no node stands out from the others.') : null;
		return [
			dom.element('p', null, `${format.count(p.slow.units.length)} ${p.slow.units.length === 1 ? 'rank or node is' : 'ranks or nodes are'} slower than the others. ${leftOut(p.slow, 'units') || ''}`),
			table.plain(['who', 'measure', 'its value', 'median of all', 'named beyond'], p.slow.units.flatMap(unit =>
				Object.entries(unit.measures).filter(([, one]) => one.beyond).map(([name, one]) => [
					unit.who, format.words(name), ...[one.value, one.median, one.limit].map(format[slowKinds[name] || 'number'])])), [0, 1]),
		];
	}

	function spread(p) {
		const charts = chart.group('Ranks and nodes', spreadOf(p.by_rank, 'rank'), spreadOf(p.by_node, 'node'));
		return charts ? [charts, slow(p)].flat() : null;
	}

	function client(p) {
		if (!p.client)
			return null;
		const {nodes} = p.client;
		const first = ['host', 'node', 'cores_busy', 'haul', 'steal', 'iowait'];
		const shares = ['cores_busy', 'haul', 'steal', 'iowait', 'cpu_waited', 'cpu_throttled', 'memory_stalled', 'dirty_limited', 'sampler'];
		const rows = nodes.map(node => Object.fromEntries(Object.entries(node).filter(([name]) => name !== 'while_waiting')
			.map(([name, value]) => [name, shares.includes(name) ? format.share(value) : value])));
		return [
			dom.element('h3', null, 'The machines that ran the ranks'),
			dom.element('p', null, p.client.limit ? `The client was the limit: ${p.client.limit}.` : 'The client was not the limit.'),
			p.client.said.map(line => dom.element('p', null, line)),
			dom.later(`${format.count(nodes.length)} node${nodes.length === 1 ? '' : 's'}`, null, () => table.objects(rows, first)),
		].flat();
	}

	// Evidence that the bytes came from storage.
	function residency(p) {
		const found = Object.entries({...p.figures, ...p.measures}).filter(([name, value]) => /cached|resident|evict/.test(name) && value !== null);
		if (!found.length)
			return null;
		return [dom.element('h3', null, 'Did the bytes come from storage?'),
			dom.element('p', null, format.known(p.rates.cached_share)
				? `${format.share(p.rates.cached_share)} of the bytes that were looked at were in the page cache of the client before they were read.`
				: 'What the page cache of the client held is not known.'),
			table.pairs(Object.fromEntries(found))];
	}

	function tables(p) {
		const made = [];
		for (const [name, rows] of Object.entries(p)) {
			if (!Array.isArray(rows) || !rows.length || typeof rows[0] !== 'object' || PLACED.includes(name))
				continue;
			const words = format.words(name);
			made.push(dom.element('h3', null, words[0].toUpperCase() + words.slice(1)), table.objects(rows, ['name']));
			if (leftOut(p, name))
				made.push(dom.element('p', {class: 'muted'}, leftOut(p, name)));
		}
		for (const name of ['epochs', 'evaluations'])
			if (p[name] && p[name].length)
				made.push(dom.later(`All figures of ${name}`, null, () => table.objects(p[name], ['epoch', 'au', 'seconds'])));
		return made;
	}

	function failures(p) {
		if (!p.failures.length)
			return p.errors > 0 ? dom.element('p', {class: 'bad'}, `${format.count(p.errors)} requests failed.`) : null;
		return [dom.element('h3', null, 'Requests that failed'),
			dom.element('p', {class: 'bad'}, `${format.count(p.errors)} failed; these were the first. ${leftOut(p, 'failures') || ''}`),
			table.objects(p.failures, ['seconds', 'host', 'rank', 'operation', 'object', 'text'])];
	}

	function all(p) {
		return dom.later('All figures of this phase', null, () => table.pairs({...p.figures, ...p.measures}));
	}

	return {element, rest, title};
})();

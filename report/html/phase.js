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

	// told: the part that stands on the first screen, with the verdict; null: none does.
	function element(p, file, told = null) {
		const made = [told === null ? verdict : () => [], head, cards, targets, mlperf, accounts, utilisation, timeline, durations, steps, latencies, spread,
			client, residency, tables, failures, all];
		return dom.element('div', null, made.map(part => part(p, told)).flat());
	}

	const statusWords = {
		done: null, limit: 'It ended at its limit of time.', ended: 'It ended with a phase beside it.',
		running: 'It was still running when it was last published.', interrupted: 'It was interrupted.', failed: 'It failed.',
	};

	// What the verdict says beside the first sentence of the page.
	const rest = p => p.verdict.slice(1).map(line => dom.element('p', null, line));

	const verdict = p => p.verdict.map((line, i) => dom.element('p', {class: i ? null : 'verdict'}, line));

	function head(p, told) {
		const status = p.status in statusWords ? statusWords[p.status] : p.status;
		return [
			// A phase that ends at its limit, or with one beside it, has done what it was asked for.
			status ? dom.element('p', {class: ['limit', 'ended'].includes(p.status) ? 'muted' : 'bad'}, status) : null,
			p.error && told === null ? dom.element('p', {class: 'bad'}, p.error) : null,
			p.said ? dom.element('p', null, p.said) : null,
		];
	}

	function card(label, value, kind) {
		return format.known(value)
			? dom.element('div', null, dom.element('dt', null, label), dom.element('dd', {'data-value': value}, format[kind](value)))
			: null;
	}

	// A rate of 0 says that a phase does not do such a thing, unless it is judged by it.
	const RATES = {bytes_per_second: 'rate', samples_per_second: 'number', operations_per_second: 'number'};
	const rateOf = (p, key) => p.rates[key] === 0 && p.rates.main !== key ? null : p.rates[key];
	// The cell of a column of the table of phases.
	function shown(p, {path, kind}) {
		const value = path.split('.').reduce((at, key) => at === null || at === undefined ? null : at[key], p);
		const key = path.replace('rates.', '');
		return kind === 'text' ? value : format[kind](key in RATES ? rateOf(p, key) : value);
	}

	// Rates of a phase, of which the first is the one that it is judged by.
	function ratesOf(p) {
		const {rates} = p, words = {samples_per_second: `${rates.items || 'samples'} per second`};
		const all = Object.entries(RATES).map(([key, kind]) => ({key, kind, what: words[key] || format.words(key), value: rateOf(p, key)}));
		// Operations that are counted under another name are told once.
		const told = all.filter(one => one.key !== 'samples_per_second' || one.value !== rates.operations_per_second);
		return told.sort((a, b) => (b.key === rates.main) - (a.key === rates.main));
	}

	const unlessZero = value => value > 0 ? value : null;

	function cards(p) {
		const {rates} = p;
		return dom.element('dl', {class: 'cards'}, [
			card('AU of all ranks', rates.au, 'share'),
			...ratesOf(p).map(one => card(one.what, one.value, one.kind)),
			card(rates.latency ? `p99 of ${format.words(rates.latency)}` : 'p99', rates.p99_ns, 'ns'),
			card('time', p.seconds, 'seconds'),
			card('read', unlessZero(p.bytes_read), 'bytes'),
			card('written', unlessZero(p.bytes_written), 'bytes'),
			card('from the page cache', rates.cached_share, 'share'),
			card('of the ceiling', p.ceiling && p.ceiling.share, 'share'),
			card('failed requests', p.errors, 'count'),
			card('retries', unlessZero(p.retries), 'count'),
		].filter(one => one));
	}

	const unitKinds = {fraction: 'share', ns: 'ns', 'B/s': 'rate', '1/s': 'frequency'};
	const inUnit = (unit, number) => format[unitKinds[unit] || 'number'](number);
	const judged = one => dom.element('span', {class: one.state === 'unknown' ? 'muted' : one.met ? 'good' : 'bad'},
		one.state === 'unknown' ? 'neither met nor missed' : one.met ? 'met' : 'missed');

	function targets(p) {
		if (!p.targets.length)
			return null;
		return [dom.element('h3', null, 'Targets'), table.plain(['target', 'asked', 'found', ''], p.targets.map(target => [
			target.label, `${target.bound === 'most' ? 'at most' : 'at least'} ${format.mark(unitKinds[target.unit] || 'number', target.asked)}`,
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

	// The accounts that took time, in the order in which they are stacked.
	function accountsOf(values) {
		const names = [...ACCOUNTS.filter(name => name in values), ...Object.keys(values).filter(name => !ACCOUNTS.includes(name))];
		return names.filter(name => values[name].some(value => value > 0)).map(name => ({label: format.words(name), values: values[name], color: name, style: 'bars'}));
	}

	const accountsOver = (rows, what, title) => rows && rows.accounts
		? chart.draw({title, note: perRow(rows, what), x: places(rows, what), y: {kind: 'seconds'}, series: accountsOf(rows.accounts), stacked: true}) : null;

	function accounts(p, told) {
		return chart.group('Where the time of each rank went', told === 'accounts' ? null : parts.accounts(p),
			accountsOver(p.by_node, 'node', 'Time accounts, average of each node'));
	}

	// AU of each epoch, above the shares that the accounts have of its time.
	function epochs(p) {
		const rows = p.epochs.filter(row => row.au !== undefined);
		if (!rows.length)
			return null;
		const numbers = rows.map((row, i) => row.epoch === undefined ? i + 1 : row.epoch);
		const target = p.targets.find(one => one.name === 'target_au');
		const differ = rows.some(row => format.known(row.au_min) && row.au_max > row.au_min);
		const whole = rows.map(row => ACCOUNTS.reduce((sum, name) => sum + (row[`${name}_ns`] || 0), 0));
		const shares = Object.fromEntries(ACCOUNTS.map(name => [name, rows.map((row, i) => whole[i] ? (row[`${name}_ns`] || 0) / whole[i] : 0)]));
		const note = ['Bars: where the time of the ranks went. AU leaves out warm-up steps.', differ ? 'Its bar leads from the least AU of a rank to the greatest.' : null,
			leftOut(p, 'epochs')].filter(one => one).join(' ');
		return chart.draw({
			title: `${p.name}: AU of each epoch`, note, x: {label: 'epoch', kind: 'count', whole: true, values: numbers},
			y: {kind: 'share', max: 1}, levels: target ? [{at: target.asked, label: 'target'}] : [], stacked: true,
			series: [...accountsOf(shares), {label: 'AU', values: rows.map(row => row.au), style: 'points', color: 'au',
				...(differ ? {low: rows.map(row => row.au_min), high: rows.map(row => row.au_max)} : {})}],
		});
	}

	function utilisation(p, told) {
		const rows = p.epochs.filter(row => row.au !== undefined);
		const numbers = rows.map((row, i) => row.epoch === undefined ? i + 1 : row.epoch);
		return chart.group('Epochs', told === 'epochs' ? null : epochs(p),
			chart.draw({
				title: 'Time of each epoch', x: {label: 'epoch', kind: 'count', whole: true, values: numbers}, y: {kind: 'seconds'},
				series: [{label: 'seconds', values: rows.map(row => row.seconds ?? null), style: 'points', color: 'line-2'}],
			}));
	}

	const leftOut = (p, name) => p.left_out && p.left_out[name] ? `${format.count(p.left_out[name])} more are not on this page.` : null;

	// A single point tells nothing over time, and on the first screen two tell little.
	const LEAST = 2, LEAST_ALONE = 3;
	const some = values => values && values.some(value => value > 0) ? values : null;

	function overTime(p, title, kind, list) {
		const t = p.timeline;
		if (!t || t.time_s.length < LEAST)
			return null;
		return chart.draw({title, note: `Each point is the average of ${format.mark('seconds', t.interval_s)}.`, x: {label: 'time', kind: 'seconds', values: t.time_s}, y: {kind},
			series: list.map(([label, key, color]) => ({label, values: some(t[key]), color}))});
	}

	const bandwidth = p => overTime(p, 'Bandwidth of all ranks', 'rate', [['read', 'bytes_read_per_second', 'line-1'], ['written', 'bytes_written_per_second', 'line-2']]);
	const operations = p => overTime(p, 'Operations of all ranks', 'frequency', [['operations', 'operations_per_second', 'line-3']]);

	function timeline(p, told) {
		return chart.group('Over time', told === 'bandwidth' ? null : bandwidth(p),
			overTime(p, 'Ranks that waited for storage', 'number', [['ranks', 'ranks_stalled', 'line-4']]), told === 'operations' ? null : operations(p));
	}

	// Durations of what a phase did several times: a row each, of which columns are times.
	const FEW_ROWS = 6;

	function durationsOf(p, list, what, columns, title) {
		const rows = p[list] || [], there = columns.filter(([key]) => rows.some(row => row[key] > 0));
		if (!there.length)
			return null;
		const note = leftOut(p, list);
		const named = (row, label) => there.length > 1 ? `${what} ${row[what]}: ${label}` : `${what} ${row[what]}`;
		return rows.length <= FEW_ROWS
			? bars.draw({title, note, kind: 'ns', rows: there.flatMap(([key, label, color]) => rows.map(row => ({label: named(row, label), value: row[key], color})))})
			: chart.draw({title, note, x: {label: what, kind: 'count', whole: true, values: rows.map(row => row[what])}, y: {kind: 'ns'},
				series: there.map(([key, label, color]) => ({label, values: rows.map(row => row[key]), color, style: 'points'}))});
	}

	const checkpoints = p => durationsOf(p, 'checkpoints', 'checkpoint', [['write_ns', 'write', 'line-2'], ['read_ns', 'read', 'line-1']], `${p.name}: how long each checkpoint took`);
	const loads = p => durationsOf(p, 'loads', 'load', [['load_ns', 'load', 'line-1']], `${p.name}: how long each load took`);

	function durations(p, told) {
		return chart.group('Durations', told === 'checkpoints' ? null : checkpoints(p), told === 'loads' ? null : loads(p));
	}

	// The latencies that the question of a kind is about, where they are not those of its p99.
	const REQUESTS = {kvcache: ['ttft', 'request']};
	const PERCENTILES = [['p50', 'p50'], ['p95', 'p95'], ['p99', 'p99'], ['p999', 'p99.9'], ['max', 'max']];

	const requests = p => [...REQUESTS[p.kind] || [], p.rates.latency].find(one => one && p.latency_ns[one] && p.latency_ns[one].count);

	function percentiles(p) {
		const name = requests(p);
		if (!name)
			return null;
		const found = p.latency_ns[name], target = p.targets.find(one => one.unit === 'ns');
		return bars.draw({
			title: `${p.name}: latency of ${format.words(name)}`, note: `${format.count(found.count)} request${found.count === 1 ? '' : 's'}.`, kind: 'ns',
			rows: PERCENTILES.map(([key, label]) => ({label, value: found[key], color: target && label === percentileOf(target) ? target.state === 'met' ? 'line-3' : 'line-2' : 'line-1',
				strong: Boolean(target) && label === percentileOf(target)})),
			level: target ? {at: target.asked, label: `the target: ${target.label} at most ${format.mark('ns', target.asked)}`} : null,
		});
	}

	// "p95" of "95th percentile of requests"
	const percentileOf = target => `p${(target.label.match(/^[\d.]+/) || [''])[0]}`;

	// Latencies where the phase is asked for them: it has a target of a time.
	const against = p => p.targets.some(one => one.unit === 'ns') ? percentiles(p) : null;

	const whenLong = made => p => p.timeline && p.timeline.time_s.length >= LEAST_ALONE ? made(p) : null;

	// What can stand alone on the first screen.
	const parts = {
		epochs, bandwidth: whenLong(bandwidth), operations: whenLong(operations), checkpoints, loads, percentiles, against,
		accounts: p => accountsOver(p.by_rank, 'rank', 'Time accounts'),
	};

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
			title: `Latency: ${format.words(name)}`, note: `${format.count(figures.count)} request${figures.count === 1 ? '' : 's'}; the scale of time is logarithmic.`,
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
		// Calls that took no time have no distribution.
		const took = names.filter(name => p.latency_ns[name].max > 0), few = took.slice(0, 4), rest = took.slice(4);
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

	return {element, parts, requests, rest, shown, title};
})();

/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// Several runs: repeats, the combinations of a sweep, files of different sizes, and comparisons.
const series = (() => {
	const FIGURES = [
		['bytes_per_second', 'Bytes per second', 'rate'], ['au', 'AU', 'share'], ['samples_per_second', 'Samples per second', 'number'],
		['operations_per_second', 'Operations per second', 'number'], ['p99_ns', 'p99', 'ns'],
	];

	const FEW_PAIRS = 3, FEW_BARS = 12;

	const interval = (stats, kind) => format.known(stats.ci95_low)
		? `${format[kind](stats.mean)} (${format[kind](stats.ci95_low)} to ${format[kind](stats.ci95_high)})` : format[kind](stats.mean);

	// Rows of one phase over the combinations, without the figure that has been told. Few are told by their names.
	function sweep(name, rows, told) {
		const note = rows.some(row => row.repeats > 1) ? 'Means of the repeats, with their 95 % interval.' : null;
		const x = {label: 'combination', kind: 'count', whole: true, values: rows.map(row => row.combination), text: i => rows[i].sweep || 'all'};
		return chart.group(`Combinations: ${name}`, FIGURES.filter(([key]) => key !== told).map(([key, title, kind]) => rows.length <= FEW_BARS
			? bars.draw({title, note, kind, rows: rows.map(row => ({label: row.sweep || 'all', value: row[key].mean, low: row[key].ci95_low, high: row[key].ci95_high}))})
			: chart.draw({title, note, x, y: {kind, ...(kind === 'share' ? {max: 1} : {})},
				series: [{label: title, values: rows.map(row => row[key].mean), low: rows.map(row => row[key].ci95_low), high: rows.map(row => row[key].ci95_high), style: 'points'}]})));
	}

	// The runs of one phase, in the order in which they were taken: a drift shows here.
	function runs(name, phases) {
		const x = {label: 'run', kind: 'count', whole: true, values: phases.map(p => p.run), text: i => `${phases[i].run}${phases[i].warmup ? ' (warm-up)' : ''} ${phases[i].sweep}`};
		return chart.group(`Runs: ${name}`, FIGURES.slice(0, 3).map(([key, title, kind]) => chart.draw({
			title, x, y: {kind, ...(kind === 'share' ? {max: 1} : {})}, series: [{label: title, values: phases.map(p => p.rates[key]), style: 'points'}],
		})));
	}

	function byName(list, name) {
		const groups = new Map();
		for (const one of list)
			groups.set(name(one), [...groups.get(name(one)) || [], one]);
		return [...groups];
	}

	// Rows of the phases: of a search those of its values in their order, or of its settings, the best first.
	function ordered(file) {
		const {find, tune, series: rows} = file, phases = [...new Set(rows.map(row => row.phase))];
		const ranks = new Map((tune ? tune.settings : []).map((row, i) => [row.combination, i]));
		const place = row => find ? Number(valueOf(row.sweep)) : ranks.has(row.combination) ? ranks.get(row.combination) : ranks.size;
		return !find && !tune ? rows : [...rows].sort((a, b) => phases.indexOf(a.phase) - phases.indexOf(b.phase) || place(a) - place(b));
	}

	function statistics(rows) {
		return table.filled(['phase', 'combination', 'repeats', ...FIGURES.map(figure => figure[1]), 'CV of bytes per second'], rows.map(row => [
			row.phase, row.sweep || format.nothing, format.count(row.repeats), ...FIGURES.map(([key, , kind]) => interval(row[key], kind)), format.share(row.bytes_per_second.cv)]), [0, 1]);
	}

	// Runs that were not repeated are combinations, which are told.
	const repeated = (file, name) => file.series.some(row => row.phase === name && row.repeats > 1);

	// told: the phase and the figure that the first chart has ranked.
	function ofFile(file, told) {
		if (!(file.runs > 1) || !file.series)
			return null;
		const all = ordered(file), groups = byName(all, row => row.phase);
		return [dom.element('h2', null, 'Series of runs'),
			dom.element('p', null, 'Means of the finished repeats, with their 95 % interval where there are several.'),
			statistics(all),
			groups.map(([name, rows]) => rows.length > 1 && rows.some(row => row.sweep) ? sweep(name, rows, told && told.phase === name ? told.key : null) : null),
			byName(file.phases, p => p.name).map(([name, phases]) => phases.length > 1 && repeated(file, name) ? runs(name, [...phases].sort((a, b) => a.run - b.run)) : null),
		].flat(3);
	}

	const findKind = find => ({fraction: 'share', ns: 'ns', s: 'seconds', 'B/s': 'rate', '1/s': 'frequency'}[find.unit] || 'number');
	const bounded = (kind, value) => format.known(value) ? Math.min(Math.max(value, 0), kind === 'share' ? 1 : Infinity) : value;

	// The value that is the answer, where its claim is held; of a search that was stopped, the greatest that is sure. null: there is none.
	const answerOf = find => find.claim !== 'held' ? null : find.end === 'found' ? {at: find.carries, label: `found: ${format.count(find.carries)}`} : {at: find.least, label: `at least ${format.count(find.least)}`};

	// First tokens of a server at each value of a search, beside the percentile that was asked for: means over its runs.
	function firstTokens(find, phases, key) {
		const values = find.steps.map(step => {
			const taken = phases.filter(p => p.name === find.phase && p.latency_ns && p.latency_ns.ttft && p.sets.includes(`${find.path}=${step.value}`)).map(p => p.latency_ns.ttft[key]);
			return taken.length ? taken.reduce((sum, one) => sum + one, 0) / taken.length : null;
		});
		return values.every(format.known) ? [{label: `${key} of first tokens`, values}] : [];
	}

	// The curve of a search, with the target and the value that was found.
	function curve(find, phases) {
		const kind = findKind(find), each = key => find.steps.map(step => step[key]), bound = value => bounded(kind, value), found = answerOf(find);
		if (!find.steps.length)
			return null;
		return chart.draw({
			title: `${find.label} by ${find.path}`, note: `With the 99 % interval of the mean, by which each value is judged.${found ? ` ${found.label[0].toUpperCase()}${found.label.slice(1)}.` : ''}`,
			x: {label: find.path, kind: 'count', whole: true, log: find.steps.length > 1 && each('value')[0] > 0, ticks: true, values: each('value')},
			y: {kind, ...(kind === 'share' ? {max: 1} : {})}, levels: [{at: find.asked, label: 'target'}],
			marks: found ? [found] : [],
			series: [{label: find.label, values: each('mean'), low: each('low').map(bound), high: each('high').map(bound)}, ...(kind === 'ns' ? ['p50', 'p99'].flatMap(key => firstTokens(find, phases, key)) : [])],
		});
	}

	function search(file) {
		const find = file.find;
		if (!find || !find.steps.length)
			return null;
		const kind = findKind(find), write = format[kind];
		const steps = find.steps.map(step => [format.count(step.value), write(step.mean),
			format.known(step.low) ? `${write(bounded(kind, step.low))} to ${write(bounded(kind, step.high))}` : format.nothing, step.state, format.count(step.repeats)]);
		return [dom.element('h2', null, `${find.label} by ${find.path}`), table.plain([find.path, find.label, '99 % interval', 'target', 'repeats'], steps, [3])];
	}

	const VERDICTS = {best: 'best', tied: 'not shown to differ from the best', worse: 'worse', open: 'not judged', 'left out': 'cannot run'};
	const MOST_SETTINGS = 10;
	const verdict = row => `${VERDICTS[row.state] || `lost round ${row.rounds}`}${row.as_is ? ': the job as it is' : ''}`;
	const pathOf = set => set.slice(0, set.indexOf('=')), valueOf = set => set.slice(set.indexOf('=') + 1);
	const tunedPaths = tune => (tune.settings.find(row => row.sets.length) || {sets: []}).sets.map(pathOf);

	// Two settings: a cell for each combination of their values, coloured the more, the nearer to the best.
	function heat(tune, paths) {
		const rows = tune.settings.filter(row => row.sets.length === 2).sort((a, b) => a.combination - b.combination);
		const values = i => [...new Set(rows.map(row => valueOf(row.sets[i])))];
		const at = new Map(rows.map(row => [row.sets.map(valueOf).join('\t'), row])), best = tune.settings[0].mean;
		const share = mean => !format.known(mean) || !(best > 0) || !(mean > 0) ? 0 : Math.min(tune.less ? best / mean : mean / best, 1);
		const cell = row => {
			const made = dom.element('td', {class: `heat${row && row.state === 'best' ? ' best' : ''}`, title: row ? verdict(row) : null},
				!row ? format.nothing : row.state === 'left out' ? 'cannot run' : format[findKind(tune)](row.mean),
				!row ? null : row.state === 'best' ? ' ★' : row.as_is ? ' (as it is)' : null);
			made.style.setProperty('--share', `${Math.round(50 * share(row && row.mean))}%`);
			return made;
		};
		return dom.element('figure', null,
			dom.element('figcaption', null, `${tune.phase}: ${tune.label || 'what was found'} by ${paths.join(' and ')}`,
				dom.element('span', null, 'The stronger the colour, the nearer to the best. Runs of early rounds were shorter than those of the final.')),
			dom.element('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'map'}, dom.element('table', null,
				dom.element('thead', null, dom.element('tr', null, dom.element('th', {class: 'text'}, `${paths[0]} ↓ ${paths[1]} →`), values(1).map(value => dom.element('th', null, value)))),
				dom.element('tbody', null, values(0).map(first => dom.element('tr', null, dom.element('th', null, first),
					values(1).map(second => cell(at.get(`${first}\t${second}`)))))))));
	}

	// One setting, or more than two: a bar for each combination, the best first.
	function settingBars(tune) {
		const shown = tune.settings.filter(row => format.known(row.mean)).slice(0, MOST_SETTINGS), rest = tune.settings.length - shown.length;
		return bars.draw({
			title: `${tune.phase}: ${tune.label || 'what was found'} of each setting, the best first`, kind: findKind(tune),
			note: rest ? `${format.count(rest)} more are below.` : null,
			rows: shown.map((row, i) => ({label: row.sets.join(', ') || 'the job as it is', value: row.mean, strong: i === 0, color: row.as_is ? 'muted' : i ? 'line-1' : 'line-3'})),
		});
	}

	function map(tune) {
		const paths = tunedPaths(tune);
		return !tune.settings.some(row => format.known(row.mean)) ? null : paths.length === 2 ? heat(tune, paths) : settingBars(tune);
	}

	// The settings of a search, the best first.
	function settings(file) {
		const tune = file.tune;
		if (!tune || !tune.settings.length)
			return null;
		const paths = tunedPaths(tune), write = format[findKind(tune)];
		const times = row => !format.known(row.times) ? format.nothing
			: `${format.number(row.times)}${format.known(row.times_low) ? ` (${format.number(row.times_low)} to ${format.number(row.times_high)})` : ''}`;
		return [dom.element('h2', null, 'All settings, the best first'),
			table.plain(['', ...paths, tune.label || 'mean', 'the best: times as good', 'repeats'], tune.settings.map(row => [
				verdict(row), ...paths.map((path, i) => row.sets[i] ? valueOf(row.sets[i]) : 'as it is'), write(row.mean), times(row), format.count(row.repeats)]), [0]),
			tune.job ? dom.element('p', null, `The job ${tune.better ? 'with the best settings' : 'as it is'}: ${tune.job}`) : null];
	}

	// What tells the series of a scaling table from each other: ways, and jobs, phases and sweeps where they differ.
	function nameOf(rows, row) {
		const differs = key => rows.some(one => one[key] !== rows[0][key]);
		return [row.way, ...['job', 'phase', 'sweep'].filter(differs).map(key => row[key])].filter(word => word).join(' · ') || row.phase;
	}

	// A line per way over the numbers of nodes, on an axis of logarithms. ideal: as if each node got what it gets on the fewest nodes of the best way.
	function scaling(rows) {
		if (!rows || rows.length < 2)
			return null;
		const nodes = [...new Set(rows.map(row => row.nodes))].sort((a, b) => a - b);
		const lines = byName(rows, row => row.series).map(([, list]) => ({label: nameOf(rows, list[0]), at: new Map(list.map(row => [row.nodes, row])), first: list[0]}));
		const several = nodes.length > 1;
		const x = {label: 'nodes', kind: 'count', log: several, ticks: several, values: nodes};
		const of = (key, title, kind, more = {}) => {
			const drawn = lines.map((one, i) => {
				const values = part => nodes.map(n => one.at.has(n) ? one.at.get(n)[key][part] : null);
				return {label: one.label, color: `line-${i % 6 + 1}`, style: several ? 'line' : 'points', values: values('mean'), low: values('ci95_low'), high: values('ci95_high')};
			});
			if (more.ideal && several) {
				const {first} = lines.reduce((best, one) => one.first[key].mean / one.first.nodes > best.first[key].mean / best.first.nodes ? one : best);
				drawn.push({label: 'ideal', color: 'other', values: nodes.map(n => n >= first.nodes ? first[key].mean * n / first.nodes : null)});
			}
			return chart.draw({title, x, y: {kind, log: more.log, ...(more.max ? {max: more.max} : {})}, series: drawn});
		};
		for (const row of rows)
			row.per_node = {mean: row.bytes_per_second_per_node, ci95_low: format.known(row.bytes_per_second.ci95_low) ? row.bytes_per_second.ci95_low / row.nodes : null,
				ci95_high: format.known(row.bytes_per_second.ci95_high) ? row.bytes_per_second.ci95_high / row.nodes : null};
		return [
			dom.element('div', {class: 'answer'}, chart.group('Scaling', of('au', 'AU', 'share', {max: 1}), of('per_node', 'Bytes per second and node', 'rate'),
				of('bytes_per_second', 'Bytes per second', 'rate', {ideal: true, log: true}), of('efficiency', "Bytes per second and node, relative to the same way's fewest nodes", 'share'))),
			table.plain(['way', 'nodes', 'ranks', 'repeats', 'bytes per second', 'per node', 'AU', 'efficiency', 'cached', 'phase', 'file'], rows.map(row => [
				nameOf(rows, row), format.count(row.nodes), format.count(row.ranks), format.count(row.repeats), interval(row.bytes_per_second, 'rate'),
				format.rate(row.bytes_per_second_per_node), interval(row.au, 'share'), format.share(row.efficiency.mean), format.share(row.cached_share), row.phase, row.file]), [0, 9, 10]),
		].flat();
	}

	const sentence = (one, plain = false) => one.sentence.trim().split('\n').map((line, i) => dom.element('p', {class: i || plain ? null : 'verdict'}, line));
	const doubts = one => one.doubts && one.doubts.length
		? dom.element('ul', {class: 'doubts'}, one.doubts.map(each => dom.element('li', {class: each.voids ? 'bad' : null}, `${each.side}: ${each.sentence}`))) : null;

	// few: the figures are open. told: the sentence and the chart stand on the first screen.
	function pair(c, one, few, told) {
		const figures = dom.later('Figures', null, () => dom.element('div', null, pairFigures(one)));
		return [
			dom.element('h3', null, `${one.phase}: ${one.a} and ${one.b}`),
			...(told ? [] : [sentence(one, true), doubts(one), answer.ofPair(c, one, true)].flat()),
			few ? dom.open(figures) : figures,
		];
	}

	// Two repeats easily have an interval of many digits, which tells nothing.
	function range(metric) {
		if (!format.known(metric.low))
			return 'one run: not judged';
		return metric.low < 0.1 && metric.high > 10 ? '0.1 to 10, or wider' : `${format.number(metric.low)} to ${format.number(metric.high)}`;
	}

	function pairFigures(one) {
		return [
			one.a_repeats > 1 || one.b_repeats > 1 ? dom.element('p', {class: 'muted'}, 'Geometric means of the repeats, whose ratio is that of the pairs.') : null,
			table.plain(['metric', one.a, one.b, `${one.a} ÷ ${one.b}`, '95 % interval or wider'], Object.entries(one.metrics)
				.filter(([, metric]) => format.known(metric.a) || format.known(metric.b))
				.map(([name, metric]) => {
					const write = format[format.kindOf(name)];
					return [format.words(name), write(metric.a), write(metric.b), format.number(metric.ratio),
						range(metric)];
				})),
			repeats(one),
		].flat();
	}

	// The values of both sides, repeat by repeat.
	function repeats(one) {
		const metric = one.metrics[one.metric || 'bytes_per_second'], name = one.metric || 'bytes_per_second';
		if (!metric || (metric.a_values.length < 2 && metric.b_values.length < 2))
			return [];
		const count = Math.max(metric.a_values.length, metric.b_values.length);
		const padded = values => Array.from({length: count}, (ignored, i) => values[i] ?? null);
		return [chart.draw({
			title: `${format.words(name)} of each repeat`, x: {label: 'repeat', kind: 'count', whole: true, values: Array.from({length: count}, (ignored, i) => i + 1)},
			y: {kind: format.kindOf(name)}, series: [{label: one.a, values: padded(metric.a_values), style: 'points'}, {label: one.b, values: padded(metric.b_values), style: 'points'}],
		})];
	}

	// The pair that is told first: of the phase that moved most, as the first sentence of the first side has it.
	function chief(c, file) {
		const about = file.phases.find(p => p.number === file.headline_phase);
		return c.pairs.find(one => about && one.phase === about.name) || c.pairs[0];
	}

	function differences(c) {
		const sides = c.sides.map(side => side.side);
		return [
			table.plain(['side', 'what'], c.sides.map(side => [side.side, side.name]), [0, 1]),
			c.differences.length ? [dom.element('h3', null, 'What differs between the sides'),
				table.plain(['about', 'what', ...sides], c.differences.map(row => [row.about, row.what, ...row.values.map(value => value === null ? format.nothing : value)]), [0, 1, ...sides.map((side, i) => i + 2)])] : null,
		].flat();
	}

	function comparison(c, file) {
		if (!c)
			return null;
		const first = chief(c, file);
		return [
			first ? [dom.element('p', {class: 'muted'}, `${first.phase}: ${c.sides.map(side => `${side.side} is ${side.name}`).join(', ')}`),
				sentence(first), doubts(first), dom.element('div', {class: 'answer'}, answer.ofPair(c, first))] : null,
			dom.element('h2', null, 'Side by side'), differences(c),
			c.pairs.map(one => pair(c, one, c.pairs.length <= FEW_PAIRS, one === first)),
		].flat(3);
	}

	// The combinations of a file beside each other, which its ranking has told already. The values of a search are not made to be
	// compared with each other.
	function combinations(file, all) {
		return all.compare && all.files.length === 1 && !file.find && !file.tune
			? dom.later('The combinations side by side', null, () => dom.element('div', null, differences(all.compare), all.compare.pairs.map(one => pair(all.compare, one, false, false)))) : null;
	}

	return {ofFile, search, settings, curve, map, scaling, comparison, combinations};
})();

/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// The one chart of the first screen: it answers the question of the phase, the series, the search or the comparison that the first
// sentence is about.
const answer = (() => {
	const MOST_BARS = 10, MOST_RUNS = 12, MOST_SIDES = 12;

	// What shows a kind of phase best: parts of phase.js, of which the first that has something to show is taken.
	const KINDS = {
		train: ['epochs', 'accounts', 'bandwidth'],
		checkpoint: ['checkpoints', 'bandwidth', 'percentiles'],
		load: ['loads', 'bandwidth', 'percentiles'],
		kvcache: ['percentiles', 'bandwidth'],
		vector: ['percentiles', 'bandwidth'],
		replay: ['percentiles', 'bandwidth'],
		generate: ['bandwidth', 'percentiles'],
		io: ['against', 'bandwidth', 'operations', 'percentiles'],
	};
	const OTHERS = ['against', 'bandwidth', 'operations', 'percentiles'];

	// {name, element}; null: the phase has nothing to show.
	function ofPhase(p) {
		for (const name of [...KINDS[p.kind] || OTHERS, 'accounts']) {
			const element = phase.parts[name](p);
			if (element)
				return {name, element};
		}
		return null;
	}

	const KIND_OF = {au: 'share', bytes_per_second: 'rate', bytes_read_per_second: 'rate', bytes_written_per_second: 'rate', p99_ns: 'ns'};
	const kindOf = key => KIND_OF[key] || 'number';

	// The figure that a phase is judged by.
	function mainOf(p) {
		return format.known(p.rates.au) ? 'au' : p.rates.main || 'bytes_per_second';
	}

	const WORDS = {au: 'AU', p99_ns: 'p99'};
	const wordsOf = (key, p) => WORDS[key] || (key === 'samples_per_second' ? `${p.rates.items || 'samples'} per second` : format.words(key));

	const known = (row, key) => row[key] && format.known(row[key].mean);
	const bar = (row, key, label, more) => ({label, value: row[key].mean, low: row[key].ci95_low, high: row[key].ci95_high, ...more});

	// A target that is told by the figure itself.
	function levelOf(p, key) {
		const target = key === 'au' ? p.targets.find(one => one.name === 'target_au') : null;
		return target ? {at: target.asked, label: `the target of ${format.mark('share', target.asked)}`} : null;
	}

	function ranking(rows, first, key) {
		const sorted = rows.filter(row => known(row, key)).sort((a, b) => a.place - b.place);
		const missed = row => row.targets && row.targets !== 'met' ? ` (${row.targets === 'missed' ? 'misses a target' : 'a target cannot be told'})` : '';
		const shown = sorted.slice(0, MOST_BARS), rest = sorted.length - shown.length;
		const repeats = Math.max(...rows.map(row => row.repeats));
		return bars.draw({
			title: `${first.name}: ${wordsOf(key, first)} of each combination, the best first`, kind: kindOf(key), level: levelOf(first, key),
			note: [repeats > 1 ? 'Means of the repeats, with their 95 % interval.' : null, rest ? `${format.count(rest)} more are below.` : null].filter(one => one).join(' ') || null,
			rows: shown.map((row, i) => bar(row, key, `${row.sweep || 'all'}${missed(row)}`, {strong: i === 0, color: i ? 'line-1' : 'line-3'})),
		});
	}

	const RUN = {label: 'run', kind: 'count', whole: true};

	function runs(file, first, key) {
		const taken = file.phases.filter(p => p.name === first.name && format.known(p.rates[key])).sort((a, b) => a.run - b.run);
		const line = file.series.find(row => row.phase === first.name), title = `${first.name}: ${wordsOf(key, first)} of each run`;
		if (taken.length > MOST_RUNS)
			return chart.draw({title, x: {...RUN, values: taken.map(p => p.run)}, y: {kind: kindOf(key)}, series: [{label: wordsOf(key, first), values: taken.map(p => p.rates[key]), style: 'points'}]});
		return bars.draw({
			title, kind: kindOf(key), level: levelOf(first, key), note: line && line.repeats > 1 ? 'The mean has its 95 % interval, and leaves out warm-ups.' : null,
			rows: [...taken.map(p => ({label: p.warmup ? `run ${p.run}, warm-up` : `run ${p.run}`, value: p.rates[key], color: p.warmup ? 'muted' : 'line-1'})),
				...(line && line.repeats > 1 && known(line, key) ? [bar(line, key, 'mean', {strong: true, color: 'line-3'})] : [])],
		});
	}

	// What was set, as numbers, where the combinations differ in one number alone.
	function loads(rows) {
		const numbers = rows.map(row => row.sets && row.sets.length === 1 ? Number(row.sets[0].split('=')[1]) : NaN);
		return numbers.length > 2 && numbers.every(format.known) ? numbers : null;
	}

	const takenOf = (file, first) => file.phases.filter(p => p.name === first.name && !p.warmup);

	// Whether latency against load is the question: a phase is asked for its latencies, and one number was swept.
	function curves(file, rows, first) {
		const asks = (KINDS[first.kind] || OTHERS)[0] === 'percentiles' || phase.parts.against(first);
		return loads(rows) && asks && !takenOf(file, first).some(p => p.brief);
	}

	// A point is one run.
	function curve(file, rows, first) {
		const at = loads(rows), target = first.targets.find(one => one.unit === 'ns'), taken = takenOf(file, first);
		if (!curves(file, rows, first))
			return null;
		const load = p => at[rows.findIndex(row => row.combination === p.combination)], name = phase.requests(first);
		const found = p => target ? (p.targets.find(one => one.name === target.name) || {}).found : (p.latency_ns[name] || {}).p99;
		const points = taken.filter(p => format.known(found(p)) && format.known(load(p))).sort((a, b) => load(a) - load(b));
		const label = target ? target.label : `p99 of ${format.words(name)}`;
		return chart.draw({
			title: `${first.name}: ${label} against load`, y: {kind: 'ns'}, levels: target ? [{at: target.asked, label: 'target'}] : [],
			x: {label: rows[0].sets[0].split('=')[0], kind: 'count', ticks: true, values: points.map(load)},
			series: [{label, values: points.map(found), style: points.length > rows.length ? 'points' : 'line'}],
		});
	}

	function ofSeries(file, first) {
		const rows = (file.series || []).filter(row => row.phase === first.name), key = mainOf(first);
		if (!rows.length)
			return null;
		return rows.length > 1 ? curve(file, rows, first) || ranking(rows, first, key) : runs(file, first, key);
	}

	// The phase and the figure by which the first chart ranks all combinations; null: it shows something else.
	function ranked(file, first) {
		const rows = first && file.series ? file.series.filter(row => row.phase === first.name) : [];
		if (rows.length < 2 || file.assess || file.find || file.tune || curves(file, rows, first))
			return null;
		const key = mainOf(first);
		return rows.filter(row => known(row, key)).length <= MOST_BARS ? {phase: first.name, key} : null;
	}

	// {name, element} of a file: name tells which part of the phase it is, or "" for that of the whole file. first: the phase that the
	// sentence is about.
	function ofFile(file, first) {
		const whole = file.assess ? card.draw(file.assess) : file.find ? series.curve(file.find, file.phases) : file.tune ? series.map(file.tune) : first && file.runs > 1 ? ofSeries(file, first) : null;
		if (whole)
			return {name: '', element: whole};
		return first && !first.brief ? ofPhase(first) : null;
	}

	// The statistics of one side of a comparison.
	function sideOf(side, name) {
		const file = data.files.find(one => one.file === side.file);
		return file && file.series ? file.series.find(row => row.phase === name && row.combination === side.combination) : null;
	}

	// A, B, … of one phase of a comparison, with the intervals of their means. two: only both sides of the pair.
	function ofPair(c, one, two = false) {
		const key = one.metric || 'bytes_per_second';
		const sides = two ? c.sides.filter(side => [one.a, one.b].includes(side.side)) : c.sides.slice(0, MOST_SIDES);
		const rows = sides.map((side, i) => {
			const row = sideOf(side, one.phase), label = side.side === side.name ? side.side : `${side.side} · ${side.name}`, color = `line-${i % 4 + 1}`;
			// The means of the table, whose ratio is that of the sentence.
			const pair = side.side === one.a ? one : c.pairs.find(other => other.phase === one.phase && other.b === side.side);
			const metric = pair ? pair.metrics[key] : null, value = metric ? side.side === one.a ? metric.a : metric.b : null;
			return row && known(row, key) ? {...bar(row, key, label, {color}), ...(format.known(value) ? {value} : {})} : {label, value, color};
		});
		const intervals = rows.some(row => format.known(row.low));
		return bars.draw({title: `${one.phase}: ${format.words(key)}`, kind: kindOf(key), rows,
			note: intervals ? 'Geometric means of the repeats, with the 95 % interval of the arithmetic one.' : 'One run of each has no interval.'});
	}

	let data = {files: []};
	return {ofFile, ofPair, ranked, of: all => { data = all; }};
})();

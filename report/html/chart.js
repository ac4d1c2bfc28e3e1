/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// Charts. A chart shows columns of the JSON as they are. Hovering, a tap, or the arrow keys show the values at a point
// below it; each has the exact number in its data-value. "Values" has all of them as a table.
//
// chart.draw({
//	title, note,
//	x: {label, values, kind, log, whole, step, ticks, text},	ticks: the axis has marks at the values; text(index): in place of the value
//	y: {kind, max, log},	log: only where no value is 0, and the greatest is ten times the least or more
//	series: [{label, values, kind, color, style, low, high}],	style: line, points, bars, steps; low, high: an interval
//	stacked,	the series are parts of a whole, but for points, which are drawn over them
//	marks: [{at, label}],	lines at values of x
//	levels: [{at, label}],	lines at values of y
// }) returns an element, or null where no series has a value.
const chart = (() => {
	const HEIGHT = 200, FEW = 64;
	const whole = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 1e7, 1e8];
	const all = [];

	function color(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() ||
			getComputedStyle(document.documentElement).getPropertyValue('--other').trim();
	}

	const any = values => Boolean(values) && values.some(format.known);

	function draw(spec) {
		const series = spec.series.filter(one => any(one.values));
		if (!series.length || !spec.x.values.length || !spec.x.values.every(format.known))
			return null;
		return figure({...spec, series: series.map((one, i) => ({color: `line-${i % 6 + 1}`, style: 'line', ...one}))});
	}

	function figure(spec) {
		const canvas = dom.element('div', {class: 'canvas'});
		const readout = makeReadout(spec);
		const made = dom.element('figure', {tabindex: 0, 'aria-label': `${spec.title}. The arrow keys show values.`},
			dom.element('figcaption', null, spec.title, spec.note ? dom.element('span', null, spec.note) : null),
			canvas, readout.element, dom.later('Values', null, () => values(spec)));
		const state = {spec, canvas, readout, figure: made, plot: null, index: null};
		new ResizeObserver(() => resize(state)).observe(canvas);
		made.addEventListener('keydown', event => key(state, event));
		all.push(state);
		return made;
	}

	function resize(state) {
		const width = Math.floor(state.canvas.clientWidth);
		if (width < 50)
			return;
		if (!state.plot)
			make(state, width);
		else if (state.plot.width !== width)
			state.plot.setSize({width, height: HEIGHT});
	}

	function make(state, width) {
		state.plot = new uPlot(options(state, width), columns(state.spec), state.canvas);
		state.figure.dataset.drawn = 'yes';
		state.figure.plot = state.plot;
	}

	const isPart = (spec, one) => Boolean(spec.stacked) && one.style !== 'points';

	// Of parts of a whole, each is drawn as the sum up to it, the largest sum first: so the smaller ones lie on top.
	function drawn(spec) {
		const sums = [];
		for (const one of spec.series.filter(each => isPart(spec, each)))
			sums.push({...one, values: one.values.map((value, k) => (format.known(value) ? value : 0) + (sums.length ? sums[sums.length - 1].values[k] : 0))});
		return [...sums.reverse(), ...spec.series.filter(one => !isPart(spec, one))];
	}

	const columns = spec => [spec.x.values, ...drawn(spec).map(one => one.values)];

	function options(state, width) {
		const {spec} = state;
		return {
			width,
			height: HEIGHT,
			legend: {show: false},
			padding: [12, 36, 0, 0],
			cursor: {y: false, drag: {x: false, y: false}, points: spec.stacked ? {show: false} : {}},
			scales: {
				x: {time: false, distr: spec.x.log ? 3 : 1, range: (u, low, high) => rangeOfX(spec, low, high)},
				y: loggable(spec) ? {distr: 3, range: () => [lowest(spec) / 1.5, highest(spec) * 1.5]} : {range: () => [0, highest(spec)]},
			},
			axes: [axis(spec.x, 34, 70), axis({...spec.y, log: loggable(spec)}, 68, 30)],
			series: [{}, ...drawn(spec).map(one => style(spec, one))],
			hooks: {
				setCursor: [u => show(state, pointed(spec, u))],
				draw: [u => over(spec, u)],
			},
		};
	}

	// Of a single value, uPlot would give an axis of its own choice as low and high: 0 to 100 for the 0 of one rank.
	function rangeOfX(spec, first, last) {
		const alone = spec.x.values.length === 1;
		const [low, high] = alone ? [spec.x.values[0], spec.x.values[0]] : [first, last];
		if (spec.x.log)
			return [low / 1.1, high * 1.1];
		const apart = spec.series.some(one => one.style === 'bars' || one.style === 'points');
		const pad = apart || low === high ? (spec.x.step || 1) / 2 : 0;
		return [low - pad, high + pad];
	}

	function highest(spec) {
		if (spec.y.max !== undefined)
			return spec.y.max;
		const tops = columns(spec).slice(1).concat(spec.series.filter(one => one.high).map(one => one.high));
		let most = 0;
		for (const values of tops)
			for (const value of values)
				most = format.known(value) && value > most ? value : most;
		for (const level of spec.levels || [])
			most = Math.max(most, level.at);
		return most > 0 ? most * 1.05 : 1;
	}

	const knownOf = spec => spec.series.flatMap(one => one.values).filter(format.known);
	const lowest = spec => knownOf(spec).reduce((a, b) => Math.min(a, b));
	// Values of one size are compared by their lengths.
	const loggable = spec => Boolean(spec.y.log) && lowest(spec) > 0 && highest(spec) >= 10 * lowest(spec);

	function axis(of, size, space) {
		return {
			stroke: () => color('muted'),
			grid: {stroke: () => color('grid'), width: 1},
			ticks: {stroke: () => color('rule'), width: 1, size: 4},
			font: '12px system-ui, sans-serif',
			size,
			space,
			...(of.whole ? {incrs: whole} : {}),
			...(of.ticks || of.log ? {splits: (u, number, low, high) => spread(of, number ? u.height - 50 : u.width - 110, number ? 20 : 60, low, high), filter: (u, splits) => splits} : {}),
			values: (u, splits) => splits.map(value => value == null ? '' : format.mark(of.kind, value)),
		};
	}

	// The values, or round numbers, of which each mark has room for its text: the last one, and those before it that are far enough apart.
	function spread(of, length, gap, low, high) {
		const at = value => (of.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low)) * length, found = [];
		for (const value of [...of.ticks ? of.values : decades(low, high)].reverse())
			if (!found.length || at(found[0]) - at(value) >= gap)
				found.unshift(value);
		return found;
	}

	// Powers of ten; where there are few of them, their multiples by 2 and 5, too.
	function decades(low, high) {
		const steps = high / low < 200 ? [1, 2, 5] : [1], found = [];
		for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
			for (const step of steps)
				if (step * 10 ** power >= low && step * 10 ** power <= high)
					found.push(step * 10 ** power);
		return found;
	}

	function style(spec, one) {
		const stroke = () => color(one.color);
		const few = one.values.length <= FEW;
		if (one.style === 'bars')
			return {
				stroke: () => color('background'), width: few ? 1 : 0, fill: stroke,
				paths: uPlot.paths.bars({size: [few ? 0.8 : 1, 80]}), points: {show: false},
			};
		if (one.style === 'steps')
			return {
				stroke, width: 1.5, fill: () => `${color(one.color)}66`,
				paths: uPlot.paths.stepped({align: 1}), points: {show: false},
			};
		if (one.style === 'points')
			return {stroke, paths: () => null, points: {show: true, size: few ? 7 : 4, fill: stroke, stroke}};
		return {stroke, width: 2, spanGaps: false, points: {show: few, size: 5, fill: stroke}};
	}

	// What is drawn over the data: marks, levels, and intervals.
	function over(spec, u) {
		const {ctx, bbox} = u;
		const pixel = window.devicePixelRatio || 1;
		ctx.save();
		ctx.strokeStyle = ctx.fillStyle = color('text');
		ctx.lineWidth = pixel;
		ctx.textBaseline = 'alphabetic';
		ctx.textAlign = 'left';
		ctx.font = `${11 * pixel}px system-ui, sans-serif`;
		const taken = [];
		for (const mark of placed(spec, u)) {
			line(ctx, mark.x, bbox.top, mark.x, bbox.top + bbox.height);
			const width = ctx.measureText(mark.label).width + 3 * pixel;
			const x = mark.x + width > bbox.left + bbox.width ? mark.x - width : mark.x + 3 * pixel;
			label(ctx, taken, mark.label, [1, 2, 3, 4, 5, 6, 7, 8].map(row => [x, bbox.top + row * 13 * pixel]), pixel);
		}
		ctx.setLineDash([4 * pixel, 4 * pixel]);
		for (const level of spec.levels || [])
			if (format.known(level.at)) {
				const y = Math.round(u.valToPos(level.at, 'y', true)), width = ctx.measureText(level.label).width + 8 * pixel;
				line(ctx, bbox.left, y, bbox.left + bbox.width, y);
				const beside = [-4, 12, -17, 25, 38].map(away => y + away * pixel).filter(at => at - bbox.top > 11 * pixel && at < bbox.top + bbox.height);
				label(ctx, taken, level.label, [0, 1, 0.5, 0.25, 0.75].flatMap(share => beside.map(at => [bbox.left + 4 * pixel + share * (bbox.width - width), at])), pixel);
			}
		ctx.setLineDash([]);
		for (const one of spec.series)
			intervals(spec, one, u, pixel);
		ctx.restore();
	}

	// A text that can be read on whatever lies below it, at the first of the places, [left, bottom], where no other text is.
	function label(ctx, taken, text, places, pixel) {
		const {width} = ctx.measureText(text);
		const meets = ([x, y]) => taken.some(one => x < one.x + one.width + 2 * pixel && one.x < x + width + 2 * pixel && Math.abs(y - one.y) < 12 * pixel);
		const [x, y] = places.find(place => !meets(place)) || places[0];
		taken.push({x, y, width});
		ctx.fillStyle = color('background');
		ctx.fillRect(x - pixel, y - 10 * pixel, width + 2 * pixel, 12 * pixel);
		ctx.fillStyle = color('text');
		ctx.fillText(text, x, y);
	}

	// The marks from left to right. Those that lie on one line share it and its label.
	function placed(spec, u) {
		const found = [];
		for (const mark of (spec.marks || []).filter(one => format.known(one.at))) {
			const x = Math.round(u.valToPos(mark.at, 'x', true)), last = found[found.length - 1];
			if (last && Math.abs(x - last.x) <= 2)
				last.labels.push(mark.label);
			else
				found.push({x, labels: [mark.label]});
		}
		return found.map(({x, labels}) => ({x, label: labels.length > 2 ? `${labels[0]} to ${labels[labels.length - 1]}` : labels.join(', ')}));
	}

	function intervals(spec, one, u, pixel) {
		if (!one.low)
			return;
		u.ctx.strokeStyle = color(one.color);
		u.ctx.lineWidth = 2 * pixel;
		for (const [i, at] of spec.x.values.entries()) {
			if (!format.known(one.low[i]) || !format.known(one.high[i]))
				continue;
			const x = u.valToPos(at, 'x', true), low = u.valToPos(one.low[i], 'y', true);
			const high = u.valToPos(one.high[i], 'y', true);
			line(u.ctx, x, low, x, high);
			line(u.ctx, x - 4 * pixel, low, x + 4 * pixel, low);
			line(u.ctx, x - 4 * pixel, high, x + 4 * pixel, high);
		}
	}

	function line(ctx, x0, y0, x1, y1) {
		ctx.beginPath();
		ctx.moveTo(x0, y0);
		ctx.lineTo(x1, y1);
		ctx.stroke();
	}

	// The point below the cursor; null: there is none. A step holds from its x to the next one.
	function pointed(spec, u) {
		let index = u.cursor.idx;
		if (index === null || index === undefined || u.cursor.left < 0)
			return null;
		if (spec.series[0].style === 'steps' && index > 0 && spec.x.values[index] > u.posToVal(u.cursor.left, 'x'))
			index--;
		return Math.min(index, points(spec) - 1);
	}

	const points = spec => Math.min(spec.x.values.length, spec.series[0].values.length - (spec.series[0].style === 'steps'));

	function key(state, event) {
		const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
		if (!step || !state.plot || event.target !== state.figure)
			return;
		event.preventDefault();
		const {spec, plot} = state, last = points(spec) - 1;
		const index = state.index === null ? (step > 0 ? 0 : last) : Math.max(0, Math.min(last, state.index + step));
		plot.setCursor({left: plot.valToPos(spec.x.values[index], 'x'), top: HEIGHT / 4});
		show(state, index);
	}

	function makeReadout(spec) {
		const cells = [];
		const item = (label, swatch) => {
			const value = dom.element('dd', null);
			cells.push(value);
			return dom.element('div', null, swatch, dom.element('dt', null, label), value);
		};
		const element = dom.element('dl', {class: 'readout'}, item(spec.x.label, null),
			spec.series.map(one => {
				const swatch = dom.element('span', {class: 'swatch'});
				swatch.style.background = `var(--${one.color}, var(--other))`;
				return item(one.label, swatch);
			}));
		return {element, cells};
	}

	const textOfX = (spec, index) => spec.x.text ? spec.x.text(index) : format[spec.x.kind](spec.x.values[index]);

	function show(state, index) {
		const {spec, readout} = state;
		state.index = index;
		readout.element.dataset.index = index === null ? '' : index;
		for (const [i, cell] of readout.cells.entries()) {
			const one = i ? spec.series[i - 1] : null;
			const value = index === null ? null : (one ? one.values : spec.x.values)[index];
			cell.dataset.value = index === null ? '' : String(value);
			cell.textContent = index === null ? '' : one ? format[one.kind || spec.y.kind](value) : textOfX(spec, index);
		}
	}

	function values(spec) {
		const rows = [];
		for (let i = 0; i < points(spec); i++)
			rows.push([textOfX(spec, i), ...spec.series.map(one => format[one.kind || spec.y.kind](one.values[i]))]);
		return table.plain([spec.x.label, ...spec.series.map(one => one.label)], rows);
	}

	function again() {
		for (const state of all) {
			if (!state.plot)
				continue;
			state.plot.destroy();
			state.plot = null;
			resize(state);
		}
	}

	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
	// Paper is white.
	for (const [event, on] of [['beforeprint', true], ['afterprint', false]])
		addEventListener(event, () => {
			document.documentElement.classList.toggle('print', on);
			again();
		});

	// Charts side by side. null: there is none.
	function group(title, ...charts) {
		const there = charts.flat().filter(one => one);
		return there.length ? [dom.element('h3', null, title), dom.element('div', {class: 'charts'}, there)] : null;
	}

	return {draw, group, any, count: () => all.length};
})();

/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// Bars beside their names, where names are words: combinations, sides, percentiles. Names and values wrap, so that none lies on another.
//
// bars.draw({
//	title, note, kind,
//	rows: [{label, value, low, high, color, strong}],	low, high: an interval; strong: the one that answers
//	level: {at, label},	a line at a value
// }) returns an element, or null where no row has a value.
const bars = (() => {
	function highest(spec, rows) {
		const tops = rows.flatMap(row => [row.value, row.high]).concat(spec.level ? [spec.level.at] : []).filter(format.known);
		return spec.kind === 'share' ? Math.max(1, ...tops) : Math.max(...tops, 0) || 1;
	}

	const place = (value, most) => `${Math.max(0, Math.min(100, value / most * 100)).toFixed(3)}%`;

	function part(name, style) {
		const made = dom.element('span', {class: name, 'aria-hidden': 'true'});
		for (const [key, value] of Object.entries(style))
			made.style[key] = value;
		return made;
	}

	function track(spec, row, most) {
		const interval = format.known(row.low) && format.known(row.high) && row.high > row.low;
		return dom.element('span', {class: 'track'},
			part('bar', {width: place(row.value, most), background: `var(--${row.color || 'line-1'})`}),
			interval ? part('interval', {left: place(row.low, most), width: place(Math.min(row.high, most) - Math.max(row.low, 0), most)}) : null,
			spec.level ? part('level', {left: place(spec.level.at, most)}) : null);
	}

	function text(spec, row) {
		const write = format[spec.kind];
		return format.known(row.low) && format.known(row.high) ? `${write(row.value)} (${write(row.low)} to ${write(row.high)})` : write(row.value);
	}

	function draw(spec) {
		const rows = spec.rows.filter(row => format.known(row.value));
		if (!rows.length)
			return null;
		const most = highest(spec, rows);
		return dom.element('div', {class: 'bars', role: 'figure', 'aria-label': spec.title},
			dom.element('div', {class: 'caption'}, spec.title,
				spec.note ? dom.element('span', null, spec.note) : null,
				spec.level ? dom.element('span', null, part('level key', {}), spec.level.label) : null),
			dom.element('div', {class: 'rows'}, rows.map(row => dom.element('div', {class: row.strong ? 'row strong' : 'row'},
				dom.element('span', {class: 'name'}, row.label), track(spec, row, most),
				dom.element('span', {class: 'value', 'data-value': row.value}, text(spec, row))))));
	}

	return {draw};
})();

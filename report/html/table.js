/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// Tables. A table that is wider than the page is moved by itself.
const table = (() => {
	const ROWS = 100, SHORT = 14, LONG = 32, LETTERS = 118;

	const textOf = content => content instanceof Node ? content.textContent : String(content ?? '');

	// A long text wraps; everything else stays on its line.
	function cell(tag, content, text) {
		const long = textOf(content).length > LONG;
		const short = tag === 'td' && textOf(content).length <= SHORT;
		return dom.element(tag, text ? {class: long ? 'text long' : short ? 'text short' : 'text'} : null, content);
	}

	// About how many letters a column is wide. Words of a text wrap, and so do those of a heading.
	const longest = words => Math.max(0, ...words.map(word => word.length));
	const PAD = 3;

	function width(headings, rows, texts, i) {
		const cells = rows.slice(0, ROWS).map(row => textOf(row[i]));
		const wide = texts.includes(i) ? Math.max(longest(cells.filter(cell => cell.length <= SHORT)), Math.min(LONG, longest(cells)) / 2, Math.min(LONG, longest(cells.flatMap(cell => cell.split(' '))))) : longest(cells);
		return Math.max(wide, longest(headings[i].split(' '))) + PAD;
	}

	// Columns in so many tables that each is no wider than the page: each begins with the columns that name the row, which are the first
	// one, and a second one of words.
	function split(headings, rows, texts) {
		const widths = headings.map((heading, i) => width(headings, rows, texts, i)), sum = list => list.reduce((all, i) => all + widths[i], 0);
		const names = texts.includes(0) && texts.includes(1) && sum([0, 1]) < LETTERS / 2 ? [0, 1] : [0], parts = [[...names]];
		for (let i = names.length; i < headings.length; i++) {
			if (sum([...parts[parts.length - 1], i]) > LETTERS && parts[parts.length - 1].length > names.length)
				parts.push([...names]);
			parts[parts.length - 1].push(i);
		}
		return parts;
	}

	// Headings, and rows of texts or elements. texts: which columns hold words.
	function plain(headings, rows, texts = [0]) {
		const parts = headings.length > 1 ? split(headings, rows, texts) : [[0]];
		if (parts.length === 1)
			return single(headings, rows, texts);
		const copy = content => content instanceof Node ? content.cloneNode(true) : content;
		return dom.element('div', null, parts.map(part => single(part.map(i => headings[i]), rows.map(row => part.map(i => copy(row[i]))),
			part.map((i, at) => texts.includes(i) ? at : -1))));
	}

	function single(headings, rows, texts) {
		const body = dom.element('tbody');
		const add = some => dom.add(body, some.map(row => dom.element('tr', null,
			row.map((content, i) => cell('td', content, texts.includes(i))))));
		const made = dom.element('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'table'},
			dom.element('table', null,
				dom.element('thead', null, dom.element('tr', null, headings.map((heading, i) => cell('th', heading, texts.includes(i))))),
				body));
		add(rows.slice(0, ROWS));
		if (rows.length <= ROWS)
			return made;
		const button = dom.element('button', {type: 'button'}, `Show all ${format.count(rows.length)} rows`);
		button.addEventListener('click', () => {
			add(rows.slice(ROWS));
			button.remove();
		});
		return dom.element('div', null, made, button);
	}

	// Without the columns in which no row has anything.
	function filled(headings, rows, texts = [0]) {
		const kept = headings.map((heading, i) => i).filter(i => rows.some(row => row[i] !== format.nothing && row[i] !== ''));
		return plain(kept.map(i => headings[i]), rows.map(row => kept.map(i => row[i])), kept.map((i, at) => texts.includes(i) ? at : -1));
	}

	// A value of the JSON as a text.
	function text(name, value) {
		if (value === null || value === undefined)
			return format.nothing;
		if (typeof value === 'number')
			return format[format.kindOf(name)](value);
		if (typeof value === 'object' && value.count === 0)
			return format.nothing;
		if (typeof value === 'object')
			return Object.entries(value).map(([key, one]) => `${key} ${text(name.endsWith('_ns') && key !== 'count' ? name : key, one)}`).join(', ');
		return String(value);
	}

	// Columns that hold something in any row, in the order in which rows name them. first: names that come first.
	function objects(rows, first = []) {
		const names = [...new Set([...first, ...rows.flatMap(row => Object.keys(row))])]
			.filter(name => rows.some(row => row[name] !== null && row[name] !== undefined && row[name] !== ''));
		const words = names.map((name, i) => i).filter(i => rows.some(row => typeof row[names[i]] === 'string' || typeof row[names[i]] === 'object'));
		return plain(names.map(format.words), rows.map(row => names.map(name => text(name, row[name]))), words);
	}

	// Names and values of one object.
	function pairs(object) {
		return plain(['name', 'value'], Object.entries(object).map(([name, value]) => [format.words(name), text(name, value)]), [0]);
	}

	return {plain, filled, objects, pairs, text};
})();

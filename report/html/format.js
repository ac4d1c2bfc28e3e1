/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// Numbers as people read them. Each function takes a value of the JSON, or null, and returns a text.
const format = (() => {
	const nothing = '–';
	const known = value => typeof value === 'number' && Number.isFinite(value);

	// About three digits.
	function digits(value) {
		const size = Math.abs(value);
		if (size >= 1000)
			return Math.round(value).toLocaleString('en-US');
		if (size === 0)
			return '0';
		if (size < 1)
			return String(Number(value.toPrecision(3)));
		return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
	}

	// With the prefix that leaves one to three digits before the point.
	function scaled(value, unit) {
		for (const [factor, prefix] of [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']])
			if (Math.abs(value) >= factor)
				return `${digits(value / factor)} ${prefix}${unit}`;
		return `${digits(value)} ${unit}`;
	}

	function time(seconds) {
		const size = Math.abs(seconds);
		if (size === 0)
			return '0 s';
		if (size >= 1)
			return `${digits(seconds)} s`;
		if (size >= 1e-3)
			return `${digits(seconds * 1e3)} ms`;
		if (size >= 1e-6)
			return `${digits(seconds * 1e6)} us`;
		return `${digits(seconds * 1e9)} ns`;
	}

	// What is not all of it is never shown as 100.0 %.
	function percent(value) {
		const text = (value * 100).toFixed(1);
		return `${text === '100.0' && value < 1 ? Math.min(value * 100, 99.99).toFixed(2) : text} %`;
	}

	const kinds = {
		number: value => Number.isInteger(value) ? kinds.count(value) : digits(value),
		count: value => value.toLocaleString('en-US', {maximumFractionDigits: 0}),
		share: percent,
		seconds: time,
		duration: seconds => seconds < 120 ? time(seconds) : seconds < 7200 ? `${digits(seconds / 60)} min` : seconds < 172800 ? `${digits(seconds / 3600)} h` : `${digits(seconds / 86400)} d`,
		ns: value => time(value / 1e9),
		bytes: value => scaled(value, 'B'),
		rate: value => scaled(value, 'B/s'),
		frequency: value => scaled(value, '/s').replace(' /s', '/s'),
	};
	const wrapped = {};
	for (const [name, write] of Object.entries(kinds))
		wrapped[name] = value => known(value) ? write(value) : nothing;

	// The kind of a figure, as far as its name tells.
	function kindOf(name) {
		if (/_ns$/.test(name))
			return 'ns';
		if (/(^|_)seconds$|_s$/.test(name))
			return 'seconds';
		if (/bytes_per_second/.test(name))
			return 'rate';
		if (/_per_second/.test(name))
			return 'frequency';
		if (/bytes/.test(name))
			return 'bytes';
		if (/^au(_|$)|_au$|share/.test(name))
			return 'share';
		return 'number';
	}

	// A text of a number without the zeros at the end of its decimals.
	const short = text => text.replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '');

	// The mark of an axis, where there is little room.
	function mark(kind, value) {
		const plain = kind === 'number' || kind === 'count';
		return short(plain && Math.abs(value) >= 1e4 ? scaled(value, '').trim() : wrapped[kind](value));
	}

	// A name in words. The unit at its end is that of the JSON; a text of the value has its own.
	return {...wrapped, nothing, known, kindOf, mark, words: name => name.replace(/_(ns|s)$/, '').replace(/_/g, ' ')};
})();

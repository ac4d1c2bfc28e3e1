/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// Elements. Texts come from files that anybody may have written: they are always set as text, never as HTML.
const dom = (() => {
	// element('p', {class: 'muted'}, 'text', otherElement, null)
	function element(tag, attributes, ...children) {
		const made = document.createElement(tag);
		for (const [name, value] of Object.entries(attributes || {}))
			if (value !== null && value !== undefined)
				made.setAttribute(name, value);
		add(made, children);
		return made;
	}

	function add(to, children) {
		for (const child of children.flat(Infinity))
			if (child !== null && child !== undefined && child !== '')
				to.append(child);
	}

	// A part that is made when it is opened for the first time.
	function later(summary, attributes, make) {
		const details = element('details', attributes, element('summary', null, summary));
		details.fill = () => {
			if (details.childElementCount === 1)
				add(details, [make()]);
		};
		details.addEventListener('toggle', () => details.open && details.fill());
		return details;
	}

	// A part that is open from the beginning.
	function open(details) {
		details.open = true;
		details.fill();
		return details;
	}

	return {element, add, later, open};
})();

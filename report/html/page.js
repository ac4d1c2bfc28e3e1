/* SPDX-License-Identifier: Apache-2.0 */
'use strict';
// The page: what all files have in common, then each file with its phases; or a plan.
(() => {
	const data = JSON.parse(document.getElementById('data').textContent);
	const page = document.getElementById('page');
	answer.of(data);

	const FEW_PHASES = 24;

	// The phase that the first sentence is about, else the last one with all details.
	function chief(file) {
		const whole = file.phases.filter(p => !p.brief);
		return whole.find(p => p.number === file.headline_phase) || whole[whole.length - 1];
	}

	function heading(file) {
		const ranks = `${format.count(file.ranks)} rank${file.ranks === 1 ? '' : 's'} on ${format.count(file.nodes)} node${file.nodes === 1 ? '' : 's'}`;
		const first = chief(file), found = answer.ofFile(file, first);
		return [
			dom.element('h1', null, file.name || file.file),
			dom.element('p', {class: 'muted'}, `${file.file} · ${ranks} · ${format.seconds(file.seconds)} · ${file.started.replace('T', ' ')} · `,
				dom.element('span', {class: ['done', 'simulated'].includes(file.status) ? 'good' : 'bad'}, file.status)),
			file.error ? dom.element('p', {class: 'bad'}, file.error) : null,
			dom.element('p', {class: 'verdict'}, file.headline),
			doubts(file.doubts),
			found ? dom.element('div', {class: 'answer'}, found.element) : null,
			file.runs > 1 || !first ? null : phase.rest(first),
		].flat();
	}

	const doubts = list => list.length ? dom.element('ul', {class: 'doubts'}, list.map(one => dom.element('li', {class: one.voids ? 'bad' : null}, one.sentence))) : null;

	function overview(file) {
		if (file.phases.length < 2)
			return null;
		const several = file.runs > 1;
		const counted = new Set(file.phases.map(p => p.rates.items).filter(items => items));
		const items = counted.size > 1 ? 'items' : [...counted][0] || 'samples';
		const rows = file.phases.map(p => [...(several ? [format.count(p.run)] : []), phase.title(p, {runs: 1}), ...data.columns.map(column => phase.shown(p, column))]);
		const headings = data.columns.map(({path, heading}) => path === 'rates.samples_per_second' ? `${items} per second` : heading);
		const made = () => table.filled([...(several ? ['run'] : []), 'phase', ...headings], rows, several ? [1, 2] : [0, 1]);
		return rows.length > FEW_PHASES ? dom.later(`The phases of all runs: ${format.count(rows.length)}`, null, made) : [dom.element('h2', null, 'Phases'), made()];
	}

	function phases(file) {
		const first = chief(file), whole = file.phases.filter(p => !p.brief), found = answer.ofFile(file, first);
		const told = p => p === first && !(file.runs > 1) ? (found ? found.name : '') : null;
		const made = whole.map(p => {
			const details = dom.later(phase.title(p, file), {class: 'phase'}, () => phase.element(p, file, told(p)));
			return p === first ? dom.open(details) : details;
		});
		const brief = file.phases.length - whole.length;
		if (brief)
			made.push(dom.element('p', {class: 'muted'}, `There was no room for the details of ${format.count(brief)} more phases: haul report --json ${file.file} has them.`));
		return made;
	}

	function machine(file) {
		const made = [];
		if (file.stores && file.stores.length)
			made.push(dom.later('Stores', null, () => table.objects(file.stores, ['name', 'uri', 'engine', 'file_system', 'layout'])));
		if (file.hosts && file.hosts.length)
			made.push(dom.later(`${format.count(file.nodes)} host${file.nodes === 1 ? '' : 's'}`, null, () => dom.element('p', null, file.hosts.join(', '))));
		if (file.job)
			made.push(dom.later('The job', null, () => dom.element('pre', null, JSON.stringify(file.job, null, 2))));
		made.push(dom.element('p', {class: 'muted'}, `haul ${file.haul_version} (${file.build})${file.command_line ? `: ${file.command_line}` : ''}`));
		return [dom.element('h2', null, 'Job and machine'), made].flat();
	}

	function fileParts(file) {
		const parts = [overview(file), series.ofFile(file, answer.ranked(file, chief(file))), series.combinations(file, data)];
		return [card.tables(file), series.search(file), series.settings(file), file.runs > 1 ? [parts[1], parts[0], parts[2]] : parts, phases(file), machine(file)].flat(2);
	}

	// The job's name, where all files have the same.
	function filesTitle() {
		const names = new Set(data.files.map(file => file.name)), count = `${data.files.length} results files`;
		return names.size === 1 && data.files[0].name ? `${data.files[0].name}: ${count}` : count;
	}

	function files() {
		if (data.files.length === 1) {
			document.title = `${data.files[0].name || data.files[0].file} · haul report`;
			dom.add(page, heading(data.files[0]));
			dom.add(page, fileParts(data.files[0]));
		} else {
			document.title = `${data.files.length} files · haul report`;
			dom.add(page, [dom.element('h1', null, filesTitle())]);
			// Runs on different numbers of nodes are not made to be compared with each other.
			const parts = [series.comparison(data.compare, data.files[0]), series.scaling(data.scaling)];
			dom.add(page, data.scaling && data.scaling.some(row => row.nodes !== data.scaling[0].nodes) ? parts.reverse() : parts);
			for (const [i, file] of data.files.entries())
				dom.add(page, [(i ? details => details : dom.open)(dom.later(`${file.file}: ${file.name}, ${file.status}`, {class: 'phase'}, () => dom.element('div', null, heading(file), fileParts(file))))]);
		}
		if (data.phases_left_out)
			dom.add(page, [dom.element('p', {class: 'muted'}, `${format.count(data.phases_left_out)} more phases are not on this page: haul report --csv has a row for each.`)]);
	}

	function planned() {
		document.title = plan.title(data.plan);
		dom.add(page, plan.parts(data.plan));
	}

	const verb = data.plan ? 'plan' : 'report';
	(data.plan ? planned : files)();
	dom.add(page, [dom.element('footer', null, `Made by haul ${verb} --html. Every figure is one that haul ${verb} --json prints. The charts are drawn by uPlot, under the MIT licence.`)]);
	document.body.dataset.ready = 'yes';
})();

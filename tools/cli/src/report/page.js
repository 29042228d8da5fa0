"use strict";
// Draws the runs in #data. Times are in ns; a task is a place in the arrays of `tasks`.
const runs = JSON.parse(document.getElementById("data").textContent);
const LANES = [8, 5], GAP = 12, AXIS = 22, WIDTH = 1400, LEFT = 60, CAUSES = { launch: 0, core: 1, signal: 2, ready: 3 };
const whole = Math.max(...runs.map((run) => run.end), 1);
// The runs of kernels: the original may take many times as long, and would leave a few pixels to them.
const own = Math.max(...runs.filter((run) => run.file).map((run) => run.end), 1);
let shown = { from: 0, to: own };

const us = (ns) => (ns / 1000).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 }) + " µs";
const element = (name, text) => Object.assign(document.createElement(name), text === undefined ? {} : { textContent: text });
const drawn = (name, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    return node;
};
const x = (ns) => LEFT + ((WIDTH - LEFT) * (ns - shown.from)) / (shown.to - shown.from);
const time = (at) => shown.from + ((at - LEFT) * (shown.to - shown.from)) / (WIDTH - LEFT);
const height = (lane, run) => LANES[lane < run.cores[0] ? 0 : 1];
const top = (lane, run) => {
    const [matrix] = run.cores;
    return AXIS + (lane < matrix ? lane * LANES[0] : matrix * LANES[0] + GAP + (lane - matrix) * LANES[1]);
};

// The place of a task, in the terms of the taskflow.
function place(run, task) {
    const { group, item, column, op, rank } = run.tasks;
    const [g, i, c, r] = [group[task], item[task], column[task], rank[task]];
    const experts = run.experts, pairs = experts * run.chunks;
    const chunk = (number) => (run.chunks > 1 ? `, chunk ${number}` : "");
    switch (run.ops[op[task]].space) {
        case "expert": return `expert ${r * experts + (g % experts)}, row tile ${i}, column ${c}${chunk(Math.floor(g / experts))}`;
        case "send": {
            const peer = Math.floor(g / pairs);
            return `to rank ${peer} for its expert ${peer * experts + (g % experts)}, piece ${i}, column ${c}${chunk(Math.floor((g % pairs) / experts))}`;
        }
        case "arrival": return `rank ${Math.floor(g / pairs)}, expert ${r * experts + (g % experts)}, piece ${i}, column ${c}`;
        case "block": return `token block ${i}, column ${c}${chunk(g)}`;
        case "chunk": return `chunk ${g}`;
        default: return `group ${g}, item ${i}, column ${c}`;
    }
}
function core(run, task) {
    const lane = run.tasks.lane[task], [matrix] = run.cores;
    return `rank ${run.tasks.rank[task]}, ${lane < matrix ? "matrix core " + lane : "vector core " + (lane - matrix)}`;
}
const named = (run, task) => run.ops[run.tasks.op[task]].name;
function source(run, task) {
    const line = run.ops[run.tasks.op[task]].line;
    return run.file && line > 0 ? `${run.file}:${line}` : "";
}
// The cause of a task's wait, with its length, in words.
function reason(run, task) {
    const { looked, begun, end, cause, by } = run.tasks, other = by[task];
    switch (cause[task]) {
        case CAUSES.launch: return "first task of its core after the launch";
        case CAUSES.core: return `no wait: its core was busy with ${named(run, other)}`;
        case CAUSES.ready: return `waited ${us(begun[task] - looked[task])} for rank ${other} to be ready`;
        default: return `waited ${us(begun[task] - looked[task])} for ${named(run, other)} (${core(run, other)}), whose signal took ${us(begun[task] - end[other])}`;
    }
}
const goesBack = (run, task) => [CAUSES.core, CAUSES.signal].includes(run.tasks.cause[task]) ? run.tasks.by[task] : undefined;
function chain(run, task) {
    const all = [];
    for (let next = task; next !== undefined; next = goesBack(run, next)) all.push(next);
    return all.reverse();
}

// The tasks of each lane of the rank that is drawn, in order.
for (const run of runs) {
    run.lanes = Array.from({ length: run.cores[0] + run.cores[1] }, () => []);
    run.tasks.rank.forEach((rank, task) => rank === run.rank && run.lanes[run.tasks.lane[task]].push(task));
    for (const lane of run.lanes) lane.sort((a, b) => run.tasks.end[a] - run.tasks.end[b] || run.tasks.begun[a] - run.tasks.begun[b]);
}
function firstAfter(run, lane, at) {
    let [low, high] = [0, run.lanes[lane].length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (run.tasks.end[run.lanes[lane][middle]] < at) low = middle + 1;
        else high = middle;
    }
    return low;
}

function build(run, number) {
    const section = element("section"), legend = element("p");
    legend.className = "legend";
    const swatch = (colour, text) => {
        const item = element("span"), box = element("i");
        box.style.background = colour;
        item.append(box, text);
        legend.append(item);
    };
    if (run.launch) swatch(run.launch.colour, run.launch.name);
    const used = new Set(run.tasks.op);
    run.ops.forEach((op, at) => used.has(at) && swatch(op.colour, op.name));
    swatch(run.waits[0], "waits for rows on their way");
    swatch(run.waits[1], "waits for another core's work");
    const tall = top(run.lanes.length - 1, run) + LANES[1] + 4;
    run.picture = drawn("svg", { class: "timeline", viewBox: `0 0 ${WIDTH} ${tall}`, tabindex: 0, role: "img", "aria-label": run.name });
    run.chain = element("div");
    run.chain.className = "chain";
    const below = element("div");
    below.className = "below";
    below.append(pathTable(run), run.chain);
    const separate = run.separate > 0 ? ` and ${us(run.separate)} of other kernels` : "";
    const later = run.end > own ? `; it goes on after ${us(own)}: press a` : "";
    section.append(element("h3", `${run.name}: ${us(run.end)} simulated${separate}, rank ${run.rank} of ${run.ranks}${later}`), legend, run.picture, below);
    document.getElementById("runs").append(section);
    listen(run, number);
}
// How the time of the critical path is spent.
function pathTable(run) {
    const { begun, end, cause } = run.tasks, spent = new Map();
    const add = (what, ns) => spent.set(what, (spent.get(what) || 0) + ns);
    let before = 0;
    for (const task of run.path) {
        const gap = { 0: "launch, and until a first task begins", 1: "between tasks of a core", 2: "signals on their way, and until a core looks", 3: "a peer not ready" };
        add(gap[cause[task]], begun[task] - before);
        add(named(run, task), end[task] - begun[task]);
        before = end[task];
    }
    add("after the last task", run.end - before);
    const box = element("div"), table = element("table");
    box.append(element("b", `critical path: ${run.path.length} tasks`), table);
    for (const [what, ns] of [...spent].sort((a, b) => b[1] - a[1])) {
        const row = table.insertRow();
        [what, us(ns), `${((100 * ns) / run.end).toFixed(1)} %`].forEach((text) => (row.insertCell().textContent = text));
    }
    return box;
}

function draw(run) {
    const paths = new Map(), { begun, looked, end, op, rows } = run.tasks;
    const box = (colour, from, to, y, tall) => {
        const [a, b] = [Math.max(x(from), LEFT), Math.min(x(to), WIDTH)];
        if (b < a) return;
        if (!paths.has(colour)) paths.set(colour, []);
        paths.get(colour).push(`M${a.toFixed(2)} ${y}h${Math.max(b - a, 1).toFixed(2)}v${tall}H${a.toFixed(2)}z`);
    };
    run.lanes.forEach((lane, number) => {
        const [y, tall] = [top(number, run), height(number, run) - 1];
        if (run.launch) box(run.launch.colour, 0, run.launch.end, y, height(number, run));
        for (let at = firstAfter(run, number, shown.from); at < lane.length && looked[lane[at]] <= shown.to;) {
            const first = lane[at];
            let last = first;
            // Tasks of one operation without a visible gap are one box.
            for (at += 1; at < lane.length && op[lane[at]] === op[first] && x(begun[lane[at]]) - x(end[last]) < 0.3; at += 1) last = lane[at];
            if (x(begun[first]) - x(looked[first]) >= 0.3) box(run.waits[rows[first] ? 0 : 1], looked[first], begun[first], y, tall);
            box(run.ops[op[first]].colour, begun[first], end[last], y, tall);
        }
    });
    const parts = [...paths].map(([fill, boxes]) => drawn("path", { fill, d: boxes.join("") }));
    parts.push(...axis(), ...names(run));
    if (document.getElementById("critical").checked) parts.push(line(run, run.path, "#000000", 1));
    if (run.selected !== undefined) parts.push(line(run, chain(run, run.selected), "#c2185b", 2), outline(run, run.selected));
    run.picture.replaceChildren(...parts);
}
function axis() {
    const least = (shown.to - shown.from) / 12, power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least), parts = [];
    for (let at = Math.ceil(shown.from / step) * step; at <= shown.to; at += step) {
        const label = drawn("text", { x: x(at) + 3, y: 13, class: "small" });
        label.textContent = `${+(at / 1000).toPrecision(8)} µs`;
        parts.push(drawn("line", { x1: x(at), x2: x(at), y1: 0, y2: 8, stroke: "#8d96a0" }), label);
    }
    return parts;
}
function names(run) {
    return [["matrix", 0], ["vector", run.cores[0]]].filter(([, lane]) => lane < run.lanes.length).map(([name, lane]) => {
        const label = drawn("text", { x: 2, y: top(lane, run) + 10, class: "small" });
        label.textContent = name;
        return label;
    });
}
// A line through the tasks of a chain on the rank that is drawn.
function line(run, tasks, stroke, width) {
    const { begun, end, lane, rank } = run.tasks, limit = (at) => Math.min(Math.max(x(at), LEFT), WIDTH).toFixed(2);
    let d = "", open = false;
    for (const task of tasks) {
        const inside = rank[task] === run.rank && end[task] >= shown.from && begun[task] <= shown.to;
        const y = top(lane[task], run) + height(lane[task], run) / 2;
        if (inside) d += `${open ? "L" : "M"}${limit(begun[task])} ${y}L${limit(end[task])} ${y}`;
        open = inside;
    }
    return drawn("path", { d, fill: "none", stroke, "stroke-width": width, class: "chain-line" });
}
function outline(run, task) {
    const { begun, end, lane, rank } = run.tasks;
    if (rank[task] !== run.rank) return drawn("g", {});
    const wide = Math.max(x(end[task]) - x(begun[task]), 2);
    return drawn("rect", { x: x(begun[task]), y: top(lane[task], run) - 1, width: wide, height: height(lane[task], run) + 1, fill: "none", stroke: "#c2185b", "stroke-width": 2 });
}
function drawAll() {
    runs.forEach(draw);
    document.getElementById("window").textContent = `${us(shown.from)} to ${us(shown.to)}`;
}
function show(from, to) {
    const wide = Math.min(Math.max(to - from, 20), whole);
    const first = Math.min(Math.max(from, 0), whole - wide);
    shown = { from: first, to: first + wide };
    drawAll();
}
const zoom = (factor, around) => show(around - (around - shown.from) * factor, around + (shown.to - around) * factor);
const move = (share) => show(shown.from + share * (shown.to - shown.from), shown.to + share * (shown.to - shown.from));

function select(run, task) {
    run.selected = task;
    const table = element("table"), tasks = task === undefined ? [] : chain(run, task);
    run.chain.replaceChildren();
    if (task !== undefined) {
        run.chain.append(element("b", `${named(run, task)}, ${place(run, task)}: back to the launch`), table);
        for (const one of tasks) {
            const row = table.insertRow();
            const texts = [us(run.tasks.begun[one]), us(run.tasks.end[one]), named(run, one), place(run, one), core(run, one), reason(run, one), source(run, one)];
            texts.forEach((text, column) => (row.insertCell().textContent = text, column < 2 && row.cells[column].classList.add("time")));
        }
    }
    draw(run);
}
// The task under a point of the picture.
function under(run, event) {
    const frame = run.picture.getBoundingClientRect(), scale = WIDTH / frame.width;
    const [at, y] = [time((event.clientX - frame.left) * scale), (event.clientY - frame.top) * scale];
    const lane = run.lanes.findIndex((_, number) => y >= top(number, run) && y < top(number, run) + height(number, run));
    if (lane < 0) return undefined;
    const task = run.lanes[lane][firstAfter(run, lane, at)];
    return task !== undefined && run.tasks.looked[task] <= at ? task : undefined;
}
function describe(run, task) {
    const { begun, end } = run.tasks, lines = [`${named(run, task)}: ${place(run, task)}`, core(run, task), `${us(begun[task])} to ${us(end[task])}: ${us(end[task] - begun[task])}`, reason(run, task), source(run, task)];
    return lines.filter((text) => text).join("\n");
}
function listen(run) {
    const hint = document.getElementById("hint"), picture = run.picture;
    let held;
    picture.addEventListener("wheel", (event) => {
        event.preventDefault();
        const frame = picture.getBoundingClientRect();
        zoom(event.deltaY < 0 ? 0.8 : 1.25, time(((event.clientX - frame.left) * WIDTH) / frame.width));
    }, { passive: false });
    picture.addEventListener("pointerdown", (event) => { held = { x: event.clientX, from: shown.from, moved: false }; });
    picture.addEventListener("pointerup", (event) => {
        if (held && !held.moved) select(run, under(run, event));
        held = undefined;
    });
    picture.addEventListener("pointermove", (event) => {
        if (held && Math.abs(event.clientX - held.x) > 3) held.moved = true;
        if (held && held.moved) {
            const wide = shown.to - shown.from;
            const by = ((held.x - event.clientX) / picture.getBoundingClientRect().width) * wide * (WIDTH / (WIDTH - LEFT));
            show(held.from + by, held.from + by + wide);
            return;
        }
        const task = under(run, event);
        hint.hidden = task === undefined;
        if (task === undefined) return;
        hint.textContent = describe(run, task);
        hint.style.left = `${Math.min(event.clientX + 14, innerWidth - 540)}px`;
        hint.style.top = `${event.clientY + 16}px`;
    });
    picture.addEventListener("pointerleave", () => { hint.hidden = true; held = undefined; });
    picture.addEventListener("dblclick", () => show(0, own));
}
const middle = () => (shown.from + shown.to) / 2;
const actions = { in: () => zoom(0.5, middle()), out: () => zoom(2, middle()), left: () => move(-0.3), right: () => move(0.3), all: () => show(0, own), longest: () => show(0, whole) };
const keys = { "+": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", a: "longest" };
for (const name in actions) document.getElementById(name).addEventListener("click", actions[name]);
document.addEventListener("keydown", (event) => event.target.closest("svg.timeline") && keys[event.key] && (event.preventDefault(), actions[keys[event.key]]()));
document.getElementById("critical").addEventListener("change", drawAll);

// #run=0&task=12&from=100&to=900 opens the page at a task, and at a time in ns.
function open() {
    const asked = new URLSearchParams(location.hash.slice(1)), number = (name) => (asked.has(name) ? Number(asked.get(name)) : undefined);
    show(number("from") ?? 0, number("to") ?? own);
    const run = runs[number("run") ?? 0], task = number("task");
    if (run && task in run.tasks.op) select(run, task);
}
runs.forEach(build);
addEventListener("hashchange", open);
open();

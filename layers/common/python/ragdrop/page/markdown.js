// Markdown by an allow-list: what is not known stays text.  Every visible character is a range of the source, a leaf,
// so that marks of the source's sentences land on what is rendered.  Offsets are UTF-16 units of the source.

import { h } from "./dom.js";

const FENCE = /^\s{0,3}(```+|~~~+)\s*([\w+#.-]*)[^`]*$/;
const HEADING = /^\s{0,3}(#{1,6})(?:\s+|$)/;
const RULE = /^\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^(\s*)([-*+•]|\d{1,9}[.)])(\s+|$)/;
const QUOTE = /^\s{0,3}>\s?/;
const DELIMITERS = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const LINK = /\[([^\][\n]{1,500})\]\((https?:\/\/[^\s()<>]{1,2000})\)/y;
const MAX_DEPTH = 8;

// The blocks of *text*: each has `name` (a tag), `start`, `end`, and `blocks`, `rows`, `lines` or `inline` in it.
export function parse(text) {
  const lines = [];
  for (let start = 0; start <= text.length;) {
    const at = text.indexOf("\n", start);
    const end = at < 0 ? text.length : at;
    lines.push({ start, end: text[end - 1] === "\r" && end > start ? end - 1 : end });
    start = end + 1;
  }
  return blocksOf(text, lines, 0);
}

function blocksOf(text, lines, depth) {
  const blocks = [];
  const say = (line) => text.slice(line.start, line.end);
  for (let place = 0; place < lines.length;) {
    const first = say(lines[place]);
    const start = lines[place].start;
    let taken = 1;
    let block = null;
    const fence = FENCE.exec(first);
    if (!first.trim()) { place += 1; continue; }
    if (fence) {
      while (place + taken < lines.length && !closes(say(lines[place + taken]), fence[1])) taken += 1;
      block = { name: "pre", lines: lines.slice(place + 1, place + taken) };
      taken = Math.min(taken + 1, lines.length - place);
    } else if (HEADING.test(first)) {
      const [mark, hashes] = HEADING.exec(first);
      const trailing = /\s+#+\s*$/.exec(first.slice(mark.length));
      const line = { start: start + mark.length, end: lines[place].end - (trailing ? trailing[0].length : 0) };
      block = { name: "heading", level: hashes.length, inline: inlineOf(text, [line]) };
    } else if (RULE.test(first)) {
      block = { name: "hr" };
    } else if (QUOTE.test(first) && depth < MAX_DEPTH) {
      while (place + taken < lines.length && say(lines[place + taken]).trim() && QUOTE.test(say(lines[place + taken]))) taken += 1;
      const inside = lines.slice(place, place + taken).map((line) => ({ start: line.start + QUOTE.exec(say(line))[0].length, end: line.end }));
      block = { name: "blockquote", blocks: blocksOf(text, inside, depth + 1) };
    } else if (ITEM.test(first) && depth < MAX_DEPTH) {
      ({ block, taken } = listOf(text, lines, place, depth));
    } else if (place + 1 < lines.length && first.includes("|") && DELIMITERS.test(say(lines[place + 1])) && say(lines[place + 1]).includes("|")) {
      taken = 2;
      while (place + taken < lines.length && say(lines[place + taken]).includes("|")) taken += 1;
      const rows = [lines[place], ...lines.slice(place + 2, place + taken)].map((line) => cellsOf(text, line));
      block = { name: "table", rows, right: say(lines[place + 1]).replace(/^\s*\||\|\s*$/g, "").split("|").map((one) => /[^:]\s*-:\s*$|^\s*-+:\s*$/.test(one)) };
    } else {
      while (place + taken < lines.length && !begins(say(lines[place + taken]))) taken += 1;
      block = { name: "p", inline: inlineOf(text, lines.slice(place, place + taken)) };
    }
    blocks.push({ start, end: lines[place + taken - 1].end, ...block });
    place += taken;
  }
  return blocks;
}

const closes = (line, fence) => line.trim().startsWith(fence) && !line.trim().slice(fence.length).replaceAll(fence[0], "");
// Whether a line ends the paragraph before it.
const begins = (line) => !line.trim() || FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || RULE.test(line)
  || (ITEM.test(line) && !/^\s*\d+[.)]/.test(line)) || /^\s*1[.)]\s/.test(line);

function listOf(text, lines, place, depth) {
  const say = (line) => text.slice(line.start, line.end);
  const [, margin, mark] = ITEM.exec(say(lines[place]));
  const ordered = /\d/.test(mark);
  const items = [];
  let at = place;
  let blank = false;
  for (; at < lines.length; at += 1) {
    const line = lines[at];
    const content = say(line);
    if (!content.trim()) { blank = true; items.at(-1).push({ start: line.end, end: line.end }); continue; }
    const item = ITEM.exec(content);
    const indent = /^\s*/.exec(content)[0].length;
    const width = items.length ? items.at(-1).width : 0;
    if (item && indent < margin.length + 2 && (!items.length || indent < width)) {
      if (/\d/.test(item[2]) !== ordered || indent < margin.length) break;
      items.push(Object.assign([{ start: line.start + item[0].length, end: line.end }], { width: Math.min(item[0].length, indent + 4) }));
    } else if (indent >= width || indent > margin.length + 1) {
      items.at(-1).push({ start: line.start + Math.min(indent, width), end: line.end });
    } else if (!blank && !begins(content)) {
      items.at(-1).push({ start: line.start + indent, end: line.end });
    } else break;
    blank = false;
  }
  const block = { name: ordered ? "ol" : "ul", first: ordered ? Number.parseInt(mark, 10) : null, blocks: items.map((inside) => ({
    name: "li", start: inside[0].start, end: inside.at(-1).end, blocks: blocksOf(text, inside, depth + 1),
  })) };
  return { block, taken: at - place };
}

function cellsOf(text, line) {
  const cells = [];
  let start = line.start + /^\s*\|?/.exec(text.slice(line.start, line.end))[0].length;
  for (let at = start; at <= line.end; at += 1) {
    if (at < line.end && (text[at] !== "|" || text[at - 1] === "\\")) continue;
    if (at === line.end && !text.slice(start, at).trim()) break;
    const said = text.slice(start, at);
    const lead = said.length - said.trimStart().length;
    cells.push(inlineOf(text, [{ start: start + lead, end: Math.max(start + lead, start + said.trimEnd().length) }]));
    start = at + 1;
  }
  return cells;
}

// Inline nodes of *lines*, which are one text: strings of the source are leaves, `{start, end}`.
function inlineOf(text, lines) {
  const joined = lines.map((line) => text.slice(line.start, line.end)).join("\n");
  const starts = [];
  lines.reduce((from, line) => { starts.push({ from, source: line.start }); return from + line.end - line.start + 1; }, 0);
  const none = new Map(); // delimiter and end -> from where on it does not close

  // Leaves of joined[from, to), one for each line.
  function leaves(from, to, code = false) {
    const found = [];
    for (let index = 0; index < starts.length; index += 1) {
      const line = starts[index];
      const until = index + 1 < starts.length ? starts[index + 1].from : joined.length + 1;
      const a = Math.max(from, line.from);
      const b = Math.min(to, until - 1);
      if (a < b) found.push({ name: "leaf", start: line.source + a - line.from, end: line.source + b - line.from, code });
      if (to >= until && from < until && index + 1 < starts.length) found.push({ name: / {2,}$|\\$/.test(joined.slice(0, until - 1)) ? "br" : "space" });
    }
    return found;
  }

  function closing(delimiter, from, to) {
    const scope = `${delimiter}${to}`;
    if (from >= (none.get(scope) ?? Infinity)) return -1;
    for (let at = joined.indexOf(delimiter, from + 1); at >= 0 && at + delimiter.length <= to; at = joined.indexOf(delimiter, at + 1)) {
      const longer = delimiter.length === 1 && (joined[at + 1] === delimiter || joined[at - 1] === delimiter);
      const inWord = delimiter[0] === "_" && /\w/.test(joined[at + delimiter.length] ?? "");
      if (!longer && !inWord && /\S/.test(joined[at - 1]) && joined[at - 1] !== "\\") return at;
    }
    none.set(scope, Math.min(from, none.get(scope) ?? Infinity));
    return -1;
  }

  function read(from, to, depth) {
    const nodes = [];
    let since = from;
    const flush = (at) => { if (since < at) nodes.push(...leaves(since, at)); };
    for (let at = from; at < to;) {
      const sign = joined[at];
      if (sign === "\\" && /[\\`*_[\]()#+\-.!|>~{}]/.test(joined[at + 1] ?? "")) {
        flush(at);
        since = at + 1;
        at += 2;
      } else if (sign === "`") {
        const ticks = /^`+/.exec(joined.slice(at, at + 9))[0];
        const end = joined.indexOf(ticks, at + ticks.length);
        if (end < 0 || end + ticks.length > to) { at += ticks.length; continue; }
        flush(at);
        nodes.push({ name: "code", nodes: leaves(at + ticks.length, end, true) });
        at = since = end + ticks.length;
      } else if (sign === "[" && (LINK.lastIndex = at, LINK.test(joined)) && LINK.lastIndex <= to) {
        const end = LINK.lastIndex;
        LINK.lastIndex = at;
        const [, said, href] = LINK.exec(joined);
        flush(at);
        nodes.push({ name: "a", href, nodes: read(at + 1, at + 1 + said.length, depth + 1) });
        at = since = end;
      } else if ((sign === "*" || sign === "_") && depth < MAX_DEPTH) {
        const delimiter = joined[at + 1] === sign ? sign + sign : sign;
        const opens = /\S/.test(joined[at + delimiter.length] ?? " ") && !(sign === "_" && /\w/.test(joined[at - 1] ?? ""));
        const end = opens ? closing(delimiter, at + delimiter.length, to) : -1;
        if (end < 0) { at += delimiter.length; continue; }
        flush(at);
        nodes.push({ name: delimiter.length === 2 ? "strong" : "em", nodes: read(at + delimiter.length, end, depth + 1) });
        at = since = end + delimiter.length;
      } else at += 1;
    }
    flush(to);
    return nodes;
  }
  return read(0, joined.length, 0);
}

// The leaves of *blocks*, in the order of the source.
export function leavesOf(blocks) {
  const found = [];
  const walk = (node) => {
    if (node.name === "leaf") found.push(node);
    if (node.name === "pre") for (const line of node.lines) if (line.start < line.end) found.push(line);
    for (const inside of node.nodes ?? node.inline ?? node.blocks ?? []) walk(inside);
    for (const row of node.rows ?? []) for (const cell of row) cell.forEach(walk);
  };
  blocks.forEach(walk);
  return found;
}

// Render *blocks* into *element*; *paint(leaf)* gives the nodes of a leaf, *key(block)* all that they depend on.  A
// block whose key has not changed keeps its nodes, so focus, selections and what streams in before stay untouched.
export function render(element, blocks, paint, key) {
  const top = Math.min(6, ...blocks.filter((block) => block.name === "heading").map((block) => block.level));
  const held = Array.from(element.children);
  blocks.forEach((block, place) => {
    const wanted = `${top} ${key(block)}`;
    if (held[place]?.markdownKey === wanted) return;
    const node = nodeOf(block, paint, top);
    node.markdownKey = wanted;
    if (held[place]) held[place].replaceWith(node);
    else element.append(node);
  });
  held.slice(blocks.length).forEach((node) => node.remove());
}

function nodeOf(block, paint, top) {
  const inline = (nodes) => nodes.map((node) => {
    if (node.name === "leaf") return paint(node);
    if (node.name === "br") return h("br");
    if (node.name === "space") return "\n";
    if (node.name === "a") return h("a", { href: node.href, rel: "noopener noreferrer", target: "_blank" }, inline(node.nodes));
    return h(node.name, {}, inline(node.nodes));
  });
  const within = (blocks) => blocks.map((inside) => nodeOf(inside, paint, top));
  switch (block.name) {
    case "heading": return h(`h${Math.min(6, 3 + block.level - top)}`, {}, inline(block.inline));
    case "hr": return h("hr");
    case "pre": return h("pre", { tabindex: "0" }, h("code", {}, block.lines.map((line, place) => [place ? "\n" : "", line.start < line.end ? paint({ ...line, code: true }) : ""])));
    case "p": return h("p", {}, inline(block.inline));
    case "li": return h("li", {}, block.blocks.length === 1 && block.blocks[0].name === "p" ? inline(block.blocks[0].inline) : within(block.blocks));
    case "ol": return h("ol", { start: block.first === 1 ? null : block.first }, within(block.blocks));
    case "table": {
      const [head, ...rows] = block.rows;
      const cell = (name, nodes, place) => h(name, { scope: name === "th" ? "col" : null, class: block.right[place] ? "number" : null }, inline(nodes));
      return h("div", { class: "scroll-x", tabindex: "0", role: "group" }, h("table", { class: "table" },
        h("thead", {}, h("tr", {}, head.map((nodes, place) => cell("th", nodes, place)))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map((nodes, place) => cell("td", nodes, place)))))));
    }
    default: return h(block.name, {}, within(block.blocks));
  }
}

// Markdown by an allow-list: what is not known stays text.  Every visible character is a range of the source, a leaf,
// so that marks of the source's sentences land on what is rendered.  Offsets are UTF-16 units of the source.

import { h } from "./dom.js";

const FENCE = /^\s{0,3}(```|~~~)/;
const HEADING = /^\s{0,3}(#{1,6})(?:\s+|$)/;
const RULE = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+•]|\d{1,9}[.)])(?:\s+|$)/;
const QUOTE = /^\s{0,3}>\s?/;
const TABLE = /^[\s|:-]*-[\s|:-]*$/;
// An escape, code, a link, strong, emphasis.  Lengths are bounded: what is not closed costs no more than that.
const TOKEN = /\\[\\`*_[\]()#+\-.!|>~{}]|(`+)([^]{0,2000}?[^`])\1(?!`)|\[([^\][\n]{1,300})\]\((https?:\/\/[^\s()<>]{1,2000})\)|(?<!\w)(\*\*|__)(?=\S)([^]{0,2000}?\S)\5(?!\w)|(?<![\w*])([*_])(?=[^\s*_])([^]{0,2000}?[^\s*_])\7(?![\w*])/g;
const MAX_DEPTH = 8;

// Whether a line ends the paragraph before it.
const begins = (line) => !line.trim() || [FENCE, HEADING, RULE, QUOTE, /^\s*(?:[-*+•]|1[.)])\s/].some((one) => one.test(line));

// The blocks of *text*: each has `name` (a tag), `start`, `end`, and `blocks`, `rows`, `leaves` or `inline` in it.
export function parse(text) {
  const lines = [];
  for (const { 0: said, index } of text.matchAll(/[^\n]*(?:\n|$)/g)) lines.push([index, index + said.trimEnd().length]);
  return blocksOf(text, lines, 0);
}

// *lines* are [start, end] of the source, without what the blocks around them put before.
function blocksOf(text, lines, depth) {
  const blocks = [];
  const say = (at) => (lines[at] ? text.slice(...lines[at]) : "");
  for (let at = 0, next; at < lines.length; at = next) {
    const line = say(at);
    next = at + 1;
    let block;
    let match;
    const take = (more) => { while (next < lines.length && more(say(next))) next += 1; };
    if (!line.trim()) continue;
    if ((match = FENCE.exec(line))) {
      take((said) => !said.trim().startsWith(match[1]));
      block = { name: "pre", leaves: lines.slice(at + 1, next).map(([start, end]) => ({ start, end, code: true })) };
      next += 1;
    } else if ((match = HEADING.exec(line))) {
      block = { name: "heading", level: match[1].length, inline: inlineOf(text, [[lines[at][0] + match[0].length, lines[at][1]]]) };
    } else if (at + depth === 0 && line === "---" && lines.slice(1).some((each) => text.slice(...each) === "---")) { // what a note states of itself
      take((said) => said !== "---");
      block = { name: "pre", leaves: lines.slice(1, next).map(([start, end]) => ({ start, end, code: true })) };
      next += 1;
    } else if (RULE.test(line)) {
      block = { name: "hr" };
    } else if (QUOTE.test(line) && depth < MAX_DEPTH) {
      take((said) => QUOTE.test(said));
      const inside = lines.slice(at, next).map(([start, end]) => [start + QUOTE.exec(text.slice(start, end))[0].length, end]);
      block = { name: "blockquote", blocks: blocksOf(text, inside, depth + 1) };
    } else if ((match = ITEM.exec(line)) && depth < MAX_DEPTH) {
      const ordered = /\d/.test(match[2]);
      const items = [];
      for (next = at; next < lines.length; next += 1) {
        const said = say(next);
        const item = ITEM.exec(said);
        const indent = said.search(/\S/);
        const deeper = indent > match[1].length + 1;
        if (item && !deeper) {
          if (/\d/.test(item[2]) !== ordered) break;
          items.push([[lines[next][0] + item[0].length, lines[next][1]]]);
        } else if (indent < 0 ? /^\s+\S/.test(say(next + 1)) || ITEM.test(say(next + 1)) : deeper || (!begins(said) && say(next - 1).trim())) {
          items.at(-1).push([Math.min(lines[next][1], lines[next][0] + Math.min(Math.max(indent, 0), match[0].length)), lines[next][1]]);
        } else break;
      }
      block = { name: ordered ? "ol" : "ul", first: ordered ? Number.parseInt(match[2], 10) : 1, blocks: items.map((inside) => ({ name: "li", blocks: blocksOf(text, inside, depth + 1) })) };
    } else if (line.includes("|") && say(next).includes("|") && TABLE.test(say(next))) {
      next += 1;
      take((said) => said.includes("|"));
      block = { name: "table", rows: [lines[at], ...lines.slice(at + 2, next)].map((row) => cellsOf(text, row)) };
    } else {
      take((said) => !begins(said));
      block = { name: "p", inline: inlineOf(text, lines.slice(at, next)) };
    }
    blocks.push({ start: lines[at][0], end: lines[Math.min(next, lines.length) - 1][1], ...block });
  }
  return blocks;
}

function cellsOf(text, [start, end]) {
  const row = text.slice(start, end).replace(/\|\s*$/, "");
  return [...row.matchAll(/(?:\\.|[^|\\])+/g)].filter(({ 0: said, index }) => index || said.trim()).map(({ 0: said, index }) => {
    const from = start + index + said.length - said.trimStart().length;
    return inlineOf(text, [[from, Math.max(from, start + index + said.trimEnd().length)]]);
  });
}

// Inline nodes of *lines*, which are one text.
function inlineOf(text, lines) {
  const joined = lines.map((line) => text.slice(...line)).join("\n");
  const leaves = (from, to, code = false) => {
    const found = [];
    let before = 0;
    for (const [start, end] of lines) {
      const a = Math.max(from, before);
      const b = Math.min(to, before + end - start);
      if (found.length && a <= to) found.push("\n");
      if (a < b) found.push({ start: start + a - before, end: start + b - before, code });
      before += end - start + 1;
    }
    return found;
  };
  function read(from, to, depth) {
    const nodes = [];
    let since = from;
    for (const match of depth < MAX_DEPTH ? joined.slice(from, to).matchAll(TOKEN) : []) {
      const [whole, ticks, code, label, href, two, strong, one, em] = match;
      const at = from + match.index;
      nodes.push(leaves(since, at));
      since = at + whole.length;
      const inside = (mark, said) => read(at + mark, at + mark + said.length, depth + 1);
      if (ticks) nodes.push({ name: "code", inline: leaves(at + ticks.length, at + ticks.length + code.length, true) });
      else if (href) nodes.push({ name: "a", href, inline: inside(1, label) });
      else if (two) nodes.push({ name: "strong", inline: inside(2, strong) });
      else if (one) nodes.push({ name: "em", inline: inside(1, em) });
      else since = at + 1; // an escape: its backslash goes
    }
    return [...nodes, leaves(since, to)].flat();
  }
  return read(0, joined.length, 0);
}

// The leaves of *nodes*, in the order of the source.
export const leavesOf = (nodes) => nodes.flatMap((node) => (Array.isArray(node) ? leavesOf(node) : typeof node === "string" ? []
  : "code" in node ? node : leavesOf(node.leaves ?? node.inline ?? node.blocks ?? node.rows ?? [])));

// Render *blocks* into *element*; *paint(leaf)* gives the nodes of a leaf, *key(block)* all that they depend on.  A
// block whose key has not changed keeps its nodes, so focus, selections and what was read stay untouched.
export function render(element, blocks, paint, key) {
  const top = Math.min(6, ...blocks.filter((block) => block.level).map((block) => block.level));
  const held = [...element.children];
  blocks.forEach((block, place) => {
    const wanted = top + key(block);
    if (held[place]?.markdown === wanted) return;
    const node = nodeOf(block, paint, top);
    node.markdown = wanted;
    if (held[place]) held[place].replaceWith(node);
    else element.append(node);
  });
  held.slice(blocks.length).forEach((node) => node.remove());
}

function nodeOf(block, paint, top) {
  const inline = (nodes) => nodes.map((node) => {
    if (typeof node === "string") return node;
    if ("code" in node) return paint(node);
    return h(node.name, node.href ? { href: node.href, rel: "noopener noreferrer", target: "_blank" } : null, inline(node.inline));
  });
  const { name, blocks = [] } = block;
  if (name === "heading") return h(`h${Math.min(6, 3 + block.level - top)}`, inline(block.inline));
  if (name === "pre") return h("pre[tabindex=0]", h("code", block.leaves.map((leaf) => [paint(leaf), "\n"])));
  if (name === "table") {
    const row = (cell) => (cells) => h("tr", cells.map((nodes) => h(cell, inline(nodes))));
    return h("div.scroll-x[tabindex=0]", h("table.table", h("thead", block.rows.slice(0, 1).map(row("th"))), h("tbody", block.rows.slice(1).map(row("td")))));
  }
  const tight = name === "li" && blocks[0]?.inline ? [inline(blocks[0].inline), blocks.slice(1).map((inside) => nodeOf(inside, paint, top))] : null;
  return h(name, block.first > 1 ? { start: block.first } : null, tight ?? (block.inline ? inline(block.inline) : blocks.map((inside) => nodeOf(inside, paint, top))));
}

// The marks of an answer: which sentence has which status and citations, and the nodes that show it.

import { h } from "./dom.js";
import { leavesOf, parse, render } from "./markdown.js";
import { known, number, t } from "./strings.js";

// By status, what overrules what where a sentence was checked at several markers.
const SIGNS = { contradicted: "≠", verified: "✓", supported: "≈", unsupported: "?", not_a_claim: "·" };
const STATUSES = Object.keys(SIGNS);
const MARKER = /\[(\d{1,3})\]/g;

// The vault and the path of a citation.
export function placeOf(citation) {
  const [, vault, ...path] = citation.key.split("/");
  return { vault, path: path.join("/") };
}

// Sentences with their own citations, `from` and `to` in UTF-16 units.  Both lists are in the order of the answer, and
// a sentence has as many citations as markers.
export function cited(text, sentences, citations) {
  const at = [0];
  if (/[\ud800-\udfff]/.test(text)) for (const point of text) at.push(at.at(-1) + point.length);
  const utf16 = (point) => (at.length > 1 ? at[Math.min(point, at.length - 1)] : point);
  const found = new Map();
  let next = 0;
  for (const sentence of sentences) {
    const own = citations.slice(next, next += sentence.markers.length);
    const before = found.get(sentence.start);
    if (before) own.unshift(...before.citations);
    const { status, reason } = before && STATUSES.indexOf(before.status) < STATUSES.indexOf(sentence.status) ? before : sentence;
    found.set(sentence.start, { ...sentence, status, reason, from: utf16(sentence.start), to: utf16(sentence.end), citations: own });
  }
  return [...found.values()].sort((a, b) => a.from - b.from).map((sentence, index) => ({ ...sentence, index }));
}

// Show *text* in *element* with the marks of *sentences* (as `cited` gives them).  *open(sentence, citation, button)* is
// called for a citation, and with null for the sign of a sentence without one; *states* says of a citation what became
// of its source: "changed" or "gone".
export function showAnswer(element, text, sentences, states, open) {
  const blocks = parse(text);
  const signs = new Map(); // start of a leaf -> sentences whose sign stands in it
  const leaves = leavesOf(blocks);
  let last = 0;
  for (const sentence of sentences) {
    while (leaves[last + 1]?.start < sentence.to) last += 1;
    const leaf = leaves[last];
    if (leaf?.start < sentence.to && leaf.end > sentence.from) signs.set(leaf.start, [...(signs.get(leaf.start) ?? []), sentence]);
  }
  const within = (start, end) => sentences.filter((one) => one.from < end && one.to > start);
  const button = (sentence, citation) => citationButton(sentence, citation, states.get(citation), open);

  function paint(leaf) {
    const marked = within(leaf.start, leaf.end);
    const ends = (signs.get(leaf.start) ?? []).map((one) => [Math.min(one.to, leaf.end), one]);
    const markers = new Map();
    const cuts = new Set([leaf.start, leaf.end, ...ends.map(([at]) => at), ...marked.flatMap((one) => [Math.max(one.from, leaf.start), Math.min(one.to, leaf.end)])]);
    for (const match of leaf.code ? [] : text.slice(leaf.start, leaf.end).matchAll(MARKER)) {
      const at = leaf.start + match.index;
      const has = (one) => one.citations.find((citation) => citation.marker === Number(match[1]));
      const sentence = sentences.findLast((one) => one.from <= at && has(one));
      if (!sentence) continue;
      markers.set(at, button(sentence, has(sentence)));
      cuts.add(at).add(at + match[0].length);
    }
    const places = [...cuts].sort((a, b) => a - b);
    return places.map((at, place) => {
      const end = places[place + 1];
      const sentence = marked.find((one) => one.from <= at && end <= one.to);
      const said = text.slice(at, end ?? at);
      return [ends.map(([where, one]) => where === at && signOf(one, button, open)), markers.get(at)
        ?? (sentence && said ? h("span", { class: `sentence status-${sentence.status}`, "data-sentence": sentence.index, "data-status": sentence.status }, said) : said)];
    });
  }

  const key = ({ start, end }) => JSON.stringify([text.slice(start, end), within(start, end + 9)
    .map((one) => [one.index, one.from - start, one.status, one.citations.map((citation) => states.get(citation) ?? "")])]);
  render(element, blocks, paint, key);
  const first = element.querySelector("[data-mark]");
  if (first && !element.querySelector('[data-mark][tabindex="0"]')) first.tabIndex = 0; // one mark is in the order of Tab
}

// The status of a sentence in words, with its sign.
export function judged(sentence, citation = null) {
  const said = sentence.reason ? `: ${known("reason", sentence.reason)}` : "";
  return [h("strong", { class: `status status-${sentence.status}` }, `${SIGNS[sentence.status]} ${t(`status.${sentence.status}`)}`), said,
    citation?.attributed && ` ⊕ ${t("status.attributed")}`];
}

function signOf(sentence, button, open) {
  const label = t(`status.${sentence.status}`) + (sentence.reason ? `: ${known("reason", sentence.reason)}` : "");
  const shared = { class: `sign status-${sentence.status}`, "data-sign": sentence.status, "aria-label": label, title: label };
  if (sentence.citations.length || sentence.status === "not_a_claim") {
    // In the text its markers follow; a citation that the check found has none there.
    return [h("span", { ...shared, role: "img" }, SIGNS[sentence.status]), sentence.attributed && sentence.citations.map((one) => button(sentence, one))];
  }
  return h("button", { ...shared, type: "button", tabindex: "-1", "data-mark": true, "data-at": `${sentence.index}.`, onclick: (event) => open(sentence, null, event.currentTarget) }, SIGNS[sentence.status]);
}

function citationButton(sentence, citation, state, open) {
  const label = [t("citation.label", { marker: citation.marker, path: citation.path, status: t(`status.${citation.status}`) }), citation.attributed && t("status.attributed"), state && t(`source.${state}`)].filter(Boolean).join(" · ");
  return h("button", {
    class: `citation status-${citation.status}${citation.attributed ? " attributed" : ""}`, type: "button", tabindex: "-1", "aria-label": label, title: label,
    "data-mark": true, "data-at": `${sentence.index}.${sentence.citations.indexOf(citation)}`, "data-citation": citation.marker, "data-source-state": state,
    onclick: (event) => open(sentence, citation, event.currentTarget),
  }, citation.attributed && "⊕", citation.marker, state && { gone: " ⌫", changed: " ↻" }[state]);
}

// Move the focus *step* marks on in *element*, from *current* or the one that has it; the mark that has it then.
export function moveMark(element, step, current) {
  const marks = [...element.querySelectorAll("[data-mark]")];
  const from = marks.indexOf(current ?? document.activeElement);
  const next = marks[from < 0 && step < 0 ? marks.length - 1 : from + step];
  if (!next) return null;
  for (const mark of marks) mark.tabIndex = mark === next ? 0 : -1;
  next.focus();
  return next;
}

// How many sentences have which status; opened, what the signs mean.
export function legend(sentences) {
  const count = (status) => sentences.filter((one) => one.status === status).length;
  const sign = (status) => h("span", { class: `sign status-${status}`, "aria-hidden": "true" }, SIGNS[status]);
  return h("details", { class: "legend", "data-legend": true },
    h("summary", {}, STATUSES.filter((status) => count(status) && status !== "not_a_claim").map((status) => h("span", { class: "tally", "data-tally": status }, sign(status), ` ${number(count(status))} ${t(`status.${status}`)}`)), h("span", { class: "muted" }, t("legend.title"))),
    h("ul", {}, STATUSES.map((status) => h("li", {}, sign(status), ` ${t(`status.${status}`)}: ${t(`legend.${status}`)}`)), h("li", {}, h("span", { class: "sign", "aria-hidden": "true" }, "⊕"), ` ${t("status.attributed")}: ${t("legend.attributed")}`)));
}

// The quotes of an answer with where they stand, for paper and the clipboard.
export function footnotes(citations) {
  return citations.map((one) => `[${one.marker}] (${t(`status.${one.status}`)}) “${one.quote}” ${t("evidence.footnote", { place: Object.values(placeOf(one)).join("/"), ...one })}`);
}

// The answer as plain text with its footnotes; a citation that the check found gets a marker there.
export function plainText(text, sentences, citations) {
  let out = "";
  let at = 0;
  for (const sentence of cited(text, sentences, citations)) {
    if (!sentence.attributed) continue;
    out += text.slice(at, sentence.to) + sentence.citations.map((one) => ` [${one.marker}]`).join("");
    at = sentence.to;
  }
  return [out + text.slice(at), "", ...footnotes(citations)].join("\n");
}

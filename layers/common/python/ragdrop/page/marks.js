// The marks of an answer: which sentence has which status and citations, and the nodes that show it.

import { h } from "./dom.js";
import { leavesOf, parse, render } from "./markdown.js";
import { known, number, t } from "./strings.js";

// By status; an earlier one overrules where there are several markers.
const SIGNS = { contradicted: "≠", verified: "✓", supported: "≈", unsupported: "?", missing: "∅", not_a_claim: "·" };
const STATUSES = Object.keys(SIGNS);

// The vault and the path of a citation.
export function placeOf(citation) {
  const [, vault, ...path] = citation.key.split("/");
  return { vault, path: path.join("/"), place: [vault, ...path].join("/") };
}

// *text* of a document as it looks, without marks.
export function rendered(text) {
  const body = h("div.rendered");
  render(body, parse(text), ({ start, end }) => text.slice(start, end), ({ start, end }) => `${start}-${end}`);
  return body;
}

// Sentences with their own citations, `from` and `to` in UTF-16 units.  Both lists are in the order of the answer, and
// a sentence has as many citations as markers.
export function cited(text, sentences, citations) {
  const at = [0];
  for (const point of text) at.push(at.at(-1) + point.length);
  const found = new Map();
  let next = 0;
  for (const sentence of sentences) {
    const own = citations.slice(next, next += sentence.markers.length);
    const before = found.get(sentence.start);
    const { status, reason } = before && STATUSES.indexOf(before.status) < STATUSES.indexOf(sentence.status) ? before : sentence;
    found.set(sentence.start, { ...sentence, status, reason, from: at[sentence.start], to: at[sentence.end] ?? text.length, citations: [...(before?.citations ?? []), ...own] });
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
  const cite = (sentence, citation) => citationButton(sentence, citation, states.get(citation), open);

  function paint({ start, end, code }) {
    const marked = within(start, end);
    const ends = (signs.get(start) ?? []).map((one) => [Math.min(one.to, end), one]);
    const markers = new Map();
    const cuts = new Set([start, end, ...ends.map(([at]) => at), ...marked.flatMap((one) => [Math.max(one.from, start), Math.min(one.to, end)])]);
    for (const match of code ? [] : text.slice(start, end).matchAll(/\[(\d{1,3})\]/g)) {
      const at = start + match.index;
      if (sentences.some((one) => one.from <= at && at < one.to)) continue; // a bracket of the document's own
      const has = (one) => one.citations.find((citation) => citation.marker === Number(match[1]));
      const sentence = sentences.findLast((one) => one.from <= at && has(one));
      if (!sentence) continue;
      markers.set(at, cite(sentence, has(sentence)));
      cuts.add(at).add(at + match[0].length);
    }
    const places = [...cuts].sort((a, b) => a - b);
    const glued = (at) => !text.slice(places[places.indexOf(at) - 1] ?? at, at).trim() && at > start;
    return places.flatMap((at, place) => {
      const next = places[place + 1];
      const said = text.slice(at, next ?? at);
      const sentence = marked.find((one) => one.from <= at && next <= one.to);
      const signed = ends.filter(([where]) => where === at).map(([, one]) => signOf(one, cite, open));
      if (markers.has(next) && !said.trim()) return h("span.nowrap", signed, "\u00a0", markers.get(next)); // on the line of its sentence
      return [signed, markers.has(at) ? !glued(at) && markers.get(at) : sentence && said
        ? h("span.sentence", { class: `status-${sentence.status}`, "data-sentence": sentence.index, "data-status": sentence.status }, said) : said];
    });
  }

  render(element, blocks, paint, ({ start, end }) => JSON.stringify([text.slice(start, end), within(start, end + 9)
    .map((one) => [one.index, one.from - start, one.status, one.citations.map((citation) => states.get(citation))])]));
  const first = element.querySelector("[data-mark]");
  if (first && !element.querySelector('[data-mark][tabindex="0"]')) first.tabIndex = 0; // one mark is in the order of Tab
}

const labelOf = ({ status, reason, untrusted }) => t(`status.${status}`) + (reason ? `: ${known("reason", reason)}` : "") + (untrusted ? ` · ${t("status.untrusted")}` : "");

// The status of a sentence in words, with its sign.
export const judged = (sentence, citation = null) => h("strong.status", { class: `status-${sentence.status}` }, SIGNS[sentence.status], " ", labelOf(sentence), citation?.attributed && ` · ⊕ ${t("status.attributed")}`);

function signOf(sentence, cite, open) {
  const label = labelOf(sentence);
  const shared = { class: `status-${sentence.status}`, "data-sign": sentence.status, "aria-label": label, title: label };
  // In the text its markers follow; a citation that the check found has none there.
  if (sentence.citations.length || sentence.status === "not_a_claim") return h("span.nowrap", h("span.sign[role=img]", shared, SIGNS[sentence.status]), sentence.attributed && sentence.citations.map((one) => cite(sentence, one)));
  return h("button.sign[type=button][tabindex=-1][data-mark]", { ...shared, "data-at": `${sentence.index}.`, onclick: ({ currentTarget }) => open(sentence, null, currentTarget) }, SIGNS[sentence.status]);
}

function citationButton(sentence, citation, state, open) {
  const { marker, path, status, attributed } = citation;
  const label = [t("citation.label", { marker, path, status: t(`status.${status}`) }), attributed && t("status.attributed"), state && t(`source.${state}`)].filter(Boolean).join(" · ");
  return h("button.citation[type=button][tabindex=-1][data-mark]", {
    class: `status-${status}`, "aria-label": label, title: label, "data-at": `${sentence.index}.${sentence.citations.indexOf(citation)}`, "data-citation": marker, "data-attributed": attributed,
    "data-source-state": state, onclick: ({ currentTarget }) => open(sentence, citation, currentTarget),
  }, attributed && "⊕", marker, state && { gone: " ⌫", changed: " ↻" }[state]);
}

// Move the focus *step* marks on in *element*, from *current* or the one that has it; the mark that has it then.
export function moveMark(element, step, current) {
  const marks = [...element.querySelectorAll("[data-mark]")];
  const from = marks.indexOf(current ?? document.activeElement);
  const next = marks[from < 0 && step < 0 ? marks.length - 1 : from + step];
  for (const mark of next ? marks : []) mark.tabIndex = mark === next ? 0 : -1;
  next?.focus();
  return next;
}

// How many sentences have which status; opened, what the signs mean.
export function legend(sentences) {
  const count = (status) => sentences.filter((one) => one.status === status).length;
  const sign = (status) => h("span.sign[aria-hidden=true]", { class: `status-${status}` }, SIGNS[status]);
  return h("details.legend[data-legend]", h("summary", STATUSES.filter(count).map((status) => h("span", { "data-tally": status }, sign(status), `${number(count(status))} ${t(`status.${status}`)}`)), h("span.muted", t("legend.title"))),
    h("ul", [...STATUSES, "attributed"].map((status) => h("li", sign(status), SIGNS[status] ? "" : "⊕ ", `${t(`status.${status}`)}: ${t(`legend.${status}`)}`))));
}

// The quotes of an answer with where they stand, for paper and the clipboard.
export const footnotes = (citations) => citations.map((one) => `[${one.marker}] (${t(`status.${one.status}`)}) “${one.quote}” ${t("evidence.footnote", { ...one, ...placeOf(one) })}`);

// The answer as plain text with its footnotes; a citation that the check found gets a marker there.
export function plainText(text, sentences, citations) {
  let out = text;
  for (const sentence of cited(text, sentences, citations).filter((one) => one.attributed).reverse()) {
    out = out.slice(0, sentence.to) + sentence.citations.map((one) => ` [${one.marker}]`).join("") + out.slice(sentence.to);
  }
  return [out, "", ...footnotes(citations)].join("\n");
}

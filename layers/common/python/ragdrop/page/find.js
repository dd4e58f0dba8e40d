// One field in the header that finds titles, paths, tags, words and quotations while one types: a combobox of WAI-ARIA.

import { call, documentPath, query } from "./api.js";
import { announce, h, show } from "./dom.js";
import { known, number, t } from "./strings.js";

const WAIT_MS = 50; // after the last key
let choices = []; // what each option leads to
let at = -1; // the active one
let timer = null;
let asked = null; // the last request: an earlier one that answers later is dropped

const input = h("input[type=search][id=find][role=combobox][aria-autocomplete=list][aria-expanded=false][aria-controls=found][autocomplete=off][spellcheck=false][maxlength=200][enterkeyhint=search][data-find]", {
  oninput: later, onkeydown: pressed, onfocus: () => open(choices.length > 0 && input.value.trim() !== ""), onblur: () => open(false),
});
const list = h("ul.found[id=found][role=listbox][hidden]");
const field = h("div.find[role=search]", input, list);

// The field, in the language of now.
export function finder() {
  input.placeholder = t("find.placeholder");
  for (const element of [input, list]) element.setAttribute("aria-label", t("find.label"));
  return field;
}

function open(is) {
  list.hidden = !is;
  input.setAttribute("aria-expanded", is);
  if (!is) activate(-1);
}

function activate(place) {
  list.children[at]?.setAttribute("aria-selected", "false");
  at = place;
  list.children[at]?.setAttribute("aria-selected", "true");
  list.children[at]?.scrollIntoView({ block: "nearest" });
  if (at < 0) input.removeAttribute("aria-activedescendant");
  else input.setAttribute("aria-activedescendant", `found-${at}`);
}

function later() {
  clearTimeout(timer);
  asked?.abort();
  asked = null;
  if (!input.value.trim()) return open(false);
  timer = setTimeout(look, WAIT_MS, input.value.trimStart());
}

async function look(text) {
  const mine = asked = new AbortController();
  let results = [];
  let said;
  try {
    ({ results } = await call(`/find${query({ q: text, limit: 10 })}`, { signal: mine.signal }));
    said = results.length ? t("find.results", { count: number(results.length) }) : t("find.none");
  } catch (error) {
    if (error.name !== "AbortError") said = t("find.failed");
  }
  if (mine !== asked) return;
  choices = [...results.map((one) => `#${documentPath(one.vault, one.path)}${query({ span: one.start === null ? null : `${one.start}-${one.end}` })}`), `#/${query({ q: text.trim() })}`];
  show(list, [...results.map(shown), [results.length === 0 && h("span.muted", said), h("b", t("find.ask", { text: text.trim() }))]].map((inside, place) =>
    h("li[role=option][aria-selected=false]", { id: `found-${place}`, onmousedown: (event) => event.preventDefault(), onclick: () => choose(place) }, inside)));
  at = -1;
  open(document.activeElement === input);
  announce(said);
}

function shown({ title, vault, path, found_in: where, text, text_start: from, start, end, place }) {
  const points = Array.from(text ?? "");
  const part = (first, last) => points.slice(first - from, last - from).join("");
  return [h("span.row", h("b", title || path), h("span.chip", known("find.in", where))), h("span.muted.small", [`${vault}/${path}`, place].filter(Boolean).join(" · ")),
    text && h("span.small", start === null ? text : [part(from, start), h("mark", part(start, end)), part(end, from + points.length)])];
}

function choose(place) {
  open(false);
  input.blur();
  location.hash = choices[place];
}

function pressed(event) {
  if (event.isComposing) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && !list.hidden) activate((at + 1 + step + choices.length + 1) % (choices.length + 1) - 1);
  else if (step && choices.length && input.value.trim()) open(true);
  else if (event.key === "Enter" && !list.hidden) choose(Math.max(at, 0));
  else if (event.key === "Escape" && !list.hidden) open(false);
  else return;
  event.preventDefault();
  event.stopPropagation(); // Escape closes this list and nothing behind it
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey) || !field.isConnected) return;
  event.preventDefault();
  input.select();
});
window.addEventListener("forget", () => { input.value = ""; choices = []; show(list); later(); });

// The question box, its filters, and the conversation, which stays while one looks at other views.

import { call, credential, query } from "./api.js";
import { h, show } from "./dom.js";
import { empty, problem } from "./problems.js";
import { t } from "./strings.js";

const HISTORY = 20; // turns that the API takes
const nothing = () => ({ vaults: [], folders: "", doc_types: [], content_type: [], tags: "", date_from: "", date_to: "", detail: "", model: "" });
const words = (text) => text.split(",").map((one) => one.trim()).filter(Boolean);
let turns = [];
let fields = nothing();
let draft = "";
let open = () => {}; // shows evidence in the view that is shown

window.addEventListener("forget", () => {
  turns.forEach((turn) => turn.stop());
  turns = [];
  fields = nothing();
  draft = "";
});
window.addEventListener("language", () => turns.forEach((turn) => turn.build()));

export async function view(main, { me, whoAmI, params, signal }) {
  const typed = main.querySelector("#question");
  const box = h("textarea", {
    id: "question", rows: "1", maxlength: "1000", "aria-describedby": "question-hint", enterkeyhint: "send", "data-question": true,
    value: params.get("q") ?? (typed?.value || draft), oninput: () => { draft = box.value; }, onkeydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      submit();
    },
  });
  const button = (name, onclick, ...inside) => h("button", { class: "button quiet", type: "button", [`data-${name}`]: true, onclick }, inside);
  const send = h("button", { class: "button primary", type: "submit", "data-send": true }, t("ask.send"));
  const stop = h("button", { class: "button", type: "button", "data-stop": true, onclick: () => turns.at(-1).stop() }, h("span", { "aria-hidden": "true" }, "■ "), t("ask.stop"));
  const fresh = button("new", () => { turns.forEach((turn) => turn.stop()); turns = []; draw(); box.focus(); }, t("ask.new"));
  const options = h("div", { id: "options", class: "options", hidden: true });
  const toggle = button("filters", () => { options.hidden = !options.hidden; draw(); if (!options.hidden) fill(); });
  toggle.setAttribute("aria-controls", "options");
  const hero = h("div", { class: "hero" }, h("h1", {}, t("ask.title")), h("p", { class: "muted" }, t("ask.intro")));
  const list = h("div", { class: "turns" });
  const notice = h("div", {});
  const page = h("div", { class: "ask" }, h("div", { class: "conversation" }, hero, list, notice,
    h("form", { class: "composer", "data-composer": true, onsubmit: (event) => { event.preventDefault(); submit(); } },
      h("label", { for: "question", class: "visually-hidden" }, t("ask.label")), box,
      h("div", { class: "composer-bar" }, toggle, fresh, h("span", { id: "question-hint", class: "muted small" }, t("ask.keys")), stop, send), options)));
  for (const name of ["vault", "folder"]) if (params.get(name)) fields[`${name}s`] = name === "vault" ? [params.get(name)] : params.get(name);
  const place = typed?.selectionStart ?? box.value.length;
  show(main, page);
  draw();
  if (typed ? typed === document.activeElement || document.activeElement === document.body : !matchMedia("(pointer: coarse)").matches) {
    box.focus();
    box.setSelectionRange(place, place);
  }

  function draw() {
    const running = turns.at(-1)?.running ?? false;
    const chosen = [...fields.vaults, ...words(fields.folders), ...fields.doc_types, ...fields.content_type.map((one) => t(`content_type.${one}`)), ...words(fields.tags),
      fields.date_from && `≥ ${fields.date_from}`, fields.date_to && `≤ ${fields.date_to}`, fields.detail && t(`detail.${fields.detail}`), fields.model].filter(Boolean);
    page.classList.toggle("has-turns", turns.length > 0);
    hero.classList.toggle("visually-hidden", turns.length > 0);
    if (list.childElementCount !== turns.length) show(list, turns.map((turn) => turn.element));
    box.placeholder = t(turns.length ? "ask.follow_up" : "ask.placeholder");
    stop.hidden = !running;
    send.hidden = running;
    fresh.hidden = !turns.length;
    toggle.setAttribute("aria-expanded", String(!options.hidden));
    show(toggle, h("span", { "aria-hidden": "true" }, options.hidden ? "▸" : "▾"), t("ask.filters"), chosen.length ? h("span", { class: "chosen" }, `: ${chosen.join(", ")}`) : null);
  }

  async function submit() {
    const question = box.value.trim();
    if (!question || turns.at(-1)?.running) return box.focus();
    const { Turn } = await import("./turn.js");
    const history = turns.filter((turn) => turn.answered).slice(-HISTORY).map((turn) => ({ question: turn.fields.query, answer: turn.text }));
    const turn = new Turn({ query: question, ...request() }, history, (...evidence) => open(...evidence), () => window.dispatchEvent(new CustomEvent("turns")));
    turns.push(turn);
    box.value = draft = "";
    const run = turn.run();
    turn.element.scrollIntoView();
    return run;
  }

  async function fill() {
    try {
      me ??= await whoAmI();
      show(options, pickers(me, draw));
    } catch (error) {
      show(options, problem(error, fill));
    }
  }

  const known = (found) => {
    me = found;
    if (!signal.aborted) show(notice, me.vaults.length ? null : empty(t("ask.empty.title"), t(me.role === "reader" ? "ask.empty.reader" : "ask.empty.text"),
      me.role !== "reader" && h("a", { class: "button", href: "#/documents" }, t("ask.empty.add"))));
  };
  const ask = () => whoAmI().then(known, (error) => { if (!signal.aborted && error.kind !== "signed_out") show(notice, problem(error, ask)); });
  window.addEventListener("turns", draw, { signal });
  window.addEventListener("signed-in", (event) => known(event.detail), { signal });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select") || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    box.focus();
  }, { signal });

  // The box is usable from here on; what follows may take its time.
  if (credential.get()) await ask();
  const [{ host }] = await Promise.all([import("./evidence.js"), import("./turn.js")]);
  if (!signal.aborted) open = host(page, signal, () => turns.at(-1));
}

// The fields of POST /ask that the filters stand for.
function request() {
  const given = { ...fields, folders: words(fields.folders), tags: words(fields.tags) };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value.length));
}

function pickers(me, draw) {
  const set = (name, value) => { fields[name] = value; draw(); };
  const chips = (name, values, text = (value) => value) => values.length > 0 && h("fieldset", { class: "field", [`data-pick-${name}`]: true }, h("legend", {}, t(`ask.${name}`)),
    h("div", { class: "row" }, values.map((value) => h("label", { class: "chip" }, h("input", { type: "checkbox", value, checked: fields[name].includes(value),
      onchange: ({ target }) => set(name, target.checked ? [...fields[name], value] : fields[name].filter((one) => one !== value)) }), text(value)))));
  const field = (name, input) => h("div", { class: "field" }, h("label", { for: `ask-${name}` }, t(`ask.${name}`)), input);
  const line = (name, more = {}) => field(name, h("input", { id: `ask-${name}`, value: fields[name], autocomplete: "off", onchange: ({ target }) => set(name, target.value), ...more }));
  const choice = (name, values, text) => field(name, h("select", { id: `ask-${name}`, onchange: ({ target }) => set(name, target.value) },
    ["", ...values].map((value) => h("option", { value, selected: fields[name] === value }, value ? text(value) : t(`ask.${name}.default`)))));
  const folders = h("datalist", { id: "folders" });
  const suggest = async () => {
    if (folders.childElementCount) return;
    const names = await Promise.all((fields.vaults.length ? fields.vaults : me.vaults.slice(0, 5)).map(foldersOf));
    show(folders, [...new Set(names.flat())].sort().map((value) => h("option", { value })));
  };
  return [
    chips("vaults", me.vaults),
    h("div", { class: "options-grid" }, line("folders", { list: "folders", onfocus: suggest, placeholder: "a/b, c" }), folders, line("tags", { placeholder: "a, b" }),
      line("date_from", { type: "date" }), line("date_to", { type: "date" }),
      choice("detail", ["brief", "detailed"], (value) => t(`detail.${value}`)), me.models.length > 1 && choice("model", me.models, (value) => value)),
    chips("doc_types", me.doc_types), chips("content_type", ["documentation", "decision", "code", "chat"], (value) => t(`content_type.${value}`)),
  ];
}

async function foldersOf(vault) {
  try {
    const { documents } = await call(`/documents${query({ vault, limit: 1000 })}`);
    return documents.flatMap(({ path }) => path.split("/").slice(0, -1).map((_, place, parts) => `${vault}/${parts.slice(0, place + 1).join("/")}`));
  } catch {
    return []; // suggestions alone are missing
  }
}

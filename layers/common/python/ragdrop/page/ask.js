// The question box, its filters, and the conversation, which stays while one looks at other views.

import { call, credential, query } from "./api.js";
import { button, h, show } from "./dom.js";
import { loading, problem } from "./problems.js";
import { day, endOf, t, today } from "./strings.js";
import { exported, nameOfThread, share } from "./threads.js";

const HISTORY = 20; // turns that the API takes
const MAX_ANSWER = 20000; // characters of each
const nothing = () => ({ vaults: [], folders: "", doc_types: [], content_type: [], tags: "", date_from: "", date_to: "", as_of: "", detail: "", model: "" });
const words = (text) => text.split(",").map((one) => one.trim()).filter(Boolean);
let turns = [];
let thread = null; // the stored thread of these turns: its summary
let leftOut = 0; // answers of it that are not shown
const stored = new Set(); // ids of answers that are in a thread
let storing = Promise.resolve(); // one after another, as the first one makes the thread
let fields = nothing();
let draft = "";
let open = () => {}; // shows evidence in the view that is shown

const changed = () => window.dispatchEvent(new CustomEvent("turns"));
const forget = () => {
  turns.forEach((turn) => turn.stop());
  turns = [];
  thread = null;
  leftOut = 0;
};
window.addEventListener("new-thread", forget);
window.addEventListener("thread-gone", ({ detail }) => thread?.thread_id === detail && forget());
// Every answer that is done joins the thread; the address then names it, so that a reload goes on there.
window.addEventListener("turns", () => turns.filter((turn) => turn.state === "done").forEach(store));
window.addEventListener("forget", () => { forget(); fields = nothing(); draft = ""; });
window.addEventListener("language", () => turns.forEach((turn) => turn.build()));

function store(turn) {
  const id = turn.done.answer_id;
  const here = () => turns.includes(turn); // nobody has opened another thread meanwhile
  if (!id || stored.has(id)) return;
  stored.add(id);
  storing = storing.then(async () => {
    if (!here()) return;
    const where = thread?.own ? `/threads/${thread.thread_id}/answers` : "/threads";
    const found = await call(where, { method: "POST", body: { answer_id: id } });
    if (!here()) return;
    if (!thread?.own) leftOut = 0;
    thread = found;
    if (/^#?\/?($|\?|threads\/)/.test(location.hash)) history.replaceState(null, "", `#/threads/${thread.thread_id}`);
    changed();
  }).catch((error) => { // the next answer takes it along, in a new thread where this one is gone or full
    stored.delete(id);
    if (here() && [404, 409].includes(error.status)) thread = null;
  });
}

// The turns of a stored thread, as far as one may read them now.
async function load(id, signal) {
  const { Turn } = await import("./turn.js");
  const receipts = [];
  let missing = 0;
  let page = { cursor: null };
  do {
    page = await call(`/threads/${encodeURIComponent(id)}${query({ cursor: page.cursor })}`, { signal });
    receipts.push(...page.answers);
    missing += page.left_out;
  } while (page.cursor);
  [thread, leftOut] = [page, missing];
  for (const receipt of receipts) {
    stored.add(receipt.answer_id);
    const turn = Turn.of(receipt, (...evidence) => open(...evidence));
    turn.changed = changed;
    turns.push(turn);
  }
}

export async function view(main, { me, whoAmI, parts, params, signal }) {
  if (parts[0] && parts[0] !== thread?.thread_id) {
    show(main, loading());
    forget();
    await load(parts[0], signal);
  } else if (thread) history.replaceState(null, "", `#/threads/${thread.thread_id}`);
  const typed = main.querySelector("#question"); // in the skeleton of the page one may have begun
  const had = typed ? document.activeElement === typed : !matchMedia("(pointer: coarse)").matches;
  const box = h("textarea[id=question][rows=1][maxlength=1000][aria-describedby=keys][enterkeyhint=send][data-question]", {
    value: params.get("q") ?? (typed?.value || draft), oninput: () => { draft = box.value; }, onkeydown: (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      submit();
    },
  });
  const send = h("button.button.primary[data-send]", t("ask.send"));
  const stop = button("[data-stop]", t("ask.stop"), () => turns.at(-1).stop());
  const fresh = button(".quiet[data-new]", t("ask.new"), () => {
    forget();
    history.replaceState(null, "", "#/");
    draw();
    if (me) known(me);
    box.focus();
  });
  const options = h("div.options[id=options][hidden]");
  const toggle = button(".quiet[aria-controls=options][data-filters]", "", () => { options.hidden = !options.hidden; draw(); if (!options.hidden) fill(options, pickers); });
  const scope = h("div.options[id=scope][hidden]");
  const scoped = button(".quiet[aria-controls=scope][data-scope]", "", () => { scope.hidden = !scope.hidden; draw(); if (!scope.hidden) fill(scope, scopes); });
  const list = h("div.turns");
  const bar = h("div.row.spread[data-thread-bar]");
  const below = h("div[data-welcome]"); // what there is to begin with, below the box, which so stays where it is
  const notice = h("div");
  const page = h("div.ask", h("div.conversation", h("div.hero", h("h1", t("ask.title")), h("p.muted", t("ask.intro"))), list, bar, notice,
    h("form.composer", { onsubmit: (event) => { event.preventDefault(); submit(); } }, h("label.visually-hidden[for=question]", t("ask.label")), box,
      h("div.composer-bar", scoped, toggle, fresh, h("span.muted.small[id=keys]", t("ask.keys")), stop, send), scope, options), below));
  if (params.get("vault")) fields.vaults = [params.get("vault")];
  fields.folders = params.get("folder") ?? fields.folders;
  const place = typed?.selectionStart ?? box.value.length;
  show(main, page);
  draw();
  if (had) {
    box.focus();
    box.setSelectionRange(place, place);
  }

  function draw() {
    const running = turns.at(-1)?.running ?? false;
    const chosen = [...fields.doc_types, ...fields.content_type.map((one) => t(`content_type.${one}`)), ...words(fields.tags),
      fields.date_from && `≥ ${day(fields.date_from)}`, fields.date_to && `≤ ${day(fields.date_to)}`, fields.as_of && t("ask.as_of_chosen", { date: day(fields.as_of) }), fields.detail && t(`detail.${fields.detail}`), fields.model].filter(Boolean).join(", ");
    page.classList.toggle("has-turns", turns.length > 0);
    if (list.childElementCount !== turns.length) show(list, turns.map((turn) => turn.element));
    box.placeholder = t(turns.length ? "ask.follow_up" : "ask.placeholder");
    drawBar();
    stop.hidden = !running;
    send.hidden = running;
    fresh.hidden = !turns.length;
    toggle.setAttribute("aria-expanded", !options.hidden);
    scoped.setAttribute("aria-expanded", !scope.hidden);
    show(scoped, t("scope.label"), " ", h("span.chosen", [...fields.vaults, ...words(fields.folders)].join(", ") || t("scope.all")));
    show(toggle, t("ask.filters"), chosen && h("span.chosen", `: ${chosen}`));
  }

  // Drawn anew where something of it changed: a button that has the focus keeps it.
  function drawBar() {
    const state = JSON.stringify([thread?.thread_id, thread?.name, thread?.shared, leftOut]);
    if (bar.dataset.state === state) return;
    bar.dataset.state = state;
    const held = document.activeElement?.dataset.action;
    const tool = (name, label, run) => button("", label, () => run().catch((error) => show(notice, problem(error))), { "data-action": name });
    show(bar, thread && [h("span.muted.small[data-name]", nameOfThread(thread), leftOut > 0 && ` · ${t("thread.left_out", { count: leftOut })}`), h("div.row",
      thread.own && tool("share", t(thread.shared ? "thread.unshare" : "thread.share"), async () => { thread = await share(thread); draw(); }), tool("export", t("thread.export"), () => exported(thread)))]);
    if (held) bar.querySelector(`[data-action="${held}"]`)?.focus();
  }

  async function submit() {
    const question = box.value.trim();
    if (!question || turns.at(-1)?.running) return box.focus();
    try {
      await run(question);
    } catch (error) {
      show(notice, problem(error, submit));
    }
  }

  async function run(question) {
    const { Turn } = await import("./turn.js");
    show(below);
    show(notice);
    const history = turns.filter((turn) => turn.answered).slice(-HISTORY).map((turn) => ({ question: turn.fields.query, answer: turn.text.slice(0, MAX_ANSWER).toWellFormed() }));
    const turn = new Turn({ query: question, ...request() }, history, (...evidence) => open(...evidence), changed);
    turns.push(turn);
    box.value = draft = "";
    turn.run();
    turn.element.scrollIntoView();
  }

  async function fill(element, content) {
    try {
      me ??= await whoAmI();
      show(element, content(me, draw));
    } catch (error) {
      show(element, problem(error, () => fill(element, content)));
    }
  }

  const known = async (found) => {
    me = found;
    if (turns.length) return;
    const { welcome } = await import("./welcome.js");
    if (!signal.aborted && !turns.length) welcome(below, { me, signal, ask: (question) => { box.value = question; submit(); }, scope: (vault) => {
      [fields.vaults, fields.folders] = [[vault], ""];
      draw();
      box.focus();
    } });
  };
  const ask = () => whoAmI().then(known, (error) => error.kind !== "signed_out" && show(below, problem(error, ask)));
  window.addEventListener("turns", draw, { signal });
  window.addEventListener("edit-question", ({ detail }) => {
    box.value = draft = detail;
    box.focus();
  }, { signal });
  window.addEventListener("signed-in", (event) => known(event.detail), { signal });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select") || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    box.focus();
  }, { signal });

  // The box is usable from here on; what follows may take its time, and is tried again when evidence is wanted.
  const host = async () => {
    const evidence = await import("./evidence.js");
    if (!signal.aborted) open = evidence.host(page, signal, () => turns.at(-1));
  };
  open = (...evidence) => host().then(() => open(...evidence), (error) => show(notice, problem(error)));
  await Promise.allSettled([host(), import("./turn.js"), credential.get() && ask()]);
}

// The fields of POST /ask that the filters stand for.
function request() {
  const given = { ...fields, folders: words(fields.folders), tags: words(fields.tags), as_of: endOf(fields.as_of) };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value.length));
}

// The vault that files dropped here go to, where questions are limited to one.
export const dropVault = () => (fields.vaults.length === 1 ? fields.vaults[0] : "");

const set = (name, value, draw) => { fields[name] = value; draw(); };
const chips = (draw, name, values, text = (value) => value) => values.length > 0 && h("fieldset.field", { "data-pick": name }, h("legend", t(`ask.${name}`)),
  h("div.row", values.map((value) => h("label.chip", h("input[type=checkbox]", { value, checked: fields[name].includes(value),
    onchange: ({ target }) => set(name, target.checked ? [...fields[name], value] : fields[name].filter((one) => one !== value), draw) }), text(value)))));
const entry = (draw, name, kind, more, ...inside) => h("label.field", t(`ask.${name}`), h(kind, { value: fields[name], onchange: ({ target }) => set(name, target.value, draw), ...more }, inside));

// What is searched: vaults and folders.
function scopes(me, draw) {
  const folders = h("datalist[id=folders]");
  const suggest = async () => {
    const names = await Promise.all((fields.vaults.length ? fields.vaults : me.vaults.slice(0, 5)).map(foldersOf));
    show(folders, [...new Set(names.flat())].sort().map((value) => h("option", { value })));
  };
  const box = entry(draw, "folders", "input[list=folders][placeholder=a/b, c]", { onfocus: suggest });
  const whole = button(".quiet[data-scope-all]", t("scope.all"), () => {
    [fields.vaults, fields.folders] = [[], ""];
    draw();
    for (const each of document.querySelectorAll("#scope input")) [each.checked, each.value] = [false, each.type === "checkbox" ? each.value : ""];
  });
  return [chips(draw, "vaults", me.vaults), box, folders, h("div", whole)];
}

function pickers(me, draw) {
  const field = (...more) => entry(draw, ...more);
  const choice = (name, values, text) => field(name, "select", {}, ["", ...values].map((value) => h("option", { value, selected: fields[name] === value }, value ? text(value) : t("ask.default"))));
  return [
    h("div.options-grid", field("tags", "input[placeholder=a, b]"), field("date_from", "input[type=date]"), field("date_to", "input[type=date]"), field("as_of", "input[type=date]", { max: today() }),
      choice("detail", ["brief", "detailed"], (value) => t(`detail.${value}`)), me.models.length > 1 && choice("model", me.models, (value) => value)),
    chips(draw, "doc_types", me.doc_types), chips(draw, "content_type", ["documentation", "decision", "code", "chat"], (value) => t(`content_type.${value}`)),
  ];
}

async function foldersOf(vault) {
  const { documents } = await call(`/documents${query({ vault, limit: 1000 })}`).catch(() => ({ documents: [] })); // suggestions alone are missing
  return documents.flatMap(({ path }) => path.split("/").slice(0, -1).map((_, place, parts) => `${vault}/${parts.slice(0, place + 1).join("/")}`));
}

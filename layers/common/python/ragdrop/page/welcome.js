// Below the question box while nothing was asked: an invitation to drop files, questions to begin with, what is in here.

import { call, documentPath, query } from "./api.js";
import { quotesOnly } from "./connect.js";
import { button, h, show } from "./dom.js";
import { empty, problem } from "./problems.js";
import { linkTo, nameOf, quiet, tally } from "./records.js";
import { number, t, when } from "./strings.js";

const FRESH_MS = 300_000; // what was looked up is shown again without asking for so long
const LOOKED_INTO = 3;    // documents whose headings make questions
const WITH_HEADINGS = /\.(md|html?|docx|odt|pptx|epub|pdf|txt)$/i;
const QUESTIONS = 4;
const PAGES = 5;          // of documents that are looked at for broken links
const NAMED = 100;        // characters of a title or a heading in a question
let cached = null;        // {at, vaults, newest, questions}
window.addEventListener("forget", () => { cached = null; });

// *ask* asks a question, *scope* limits questions to a vault.
export function welcome(element, { me, signal, ask, scope }) {
  const zone = h("div.records");
  const rest = h("div.stack");
  show(element, zone, rest, me.role === "admin" && quotesOnly(me) && h("p.card.row.spread[data-connect]", t("connect.quotes"), h("a.button[href=#/connect]", t("connect.title"))));
  if (!me.vaults.length) invite();
  else fill();

  // Nothing is here yet: whoever may write drops a folder where the question would stand.
  async function invite() {
    if (me.role === "reader") return show(zone, empty(t("ask.empty"), t("ask.empty.reader")));
    const { uploads } = await import("./upload.js");
    if (signal.aborted) return;
    const place = h("div");
    show(zone, empty(t("ask.empty"), t("ask.empty.text")), place);
    uploads(place, document.getElementById("main"), { me, signal, vault: "", folder: "", changed: () => {
      cached = null;
      clearTimeout(invite.timer);
      invite.timer = setTimeout(fill, 1_000);
    } });
  }

  async function fill() {
    try {
      if (!cached || Date.now() - cached.at > FRESH_MS) cached = await look(signal);
      if (!me.vaults.length) me.vaults = cached.vaults.map(({ name }) => name);
    } catch (error) {
      if (!signal.aborted && error.kind !== "signed_out") show(rest, problem(error, fill));
      return;
    }
    if (!signal.aborted && element.isConnected) draw(cached);
  }

  function draw({ vaults, newest, questions }) {
    const sum = (status) => vaults.reduce((total, each) => total + (each.documents[status] ?? 0), 0);
    const broken = h("div");
    const failed = sum("failed");
    show(rest, questions.length > 0 && h("section.part[data-suggested]", h("h2.label", t("welcome.questions")), h("div.row", questions.map((question) => button(".quiet[data-suggestion]", question, () => ask(question))))),
      vaults.length > 0 && h("details.disclosure[data-here]", { ontoggle: ({ target }) => target.open && !broken.firstChild && links(broken) },
        h("summary", t("welcome.here", { documents: number(sum("indexed")), vaults: number(vaults.length) }), failed > 0 && [" · ", h("a.status-failed[href=#/documents?status=failed][data-failed]", t("welcome.failed", { count: number(failed) }))]),
        h("ul.documents[data-vaults]", vaults.map((each) => h("li", h("a", { href: `#/documents${query({ vault: each.name })}` }, each.name), " ", button(".quiet[data-ask-here]", t("welcome.ask_here"), () => scope(each.name), { "aria-label": `${t("welcome.ask_here")}: ${each.name}` }),
          h("div.muted.small", [tally(each.documents), each.last_change && when(each.last_change)].filter(Boolean).join(" · "))))),
        newest.length > 0 && [h("h3", t("welcome.newest")), h("ul.documents[data-newest]", newest.map(({ vault, path, at }) => h("li", h("a", { href: linkTo(vault, path) }, nameOf(path)), h("div.muted.small", `${vault}/${path} · ${when(at)}`))))],
        broken, h("p.row", h("a.small[href=#/changes]", t("changes.title")), h("a.small[href=#/stages]", t("stages.title")))));
  }

  async function links(place) {
    try {
      const documents = [];
      for (let pages = 0, cursor; pages < PAGES && documents.length < 5 && cursor !== null; pages++) {
        const found = await call(`/documents${query({ broken_links: 1, limit: 100, cursor })}`, { signal });
        documents.push(...found.documents.slice(0, 5 - documents.length));
        ({ cursor } = found);
      }
      show(place, h("h3", t("welcome.broken")), documents.length ? h("ul.documents[data-broken]", documents.map((each) => h("li", h("a", { href: linkTo(each.vault, each.path) }, each.title || nameOf(each.path)),
        h("div.muted.small", `${each.vault}/${each.path}`)))) : quiet(t("doc.none")));
    } catch (error) {
      if (!signal.aborted) show(place, problem(error));
    }
  }
}

// What there is, one request after another: each that comes beside another may start a function.
async function look(signal) {
  const { vaults } = await call("/vaults?limit=100", { signal });
  const used = vaults.filter(({ chunks }) => chunks > 0).sort((one, other) => (one.last_change < other.last_change ? 1 : -1));
  const newest = [];
  for (const { name } of used.slice(0, 2)) {
    const { changes } = await call(`/changes${query({ vault: name, order: "newest", limit: 50 })}`, { signal });
    const last = new Map(changes.toReversed().map((change) => [change.path, change]));
    newest.push(...[...last.values()].filter(({ kind }) => kind === "activated"));
  }
  newest.sort((one, other) => (one.at < other.at ? 1 : -1));
  const questions = [];
  const rich = newest.filter(({ path }) => /\.(md|html?|docx)$/i.test(path)); // those have headings most likely
  for (const { vault, path } of [...rich, ...newest.filter((each) => !rich.includes(each))].filter(({ path }) => WITH_HEADINGS.test(path)).slice(0, LOOKED_INTO)) {
    const { text } = await call(documentPath(vault, path) + query({ span: "0-20000" }), { signal }).catch((error) => {
      if (error.status === 404) return { text: "" };
      throw error;
    });
    questions.push(questionsOf(path, text));
  }
  const found = [0, 1].flatMap((place) => questions.map((some) => some[place])).filter(Boolean);
  return { at: Date.now(), vaults: used.length ? vaults : [], newest: newest.slice(0, 5), questions: [...new Set(found)].slice(0, QUESTIONS) };
}

// Questions of a document's headings, which its parsed text has as Markdown: those that are questions, else what it says
// about one.
function questionsOf(path, text) {
  const short = (some) => some.replace(/[#\s]+/g, " ").trim().slice(0, NAMED).toWellFormed();
  const headings = [...text.replace(/^```[^]*?^```/gm, "").matchAll(/^(#{1,4}) +(\S.*)$/gm)].map(([, level, some]) => [level.length, short(some)]);
  const title = headings.find(([level]) => level === 1)?.[1] ?? short(nameOf(path));
  const names = [...new Set(headings.map(([, name]) => name))].filter((name) => name && name !== title);
  const found = [...names.filter((name) => name.endsWith("?")), ...names.filter((name) => !name.endsWith("?")).map((heading) => t("welcome.about", { title, heading }))];
  return found.length ? found : [t("welcome.of", { title })];
}

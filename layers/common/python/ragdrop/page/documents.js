// The list of documents: filters, pages, live statuses, Retry and Delete; uploads for those who may write.

import { call, query } from "./api.js";
import { announce, h, show } from "./dom.js";
import { empty, loading, problem } from "./problems.js";
import { arrange, button, chip, failure, field, linkTo, nameOf, patiently, poll, remove, retry, styled, tally } from "./records.js";
import { number, t, when } from "./strings.js";

const PAGE = 100;
const SEARCHED_PAGE = 1_000;  // while a name is looked for
const SEARCHED_PAGES = 20;    // before anyone asks to go on
const ROWS = 300;
const FOLLOWED_MS = 20_000;   // after a change, though nothing is pending yet
const STATES = ["pending", "indexed", "failed", "deleted"];

const keyOf = ({ vault, path }) => `${vault}/${path}`;

export async function view(main, { me, params, signal }) {
  await styled;
  const writes = me.role !== "reader";
  const asked = Object.fromEntries(["vault", "prefix", "status", "name"].map((name) => [name, params.get(name) ?? ""]));
  let documents = [];
  let cursor = null;     // of the page that is shown
  let before = [];       // those of the pages before it
  let next = null;
  let loads = 0;         // an older load that ends later does not count
  let followed = 0;
  let retrying = null;   // {done, stopped} while all failed ones are tried again
  const rows = new Map();

  const list = h("div", { role: "rowgroup", "data-documents": true });
  const table = h("div", { class: "documents", role: "table", "aria-label": t("nav.documents") },
    h("div", { class: "document-row head", role: "row" }, ["name", "state", "updated", "actions"].map((name) =>
      h("span", { role: "columnheader", class: `cell-${name}` }, t(`documents.${name}`)))), list);
  const around = h("div", { class: "around" });
  const line = h("p", { class: "muted small", role: "status" });
  const foot = h("div", { class: "row" });
  const failed = h("div", { class: "row" });
  const upload = h("div");
  show(main, h("div", { class: "records", "data-page": "documents" }, h("h1", {}, t("nav.documents")),
    !writes && h("p", { class: "notice", "data-read-only": true }, t("documents.read_only")),
    me.limited_to_vaults && h("p", { class: "muted small" }, t("documents.limited", { vaults: me.vaults.join(", ") })),
    upload, filters(), failed, around, h("div", { class: "row foot" }, line, foot)));
  const watch = poll(refresh, signal);
  const follow = () => {
    followed = Date.now() + FOLLOWED_MS;
    watch();
  };
  if (writes) {
    const { uploads } = await import("./upload.js");
    if (signal.aborted) return;
    const folder = asked.prefix.slice(0, Math.max(0, asked.prefix.lastIndexOf("/")));
    uploads(upload, main, { me, signal, vault: asked.vault, folder, changed: follow });
  }
  await load();

  function filters() {
    const controls = {
      vault: pick([...new Set([...me.vaults, asked.vault])].filter(Boolean).map((name) => [name, name])),
      prefix: h("input", { class: "input", type: "search", spellcheck: "false" }),
      status: pick(STATES.map((name) => [name, t(`state.${name}`)])),
      name: h("input", { class: "input", type: "search", spellcheck: "false" }),
    };
    let timer = 0;
    return h("form", { class: "filters", role: "search", "aria-label": t("documents.filters"), onsubmit: (event) => event.preventDefault() },
      Object.entries(controls).map(([name, control]) => {
        control.value = asked[name];
        control.addEventListener("input", () => {
          clearTimeout(timer);
          timer = setTimeout(() => {
            asked[name] = control.value.trim();
            history.replaceState(null, "", `#/documents${query(asked)}`);
            load();
          }, 250);
        });
        return field(`by-${name}`, t(`documents.by.${name}`), control);
      }));
  }

  function pick(choices) {
    return h("select", { class: "input" }, [["", t("common.all")], ...choices].map(([value, text]) => h("option", { value }, text)));
  }

  const page = (at) => call(`/documents${query({ ...asked, name: null, cursor: at, limit: asked.name ? SEARCHED_PAGE : PAGE })}`, { signal });
  const matches = ({ title, path }) => `${title ?? ""}\n${path}`.toLowerCase().includes(asked.name.toLowerCase());

  async function load(at = null, pagesBefore = []) {
    const mine = ++loads;
    if (!documents.length) show(around, loading());
    around.setAttribute("aria-busy", "true");
    try {
      let found = await page(at);
      for (let more = 1; more < SEARCHED_PAGES && asked.name && found.cursor && !found.documents.some(matches); more++) {
        at = found.cursor;
        found = await page(at);
      }
      if (mine !== loads) return;
      [cursor, before, next, documents] = [at, pagesBefore, found.cursor, found.documents.filter(matches)];
      render();
      announce(line.textContent);
      if (documents.some(isPending)) watch();
    } catch (error) {
      if (mine !== loads || signal.aborted) return;
      documents = [];
      show(around, problem(error, () => load(at, pagesBefore)));
    }
    around.setAttribute("aria-busy", "false");
  }

  // Ask again while anything is pending, and a while after a change.
  async function refresh() {
    const mine = loads;
    const pending = new Set(documents.filter(isPending).map(keyOf));
    const looks = documents.map(look).join();
    const found = await page(cursor);
    if (mine !== loads) return "changed";
    next = found.cursor;
    documents = found.documents.filter(matches);
    render();
    const settled = { indexed: 0, failed: 0 };
    for (const each of documents) if (pending.has(keyOf(each)) && each.status in settled) settled[each.status] += 1;
    if (tally(settled)) announce(tally(settled));
    if (looks !== documents.map(look).join()) return "changed";
    return documents.some(isPending) || Date.now() < followed ? "same" : "done";
  }

  function render() {
    const shown = documents.slice(0, ROWS);
    if (shown.length) {
      if (table.parentNode !== around) show(around, table);
      const active = document.activeElement;
      const { document: key } = active.closest?.("[data-document]")?.dataset ?? {};
      arrange(list, shown.map(row));
      if (key && !active.isConnected) focusOn(key, active.dataset.action);
    } else {
      const narrowed = asked.prefix || asked.status || asked.name || before.length;
      show(around, narrowed ? empty(t("documents.no_match"), null, h("a", { class: "button", href: "#/documents?" }, t("documents.clear")))
        : empty(t("documents.none"), t(writes ? "documents.none.text" : "documents.none.reader")));
    }
    for (const [key, { element }] of rows) if (!element.isConnected) rows.delete(key);
    line.textContent = shown.length ? t("documents.shown", { count: number(shown.length), page: number(before.length + 1) }) : "";
    show(foot, before.length > 0 && button("previous", t("documents.previous"), () => load(before.at(-1), before.slice(0, -1))),
      next && button("next", t("documents.next"), () => load(next, [...before, cursor])));
    const any = writes && (retrying || documents.some((each) => each.status === "failed"));
    show(failed, any && [button("retry-all", t(retrying ? "documents.stop" : "documents.retry_all"), retryAll),
      retrying && h("span", { class: "muted small", role: "status" }, t("documents.retried", { count: number(retrying.done) }))]);
  }

  function row(document) {
    const key = keyOf(document);
    const looks = look(document);
    if (rows.get(key)?.looks === looks) return rows.get(key).element;
    const name = document.title || nameOf(document.path);
    const act = (action, text, run, kind) => button(action, text, run, `small ${kind}`, { "aria-label": `${text}: ${name}` });
    const cell = (kind, ...children) => h("div", { role: "cell", class: `cell-${kind}` }, children);
    const isFailed = document.status === "failed";
    const element = h("div", { class: "document-row", role: "row", "data-document": key, "data-state": document.status },
      cell("name", h("a", { href: linkTo(document.vault, document.path) }, name), h("span", { class: "path muted small" }, key),
        isFailed && document.error && failure(document.error),
        isFailed && document.live_revision !== null && h("p", { class: "muted small" }, t("documents.older_answers"))),
      cell("state", chip(document.status)),
      cell("updated muted small", document.updated_at && when(document.updated_at), document.chunk_count > 0 && h("span", {}, t("documents.chunks", { count: number(document.chunk_count) }))),
      cell("actions", writes && isFailed && act("retry", t("documents.retry"), () => again(document), ""),
        writes && document.status !== "deleted" && act("delete", t("remove.delete"), () => gone(document), "quiet")));
    rows.set(key, { looks, element });
    return element;
  }

  function focusOn(key, action) {
    const element = rows.get(key)?.element ?? main;
    (element.querySelector(`[data-action="${action}"]`) ?? element.querySelector("a, h1")).focus();
  }

  async function again(document) {
    try {
      await retry(document);
      announce(t("documents.retried", { count: number(1) }));
      documents = documents.map((each) => (keyOf(each) === keyOf(document) ? { ...each, status: "pending" } : each));
      render();
      follow();
    } catch (error) {
      rows.get(keyOf(document))?.element.firstChild.append(problem(error));
    }
  }

  async function gone(document) {
    const at = documents.findIndex((each) => keyOf(each) === keyOf(document));
    if (!await remove(document)) return;
    documents = documents.filter((each) => keyOf(each) !== keyOf(document));
    render();
    focusOn(documents.length ? keyOf(documents[Math.min(at, documents.length - 1)]) : "");
  }

  async function retryAll() {
    if (retrying) {
      retrying.stopped = true;
      return;
    }
    retrying = { done: 0, stopped: false };
    render();
    try {
      for (let at = null; ;) {
        const found = await patiently(() => call(`/documents${query({ ...asked, name: null, status: "failed", cursor: at, limit: PAGE })}`, { signal }), signal);
        for (const each of found.documents) {
          if (retrying.stopped) break;
          await patiently(() => retry(each), signal).catch((error) => { if (error.status !== 404) throw error; });
          retrying.done += 1;
          render();
        }
        at = found.cursor;
        if (!at || retrying.stopped) break;
      }
      announce(t("documents.retried", { count: number(retrying.done) }));
    } catch (error) {
      if (!signal.aborted) failed.after(problem(error));
    }
    retrying = null;
    if (signal.aborted) return;
    await load(cursor, before);
    follow();
  }
}

const isPending = (document) => document.status === "pending";
const look = ({ vault, path, status, title, updated_at: updated, chunk_count: chunks, error, live_revision: live }) =>
  JSON.stringify([vault, path, status, title, updated, chunks, error, live]);

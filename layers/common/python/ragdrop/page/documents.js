// The list of documents: filters, pages, live statuses, Retry and Delete; uploads for those who may write.

import { call, query } from "./api.js";
import { announce, button, h, show } from "./dom.js";
import { empty, loading, problem } from "./problems.js";
import { arrange, chip, failure, field, linkTo, nameOf, patiently, poll, quiet, remove, retry, tally } from "./records.js";
import { day, endOf, number, t, today, when } from "./strings.js";

const PAGE = 100;
const SEARCHED_PAGE = 1_000;  // while a name is looked for
const SEARCHED_PAGES = 20;    // before anyone asks to go on
const ROWS = 300;
const FOLLOWED_MS = 20_000;   // after a change, though nothing is pending yet

const keyOf = ({ vault, path }) => `${vault}/${path}`;
const isPending = ({ status }) => status === "pending";
const look = (document) => JSON.stringify({ ...document, etag: null });

export async function view(main, { me, params, signal }) {
  const writes = me.role !== "reader";
  const asked = Object.fromEntries(["vault", "prefix", "status", "name", "as_of"].map((name) => [name, params.get(name) ?? ""]));
  let documents = [];
  let cursor = null;     // of the page that is shown
  let before = [];       // those of the pages before it
  let next = null;
  let loads = 0;         // an older load that ends later does not count
  let followed = 0;
  let retrying = null;   // {done, stopped} while all failed ones are tried again
  const rows = new Map();

  const list = h("ul.document-list.card[data-documents]");
  const around = h("div", loading());
  const past = h("p.notice[data-then][hidden]");
  const line = h("p.muted.small[role=status][data-count]");
  const back = button("[data-action=previous]", t("docs.previous"), () => load(before.at(-1), before.slice(0, -1)));
  const on = button("[data-action=next]", t("docs.next"), () => load(next, [...before, cursor]));
  const all = button("[data-action=retry-all]", "", retryAll);
  const done = h("span.muted.small");
  const failed = h("div.row[hidden]", all, done);
  const upload = h("div");
  show(main, h("div.records[data-page=documents]", h("div.row.spread", h("h1", t("nav.documents")), h("nav.row", { "aria-label": t("past.nav") }, h("a.button.quiet[href=#/changes]", t("changes.title")), h("a.button.quiet[href=#/stages]", t("stages.title")))), !writes && h("p.notice[data-read-only]", t("docs.read_only")), upload, filters(), past, failed, around,
    h("div.row.spread", line, h("div.row", back, on))));
  const watch = poll(refresh, signal);
  const follow = () => {
    followed = Date.now() + FOLLOWED_MS;
    watch();
  };
  const folder = () => asked.prefix.replace(/\/?[^/]*$/, "");
  let aim;
  if (writes) {
    const { uploads } = await import("./upload.js");
    if (signal.aborted) return;
    aim = uploads(upload, main, { me, signal, vault: asked.vault, folder: folder(), changed: follow });
  }
  await load();

  function filters() {
    const pick = (choices) => h("select", [["", t("common.all")], ...choices].map(([value, text]) => h("option", { value }, text)));
    const type = () => h("input[type=search][spellcheck=false]");
    const controls = { vault: pick([...new Set([...me.vaults, asked.vault])].filter(Boolean).map((name) => [name, name])), prefix: type(),
      status: pick(["pending", "staged", "indexed", "failed", "deleted"].map((name) => [name, t(`state.${name}`)])), name: type(), as_of: h("input[type=date]", { max: today() }) };
    controls.status.disabled = endOf(asked.as_of);
    let timer = 0;
    return h("div.filters", Object.entries(controls).map(([name, control]) => {
      control.value = asked[name];
      control.addEventListener("input", () => {
        asked[name] = control.value.trim();
        if (name in { vault: 0, prefix: 0 }) aim?.(asked.vault, folder());
        controls.status.disabled = endOf(asked.as_of);
        history.replaceState(null, "", `#/documents${query(asked)}`);
        clearTimeout(timer);
        timer = setTimeout(load, 250);
      });
      return field(`by-${name}`, t(`docs.by.${name}`), control);
    }));
  }

  function page(at, more) {
    const then = endOf(asked.as_of);
    return call(`/documents${query({ ...asked, name: null, as_of: then, status: then ? null : asked.status, cursor: at, limit: asked.name ? SEARCHED_PAGE : PAGE, ...more })}`, { signal });
  }

  function matches({ title, path }) {
    return `${title ?? ""}\n${path}`.toLowerCase().includes(asked.name.toLowerCase());
  }

  async function load(at = null, pagesBefore = []) {
    const mine = ++loads;
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
      if (documents.some(isPending)) watch();
    } catch (error) {
      if (mine !== loads || signal.aborted) return;
      show(around, problem(error, () => load(at, pagesBefore)));
    }
    around.removeAttribute("aria-busy");
  }

  // Ask again while anything is pending, and a while after a change.
  async function refresh() {
    const mine = loads;
    const earlier = documents;
    const found = await page(cursor);
    if (mine !== loads) return "changed";
    next = found.cursor;
    documents = found.documents.filter(matches);
    render();
    const pending = new Set(earlier.filter(isPending).map(keyOf));
    const settled = { indexed: 0, staged: 0, failed: 0 };
    for (const each of documents) if (pending.has(keyOf(each)) && each.status in settled) settled[each.status] += 1;
    if (tally(settled)) announce(tally(settled));
    if (earlier.map(look).join() !== documents.map(look).join()) return "changed";
    return documents.some(isPending) || Date.now() < followed ? "same" : "done";
  }

  function render() {
    const shown = documents.slice(0, ROWS);
    past.hidden = !endOf(asked.as_of);
    past.textContent = past.hidden ? "" : t("docs.then", { date: day(asked.as_of) });
    if (shown.length) {
      if (list.parentNode !== around) show(around, list);
      const active = document.activeElement;
      const key = active.closest("[data-document]")?.dataset.document;
      arrange(list, shown.map(row));
      if (key && !active.isConnected) focusOn(key, active.dataset.action);
    } else {
      show(around, asked.prefix || asked.status || asked.name || asked.as_of || before.length ? empty(t("docs.no_match"), null, h("a.button", { href: "#/documents?" }, t("docs.clear")))
        : empty(t("docs.none"), writes && t("docs.none.text")));
    }
    for (const [key, { element }] of rows) if (!element.isConnected) rows.delete(key);
    const text = t("docs.shown", { page: number(before.length + 1), count: number(shown.length), all: number(documents.length) });
    if (line.textContent !== text) line.textContent = text;
    [back.hidden, on.hidden] = [!before.length, !next];
    failed.hidden = !writes || !retrying && !documents.some(({ status }) => status === "failed");
    all.textContent = t(retrying ? "docs.stop" : "docs.retry_all");
    done.textContent = retrying ? t("docs.retried", { count: number(retrying.done) }) : "";
  }

  function row(document) {
    const key = keyOf(document);
    const looks = look(document) + asked.as_of;
    const then = endOf(asked.as_of);
    const changes = writes && !then;
    if (rows.get(key)?.looks === looks) return rows.get(key).element;
    const { vault, path, status, title, error, updated_at: updated, chunk_count: chunks } = document;
    const name = title || nameOf(path);
    const act = (where, text, run) => button(where, text, run, { "aria-label": `${text}: ${name}` });
    const element = h("li", { "data-document": key, "data-state": status },
      h("div", h("a", { href: linkTo(vault, path, query({ version: then && document.live_version_id })) }, name), quiet(key), status === "failed" && [error && failure(error), document.live_revision !== null && quiet(t("docs.older"))]),
      h("div", chip(status), document.stage && quiet(document.stage)), quiet(updated && when(updated), h("br"), chunks > 0 && t("docs.chunks", { count: number(chunks) })),
      h("div.row", changes && status === "failed" && act(".small[data-action=retry]", t("docs.retry"), () => again(document)),
        changes && status !== "deleted" && act(".quiet.small[data-action=delete]", t("remove.delete"), () => gone(document)),
        changes && status === "deleted" && act(".small[data-action=undo]", t("past.undo"), ({ target }) => takeBack(document, target))));
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
      documents = documents.map((each) => (keyOf(each) === keyOf(document) ? { ...each, status: "pending" } : each));
      render();
      follow();
    } catch (error) {
      rows.get(keyOf(document))?.element.append(problem(error));
    }
  }

  async function takeBack(document, pressed) {
    const { undoing } = await import("./versions.js");
    const undo = undoing(document, follow, ".small");
    pressed.replaceWith(undo);
    undo.click();
  }

  async function gone(document) {
    const at = documents.findIndex((each) => keyOf(each) === keyOf(document));
    const receipt = await remove(document);
    if (receipt?.undone) follow();
    if (!receipt || receipt.undone) return;
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
    let at = null;
    try {
      do {
        const found = await patiently(() => page(at, { status: "failed", limit: PAGE }), signal);
        for (const each of found.documents) {
          if (retrying.stopped) break;
          await patiently(() => retry(each), signal).catch((error) => { if (error.status !== 404) throw error; });
          retrying.done += 1;
          render();
        }
        at = found.cursor;
      } while (at && !retrying.stopped);
      announce(t("docs.retried", { count: number(retrying.done) }));
    } catch (error) {
      if (!signal.aborted) failed.after(problem(error));
    }
    retrying = null;
    if (signal.aborted) return;
    await load(cursor, before);
    follow();
  }
}

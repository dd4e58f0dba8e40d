// A document's page: its text with the borders of chunks, what is known of it, its links and its versions.

import { call, documentPath, query } from "./api.js";
import { announce, h, show } from "./dom.js";
import { loading, problem } from "./problems.js";
import { button, chip, failure, field, linkTo, nameOf, patiently, poll, remove, retry, styled } from "./records.js";
import { bytes, number, percent, t, when } from "./strings.js";

const SLICE = 20_000;          // code points on the page at once
const BEFORE_SPAN = 1_000;     // shown before a passage
const DOWNLOADED = 1_000_000;  // code points the API gives at once
const LINKS = 100;
const LINKING_PAGES = 5;       // of documents looked at for links to this one, before anyone asks to go on

export async function view(main, context) {
  await styled;
  const { me, parts: [vault, ...segments], params, signal } = context;
  const path = segments.join("/");
  const where = documentPath(vault, path);
  const version = params.get("version");
  const get = (parameters, at = where) => call(at + query(parameters), { signal });
  const record = await get({ version });
  const isOld = version !== null && version !== record.live_version_id;
  const isThere = record.status !== "deleted";
  const writes = me.role !== "reader" && isThere;
  const name = record.title || nameOf(path);
  const trouble = h("div");
  document.title = `${name} · ${t("app.name")}`;
  const act = (action, text, run, kind) => button(action, text, (event) => run(event.target).catch((error) => signal.aborted || show(trouble, problem(error))), kind);
  show(main, h("div", { class: "records", "data-page": "document", "data-document": `${vault}/${path}`, "data-state": record.status },
    h("nav", { class: "crumbs small", "aria-label": t("document.place") }, [[t("nav.documents"), {}], [vault, { vault }],
      ...segments.slice(0, -1).map((segment, depth) => [segment, { vault, prefix: `${segments.slice(0, depth + 1).join("/")}/` }])]
      .map(([text, asked]) => [h("a", { href: `#/documents${query(asked)}` }, text), " / "]), nameOf(path)),
    h("h1", {}, name),
    h("div", { class: "row" }, chip(record.status),
      (record.live_revision !== null || isOld) && isThere && act("download", t("document.download"), download),
      writes && record.status === "failed" && act("retry", t("documents.retry"), again, "primary"),
      writes && act("delete", t("remove.delete"), () => gone()),
      me.role === "admin" && act("purge", t("remove.purge"), () => gone("purge"), "danger")),
    me.role === "reader" && h("p", { class: "muted small", "data-read-only": true }, t("documents.read_only")),
    trouble, said(record, isOld),
    h("div", { class: "document-grid" }, h("section", { class: "document-text" }, text()),
      h("div", { class: "document-side" }, facts(record), linksOut(record), linksIn(), versions()))));

  if (record.status === "pending") poll(async () => {
    const now = await get({ version });
    const line = main.querySelector("[data-written]");
    if (line) line.textContent = written(now);
    if (now.status === "pending") return "same";
    announce(`${name}: ${t(`state.${now.status}`)}`);
    await view(main, context);
    return "done";
  }, signal)();

  async function again() {
    await retry({ vault, path });
    announce(t("documents.retried", { count: number(1) }));
    await view(main, context);
  }

  async function gone(kind) {
    if (await remove({ vault, path }, kind)) location.hash = `#/documents${query({ vault })}`;
  }

  // The whole parsed text as a file, a million code points at a time.
  async function download(pressed) {
    const pieces = [];
    pressed.disabled = true;
    try {
      for (let start = 0, full = true; full;) {
        const piece = await patiently(() => get({ version, span: `${start}-${start + DOWNLOADED}` }), signal);
        pieces.push(piece.text);
        start = piece.end;
        full = piece.end - piece.start === DOWNLOADED && (isOld || start < record.char_count);
        pressed.textContent = isOld ? number(start) : percent(start / record.char_count);
      }
    } finally {
      pressed.disabled = false;
      pressed.textContent = t("document.download");
    }
    const href = URL.createObjectURL(new Blob(pieces, { type: "text/plain;charset=utf-8" }));
    h("a", { href, download: /\.(md|txt)$/i.test(path) ? nameOf(path) : `${nameOf(path)}.txt` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
    pressed.focus();
  }

  function text() {
    const title = h("h2", { id: "text-title" }, t("document.text"));
    if (!isThere || record.live_revision === null && !isOld) return [title, h("p", { class: "muted" }, t("document.no_text"))];
    const span = /^(\d{1,9})-(\d{1,9})$/.exec(params.get("span"))?.slice(1).map(Number);
    const total = isOld ? Infinity : record.char_count;
    const body = h("div", { class: "text", "data-text": true, tabindex: -1, role: "region", "aria-labelledby": "text-title" });
    const position = h("p", { class: "muted small", role: "status", "data-position": true });
    let start = 0;
    const turns = [1, 2].map(() => h("div", { class: "row turn" },
      button("previous-slice", t("document.previous"), () => go(Math.max(0, start - SLICE))), button("next-slice", t("document.next"), () => go(start + SLICE))));
    const share = h("output", { for: "jump" });
    const jump = h("input", { type: "range", min: 0, max: 100, step: 0.1, "data-jump": true, oninput: () => { share.textContent = percent(jump.value / 100, 1); },
      onchange: () => go(Math.min(total - 1, Math.floor(total * jump.value / 100))) });
    const marks = h("input", { type: "checkbox", checked: true, "data-chunks-toggle": true, onchange: () => body.classList.toggle("plain", !marks.checked) });
    const toSpan = () => go(Math.max(0, span[0] - BEFORE_SPAN), true);
    if (span) toSpan();
    else go(0, true);
    return [h("div", { class: "row spread" }, title, !isOld && h("label", { class: "check small" }, marks, t("document.marks"))),
      span && button("to-span", t("document.to_span", { start: number(span[0]), end: number(span[1]) }), toSpan, "small"),
      total > SLICE && !isOld && h("div", { class: "jump" }, field("jump", t("document.jump"), jump), share), position, turns[0], body, turns[1]];

    async function go(to, first = false) {
      if (!body.firstChild) show(body, loading());
      try {
        const range = `${to}-${to + SLICE}`;
        const [piece, { chunks }] = await Promise.all([get({ version, span: range }), isOld ? { chunks: [] } : get({ chunks: 1, span: range }).catch(() => ({ chunks: [] }))]);
        start = piece.start;
        show(body, blocks(piece, chunks, span));
        const more = piece.end - piece.start === SLICE && piece.end < total;
        position.textContent = t("document.position", { start: number(start), end: number(piece.end), total: isOld ? "?" : number(total) });
        for (const turn of turns) {
          turn.hidden = start === 0 && !more;
          [turn.firstChild.disabled, turn.lastChild.disabled] = [start === 0, !more];
        }
        jump.value = 100 * start / total;
        share.textContent = percent(start / total, 1);
        const passage = body.querySelector("mark");
        if (first && passage) {
          passage.scrollIntoView({ block: "center" });
          passage.focus({ preventScroll: true });
          announce(t("document.highlighted"));
        } else if (!first) {
          body.focus({ preventScroll: true });
          body.scrollIntoView();
        }
      } catch (error) {
        if (signal.aborted) return;
        show(body, isOld && error.status === 404 ? h("p", { class: "notice" }, t("document.version_gone")) : problem(error, () => go(to, first)));
      }
    }
  }

  // A list that *page* adds to, from *cursor* on, by a button that asks for more.
  function growing(list, page, ask, askOn, itself) {
    const line = h("div", { class: "muted small", role: "status" });
    const more = button("more", ask, go, "small");
    let cursor = null;
    async function go() {
      more.disabled = true;
      show(line, loading());
      try {
        const said = await page(cursor, (found) => { cursor = found; });
        show(line, said);
        more.textContent = askOn;
        more.hidden = !cursor;
      } catch (error) {
        if (!signal.aborted) show(line, problem(error));
      }
      more.disabled = false;
    }
    if (itself) go();
    return [list, line, more];
  }

  function linksIn() {
    const list = h("ul", { class: "links", "data-links-in": true });
    return h("section", {}, h("h2", {}, t("document.links_in")), growing(list, async (from, reached) => {
      let cursor = from;
      for (let pages = 0; pages < LINKING_PAGES; pages++) {
        const found = await patiently(() => get({ links_to: `${vault}/${path}`, cursor, limit: 100 }, "/documents"), signal);
        for (const each of found.documents) list.append(h("li", {}, h("a", { href: linkTo(each.vault, each.path) }, each.title || each.path)));
        cursor = found.cursor;
        if (!cursor) break;
      }
      reached(cursor);
      return t(cursor ? "document.linked_so_far" : "document.linked", { count: number(list.children.length) });
    }, t("document.find_links"), t("document.look_on")));
  }

  function versions() {
    const list = h("ol", { class: "versions", "data-versions": true });
    const add = (each) => list.append(h("li", { "data-version": each.version_id, "aria-current": each.version_id === (version ?? record.live_version_id) ? "true" : null },
      h("a", { href: linkTo(vault, path, each.status === "live" ? "" : query({ version: each.version_id })) }, when(each.modified_at)), " ", chip(each.status),
      h("p", { class: "muted small" }, [each.revision && t("document.revision", { number: number(each.revision) }), each.size_bytes && bytes(each.size_bytes), each.written_by].filter(Boolean).join(" · ")),
      h("p", { class: "mono muted small" }, each.version_id)));
    return h("section", {}, h("h2", {}, t("document.versions")), growing(list, async (cursor, reached) => {
      const found = await get({ cursor }, `${where}/history`).catch((error) => {
        if (error.kind !== "refused") throw error;
        return { versions: [{ ...record, modified_at: record.updated_at, status: record.status === "indexed" ? "live" : record.status }], cursor: null };
      });
      found.versions.forEach(add);
      reached(found.cursor);
    }, t("common.more"), t("common.more"), true));
  }
}

const written = ({ chunks_done: done, chunks_total: total }) => (done ? t("document.written", { done: number(done), total: total ? number(total) : "?" }) : "");

// What is to be said of a document that is not simply indexed.
function said(record, isOld) {
  const { status, error, vault, path } = record;
  return [status === "pending" && h("p", { class: "notice", role: "status" }, t("document.pending"), " ", h("span", { "data-written": true }, written(record))),
    status === "failed" && error && h("div", { class: "notice danger" }, failure(error), record.live_revision !== null && h("p", { class: "small" }, t("documents.older_answers"))),
    status === "deleted" && h("p", { class: "notice" }, t("document.deleted")),
    isOld && h("p", { class: "notice", "data-old-version": true }, t("document.old"), " ", h("a", { href: linkTo(vault, path) }, t("document.to_live")))];
}

// The text of a slice in blocks, one for each chunk that begins in it; *span* is marked.
function blocks({ start, end, text }, chunks, span = []) {
  const points = Array.from(text);
  const begun = chunks.filter((chunk) => chunk.start > start && chunk.start < end);
  const first = chunks.findLast((chunk) => chunk.start <= start && chunk.end > start);
  return [{ chunk: first, from: start }, ...begun.map((chunk) => ({ chunk, from: chunk.start }))].map(({ chunk, from }, place) => {
    const to = begun[place]?.start ?? end;
    const cuts = [from, ...span.map((cut) => Math.min(to, Math.max(from, cut))), to];
    const pieces = cuts.slice(1).map((cut, index) => points.slice(cuts[index] - start, cut - start).join(""));
    return h("div", { class: "chunk", "data-chunk": chunk?.index, "data-start": from, "data-end": to },
      h("p", { class: "chunk-label small muted" }, chunk && [h("span", { class: "visually-hidden" }, t("document.chunk")), h("b", {}, number(chunk.index + 1)), " ",
        [...chunk.heading_path, chunk.page && t("document.page", { page: number(chunk.page) })].filter(Boolean).join(" › ")]),
      h("div", { class: "chunk-text" }, pieces.map((piece, index) => (index === 1 && span.length && piece ? h("mark", { tabindex: -1, "data-span-mark": true }, piece) : piece))));
  });
}

function facts(record) {
  const shown = { doc_type: String, content_type: String, promotion_level: String, date: String, category: String, tags: (tags) => tags.join(", "), agent: String, session_id: String,
    size_bytes: bytes, char_count: number, chunk_count: number, revision: number, created_at: when, updated_at: when, indexed_at: when, query_count: number, last_retrieved: when,
    version_id: String, content_hash: String };
  const found = Object.entries(shown).filter(([name]) => record[name] !== null && record[name] !== undefined && record[name].length !== 0)
    .map(([name, form]) => [t(`fact.${name}`), form(record[name])]);
  return h("section", {}, h("h2", {}, t("document.facts")), record.summary && h("p", {}, record.summary),
    h("dl", { class: "facts", "data-facts": true }, [...found, ...Object.entries(record.attributes)].map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    record.warnings.length > 0 && [h("h3", {}, t("document.warnings")), h("ul", { class: "small" }, record.warnings.map((each) => h("li", {}, each)))]);
}

function linksOut({ vault, path, links, broken_links: broken }) {
  const entries = [...new Set(links)].map((link) => {
    const state = broken.includes(link) ? "broken" : /^([a-z][a-z0-9+.-]*:|\/\/)/i.test(link) ? "web" : "found";
    const href = state !== "broken" && targetOf(link, vault, path);
    return h("li", { "data-link": state }, chip(state), " ", href ? h("a", { href, rel: "noreferrer", target: state === "web" ? "_blank" : null }, link) : link);
  });
  return h("section", { "data-links-out": true }, h("h2", {}, t("document.links_out")),
    entries.length ? h("ul", { class: "links" }, entries.slice(0, LINKS)) : h("p", { class: "muted small" }, t("document.no_links")),
    entries.length > LINKS && h("details", {}, h("summary", {}, t("common.more")), h("ul", { class: "links" }, entries.slice(LINKS))));
}

// Where a link of a document leads in this page: a path as it is written, a name by the list of documents.
function targetOf(link, vault, path) {
  const name = /^!?\[\[([^\]|#^]+)/.exec(link)?.[1].trim();
  if (name) return `#/documents${query({ vault, name: nameOf(name) })}`;
  if (/^([a-z][a-z0-9+.-]*:|\/\/|[#?])/i.test(link)) return /^https?:/i.test(link) && link;
  const steps = link.startsWith("/") ? [] : path.split("/").slice(0, -1);
  for (const step of link.split(/[?#]/)[0].split("/")) {
    if (step === "..") steps.pop();
    else if (step && step !== ".") steps.push(step);
  }
  return `#${documentPath(vault, "")}${steps.join("/")}`;
}

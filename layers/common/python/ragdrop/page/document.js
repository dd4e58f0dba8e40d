// A document's page: its text with the borders of chunks, what is known of it, its links and its versions.

import { call, documentPath, query } from "./api.js";
import { announce, button, download, h, show } from "./dom.js";
import { isMarkup, looksByPart } from "./original.js";
import { loading, problem } from "./problems.js";
import { chip, failure, field, linkTo, nameOf, patiently, poll, quiet, remove, retry } from "./records.js";
import { undoing, versionsLink } from "./versions.js";
import { bytes, day, number, percent, t, when } from "./strings.js";

const SLICE = 20_000;          // code points on the page at once
const BEFORE_SPAN = 1_000;     // shown before a passage
const DOWNLOADED = 1_000_000;  // code points the API gives at once
const LINKING_PAGES = 5;       // of documents looked at for links to this one, before anyone asks to go on
const FACTS = { doc_type: String, content_type: String, promotion_level: String, date: day, category: String, tags: (tags) => tags.join(", "), agent: String, session_id: String,
  size_bytes: bytes, char_count: number, chunk_count: number, created_at: when, indexed_at: when, query_count: number, last_retrieved: when, version_id: String, content_hash: String,
  warnings: (all) => all.map((one) => h("p", one)) };
const WEB = /^([a-z][a-z0-9+.-]*:|\/\/)/i;

export async function view(main, context) {
  const { me, parts: [vault, ...segments], params, signal } = context;
  const path = segments.join("/");
  const where = documentPath(vault, path);
  const version = params.get("version");
  const get = (parameters, at = where) => call(at + query(parameters), { signal });
  const record = await get({ version });
  const { status, error, live_revision: revision, live_version_id: live, char_count: length } = record;
  const isOld = version !== null && version !== live;
  const hasText = status !== "deleted" && (revision !== null || isOld);
  const writes = me.role !== "reader" && status !== "deleted";
  const name = record.title || nameOf(path);
  const trouble = h("div");
  document.title = `${name} · ${t("app.name")}`;
  const act = (selector, label, run) => button(selector, label, ({ target }) => run(target).catch((problemOfIt) => signal.aborted || show(trouble, problem(problemOfIt))));
  const crumbs = [[t("nav.documents"), {}], [vault, { vault }], ...segments.slice(0, -1).map((segment, depth) => [segment, { vault, prefix: `${segments.slice(0, depth + 1).join("/")}/` }])];
  show(main, h("div.records[data-page=document]", { "data-document": `${vault}/${path}`, "data-state": status },
    h("nav.small.muted", { "aria-label": t("doc.place") }, crumbs.map(([text, asked]) => [h("a", { href: `#/documents${query(asked)}` }, text), " / "]), nameOf(path)),
    h("h1", name),
    h("div.row", chip(status), record.stage, hasText && act("[data-action=download]", t("doc.download"), wholeText), hasText && h("span[data-file]"), hasText && !isOld && !path.includes(",") && h("a.button[data-ask-about]", { href: `#/${query({ folder: `${vault}/${path}` })}` }, t("original.ask")), writes && status === "failed" && act("[data-action=retry]", t("docs.retry"), again),
      writes && act("[data-action=delete]", t("remove.delete"), () => gone()), me.role !== "reader" && status === "deleted" && undoing({ vault, path }, () => view(main, context)), me.role === "admin" && act(".danger[data-action=purge]", t("remove.purge"), () => gone("purge"))),
    me.role === "reader" && h("p.muted.small[data-read-only]", t("docs.read_only")), trouble,
    ["pending", "staged"].includes(status) && h("p.notice", t(`doc.${status}`)), status === "failed" && error && h("div.notice.danger", failure(error), revision !== null && quiet(t("docs.older"))),
    isOld && h("p.notice[data-old-version]", t("doc.old"), " ", h("a", { href: linkTo(vault, path) }, t("doc.to_live"))),
    h("div.document-grid", h("section.stack", original(), text()), h("div.stack", facts(record), linksOut(record), linksIn(), versions()))));

  if (status === "pending") poll(async () => {
    const now = await get({ version });
    if (now.status === "pending") return "same";
    announce(`${name}: ${t(`state.${now.status}`)}`);
    await view(main, context);
    return "done";
  }, signal)();

  async function again() {
    await retry({ vault, path });
    await view(main, context);
  }

  async function gone(kind) {
    const receipt = await remove({ vault, path }, kind);
    if (receipt?.undone) await view(main, context);
    else if (receipt) location.hash = `#/documents${query({ vault })}`;
  }

  // The whole parsed text as a file, a million code points at a time.
  async function wholeText(pressed) {
    const pieces = [];
    pressed.disabled = true;
    try {
      for (let start = 0, full = true; full;) {
        const piece = await patiently(() => get({ version, span: `${start}-${start + DOWNLOADED}` }), signal);
        pieces.push(piece.text);
        full = piece.end - start === DOWNLOADED && (isOld || piece.end < length);
        start = piece.end;
        pressed.textContent = isOld ? number(start) : percent(start / length);
      }
    } finally {
      pressed.disabled = false;
      pressed.textContent = t("doc.download");
    }
    download(pieces, "text/plain", nameOf(path).replace(/(\.md|\.txt)?$/i, (suffix) => suffix || ".txt"));
    pressed.focus();
  }

  // A PDF's page or a picture as it looks; the button that opens the file.
  function original() {
    const look = h("div.part");
    const [start, end] = spanOf(params) ?? [0, 0];
    if (hasText) import("./original.js").then(async ({ lookOf, openFile }) => {
      show(main.querySelector("[data-file]"), openFile({ vault, path, version }, (error) => show(trouble, problem(error))));
      const found = params.get("page") || !end || isOld || isMarkup(path) ? null : await get({ chunks: 1, span: `${start}-${end}` }).catch(() => null);
      const begun = found?.chunks.flatMap(({ parts }) => parts).findLast((part) => /^page \d+$/.test(part.name) && part.start <= start);
      const page = params.get("page") ?? begun?.name.slice(5) ?? found?.chunks[0]?.page ?? 1;
      if (!signal.aborted) show(look, lookOf({ vault, path, version, start, end, page }, () => !signal.aborted));
    });
    return look;
  }

  function text() {
    const title = h("h2[id=text-title]", t("doc.text"));
    if (!hasText) return [title, h("p.muted", t("doc.no_text"))];
    const span = spanOf(params);
    const total = isOld ? Infinity : length;
    const body = h("div.text.card[data-text][tabindex=-1][role=region][aria-labelledby=text-title]", loading());
    const position = h("p.muted.small[role=status][data-position]");
    let start = 0;
    const turns = [1, 2].map(() => h("div.row", button("[data-action=previous-slice]", t("doc.previous"), () => go(Math.max(0, start - SLICE))),
      button("[data-action=next-slice]", t("doc.next"), () => go(start + SLICE))));
    const jump = h("input[type=range][min=0][max=100][step=0.1][data-jump]", { onchange: () => go(Math.min(total - SLICE, Math.floor(total * jump.value / 100))) });
    const look = isMarkup(path) && h("input[type=checkbox][data-look-toggle]", { onchange: () => go(start), checked: true });
    const marks = h("input[type=checkbox][checked][data-chunks-toggle]", { onchange: () => body.classList.toggle("plain", !marks.checked) });
    go(span ? Math.max(0, span[0] - BEFORE_SPAN) : 0, true);
    return [h("div.row.spread", title, look && h("label.check", look, t("original.look")), !isOld && h("label.check", marks, t("doc.marks"))), total > SLICE && !isOld && field("jump", t("doc.jump"), jump), position, turns[0], body, turns[1]];

    async function go(to, first = false) {
      try {
        const range = `${to}-${to + SLICE}`;
        const [piece, { chunks }] = await Promise.all([get({ version, span: range }), isOld ? { chunks: [] } : get({ chunks: 1, span: range }).catch(() => ({ chunks: [] }))]);
        const { end } = piece;
        start = to;
        show(body, look?.checked ? looksByPart(piece, chunks, span) : blocks(piece, chunks, span));
        marks.parentElement?.toggleAttribute("hidden", Boolean(look?.checked));
        body.classList.toggle("plain", isOld || !marks.checked);
        const more = end - start === SLICE && end < total;
        position.textContent = t("doc.position", { start: number(start + 1), end: number(end), total: isOld ? "?" : number(total), share: isOld ? "?" : percent(end / total, 1) });
        for (const turn of turns) {
          turn.hidden = !start && !more;
          [turn.firstChild.disabled, turn.lastChild.disabled] = [!start, !more];
        }
        jump.value = 100 * start / total;
        const passage = first && body.querySelector("mark");
        if (passage) {
          passage.scrollIntoView({ block: "center" });
          passage.focus({ preventScroll: true });
        } else if (!first) {
          body.focus({ preventScroll: true });
          body.scrollIntoView();
        }
      } catch (problemOfIt) {
        if (!signal.aborted) show(body, isOld && problemOfIt.status === 404 ? h("p", t("doc.version_gone")) : problem(problemOfIt, () => go(to, first)));
      }
    }
  }

  // A section with a list that *page* adds to: it gets a cursor and returns the next one.
  function growing(title, selector, page, ask) {
    const list = h(selector);
    const line = h("div[role=status]");
    const more = button(".small[data-action=more]", ask ?? t("common.more"), go, { hidden: !ask });
    let cursor = null;
    async function go() {
      more.disabled = true;
      show(line, loading());
      try {
        cursor = await page(list, cursor);
        show(line, !list.firstChild && quiet(t("doc.none")));
        more.textContent = t("common.more");
        more.hidden = !cursor;
      } catch (problemOfIt) {
        if (!signal.aborted) show(line, problem(problemOfIt));
      }
      more.disabled = false;
    }
    if (!ask) go();
    return h("section", h("h2", title), list, line, more);
  }

  function linksIn() {
    return growing(t("doc.links_in"), "ul.links[data-links-in]", async (list, from) => {
      let cursor = from;
      for (let pages = 0; pages < LINKING_PAGES; pages++) {
        const found = await patiently(() => get({ links_to: `${vault}/${path}`, cursor, limit: 100 }, "/documents"), signal);
        list.append(...found.documents.map((each) => h("li", h("a", { href: linkTo(each.vault, each.path) }, each.title || each.path))));
        cursor = found.cursor;
        if (!cursor) break;
      }
      return cursor;
    }, t("doc.find_links"));
  }

  function versions() {
    return growing([t("doc.versions"), " ", h("a.small[data-compare]", { href: versionsLink(vault, path) }, t("past.compare"))], "ol.links[data-versions]", async (list, cursor) => {
      const found = await get({ cursor }, `${where}/history`).catch((problemOfIt) => {
        if (problemOfIt.status !== 404) throw problemOfIt;
        return { versions: [{ ...record, modified_at: record.updated_at, status: status === "indexed" ? "live" : status }], cursor: null };
      });
      list.append(...found.versions.map((each) => h("li", { "data-version": each.version_id, "aria-current": each.version_id === (version ?? live) ? "true" : null },
        h("a", { href: linkTo(vault, path, each.status === "live" ? "" : query({ version: each.version_id })) }, when(each.modified_at)), " ", chip(each.status),
        quiet([each.size_bytes && bytes(each.size_bytes), each.written_by].filter(Boolean).join(" · ")), h("p.mono.muted.small", each.version_id))));
      return found.cursor;
    });
  }
}

// The passage that the address names.
const spanOf = (params) => /^(\d{1,9})-(\d{1,9})$/.exec(params.get("span"))?.slice(1).map(Number);

// The text of a slice in blocks, one for each chunk that begins in it; *span* is marked.
function blocks({ start, end, text }, chunks, span = []) {
  const points = Array.from(text);
  const begun = chunks.filter((chunk) => chunk.start > start && chunk.start < end);
  const first = chunks.findLast((chunk) => chunk.start <= start && chunk.end > start);
  return [{ chunk: first, from: start }, ...begun.map((chunk) => ({ chunk, from: chunk.start }))].map(({ chunk, from }, place) => {
    const to = begun[place]?.start ?? end;
    const cuts = [from, ...span.map((cut) => Math.min(to, Math.max(from, cut))), to];
    const pieces = cuts.slice(1).map((cut, index) => points.slice(cuts[index] - start, cut - start).join(""));
    return h("div.chunk", { "data-chunk": chunk?.index, "data-start": from, "data-end": to },
      h("p.muted.small", chunk && [h("b", t("doc.chunk", { number: number(chunk.index + 1) })), " ", [...chunk.heading_path, chunk.page && t("doc.page", { page: number(chunk.page) })].filter(Boolean).join(" › ")]),
      h("div", pieces.map((piece, index) => (index === 1 && span.length && piece ? h("mark[tabindex=-1][data-span-mark]", piece) : piece))));
  });
}

// Who may read the document and what says so, as `ragdrop access` does; the API shows it to admins alone.
function readers(needs) {
  const lines = (needs.length ? needs : [{ groups: ["*"], by: "none" }]).map(({ groups, by }) => h("div", { "data-access": by },
    groups.includes("*") ? t("access.all") : groups.join(", ") || t("access.admins"), quiet(by.replace(/^(none|rule|file|tag)/, (word) => t(`access.${word}`)))));
  return needs.length > 1 ? [...lines, quiet(t("access.each"))] : lines;
}

function facts(record) {
  const found = Object.entries(FACTS).filter(([name]) => record[name]?.length !== 0 && (record[name] ?? null) !== null).map(([name, form]) => [t(`fact.${name}`), form(record[name])]);
  if (record.access) found.push([t("fact.access"), readers(record.access)]);
  return h("section", h("h2", t("doc.facts")), record.summary && h("p", record.summary),
    h("dl.facts[data-facts]", [...found, ...Object.entries(record.attributes)].map(([name, value]) => [h("dt", name), h("dd", value)])));
}

function linksOut({ vault, path, links, broken_links: broken }) {
  const bad = new Set(broken);
  const found = [...new Set(links)].filter((link) => !/^[#?]/.test(link));
  return h("section[data-links-out]", h("h2", t("doc.links_out")), h("ul.links", found.map((link) => {
    const state = bad.has(link) ? "broken" : WEB.test(link) ? "web" : "found";
    const href = state !== "broken" && targetOf(link, vault, path);
    return h("li", { "data-link": state }, chip(state), " ", href ? h("a[rel=noreferrer]", { href, target: state === "web" ? "_blank" : null }, link) : link);
  })), !found.length && quiet(t("doc.none")));
}

// Where a link of a document leads in this page: a path as it is written, a name by the list of documents.
function targetOf(link, vault, path) {
  const name = /^!?\[\[([^\]|#^]+)/.exec(link)?.[1].trim();
  if (name) return `#/documents${query({ vault, name: nameOf(name) })}`;
  if (WEB.test(link)) return /^https?:/i.test(link) && link;
  const steps = link.startsWith("/") ? [] : path.split("/").slice(0, -1);
  for (const step of link.split(/[?#]/)[0].split("/")) {
    if (step === "..") steps.pop();
    else if (step && step !== ".") steps.push(step);
  }
  return `#${documentPath(vault, "")}${steps.join("/")}`;
}

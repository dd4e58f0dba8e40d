// Uploads: a queue that outlives the view, each followed until it is indexed or failed.

import { ApiError, base, call, credential, documentPath, query } from "./api.js";
import { announce, button, h, show } from "./dom.js";
import { arrange, chip, failure, field, linkTo, passes, tally } from "./records.js";
import { bytes, number, t, when } from "./strings.js";

const AT_ONCE = 3;
const TRIES = 6;
const ROWS = 200;            // of the queue, on the page
const LOOK_MS = 500;         // at most three questions each time
const LAST_LOOK_MS = 8_000;
const DAY_MS = 86_400_000;
const MAX_KEY_BYTES = 900;
const HIDDEN = /(^|\/)(\.|__MACOSX\/|Thumbs\.db$|desktop\.ini$)/;
const NO_PATH = /[\u0000-\u001f\u007f]|(^|\/)\.{0,2}(\/|$)/;
const ORDER = ["failed", "sending", "pending", "waiting", "left_out", "cancelled", "staged", "indexed"];

let items = [];     // {vault, path, file, key, state, sent, tries, error, version, row}
let paused = false;
let hold = { until: 0, kind: "offline" };
let looking = 0;
let shown = null;   // where the queue is on the page: {queue, changed}
let me = null;
const corner = h("a.corner[href=#/documents][data-uploading]");

const those = (...states) => items.filter(({ state }) => states.includes(state));
const isOpen = () => those("waiting", "sending", "pending").length > 0;

// Fill *element*; files may be dropped on all of *zone*. Gives what aims at another vault and folder.
export function uploads(element, zone, { me: who, signal, vault, folder, changed }) {
  me = who;
  const into = h("input[list=vaults][required][spellcheck=false][autocapitalize=none][aria-describedby=upload-problem]", { pattern: "[a-z0-9\\-]{2,63}", value: vault || me.vaults[0] || "documents" });
  const below = h("input[spellcheck=false]", { value: folder });
  const wrong = h("p.small.wrong[id=upload-problem][role=alert]");
  const queue = h("div.card[data-queue][hidden]");
  const pickers = ["files", "folder"].map((kind) => {
    const input = h("input[type=file][multiple][hidden]", { webkitdirectory: kind === "folder", "aria-label": t(`up.${kind}`), "data-pick": kind, onchange: () => {
      take([...input.files].map((file) => [file.webkitRelativePath || file.name, file]));
      input.value = "";
    } });
    return [button("", t(`up.${kind}`), () => input.click()), input];
  });
  show(element, h("section.drop-zone.card[aria-labelledby=upload-title][data-drop-zone]",
    h("div.stack", h("h2[id=upload-title]", t("up.title")), h("p.muted.small", t("up.text", { size: bytes(me.max_upload_bytes) })), h("div.row", pickers)),
    field("upload-vault", t("up.vault"), into), h("datalist[id=vaults]", me.vaults.map((value) => h("option", { value }))), field("upload-folder", t("up.below"), below), wrong), queue);

  function take(found) {
    const valid = into.checkValidity();
    into.removeAttribute("aria-invalid");
    wrong.textContent = valid ? "" : t("up.bad_vault");
    if (!valid) {
      into.setAttribute("aria-invalid", "true");
      return into.focus();
    }
    const above = below.value.trim().replace(/^\/+|\/+$/g, "");
    add(into.value, found.map(([path, file]) => [above ? `${above}/${path}` : path, file]));
    pump();
  }

  let depth = 0;
  for (const [name, change] of [["dragenter", 1], ["dragover", 0], ["dragleave", -1], ["drop", -Infinity]]) {
    zone.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      depth = Math.max(0, depth + change);
      zone.classList.toggle("dropping", depth > 0);
      if (name === "drop") dropped(event.dataTransfer);
    }, { signal });
  }

  async function dropped({ files, items: some }) {
    const plain = [...files].map((file) => [file.name, file]);
    const entries = [...some].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const found = [];
    for (const entry of entries) await walk(entry, found);
    take(entries.length ? found : plain);
  }

  shown = { queue, changed };
  for (const item of items) item.row = null;
  signal.addEventListener("abort", () => {
    zone.classList.remove("dropping");
    if (shown?.queue === queue) shown = null;
    drawSoon();
  });
  draw();
  return (name, above) => [into.value, below.value] = [name || into.value, above];
}

// All files below *entry* as [path, file]; null where it cannot be read.
async function walk(entry, found) {
  const given = (method, object, otherwise) => new Promise((resolve) => { object[method](resolve, () => resolve(otherwise)); });
  const path = entry.fullPath.slice(1);
  if (entry.isFile || HIDDEN.test(path)) return found.push([path, entry.isFile ? await given("file", entry, null) : null]);
  const reader = entry.createReader();
  for (let some; (some = await given("readEntries", reader, [])).length;) for (const each of some) await walk(each, found);
}

function add(vault, found) {
  const files = new Map(found);
  items = items.filter((each) => each.state !== "waiting" || each.vault !== vault || !files.has(each.path));
  for (const [path, file] of files) {
    const reason = refusal(vault, path, file);
    items.push({ vault, path, file, key: null, state: reason ? "left_out" : "waiting", sent: 0, tries: 0, error: { text: reason }, version: null });
  }
}

// Why a file is not sent, or null.
function refusal(vault, path, file) {
  const { max_upload_bytes: most, tenant } = me;
  if (HIDDEN.test(path)) return t("up.hidden");
  if (!file) return t("up.unreadable");
  if (!file.size) return t("up.empty");
  if (file.size > most) return t("up.large", { size: bytes(file.size), most: bytes(most) });
  const key = `${tenant}/${vault}/${path}`;
  return NO_PATH.test(path) || 3 * key.length > MAX_KEY_BYTES && new TextEncoder().encode(key).length > MAX_KEY_BYTES ? t("up.bad_path") : null;
}

// crypto.randomUUID is not there without HTTPS.
const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

// Send what waits, as far as there is room for it.
function pump() {
  clearTimeout(pump.timer);
  const wait = hold.until - Date.now();
  if (wait > 0) pump.timer = setTimeout(pump, wait);
  else if (!paused) those("waiting").slice(0, Math.max(0, AT_ONCE - those("sending").length)).forEach(start);
  drawSoon();
}

async function start(item) {
  const { file } = item;
  Object.assign(item, { state: "sending", sent: 0, stopped: null, key: item.key ?? newKey() });
  try {
    await file.slice(0, 1).arrayBuffer().catch(() => { throw Object.assign(new Error(), { text: t("up.unreadable") }); });
    item.version = file.size > me.max_put_bytes ? await post(item) : await put(item);
    Object.assign(item, { state: "pending", look: 0, wait: LOOK_MS });
    look();
  } catch (error) {
    recover(item, error);
  }
  settle();
  pump();
}

const mediaType = ({ type }) => (/^[ -~]{1,200}$/.test(type) ? type : "application/octet-stream");

async function put(item) {
  const headers = { "content-type": mediaType(item.file), "idempotency-key": item.key, "x-api-key": credential.get() };
  return JSON.parse((await transfer(item, "PUT", base + documentPath(item.vault, item.path), headers, item.file)).responseText).version_id;
}

// By a form, straight into the bucket.  What was there before tells the new version where the bucket does not name it.
async function post(item) {
  const { vault, path, file } = item;
  item.before = await call(documentPath(vault, path)).then((record) => record.version_id, () => null);
  const { url, fields } = await call("/uploads", { method: "POST", body: { vault, path, media_type: mediaType(file) } });
  const body = new FormData();
  for (const [name, value] of [...Object.entries(fields), ["file", file]]) body.append(name, value);
  try {
    return (await transfer(item, "POST", url, {}, body)).getResponseHeader("x-amz-version-id");
  } catch (error) {
    if (error.status === 0 && navigator.onLine && item.tries) error.text = t("up.bucket");
    throw error;
  }
}

function transfer(item, method, url, headers, body) {
  return new Promise((resolve, reject) => {
    const request = item.request = new XMLHttpRequest();
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => {
      item.sent = Math.min(item.file.size, loaded);
      drawSoon();
    };
    request.onload = () => {
      if (request.status < 300) return resolve(request);
      const error = new ApiError(request.status, bodyOf(request.responseText));
      error.retryAfter ??= Number(request.getResponseHeader("retry-after")) || null;
      reject(error);
    };
    request.onerror = () => reject(new ApiError(0, null));
    request.onabort = () => reject(new DOMException("", "AbortError"));
    if (item.stopped) request.onabort();
    else request.send(body);
  });
}

// An error as the API's JSON; the bucket answers with XML.
function bodyOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { error: { message: text.slice(0, 300) } };
  }
}

function recover(item, error) {
  const again = () => Object.assign(item, { state: "waiting", sent: 0 });
  if (error.name === "AbortError") return item.stopped === "cancelled" ? Object.assign(item, { state: "cancelled" }) : again();
  if (error.kind === "signed_out") {
    paused = true;
    window.dispatchEvent(new CustomEvent("signed-out"));
    return again();
  }
  const passing = passes(error);
  if (error.kind !== "limited" && navigator.onLine) item.tries += 1;
  if (!passing && error.code !== "CONFLICT" || error.text || item.tries >= TRIES) return Object.assign(item, { state: "failed", error });
  hold = { until: Date.now() + 1000 * (error.retryAfter ?? Math.min(30, 2 ** item.tries)), kind: passing ? error.kind : "unavailable" };
  return again();
}

// Ask what became of the files that were sent.
function look() {
  clearTimeout(look.timer);
  const open = those("pending");
  for (const item of document.hidden ? [] : open) if (looking < AT_ONCE && item.look <= Date.now()) lookAt(item);
  if (open.length) look.timer = setTimeout(look, LOOK_MS);
}

async function lookAt(item) {
  looking += 1;
  item.look = Infinity;
  item.wait = Math.min(LAST_LOOK_MS, item.wait * 1.5);
  try {
    const { status, version_id: version, error } = await call(documentPath(item.vault, item.path) + query({ version: item.version }));
    if (status !== "pending" && (item.version || version !== item.before)) {
      Object.assign(item, ["indexed", "staged"].includes(status) ? { state: status } : { state: "failed", error: error ?? { code: "DOCUMENT_NOT_FOUND" } });
      shown?.changed();
      settle();
    }
  } catch (error) {
    item.wait = Math.max(item.wait, 1000 * error.retryAfter || 0);
  }
  item.look = Date.now() + item.wait;
  looking -= 1;
  drawSoon();
}

const summary = () => tally(Object.fromEntries(["indexed", "staged", "failed", "left_out", "cancelled"].map((state) => [state, those(state).length])));

// Say what came of it once nothing is open any more.
function settle() {
  if (items.length && !isOpen()) announce(summary());
}

function pauseOrResume() {
  paused = !paused;
  if (!paused) hold.until = 0;
  else for (const item of those("sending")) if (item.sent < item.file.size) stop(item, "paused");
  pump();
}

function stop(item, why) {
  item.stopped = why;
  item.request?.abort();
}

function cancel(some) {
  for (const item of some) {
    if (item.state === "sending") stop(item, "cancelled");
    else item.state = "cancelled";
  }
  settle();
  drawSoon();
}

function sendAgain(some) {
  for (const item of some) Object.assign(item, { key: item.version ? null : item.key, version: null, tries: 0, state: "waiting", sent: 0 });
  pump();
}

function drawSoon() {
  drawSoon.timer ??= setTimeout(draw, 100);
}

function draw() {
  drawSoon.timer = null;
  drawCorner();
  if (!shown) return;
  const { queue } = shown;
  queue.hidden = !items.length;
  if (!queue.firstChild) frame(queue);
  const part = (name) => queue.querySelector(`[data-part=${name}]`);
  const open = isOpen();
  const sends = those("waiting", "sending").length > 0;
  const going = those("waiting", "sending", "pending", "indexed", "staged", "failed");
  const sum = (sizeOf) => going.reduce((total, item) => total + sizeOf(item), 0);
  const total = sum(({ file }) => file.size);
  const sent = sum(({ state, file, sent: some }) => ({ waiting: 0, sending: some }[state] ?? file.size));
  part("progress").value = total ? sent / total : 1;
  part("counts").textContent = open ? t("up.progress", { done: number(those("indexed", "staged", "failed").length), count: number(going.length), sent: bytes(sent), total: bytes(total) }) : summary();
  queue.toggleAttribute("data-done", !open);
  const note = paused && sends ? t("up.paused") : sends && hold.until > Date.now() ? t(`up.hold.${hold.kind}`, { time: when(hold.until, { timeStyle: "medium", dateStyle: hold.until - Date.now() > DAY_MS / 2 ? "short" : undefined }) }) : "";
  if (part("hold").textContent !== note) part("hold").textContent = note;
  const [pause, rest, again, clear] = part("actions").children;
  pause.textContent = t(paused ? "up.resume" : "up.pause");
  [pause.hidden, rest.hidden, again.hidden, clear.hidden] = [!sends, !sends, open || !those("failed").length, open];
  const sorted = ORDER.flatMap((state) => those(state));
  const rows = sorted.slice(0, ROWS);
  rows.forEach(drawRow);
  arrange(part("rows"), rows.map(({ row }) => row));
  part("more").textContent = sorted.length > ROWS ? t("up.more", { count: number(sorted.length - ROWS) }) : "";
}

// In a view without the queue a line in the corner leads to it.
function drawCorner() {
  const going = those("waiting", "sending", "pending", "indexed", "staged", "failed");
  corner.remove();
  if (shown || !isOpen()) return;
  const done = those("indexed", "staged", "failed").length;
  show(corner, h("span", t("up.corner", { done: number(done), count: number(going.length) })), h("progress", { max: going.length, value: done, "aria-label": t("up.queue") }));
  document.body.append(corner);
}

function frame(queue) {
  show(queue, h("div.row.spread", h("p[id=upload-counts][data-part=counts]"), h("div.row[data-part=actions]",
    button(".small[data-action=pause]", "", pauseOrResume), button(".small[data-action=cancel-all]", t("common.cancel"), () => cancel(those("waiting", "sending"))),
    button(".small[data-action=retry-failed]", t("docs.retry_all"), () => sendAgain(those("failed"))), button(".small[data-action=clear]", t("up.clear"), () => { items = []; draw(); }))),
  h("progress[max=1][aria-labelledby=upload-counts][data-part=progress]"), h("p.small[role=status][data-part=hold]"),
  h("ul.queue[tabindex=0][data-part=rows]", { "aria-label": t("up.queue") }), h("p.muted.small[data-part=more]"));
}

function drawRow(item) {
  const { state, path, vault, file, error, sent } = item;
  const row = item.row ??= h("li", { "data-upload": `${vault}/${path}` });
  if (row.dataset.state !== state) {
    const focus = row.contains(document.activeElement);
    row.dataset.state = state;
    const act = (where, text, run) => button(where, text, run, { "aria-label": `${text}: ${path}` });
    show(row, chip(state), h("span.path", state === "indexed" ? h("a", { href: linkTo(vault, path) }, path) : path), h("span.muted.small", file && bytes(file.size)),
      ["waiting", "sending"].includes(state) && act(".quiet.small[data-action=cancel]", t("common.cancel"), () => cancel([item])),
      ["failed", "cancelled"].includes(state) && act(".quiet.small[data-action=retry]", t("docs.retry"), () => sendAgain([item])),
      state === "sending" && h("progress[max=1]", { "aria-label": path }),
      ["failed", "left_out"].includes(state) && (error.text ? h("p.small", error.text) : failure(error)));
    if (focus) (row.querySelector("button") ?? row.parentNode).focus();
  }
  if (state === "sending") row.querySelector("progress").value = sent / file.size;
}

window.addEventListener("online", () => {
  if (hold.kind === "offline") hold.until = 0;
  pump();
});
window.addEventListener("beforeunload", (event) => { if (those("waiting", "sending").length) event.preventDefault(); });
window.addEventListener("forget", () => {
  cancel(those("waiting", "sending"));
  items = [];
});
window.addEventListener("signed-in", () => { if (paused && those("waiting").length) pauseOrResume(); });

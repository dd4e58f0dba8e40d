// Uploads: a queue that outlives the view, three files at once, each followed until it is indexed or failed.

import { ApiError, base, call, credential, documentPath, query } from "./api.js";
import { announce, h, show } from "./dom.js";
import { arrange, button, chip, failure, field, linkTo, passes, tally } from "./records.js";
import { bytes, number, t, when } from "./strings.js";

const AT_ONCE = 3;
const TRIES = 6;
const ROWS = 200;            // of the queue, on the page
const LOOK_MS = 500;         // at most three questions for a status each time
const LAST_LOOK_MS = 8_000;
const LONGEST_HOLD_S = 120;  // a longer limit pauses the queue
const MAX_KEY_BYTES = 900;
const HIDDEN = /(^|\/)(\.|__MACOSX\/|Thumbs\.db$|desktop\.ini$)/;
const NO_PATH = /[\u0000-\u001f\u007f]|(^|\/)\.{0,2}(\/|$)/;
const ENDS = ["indexed", "failed", "left_out", "cancelled"];

let items = [];     // {vault, path, file, key, state, sent, tries, error, version, row}
let paused = false;
let hold = { until: 0, kind: "offline" };
let looking = 0;
let shown = null;   // where the queue is on the page: {queue, changed}
let me = null;

const those = (...states) => items.filter((item) => states.includes(item.state));

// Fill *element* with the place to drop files and the queue; files may be dropped anywhere on *zone*.
export function uploads(element, zone, { me: who, signal, vault, folder, changed }) {
  me = who;
  const into = h("input", { class: "input", list: "vaults", required: true, pattern: "[a-z0-9\\-]{2,63}", spellcheck: "false", autocapitalize: "none",
    "aria-describedby": "upload-problem", value: vault || me.vaults[0] || "documents" });
  const below = h("input", { class: "input", spellcheck: "false", maxlength: 700, value: folder });
  const wrong = h("p", { id: "upload-problem", class: "small wrong", role: "alert" });
  const reading = h("p", { class: "muted small", role: "status" });
  const queue = h("div", { "data-queue": true });
  const pickers = ["files", "folder"].map((kind) => {
    const input = h("input", { type: "file", multiple: true, hidden: true, webkitdirectory: kind === "folder", "aria-label": t(`upload.${kind}`), "data-pick": kind, onchange: () => {
      take([...input.files].map((file) => [file.webkitRelativePath || file.name, file]));
      input.value = "";
    } });
    return [button(`pick-${kind}`, t(`upload.${kind}`), () => input.click()), input];
  });
  show(element, h("section", { class: "drop-zone", "aria-labelledby": "upload-title", "data-drop-zone": true },
    h("div", {}, h("h2", { id: "upload-title" }, t("upload.title")),
      h("p", { class: "muted small" }, t("upload.text", { size: bytes(me.max_upload_bytes) })), h("div", { class: "row" }, pickers)),
    h("div", { class: "drop-target" }, field("upload-vault", t("upload.vault"), into),
      h("datalist", { id: "vaults" }, me.vaults.map((name) => h("option", { value: name }))), field("upload-folder", t("upload.below"), below)),
    wrong, reading), queue);

  function take(found) {
    const valid = into.checkValidity();
    into.setAttribute("aria-invalid", String(!valid));
    wrong.textContent = valid ? "" : t("upload.bad_vault");
    if (!valid) return into.focus();
    const above = below.value.trim().replace(/^\/+|\/+$/g, "");
    for (const [path, file] of found) add(into.value, above ? `${above}/${path}` : path, file);
    pump();
  }

  let depth = 0;
  const drag = (name, change) => zone.addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    depth = change === 0 && name === "drop" ? 0 : Math.max(0, depth + change);
    zone.classList.toggle("dropping", depth > 0);
    if (name === "drop") dropped(event.dataTransfer);
  }, { signal });
  drag("dragenter", 1);
  drag("dragover", 0);
  drag("dragleave", -1);
  drag("drop", 0);

  async function dropped(data) {
    const files = [...data.files].map((file) => [file.name, file]);
    const entries = [...data.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const found = [];
    for (const entry of entries) {
      await walk(entry, found, () => { reading.textContent = t("upload.reading", { count: number(found.length) }); });
    }
    reading.textContent = "";
    take(entries.length ? found : files);
  }

  shown = { queue, changed };
  for (const item of items) item.row = null;
  signal.addEventListener("abort", () => {
    zone.classList.remove("dropping");
    if (shown?.queue === queue) shown = null;
  });
  draw();
}

// All files below *entry* as [path, file]; the file is null where it cannot be read.
async function walk(entry, found, told) {
  const given = (method, object, otherwise) => new Promise((resolve) => { object[method](resolve, () => resolve(otherwise)); });
  if (entry.isFile) {
    found.push([entry.fullPath.slice(1), await given("file", entry, null)]);
    return told();
  }
  const reader = entry.createReader();
  for (let some; (some = await given("readEntries", reader, [])).length;) for (const each of some) await walk(each, found, told);
}

function add(vault, path, file) {
  items = items.filter((each) => each.state !== "waiting" || each.vault !== vault || each.path !== path);
  const item = { vault, path, file, key: newKey(), state: "waiting", sent: 0, tries: 0, error: null, version: null };
  const reason = refusal(item);
  items.push(reason ? { ...item, state: "left_out", error: { text: reason } } : item);
}

// Why a file is not sent at all, null where it is.
function refusal({ vault, path, file }) {
  const { max_upload_bytes: most, tenant } = me;
  if (!file) return t("upload.unreadable");
  if (HIDDEN.test(path)) return t("upload.hidden");
  if (!file.size) return t("upload.empty");
  if (file.size > most) return t("upload.large", { size: bytes(file.size), most: bytes(most) });
  if (NO_PATH.test(path) || new TextEncoder().encode(`${tenant}/${vault}/${path}`).length > MAX_KEY_BYTES) return t("upload.bad_path");
  return null;
}

// crypto.randomUUID is not there without HTTPS.
const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");

// Send what waits, as far as there is room for it.
function pump() {
  clearTimeout(pump.timer);
  const wait = hold.until - Date.now();
  if (wait > 0) pump.timer = setTimeout(pump, wait);
  else if (!paused) for (const item of those("waiting").slice(0, Math.max(0, AT_ONCE - those("sending").length))) start(item);
  drawSoon();
}

async function start(item) {
  Object.assign(item, { state: "sending", sent: 0, error: null, stopped: null });
  try {
    await item.file.slice(0, 1).arrayBuffer().catch(() => { throw Object.assign(new Error(), { text: t("upload.unreadable") }); });
    item.version = item.file.size <= me.max_put_bytes ? await put(item) : await post(item);
    Object.assign(item, { state: "indexing", look: Date.now() + LOOK_MS, wait: LOOK_MS });
    look();
  } catch (error) {
    recover(item, error);
  }
  settle();
  pump();
}

const mediaType = (file) => (/^[ -~]{1,200}$/.test(file.type) ? file.type : "application/octet-stream");

async function put(item) {
  const headers = { "content-type": mediaType(item.file), "idempotency-key": item.key, "x-api-key": credential.get() };
  return JSON.parse((await transfer(item, "PUT", base + documentPath(item.vault, item.path), headers, item.file)).responseText).version_id;
}

// By a form, straight into the bucket.  What was there before tells the new version where the bucket does not name it.
async function post(item) {
  const { vault, path, file } = item;
  item.before = await call(documentPath(vault, path)).then((record) => record.version_id, () => null);
  const form = await call("/uploads", { method: "POST", body: { vault, path, media_type: mediaType(file) } });
  const body = new FormData();
  for (const [name, value] of [...Object.entries(form.fields), ["file", file]]) body.append(name, value);
  try {
    return (await transfer(item, "POST", form.url, {}, body)).getResponseHeader("x-amz-version-id");
  } catch (error) {
    if (error.status === 0 && navigator.onLine && item.tries) error.text = t("upload.bucket_refuses");
    throw error;
  }
}

function transfer(item, method, url, headers, body) {
  return new Promise((resolve, reject) => {
    const request = item.request = new XMLHttpRequest();
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => {
      item.sent = Math.min(item.file.size, event.loaded);
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

// An error as the API's JSON, or as the bucket's XML.
function bodyOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    const part = (name) => text.match(`<${name}>([^<]*)<`)?.[1];
    return { error: { code: part("Code"), message: part("Message") } };
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
  if (error.kind !== "limited" && navigator.onLine) item.tries += 1;
  const busy = error.code === "CONFLICT" || passes(error);
  if (!busy || error.text || item.tries >= TRIES) return Object.assign(item, { state: "failed", error });
  const seconds = error.retryAfter ?? Math.min(30, 2 ** item.tries);
  paused ||= seconds > LONGEST_HOLD_S;
  hold = { until: Date.now() + seconds * 1000, kind: passes(error) ? error.kind : "unavailable" };
  return again();
}

// Ask what became of the files that were sent.
function look() {
  clearTimeout(look.timer);
  const open = those("indexing");
  for (const item of document.hidden ? [] : open) if (looking < AT_ONCE && item.look <= Date.now()) lookAt(item);
  if (open.length) look.timer = setTimeout(look, LOOK_MS);
}

async function lookAt(item) {
  looking += 1;
  item.look = Infinity;
  item.wait = Math.min(LAST_LOOK_MS, item.wait * 1.5);
  try {
    const record = await call(documentPath(item.vault, item.path) + query({ version: item.version }));
    if (record.status !== "pending" && (item.version || record.version_id !== item.before)) {
      Object.assign(item, record.status === "indexed" ? { state: "indexed" } : { state: "failed", error: record.error ?? { code: "DOCUMENT_NOT_FOUND" } });
      shown?.changed();
      settle();
    }
  } catch (error) {
    item.wait = Math.max(item.wait, (error.retryAfter ?? 0) * 1000);
  }
  item.look = Date.now() + item.wait;
  looking -= 1;
  drawSoon();
}

function counts() {
  return Object.fromEntries(ENDS.map((state) => [state, those(state).length]));
}

// Say what came of it once nothing is open any more.
function settle() {
  if (items.length && items.every((item) => ENDS.includes(item.state))) announce(tally(counts()));
}

function pauseOrResume() {
  paused = !paused;
  if (!paused) hold.until = 0;
  else for (const item of those("sending")) if (item.sent < item.file.size) stop(item, "paused");
  announce(t(paused ? "upload.paused" : "upload.resumed"));
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
  for (const item of some) Object.assign(item, { key: item.version ? newKey() : item.key, version: null, tries: 0, state: "waiting", sent: 0, error: null });
  pump();
}

function drawSoon() {
  drawSoon.timer ??= setTimeout(draw, 100);
}

function draw() {
  clearTimeout(drawSoon.timer);
  drawSoon.timer = null;
  if (!shown) return;
  const { queue } = shown;
  if (!items.length) return show(queue);
  if (!queue.firstChild) frame(queue);
  const part = (name) => queue.querySelector(`[data-part="${name}"]`);
  const open = those("waiting", "sending", "indexing").length;
  const going = those("waiting", "sending", "indexing", "indexed", "failed");
  const sum = (sizeOf) => going.reduce((total, item) => total + sizeOf(item), 0);
  const total = sum((item) => item.file.size);
  const sent = sum((item) => ({ waiting: 0, sending: item.sent }[item.state] ?? item.file.size));
  const wait = Math.ceil((hold.until - Date.now()) / 1000);
  const held = wait > 0 && those("waiting").length > 0;

  part("progress").value = total ? sent / total : 1;
  part("counts").textContent = open ? t("upload.progress", { done: number(going.length - open), count: number(going.length), sent: bytes(sent), total: bytes(total) })
    : tally(counts());
  queue.toggleAttribute("data-done", !open);
  part("hold").textContent = paused && held ? t("upload.until", { time: when(hold.until) }) : paused ? t("upload.paused")
    : held ? t(`upload.hold.${hold.kind}`, { seconds: wait }) : "";
  if (held) drawSoon.timer = setTimeout(draw, 1000);
  const sends = those("waiting", "sending").length > 0;
  const [pause, rest, retry, clear] = part("actions").children;
  pause.textContent = t(paused ? "upload.resume" : "upload.pause");
  [pause.hidden, rest.hidden, retry.hidden, clear.hidden] = [!sends, !sends, open > 0 || !those("failed").length, open > 0];

  const sorted = [...those("failed", "left_out"), ...those("sending", "indexing", "waiting", "cancelled", "indexed")];
  const rows = sorted.slice(0, ROWS);
  for (const item of rows) drawRow(item);
  arrange(part("rows"), rows.map((item) => item.row));
  part("more").textContent = sorted.length > ROWS ? t("upload.more", { count: number(sorted.length - ROWS) }) : "";
}

function frame(queue) {
  show(queue, h("div", { class: "row spread" }, h("p", { "data-part": "counts", id: "upload-counts" }), h("div", { class: "row", "data-part": "actions" },
    button("pause", "", pauseOrResume, "small"),
    button("cancel-all", t("common.cancel"), () => cancel(those("waiting", "sending")), "small"),
    button("retry-failed", t("documents.retry_all"), () => sendAgain(those("failed")), "small"),
    button("clear", t("upload.clear"), () => { items = []; draw(); }, "small"))),
  h("progress", { class: "progress", max: 1, value: 0, "aria-labelledby": "upload-counts", "data-part": "progress" }),
  h("p", { class: "small", role: "status", "data-part": "hold" }),
  h("ul", { class: "queue", "data-part": "rows", tabindex: 0, "aria-label": t("upload.queue") }), h("p", { class: "muted small", "data-part": "more" }));
}

function drawRow(item) {
  const { state, path, vault, file, error } = item;
  item.row ??= h("li", { "data-upload": `${vault}/${path}` });
  const bar = item.row.querySelector("progress");
  if (bar) bar.value = item.sent / file.size;
  if (item.row.dataset.state === state) return;
  const focus = item.row.contains(document.activeElement);
  item.row.dataset.state = state;
  const act = (action, text, run) => button(action, text, run, "quiet small", { "aria-label": `${text}: ${path}` });
  show(item.row, chip(state), h("span", { class: "path" }, state === "indexed" ? h("a", { href: linkTo(vault, path) }, path) : path),
    h("span", { class: "muted small" }, file && bytes(file.size)),
    ["waiting", "sending"].includes(state) && act("cancel", t("common.cancel"), () => cancel([item])),
    ["failed", "cancelled"].includes(state) && act("retry", t("documents.retry"), () => sendAgain([item])),
    state === "sending" && h("progress", { class: "progress", max: 1, value: 0, "aria-label": path }),
    error && ["failed", "left_out"].includes(state) && (error.text ? h("p", { class: "small" }, error.text) : failure(error)));
  if (focus) (item.row.querySelector("button") ?? item.row.parentNode).focus();
}

window.addEventListener("online", () => {
  if (hold.kind === "offline") hold.until = 0;
  pump();
});
window.addEventListener("beforeunload", (event) => { if (those("waiting", "sending").length) event.preventDefault(); });
window.addEventListener("forget", () => {
  cancel(those("waiting", "sending"));
  items = [];
  draw();
});
window.addEventListener("signed-in", () => { if (paused && those("waiting").length) pauseOrResume(); });

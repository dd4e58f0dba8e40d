// The frame of the page: header, routes, theme, language, sign-in over any view.

import { ApiError, call, credential } from "./api.js";
import { announce, button, h, show, svg } from "./dom.js";
import { finder } from "./find.js";
import { loading, problem } from "./problems.js";
import { language, setLanguage, t } from "./strings.js";

const root = document.documentElement;
const main = document.getElementById("main");
const header = document.getElementById("header");
// By the first segment of the hash: which link of the header it belongs to, and its module.
const VIEWS = {
  "": ["ask", () => import("./ask.js")],
  answers: ["ask", () => import("./receipt.js")],
  threads: ["threads", (parts) => (parts.length ? import("./ask.js") : import("./threads.js"))],
  documents: ["documents", (parts) => (parts.length > 1 ? import("./document.js") : import("./documents.js"))],
  versions: ["documents", () => import("./versions.js")],
  changes: ["documents", () => import("./changes.js")],
  stages: ["documents", () => import("./stages.js")],
  connect: ["health", () => import("./connect.js")],
  health: ["health", () => import("./health.js")],
};
const THEMES = { auto: "◐", light: "☀", dark: "☾" };
let leaving = new AbortController();
let me = null;
let asking = null; // GET /me, once for each credential
let current = "ask";

function whoAmI() {
  asking ??= call("/me").then((found) => {
    me = found;
    drawHeader();
    return found;
  }).catch((error) => {
    asking = null;
    throw error;
  });
  return asking;
}

// The segments of the address, and its parameters.
function place() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?");
  return [path.split("/").map((segment) => { try { return decodeURIComponent(segment); } catch { return segment; } }), search];
}

async function route() {
  const [[name, ...parts], search] = place();
  if (name === "sign-in") return redeemed(parts[0] ?? "");
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const [nav, load] = VIEWS[name] ?? VIEWS[""];
  const early = nav === "ask" && name !== "answers"; // usable before GET /me has answered
  current = nav === "threads" && parts.length ? "ask" : nav;
  root.dataset.view = name;
  document.title = `${t(`nav.${current}`)} · ragdrop`;
  drawHeader();
  try {
    const module = load(parts);
    module.catch(() => null); // told where it is awaited
    if (!early) show(main, loading());
    if (!credential.get()) over(null);
    if (!credential.get() && !early) throw new ApiError(401, null);
    const context = { me: early ? me : await whoAmI(), whoAmI, parts, params: new URLSearchParams(search), signal };
    const { view } = await module;
    if (signal.aborted) return;
    await view(main, context);
    const heading = main.querySelector("h1");
    if (signal.aborted || early || !heading || document.activeElement !== document.body) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  } catch (error) {
    if (!signal.aborted && error.name !== "AbortError") show(main, problem(error, route));
  }
}

async function redeemed(code) {
  history.replaceState(null, "", "#/");
  try {
    const { redeem } = await import("./signin.js");
    signedIn(await redeem(code));
  } catch (error) {
    if (!credential.get()) over(error.kind === "offline" ? "problem.offline.text" : "signin.code_used");
  }
  route();
}

let dialog = null;
// The sign-in over what is shown; then the view goes on.
async function over(reason) {
  if (dialog) return;
  dialog = import("./signin.js").then(({ signIn }) => signIn(reason), () => null); // lost on the way: the next 401 asks again
  const found = await dialog;
  dialog = null;
  if (!found) return;
  signedIn(found);
  if (root.dataset.view) route();
}

function signedIn(found) {
  me = found;
  asking = Promise.resolve(found);
  drawHeader();
  announce(whose());
  window.dispatchEvent(new CustomEvent("signed-in", { detail: found }));
}

function signOut() {
  credential.forget();
  window.dispatchEvent(new CustomEvent("forget"));
  me = asking = null;
  history.replaceState(null, "", "#/");
  route();
}

const whose = () => t("account.role", { role: t(`role.${me.role}`), tenant: me.tenant });

function drawHeader() {
  const theme = root.dataset.theme ?? "auto";
  const label = t("theme.label", { theme: t(`theme.${theme}`) });
  const held = document.activeElement;
  show(header,
    h("a.skip[href=#main]", { onclick: (event) => { event.preventDefault(); main.focus(); } }, t("app.skip")),
    h("a.brand[href=#/]", svg("svg[viewBox=0 0 16 16][aria-hidden=true]", svg("path[d=M8 1c3 4 5 6 5 9a5 5 0 0 1-10 0c0-3 2-5 5-9z]")), "ragdrop"),
    h("nav", { "aria-label": t("app.nav") }, ["ask", "threads", "documents", "health"].map((name) =>
      h("a", { href: name === "ask" ? "#/" : `#/${name}`, "aria-current": name === current && "page", "data-nav": name }, t(`nav.${name}`)))),
    credential.get() && finder(),
    h("div.controls", me && h("span.account.muted", { "data-role": me.role }, whose()),
      button(".quiet[data-language]", t("language.switch"), switchLanguage, { lang: language() === "en" ? "de" : "en" }),
      button(".quiet[data-theme-toggle]", THEMES[theme], switchTheme, { "aria-label": label, title: label }),
      credential.get() ? button(".quiet[data-sign-out]", t("account.sign_out"), signOut) : button(".quiet", t("account.sign_in"), () => over(null))));
  if (held?.matches("[data-find]")) held.focus();
}

function switchTheme() {
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(root.dataset.theme ?? "auto") + 1) % 3];
  if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
  localStorage.setItem("ragdrop.theme", root.dataset.theme ?? "");
  drawHeader();
  header.querySelector("[data-theme-toggle]").focus();
}

function switchLanguage() {
  setLanguage(language() === "en" ? "de" : "en");
  window.dispatchEvent(new CustomEvent("language"));
  route();
  header.querySelector("[data-language]").focus();
}

// Files that are dropped on another view than the list of documents go to what it shows: a document's folder, or the
// vault that questions are limited to.
main.addEventListener("dragenter", async (event) => {
  if (!event.dataTransfer?.types.includes("Files") || !me || me.role === "reader" || main.querySelector("[data-drop-zone]")) return;
  event.preventDefault();
  const [[name, ...parts]] = place();
  const [vault, ...above] = ["documents", "versions"].includes(name) ? parts.slice(0, -1) : [(await import("./ask.js")).dropVault()];
  const { uploads } = await import("./upload.js");
  const zone = h("div.records");
  main.prepend(zone);
  uploads(zone, main, { me, signal: leaving.signal, vault, folder: above.join("/"), changed: () => null });
});
window.addEventListener("hashchange", route);
for (const name of ["signed-out", "sign-in"]) window.addEventListener(name, () => over("problem.signed_out.text"));
route();

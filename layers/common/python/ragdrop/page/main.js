// The frame of the page: header, routes, theme, language, sign-in over any view.

import { call, credential } from "./api.js";
import { announce, h, show, svg } from "./dom.js";
import { problem } from "./problems.js";
import { language, setLanguage, t } from "./strings.js";

const main = document.getElementById("main");
const header = document.getElementById("header");
// A view by the first segment of the hash.  `early` views are usable before GET /me has answered.
const VIEWS = {
  "": { load: () => import("./ask.js"), nav: "ask", early: true },
  answers: { load: () => import("./receipt.js"), nav: "ask" },
  documents: { load: (parts) => (parts.length > 1 ? import("./document.js") : import("./documents.js")), nav: "documents" },
  health: { load: () => import("./health.js"), nav: "health" },
};
const THEMES = ["auto", "light", "dark"];
const THEME_SIGNS = { auto: "◐", light: "☀", dark: "☾" };
let leaving = new AbortController();
let me = null;
let asking = null;

// GET /me, once for each credential.
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

async function route() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...parts] = path.split("/").map(decoded);
  if (name === "sign-in") return redeemCode(parts[0] ?? "");
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const found = VIEWS[name] ?? VIEWS[""];
  document.documentElement.dataset.view = name;
  drawHeader(found.nav);
  document.title = `${t(`nav.${found.nav}`)} · ${t("app.name")}`;
  const module = found.load(parts);
  const params = new URLSearchParams(search);
  try {
    if (!credential.get()) {
      if (found.early) (await module).view(main, { me: null, whoAmI, parts, params, signal });
      return await over("missing");
    }
    if (!found.early) show(main);
    const context = { me: found.early ? me : await whoAmI(), whoAmI, parts, params, signal };
    const { view } = await module;
    if (!signal.aborted) await view(main, context);
    if (!signal.aborted && !found.early) focusHeading();
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    show(main, problem(error, () => route()));
  }
}

function focusHeading() {
  const heading = main.querySelector("h1");
  if (!heading || main.contains(document.activeElement) && document.activeElement !== main) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function decoded(segment) {
  try { return decodeURIComponent(segment); } catch { return segment; }
}

async function redeemCode(code) {
  const { redeem } = await import("./signin.js");
  history.replaceState(null, "", "#/");
  announce(t("signin.redeeming"));
  try {
    signedIn(await redeem(code));
    route();
  } catch (error) {
    if (error.kind === "offline") return show(main, problem(error, () => redeemCode(code)));
    route();
    if (!credential.get()) over("code_used");
  }
}

let dialogReason = null;
// The sign-in over what is shown; then the view goes on.
async function over(reason) {
  dialogReason ??= reason;
  const { signIn } = await import("./signin.js");
  const found = await signIn(dialogReason === "missing" ? null : dialogReason);
  dialogReason = null;
  if (found === null || found === me) return;
  signedIn(found);
  if (document.documentElement.dataset.view !== "") route();
}

function signedIn(found) {
  me = found;
  asking = Promise.resolve(found);
  drawHeader();
  window.dispatchEvent(new CustomEvent("signed-in", { detail: found }));
}

function signOut() {
  credential.forget();
  window.dispatchEvent(new CustomEvent("forget"));
  me = asking = null;
  history.replaceState(null, "", "#/");
  route();
}

let current = "ask";
function drawHeader(nav = current) {
  current = nav;
  const links = ["ask", "documents", "health"].map((name) => h("a", {
    href: name === "ask" ? "#/" : `#/${name}`, "aria-current": name === nav ? "page" : null, "data-nav": name,
  }, t(`nav.${name}`)));
  const theme = document.documentElement.dataset.theme ?? "auto";
  const themeLabel = t("theme.label", { theme: t(`theme.${theme}`) });
  show(header,
    h("a", { class: "skip", href: "#", onclick: (event) => { event.preventDefault(); main.focus(); } }, t("app.skip")),
    h("a", { class: "brand", href: "#/" }, drop(), t("app.name")),
    h("nav", { "aria-label": t("app.nav") }, links),
    h("div", { class: "controls", role: "group", "aria-label": t("app.controls") },
      me && h("span", { class: "account muted", "data-role": me.role }, t("account.role", { role: t(`role.${me.role}`), tenant: me.tenant })),
      h("button", { class: "button quiet", type: "button", "data-language": true, lang: language() === "en" ? "de" : "en", onclick: switchLanguage }, t("language.switch")),
      h("button", { class: "button quiet icon", type: "button", "data-theme-toggle": true, "aria-label": themeLabel, title: themeLabel, onclick: switchTheme },
        h("span", { "aria-hidden": "true" }, THEME_SIGNS[theme])),
      credential.get()
        ? h("button", { class: "button quiet", type: "button", "data-sign-out": true, onclick: signOut }, t("account.sign_out"))
        : h("button", { class: "button quiet", type: "button", onclick: () => over("missing") }, t("account.sign_in"))));
}

function drop() {
  return svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: "M8 1c3 4 5 6 5 9a5 5 0 0 1-10 0c0-3 2-5 5-9z" }));
}

function switchTheme() {
  const theme = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % THEMES.length];
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem("ragdrop.theme");
    else localStorage.setItem("ragdrop.theme", theme);
  } catch { /* private windows may keep nothing */ }
  redrawn("[data-theme-toggle]");
}

function switchLanguage() {
  setLanguage(language() === "en" ? "de" : "en");
  window.dispatchEvent(new CustomEvent("language"));
  route();
  redrawn("[data-language]");
}

function redrawn(selector) {
  drawHeader();
  header.querySelector(selector).focus();
}

window.addEventListener("hashchange", route);
window.addEventListener("signed-out", () => { if (dialogReason === null) over("expired"); });
window.addEventListener("sign-in", () => over("expired"));
route();

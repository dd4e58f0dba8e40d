// What a view shows in the place of something that failed: one designed state for each kind of ApiError.

import { ApiError } from "./api.js";
import { h } from "./dom.js";
import { t } from "./strings.js";

const SIGNS = { offline: "⌁", signed_out: "⚿", forbidden: "⊘", limited: "◷", unavailable: "⚠", refused: "!", not_found: "∅", broken: "!" };

// A notice for *error*, with a button that calls *retry* (left out without it).  A limit counts down to its end.
export function problem(error, retry = null) {
  const kind = kindOf(error);
  const known = error instanceof ApiError;
  const signedOut = kind === "signed_out";
  const act = signedOut ? () => window.dispatchEvent(new CustomEvent("sign-in")) : retry && (() => retry());
  const again = act && h("button", { class: "button", type: "button", "data-retry": true, onclick: act },
    t(signedOut ? "account.sign_in" : "common.retry"));
  const element = h("section", { class: "problem", role: "alert", "data-problem": kind },
    h("span", { class: "problem-sign", "aria-hidden": "true" }, SIGNS[kind]),
    h("div", {},
      h("p", { class: "problem-title" }, t(`problem.${kind}.title`)),
      h("p", {}, t(`problem.${kind}.text`)),
      known && error.message && !signedOut && kind !== "not_found"
        && h("p", { class: "muted" }, t("problem.answered", { message: error.message })),
      kind === "limited" && countdown(error.retryAfter ?? 10, again),
      h("p", { class: "muted small" }, [
        known && error.status ? t("problem.code", { code: error.code }) : null,
        known && error.requestId ? t("common.request_id", { id: error.requestId }) : null,
      ].filter(Boolean).join(" · ")),
      again && h("p", { class: "row" }, again)));
  if (retry && signedOut) window.addEventListener("signed-in", () => element.isConnected && retry(), { once: true });
  return element;
}

function kindOf(error) {
  if (!(error instanceof ApiError)) return "broken";
  return error.status === 404 ? "not_found" : error.kind;
}

function countdown(seconds, button) {
  const line = h("p", { "data-countdown": true });
  const until = Date.now() + seconds * 1000;
  const step = () => {
    const left = Math.ceil((until - Date.now()) / 1000);
    line.textContent = left > 0 ? t("problem.limited.wait", { seconds: left }) : t("problem.limited.ready");
    if (button) button.disabled = left > 0;
    if (left > 0) setTimeout(step, Math.min(1000, until - Date.now()));
  };
  step();
  return line;
}

// What loads: a quiet line with a spinner.
export function loading(text = t("common.loading")) {
  return h("p", { class: "loading", role: "status" }, h("span", { class: "spinner", "aria-hidden": "true" }), text);
}

// A designed empty state: a title, a sentence, and what can be done.
export function empty(title, text, ...actions) {
  return h("section", { class: "empty", "data-empty": true },
    h("h2", {}, title), text && h("p", { class: "muted" }, text), actions.length > 0 && h("div", { class: "row" }, actions));
}

// What a view shows in the place of something that failed: one designed state for each kind of ApiError.

import { ApiError } from "./api.js";
import { button, h } from "./dom.js";
import { t } from "./strings.js";

const SIGNS = { offline: "⌁", signed_out: "⚿", forbidden: "⊘", limited: "◷", unavailable: "⚠", refused: "!", not_found: "∅", broken: "!" };

// A notice for *error*, with a button that calls *retry* (left out without it).  A limit counts down to its end.
export function problem(error, retry = null) {
  const known = error instanceof ApiError;
  const kind = !known ? "broken" : error.status === 404 ? "not_found" : error.kind;
  const signedOut = kind === "signed_out";
  const act = signedOut ? () => window.dispatchEvent(new CustomEvent("sign-in")) : retry && (() => retry());
  const again = act && button("[data-retry]", t(signedOut ? "account.sign_in" : "common.retry"), act);
  const element = h("section.problem[role=alert]", { "data-problem": kind },
    h("span.problem-sign[aria-hidden=true]", SIGNS[kind]),
    h("div", h("h3", t(`problem.${kind}`)), h("p", t(`problem.${kind}.text`)),
      kind === "limited" && countdown(error.retryAfter ?? 10, again),
      known && !signedOut && h("p.muted.small", [error.message, error.status && error.code, error.requestId].filter(Boolean).join(" · ")), again));
  if (retry && signedOut) window.addEventListener("signed-in", () => element.isConnected && retry(), { once: true });
  return element;
}

function countdown(seconds, again) {
  const line = h("p[data-countdown]");
  const until = Date.now() + seconds * 1000;
  const step = () => {
    const left = Math.ceil((until - Date.now()) / 1000);
    line.textContent = left > 0 ? t("problem.limited.wait", { seconds: left }) : t("problem.limited.ready");
    if (again) again.disabled = left > 0;
    if (left > 0) setTimeout(step, 1000);
  };
  step();
  return line;
}

// What loads: a quiet line with a spinner.
export const loading = (text = t("common.loading")) => h("p.loading", h("span.spinner[aria-hidden=true]"), text);

// A designed empty state: a title, a sentence, and what can be done.
export const empty = (title, text, ...actions) => h("section.empty[data-empty]", h("h2", title), text && h("p.muted", text), actions);

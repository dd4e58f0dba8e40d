// The public API: the credential, requests, streams and the errors of both.

const KEY = "ragdrop.key";
// The page is at …/app, below the same stage as the API.
export const base = new URL(".", document.baseURI).href.replace(/\/$/, "");

// An error of the API, or of the way to it.  `kind` is what a view shows for it.
export class ApiError extends Error {
  constructor(status, body) {
    const error = body?.error ?? {};
    super(error.message ?? "");
    this.status = status;
    this.code = error.code ?? (status ? "INTERNAL_ERROR" : "OFFLINE");
    this.details = error.details ?? {};
    this.requestId = error.request_id ?? null;
    this.retryAfter = this.details.retry_after_s ?? null;
  }

  get kind() {
    if (!this.status) return "offline";
    if (this.status === 401) return "signed_out";
    if (this.status === 403) return "forbidden";
    if (this.status === 429) return "limited";
    return this.status >= 500 ? "unavailable" : "refused";
  }
}

export const credential = {
  get() { return sessionStorage.getItem(KEY); },
  set(key) { sessionStorage.setItem(KEY, key); },
  forget() { sessionStorage.removeItem(KEY); },
};

// The response of one request; an ApiError unless it succeeded.  A 401 of a held credential is an event of the window
// too, so that the sign-in can come back over any view.
export async function send(path, { method = "GET", body, headers = {}, signal } = {}) {
  const key = credential.get();
  const sent = { ...headers };
  if (key) sent["x-api-key"] = key;
  let payload = body;
  if (body !== undefined && !(body instanceof Blob) && typeof body !== "string") {
    sent["content-type"] = "application/json";
    payload = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(base + path, { method, body: payload, headers: sent, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, null);
  }
  if (response.ok) return response;
  const error = new ApiError(response.status, await response.json().catch(() => null));
  if (error.kind === "signed_out" && key) window.dispatchEvent(new CustomEvent("signed-out"));
  throw error;
}

// The JSON of one request.
export async function call(path, options) {
  return (await send(path, options)).json();
}

// The events of a streamed answer, as [name, data]; an `error` event is thrown as an ApiError.
export async function* stream(path, body, signal) {
  const response = await send(path, { method: "POST", body, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      throw error.name === "AbortError" ? error : new ApiError(0, null);
    });
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [name, data] = event(block);
      if (name === "error") throw new ApiError(data.error?.details?.status ?? 503, data);
      if (name) yield [name, data];
    }
  }
}

function event(block) {
  let name = "";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  return [name, data.length ? JSON.parse(data.join("\n")) : null];
}

// The path of a document's routes.
export function documentPath(vault, path) {
  return `/documents/${encodeURIComponent(vault)}/${path.split("/").map(encodeURIComponent).join("/")}`;
}

// `?a=1&b=2` of what is given; empty values are left out.
export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

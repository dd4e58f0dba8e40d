"""Uploads of large files: a presigned form posts the file straight into the bucket."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from ragdrop.client.replies import Reply
from ragdrop.client.retries import CUT_OFF, NEVER_SENT, TRIES, pause_s
from ragdrop.client.routes import document_route, is_loopback
from ragdrop.errors import ObjectStoreError, PayloadTooLargeError, RagdropError

SERVICE = "object_store"
WRITE_TIMEOUT_S = 60.0  # of one write to the socket, not of the whole file
_CODE = re.compile(r"<Code>([A-Za-z]{1,60})</Code>")


class FormPost:
    """Posts files with forms of `POST /uploads`; the API's key is never sent along."""

    def __init__(
        self,
        *,
        timeout_s: float,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._timeout = httpx.Timeout(timeout_s, write=WRITE_TIMEOUT_S)
        self._transport = transport
        self._sleep = sleep

    def __call__(self, form: Mapping[str, Any], file: Path, *, media_type: str) -> Reply:
        """Post *file*, read as it is sent; tried 3 times where the connection failed or S3 answered 5xx.

        Returns:
            What `PUT` would have replied: `vault, path, key, version_id, status, status_url`.

        Raises:
            OSError: The file cannot be read.
            PayloadTooLargeError: It is larger than the form allows; nothing was sent.
            ObjectStoreError: S3 could not be reached, or failed.
            RagdropError: S3 refused the form; `details` have its `code` and `status`.
        """
        size, limit = file.stat().st_size, int(form["max_bytes"])
        if size > limit:
            message = f"{form['path']} has {size:,} bytes; a document has at most {limit:,}"
            raise PayloadTooLargeError(message, limit_bytes=limit, size_bytes=size)
        url = str(form["url"])
        trust_env = not is_loopback(url)  # a proxy cannot reach this machine's own addresses
        with httpx.Client(timeout=self._timeout, transport=self._transport, trust_env=trust_env) as http:
            for tried in range(1, TRIES + 1):
                response = self._post(http, form, file, media_type, last=tried == TRIES)
                if response is not None:
                    return _reply(form, response)
                self._sleep(pause_s(tried, None))
        raise AssertionError("the last try returns or raises")

    def _post(
        self, http: httpx.Client, form: Mapping[str, Any], file: Path, media_type: str, *, last: bool
    ) -> httpx.Response | None:
        """One try; None where another one may help."""
        try:
            with file.open("rb") as stream:
                part = {"file": (file.name, stream, media_type)}
                response = http.post(str(form["url"]), data=dict(form["fields"]), files=part)
        except httpx.RequestError as exc:
            if not last and isinstance(exc, (*NEVER_SENT, *CUT_OFF, httpx.TimeoutException)):
                return None
            message = f"the document bucket could not be reached ({type(exc).__name__})"
            raise ObjectStoreError(message, service=SERVICE) from exc
        if response.is_success:
            return response
        if response.is_server_error and not last:
            return None
        raise _refusal(response)


def _reply(form: Mapping[str, Any], response: httpx.Response) -> Reply:
    version_id = response.headers.get("x-amz-version-id")
    vault, path = str(form["vault"]), str(form["path"])
    query = f"?version={version_id}" if version_id else ""
    fields = {name: form[name] for name in ("vault", "path", "key")}
    fields |= {"version_id": version_id, "status": "pending", "status_url": document_route(vault, path) + query}
    return Reply(fields, raw=json.dumps(fields, ensure_ascii=False).encode())


def _refusal(response: httpx.Response) -> RagdropError:
    found = _CODE.search(response.text)
    code = found[1] if found else "UPLOAD_REFUSED"
    message = f"the document bucket refused the upload: {code}"
    if response.is_server_error:
        return ObjectStoreError(message, service=SERVICE, status=response.status_code)
    return RagdropError(message, code=code, status=response.status_code)

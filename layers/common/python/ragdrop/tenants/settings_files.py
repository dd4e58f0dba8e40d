"""Apply settings files (`.ragdrop.json`) to a tenant or a vault; an invalid file leaves the last valid one in force."""

import hashlib
import logging
from collections.abc import Callable, Mapping
from typing import Any

from ragdrop.domain.access import access_left_by, read_rules
from ragdrop.domain.deadlines import rfc3339
from ragdrop.domain.documents import Detail, Facts, Head
from ragdrop.domain.history import WRITTEN_BY
from ragdrop.domain.keys import DocumentKey
from ragdrop.domain.settings import (
    FILE_SETTINGS,
    MAX_SETTINGS_BYTES,
    PROMPTS,
    Problem,
    Tunables,
    read_settings,
    refusal,
    shown,
)
from ragdrop.domain.tenants import StoredSettings, Tenant
from ragdrop.errors import InvalidSettingsError
from ragdrop.ports.object_store import ObjectStore, StoredObject
from ragdrop.ports.registry import Registry
from ragdrop.tenants.admission import AdmissionRecords
from ragdrop.tenants.directory import TenantDirectory
from ragdrop.tenants.settings_in_force import in_force

logger = logging.getLogger(__name__)

DOC_TYPE = "settings"  # of such a file in lists


def _note_rules(key: DocumentKey, before: Mapping[str, Any], after: Mapping[str, Any], by: str | None) -> None:
    """Log a change of the rules of access: which folders, never who is in a group."""
    if before.get("access") == after.get("access"):
        return
    found, problems = read_rules(after.get("access"))
    extra = {"tenant": key.tenant, "vault": key.vault, "written_by": by, "rules": len(found.rules)}
    logger.warning("rules of access changed", extra=extra | {"problems": problems})


class ApplySettings:
    """Makes the settings of a tenant in the registry agree with the files in the bucket."""

    def __init__(
        self,
        *,
        documents: ObjectStore,
        registry: Registry,
        directory: TenantDirectory,
        template_problem: Callable[[str], str | None],
        environment: Tunables,
        clock: Callable[[], float],
    ) -> None:
        self._documents = documents
        self._admissions = AdmissionRecords(documents)
        self._registry = registry
        self._directory = directory
        self._template_problem = template_problem
        self._environment = environment
        self._clock = clock

    def __call__(self, claimed: Head, stored: StoredObject, tenant: Tenant) -> bool:
        """Apply the version *stored* under the revision *claimed*; False if the version no longer exists.

        The settings are written first and activated last: after a crash between the two the call is repeated, and an
        older revision never replaces a newer one.

        Raises:
            InvalidSettingsError: The file cannot be applied; the settings in force do not change, but for rules of
                access: those of the file count, and what of them cannot be read denies.
            DependencyError: A service failed; the same call may succeed later.
        """
        key = claimed.key
        body = self._documents.get(stored.key, version_id=stored.version_id, end=MAX_SETTINGS_BYTES + 1)
        if body is None:
            return False
        try:
            values = self._values(body, key, tenant)
        except InvalidSettingsError:
            self._deny_what_is_unknown(claimed, body, tenant)
            raise
        if values.get("golden_questions"):
            self._admissions.begin(key.tenant, key.vault, stored.modified_at)
        elif tenant.settings_of(key.vault).get("golden_questions"):
            self._admissions.end(key.tenant, key.vault)
        applied = StoredSettings(values, claimed.revision, stored.version_id)
        self._registry.keep_settings(key.tenant, key.vault, applied)
        _note_rules(key, tenant.settings_of(key.vault), values, stored.metadata.get(WRITTEN_BY))
        activated = self._registry.activate(self._detail(claimed, stored, body, values), self._clock())
        if activated is None and self._registry.head(key) is None:  # it was purged meanwhile
            self.remove(key, None)
        self._registry.forget(key, claimed.revision)
        self._directory.forget(key.tenant)
        return True

    def remove(self, key: DocumentKey, revision: int | None) -> None:
        """Return to the defaults, as the file is gone, unless the stored revision is newer than *revision*.

        *revision* is its tombstone's, which is written also where nothing is in force: a worker that is slow with a
        version before it may not put that in force later.  It is None if there is no tombstone: then the next one is
        written, and no time, which the first revision of a file that comes now may be before.
        """
        tenant = self._registry.tenant(key.tenant)
        if tenant is None:
            return
        before = tenant.settings.get(key.vault) or StoredSettings({}, 0)
        gone = StoredSettings({}, before.revision + bool(before.values) if revision is None else revision)
        if before.values or before.revision < gone.revision:
            if before.values.get("golden_questions"):
                self._admissions.end(key.tenant, key.vault)
            self._registry.keep_settings(key.tenant, key.vault, gone)
            _note_rules(key, before.values, {}, None)
            self._directory.forget(key.tenant)

    def _values(self, body: bytes, key: DocumentKey, tenant: Tenant) -> dict[str, Any]:
        values = read_settings(body, FILE_SETTINGS, "vault" if key.vault else "tenant")
        problems = [*self._budget_problems(values, key, tenant), *self._prompt_problems(values)]
        if problems:
            raise refusal(problems)
        return values

    def _deny_what_is_unknown(self, claimed: Head, body: bytes, tenant: Tenant) -> None:
        """Let the rules of access of a refused file count, beside the settings that were in force."""
        key = claimed.key
        before = tenant.settings.get(key.vault) or StoredSettings({}, 0)
        values = access_left_by(body, before.values) if key.vault else None
        if values is None or values == before.values:
            return
        self._registry.keep_settings(key.tenant, key.vault, StoredSettings(values, claimed.revision, before.version_id))
        _note_rules(key, before.values, values, None)
        self._directory.forget(key.tenant)

    def _budget_problems(self, values: Mapping[str, Any], key: DocumentKey, tenant: Tenant) -> list[Problem]:
        """Check that reserved tokens leave room for documents, with the settings that the file does not change."""
        vaults = [key.vault] if key.vault else []
        found = in_force(self._environment, tenant, vaults=vaults, request=values).values
        reserved = found.reserved_answer_tokens + found.reserved_prompt_tokens
        if reserved < found.max_context_tokens:
            return []
        allowed = f"more than the {reserved:,} tokens that are reserved for answer and prompt"
        return [Problem("max_context_tokens", shown(found.max_context_tokens), allowed)]

    def _prompt_problems(self, values: Mapping[str, Any]) -> list[Problem]:
        found = {name: self._template_problem(values[name]) for name in PROMPTS if name in values}
        return [Problem(name, "this template", problem) for name, problem in found.items() if problem]

    def _detail(self, claimed: Head, stored: StoredObject, body: bytes, values: Mapping[str, Any]) -> Detail:
        key = claimed.key
        return Detail(
            key=key,
            revision=claimed.revision,
            facts=Facts(
                title=f"Settings of vault {key.vault}" if key.vault else f"Settings of {key.tenant}",
                version_id=stored.version_id,
                indexed_at=rfc3339(self._clock(), precision="milliseconds"),
                summary=", ".join(sorted(values)) or None,
                doc_type=DOC_TYPE,
                char_count=len(body.decode("utf-8-sig")),
            ),
            chunk_count=0,
            content_hash=hashlib.sha256(body).hexdigest(),
            size_bytes=len(body),
            etag=stored.etag,
            media_type="application/json",
            content_type_basis="settings",
            written_by=stored.metadata.get(WRITTEN_BY),
        )

"""Every error that ragdrop raises on purpose; the branch says who must act.

* RagdropError
  + CallerError                 the caller can fix it         -> 4xx, logged at INFO
    - InvalidParamsError            INVALID_PARAMS
    - InvalidDocTypeError           INVALID_DOC_TYPE
    - UnauthenticatedError          UNAUTHENTICATED
    - ProjectNotActivatedError      PROJECT_NOT_ACTIVATED
    - ForbiddenError                FORBIDDEN
    - DocumentNotFoundError         DOCUMENT_NOT_FOUND
    - PayloadTooLargeError          DOCUMENT_TOO_LARGE
    - UnsupportedBodyError          UNSUPPORTED_MEDIA_TYPE
    - NotFoundError                 NOT_FOUND
    - MethodNotAllowedError         METHOD_NOT_ALLOWED
    - ConflictError                 CONFLICT
    - PreconditionFailedError       PRECONDITION_FAILED
    - RateLimitedError              RATE_LIMITED
  + DocumentError               this document never succeeds   -> recorded as failed, acknowledged
    - EmptyDocumentError            EMPTY_DOCUMENT
    - CorruptDocumentError          CORRUPT_DOCUMENT
    - EncryptedDocumentError        ENCRYPTED_DOCUMENT
    - UnsafeDocumentError           UNSAFE_DOCUMENT
    - DocumentTooLargeError         DOCUMENT_TOO_LARGE
    - UnsupportedMediaTypeError     UNSUPPORTED_MEDIA_TYPE
    - InvalidSettingsError          INVALID_SETTINGS
    - InvalidKeyError               INVALID_KEY
    - DocumentTimeoutError          TIMEOUT
  + DependencyError             a service failed, may recover  -> retried, then dead-lettered / 503
    - EmbeddingServiceError         EMBEDDING_SERVICE_ERROR
    - DatabaseError                 DATABASE_ERROR (index or registry)
    - ObjectStoreError              DATABASE_ERROR (S3)
    - QueueError                    DATABASE_ERROR (SQS)
    - IssuerError                   DATABASE_ERROR (the keys of the tokens' issuer)
    - GenerationError               GENERATION_ERROR
    - ModelNotFoundError            MODEL_NOT_FOUND -> 502
    - ModelAccessError              MODEL_NOT_FOUND -> 502 (the account, or the role, may not use it)
    - CircuitOpenError              CIRCUIT_OPEN
    - DeadlineError                 TIMEOUT -> 504
    - ScanUnfinishedError           never leaves: ingest continues with the scan
    - RerankError                   never leaves: the order stays as it was, with a warning
    - ReaderError                   never leaves: rules alone decide, with a warning
  + ConfigurationError          the deployment is wrong        -> the first invocation fails, never one request

Messages carry the offending value and the limit, never document text, another tenant's existence, or a secret.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, ClassVar


class RagdropError(Exception):
    """The root.  `code` is stable and public; `details` is a JSON object for the caller."""

    code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = details
        self.counted = False  # whether the statistics have it


def did_you_mean(value: str, allowed: Iterable[str]) -> str:
    """A question that names the nearest of *allowed*, to end a message with; empty if none is near.

    >>> did_you_mean("handbok", ["handbook", "hr"])
    '; did you mean handbook?'
    """
    names = {name.casefold(): name for name in allowed}
    near = get_close_matches(value.casefold(), names, n=1)
    return f"; did you mean {names[near[0]]}?" if near else ""


class CallerError(RagdropError):
    """The caller can fix it."""


class InvalidParamsError(CallerError):
    """A field is wrong: `field`, `value` and `allowed` say which, what and what would do."""

    code = "INVALID_PARAMS"


class InvalidDocTypeError(CallerError):
    """An unknown doc_type; `allowed` names the valid ones."""

    code = "INVALID_DOC_TYPE"


class UnauthenticatedError(CallerError):
    """No key, or one that is unknown, expired or revoked."""

    code = "UNAUTHENTICATED"


class ProjectNotActivatedError(CallerError):
    """The key's tenant is disabled."""

    code = "PROJECT_NOT_ACTIVATED"


class ForbiddenError(CallerError):
    """The key's role may not do this."""

    code = "FORBIDDEN"


class DocumentNotFoundError(CallerError):
    """No such document in what the caller may see."""

    code = "DOCUMENT_NOT_FOUND"


class PayloadTooLargeError(CallerError):
    """The body is larger than a request may be; `limit_bytes` says how large."""

    code = "DOCUMENT_TOO_LARGE"


class UnsupportedBodyError(CallerError):
    """The body has a media type that this route does not take."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class NotFoundError(CallerError):
    """No such route."""

    code = "NOT_FOUND"


class MethodNotAllowedError(CallerError):
    """The route exists, the method does not; `allowed` names those that do."""

    code = "METHOD_NOT_ALLOWED"


class ConflictError(CallerError):
    """The thing exists already, or was changed by someone else."""

    code = "CONFLICT"


class PreconditionFailedError(CallerError):
    """What is there is not what the caller said that it must be; `value` is its ETag."""

    code = "PRECONDITION_FAILED"


class RateLimitedError(CallerError):
    """Too much at once; `retry_after_s` says when to come back."""

    code = "RATE_LIMITED"


class DocumentError(RagdropError):
    """This document can never succeed as it is."""


class EmptyDocumentError(DocumentError):
    """There is no text in it."""

    code = "EMPTY_DOCUMENT"


class CorruptDocumentError(DocumentError):
    """It is not what it claims to be and no text could be read."""

    code = "CORRUPT_DOCUMENT"


class EncryptedDocumentError(DocumentError):
    """It wants a password."""

    code = "ENCRYPTED_DOCUMENT"


class UnsafeDocumentError(DocumentError):
    """It used more time, memory or decompressed size than a document may."""

    code = "UNSAFE_DOCUMENT"


class DocumentTooLargeError(DocumentError):
    """It is larger than a document may be; `limit_bytes` says how large."""

    code = "DOCUMENT_TOO_LARGE"


class UnsupportedMediaTypeError(DocumentError):
    """Its format is not one that ragdrop reads."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class InvalidSettingsError(DocumentError):
    """A settings file that cannot be applied."""

    code = "INVALID_SETTINGS"


class InvalidKeyError(DocumentError):
    """Its key in the bucket cannot be the name of a document."""

    code = "INVALID_KEY"


class DocumentTimeoutError(DocumentError):
    """It made no progress over several invocations."""

    code = "TIMEOUT"


class DependencyError(RagdropError):
    """A service failed and may recover; `service` names it, `retryable` says whether trying again can help."""

    def __init__(self, message: str, *, service: str, retryable: bool = True, **details: Any) -> None:
        super().__init__(message, service=service, retryable=retryable, **details)
        self.service = service
        self.retryable = retryable


class EmbeddingServiceError(DependencyError):
    """The embedding service did not give vectors."""

    code = "EMBEDDING_SERVICE_ERROR"


class DatabaseError(DependencyError):
    """The index or the registry did not answer."""

    code = "DATABASE_ERROR"


class IndexLostError(DatabaseError):
    """The index lost documents, or its file is damaged: the sweep rebuilds it from the state bucket."""

    def __init__(self, message: str) -> None:
        super().__init__(message, service="index", reason="lost")


class IndexMovedError(DatabaseError):
    """The tenant moved to another index since the search began: the same search, begun again, finds it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, service="index", reason="moved")


class ObjectStoreError(DatabaseError):
    """S3 did not answer."""


class QueueError(DatabaseError):
    """SQS did not answer."""


class IssuerError(DatabaseError):
    """The keys that tokens are signed with could not be read: no token can be believed, and none be refused."""


CONTEXT_LENGTH = "context_length"
"""The reason of a GenerationError: the prompt is longer than the model's context, and fewer sources may fit."""


class GenerationError(DependencyError):
    """The chat model did not answer."""

    code = "GENERATION_ERROR"


class ModelNotFoundError(DependencyError):
    """The endpoint does not have the model; `model` and `install` say which and how to get it."""

    code = "MODEL_NOT_FOUND"


class ModelAccessError(ModelNotFoundError):
    """The model exists, and may not be called: `reason` is `access` for the account, `role` for the caller's role."""


THROTTLED = "throttled"
"""The reason of an error: the account's quota for the model is used up."""
GUARDRAIL = "guardrail"
"""The reason of a GenerationError: a guardrail of Amazon Bedrock withheld the answer."""


class CircuitOpenError(DependencyError):
    """The breaker of a dependency is open; `retry_after_s` says when the next trial is."""

    code = "CIRCUIT_OPEN"


class DeadlineError(DependencyError):
    """The time was used up; `stage` says by what."""

    code = "TIMEOUT"


class ScanUnfinishedError(DeadlineError):
    """Pages of a scan are left to recognise: the document continues by another message.

    `recognized` says how many pages were done in this invocation.
    """


class RerankError(DependencyError):
    """The reranker did not score; whoever asked keeps the order that there was."""


class ReaderError(DependencyError):
    """The reader did not read; whoever asked continues without it.

    `reason` is `unreadable`, `version` for a model of another version than the settings name, `refused` or
    `unreachable`.
    """


class ConfigurationError(RagdropError):
    """The deployment is wrong: every problem is in the message, one a line."""

    code = "INTERNAL_ERROR"

"""The model of settings: type, range, default, description and the places where each may be set, once.

Parsers of the environment, of the deployment's document and of settings files derive from it, and so does
docs/settings.md.  `ragdrop.config.Settings` adds the settings that only a deployment has.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias

from ragdrop.domain.access import MAX_RULES, read_rules
from ragdrop.errors import InvalidSettingsError

Place = Literal["environment", "document", "tenant", "vault", "request"]
DEPLOYMENT: tuple[Place, ...] = ("environment", "document")
FILES: tuple[Place, ...] = (*DEPLOYMENT, "tenant", "vault")
REQUEST: tuple[Place, ...] = (*FILES, "request")
Value: TypeAlias = "bool | int | float | str"

AUTO = "auto"
MAX_SETTINGS_BYTES = 64 * 1024
SHOWN_CHARACTERS = 60  # of a wrong value
_TRUE, _FALSE = {"true", "1", "yes", "y", "on", "t"}, {"false", "0", "no", "n", "off", "f"}
MAX_PROMPT_CHARACTERS = 20_000
MAX_WORDS = 100
MAX_WORD_CHARACTERS = 100
MAX_GOLDEN = 50
MAX_GOLDEN_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class AllowedValues:
    """The values that a setting may have, in words and as a check; `read` makes one of text of the environment.

    For other text `read` raises ValueError, or returns what `admits` refuses.
    """

    allowed: str
    admits: Callable[[Any], bool]
    read: Callable[[str], object] = str


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: its values, its line in docs/settings.md, where it may be set, its nested name in settings files."""

    rule: AllowedValues
    about: str
    places: tuple[Place, ...] = DEPLOYMENT
    nested: str = ""


def number(low: float, high: float) -> AllowedValues:
    """A number from *low* to *high*, both included; true and false are no numbers."""
    return AllowedValues(
        f"a number from {low:,} to {high:,}",
        lambda value: type(value) in {int, float} and math.isfinite(value) and low <= value <= high,
        float,
    )


def whole(low: int, high: int, *, or_auto: bool = False) -> AllowedValues:
    """A whole number from *low* to *high*, both included; *or_auto* also admits the word `auto`.

    >>> rule = whole(1, 20, or_auto=True)
    >>> rule.allowed, rule.admits(20), rule.admits(1.5), rule.admits("auto")
    ('a whole number from 1 to 20, or "auto"', True, False, True)
    """
    return AllowedValues(
        f"a whole number from {low:,} to {high:,}" + (', or "auto"' if or_auto else ""),
        lambda value: (or_auto and value == AUTO) or (type(value) is int and low <= value <= high),
        lambda text: text if text == AUTO else int(text.removesuffix(".0")),
    )


def matching(pattern: str, allowed: str) -> AllowedValues:
    """A text that matches *pattern* as a whole."""
    return AllowedValues(
        allowed, lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL) is not None
    )


def one_of(*words: str) -> AllowedValues:
    """One of *words*."""
    return matching("|".join(words), ", ".join(words))


def _flag(text: str) -> object:
    word = text.lower()
    return word in _TRUE if word in _TRUE or word in _FALSE else text


def _are_words(value: Any) -> bool:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_WORDS:
        return False
    words = [word for word in value if isinstance(word, str) and word.strip() == word]
    return len(set(words)) == len(value) and all(0 < len(word) <= MAX_WORD_CHARACTERS for word in words)


def _are_golden(value: Any) -> bool:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_GOLDEN:
        return False
    return all(
        isinstance(each, dict)
        and each.keys() <= {"question", "document", "text"}
        and all(isinstance(text, str) and 0 < len(text) <= MAX_GOLDEN_CHARACTERS for text in each.values())
        and "question" in each
        and len(each) > 1
        for each in value
    )


FLAG = AllowedValues("true or false", lambda value: isinstance(value, bool), _flag)
SHARE = number(0, 1)
RESERVED = whole(100, 1_000_000)
FUSION = matching(
    r"rrf|blend(:(0(\.\d{1,4})?|1(\.0{1,4})?))?",
    'rrf, blend, or blend:W with the share of the vector score, as "blend:0.4"',
)
_WORDS = AllowedValues(
    f"a list of at most {MAX_WORDS} different words of 1 to {MAX_WORD_CHARACTERS} characters", _are_words
)
_PROMPT = AllowedValues(
    f"a template of 1 to {MAX_PROMPT_CHARACTERS:,} characters",
    lambda value: isinstance(value, str) and bool(value.strip()) and len(value) <= MAX_PROMPT_CHARACTERS,
)
_ACCESS = AllowedValues(
    f"a list of at most {MAX_RULES} objects with path, groups and perhaps widen", lambda value: not read_rules(value)[1]
)
_GOLDEN = AllowedValues(f"a list of 1 to {MAX_GOLDEN} objects with question and document or text", _are_golden)


def setting(
    default: Any, rule: AllowedValues, about: str, places: tuple[Place, ...] = DEPLOYMENT, nested: str = ""
) -> Any:
    """A field of a dataclass of settings; the default `...` makes it required, a class makes one for each instance."""
    known = {} if default is ... else {"default_factory" if isinstance(default, type) else "default": default}
    return field(**known, metadata={"setting": Setting(rule, about, places, nested)})


def setting_of(each: Field[Any]) -> Setting:
    """The model's entry of a field."""
    found: Setting = each.metadata["setting"]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunables:
    """The settings that tenants, vaults and partly requests may change, with their values in force.

    Tokens are the chat model's, those of chunks the embedding model's.
    """

    min_relevance: float = setting(
        0.7, SHARE, "Least relevance of a result, on the calibrated scale", REQUEST, "retrieval.min_relevance_score"
    )
    max_results: int | None = setting(
        None, whole(1, 20, or_auto=True), "Documents; auto chooses for each question", REQUEST, "retrieval.max_results"
    )
    max_linked_docs: int = setting(
        5, whole(0, 20), "Linked documents added to a result; 0 = none", REQUEST, "link_resolution.max_linked_docs"
    )
    max_link_depth: int = setting(
        2, whole(0, 5), "Links in a row that are followed; 0 = none", REQUEST, "link_resolution.max_depth"
    )
    boost_critical: float = setting(
        0.15, SHARE, "Added to the relevance of critical documents", FILES, "boosting.critical"
    )
    boost_important: float = setting(
        0.10, SHARE, "Added to the relevance of important documents", FILES, "boosting.important"
    )
    critical_share: float = setting(
        0.5, SHARE, "Share of the document budget for critical documents", FILES, "retrieval.critical_share"
    )
    fusion: str = setting("blend", FUSION, "How vector and lexical scores become one score", FILES, "retrieval.fusion")
    citation_policy: Literal["mark", "drop", "abstain"] = setting(
        "mark",
        one_of("mark", "drop", "abstain"),
        "What happens to a sentence that its source does not support",
        FILES,
        "generation.citation_policy",
    )
    max_context_tokens: int = setting(
        24_000, whole(1_000, 1_000_000), "Tokens of prompt and answer", REQUEST, "context.max_tokens"
    )
    reserved_answer_tokens: int = setting(
        2_000, RESERVED, "Tokens of them for the answer", FILES, "context.reserved_answer_tokens"
    )
    reserved_prompt_tokens: int = setting(
        500, RESERVED, "Tokens of them for instructions and question", FILES, "context.reserved_prompt_tokens"
    )
    keep_last_good: bool = setting(
        False, FLAG, "Whether the live revision answers while its replacement fails", FILES, "ingest.keep_last_good"
    )
    links_across_vaults: bool = setting(
        False, FLAG, "Whether links may leave their vault", FILES, "link_resolution.across_vaults"
    )
    chunk_tokens: int | None = setting(
        None, whole(32, 8_192), "Size of a chunk; without it 512, code 256", FILES, "chunking.tokens"
    )
    chunk_overlap_tokens: int | None = setting(
        None, whole(0, 1_024), "Without it a tenth of a chunk, at most 50", FILES, "chunking.overlap_tokens"
    )


TUNABLES: Mapping[str, Setting] = {each.name: setting_of(each) for each in fields(Tunables)}
PROMPTS = ("system_prompt", "prompt_template")
_FILES_ONLY: tuple[Place, ...] = ("tenant", "vault")
FILE_SETTINGS: Mapping[str, Setting] = {
    **TUNABLES,
    "link_mentions": Setting(
        FLAG, "Whether file names in a text link to these documents", _FILES_ONLY, "link_resolution.mentions"
    ),
    "golden_questions": Setting(
        _GOLDEN, "What changes must not break ([stages](api.md#stages))", _FILES_ONLY, "admission.questions"
    ),
    "golden_gate": Setting(SHARE, "Share of them to be answered; without it 1", _FILES_ONLY, "admission.gate"),
    "doc_types": Setting(_WORDS, "Known words, besides those of documents", _FILES_ONLY, "vocabulary.doc_types"),
    "categories": Setting(_WORDS, "The known words; without it any", _FILES_ONLY, "vocabulary.categories"),
    "access": Setting(_ACCESS, "Who may read what ([permissions](access.md))", ("vault",), "access.rules"),
    "untrusted_vaults": Setting(
        _WORDS, "Vaults where strangers write ([trust](security.md#untrusted-vaults))", ("tenant",), "trust.untrusted"
    ),
    "system_prompt": Setting(_PROMPT, "Instructions of the chat model", ("tenant",), "generation.system_prompt"),
    "prompt_template": Setting(
        _PROMPT,
        "Jinja over `sources`, `conversation`, `question`, `today` and `mark`",
        ("tenant",),
        "generation.prompt_template",
    ),
}
"""The settings that settings files may change, by name."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a settings file: the field, its value, and the allowed values."""

    field: str
    value: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.field}: {self.value} is not allowed ({self.allowed})"


def read_settings(body: bytes, model: Mapping[str, Setting], place: Place) -> dict[str, Any]:
    """Read the settings of a file, by name.

    Args:
        body: One JSON object in UTF-8 of at most 64 KB, with flat names, nested ones, or both.
        model: The settings that the file may have.
        place: What the file is.

    Raises:
        InvalidSettingsError: Something in it is wrong, so none of it may be applied; `problems` has everything.

    >>> read_settings(b'{"min_relevance": 2, "max_docs": 3}', FILE_SETTINGS, "vault")
    Traceback (most recent call last):
    ragdrop.errors.InvalidSettingsError: min_relevance: 2 is not allowed (a number from 0 to 1); \
max_docs: 3 is not allowed (no such setting)
    """
    sections: dict[str, dict[str, str]] = defaultdict(dict)
    for name, each in model.items():
        if each.nested:
            section, _, inner = each.nested.partition(".")
            sections[section][inner] = name
    settings: dict[str, Any] = {}
    problems: list[Problem] = []
    for written, name, value in _flat(_object_of(body), sections):
        found = model.get(name)
        if found is None:
            allowed = f"an object of {', '.join(sections[name])}" if name in sections else "no such setting"
            text = shown(value) if place != "document" else "this name"  # a misplaced key must not reach the log
            problems.append(Problem(written[:SHOWN_CHARACTERS], text, allowed))
        elif place not in found.places:
            problems.append(Problem(written, f"in {_NAMES[place]}", f"only in {_NAMES[found.places[0]]}"))
        elif not found.rule.admits(value):
            problems.append(Problem(written[:SHOWN_CHARACTERS], shown(value), found.rule.allowed))
        elif name in settings:
            problems.append(Problem(written, shown(value), f"{name} stands in this file already"))
        settings[name] = value
    if problems:
        raise refusal(problems)
    return settings


def read_variables(environ: Mapping[str, str], model: Mapping[str, Setting]) -> tuple[dict[str, Any], list[Problem]]:
    """Read settings from variables, which have their names in capitals: the values, and what is wrong."""
    values: dict[str, Any] = {}
    problems = []
    for name, each in model.items():
        if text := environ.get(name.upper()):
            try:
                values[name] = each.rule.read(text)
                valid = each.rule.admits(values[name])
            except ValueError:
                valid = False
            if not valid:
                problems.append(Problem(name.upper(), shown(text), each.rule.allowed))
    return values, problems


_NAMES: Mapping[Place, str] = {
    "environment": "the environment, by a parameter of the template",
    "document": "the settings document",
    "tenant": "the tenant's own",
    "vault": "a vault's file",
}


def refusal(problems: Iterable[Problem]) -> InvalidSettingsError:
    """The error that reports *problems*."""
    found = list(problems)
    return InvalidSettingsError("; ".join(map(str, found)), problems=[asdict(each) for each in found])


def shown(value: object) -> str:
    """A value as a problem shows it: JSON, cut; of objects nothing, as rules and questions name what is hidden.

    >>> shown("hr"), shown([{"path": "hr/**"}])
    ('"hr"', 'what stands there')
    """
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, dict) for each in value)):
        return "what stands there"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def _object_of(body: bytes) -> dict[str, Any]:
    if len(body) > MAX_SETTINGS_BYTES:
        raise refusal([Problem("body", "more", f"at most {MAX_SETTINGS_BYTES:,} bytes")])
    try:
        given = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as exc:
        raise refusal([Problem("body", "this", f"JSON in UTF-8: {exc}"[:200])]) from exc
    if not isinstance(given, dict):
        raise refusal([Problem("body", shown(given), "a JSON object")])
    return given


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    counts = Counter(name for name, _ in pairs)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise ValueError(f"{shown(twice)} stands there twice")
    return dict(pairs)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _flat(given: Mapping[str, Any], sections: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str, Any]]:
    """Each setting as written, by its flat name (an unknown one keeps its own), and its value."""
    for name, value in given.items():
        if name not in sections or not isinstance(value, dict):
            yield name, name, value
            continue
        for inner, each in value.items():
            written = f"{name}.{inner}"
            yield written, sections[name].get(inner, written), each

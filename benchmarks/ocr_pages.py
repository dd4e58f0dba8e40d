"""Pages of known text as pictures, for benchmarks.ocr: fonts, sizes, columns, turned, clean and noisy."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

TEXTS: dict[str, list[str]] = json.loads(Path(__file__).with_name("ocr_texts.json").read_text("utf-8"))
PAGES = {"English": 5, "German": 3, "French": 3, "Spanish": 3, "Chinese (simplified)": 3, "Japanese": 3}
DOTS = 200  # an inch: A4 is 1,654 by 2,339
SIZE = (1_654, 2_339)
MARGIN = 160
SYSTEM_FONTS = Path("/usr/share/fonts/truetype")
LATIN = (
    "liberation/LiberationSans-Regular.ttf",
    "dejavu/DejaVuSerif.ttf",
    "liberation/LiberationSerif-Regular.ttf",
    "dejavu/DejaVuSans.ttf",
    "liberation/LiberationMono-Regular.ttf",
)
EASTERN = {
    "Chinese (simplified)": ("NotoSansCJKsc-Regular.otf", "NotoSerifCJKsc-Regular.otf", "NotoSansCJKsc-Regular.otf"),
    "Japanese": ("ipaexg.ttf", "ipaexg.ttf", "NotoSansCJKsc-Regular.otf"),
}
POINTS = (11, 9, 12, 10, 14)
TURN, BLUR, SPECKLES = 1.2, 0.8, 0.01  # degrees; pixels; of all pixels


@dataclass(frozen=True)
class KnownPage:
    """A page and what stands on it, in the order in which it is read; `look` says how it was set."""

    language: str
    text: str
    look: str
    clean: bytes
    noisy: bytes


def known_pages(fonts: Path) -> Iterator[KnownPage]:
    """20 pages; those of languages whose fonts are not in *fonts* are left out."""
    for language, count in PAGES.items():
        for number in range(count):
            path = _font_of(language, number, fonts)
            if path is not None:
                yield _page(language, number, path)


def _font_of(language: str, number: int, fonts: Path) -> Path | None:
    if language not in EASTERN:
        return SYSTEM_FONTS / LATIN[number % len(LATIN)]
    wanted = EASTERN[language][number % len(EASTERN[language])]
    return next(iter(sorted(fonts.rglob(wanted))), None)


def _page(language: str, number: int, path: Path) -> KnownPage:
    sentences, points = TEXTS[language], POINTS[number % len(POINTS)]
    columns, sideways = (2 if number % 3 == 1 else 1), number % 3 == 2
    font = ImageFont.truetype(str(path), round(points * DOTS / 72))
    page = Image.new("L", SIZE, 255)
    draw = ImageDraw.Draw(page)
    width = (SIZE[0] - 2 * MARGIN - (columns - 1) * 100) // columns
    said = []
    for column in range(columns):
        y = MARGIN
        for sentence in sentences[number:] + sentences[:number]:
            for line in _lines(sentence, font, width, eastern=language in EASTERN):
                if y > SIZE[1] - 2 * MARGIN:
                    break
                draw.text((MARGIN + column * (width + 100), y), line, font=font, fill=20)
                said.append(line)
                y += round(points * DOTS / 72 * 1.45)
            y += round(points * DOTS / 72 * 0.6)
    if sideways:
        page = page.transpose(Image.Transpose.ROTATE_90)
    look = f"{path.stem}, {points} points, {columns} columns{', on its side' if sideways else ''}"
    return KnownPage(language, "\n".join(said), look, _png(page), _png(_noisy(page, seed=number)))


def _lines(sentence: str, font: ImageFont.FreeTypeFont, width: int, *, eastern: bool) -> Iterator[str]:
    """The lines of a paragraph."""
    line = ""
    for piece in sentence if eastern else [f"{word} " for word in sentence.split()]:
        if line and font.getlength((line + piece).rstrip()) > width:
            yield line.rstrip()
            line = ""
        line += piece
    yield line.rstrip()


def _noisy(page: Image.Image, *, seed: int) -> Image.Image:
    """As a poor copy: turned a little, blurred, grey and speckled."""
    chance = random.Random(seed)
    copy = page.rotate(TURN, resample=Image.Resampling.BICUBIC, fillcolor=255).filter(ImageFilter.GaussianBlur(BLUR))
    copy = copy.point(lambda grey: 40 + grey * 190 // 255)
    for _ in range(round(SPECKLES * SIZE[0] * SIZE[1])):
        copy.putpixel((chance.randrange(copy.width), chance.randrange(copy.height)), chance.randrange(256))
    return copy


def _png(page: Image.Image) -> bytes:
    held = io.BytesIO()
    page.save(held, "PNG")
    return held.getvalue()

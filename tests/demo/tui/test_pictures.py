"""The README's pictures: those that are there, and how they are made."""

import re
from xml.etree import ElementTree

import pytest

from demo.cast import ALICE, ALICE_STEPPED_UP, BOB
from demo.tui.pictures import DIRECTORY, PICTURES, Picture, self_contained, take

SVG = "http://www.w3.org/2000/svg"
OWN_SERVER = re.compile(r"https?://127\.0\.0\.1:8080/[\w./-]*")


def _text(svg: str) -> str:
    words = (element.text or "" for element in ElementTree.fromstring(svg).iter(f"{{{SVG}}}text"))
    return " ".join(words).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_each_picture_stands_for_itself(picture: Picture) -> None:
    svg = (DIRECTORY / f"{picture.name}.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(svg).tag == f"{{{SVG}}}svg"
    assert len(svg) < 200_000
    assert set(re.findall(r"https?:[^\s\"<&]*", OWN_SERVER.sub("", svg))) == {SVG}
    assert not re.search(r"url\((?!#)|@import|href", svg)
    assert not [who.name for who in (ALICE, ALICE_STEPPED_UP, BOB) if who.token in svg]


def test_there_is_no_picture_that_nobody_takes() -> None:
    assert {path.stem for path in DIRECTORY.iterdir()} == {picture.name for picture in PICTURES}


def test_fonts_from_elsewhere_are_taken_out() -> None:
    svg = '<svg><!-- https://a.example --><style>@font-face { src: url("https://b.example") } .r { a: b }</style></svg>'
    assert self_contained(svg) == "<svg><style> .r { a: b }</style></svg>\n"


async def test_a_picture_is_taken_from_a_real_run(demo_server: str) -> None:
    text = _text(await take(PICTURES[0], f"{demo_server}/mcp"))
    assert "Checks: 5 of 5 held" in text
    assert "insufficient_scope" in text
    assert demo_server in text


@pytest.mark.slow
@pytest.mark.parametrize("picture", PICTURES[1:], ids=lambda picture: picture.name)
async def test_the_other_pictures_are_taken_from_real_runs(demo_server: str, picture: Picture) -> None:
    taken = _text(await take(picture, f"{demo_server}/mcp"))
    assert ("billing-agent, opened as Bob" if picture.explore else "6✓") in taken

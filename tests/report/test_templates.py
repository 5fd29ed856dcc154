"""Templates: everything is escaped, a name that is not given is an error, scripts are allowed by their hash alone."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from jinja2 import UndefinedError

from priorscope.report._page import Section, folded, page, table
from priorscope.report._page._document import document, own_file
from priorscope.report._page._templates import environment, render

EVIL = "<img src=x onerror=alert(1)>"


def test_no_text_becomes_markup():
    text = page(
        EVIL,
        subtitle=EVIL,
        verdict=[EVIL, EVIL],
        warnings=[EVIL],
        sections=[Section(EVIL, EVIL, [EVIL], [table([{EVIL: EVIL}], caption=EVIL), folded(EVIL, "<p>kept</p>")])],
        footer=EVIL,
        ways={EVIL: EVIL},
    )
    assert "<img" not in text
    assert text.count("&lt;img src=x onerror=alert(1)&gt;") >= 12
    assert "<p>kept</p>" in text  # what is marked as markup stays


def test_a_name_that_is_not_given_is_an_error():
    with pytest.raises(UndefinedError, match="'subtitle' is undefined"):
        render("page.html.j2", title="t")
    assert environment().autoescape


def test_scripts_of_a_page_are_those_the_policy_names():
    text = document("t", "<p>b</p>", scripts=("page.js",))
    wanted = base64.b64encode(hashlib.sha256(own_file("page.js").encode()).digest()).decode()
    assert f"script-src 'sha256-{wanted}'; " in text
    (inside,) = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    assert inside == own_file("page.js")  # to the letter, or the browser stops it

"""Templates of pages: everything that goes into them is escaped unless a template says otherwise."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

__all__ = ["environment", "part", "render", "words"]

_OWN = Path(__file__).parent / "templates"


def words(line: object) -> Markup:
    """Text escaped, a number and its per cent sign kept on one line.

    Example:
        >>> str(words("5 % < 6 %"))
        '5&nbsp;% &lt; 6&nbsp;%'
    """
    return Markup(str(escape(line)).replace(" %", "&nbsp;%"))


@lru_cache(maxsize=8)
def environment(folder: Path | None = None) -> Environment:
    """The templates of this package, and of another ``folder`` before them; a name that is not given is an error.

    Example:
        >>> environment().from_string("{{ text }}").render(text="a < b")
        'a &lt; b'
    """
    folders = [_OWN] if folder is None else [folder, _OWN]
    made = Environment(loader=FileSystemLoader(folders), autoescape=True, undefined=StrictUndefined)
    made.filters["words"] = words
    return made


def render(name: str, folder: Path | None = None, **context: object) -> Markup:
    """A template filled in.

    Example:
        >>> "&lt;b&gt;" in render("page.html.j2", title="<b>", subtitle="", places={}, verdict=(), sure=True, warnings=(),
        ...                       sections=(), footer="")
        True
    """
    return Markup(environment(folder).get_template(name).render(**context))


def part(name: str, *arguments: object) -> Markup:
    """One of the parts of pages: table, folded, chart, picture, care.

    Example:
        >>> str(part("folded", "more <b>", Markup("<p>text</p>")))
        '<details><summary>more &lt;b&gt;</summary><p>text</p></details>'
    """
    module = environment().get_template("parts.html.j2").module
    return Markup(getattr(module, name)(*arguments))

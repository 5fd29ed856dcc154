"""One HTML document for every page and every chart: inert data, scripts of our own alone, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from priorscope.report._page._templates import render
from priorscope.report._theme import Spec, styled

if TYPE_CHECKING:
    import altair as alt

__all__ = ["chart_page", "document", "vega_lite_version"]


def vega_lite_version() -> str:
    """The Vega-Lite version that altair writes, as vl-convert names it.

    Example:
        >>> vega_lite_version().count(".")
        1
    """
    import altair as alt

    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


@lru_cache(maxsize=1)
def drawing_library() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, from the copy that vl-convert carries."""
    import vl_convert as vlc

    bundle: str = vlc.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vega_lite_version())
    return bundle.replace("</script", "<\\/script")


def own_file(name: str) -> str:
    """A script or style sheet of this folder."""
    return files("priorscope.report._page").joinpath(name).read_text(encoding="utf-8")


def inert_json(value: object) -> str:
    """JSON that no text inside it can end or turn into markup."""
    text = json.dumps(value, default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def specification(chart: alt.TopLevelMixin, mode: str = "both") -> Spec:
    """The chart with a configuration for light and one for dark screens, the same where ``mode`` asks for one of them.

    Example:
        >>> import altair as alt, pandas as pd
        >>> chart = alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q")
        >>> sorted(specification(chart)["usermeta"])
        ['dark', 'light']
    """
    spec = styled(chart, "light" if mode == "both" else mode)
    if mode == "both":
        looks = {name: styled(chart, name)["config"] for name in ("light", "dark")}
        for look in looks.values():
            look["background"] = "transparent"  # the page's own paper shows through
    else:
        looks = dict.fromkeys(("light", "dark"), spec["config"])
    spec["usermeta"] = looks
    return spec


def _source(text: str) -> str:
    """The source expression that allows this script and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def document(
    title: str,
    body: str,
    *,
    charts: Mapping[str, Spec] | None = None,
    live: str | None = None,
    kind: str = "page",
    scripts: Sequence[str] = (),
) -> str:
    """A whole HTML document around an escaped ``body``; ``charts`` are drawn into the elements of their names.

    Its policy lets only the scripts run that are written here (by their hashes), evaluates no text as code, and loads
    nothing. ``scripts`` are files of this folder. ``live`` is a script that may ask the page's own server, and nobody else, for
    news.

    Example:
        >>> text = document("a < b", "<p>said</p>")
        >>> "<title>a &lt; b</title>" in text, "script-src 'none'" in text
        (True, True)
    """
    texts = [own_file(name) for name in scripts]
    texts += [drawing_library(), own_file("draw.js")] if charts else []
    texts += [live] if live else []
    reach = "'none'" if live is None else "'self'"
    allowed = " ".join(map(_source, texts)) or "'none'"
    policy = (
        f"default-src 'none'; script-src {allowed}; "
        f"style-src 'unsafe-inline'; img-src data: blob:; connect-src {reach}; form-action {reach}; base-uri 'none'"
    )
    return str(
        render(
            "document.html.j2",
            title=title,
            body=body,
            kind=kind,
            policy=policy,
            style=own_file("style.css"),
            charts=inert_json(charts) if charts else "",
            scripts=texts,
        )
    )


def chart_page(chart: alt.TopLevelMixin, *, title: str = "Chart", mode: str = "both") -> str:
    """A document that shows one chart and nothing else.

    Example:
        >>> import altair as alt, pandas as pd
        >>> chart = alt.Chart(pd.DataFrame({"x": ["</script>"]})).mark_point().encode(x="x:N")
        >>> chart_page(chart).count("</script>")  # the data, the library, our own
        3
    """
    body = f'<main id="main"><div class="chart" id="chart" role="img" aria-label="{escape(title)}"></div></main>'
    return document(title, body, charts={"chart": specification(chart, mode)}, kind="single")

"""What mkdocs asks while it builds: reference pages, tables of claims and benchmarks, formulas as MathML (no network)."""

from __future__ import annotations

import html
import logging
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parent))
import api_pages
import paper_pages
import performance
import readme_claims

log = logging.getLogger("mkdocs.hooks.priorscope")

FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*(\\\(|\\\[)(.*?)(\\\)|\\\])\s*</\1>', re.DOTALL)
CLAIMS = re.compile(r"<!-- claims(?:: ([\w-]+))? -->")


def on_files(files: Any, config: Any) -> Any:
    """Reference pages, and a page for every paper that has none."""
    there = {file.src_uri for file in files.documentation_pages()}
    for place, text in {**api_pages.pages(), **_paper_pages()}.items():
        if place not in there:
            files.append(File.generated(config, place, content=text))
    return files


def _paper_pages() -> dict[str, str]:
    """A plain page for every paper, used where nobody has written one."""
    from priorscope.papers import load_all

    return {
        f"papers/{paper.name}.md": f"# {paper.title}\n\n{paper.source}\n\n```bash\npriorscope reproduce {paper.name} "
        f"--scale small\n```\n\n## Claims\n\n<!-- claims: {paper.name} -->\n"
        for paper in load_all()
    }


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """``<!-- claims -->`` becomes a table of papers and the whole ledger, ``<!-- claims: NAME -->`` that of one paper."""

    def table(match: re.Match[str]) -> str:
        name = match.group(1)
        lines = [line for line in readme_claims.ledger() if name is None or line["paper"] == name]
        if not lines:
            log.warning("%s asks for the claims of %r, which the ledger does not know", page.file.src_uri, name)
        papers = [] if name else [readme_claims.papers_markdown(lines)]
        return "\n\n".join([*papers, readme_claims.claims_markdown(lines)])

    place = Path(page.file.src_uri)
    if page.file.src_uri == "performance.md":
        markdown = performance.with_tables(markdown)
    if place.parts[0] == "papers" and not CLAIMS.search(markdown):
        known = {line["paper"] for line in readme_claims.ledger()}
        marks = [f"<!-- claims: {n} -->\n" for n in paper_pages.covered(place.stem, markdown) if n in known]
        markdown += "\n\n## Claims\n\n" + "\n".join(marks) if marks else ""
    if place.parts[0] == "papers":
        markdown = paper_pages.with_verdicts(place.stem, markdown, readme_claims.ledger())
    return CLAIMS.sub(table, markdown)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """TeX formulas as MathML, which browsers draw by themselves."""
    from latex2mathml.converter import convert

    def mathml(match: re.Match[str]) -> str:
        tex = html.unescape(match.group(3)).strip()
        try:
            return convert(tex, display="block" if match.group(2) == "\\[" else "inline")
        except Exception as error:
            log.warning("%s: the formula %r cannot be drawn: %s", page.file.src_uri, tex, error)
            return match.group(0)

    return FORMULA.sub(mathml, content)

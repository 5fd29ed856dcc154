"""The web application: a token in every address, GET only, this machine only."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from priorscope.lab import Store
from priorscope.serve._pages import claims_page, index_page, paper_page
from priorscope.serve._progress import progress

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["application", "serve"]

_LOCAL = ("127.0.0.1", "localhost")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def application(store: Path, token: str) -> Starlette:
    """A Starlette application that shows the store of runs at ``/TOKEN/``; anything without the token is refused.

    The store is opened read-only for each request. Requests that name another host are refused, so that no foreign
    site can reach the page through a name that resolves to this machine.

    Example:
        >>> app = application(Path("runs/store.sqlite"), "secret")
        >>> sorted(route.path for route in app.routes)
        ['/{token}/', '/{token}/claims', '/{token}/paper/{name}', '/{token}/progress.json']
    """
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request
        from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
        from starlette.routing import Route
    except ImportError as error:
        raise ImportError("priorscope serve needs Starlette and uvicorn: pip install 'priorscope[serve]'.") from error

    def guarded(answer: Callable[[Request, Store], Response]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            host = request.headers.get("host", "").rsplit(":", 1)[0]
            given = str(request.path_params.get("token", ""))
            if host not in _LOCAL or not secrets.compare_digest(given.encode(), token.encode()):
                return PlainTextResponse("wrong or missing token; use the address that was printed", 403, _HEADERS)
            return await run_in_threadpool(_with_store, store, request, answer)

        return endpoint

    def _with_store(path: Path, request: Request, answer: Callable[[Request, Store], Response]) -> Response:
        try:
            with Store(path, readonly=True) as runs:
                return answer(request, runs)
        except LookupError as error:
            return PlainTextResponse(str(error.args[0]), 404, _HEADERS)
        except (RuntimeError, OSError, ValueError) as error:
            return PlainTextResponse(f"the store cannot be read: {error}", 503, _HEADERS)

    def index(request: Request, runs: Store) -> Response:
        return HTMLResponse(index_page(runs), headers=_HEADERS)

    def paper(request: Request, runs: Store) -> Response:
        text = paper_page(runs, request.path_params["name"], request.query_params.get("q", ""))
        return HTMLResponse(text, headers=_HEADERS)

    def claims(request: Request, runs: Store) -> Response:
        return HTMLResponse(claims_page(request.query_params.get("q", "")), headers=_HEADERS)

    def news(request: Request, runs: Store) -> Response:
        return JSONResponse(progress(runs), headers=_HEADERS)

    return Starlette(
        routes=[
            Route("/{token}/", guarded(index), methods=["GET"]),
            Route("/{token}/claims", guarded(claims), methods=["GET"]),
            Route("/{token}/paper/{name}", guarded(paper), methods=["GET"]),
            Route("/{token}/progress.json", guarded(news), methods=["GET"]),
        ]
    )


def serve(
    store: str | Path, *, port: int = 8642, token: str | None = None, announce: Callable[[str], None] = print
) -> None:
    """Serve the store on 127.0.0.1 until interrupted; ``announce`` is given the address with its token.

    Example:
        >>> serve("no/such/store.sqlite")
        Traceback (most recent call last):
        ...
        FileNotFoundError: there is no store no/such/store.sqlite; run `priorscope reproduce NAME` first.
    """
    path = Path(store)
    if not path.is_file():
        raise FileNotFoundError(f"there is no store {path}; run `priorscope reproduce NAME` first.")
    if not 0 < port < 65536:
        raise ValueError(f"a port lies between 1 and 65535; got {port}.")
    with Store(path, readonly=True):  # a store that cannot be read is told here, not on every page
        pass
    secret = token or secrets.token_urlsafe(24)
    app = application(path, secret)
    import uvicorn

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise OSError(f"port {port} cannot be used ({error.strerror}); choose another with --port.") from error
        announce(f"http://127.0.0.1:{port}/{secret}/")
        config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", server_header=False)
        uvicorn.Server(config).run(sockets=[listener])

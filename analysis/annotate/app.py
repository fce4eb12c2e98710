"""The web application: pages for people, and the same answers for programs.

The browser knows a trial by its token alone. What it is told of an image is its size and the part
that fits the screen; the media item is named to simulated annotators only.
"""

# No postponed annotations: FastAPI reads those of the functions in create_app, with local names.

import math
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import jinja2
from fastapi import Depends, FastAPI, Form, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response

from ... import __version__
from ...addon.core import seeds
from .errors import AnnotateChoiceError, AnnotateError, ReplyError
from .items import Library, window_in
from .security import HEADERS, Gate, same_site, same_text
from .store import Store
from .tasks import TASKS, check_reply
from .trials import Round, Sitting, State, Trial

__all__ = ["COOKIE", "MIN_RESPONSE_MS", "create_app"]

COOKIE = "limen_annotate"

MIN_RESPONSE_MS = 150
"""A key sooner than this after the image came is not about it and is ignored; see ``agreement``."""

LIGHTINGS = ("dark", "dim", "office", "bright", "daylight")
# The agreement page is one file with its style inside.
_PAGE_POLICY = HEADERS["Content-Security-Policy"].replace("style-src", "style-src 'unsafe-inline'")
_BODY_MOST = 64 * 1024
_HERE = Path(__file__).parent
_STATIC = {"annotate.css": "text/css", "annotate.js": "text/javascript"}


class _SignedOut(Exception):
    """A page that needs a sitting was asked for without one."""


def create_app(round_: Round, store: Store, library: Library, gate: Gate) -> FastAPI:
    """Make the application of one round.

    Args:
        round_: What is asked.
        store: Where answers go.
        library: Where images come from.
        gate: Who may sign in.
    """
    app = FastAPI(title="Limen annotate", docs_url=None, redoc_url=None, openapi_url=None)
    settings, task = round_.settings, TASKS[round_.settings.task]

    def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
        text = (
            _templates()
            .get_template(template)
            .render(round=round_, settings=settings, task=task, version=__version__, **values)
        )
        return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})

    @app.middleware("http")
    async def guard(request: Request, handle: Callable[[Request], Awaitable[Response]]) -> Response:
        if not gate.knows_host(request.headers.get("host", "")):
            response: Response = JSONResponse({"error": "unknown host name"}, 421)
        elif request.method not in ("GET", "HEAD") and not same_site(request.headers):
            response = JSONResponse({"error": "the request comes from another site"}, 403)
        elif "transfer-encoding" in request.headers or (
            int(request.headers.get("content-length") or 0) > _BODY_MOST
        ):
            response = JSONResponse({"error": "the request is too large"}, 413)
        else:
            response = await handle(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    @app.exception_handler(_SignedOut)
    async def signed_out(request: Request, _: _SignedOut) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": "sign in first"}, 401)
        return RedirectResponse("/", 303)

    @app.exception_handler(AnnotateError)
    async def failed(_: Request, error: AnnotateError) -> Response:
        return JSONResponse({"error": str(error)}, 500)

    @app.exception_handler(ReplyError)
    async def wrong(_: Request, error: ReplyError) -> Response:
        return JSONResponse({"error": str(error)}, 422)

    def signed_in(request: Request) -> Sitting:
        secret = request.cookies.get(COOKIE)
        sitting = store.sitting(secret, round_.id) if secret else None
        if sitting is None:
            raise _SignedOut
        return sitting

    def may_change(request: Request, sitting: Annotated[Sitting, Depends(signed_in)]) -> Sitting:
        if not same_text(request.headers.get("x-limen-csrf", ""), sitting.csrf):
            raise HTTPException(403, "the request does not carry the page's token: reload the page")
        return sitting

    SignedIn = Annotated[Sitting, Depends(signed_in)]
    MayChange = Annotated[Sitting, Depends(may_change)]

    # --- pages -----------------------------------------------------------------------------------

    @app.get("/")
    def entrance(request: Request) -> Response:
        secret = request.cookies.get(COOKIE)
        if secret and store.sitting(secret, round_.id) is not None:
            return RedirectResponse("/start", 303)
        return page("login.html.j2", needs_password=gate.password is not None, error="", name="")

    @app.post("/login")
    def login(
        request: Request,
        name: Annotated[str, Form()] = "",
        password: Annotated[str, Form()] = "",
        simulated: Annotated[bool, Form()] = False,
    ) -> Response:
        address = request.client.host if request.client else ""
        error, status, secret = "", 303, ""
        if gate.waits(address):
            error, status = "Too many wrong passwords. Wait half a minute.", 429
        elif not gate.opens(address, password):
            error, status = "That is not the password.", 403
        else:
            try:
                secret = store.sign_in(round_, name, "simulated" if simulated else "human")
            except AnnotateChoiceError as fault:
                error, status = str(fault), 422
        if error:
            needs = gate.password is not None
            return page("login.html.j2", status, needs_password=needs, error=error, name=name)
        response = RedirectResponse("/start", 303)
        response.set_cookie(
            COOKIE, secret, max_age=30 * 24 * 3600, httponly=True, samesite="strict",
            secure=request.url.scheme == "https",
        )  # fmt: skip
        return response

    @app.get("/start")
    def start(sitting: SignedIn) -> Response:
        return page(
            "start.html.j2",
            sitting=sitting,
            progress=store.progress(round_, sitting),
            lightings=LIGHTINGS,
            conditions=_conditions({}) | dict(sitting.conditions or {}),
            known=sitting.conditions is not None,
        )

    @app.post("/start")
    async def begin(request: Request, sitting: SignedIn) -> Response:
        form = await request.form()
        fields = {key: value for key, value in form.items() if isinstance(value, str)}
        if not same_text(fields.get("csrf", ""), sitting.csrf):
            raise HTTPException(403, "the form does not carry the page's token: reload the page")
        store.set_conditions(sitting, _conditions(fields))
        return RedirectResponse("/annotate", 303)

    @app.get("/annotate")
    def annotate(sitting: SignedIn) -> Response:
        if sitting.conditions is None:
            return RedirectResponse("/start", 303)
        about = {
            "csrf": sitting.csrf,
            "task": task.name,
            "values": task.values,
            "text": task.text,
            "display_ms": settings.display_ms,
            "confidence": settings.confidence,
            "break_every": settings.break_every,
            "min_response_ms": MIN_RESPONSE_MS,
            "pending": f"limen-{round_.id}-{sitting.annotator_id}",
        }
        return page("annotate.html.j2", sitting=sitting, about=about)

    @app.get("/agreement")
    def agreement(sitting: SignedIn) -> Response:
        progress = store.progress(round_, sitting)
        if progress.done < progress.total:
            # Who knows how the others answer, and where nobody was, answers differently.
            raise HTTPException(403, "the agreement page opens when all images are answered")
        from .agreement_page import render_agreement

        return HTMLResponse(
            render_agreement(store, round_.name),
            headers={"Cache-Control": "no-store", "Content-Security-Policy": _PAGE_POLICY},
        )

    @app.post("/logout")
    async def logout(request: Request, sitting: SignedIn) -> Response:
        form = await request.form()
        if not same_text(str(form.get("csrf", "")), sitting.csrf):
            raise HTTPException(403, "the form does not carry the page's token: reload the page")
        store.close_sitting(sitting)
        response = RedirectResponse("/", 303)
        response.delete_cookie(COOKIE)
        return response

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            raise HTTPException(404)
        headers = {"Cache-Control": "no-cache"}
        return FileResponse(_HERE / "static" / name, media_type=_STATIC[name], headers=headers)

    @app.get("/favicon.ico")
    def icon() -> Response:
        return Response(status_code=204)

    # --- trials ----------------------------------------------------------------------------------

    @app.get("/image/{token}/{frame}")
    def image(token: str, frame: int, sitting: SignedIn) -> Response:
        trial = store.trial(round_, sitting, token)
        if trial is None:
            raise HTTPException(404, "there is no such trial")
        if not 0 <= frame < library.picture(trial.media_id, trial.variant).frames:
            raise HTTPException(404, "there is no such frame")
        data = library.png(trial.media_id, trial.variant, frame, trial.sha256)
        return Response(
            data, media_type="image/png", headers={"Cache-Control": "private, max-age=600"}
        )

    @app.get("/api/state")
    def state(sitting: SignedIn, width: int = 0, height: int = 0) -> dict[str, Any]:
        return described_state(store.state(round_, sitting), sitting, width, height)

    @app.get("/api/window/{token}")
    def window(token: str, sitting: SignedIn, width: int, height: int) -> dict[str, Any]:
        trial = store.trial(round_, sitting, token)
        if trial is None:
            raise HTTPException(404, "there is no such trial")
        return {"window": described(trial, sitting, width, height)["window"]}

    @app.post("/api/answer")
    def answer(body: dict[str, Any], sitting: MayChange) -> dict[str, Any]:
        reply = check_reply(settings, body)
        outcome, now = store.answer(round_, sitting, _token(body), reply)
        if outcome == "unknown":
            raise HTTPException(404, "there is no such trial: reload the page")
        return described_state(now, sitting, *_size(body)) | {"outcome": outcome}

    @app.post("/api/undo")
    def undo(body: dict[str, Any], sitting: MayChange) -> dict[str, Any]:
        outcome, now = store.undo(round_, sitting, _token(body))
        if outcome == "unknown":
            raise HTTPException(404, "there is no such answer: reload the page")
        return described_state(now, sitting, *_size(body)) | {"outcome": outcome}

    @app.post("/api/pause")
    def pause(body: dict[str, Any], sitting: MayChange) -> dict[str, Any]:
        store.pause(sitting, began=body.get("began") is True)
        return {}

    def described_state(now: State, sitting: Sitting, width: int, height: int) -> dict[str, Any]:
        return {
            "trial": now.trial and described(now.trial, sitting, width, height),
            "next": now.next and described(now.next, sitting, width, height),
            "done": now.progress.done,
            "total": now.progress.total,
            "undo": now.progress.undo,
        }

    def described(trial: Trial, sitting: Sitting, width: int, height: int) -> dict[str, Any]:
        picture = library.picture(trial.media_id, trial.variant)
        about: dict[str, Any] = {
            "token": trial.token,
            "kind": picture.kind,
            "width": picture.width,
            "height": picture.height,
            "frames": picture.frames,
            "fps": picture.fps,
            "window": None,
        }
        if width > 0 and height > 0:
            who = f"{round_.name}/{sitting.annotator_id}/{trial.id}"
            draw = tuple(seeds.uniform(settings.seed, who, f"annotate-{axis}") for axis in "xy")
            about["window"] = window_in(picture, width, height, (draw[0], draw[1]))
        if sitting.by == "simulated":
            about["item"] = {"id": trial.media_id, "variant": trial.variant}
        return about

    return app


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"), autoescape=True,
        trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip


def _token(body: Mapping[str, Any]) -> str:
    """The name of a trial; "", which is none, for what no database can be asked for."""
    token = body.get("token")
    return token if isinstance(token, str) and token.isascii() and token.isprintable() else ""


def _size(body: Mapping[str, Any]) -> tuple[int, int]:
    view = body.get("view")
    numbers = [view.get(name) if isinstance(view, Mapping) else 0 for name in ("width", "height")]
    width, height = (number if type(number) is int else 0 for number in numbers)
    return width, height


def _conditions(form: Mapping[str, str]) -> dict[str, Any]:
    """Read how someone looks at the screen: numbers in range, choices that exist, else null."""

    def number(name: str, low: float, high: float) -> float | None:
        try:
            value = float(form.get(name, ""))
        except ValueError:
            return None
        return value if math.isfinite(value) and low <= value <= high else None

    def choice(name: str, allowed: tuple[str, ...]) -> str | None:
        return form[name] if form.get(name) in allowed else None

    return {
        "screen_width_px": number("screen_width_px", 1, 100_000),
        "screen_height_px": number("screen_height_px", 1, 100_000),
        "dpr": number("dpr", 0.1, 20),
        "colour_depth_bit": number("colour_depth_bit", 1, 64),
        "colour_gamut": choice("colour_gamut", ("srgb", "p3", "rec2020")),
        "diagonal_inch": number("diagonal_inch", 1, 200),
        "distance_cm": number("distance_cm", 10, 1000),
        "lighting": choice("lighting", LIGHTINGS),
        "calibrated": {"yes": True, "no": False}.get(form.get("calibrated", "")),
        "browser": form.get("browser", "")[:300] or None,
    }

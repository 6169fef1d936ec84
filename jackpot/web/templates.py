"""Pages rendered on the server from the templates beside this module, and the static files they load."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from jackpot.web import formatting

_templates: Final = Environment(
    loader=PackageLoader("jackpot.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
for _name in formatting.__all__:
    _templates.filters[_name] = getattr(formatting, _name)


def rendered(template: str, /, **values: Any) -> str:  # noqa: ANN401 - each template's own
    """Render a template to HTML."""
    return _templates.get_template(template).render(values)


def page(template: str, /, status: int = 200, **values: Any) -> HTMLResponse:  # noqa: ANN401 - each template's own
    """Render a template as an HTTP response."""
    return HTMLResponse(rendered(template, **values), status)


class StaticAssets(StaticFiles):
    """Scripts, styles and pictures; browsers cache them and revalidate them each time."""

    def __init__(self) -> None:
        super().__init__(directory=Path(__file__).parent / "static")

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file with its caching header."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response

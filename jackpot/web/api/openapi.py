"""The OpenAPI document: what FastAPI derives from the routes, with the role each path needs and how it can fail."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute

from jackpot.core.commands import Role
from jackpot.web.api.permissions import Auditor, role_of
from jackpot.web.api_guard import SIGN_IN
from jackpot.web.problems import MEDIA_TYPE, ProblemDocument

router = APIRouter()

SCHEMES: Final = {
    "token": {"type": "http", "scheme": "bearer", "description": "an operator's token"},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-jackpot",
        "description": "a browser's session; acts need X-CSRF-Token, too. Over plain http on the machine itself the "
        "cookie is called jackpot-session.",
    },
}
_READING: Final = {
    401: "Nobody is signed in, or the token or session has ended",
    403: "The operator's role is not enough",
    404: "There is no such thing",
    409: "It does not fit the present state",
    422: "It cannot be read",
    429: "Too many wrong tokens came from this address",
    503: "The store does not answer, or too many ask",
}
_ACTING: Final = {
    **_READING,
    408: "The request came too slowly",
    413: "The request is too large",
    415: "The request is not JSON",
}


class UndeclaredError(TypeError):
    """A path of the API that does not say which role it needs."""


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request, _caller: Auditor) -> JSONResponse:
    """The OpenAPI document of all this."""
    return JSONResponse(document(request.app))


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an application, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=app.description)
        roles = _roles(app)
        for path, operations in made["paths"].items():
            for method, operation in operations.items():
                _complete(operation, method.upper(), path, roles.get((method.upper(), path)))
        components = made.setdefault("components", {})
        components["securitySchemes"] = SCHEMES
        schemas = components.setdefault("schemas", {})
        schemas["Problem"] = ProblemDocument.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        app.openapi_schema = made
    return app.openapi_schema


def require_roles(router: APIRouter) -> APIRouter:
    """A router whose every path says which role it needs, but for the sign-in."""
    for route in _api_routes(router.routes):
        for method in route.methods or ():
            if role_of(route) is None and (method, route.path) != SIGN_IN:
                raise UndeclaredError(f"{method} {route.path} does not say which role it needs")
    return router


def _roles(app: FastAPI) -> dict[tuple[str, str], Role | None]:
    return {(method, route.path): role_of(route) for route in _api_routes(app.routes) for method in route.methods or ()}


def _api_routes(routes: Any) -> list[APIRoute]:  # noqa: ANN401 - Starlette's routes
    """The routes, those of included routers too."""
    found: list[APIRoute] = []
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            found += _api_routes(included.routes)
        elif isinstance(route, APIRoute):
            found.append(route)
    return found


def _complete(operation: dict[str, Any], method: str, path: str, role: Role | None) -> None:
    """Role, security and problems of one operation."""
    operation["security"] = [] if role is None else [{name: []} for name in SCHEMES]
    if role is not None:
        operation["x-role"] = role.value
        said = operation.get("description", "")
        operation["description"] = f"{said}\n\nNeeds the role {role.value}, or a higher one.".lstrip()
    failures = _READING if method == "GET" else _ACTING
    for status, sentence in failures.items():
        if (method, path) == SIGN_IN and status in (404, 409):
            continue
        operation["responses"][str(status)] = {
            "description": sentence,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }

"""The OpenAPI document: as FastAPI derives it from the routes, with each path's role and problems added."""

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
        "description": "a browser's session; acts also need the header X-CSRF-Token. Over plain http on the machine "
        "itself the cookie is called jackpot-session.",
    },
}
_READING: Final = {
    401: "Not signed in, or the token or session has ended",
    403: "The operator's role is not sufficient",
    404: "Not found",
    409: "Conflict with the present state",
    422: "The request cannot be read",
    429: "Too many wrong tokens from this address",
    503: "The store does not answer, or too many requests are waiting",
}
_ACTING: Final = {
    **_READING,
    408: "The request was not complete in time",
    413: "The request is too large",
    415: "The request is not JSON",
}


class UndeclaredError(TypeError):
    """A path of the API declares no role."""


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request, _caller: Auditor) -> JSONResponse:
    """Show the OpenAPI document."""
    return JSONResponse(document(request.app))


def document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an application, built once."""
    if app.openapi_schema is None:
        built = get_openapi(title=app.title, version=app.version, routes=app.routes, description=app.description)
        roles = _roles(app)
        for path, operations in built["paths"].items():
            for method, operation in operations.items():
                _complete(operation, method.upper(), path, roles.get((method.upper(), path)))
        components = built.setdefault("components", {})
        components["securitySchemes"] = SCHEMES
        schemas = components.setdefault("schemas", {})
        schemas["Problem"] = ProblemDocument.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        app.openapi_schema = built
    return app.openapi_schema


def require_roles(router: APIRouter) -> APIRouter:
    """Return the router; raise `UndeclaredError` if a path other than the sign-in declares no role."""
    for route in _api_routes(router.routes):
        for method in route.methods or ():
            if role_of(route) is None and (method, route.path) != SIGN_IN:
                raise UndeclaredError(f"{method} {route.path} declares no role")
    return router


def _roles(app: FastAPI) -> dict[tuple[str, str], Role | None]:
    return {(method, route.path): role_of(route) for route in _api_routes(app.routes) for method in route.methods or ()}


def _api_routes(routes: Any) -> list[APIRoute]:  # noqa: ANN401 - Starlette's routes
    """Return the routes, including those of included routers."""
    found: list[APIRoute] = []
    for route in routes:
        included = getattr(route, "original_router", None)
        if included is not None:
            found += _api_routes(included.routes)
        elif isinstance(route, APIRoute):
            found.append(route)
    return found


def _complete(operation: dict[str, Any], method: str, path: str, role: Role | None) -> None:
    """Add role, security and problems to one operation."""
    operation["security"] = [] if role is None else [{name: []} for name in SCHEMES]
    if role is not None:
        operation["x-role"] = role.value
        description = operation.get("description", "")
        operation["description"] = f"{description}\n\nNeeds the role {role.value}, or a higher one.".lstrip()
    failures = _READING if method == "GET" else _ACTING
    for status, sentence in failures.items():
        if (method, path) == SIGN_IN and status in (404, 409):
            continue
        operation["responses"][str(status)] = {
            "description": sentence,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }

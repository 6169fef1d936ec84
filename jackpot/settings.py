"""Settings of the infrastructure: one TOML file, overridden by the environment; money matters are in the store."""

from __future__ import annotations

import socket
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from jackpot.core.notices import NoticeTarget

DEFAULT_FILE = Path("jackpot.toml")
EMBEDDED = "embedded"
"""The default broker: one that the controller starts itself, on loopback."""
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


Listen = Annotated[str, Field(pattern=r"^$|^[^ ]+:[0-9]{1,5}$", description="host:port, or empty")]


_WRITTEN = ("site", "database", "broker", "key_file", "timezone")
"""The settings that a new configuration file contains; all others have their defaults."""


_ANY_HOST = ("", "0.0.0.0", "::", "[::]")  # noqa: S104 - recognised, not listened on


class SettingsError(ValueError):
    """An invalid configuration; the message says where and why."""


class Settings(BaseSettings):
    """All settings; each can also be set in the environment as JACKPOT_…"""

    model_config = SettingsConfigDict(env_prefix="JACKPOT_", extra="forbid", frozen=True)

    site: Id = "casino"
    database: str = "sqlite:///jackpot.db"
    broker: str = EMBEDDED
    broker_ca_file: str = ""
    mqtt_version: Literal["3.1.1", "5"] = "3.1.1"
    embedded_port: Annotated[int, Field(ge=0, le=65_535)] = 1883
    prefer: Annotated[str, Field(description="jackpots that this controller should own, comma-separated")] = ""
    stall_seconds: Annotated[
        float, Field(ge=1, le=60, description="a store without progress for so long, with work waiting, has failed")
    ] = 3
    key_file: Path = Path("jackpot.key")
    timezone: str = "UTC"
    http: Listen = "127.0.0.1:8080"
    advertise: Annotated[
        str,
        Field(
            pattern=r"^$|^https?://[^/ @?#]+$",
            description="the address at which other controllers reach this one, such as http://10.0.0.2:8080",
        ),
    ] = ""
    trusted_proxies: Annotated[str, Field(description="proxies whose X-Forwarded-For is trusted, comma-separated")] = ""
    metrics: Listen = ""
    verify_minutes: Annotated[float, Field(ge=0, le=1_440)] = 5
    reserve_floor_cents: Annotated[int, Field(ge=0)] = 0
    webhook_url: str = ""
    webhook_secret: SecretStr = SecretStr("")
    webhook_secret_file: Path | None = None
    webhook_ca_file: str = ""
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def notice_target(self) -> NoticeTarget | None:
        """The target of notices; None if there is no webhook."""
        return NoticeTarget(self.site, self.reserve_floor_cents) if self.webhook_url else None

    @property
    def preferred(self) -> tuple[str, ...]:
        """The jackpots that this controller should own while it runs."""
        return tuple(name.strip() for name in self.prefer.split(",") if name.strip())

    @property
    def advertised(self) -> str:
        """The HTTP address for other controllers: as set, or as listened on; "" if there is no HTTP."""
        if self.advertise or not self.http:
            return self.advertise
        host, port = listen_address(self.http)
        return f"http://{socket.gethostname() if host in _ANY_HOST else host}:{port}"

    def webhook_secrets(self) -> str:
        """Return the webhook's secrets, from the setting or from its file; never show them."""
        if self.webhook_secret_file is None:
            return self.webhook_secret.get_secret_value()
        try:
            return self.webhook_secret_file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problem = error.strerror if isinstance(error, OSError) else "not a text file"
            raise SettingsError(f"webhook_secret_file: {self.webhook_secret_file}: {problem}") from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources, the strongest first: the environment overrides the file."""
        return env_settings, init_settings


def read(path: Path) -> Settings:
    """Read a file's settings, overridden by the environment; paths in it are relative to the file."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path} does not exist: create it with jackpot init --config {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from None
    return resolve_paths(path, validate(path, **values))


def validate(path: Path | None = None, **values: Any) -> Settings:  # noqa: ANN401 - each is checked here
    """Return the settings of these values, or raise `SettingsError` that names the wrong one."""
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SettingsError(f"{f'{path}: ' if path else ''}{where}: {first['msg']}") from None


def resolve_paths(path: Path, settings: Settings) -> Settings:
    """Return the settings with paths relative to the configuration file."""
    paths: dict[str, Any] = {
        "key_file": path.parent / settings.key_file,
        "database": _resolve_sqlite(path, settings.database),
    }
    if settings.webhook_secret_file is not None:
        paths["webhook_secret_file"] = path.parent / settings.webhook_secret_file
    return settings.model_copy(update=paths)


def to_toml(settings: Settings) -> str:
    """Return the text of a configuration file with these settings."""
    lines = ["# Infrastructure only: jackpots, tables, configurations and operators live in the audited store."]
    lines += [f"{name} = {_toml(name, str(getattr(settings, name)))}" for name in _WRITTEN]
    return "\n".join(lines) + "\n"


def listen_address(text: str) -> tuple[str, int]:
    """Return (host, port) of host:port."""
    host, _, port = text.rpartition(":")
    return host, int(port)


def _resolve_sqlite(path: Path, database: str) -> str:
    """Return the address with a relative SQLite file resolved against the configuration's folder."""
    prefix = "sqlite:///"
    name = database.removeprefix(prefix)
    if database.startswith(prefix) and name and not name.startswith(("/", ":")):
        return f"{prefix}{(path.parent / name).absolute()}"
    return database


def _toml(name: str, value: str) -> str:
    if not value.isprintable():
        raise SettingsError(
            f"{name}: {ascii(value)[:60]} cannot be in a configuration: it contains unprintable characters"
        )
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

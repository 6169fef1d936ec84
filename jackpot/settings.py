"""What is infrastructure: one TOML file, overridden by the environment; what touches money is in the audited store."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from jackpot.core.notices import NoticeTarget

DEFAULT_FILE = Path("jackpot.toml")
EMBEDDED = "embedded"
"""The broker of a site that names none: one of the controller's own, on loopback."""
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


Listen = Annotated[str, Field(pattern=r"^$|^[^ ]+:[0-9]{1,5}$", description="host:port, or nothing")]


_WRITTEN = ("site", "database", "broker", "key_file", "timezone")
"""What a new configuration says; everything else is as it is unless somebody says otherwise."""


class SettingsError(ValueError):
    """A configuration that cannot be used; the sentence says where and why."""


class Settings(BaseSettings):
    """Every setting; each can also come from the environment as JACKPOT_…"""

    model_config = SettingsConfigDict(env_prefix="JACKPOT_", extra="forbid", frozen=True)

    site: Id = "casino"
    database: str = "sqlite:///jackpot.db"
    broker: str = EMBEDDED
    broker_ca_file: str = ""
    mqtt_version: Literal["3.1.1", "5"] = "3.1.1"
    embedded_port: Annotated[int, Field(ge=0, le=65_535)] = 1883
    key_file: Path = Path("jackpot.key")
    timezone: str = "UTC"
    http: Listen = "127.0.0.1:8080"
    trusted_proxies: Annotated[str, Field(description="addresses whose X-Forwarded-For is believed, with commas")] = ""
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
        """Who is told of what happens; nobody where there is no webhook."""
        return NoticeTarget(self.site, self.reserve_floor_cents) if self.webhook_url else None

    def webhook_secrets(self) -> str:
        """The webhook's secrets, from the setting or from its file; never to be shown."""
        if self.webhook_secret_file is None:
            return self.webhook_secret.get_secret_value()
        try:
            return self.webhook_secret_file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problem = error.strerror if isinstance(error, OSError) else "it is not text"
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
        """The file is the least of the sources: the environment comes before it."""
        return env_settings, init_settings


def read(path: Path) -> Settings:
    """The settings of a file, with the environment above them; paths in it are relative to the file."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path} is not there: make one with jackpot init --config {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from None
    return resolved(path, checked(path, **values))


def checked(path: Path | None = None, **values: Any) -> Settings:  # noqa: ANN401 - each is checked here
    """The settings of these values, or the sentence that says which is wrong."""
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SettingsError(f"{f'{path}: ' if path else ''}{where}: {first['msg']}") from None


def resolved(path: Path, settings: Settings) -> Settings:
    """The settings with paths as seen from the configuration file."""
    where: dict[str, Any] = {
        "key_file": path.parent / settings.key_file,
        "database": _beside(path, settings.database),
    }
    if settings.webhook_secret_file is not None:
        where["webhook_secret_file"] = path.parent / settings.webhook_secret_file
    return settings.model_copy(update=where)


def written(settings: Settings) -> str:
    """A file that says these settings."""
    lines = ["# Infrastructure only: jackpots, tables, configurations and operators live in the audited store."]
    lines += [f"{name} = {_toml(name, str(getattr(settings, name)))}" for name in _WRITTEN]
    return "\n".join(lines) + "\n"


def listen_address(text: str) -> tuple[str, int]:
    """Where to listen, from host:port."""
    host, _, port = text.rpartition(":")
    return host, int(port)


def _beside(path: Path, database: str) -> str:
    """A SQLite file without a full path lies beside the configuration."""
    prefix = "sqlite:///"
    name = database.removeprefix(prefix)
    if database.startswith(prefix) and name and not name.startswith(("/", ":")):
        return f"{prefix}{(path.parent / name).absolute()}"
    return database


def _toml(name: str, value: str) -> str:
    if not value.isprintable():
        raise SettingsError(
            f"{name}: {ascii(value)[:60]} cannot stand in a configuration: it has signs that cannot be printed"
        )
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

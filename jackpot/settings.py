"""What is infrastructure: one TOML file, overridden by the environment; what touches money is in the audited store."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

DEFAULT_FILE = Path("jackpot.toml")
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


class SettingsError(ValueError):
    """A configuration that cannot be used; the sentence says where and why."""


class Settings(BaseSettings):
    """Every setting; each can also come from the environment as JACKPOT_…"""

    model_config = SettingsConfigDict(env_prefix="JACKPOT_", extra="forbid", frozen=True)

    site: Id = "casino"
    database: str = "sqlite:///jackpot.db"
    broker: str = "mqtt://127.0.0.1:1883"
    key_file: Path = Path("jackpot.key")
    timezone: str = "UTC"

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
    where = {"key_file": path.parent / settings.key_file, "database": _beside(path, settings.database)}
    return settings.model_copy(update=where)


def written(settings: Settings) -> str:
    """A file that says these settings."""
    lines = ["# Infrastructure only: jackpots, tables, configurations and operators live in the audited store."]
    lines += [f"{name} = {_toml(name, str(value))}" for name, value in settings.model_dump().items()]
    return "\n".join(lines) + "\n"


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

"""`jackpot operator`, `jackpot config`, `jackpot adjustment`: people, and what two of them decide together."""

from __future__ import annotations

from typing import Annotated

import typer

from jackpot.cli.output import AsCsv, AsJson, Listing, done
from jackpot.cli.queries import JackpotOption, TableOption
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, Opened, OptionalToken, Token, opened
from jackpot.clock import in_days, now
from jackpot.core.administration import plain_config
from jackpot.core.commands import Actor, Approve, ProposeAdjustment, ProposeConfig, Role, Withdraw
from jackpot.core.ledger import Account
from jackpot.core.site.commands import (
    KEYHOLDER,
    AddOperator,
    ApproveManager,
    ProposeManager,
    RenewToken,
    RevokeOperator,
    WithdrawManager,
)
from jackpot.store.errors import StoreError
from jackpot.store.hash_chain import SITE
from jackpot.store.state_tables import read_jackpot, read_site
from jackpot.store.trail_verification import verify
from jackpot.tokens import DAYS, MAX_DAYS, new_token, token_hash
from rules.jackpot_prizes import FixedFrom

operator_app = typer.Typer(help="Operators.", rich_markup_mode=None)
config_app = typer.Typer(help="Approved configurations.", rich_markup_mode=None)
adjustment_app = typer.Typer(help="Moving money by hand, by two managers.", rich_markup_mode=None)

Name = Annotated[str, typer.Argument(help="The operator's name.")]
WagerRejection = Annotated[str, typer.Option(help="Why; it stays in the audit trail.")]
Days = Annotated[int, typer.Option(min=1, max=MAX_DAYS, help="How many days the token is worth something.")]
Number = Annotated[int, typer.Argument(help="The proposal's number.")]


@operator_app.command("list")
def list_operators(*, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """List the operators and their roles."""
    with opened(config) as site, site.database.reader() as connection:
        people = read_site(connection).operators.values()
    rows = [
        {"name": o.name, "role": o.role.value, "active": o.active, "expires_at": o.expires_at or None} for o in people
    ]
    columns = {"name": "name", "role": "role", "active": "active", "token ends": "expires_at"}
    Listing("Operators", columns, rows).show(as_json=as_json, as_csv=as_csv)


@operator_app.command("add")
def add_operator(  # noqa: PLR0913 - who, for whom, for how long
    name: Name, *, role: Annotated[Role, typer.Option(help="What they may do.")], token: Token,
    days: Days = DAYS, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Add an operator; their token is shown once. A new manager waits for a second manager's approval."""
    fresh = new_token()
    with opened(config) as site:
        actor = site.actor(token)
        if role is Role.MANAGER:
            site.ask_site(ProposeManager(now(), actor, name, token_hash(fresh)))
        else:
            site.ask_site(AddOperator(now(), actor, name, role, token_hash(fresh), in_days(days)))
    if role is Role.MANAGER:
        _show_waiting(name, fresh, as_json=as_json)
    else:
        _show_token(name, fresh, as_json=as_json)


@operator_app.command("renew")
def renew_token(  # noqa: PLR0913 - who, for whom, for how long
    name: Name, *, token: OptionalToken = "", days: Days = DAYS, config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
    with_key: Annotated[bool, typer.Option(help="Act as the holder of the site's key file, with no token.")] = False,
) -> None:  # fmt: skip
    """Give an operator a new token; the old one is worth nothing then. Another manager's waits for a second manager."""
    fresh = new_token()
    with opened(config) as site:
        actor = _keyholder(site) if with_key else site.actor(token)
        with site.database.reader() as connection:
            known = read_site(connection).operators.get(name)
        waits = known is not None and known.role is Role.MANAGER and actor not in (known.actor, KEYHOLDER)
        site.ask_site(
            ProposeManager(now(), actor, name, token_hash(fresh))
            if waits
            else RenewToken(now(), actor, name, token_hash(fresh), in_days(days))
        )
    if waits:
        _show_waiting(name, fresh, as_json=as_json)
    else:
        _show_token(name, fresh, as_json=as_json)


@operator_app.command("proposals")
def show_waiting(*, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """Show which managers wait for a second manager's approval."""
    with opened(config) as site, site.database.reader() as connection:
        found = read_site(connection)
    rows = [
        {"name": name, "by": by, "what": "renew" if name in found.operators else "add"}
        for name, by in found.waiting.items()
    ]
    Listing("Proposals", {"name": "name", "what": "what", "by": "by"}, rows).show(as_json=as_json, as_csv=as_csv)


@operator_app.command("approve")
def approve_manager(
    name: Name, *, token: Token, days: Days = DAYS, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False
) -> None:
    """Approve a manager another manager proposed; the other half of their token is shown once."""
    fresh = new_token()
    with opened(config) as site:
        site.ask_site(ApproveManager(now(), site.actor(token), name, token_hash(fresh), in_days(days)))
    sentence = (
        f"Your half of the token of {name}, shown once: {fresh}\n"
        f"With the proposer's half it is a token: {name} writes both, with a dot between."
    )
    done({"operator": name, "half": fresh}, sentence, as_json=as_json)


@operator_app.command("withdraw")
def withdraw_manager(
    name: Name, *, reason: WagerRejection, token: Token, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False
) -> None:
    """Take a manager who waits for approval off the list."""
    with opened(config) as site:
        site.ask_site(WithdrawManager(now(), site.actor(token), name, reason))
    done({"withdrawn": name}, f"{name} does not wait for approval any more.", as_json=as_json)


@operator_app.command("revoke")
def revoke_operator(
    name: Name, *, reason: WagerRejection, token: Token, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False
) -> None:
    """Take an operator's access away, for good."""
    with opened(config) as site:
        site.ask_site(RevokeOperator(now(), site.actor(token), name, reason))
    done({"revoked": name}, f"{name} has no access any more.", as_json=as_json)


@config_app.command("show")
def show_config(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show every approved configuration; the last one is for rounds that open now."""
    with opened(config) as site, site.database.reader() as connection:
        state = read_jackpot(connection, site.jackpot(jackpot))
    rows = [plain_config(chosen) | {"in_force": chosen.version == state.version} for chosen in state.configs.values()]
    columns = {
        "version": "version", "wager": "wager_cents", "jackpot bps": "jackpot_bps", "reserve bps": "reserve_bps",
        "reset": "reset_cents", "fixed prizes from": "fixed_prizes_from", "confirm": "confirm", "in force": "in_force",
    }  # fmt: skip
    Listing("Approved configurations", columns, rows).show(as_json=as_json, as_csv=as_csv)


@config_app.command("proposals")
@adjustment_app.command("proposals")
def show_proposals(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show what waits for a second manager."""
    with opened(config) as site, site.database.reader() as connection:
        waiting = read_jackpot(connection, site.jackpot(jackpot)).proposals.values()
    rows = [proposal._asdict() for proposal in waiting]
    columns = {"number": "number", "kind": "kind", "by": "by", "what": "body", "reason": "reason", "warning": "warning"}
    Listing("Proposals", columns, rows).show(as_json=as_json, as_csv=as_csv)


@config_app.command("propose")
def propose_config(  # noqa: PLR0913 - one option for each value of a configuration
    *,
    reason: WagerRejection,
    token: Token,
    wager_cents: Annotated[int | None, typer.Option(help="The wager.")] = None,
    jackpot_bps: Annotated[int | None, typer.Option(help="The jackpot's share.")] = None,
    reserve_bps: Annotated[int | None, typer.Option(help="The reserve's share.")] = None,
    reset_cents: Annotated[int | None, typer.Option(help="What a royal resets the pool to.")] = None,
    fixed_prizes_from: Annotated[FixedFrom | None, typer.Option(help="Who pays fixed prizes.")] = None,
    confirm: Annotated[str | None, typer.Option(help="Prizes to confirm, with commas; empty for none.")] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
) -> None:
    """Propose a configuration; what is not named stays as it is. Another manager approves it."""
    with opened(config) as site:
        with site.database.reader() as connection:
            present = read_jackpot(connection, site.jackpot(jackpot)).config
        named = {
            "wager_cents": wager_cents, "jackpot_bps": jackpot_bps, "reserve_bps": reserve_bps,
            "reset_cents": reset_cents, "fixed_prizes_from": fixed_prizes_from,
        }  # fmt: skip
        wanted = present._replace(**{key: value for key, value in named.items() if value is not None})  # type: ignore[arg-type]
        if confirm is not None:
            wanted = wanted._replace(confirm=tuple(name for name in confirm.split(",") if name))
        answer = site.ask(ProposeConfig(now(), site.actor(token), wanted, reason), jackpot).answer
    warning = f" Beware: {answer['warning']}." if answer["warning"] else ""
    done(answer, f"Proposal {answer['proposal']} waits for another manager.{warning}", as_json=as_json)


@adjustment_app.command("propose")
def propose_adjustment(  # noqa: PLR0913 - one option for each part of an adjustment
    source: Annotated[Account, typer.Argument(help="From this account.")],
    target: Annotated[Account, typer.Argument(help="To this account; house_advance repays advances.")],
    amount_cents: Annotated[int, typer.Argument(min=1, help="How much.")],
    *,
    reason: WagerRejection,
    token: Token,
    table: TableOption = None,
    played: Annotated[int | None, typer.Option("--round", help="The round it corrects.")] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
) -> None:
    """Propose to move money by hand, or to repay an advance. Another manager approves it."""
    with opened(config) as site:
        asked = ProposeAdjustment(now(), site.actor(token), source, target, amount_cents, reason, table, played)
        answer = site.ask(asked, jackpot).answer
    done(answer, f"Proposal {answer['proposal']} waits for another manager.", as_json=as_json)


@config_app.command("approve")
@adjustment_app.command("approve")
def approve(
    number: Number,
    *,
    token: Token,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
) -> None:
    """Approve a proposal of another manager."""
    with opened(config) as site:
        answer = site.ask(Approve(now(), site.actor(token), number), jackpot).answer
    done(answer, f"Proposal {number} is approved.", as_json=as_json)


@config_app.command("withdraw")
@adjustment_app.command("withdraw")
def withdraw(  # noqa: PLR0913 - who, what, why, where
    number: Number,
    *,
    reason: WagerRejection,
    token: Token,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
) -> None:
    """Take a proposal off the list."""
    with opened(config) as site:
        site.ask(Withdraw(now(), site.actor(token), number, reason), jackpot)
    done({"withdrawn": number}, f"Proposal {number} is withdrawn.", as_json=as_json)


def _keyholder(site: Opened) -> Actor:
    """Whoever can read the site's private key: the one that has signed its trail."""
    checked = verify(site.database, SITE, site.verifier())
    if checked.problem is not None:
        raise StoreError(f"the key does not fit the site's trail: {checked.problem}")
    return KEYHOLDER


def _show_waiting(name: str, half: str, *, as_json: bool) -> None:
    sentence = (
        f"{name} waits for another manager: jackpot operator approve {name}\n"
        f"Your half of the token of {name}, shown once: {half}"
    )
    done({"waiting": name, "half": half}, sentence, as_json=as_json)


def _show_token(name: str, token: str, *, as_json: bool) -> None:
    done({"operator": name, "token": token}, f"The token of {name}, shown once: {token}", as_json=as_json)

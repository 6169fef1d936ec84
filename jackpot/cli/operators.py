"""`jackpot operator`, `jackpot config`, `jackpot adjustment`: people, and what two of them decide together."""

from __future__ import annotations

from typing import Annotated

import typer

from jackpot.cli.opening import DEFAULT_CONFIG, ConfigFile, Token, opened, owner
from jackpot.cli.output import AsCsv, AsJson, Listing, console, print_json
from jackpot.cli.queries import JackpotOption, TableOption
from jackpot.clock import now
from jackpot.core.changes import plain_config
from jackpot.core.commands import Approve, ProposeAdjustment, ProposeConfig, Role, Withdraw
from jackpot.core.ledger import Account
from jackpot.core.site import AddOperator, RenewToken, RevokeOperator
from jackpot.store.book import SiteBook, read_jackpot, read_site
from jackpot.tokens import new_token, token_hash
from rules.prizes import FixedFrom

operator_app = typer.Typer(help="Operators.", rich_markup_mode=None)
config_app = typer.Typer(help="Approved configurations.", rich_markup_mode=None)
adjustment_app = typer.Typer(help="Moving money by hand, by two managers.", rich_markup_mode=None)

Name = Annotated[str, typer.Argument(help="The operator's name.")]
Reason = Annotated[str, typer.Option(help="Why; it stays in the audit trail.")]
Number = Annotated[int, typer.Argument(help="The proposal's number.")]


@operator_app.command("list")
def list_operators(*, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """List the operators and their roles."""
    with opened(config) as site, site.database.reader() as connection:
        people = read_site(connection).operators.values()
    rows = [{"name": o.name, "role": o.role.value, "active": o.active} for o in people]
    Listing("Operators", {"name": "name", "role": "role", "active": "active"}, rows).show(
        as_json=as_json, as_csv=as_csv
    )


@operator_app.command("add")
def add_operator(
    name: Name, *, role: Annotated[Role, typer.Option(help="What they may do.")], token: Token,
    config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Add an operator; their token is shown once."""
    fresh = new_token()
    with opened(config) as site:
        actor = site.actor(token)
        SiteBook.open(site.database, owner()).ask(AddOperator(now(), actor, name, role, token_hash(fresh)))
    _show_token(name, fresh, as_json=as_json)


@operator_app.command("renew")
def renew_token(name: Name, *, token: Token, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """Give an operator a new token; the old one is worth nothing from then on."""
    fresh = new_token()
    with opened(config) as site:
        actor = site.actor(token)
        SiteBook.open(site.database, owner()).ask(RenewToken(now(), actor, name, token_hash(fresh)))
    _show_token(name, fresh, as_json=as_json)


@operator_app.command("revoke")
def revoke_operator(
    name: Name, *, reason: Reason, token: Token, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False
) -> None:
    """Take an operator's access away, for good."""
    with opened(config) as site:
        actor = site.actor(token)
        SiteBook.open(site.database, owner()).ask(RevokeOperator(now(), actor, name, reason))
    _done({"revoked": name}, f"{name} has no access any more.", as_json=as_json)


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
    reason: Reason,
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
    _done(answer, f"Proposal {answer['proposal']} waits for another manager.{warning}", as_json=as_json)


@adjustment_app.command("propose")
def propose_adjustment(  # noqa: PLR0913 - one option for each part of an adjustment
    source: Annotated[Account, typer.Argument(help="From this account.")],
    target: Annotated[Account, typer.Argument(help="To this account; house_advance repays advances.")],
    amount_cents: Annotated[int, typer.Argument(min=1, help="How much.")],
    *,
    reason: Reason,
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
    _done(answer, f"Proposal {answer['proposal']} waits for another manager.", as_json=as_json)


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
    _done(answer, f"Proposal {number} is approved.", as_json=as_json)


@config_app.command("withdraw")
@adjustment_app.command("withdraw")
def withdraw(  # noqa: PLR0913 - who, what, why, where
    number: Number,
    *,
    reason: Reason,
    token: Token,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
) -> None:
    """Take a proposal off the list."""
    with opened(config) as site:
        site.ask(Withdraw(now(), site.actor(token), number, reason), jackpot)
    _done({"withdrawn": number}, f"Proposal {number} is withdrawn.", as_json=as_json)


def _show_token(name: str, token: str, *, as_json: bool) -> None:
    _done({"operator": name, "token": token}, f"The token of {name}, shown once: {token}", as_json=as_json)


def _done(answer: object, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        console().print(sentence, soft_wrap=True, markup=False, emoji=False)

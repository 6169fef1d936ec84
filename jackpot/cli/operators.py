"""`jackpot operator`, `jackpot config`, `jackpot adjustment`: operators, and changes that take two managers."""

from __future__ import annotations

from typing import Annotated

import typer

from jackpot.cli.output import AsCsv, AsJson, Listing, print_answer
from jackpot.cli.queries import JackpotOption, ReasonOption, TableOption
from jackpot.cli.site_context import DEFAULT_CONFIG, ConfigFile, OptionalToken, SiteContext, Token, open_site
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

operator_app = typer.Typer(help="Operators and their tokens.", rich_markup_mode=None)
config_app = typer.Typer(help="Approved configurations.", rich_markup_mode=None)
adjustment_app = typer.Typer(help="Adjustments of pools and advances by two managers.", rich_markup_mode=None)

Name = Annotated[str, typer.Argument(help="The operator's name.")]
Days = Annotated[int, typer.Option(min=1, max=MAX_DAYS, help="Number of days until the token expires.")]
Number = Annotated[int, typer.Argument(help="The proposal's number.")]


@operator_app.command("list")
def list_operators(*, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """List the operators and their roles."""
    with open_site(config) as site, site.database.reader() as connection:
        people = read_site(connection).operators.values()
    rows = [
        {"name": o.name, "role": o.role.value, "active": o.active, "expires_at": o.expires_at or None} for o in people
    ]
    columns = {"name": "name", "role": "role", "active": "active", "token expires": "expires_at"}
    Listing("Operators", columns, rows).show(as_json=as_json, as_csv=as_csv)


@operator_app.command("add")
def add_operator(  # noqa: PLR0913 - one parameter for each option
    name: Name, *, role: Annotated[Role, typer.Option(help="The operator's role.")], token: Token,
    days: Days = DAYS, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Add an operator and show their token once. A new manager needs the approval of a second manager."""
    fresh = new_token()
    with open_site(config) as site:
        actor = site.actor(token)
        if role is Role.MANAGER:
            site.execute_site(ProposeManager(now(), actor, name, token_hash(fresh)))
        else:
            site.execute_site(AddOperator(now(), actor, name, role, token_hash(fresh), in_days(days)))
    if role is Role.MANAGER:
        _show_waiting(name, fresh, as_json=as_json)
    else:
        _show_token(name, fresh, as_json=as_json)


@operator_app.command("renew")
def renew_token(  # noqa: PLR0913 - one parameter for each option
    name: Name, *, token: OptionalToken = "", days: Days = DAYS, config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
    with_key: Annotated[bool, typer.Option(help="Act with the site's key file instead of a token.")] = False,
) -> None:  # fmt: skip
    """Replace an operator's token. For another manager, this needs the approval of a second manager."""
    fresh = new_token()
    with open_site(config) as site:
        actor = _keyholder(site) if with_key else site.actor(token)
        with site.database.reader() as connection:
            known = read_site(connection).operators.get(name)
        needs_approval = known is not None and known.role is Role.MANAGER and actor not in (known.actor, KEYHOLDER)
        site.execute_site(
            ProposeManager(now(), actor, name, token_hash(fresh))
            if needs_approval
            else RenewToken(now(), actor, name, token_hash(fresh), in_days(days))
        )
    if needs_approval:
        _show_waiting(name, fresh, as_json=as_json)
    else:
        _show_token(name, fresh, as_json=as_json)


@operator_app.command("proposals")
def show_waiting(*, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """List the managers that need a second manager's approval."""
    with open_site(config) as site, site.database.reader() as connection:
        site_state = read_site(connection)
    rows = [
        {"name": name, "by": by, "what": "renew" if name in site_state.operators else "add"}
        for name, by in site_state.waiting.items()
    ]
    Listing("Proposals", {"name": "name", "change": "what", "by": "by"}, rows).show(as_json=as_json, as_csv=as_csv)


@operator_app.command("approve")
def approve_manager(
    name: Name, *, token: Token, days: Days = DAYS, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False
) -> None:
    """Approve a manager that another manager proposed, and show the second half of their token once."""
    fresh = new_token()
    with open_site(config) as site:
        site.execute_site(ApproveManager(now(), site.actor(token), name, token_hash(fresh), in_days(days)))
    sentence = (
        f"Your half of the token of {name}, shown once: {fresh}\n"
        f"The token of {name} is the proposer's half, a dot, and this half."
    )
    print_answer({"operator": name, "half": fresh}, sentence, as_json=as_json)


@operator_app.command("withdraw")
def withdraw_manager(
    name: Name, *, reason: ReasonOption, token: Token, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False
) -> None:
    """Withdraw the proposal of a manager."""
    with open_site(config) as site:
        site.execute_site(WithdrawManager(now(), site.actor(token), name, reason))
    print_answer({"withdrawn": name}, f"The proposal of {name} is withdrawn.", as_json=as_json)


@operator_app.command("revoke")
def revoke_operator(
    name: Name, *, reason: ReasonOption, token: Token, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False
) -> None:
    """Revoke an operator's access permanently."""
    with open_site(config) as site:
        site.execute_site(RevokeOperator(now(), site.actor(token), name, reason))
    print_answer({"revoked": name}, f"The access of {name} is revoked.", as_json=as_json)


@config_app.command("show")
def show_config(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show all approved configurations; the one in force applies to new rounds."""
    with open_site(config) as site, site.database.reader() as connection:
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
    """List the proposals that need a second manager's approval."""
    with open_site(config) as site, site.database.reader() as connection:
        waiting = read_jackpot(connection, site.jackpot(jackpot)).proposals.values()
    rows = [proposal._asdict() for proposal in waiting]
    columns = {
        "number": "number",
        "kind": "kind",
        "by": "by",
        "change": "body",
        "reason": "reason",
        "warning": "warning",
    }
    Listing("Proposals", columns, rows).show(as_json=as_json, as_csv=as_csv)


@config_app.command("propose")
def propose_config(  # noqa: PLR0913 - one option for each value of a configuration
    *,
    reason: ReasonOption,
    token: Token,
    wager_cents: Annotated[int | None, typer.Option(help="The wager, in cents.")] = None,
    jackpot_bps: Annotated[
        int | None, typer.Option(help="The jackpot pool's share of a wager, in basis points.")
    ] = None,
    reserve_bps: Annotated[
        int | None, typer.Option(help="The reserve pool's share of a wager, in basis points.")
    ] = None,
    reset_cents: Annotated[int | None, typer.Option(help="The jackpot pool after a royal flush, in cents.")] = None,
    fixed_prizes_from: Annotated[FixedFrom | None, typer.Option(help="The payer of fixed prizes.")] = None,
    confirm: Annotated[str | None, typer.Option(help="Hands to confirm, separated by commas; empty for none.")] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
) -> None:
    """Propose a configuration; values not given stay as they are. Another manager approves it."""
    with open_site(config) as site:
        with site.database.reader() as connection:
            present = read_jackpot(connection, site.jackpot(jackpot)).config
        named = {
            "wager_cents": wager_cents, "jackpot_bps": jackpot_bps, "reserve_bps": reserve_bps,
            "reset_cents": reset_cents, "fixed_prizes_from": fixed_prizes_from,
        }  # fmt: skip
        wanted = present._replace(**{key: value for key, value in named.items() if value is not None})  # type: ignore[arg-type]
        if confirm is not None:
            wanted = wanted._replace(confirm=tuple(name for name in confirm.split(",") if name))
        answer = site.execute(ProposeConfig(now(), site.actor(token), wanted, reason), jackpot).answer
    warning = f" Warning: {answer['warning']}." if answer["warning"] else ""
    print_answer(
        answer, f"Proposal {answer['proposal']} needs the approval of another manager.{warning}", as_json=as_json
    )


@adjustment_app.command("propose")
def propose_adjustment(  # noqa: PLR0913 - one option for each part of an adjustment
    source: Annotated[Account, typer.Argument(help="The account to take from.")],
    target: Annotated[Account, typer.Argument(help="The account to add to; house_advance repays advances.")],
    amount_cents: Annotated[int, typer.Argument(min=1, help="The amount, in cents.")],
    *,
    reason: ReasonOption,
    token: Token,
    table: TableOption = None,
    played: Annotated[int | None, typer.Option("--round", help="The round it corrects.")] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
) -> None:
    """Propose an adjustment, or the repayment of an advance. Another manager approves it."""
    with open_site(config) as site:
        command = ProposeAdjustment(now(), site.actor(token), source, target, amount_cents, reason, table, played)
        answer = site.execute(command, jackpot).answer
    print_answer(answer, f"Proposal {answer['proposal']} needs the approval of another manager.", as_json=as_json)


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
    """Approve another manager's proposal."""
    with open_site(config) as site:
        answer = site.execute(Approve(now(), site.actor(token), number), jackpot).answer
    print_answer(answer, f"Proposal {number} is approved.", as_json=as_json)


@config_app.command("withdraw")
@adjustment_app.command("withdraw")
def withdraw(  # noqa: PLR0913 - one parameter for each option
    number: Number,
    *,
    reason: ReasonOption,
    token: Token,
    config: ConfigFile = DEFAULT_CONFIG,
    jackpot: JackpotOption = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw a proposal."""
    with open_site(config) as site:
        site.execute(Withdraw(now(), site.actor(token), number, reason), jackpot)
    print_answer({"withdrawn": number}, f"Proposal {number} is withdrawn.", as_json=as_json)


def _keyholder(site: SiteContext) -> Actor:
    """Return the actor for the holder of the private key, if that key has signed the site's trail."""
    checked = verify(site.database, SITE, site.verifier(), site.marks())
    if checked.problem is not None:
        raise StoreError(f"the key does not match the site's trail: {checked.problem}")
    return KEYHOLDER


def _show_waiting(name: str, half: str, *, as_json: bool) -> None:
    sentence = (
        f"{name} needs the approval of another manager: jackpot operator approve {name}\n"
        f"Your half of the token of {name}, shown once: {half}"
    )
    print_answer({"waiting": name, "half": half}, sentence, as_json=as_json)


def _show_token(name: str, token: str, *, as_json: bool) -> None:
    print_answer({"operator": name, "token": token}, f"The token of {name}, shown once: {token}", as_json=as_json)

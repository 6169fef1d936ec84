"""Approved configurations: their effect on the reserve, and changes by two managers."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from jackpot.core import commands as core
from jackpot.core.administration import MAX_POOL_CENTS, MAX_WAGER_CENTS, plain_config
from jackpot.core.state import Config, Jackpot, Proposal
from jackpot.web.api.permissions import Auditor, ByManager, Services
from jackpot.web.api.proposals import (
    NewProposal,
    PendingProposal,
    WithdrawalRequest,
    WithdrawnProposal,
    approve,
    of_kind,
    plain,
    withdraw,
)
from jackpot.web.api.schemas import (
    WHOLE,
    Cents,
    Id,
    JackpotPath,
    JackpotQuery,
    ProposalPath,
    ReasonText,
    RequestModel,
    ResponseModel,
)
from rules.jackpot_prizes import WHOLE_BPS, FixedFrom
from rules.odds import Configuration
from rules.odds.figures import solvency_figures

router = APIRouter(prefix="/api/v1", tags=["configurations"])

Bps = Annotated[int, Field(ge=0, le=WHOLE_BPS, description="basis points"), WHOLE]


class Solvency(ResponseModel):
    """Effects on the reserve, in exact fractions of a dollar per wager, and the break-even meter for players."""

    break_even_meter_cents: Cents
    reserve_gain_per_wager: str
    reserve_fixed_cost_per_wager: str
    reserve_reset_cost_per_wager: str
    reserve_drift_per_wager: str
    reserve_drift_per_wager_decimal: str
    reserve_starves: bool


class ConfigVersion(ResponseModel):
    """An approved configuration, and its effect on the reserve."""

    version: int
    wager_cents: Cents
    jackpot_bps: int
    reserve_bps: int
    reset_cents: Cents
    fixed_prizes_from: str
    confirm: list[str]
    in_force: bool
    solvency: Solvency


class ConfigChange(ResponseModel):
    """The present and the proposed value of a setting."""

    name: str
    present: Any
    proposed: Any


class ConfigProposal(PendingProposal):
    """A configuration that waits for a second manager: its changes, and its effect on the reserve."""

    changes: list[ConfigChange]
    solvency: Solvency


class Configs(ResponseModel):
    """A jackpot's configurations; the one in force applies to rounds that open now."""

    jackpot: str
    in_force: int
    versions: list[ConfigVersion]
    proposals: list[ConfigProposal]


class ConfigRequest(RequestModel):
    """A configuration; omitted values stay as they are."""

    jackpot: Id | None = None
    wager_cents: Annotated[int | None, Field(ge=1, le=MAX_WAGER_CENTS), WHOLE] = None
    jackpot_bps: Bps | None = None
    reserve_bps: Bps | None = None
    reset_cents: Annotated[int | None, Field(ge=0, le=MAX_POOL_CENTS), WHOLE] = None
    fixed_prizes_from: Annotated[FixedFrom | None, Field(strict=False)] = None
    confirm: Annotated[list[Id] | None, Field(max_length=20, description="prizes that await confirmation")] = None
    reason: ReasonText


class ConfigApproval(ResponseModel):
    """The version that applies to rounds that open from now on."""

    version: int


@router.get("/configs")
async def configs(_caller: Auditor, services: Services, jackpot: JackpotQuery = None) -> Configs:
    """Show approved configurations and proposals, each with its effect on the reserve."""
    state = services.state(services.resolve(jackpot))
    return await services.compute(partial(_configs, state))


@router.post("/configs")
async def propose_config(body: ConfigRequest, act: ByManager) -> NewProposal:
    """Propose a configuration; another manager approves it."""
    jackpot = act.services.resolve(body.jackpot)
    present = act.services.state(jackpot).config
    changes = body.model_dump(exclude={"jackpot", "reason", "confirm"}, exclude_none=True)
    proposed = present._replace(**changes)
    if body.confirm is not None:
        proposed = proposed._replace(confirm=tuple(body.confirm))
    content = (body.model_dump(mode="json"),)
    return NewProposal(**await act.at_jackpot(core.ProposeConfig, jackpot, proposed, body.reason, content=content))


@router.post("/configs/{jackpot}/{number}/approve")
async def approve_config(jackpot: JackpotPath, number: ProposalPath, act: ByManager) -> ConfigApproval:
    """Approve a configuration that another manager proposed."""
    return ConfigApproval(**await approve("config", jackpot, number, act))


@router.post("/configs/{jackpot}/{number}/withdraw")
async def withdraw_config(
    jackpot: JackpotPath, number: ProposalPath, body: WithdrawalRequest, act: ByManager
) -> WithdrawnProposal:
    """Withdraw a proposed configuration."""
    return await withdraw("config", jackpot, number, body, act)


def _configs(state: Jackpot) -> Configs:
    return Configs(
        jackpot=state.id,
        in_force=state.version,
        versions=[_version(state, config) for config in state.configs.values()],
        proposals=[_config_proposal(state, proposal) for proposal in of_kind(state, "config")],
    )


def _version(state: Jackpot, config: Config) -> ConfigVersion:
    plain = plain_config(config)
    return ConfigVersion(**plain, in_force=config.version == state.version, solvency=_solvency(state, plain))


def _config_proposal(state: Jackpot, proposal: Proposal) -> ConfigProposal:
    present = plain_config(state.config)
    changed = [name for name, value in proposal.body.items() if name != "version" and value != present[name]]
    changes = [ConfigChange(name=name, present=present[name], proposed=proposal.body[name]) for name in changed]
    return ConfigProposal(**plain(proposal), changes=changes, solvency=_solvency(state, dict(proposal.body)))


def _solvency(state: Jackpot, plain: dict[str, Any]) -> Solvency:
    source = FixedFrom(plain["fixed_prizes_from"])
    config = Configuration(plain["wager_cents"], plain["jackpot_bps"], plain["reset_cents"], source)
    return Solvency(**solvency_figures(state.instrument, config))

"""Examples of every message, all from round 1042 at table t1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jackpot.engine import view_models
from jackpot.engine.view_models import StrictModel
from jackpot.wire import messages

Plain = dict[str, Any]

_ROYAL: Final = ["As", "Ks", "Qs", "Js", "Ts"]
_MARK: Final = {"epoch": 7, "seq": 90112}
_WINS: Final = {"box": 3, "hand": "royal_flush", "amount_cents": 9876543}
_NOTE: Final = (
    "casino/main/mark\n90112\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n7\n\n"
    "\u2014 casino XyL8BEh49NMzgimtRBPT3ZX7931AJWTzHZyBV9qPHVNry2OKiQT/VdGr/DRHyCBghf5bX8SA5g5qgfcd2F4mTdawLA0=\n"
)

FROM_DEVICES: Final[Mapping[type[StrictModel], Mapping[str, Plain]]] = {
    messages.WagerMessage: {
        "wager": {
            "wager_id": "t1b3-000451",
            "round": 1042,
            "amount_cents": 200,
            "ante": True,
            "sent_at": "2026-11-15T09:30:00Z",
        }
    },
    messages.StatusMessage: {"online": {"state": "online"}, "will": {"state": "offline"}},
    messages.PadShownMessage: {"lit": {"round": 1042, "wager_id": "t1b3-000451", "lit": True}},
    messages.DisplayShownMessage: {"shown": {"jackpot": "main", "amount_cents": 12345678, **_MARK}},
    messages.OpenRoundMessage: {"open_round": {"command_id": "t1-7001", "type": "open_round"}},
    messages.CloseWagersMessage: {"close_wagers": {"command_id": "t1-7002", "type": "close_wagers", "round": 1042}},
    messages.FoldMessage: {"fold": {"command_id": "t1-7003", "type": "fold", "round": 1042, "box": 1}},
    messages.UnfoldMessage: {
        "unfold": {"command_id": "t1-7004", "type": "unfold", "round": 1042, "box": 1, "reason": "wrong box"}
    },
    messages.DeclareMessage: {
        "declare": {"command_id": "t1-7005", "type": "declare", "round": 1042, "box": 3, "cards": _ROYAL}
    },
    messages.SettleMessage: {"settle": {"command_id": "t1-7006", "type": "settle", "round": 1042}},
    messages.VoidRoundMessage: {
        "void_round": {"command_id": "t1-7007", "type": "void_round", "round": 1042, "reason": "shoe jammed"}
    },
    messages.VoidHandMessage: {
        "void_hand": {"command_id": "t1-7008", "type": "void_hand", "round": 1042, "box": 3, "reason": "wrong box"}
    },
    messages.ReportMalfunctionMessage: {
        "report_malfunction": {
            "command_id": "t1-7009",
            "type": "report_malfunction",
            "equipment": "pad 3",
            "note": "its lamp flickers",
        }
    },
}

FROM_CONTROLLER: Final[Mapping[type[StrictModel], Mapping[str, Plain]]] = {
    messages.LampMessage: {
        "accepted": {
            "round": 1042,
            "lit": True,
            "wager_id": "t1b3-000451",
            "answer": {"wager_id": "t1b3-000451", "verdict": "accepted", "reason": None},
            **_MARK,
        },
        "dark": {"round": 1042, "lit": False, "wager_id": None, "answer": None, **_MARK},
    },
    view_models.TableStateMessage: {
        "closed": {
            "round": 1042,
            "phase": "closed",
            "jackpot": "main",
            "wager_cents": 200,
            "boxes": 7,
            "lit": [1, 3],
            "folded": [1],
            "declared": {"3": _ROYAL},
            "payouts": [],
            "suspended": None,
            **_MARK,
        }
    },
    view_models.MeterMessage: {
        "live": {
            "jackpot": "main",
            "amount_cents": 12345678,
            "text": "$123,456.78",
            "state": "live",
            "pending": [{"table": "t1", "round": 1042, **_WINS}],
            **_MARK,
            "as_of": "2026-11-15T09:30:00.120Z",
        }
    },
    messages.WinMessage: {
        "pending": {"win_id": "main-90112-3", "table": "t1", "round": 1042, **_WINS, "status": "pending", **_MARK}
    },
    messages.ControllerMessage: {
        "online": {"state": "online", "epoch": 7},
        "will": {"state": "offline", "epoch": 7},
    },
    messages.MarkMessage: {"mark": {"note": _NOTE}},
}

REPLIES: Final[Mapping[type[StrictModel], Mapping[str, Plain]]] = {
    messages.RoundOpened: {"open_round": {"command_id": "t1-7001", "ok": True, "round": 1042}},
    messages.WagersClosed: {"close_wagers": {"command_id": "t1-7002", "ok": True, "lit": [1, 3], "unconfirmed": []}},
    messages.HandDeclared: {
        "declare": {
            "command_id": "t1-7005",
            "ok": True,
            "hand": "royal_flush",
            "qualifies": True,
            "amount_cents": 9876543,
        }
    },
    messages.RoundSettled: {
        "settle": {
            "command_id": "t1-7006",
            "ok": True,
            "payouts": [{**_WINS, "status": "pending", "clause": "NI2016-268 r 11.1(a)"}],
        }
    },
    messages.WagersReturned: {"void_hand": {"command_id": "t1-7008", "ok": True, "returned_cents": 200}},
    messages.CommandDoneMessage: {"fold": {"command_id": "t1-7003", "ok": True}},
    messages.CommandRefusedMessage: {
        "wrong_phase": {
            "command_id": "t1-7010",
            "ok": False,
            "error": "wrong_phase",
            "message": "round 1042 of table t1 is closed: this needs a round that is open",
        }
    },
}

EXAMPLES: Final[Mapping[type[StrictModel], Mapping[str, Plain]]] = {**FROM_DEVICES, **FROM_CONTROLLER, **REPLIES}

"""The AsyncAPI document is current and complete: it describes what the controller publishes and receives."""

import inspect
import json
import re
from pathlib import Path
from typing import get_args

import pytest

from jackpot.cli import run
from jackpot.core import commands as core
from jackpot.core.commands import DEALER, PAD, Actor, Role
from jackpot.core.decide import decide
from jackpot.core.evolve import evolve
from jackpot.core.results import CommandError, WagerRejection
from jackpot.core.state import NEW, Config
from jackpot.wire import messages
from jackpot.wire.asyncapi import document, name_of
from jackpot.wire.error_codes import DEALER_ERRORS, REASONS
from jackpot.wire.payloads import encoded
from jackpot.wire.protocol import COMMANDS, TOPICS
from jackpot.wire.protocol_examples import EXAMPLES
from jackpot.wire.topics import InboundKind, Topics
from rules.jackpot_prizes import FixedFrom

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = document()
SITE = Topics("{site}")
AT = "2026-11-15T09:30:00.000Z"

RETAINED = {
    "lamp", "pad_status", "pad_shown", "dealer_status", "table_state", "meter", "display_status", "controller",
    "mark",
}  # fmt: skip


def addresses(action):
    """The topics of the document's operations with this action."""
    channels = {
        operation["channel"]["$ref"].removeprefix("#/channels/")
        for operation in DOCUMENT["operations"].values()
        if operation["action"] == action
    }
    return {DOCUMENT["channels"][name]["address"] for name in channels}


def published():
    """The topics on which the code can publish: each has a method of its name."""
    others = {"client_id", "subscriptions", "source", "box_of", "table_of"}
    for name, method in inspect.getmembers(SITE, inspect.ismethod):
        if not name.startswith("_") and name not in others:
            yield method(*(f"{{{parameter}}}" for parameter in inspect.signature(method).parameters))


def test_the_committed_document_is_the_generated_one(capsys):
    assert run(["protocol", "--asyncapi"]) == 0
    printed = capsys.readouterr().out
    assert printed == (ROOT / "docs" / "asyncapi.json").read_text(encoding="utf-8"), (
        "write it anew: jackpot protocol --asyncapi > docs/asyncapi.json"
    )
    assert json.loads(printed) == DOCUMENT


def test_the_document_sends_what_the_controller_publishes():
    assert addresses("send") == set(published())


def test_the_document_receives_what_the_controller_subscribes_to():
    received = {address.replace("{box}", "+").replace("{display}", "+") for address in addresses("receive")}
    assert {re.sub(r"{(table|box|display)}", "+", topic) for topic in received} == set(SITE.subscriptions("{jackpot}"))


def test_every_received_topic_is_recognised():
    known = {"site": "s1", "table": "t1", "box": "3", "jackpot": "main", "display": "d1"}
    sources = [Topics("s1").source(address.format(**known)) for address in addresses("receive")]
    assert {source.kind for source in sources} == set(InboundKind)


def test_qos_and_retention_are_those_of_the_protocol():
    for operation in DOCUMENT["operations"].values():
        name = operation["channel"]["$ref"].removeprefix("#/channels/")
        assert operation["bindings"]["mqtt"] == {"qos": 1, "retain": name in RETAINED, "bindingVersion": "0.2.0"}


def test_every_parameter_of_an_address_is_described():
    for channel in DOCUMENT["channels"].values():
        assert channel["address"] == "jackpot/v1/{site}/" + channel["address"].partition("{site}/")[2]
        for name in channel["parameters"]:
            assert f"{{{name}}}" in channel["address"]
            assert DOCUMENT["components"]["parameters"][name]["description"]
        assert channel["address"].count("{") == len(channel["parameters"])


def test_every_reference_leads_somewhere():
    references = []

    def collect(node):
        if isinstance(node, dict):
            references.extend(value for key, value in node.items() if key == "$ref")
            node = list(node.values())
        if isinstance(node, list):
            for inner in node:
                collect(inner)

    collect(DOCUMENT)
    assert references
    for reference in references:
        found = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]


def test_every_message_has_a_payload_and_an_example():
    for topic in TOPICS:
        for model in topic.messages:
            message = DOCUMENT["components"]["messages"][name_of(model)]
            assert message["payload"]
            assert message["examples"]


@pytest.mark.parametrize("model", EXAMPLES, ids=lambda model: model.__name__)
def test_examples_are_messages_of_the_protocol(model):
    for payload in EXAMPLES[model].values():
        example = model.model_validate_json(json.dumps(payload))
        assert example.model_dump(exclude_unset=True) == payload, "an example names only fields of its model"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: name_of(command.message))
def test_an_example_of_a_command_is_read_as_that_command(command):
    for payload in EXAMPLES[command.message].values():
        assert type(messages.read_command(json.dumps(payload).encode())) is command.message
        assert payload["type"] == name_of(command.message)


def test_every_dealer_command_is_a_message_with_a_result():
    assert tuple(command.message for command in COMMANDS) == get_args(messages.DealerCommand)
    for command in COMMANDS:
        operation = DOCUMENT["operations"][f"receive_{name_of(command.message)}"]
        assert operation["reply"]["channel"] == {"$ref": "#/channels/dealer_reply"}
        assert operation["x-result"] == {"$ref": f"#/components/schemas/{command.result.__name__}"}


def test_reasons_are_listed_in_the_order_in_which_they_are_checked():
    assert list(REASONS) == list(WagerRejection)
    assert DOCUMENT["components"]["messages"]["lamp"]["x-reasons-in-order"] == [
        reason.value for reason in WagerRejection
    ]


def test_errors_are_listed_in_the_order_in_which_they_are_checked():
    dealers = list(CommandError)[: list(CommandError).index(CommandError.CARD_ALREADY_DECLARED) + 1]
    assert list(DEALER_ERRORS) == dealers
    assert DOCUMENT["components"]["messages"]["command_refused"]["x-errors-in-order"] == dealers
    assert DOCUMENT["components"]["schemas"]["CommandRefusedMessage"]["properties"]["error"]["enum"] == dealers


def test_replies_can_be_read_by_a_terminal():
    for model in (*(command.result for command in COMMANDS), messages.CommandRefusedMessage):
        for payload in EXAMPLES[model].values():
            assert messages.ReplyMessage.model_validate_json(json.dumps(payload)).ok is payload["ok"]


def a_round():
    """Every dealer command in an order in which each is carried out, with the core's answer."""
    config = Config(1, 200, 7_000, 3_000, 0, FixedFrom.RESERVE, ("royal_flush",))
    manager, royal = Actor("max", Role.MANAGER), ("As", "Ks", "Qs", "Js", "Ts")
    wagers = [core.PlaceWager(AT, PAD, "t1", box, f"w{box}", 1, 200, True) for box in (1, 2, 3)]
    commands = [
        core.CreateJackpot(AT, manager, "main", "canberra-poker-2016", config, "mia", 5_000_000, 2_000_000),
        core.LinkTable(AT, manager, "t1", 7),
        core.OpenRound(AT, DEALER, "t1"),
        *wagers,
        core.VoidHand(AT, DEALER, "t1", 1, 2, "misdeal"),
        core.CloseWagers(AT, DEALER, "t1", 1, (1,)),
        core.Fold(AT, DEALER, "t1", 1, 1, ""),
        core.Unfold(AT, DEALER, "t1", 1, 1, ""),
        core.Declare(AT, DEALER, "t1", 1, 3, royal, None),
        core.Declare(AT, DEALER, "t1", 1, 1, ("Kd", "Jc", "4s", "3s", "2s"), None),
        core.Settle(AT, DEALER, "t1", 1),
        core.VoidRound(AT, Actor("sue", Role.SUPERVISOR), "t1", 1, "shoe jammed"),
        core.ReportMalfunction(AT, DEALER, "t1", "pad 3", "its lamp flickers"),
    ]
    jackpot = NEW
    for command in commands:
        decision = decide(jackpot, command)
        for event in decision.events:
            jackpot = evolve(jackpot, event)
        yield f"{type(command).__name__}Message", decision.answer


def test_each_result_is_documented_field_for_field():
    results = {command.message.__name__: command.result for command in COMMANDS}
    answered = [(name, answer) for name, answer in a_round() if name in results]
    assert {name for name, _ in answered} == set(results)
    for name, answer in answered:
        plain = encoded({"command_id": "c1", "ok": True, **answer})
        assert results[name].model_validate_json(plain).model_dump() == json.loads(plain)


def test_the_table_for_people_names_every_topic(capsys):
    assert run(["protocol"]) == 0
    printed = capsys.readouterr().out
    assert all(topic.below_root in printed for topic in TOPICS)


def test_the_table_for_programs_names_every_topic(capsys):
    assert run(["protocol", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["topics"]
    assert {entry["topic"] for entry in listed} == addresses("send") | addresses("receive")
    assert {entry["topic"] for entry in listed if entry["retained"]} == {
        topic.address for topic in TOPICS if topic.name in RETAINED
    }

"""The protocol as an AsyncAPI 3.0 document, from the controller's point of view, generated from the message models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from jackpot.engine import view_models
from jackpot.engine.view_models import StrictModel
from jackpot.wire import messages
from jackpot.wire.error_codes import DEALER_ERRORS, REASONS
from jackpot.wire.messages import MAX_BYTES, CommandDoneMessage, CommandRefusedMessage
from jackpot.wire.protocol import COMMANDS, QOS, TOPICS, Action, DealerCommandInfo, Topic
from jackpot.wire.protocol_examples import EXAMPLES

Plain = dict[str, Any]

_ABOUT: Final = f"""\
The messages between pads, dealer terminals and displays of a gaming floor and a progressive jackpot controller.

MQTT 3.1.1 is enough, MQTT 5 works too. A payload is one JSON object in UTF-8 of at most {MAX_BYTES} bytes; fields that
are not named here are ignored. Money is integer cents. A device publishes only below its own node.

Every message of the controller about a state carries `epoch` and `seq`. A receiver keeps the highest pair it has seen
for a jackpot and drops anything older. On every connect the controller publishes all retained state afresh; an empty
retained payload clears a table that was removed.

Each jackpot has a persistent session of its own, with the client id `jackpot-{{site}}-{{jackpot}}`."""

_PARAMETERS: Final[Mapping[str, Plain]] = {
    "site": {"description": "The floor: 1 to 64 of A-Z a-z 0-9 _ . -"},
    "table": {"description": "A gaming table: 1 to 64 of A-Z a-z 0-9 _ . -", "examples": ["t1"]},
    "box": {"description": "A box of the table, as a plain decimal number.", "examples": ["3"]},
    "jackpot": {"description": "A jackpot: 1 to 64 of A-Z a-z 0-9 _ . -", "examples": ["main"]},
    "display": {"description": "A display: 1 to 64 of A-Z a-z 0-9 _ . -"},
}

_CORRELATED: Final[Mapping[type[StrictModel], str]] = {
    messages.WagerMessage: "/wager_id",
    messages.LampMessage: "/answer/wager_id",
    **{command.message: "/command_id" for command in COMMANDS},
    CommandDoneMessage: "/command_id",
    CommandRefusedMessage: "/command_id",
}
"""Where a message and its answer name the same id."""

_RESULTS: Final = tuple(dict.fromkeys(command.result for command in COMMANDS))
_ANSWERED_ON: Final = {"wager": "lamp", "dealer_command": "dealer_reply"}


def document() -> Plain:
    """Return the whole document; the same models always give the same one."""
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Jackpot controller: wire protocol", "version": "1", "description": _ABOUT},
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic) for topic in TOPICS},
        "operations": dict(operation for topic in TOPICS for operation in _operations(topic)),
        "components": {
            "messages": {name_of(model): _message(model) for topic in TOPICS for model in topic.messages},
            "parameters": {name: dict(parameter) for name, parameter in _PARAMETERS.items()},
            "schemas": _schemas(),
        },
    }


def name_of(model: type[StrictModel]) -> str:
    """Return the name of a message in the document; a command has its type's."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", model.__name__.removesuffix("Message")).lower()


def _ref(*path: str) -> Plain:
    return {"$ref": "/".join(("#", *path))}


# Channels and operations.


def _channel(topic: Topic) -> Plain:
    kept = "Retained" if topic.retained else "Not retained"
    return {
        "address": topic.address,
        "summary": f"{topic.what[0].upper()}{topic.what[1:]}.",
        "description": f"From {topic.sender} to {topic.receiver}. {kept}, QoS {QOS}.",
        "parameters": {name: _ref("components", "parameters", name) for name in re.findall(r"{(\w+)}", topic.address)},
        "messages": {name_of(model): _ref("components", "messages", name_of(model)) for model in topic.messages},
    }


def _operations(topic: Topic) -> list[tuple[str, Plain]]:
    if topic.name == "dealer_command":
        return [(f"receive_{name_of(command.message)}", _command(topic, command)) for command in COMMANDS]
    return [(f"{action}_{topic.name}", _operation(topic, action, topic.messages)) for action in topic.actions]


def _operation(topic: Topic, action: Action, models: tuple[type[StrictModel], ...]) -> Plain:
    does = "publishes" if action == "send" else "receives"
    answered = {"reply": _reply(_ANSWERED_ON[topic.name])} if topic.name in _ANSWERED_ON else {}
    return {
        "action": action,
        "channel": _ref("channels", topic.name),
        "summary": f"The controller {does} this: {topic.what}.",
        "messages": _messages_of(topic.name, models),
        "bindings": {"mqtt": {"qos": QOS, "retain": topic.retained, "bindingVersion": "0.2.0"}},
        **answered,
    }


def _command(topic: Topic, command: DealerCommandInfo) -> Plain:
    """One operation for each command, so that each can name its own result."""
    when = "In any phase." if command.phase == "any" else f"Only while the table is `{command.phase}`."
    return _operation(topic, "receive", (command.message,)) | {
        "summary": command.note,
        "description": f"{when} Answered with `{command.result.__name__}`, or refused.",
        "x-result": _ref("components", "schemas", command.result.__name__),
    }


def _reply(channel: str) -> Plain:
    answers = next(topic for topic in TOPICS if topic.name == channel).messages
    return {"channel": _ref("channels", channel), "messages": _messages_of(channel, answers)}


def _messages_of(channel: str, models: tuple[type[StrictModel], ...]) -> list[Plain]:
    return [_ref("channels", channel, "messages", name_of(model)) for model in models]


# Messages.


def _message(model: type[StrictModel]) -> Plain:
    name = name_of(model)
    found: Plain = {
        "name": name,
        "title": name.replace("_", " ").capitalize(),
        "summary": model.__doc__,
        "description": _descriptions().get(model),
        "correlationId": {"location": f"$message.payload#{_CORRELATED[model]}"} if model in _CORRELATED else None,
        "payload": _payload(model),
        "examples": [{"name": example, "payload": payload} for example, payload in _examples(model).items()],
    }
    return {key: value for key, value in found.items() if value is not None} | _codes(model)


def _payload(model: type[StrictModel]) -> Plain:
    if model is CommandDoneMessage:
        return {"anyOf": [_ref("components", "schemas", result.__name__) for result in _RESULTS]}
    return _ref("components", "schemas", model.__name__)


def _examples(model: type[StrictModel]) -> Mapping[str, Plain]:
    if model is CommandDoneMessage:
        return {name: payload for result in _RESULTS for name, payload in EXAMPLES[result].items()}
    return EXAMPLES[model]


def _codes(model: type[StrictModel]) -> Plain:
    """Return the codes in their order, for programs that read the document."""
    if model is messages.LampMessage:
        return {"x-reasons-in-order": [code.value for code in REASONS]}
    if model is CommandRefusedMessage:
        return {"x-errors-in-order": [code.value for code in DEALER_ERRORS]}
    return {}


def _descriptions() -> Mapping[type[StrictModel], str]:
    """Return what the models of a message cannot express."""
    results = [f"`{name_of(command.message)}`: `{command.result.__name__}`" for command in COMMANDS]
    return {
        messages.WagerMessage: (
            "A delayed wager is refused and never counted for another round, because it names its own. Sending the"
            " same wager again is safe: it is posted once."
        ),
        messages.LampMessage: (
            "`lit` and `wager_id` are the standing wager of the box; `answer` answers the pad's last message."
            " `returned` means that the wager was voided, and its `reason` is the one given for the void."
            f" A rejected wager has the first reason that applies:\n\n{_listed(REASONS)}"
        ),
        view_models.MeterMessage: (
            "A display that has received nothing for 15 seconds, or reads that the jackpot's controller is offline,"
            " shows that the meter is unavailable."
        ),
        messages.ControllerMessage: "A receiver ignores a lower epoch than it has seen, so a late will does no harm.",
        CommandDoneMessage: (
            "A repeat of a command that was carried out is answered the same again, and acts once. The result of each"
            " command:\n\n" + "\n".join(f"- {result}" for result in results)
        ),
        CommandRefusedMessage: (
            "A repeat of a refused command is judged afresh. `error` is the first that applies:\n\n"
            + _listed(DEALER_ERRORS)
        ),
    }


def _listed(codes: Mapping[Any, str]) -> str:
    return "\n".join(f"{place}. `{code}`: {meaning}" for place, (code, meaning) in enumerate(codes.items(), 1))


# Schemas.


class _WithoutTitles(GenerateJsonSchema):
    """Schemas without titles of fields: their names suffice."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - as pydantic declares it
        """Return False for every field."""
        return False


def _schemas() -> Plain:
    """Return the schema of each model: for validation where the controller receives it, else for serialization."""
    modes: dict[type[StrictModel], JsonSchemaMode] = {}
    for topic in TOPICS:
        mode: JsonSchemaMode = "serialization" if "send" in topic.actions else "validation"
        modes |= dict.fromkeys(topic.messages, mode)
    modes |= dict.fromkeys(_RESULTS, "serialization")
    _, found = models_json_schema(
        list(modes.items()), ref_template="#/components/schemas/{model}", schema_generator=_WithoutTitles
    )
    schemas: Plain = found["$defs"]
    return dict(sorted(schemas.items()))

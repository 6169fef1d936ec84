"""`jackpot protocol`: the wire protocol, as a table of its topics or as an AsyncAPI document."""

from __future__ import annotations

from typing import Annotated

import typer

from jackpot.cli.output import AsJson, console, print_json, table
from jackpot.wire.asyncapi import document
from jackpot.wire.protocol import QOS, ROOT, TOPICS, Topic


def protocol(
    *,
    asyncapi: Annotated[bool, typer.Option("--asyncapi", help="Print the AsyncAPI 3.0 document.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the MQTT topics with their senders and receivers, or print the protocol as an AsyncAPI document."""
    if asyncapi:
        print_json(document())
    elif as_json:
        print_json({"root": ROOT, "topics": [_plain(topic) for topic in TOPICS]})
    else:
        columns = ("topic", "from", "to", "QoS", "retained", "content")
        rows = [
            (topic.below_root, topic.sender, topic.receiver, QOS, "yes" if topic.retained else "no", topic.what)
            for topic in TOPICS
        ]
        drawn = table(f"Topics below {ROOT}", columns, rows, right=("QoS",))
        drawn.columns[0].no_wrap = True
        console().print(drawn)


def _plain(topic: Topic) -> dict[str, object]:
    return {
        "topic": topic.address,
        "from": topic.sender,
        "to": topic.receiver,
        "qos": QOS,
        "retained": topic.retained,
        "what": topic.what,
    }

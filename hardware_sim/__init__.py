"""Pads, dealer terminals and displays as real MQTT clients; nothing here is imported by the controller."""

import hardware_sim.own_rules  # noqa: F401 - before anything imports rules
from hardware_sim.books import Books, BooksError, Reconciliation, read_books, read_books_file
from hardware_sim.connection import AddressError, Broker
from hardware_sim.faults import Fault, FaultError, Faults
from hardware_sim.floor import Floor, FloorError, Snapshot
from hardware_sim.inquiry import ask_books
from hardware_sim.operator import Operator, OperatorError
from hardware_sim.player import Habits
from hardware_sim.shoe import Deal, Rig, RigError, Shoe

__all__ = [
    "AddressError",
    "Books",
    "BooksError",
    "Broker",
    "Deal",
    "Fault",
    "FaultError",
    "Faults",
    "Floor",
    "FloorError",
    "Habits",
    "Operator",
    "OperatorError",
    "Reconciliation",
    "Rig",
    "RigError",
    "Shoe",
    "Snapshot",
    "ask_books",
    "read_books",
    "read_books_file",
]

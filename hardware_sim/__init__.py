"""Simulated pads, dealer terminals and displays as real MQTT clients; independent of the controller's code."""

import hardware_sim.own_rules  # noqa: F401 - before anything imports rules
from hardware_sim.connection import Broker, BrokerAddressError
from hardware_sim.controller_books import read_controller_books
from hardware_sim.faults import Fault, FaultError, Faults
from hardware_sim.floor import Floor, FloorError, Snapshot
from hardware_sim.player import Habits
from hardware_sim.reconciliation import Books, BooksError, Reconciliation, read_books, read_books_file
from hardware_sim.shoe import Deal, Rig, RigError, Shoe
from hardware_sim.supervisor import Supervisor, SupervisorError

__all__ = [
    "Books",
    "BooksError",
    "Broker",
    "BrokerAddressError",
    "Deal",
    "Fault",
    "FaultError",
    "Faults",
    "Floor",
    "FloorError",
    "Habits",
    "Reconciliation",
    "Rig",
    "RigError",
    "Shoe",
    "Snapshot",
    "Supervisor",
    "SupervisorError",
    "read_books",
    "read_books_file",
    "read_controller_books",
]

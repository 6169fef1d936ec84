"""Settings for all tests."""

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def child_processes_start_with_default_signals():
    """Replace ignored signals, as `nohup` or a shell's background job leaves them, by a handler that does nothing.

    A child process inherits ignored signals, and would not end by them; a handled signal has its default action there.
    """
    ignored = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)

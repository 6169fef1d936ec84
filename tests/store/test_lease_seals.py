"""The seal of a lease is valid for one chain, epoch and owner, and for one key."""

import pytest

from jackpot.store.lease_seals import seal_lease, seal_problem
from jackpot.store.signed_notes import Checkpoint, Signer

SIGNER = Signer("casino", bytes(range(32)))
FORGER = Signer("casino", bytes(range(1, 33)))


@pytest.mark.parametrize("owner", ["host:41", ""])
def test_a_seal_is_valid_for_its_lease(owner):
    assert seal_problem(SIGNER.verifier, "main", 7, owner, seal_lease(SIGNER, "main", 7, owner)) is None


@pytest.mark.parametrize(
    ("lease", "problem"),
    [
        (("main", 8, "host:41"), "epoch 8"),
        (("main", 6, "host:41"), "epoch 6"),
        (("main", 7, "host:42"), "host:42"),
        (("main", 7, ""), "owner ''"),
        (("other", 7, "host:41"), "of other was changed"),
    ],
)
def test_a_seal_is_not_valid_for_another_lease(lease, problem):
    assert problem in seal_problem(SIGNER.verifier, *lease, seal_lease(SIGNER, "main", 7, "host:41"))


def test_a_seal_of_another_key_or_a_changed_one_or_none_is_not_valid():
    seal = seal_lease(SIGNER, "main", 7, "host:41")
    for wrong in (seal_lease(FORGER, "main", 7, "host:41"), seal.replace("\n7\n", "\n8\n"), "", "x"):
        assert seal_problem(SIGNER.verifier, "main", 7, "host:41", wrong)


def test_a_checkpoint_is_no_seal():
    """The origin tells the kinds of notes apart."""
    note = SIGNER.sign(Checkpoint("casino/main", 7, bytes(32)))
    assert "another" in seal_problem(SIGNER.verifier, "main", 7, "", note)

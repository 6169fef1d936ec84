"""A token can be given to every command as it is."""

from jackpot import tokens


def test_no_token_begins_with_a_hyphen_which_a_command_line_would_take_for_an_option(monkeypatch):
    made = iter(["-option", "-", "a-token"])
    monkeypatch.setattr(tokens.secrets, "token_urlsafe", lambda _bytes: next(made))
    assert tokens.new_token() == "a-token"

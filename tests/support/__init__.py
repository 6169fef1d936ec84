"""Helpers that tests share: servers, daemons, clients, browsers and oracles."""

"""MQTT: topics and messages, the session with the broker, and the adapter of each jackpot."""

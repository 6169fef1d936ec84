"""The wire: MQTT topics and messages, the session with the broker, and what each jackpot says and hears over it."""

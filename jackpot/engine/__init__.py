"""One running jackpot: lease, journal, writer, committed state and devices; it knows neither MQTT nor HTTP."""

"""Pads, dealer terminals and displays as real MQTT clients; nothing here is imported by the controller."""

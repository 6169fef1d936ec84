"""The pure core: state, commands, events, and the two functions between them. No clock, no I/O, no logging.

decide(state, command) → a decision (events to record and an answer) or a refusal
evolve(state, event)   → the state after the event
"""

"""HTTP for operators: API, console, displays and feeds; acts go through the same writer as commands from tables."""

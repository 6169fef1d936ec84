"""The operators' side: HTTP, with each act carried out by the same writer as the floor's commands."""

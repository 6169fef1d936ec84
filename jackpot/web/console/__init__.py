"""Pages for operators: each shows what the API tells, and acts through the API."""

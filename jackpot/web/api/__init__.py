"""The HTTP API: each module has the paths of one subject, and each path says which role it needs."""

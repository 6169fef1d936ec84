"""The HTTP API: each module has the paths of one subject, and each path names the role it needs."""

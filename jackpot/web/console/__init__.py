"""The console: pages for operators, which read and act through the API."""

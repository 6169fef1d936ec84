"""The controller: a pure core in a thin shell."""

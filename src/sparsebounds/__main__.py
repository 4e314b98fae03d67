"""`python -m sparsebounds`: the command line."""

from sparsebounds.cli import app

app(prog_name="sparsebounds")

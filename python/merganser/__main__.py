"""`python -m merganser`: the command line where the command `merganser` is not on the path."""

from merganser.command_line import app

app(prog_name="merganser")

"""An error ends a command with one message on standard error and an exit code, never with a traceback.

A fault of our own is told too, with its type; where the environment has MERGANSER_TRACEBACK, its traceback is shown.
"""

import os
import sys
from typing import Any

import duckdb
import typer
from rich.console import Console
from typer.core import TyperGroup

FAILED = 1
CHECK_FAILED = 3
INTERRUPTED = 130
#: What DuckDB makes of an interrupt while a query runs: a RuntimeError.
BY_DUCKDB = "Query interrupted"

#: What Typer ends a command with, and says itself.
OF_TYPER = (typer.Exit, typer.Abort, typer.TyperException)


class OneMessage(TyperGroup):
    def invoke(self, context: typer.Context) -> Any:
        try:
            return super().invoke(context)
        except OF_TYPER:
            raise
        except KeyboardInterrupt as interrupt:
            raise ended("interrupted", INTERRUPTED) from interrupt
        except BrokenPipeError as error:
            # The reader has seen enough. What is left in the buffer must not be written when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(FAILED) from error
        except (duckdb.Error, ValueError, OSError, RuntimeError) as error:
            if str(error) == BY_DUCKDB:
                raise ended("interrupted", INTERRUPTED) from error
            raise ended(str(error), FAILED) from error
        except Exception as error:
            if "MERGANSER_TRACEBACK" in os.environ:
                raise
            fault = f"{type(error).__name__}: {error}"
            message = f"a fault of the command itself, {fault}\nMERGANSER_TRACEBACK=1 in the environment shows where"
            raise ended(message, FAILED) from error


def ended(message: str, code: int) -> typer.Exit:
    Console(stderr=True).print(f"merganser: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    return typer.Exit(code)

"""Late materialisation, set-semantic table functions and cluster stages for stock DuckDB."""

from merganser.connection import connect, extension_path, last_query
from merganser.query_report import report

__all__ = ["__version__", "connect", "extension_path", "last_query", "report"]
__version__ = "0.1.0"

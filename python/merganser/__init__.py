"""Late materialisation, set-semantic table functions and cluster stages for stock DuckDB."""

from merganser.connection import connect, extension_path, last_query
from merganser.query_report import compare_reports, report

__all__ = ["__version__", "compare_reports", "connect", "extension_path", "last_query", "report"]
__version__ = "0.1.0"

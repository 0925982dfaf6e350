# Read by DuckDB's own build (make release): builds Merganser as one of its loadable extensions.
duckdb_extension_load(merganser
  SOURCE_DIR ${CMAKE_CURRENT_LIST_DIR}
  INCLUDE_DIR ${CMAKE_CURRENT_LIST_DIR}/src
  EXTENSION_VERSION ${MERGANSER_VERSION})

# Links through DuckDB's own extension functions, inside DuckDB's own build: the result carries the parts of DuckDB it
# needs and loads in every client of that version. scripts/build_release.py passes the MERGANSER_ variables.
set(CMAKE_CXX_STANDARD 17)
add_compile_definitions(
  MERGANSER_VERSION="${MERGANSER_VERSION}" MERGANSER_DUCKDB_VERSION="${DUCKDB_EXPLICIT_VERSION}"
  MERGANSER_DUCKDB_PLATFORM="${MERGANSER_DUCKDB_PLATFORM}")
include_directories(${MERGANSER_INCLUDE} ${DUCKDB_MODULE_BASE_DIR}/extension/parquet/include
  ${DUCKDB_MODULE_BASE_DIR}/third_party/lz4)

build_static_extension(merganser ${MERGANSER_SOURCES})
build_loadable_extension(merganser "" ${MERGANSER_SOURCES})
target_precompile_headers(merganser_loadable_extension PRIVATE ${MERGANSER_INCLUDE}/precompiled.hpp)

# A client that is not Python, to prove that the result loads.
add_executable(merganser_release_client EXCLUDE_FROM_ALL ${CMAKE_CURRENT_SOURCE_DIR}/test/release/client.cpp)
target_link_libraries(merganser_release_client duckdb_static)
link_extension_libraries(merganser_release_client "")

# What only tests need, built on demand: the C++ tests, and DuckDB's own TPC-H and TPC-DS extensions.

# A shared object and not a program: the wheel's module needs the symbols of a Python interpreter, which is there when
# Python loads the tests (test/cpp/run.py) and takes no libpython to link with.
file(GLOB_RECURSE CPP_TEST_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test/cpp/*.cpp)
add_library(merganser_test MODULE EXCLUDE_FROM_ALL ${CPP_TEST_SOURCES})
target_link_libraries(merganser_test PRIVATE merganser_objects)
target_include_directories(merganser_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/test/cpp)
target_include_directories(merganser_test SYSTEM PRIVATE ${DUCKDB_SOURCE}/third_party/catch)
target_compile_options(merganser_test PRIVATE -Wall -Wextra -Werror -Wno-unused-parameter)
target_precompile_headers(merganser_test REUSE_FROM merganser_objects)
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/test/cpp/main.cpp PROPERTIES  # Catch2 itself
  COMPILE_OPTIONS "-O0;-fno-sanitize=all" SKIP_PRECOMPILE_HEADERS ON)
set_target_properties(merganser_test PROPERTIES PREFIX "" BUILD_RPATH "${DUCKDB_MODULE_FOLDER}")

# The queries and the TPC-DS data come from these two at run time. Their code is not ours to warn about, and it generates
# data once: optimising it for longer would not pay.
foreach(BENCHMARK tpch tpcds)
  set(BENCHMARK_SOURCE ${DUCKDB_SOURCE}/extension/${BENCHMARK})
  file(GLOB_RECURSE BENCHMARK_SOURCES ${BENCHMARK_SOURCE}/*.cpp)
  add_library(${BENCHMARK} MODULE EXCLUDE_FROM_ALL ${BENCHMARK_SOURCES})
  target_link_libraries(${BENCHMARK} PRIVATE duckdb_wheel)
  target_include_directories(${BENCHMARK} PRIVATE
    ${BENCHMARK_SOURCE}/include ${BENCHMARK_SOURCE}/dbgen/include
    ${BENCHMARK_SOURCE}/dsdgen/include ${BENCHMARK_SOURCE}/dsdgen/include/dsdgen-c)
  target_compile_options(${BENCHMARK} PRIVATE -w -O1)
  set_target_properties(${BENCHMARK} PROPERTIES PREFIX "" SUFFIX ".so" BUILD_RPATH "${DUCKDB_MODULE_FOLDER}")
  make_loadable(${BENCHMARK} $<TARGET_FILE:${BENCHMARK}> ${DUCKDB_VERSION})
endforeach()

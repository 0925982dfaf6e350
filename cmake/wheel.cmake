# Links against the module inside DuckDB's Python wheel, which exports DuckDB's C++ symbols.
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

find_package(Python REQUIRED COMPONENTS Interpreter)
function(ask_python RESULT)
  execute_process(COMMAND ${Python_EXECUTABLE} ${ARGN} OUTPUT_VARIABLE OUTPUT OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set(${RESULT} ${OUTPUT} PARENT_SCOPE)
endfunction()

ask_python(DUCKDB_SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/scripts/fetch_duckdb_source.py)
ask_python(DUCKDB_MODULE -c "print(__import__('_duckdb').__file__)")
ask_python(DUCKDB_VERSION -c "print('v' + __import__('duckdb').__version__)")
ask_python(DUCKDB_PLATFORM -c "print(*__import__('duckdb').execute('PRAGMA platform').fetchone())")
cmake_path(GET DUCKDB_MODULE PARENT_PATH DUCKDB_MODULE_FOLDER)
cmake_path(GET DUCKDB_MODULE FILENAME DUCKDB_MODULE_NAME)
message(STATUS "Merganser for DuckDB ${DUCKDB_VERSION} (${DUCKDB_PLATFORM}), headers in ${DUCKDB_SOURCE}")

add_library(duckdb_wheel INTERFACE)
target_include_directories(duckdb_wheel SYSTEM INTERFACE
  ${DUCKDB_SOURCE}/src/include
  ${DUCKDB_SOURCE}/extension/parquet/include
  ${DUCKDB_SOURCE}/third_party/utf8proc/include ${DUCKDB_SOURCE}/third_party/re2
  ${DUCKDB_SOURCE}/third_party/fast_float ${DUCKDB_SOURCE}/third_party/fmt/include
  ${DUCKDB_SOURCE}/third_party/yyjson/include ${DUCKDB_SOURCE}/third_party/concurrentqueue)
target_link_directories(duckdb_wheel INTERFACE ${DUCKDB_MODULE_FOLDER})
target_link_libraries(duckdb_wheel INTERFACE -l:${DUCKDB_MODULE_NAME})

add_library(merganser_objects OBJECT ${MERGANSER_SOURCES})
target_include_directories(merganser_objects PUBLIC ${MERGANSER_INCLUDE})
target_link_libraries(merganser_objects PUBLIC duckdb_wheel)
# Somebody else's compiler may know other warnings; their wheel is built all the same.
if(NOT SKBUILD)
  set(WARNINGS_ARE_ERRORS -Werror)
endif()
target_compile_options(merganser_objects PRIVATE
  -Wall -Wextra ${WARNINGS_ARE_ERRORS} -Wno-unused-parameter -fno-omit-frame-pointer)
target_compile_definitions(merganser_objects PUBLIC
  MERGANSER_VERSION="${PROJECT_VERSION}" MERGANSER_DUCKDB_VERSION="${DUCKDB_VERSION}"
  MERGANSER_DUCKDB_PLATFORM="${DUCKDB_PLATFORM}")
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/src/exchange/exchange_compression.cpp PROPERTIES
  INCLUDE_DIRECTORIES ${DUCKDB_SOURCE}/third_party/lz4)
target_precompile_headers(merganser_objects PRIVATE ${MERGANSER_INCLUDE}/precompiled.hpp)

option(MERGANSER_INTO_PACKAGE "Copy the extension into python/merganser, where merganser.connect() finds it" ON)
set(MERGANSER_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread; empty for none")
if(MERGANSER_SANITIZE)
  target_compile_options(merganser_objects PUBLIC -fsanitize=${MERGANSER_SANITIZE} -Wno-maybe-uninitialized)
  target_link_options(merganser_objects PUBLIC -fsanitize=${MERGANSER_SANITIZE})
endif()
if(MERGANSER_SANITIZE MATCHES undefined)
  target_compile_options(merganser_objects PUBLIC -fno-sanitize-recover=undefined -fno-sanitize=vptr)
endif()

# DuckDB loads a shared object only with its 512-byte footer at the end, which stripping or re-linking would lose; so it is
# always appended to a copy, last: <name>.duckdb_extension in the build folder.
function(make_loadable TARGET SHARED_OBJECT EXTENSION_VERSION)
  add_custom_command(TARGET ${TARGET} POST_BUILD
    COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/append_footer.py
            ${SHARED_OBJECT} ${CMAKE_CURRENT_BINARY_DIR}/${TARGET}.duckdb_extension
            --duckdb-version ${DUCKDB_VERSION} --platform ${DUCKDB_PLATFORM} --extension-version ${EXTENSION_VERSION})
endfunction()

# Every symbol is found in the module now, and in the DuckDB that loads the extension later (src/duckdb_binding.hpp), which
# writes what it finds into pages that would otherwise be read-only by then.
add_library(merganser MODULE)
target_link_libraries(merganser PRIVATE merganser_objects)
target_link_options(merganser PRIVATE -Wl,-z,defs -Wl,-z,norelro)
set_target_properties(merganser PROPERTIES PREFIX "" SUFFIX ".so" SKIP_BUILD_RPATH ON)
set(UNBOUND ${CMAKE_CURRENT_BINARY_DIR}/merganser_unbound.so)
add_custom_command(TARGET merganser POST_BUILD
  COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/unbind_from_module.py
          $<TARGET_FILE:merganser> ${UNBOUND} --module ${DUCKDB_MODULE})
make_loadable(merganser ${UNBOUND} ${PROJECT_VERSION})

# A checkout runs straight from python/; a wheel carries the same file beside the package's modules.
if(SKBUILD)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/merganser.duckdb_extension DESTINATION merganser COMPONENT wheel)
elseif(MERGANSER_INTO_PACKAGE)
  add_custom_command(TARGET merganser POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${CMAKE_CURRENT_BINARY_DIR}/merganser.duckdb_extension
            ${CMAKE_CURRENT_SOURCE_DIR}/python/merganser/merganser.duckdb_extension)
endif()

if(NOT SKBUILD)
  include(cmake/tests.cmake)
endif()

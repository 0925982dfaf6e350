# Every source file of the extension, room by room.
file(GLOB_RECURSE MERGANSER_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../src/*.cpp)
set(MERGANSER_INCLUDE ${CMAKE_CURRENT_LIST_DIR}/../src)

# spindrift_library(NAME SRCS ... HDRS ... DEPS ... PRIVATE_DEPS ...) declares one folder's library, spindrift_NAME.
# DEPS are visible in headers; PRIVATE_DEPS stay inside .cc files.
function(spindrift_library name)
  cmake_parse_arguments(arg "" "" "SRCS;HDRS;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(spindrift_${name} STATIC ${arg_SRCS} ${arg_HDRS})
  target_include_directories(spindrift_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_link_libraries(spindrift_${name} PUBLIC spindrift_flags ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  set_target_properties(spindrift_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# spindrift_test(NAME SRCS ... DEPS ...) declares one GoogleTest binary and registers it as a single CTest entry.
function(spindrift_test name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE spindrift_flags ${arg_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE SPINDRIFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(arg_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  endif()
endfunction()

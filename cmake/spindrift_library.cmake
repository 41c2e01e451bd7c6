# spindrift_library(NAME SRCS ... HDRS ... DEPS ... PRIVATE_DEPS ... [TOOL]) declares one folder's library,
# spindrift_NAME. DEPS are visible in headers; PRIVATE_DEPS stay inside .cc files. Every folder library is also part of
# the installed libspindrift (packaging.cmake), except those marked TOOL: they serve the program only.
function(spindrift_library name)
  cmake_parse_arguments(arg "TOOL" "" "SRCS;HDRS;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(spindrift_${name} STATIC ${arg_SRCS} ${arg_HDRS})
  target_include_directories(spindrift_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(spindrift_${name} PUBLIC spindrift_flags ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  set_target_properties(spindrift_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(NOT arg_TOOL)
    set_property(GLOBAL APPEND PROPERTY SPINDRIFT_FOLDER_LIBRARIES spindrift_${name})
    set_property(GLOBAL APPEND PROPERTY SPINDRIFT_LINK_DEPS ${arg_DEPS} ${arg_PRIVATE_DEPS})
  endif()
endfunction()

# The tests each preset builds: release builds all of them, dev leaves out the heavy ones, tsan takes those about threads.
add_custom_target(sanitized_tests)
add_custom_target(thread_tests)
add_custom_target(fuzzers)

# Common to every CTest entry. LABELS: `heavy` = release only, `threads` = under ThreadSanitizer too.
function(spindrift_register_test name labels)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS "${labels}"
    ENVIRONMENT "GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/results/${name}.xml;SPINDRIFT_BINARY=${CMAKE_BINARY_DIR}/spindrift;TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
endfunction()

# spindrift_test(NAME SRCS ... DEPS ... [LABELS heavy|threads]) declares one GoogleTest binary, one CTest entry. Prefer
# adding a file to a folder's binary over a new binary: linking under sanitizers is what a test run waits for.
function(spindrift_test name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SRCS})
  target_link_libraries(${name} PRIVATE
    spindrift_test_support ${arg_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  spindrift_register_test(${name} "${arg_LABELS}")
  if(NOT "heavy" IN_LIST arg_LABELS)
    add_dependencies(sanitized_tests ${name})
  endif()
  if("threads" IN_LIST arg_LABELS)
    add_dependencies(thread_tests ${name})
  endif()
endfunction()

# spindrift_python_test(NAME SCRIPT file [ARGS ...] [MODULES ...] [LABELS ...]) runs a Python script as a test, in the
# project's .venv when it is there, and skips it by name when a module of MODULES is not installed. Exit code 77 = skipped.
# The script finds the program in the environment variable SPINDRIFT_BINARY.
function(spindrift_python_test name)
  cmake_parse_arguments(arg "" "SCRIPT" "ARGS;MODULES;LABELS" ${ARGN})
  list(JOIN arg_MODULES "," modules)
  add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tools/with_python.sh "${modules}"
    ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGS})
  spindrift_register_test(${name} "heavy;python;${arg_LABELS}")
endfunction()

# spindrift_fuzz(NAME SRC file DEPS ...) declares one fuzz target, a file with LLVMFuzzerTestOneInput. With
# SPINDRIFT_FUZZ (clang) it is a libFuzzer program, fuzz_NAME; otherwise a test, fuzz_NAME_corpus, that replays
# tests/fuzz/corpus/NAME.
function(spindrift_fuzz name)
  cmake_parse_arguments(arg "" "SRC" "DEPS" ${ARGN})
  if(SPINDRIFT_FUZZ)
    add_executable(fuzz_${name} ${arg_SRC})
    target_link_libraries(fuzz_${name} PRIVATE spindrift_flags ${arg_DEPS})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers fuzz_${name})
  else()
    add_executable(fuzz_${name}_corpus ${arg_SRC} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cc)
    target_link_libraries(fuzz_${name}_corpus PRIVATE spindrift_flags ${arg_DEPS})
    add_test(NAME fuzz_${name}_corpus COMMAND fuzz_${name}_corpus ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name})
    spindrift_register_test(fuzz_${name}_corpus "fuzz")
    add_dependencies(sanitized_tests fuzz_${name}_corpus)
  endif()
endfunction()

# spindrift_bench(NAME SRCS ... DEPS ...) declares one Google Benchmark program; built with SPINDRIFT_BENCH only.
function(spindrift_bench name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  if(SPINDRIFT_BENCH)
    add_executable(${name} ${arg_SRCS})
    target_link_libraries(${name} PRIVATE spindrift_flags ${arg_DEPS} benchmark::benchmark)
  endif()
endfunction()

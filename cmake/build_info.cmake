# The library spindrift_build_info carries the version and the commit. The commit is asked for at every build and its
# source rewritten only when the answer changes, so that a commit recompiles one file. Run with cmake -P, this file is
# that step; included, it declares the library.
if(CMAKE_SCRIPT_MODE_FILE)
  set(commit unknown)
  execute_process(COMMAND git rev-parse --show-toplevel WORKING_DIRECTORY ${source_dir}
    OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # A source archive unpacked inside another project's checkout is not that project's commit.
  file(REAL_PATH ${source_dir} real_source_dir)
  if(top STREQUAL real_source_dir)
    execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY ${source_dir}
      OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
      set(commit ${described})
    endif()
  endif()
  configure_file(${source_dir}/src/core/build_info.cc.in ${output} @ONLY)
  return()
endif()

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}" flags)
string(REGEX REPLACE " +" " " flags "${flags}")
if(SPINDRIFT_SANITIZE)
  string(APPEND flags " -fsanitize=${SPINDRIFT_SANITIZE}")
endif()
set(build_info_source ${CMAKE_BINARY_DIR}/generated/build_info.cc)
add_custom_target(spindrift_commit BYPRODUCTS ${build_info_source} COMMAND ${CMAKE_COMMAND}
  -Dsource_dir=${PROJECT_SOURCE_DIR} -Doutput=${build_info_source} -Dversion=${PROJECT_VERSION}
  "-Dcompiler=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" "-Dflags=${flags}"
  -P ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
add_library(spindrift_build_info STATIC ${PROJECT_SOURCE_DIR}/src/core/build_info.h ${build_info_source})
add_dependencies(spindrift_build_info spindrift_commit)
target_include_directories(spindrift_build_info PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(spindrift_build_info PUBLIC spindrift_flags)

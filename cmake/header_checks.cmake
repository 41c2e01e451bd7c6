# The target header_checks compiles every header of src/ and include/ on its own, included twice: it includes what it
# uses and guards itself. Not part of the default build; ./dev test runs it. Left out: -inl.h files, which are the inside
# of a kernel file and compiled once for each of its instruction sets.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h)
list(FILTER headers EXCLUDE REGEX "-inl\\.h$")
set(units "")
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^(src|include)/" "" spelled ${header})
  string(MAKE_C_IDENTIFIER ${spelled} unit)
  set(unit ${CMAKE_BINARY_DIR}/header_checks/${unit}.cc)
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"@spelled@\"\n#include \"@spelled@\"\n" @ONLY)
  list(APPEND units ${unit})
endforeach()
add_library(header_checks OBJECT EXCLUDE_FROM_ALL ${units})
target_include_directories(header_checks PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(header_checks PRIVATE spindrift_flags)
target_compile_options(header_checks PRIVATE -O0 -Wno-unused-function -Wno-unused-const-variable)

# Installation: the program, one static library made of every folder library, the public headers, a CMake package
# (find_package(spindrift), target spindrift::spindrift) and shell completions. Include after all of src/.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(folder_libraries GLOBAL PROPERTY SPINDRIFT_FOLDER_LIBRARIES)
add_library(spindrift_merged STATIC)
foreach(library IN LISTS folder_libraries ITEMS spindrift_build_info)
  target_sources(spindrift_merged PRIVATE $<TARGET_OBJECTS:${library}>)
endforeach()
add_library(spindrift::spindrift ALIAS spindrift_merged)
set_target_properties(spindrift_merged PROPERTIES OUTPUT_NAME spindrift EXPORT_NAME spindrift LINKER_LANGUAGE CXX)
target_compile_features(spindrift_merged INTERFACE cxx_std_20)
target_include_directories(spindrift_merged INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# What a program that links the library needs besides: the third-party libraries with code of their own. Header-only
# ones are inside the objects already.
set(header_only nlohmann_json::nlohmann_json CLI11::CLI11)
get_property(link_deps GLOBAL PROPERTY SPINDRIFT_LINK_DEPS)
list(FILTER link_deps EXCLUDE REGEX "^spindrift_")
list(REMOVE_DUPLICATES link_deps)
list(REMOVE_ITEM link_deps ${header_only})
target_link_libraries(spindrift_merged PRIVATE ${link_deps})

set(SPINDRIFT_FIND_DEPENDENCIES "")
foreach(dep IN LISTS link_deps)
  if(dep MATCHES "^PkgConfig::(.*)$")
    string(APPEND SPINDRIFT_FIND_DEPENDENCIES
      "find_dependency(PkgConfig)\n"
      "pkg_check_modules(${CMAKE_MATCH_1} REQUIRED IMPORTED_TARGET ${${CMAKE_MATCH_1}_MODULE_NAME})\n")
  elseif(dep MATCHES "^([A-Za-z0-9_]+)::")
    string(APPEND SPINDRIFT_FIND_DEPENDENCIES "find_dependency(${CMAKE_MATCH_1})\n")
  else()
    message(FATAL_ERROR "packaging: no rule to find the dependency ${dep}")
  endif()
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/spindrift)
configure_package_config_file(cmake/spindrift-config.cmake.in ${CMAKE_BINARY_DIR}/generated/spindrift-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/spindrift-config-version.cmake
  COMPATIBILITY SameMinorVersion)

install(TARGETS spindrift_merged EXPORT spindrift)
if(TARGET spindrift)
  install(TARGETS spindrift)
endif()
install(EXPORT spindrift NAMESPACE spindrift:: FILE spindrift-targets.cmake DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/generated/spindrift-config.cmake
  ${CMAKE_BINARY_DIR}/generated/spindrift-config-version.cmake DESTINATION ${package_dir})
install(DIRECTORY include/spindrift DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES completions/spindrift.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME spindrift)
install(FILES completions/_spindrift DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES completions/spindrift.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

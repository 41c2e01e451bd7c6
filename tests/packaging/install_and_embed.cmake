# Installs the build into a scratch folder, builds examples/embed against nothing but that folder, and runs it.
# cmake -DBUILD=... -DSOURCE=... -P install_and_embed.cmake
set(work ${BUILD}/packaging)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "exit ${status}: ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
foreach(file bin/spindrift include/spindrift/spindrift.h share/bash-completion/completions/spindrift
    share/zsh/site-functions/_spindrift share/fish/vendor_completions.d/spindrift.fish)
  if(NOT EXISTS ${work}/prefix/${file})
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/examples/embed -B ${work}/build -DCMAKE_PREFIX_PATH=${work}/prefix
  -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/embed ${SOURCE}/models/laguna-tiny-nvfp4 ${SOURCE}/models/laguna-tiny-dflash)
if(NOT output MATCHES "def ")
  message(FATAL_ERROR "the example did not print a function but:\n${output}")
endif()
run(${work}/prefix/bin/spindrift --version)
if(NOT output MATCHES "[0-9]+\\.[0-9]+\\.[0-9]+")
  message(FATAL_ERROR "the installed program prints no version but:\n${output}")
endif()

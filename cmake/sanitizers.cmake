# Sanitized builds keep every internal check on (no NDEBUG, libstdc++ assertions) and are still optimised: tests that run
# whole models must finish. -g1 is enough for a readable report and halves the link.
if(SPINDRIFT_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
  add_compile_options(-fsanitize=${SPINDRIFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # Instrumented code confuses g++'s own analysis (libstdc++'s regex, for one); the sanitizers see the real thing.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${SPINDRIFT_SANITIZE})
endif()

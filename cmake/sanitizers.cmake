if(SPINDRIFT_SANITIZE)
  add_compile_options(-fsanitize=${SPINDRIFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SPINDRIFT_SANITIZE})
endif()

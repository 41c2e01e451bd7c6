# One interface target carries the language level, the warnings and the numeric flags. -ffp-contract=off is part of
# the row law: a compiler that fuses a*b+c on its own would change bits from one call site to the next.
add_library(spindrift_flags INTERFACE)
target_compile_features(spindrift_flags INTERFACE cxx_std_20)
target_compile_options(spindrift_flags INTERFACE
  -ffp-contract=off -fno-fast-math
  $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra> $<BUILD_INTERFACE:-Wpedantic> $<BUILD_INTERFACE:-Wshadow>
  $<BUILD_INTERFACE:-Wconversion> $<BUILD_INTERFACE:-Werror>)

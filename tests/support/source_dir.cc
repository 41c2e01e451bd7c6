#include "support/shared_dir.h"

namespace spindrift::testing {

// The only file that carries the absolute path, so that a compiler cache serves every other one to
// any clone.
std::filesystem::path repo_dir() { return SPINDRIFT_SOURCE_DIR; }

}  // namespace spindrift::testing

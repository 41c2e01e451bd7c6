#pragma once

namespace spindrift::cli {

// Weights are read in place from mapped files. Where one is shortened under the program, or its
// disk fails, the system raises SIGBUS; from here on the process then ends with kModel and one line
// that names the file.
void explain_mapped_faults();

}  // namespace spindrift::cli

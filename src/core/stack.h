#pragma once

namespace spindrift {

// Whether less than 64 KiB of the calling thread's stack are left: what recurses over input stops
// then, on a stack that is smaller than the usual one. False where the system does not say.
bool stack_is_low();

}  // namespace spindrift

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"

namespace spindrift {

struct TorchTensor {
  std::string name;
  DType dtype;  // F32, F16 or BF16
  std::vector<int64_t> shape;
  int64_t begin, end;  // bytes of the file, half open; tensors that share a storage may overlap
};

// Reads a state dictionary written by torch.save (`pytorch_model.bin`): the zip form or the legacy
// form, see docs/formats/torch-bin.md. `file` is the whole file, `file_name` starts every message.
// Nothing is executed and nothing but `file` is read; weights are touched only to compare
// checksums, see torch_file.h. Names come ascending, each once.
//
// The root must be a flat dictionary, name to tensor. Each tensor must lie inside its storage and
// be contiguous in row-major order (a size of 1 may have any stride). kUnsupported by name: another
// root, a strided tensor, element types other than float, half and bfloat16, the tar form of
// PyTorch before 0.1.10, and what io/pickle.h and io/stored_zip.h refuse.
Result<std::vector<TorchTensor>> parse_torch_bin(std::span<const std::byte> file,
                                                 std::string_view file_name);

}  // namespace spindrift

#include "io/torch_bin.h"

#include <algorithm>

#include "io/quote.h"
#include "io/tensor_text.h"
#include "io/torch_file.h"

namespace spindrift {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxRank = 16;
constexpr std::string_view kZipMagic("PK\x03\x04", 4), kZipOfNothingMagic("PK\x05\x06", 4);
constexpr size_t kTarMagicAt = 257;
constexpr std::string_view kTarMagic = "ustar";

// Turns the root dictionary of a file into tensors.
class TensorReader {
 public:
  TensorReader(const TorchFile& file, std::string_view file_name)
      : file_(file), pickle_(file.pickle), file_name_(file_name) {}

  Result<std::vector<TorchTensor>> read() const {
    if (pickle_.root.kind != Kind::kDict)
      return Error{ErrorCode::kUnsupported, std::string(file_name_) +
                                                ": expected a flat dictionary of tensors, found " +
                                                describe(pickle_, pickle_.root)};
    std::vector<TorchTensor> tensors;
    for (const PickleEntry& entry : pickle_.entries) {
      if (entry.container != pickle_.root.index) continue;
      SPINDRIFT_TRY(TorchTensor tensor, place(pickle_.text(entry.key), entry.value));
      tensors.push_back(std::move(tensor));
    }
    std::sort(tensors.begin(), tensors.end(),
              [](const TorchTensor& a, const TorchTensor& b) { return a.name < b.name; });
    const auto twice = std::adjacent_find(
        tensors.begin(), tensors.end(),
        [](const TorchTensor& a, const TorchTensor& b) { return a.name == b.name; });
    if (twice != tensors.end())
      return bad(twice->name, "each name once", "it twice", ErrorCode::kInvalid);
    return tensors;
  }

 private:
  Error bad(std::string_view tensor, const std::string& expected, const std::string& found,
            ErrorCode code) const {
    return {code, std::string(file_name_) + ": tensor " + quoted_for_message(tensor, 200) +
                      ": expected " + expected + ", found " + found};
  }

  Result<TorchTensor> place(std::string_view name, const PickleValue& value) const {
    if (value.kind != Kind::kTensor)
      return bad(name, "a tensor in a flat dictionary", describe(pickle_, value),
                 ErrorCode::kUnsupported);
    const PickleTensor& source = pickle_.tensors[value.index];
    const PickleSlice& slice = pickle_.slices[source.slice];
    TorchTensor tensor{std::string(name), pickle_.storages[slice.storage].dtype, {}, 0, 0};
    std::vector<int64_t> stride;
    SPINDRIFT_TRY_STATUS(read_sizes(name, "sizes", source.shape, tensor.shape));
    SPINDRIFT_TRY_STATUS(read_sizes(name, "strides", source.stride, stride));
    if (tensor.shape.size() != stride.size())
      return bad(name, "as many strides as sizes",
                 shape_text(tensor.shape) + " and " + shape_text(stride), ErrorCode::kInvalid);
    SPINDRIFT_TRY(const int64_t bytes, check_reach(source, slice, tensor, stride));
    // Both fit: the slice lies in its storage and the tensor in the slice.
    const int64_t size = dtype_bytes(tensor.dtype);
    tensor.begin = file_.storages[slice.storage].begin + (slice.first + source.offset) * size;
    tensor.end = tensor.begin + bytes;
    return tensor;
  }

  Status read_sizes(std::string_view name, const char* what, const PickleValue& tuple,
                    std::vector<int64_t>& out) const {
    const auto part = pickle_.elements_of(tuple);
    if (part.size() > kMaxRank)
      return bad(name, "at most " + std::to_string(kMaxRank) + ' ' + what,
                 std::to_string(part.size()), ErrorCode::kLimit);
    for (const PickleValue& value : part) {
      if (value.number < 0)
        return bad(name, std::string(what) + " that are not negative", std::to_string(value.number),
                   ErrorCode::kInvalid);
      out.push_back(value.number);
    }
    return ok_status();
  }

  // The number of bytes. Every element must lie in the slice, and they must follow one another.
  Result<int64_t> check_reach(const PickleTensor& source, const PickleSlice& slice,
                              const TorchTensor& tensor, const std::vector<int64_t>& stride) const {
    const std::vector<int64_t>& shape = tensor.shape;
    const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    int64_t count = dtype_bytes(tensor.dtype);  // in bytes first: these must fit, too
    int64_t end = source.offset;                // one past the furthest element, when there is one
    bool fits = true;
    bool contiguous = true;
    for (size_t i = shape.size(); i-- > 0 && fits;) {
      if (shape[i] == 0) continue;
      contiguous = contiguous && (shape[i] == 1 || stride[i] == count / dtype_bytes(tensor.dtype));
      int64_t step = 0;
      fits = !__builtin_mul_overflow(count, shape[i], &count) &&
             (empty || (!__builtin_mul_overflow(shape[i] - 1, stride[i], &step) &&
                        !__builtin_add_overflow(end, step, &end)));
    }
    if (!empty) fits = fits && !__builtin_add_overflow(end, 1, &end);
    if (!fits || end > slice.elements)
      return bad(tensor.name,
                 "it inside its storage of " + std::to_string(slice.elements) + " elements",
                 layout_text(source, shape, stride), ErrorCode::kCorrupt);
    if (!contiguous && !empty)
      return bad(tensor.name, "a contiguous tensor", layout_text(source, shape, stride),
                 ErrorCode::kUnsupported);
    return empty ? 0 : count;
  }

  static std::string layout_text(const PickleTensor& source, const std::vector<int64_t>& shape,
                                 const std::vector<int64_t>& stride) {
    return "sizes " + shape_text(shape) + ", strides " + shape_text(stride) + ", offset " +
           std::to_string(source.offset);
  }

  const TorchFile& file_;
  const Pickle& pickle_;
  std::string_view file_name_;
};

Result<TorchFile> read_any(std::span<const std::byte> file, std::string_view file_name) {
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min(file.size(), kTarMagicAt + kTarMagic.size()));
  if (start.starts_with(kZipMagic) || start.starts_with(kZipOfNothingMagic))
    return read_torch_zip(file, file_name);
  if (is_torch_legacy(file)) return read_torch_legacy(file, file_name);
  const bool tar = start.size() > kTarMagicAt && start.substr(kTarMagicAt).starts_with(kTarMagic);
  return Error{tar ? ErrorCode::kUnsupported : ErrorCode::kInvalid,
               std::string(file_name) +
                   ": expected a file of torch.save (zip, or its legacy form), found " +
                   (tar             ? "the tar form of PyTorch before 0.1.10"
                    : start.empty() ? "an empty file"
                                    : "bytes " + quoted_for_message(start.substr(0, 8))),
               tar ? "load it with PyTorch and save it again" : ""};
}

}  // namespace

Result<std::vector<TorchTensor>> parse_torch_bin(std::span<const std::byte> file,
                                                 std::string_view file_name) {
  SPINDRIFT_TRY(const TorchFile contents, read_any(file, file_name));
  return TensorReader(contents, file_name).read();
}

}  // namespace spindrift

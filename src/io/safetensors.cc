#include "io/safetensors.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include "io/quote.h"
#include "io/tensor_text.h"

namespace spindrift {
namespace {

namespace dom = simdjson::dom;

constexpr int64_t kLengthBytes = 8;
constexpr size_t kMaxRank = 16;
constexpr size_t kMaxDepth = 8;     // the format nests three levels
constexpr size_t kNameBytes = 200;  // of a tensor's name, in a message
// Of the format, but of no use to a loader here.
constexpr std::array<std::string_view, 11> kForeignTypes = {
    "F4",         "F6_E2M3", "F6_E3M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
    "F8_E4M3B11", "C32",     "C64",     "C128",    "F128"};

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kF8E4M3, DType::kF8E5M2,
                            DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kU32,
                            DType::kI32, DType::kU64, DType::kI64, DType::kF64, DType::kBool})
    if (dtype_name(dtype) == name) return dtype;
  return std::nullopt;
}

std::string shown(dom::element value) { return quoted_for_message(simdjson::minify(value)); }

// Turns the header's JSON into a SafetensorsHeader.
class HeaderReader {
 public:
  HeaderReader(std::string_view file_name, int64_t data_begin, int64_t data_bytes)
      : file_name_(file_name), data_bytes_(data_bytes) {
    header_.data_begin = data_begin;
  }

  // `json` must be followed by SIMDJSON_PADDING readable bytes.
  Status read(std::string_view json) {
    dom::parser parser;
    if (const auto code = parser.allocate(json.size(), kMaxDepth)) return not_json(code);
    dom::element document;
    if (const auto code = parser.parse(json.data(), json.size(), false).get(document))
      return not_json(code);
    dom::object top;
    if (document.get(top)) return not_json(simdjson::INCORRECT_TYPE);
    for (const auto [name, value] : top)
      SPINDRIFT_TRY_STATUS(name == "__metadata__" ? read_metadata(value)
                                                  : read_tensor(name, value));
    return ok_status();
  }

  SafetensorsHeader take() { return std::move(header_); }

 private:
  std::string where() const { return std::string(file_name_) + ": "; }

  Error not_json(simdjson::error_code code) const {
    return {ErrorCode::kInvalid,
            where() + "header: expected a JSON object of tensors, found broken JSON (" +
                simdjson::error_message(code) + ")"};
  }

  Error bad(const std::string& tensor, std::string_view key, const std::string& expected,
            const std::string& found, ErrorCode code = ErrorCode::kInvalid) const {
    return {code, where() + "tensor " + quoted_for_message(tensor, kNameBytes) + ": key `" +
                      std::string(key) + "`: expected " + expected + ", found " + found};
  }

  Status read_metadata(dom::element value) {
    const auto wrong = [&](const std::string& expected, const std::string& found) {
      return Error{ErrorCode::kInvalid,
                   where() + "key `__metadata__`: expected " + expected + ", found " + found};
    };
    if (has_metadata_) return wrong("it once", "it twice");
    has_metadata_ = true;
    dom::object object;
    if (value.get(object)) return wrong("a JSON object of strings", shown(value));
    for (const auto [key, element] : object) {
      std::string_view text;
      if (element.get(text)) return wrong("a JSON object of strings", shown(element));
      header_.metadata.emplace_back(key, text);
    }
    return ok_status();
  }

  Status read_tensor(std::string_view name, dom::element value) {
    const auto wrong = [&](const std::string& found) {
      return Error{ErrorCode::kInvalid,
                   where() + "tensor " + quoted_for_message(name, kNameBytes) +
                       ": expected an object of dtype, shape and data_offsets, found " + found};
    };
    dom::object object;
    if (value.get(object)) return wrong(shown(value));
    SafetensorsTensor tensor{std::string(name), DType::kF32, {}, 0, 0};
    constexpr std::array<std::string_view, 3> kKeys = {"dtype", "shape", "data_offsets"};
    std::array<bool, 3> seen{};
    for (const auto [key, field] : object) {
      const auto which =
          static_cast<size_t>(std::find(kKeys.begin(), kKeys.end(), key) - kKeys.begin());
      if (which == kKeys.size()) return wrong("the key " + quoted_for_message(key));
      if (seen[which]) return wrong("the key " + quoted_for_message(key) + " twice");
      seen[which] = true;
      SPINDRIFT_TRY_STATUS(which == 0   ? read_dtype(tensor, field)
                           : which == 1 ? read_shape(tensor, field)
                                        : read_offsets(tensor, field));
    }
    for (size_t i = 0; i < kKeys.size(); ++i)
      if (!seen[i]) return wrong("no " + std::string(kKeys[i]));
    SPINDRIFT_TRY_STATUS(check_length(tensor));
    tensor.begin += header_.data_begin;
    tensor.end += header_.data_begin;
    header_.tensors.push_back(std::move(tensor));
    return ok_status();
  }

  Status read_dtype(SafetensorsTensor& tensor, dom::element field) const {
    std::string_view text;
    if (field.get(text)) return bad(tensor.name, "dtype", "a string", shown(field));
    const std::optional<DType> dtype = dtype_from_name(text);
    if (!dtype) {
      const bool foreign =
          std::find(kForeignTypes.begin(), kForeignTypes.end(), text) != kForeignTypes.end();
      return bad(tensor.name, "dtype", "an element type such as F32, BF16, F8_E4M3 or U8",
                 shown(field), foreign ? ErrorCode::kUnsupported : ErrorCode::kInvalid);
    }
    tensor.dtype = *dtype;
    return ok_status();
  }

  // Appends the elements of an array of non-negative integers to `out`, at most `limit` of them.
  static bool read_counts(dom::element field, size_t limit, std::vector<int64_t>& out) {
    dom::array array;
    if (field.get(array)) return false;
    for (const dom::element element : array) {
      int64_t v = 0;
      if (element.get(v) || v < 0 || out.size() == limit) return false;
      out.push_back(v);
    }
    return true;
  }

  Status read_shape(SafetensorsTensor& tensor, dom::element field) const {
    if (read_counts(field, kMaxRank, tensor.shape)) return ok_status();
    return bad(tensor.name, "shape",
               "an array of at most " + std::to_string(kMaxRank) + " non-negative integers",
               shown(field));
  }

  Status read_offsets(SafetensorsTensor& tensor, dom::element field) const {
    std::vector<int64_t> offsets;
    if (!read_counts(field, 2, offsets) || offsets.size() != 2)
      return bad(tensor.name, "data_offsets", "two non-negative integers", shown(field));
    tensor.begin = offsets[0];
    tensor.end = offsets[1];
    if (tensor.begin <= tensor.end && tensor.end <= data_bytes_) return ok_status();
    return bad(tensor.name, "data_offsets",
               "begin <= end <= " + std::to_string(data_bytes_) + " (the bytes after the header)",
               shown(field), ErrorCode::kCorrupt);
  }

  Status check_length(const SafetensorsTensor& tensor) const {
    int64_t bytes = dtype_bytes(tensor.dtype);
    for (const int64_t extent : tensor.shape)
      if (__builtin_mul_overflow(bytes, extent, &bytes))
        return bad(tensor.name, "shape", "a tensor whose bytes fit in 63 bits",
                   shape_text(tensor.shape), ErrorCode::kCorrupt);
    if (bytes == tensor.end - tensor.begin) return ok_status();
    return bad(tensor.name, "data_offsets",
               std::to_string(bytes) + " bytes for " + tensor_text(tensor.dtype, tensor.shape),
               std::to_string(tensor.end - tensor.begin) + " bytes", ErrorCode::kCorrupt);
  }

  std::string_view file_name_;
  int64_t data_bytes_;
  bool has_metadata_ = false;
  SafetensorsHeader header_;
};

// Sorts by name; a name that occurs twice is an error.
Status sort_by_name(std::string_view file_name, std::vector<SafetensorsTensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(tensors.begin(), tensors.end(),
                         [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice == tensors.end()) return ok_status();
  return Error{ErrorCode::kInvalid, std::string(file_name) + ": tensor " +
                                        quoted_for_message(twice->name, kNameBytes) +
                                        ": expected each name once, found it twice"};
}

// The tensors in order of their bytes must follow one another without overlap or hole, from `first`
// to `last`.
Status check_cover(std::string_view file_name, const std::vector<SafetensorsTensor>& tensors,
                   int64_t first, int64_t last) {
  std::vector<uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(tensors[a].begin, tensors[a].end) <
           std::pair(tensors[b].begin, tensors[b].end);
  });
  int64_t at = first;
  for (const uint32_t i : order) {
    const SafetensorsTensor& tensor = tensors[i];
    if (tensor.begin != at)
      return Error{ErrorCode::kCorrupt, std::string(file_name) + ": tensor " +
                                            quoted_for_message(tensor.name, kNameBytes) +
                                            ": expected its data to begin at byte " +
                                            std::to_string(at - first) + ", found " +
                                            std::to_string(tensor.begin - first) +
                                            (tensor.begin < at ? " (overlap)" : " (hole)")};
    at = tensor.end;
  }
  if (at == last) return ok_status();
  return Error{ErrorCode::kCorrupt,
               std::string(file_name) + ": expected " + std::to_string(at - first) +
                   " bytes of data after the header, found " + std::to_string(last - first)};
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> file,
                                                   std::string_view file_name) {
  const auto file_bytes = static_cast<int64_t>(file.size());
  const auto fail = [&](ErrorCode code, const std::string& what) {
    return Error{code, std::string(file_name) + ": " + what};
  };
  if (file_bytes < kLengthBytes)
    return fail(ErrorCode::kCorrupt,
                "expected a safetensors file (8 bytes of header length first), found " +
                    std::to_string(file_bytes) + " bytes");
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) length = length << 8 | std::to_integer<uint64_t>(file[i]);
  const std::string found = "header length: expected at most ";
  if (length > static_cast<uint64_t>(file_bytes - kLengthBytes))
    return fail(ErrorCode::kCorrupt, found + std::to_string(file_bytes - kLengthBytes) +
                                         " (the rest of the file), found " +
                                         std::to_string(length));
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeaderBytes))
    return fail(ErrorCode::kLimit, found + std::to_string(kMaxSafetensorsHeaderBytes) + ", found " +
                                       std::to_string(length));
  const auto* text = reinterpret_cast<const char*>(file.data()) + kLengthBytes;
  if (length == 0 || *text != '{')
    return fail(ErrorCode::kInvalid, "header: expected a JSON object that starts with `{`, found " +
                                         (length == 0 ? "nothing" : quoted_for_message({text, 1})));

  // simdjson reads a little past the text. The data behind the header allows that; a file with less
  // needs a copy.
  const auto text_bytes = static_cast<size_t>(length);
  const size_t readable = file.size() - kLengthBytes;
  simdjson::padded_string copy;
  std::string_view json(text, text_bytes);
  if (readable - text_bytes < simdjson::SIMDJSON_PADDING) {
    copy = simdjson::padded_string(text, text_bytes);
    json = copy;
  }
  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(length);
  HeaderReader reader(file_name, data_begin, file_bytes - data_begin);
  SPINDRIFT_TRY_STATUS(reader.read(json));
  SafetensorsHeader header = reader.take();
  SPINDRIFT_TRY_STATUS(sort_by_name(file_name, header.tensors));
  SPINDRIFT_TRY_STATUS(check_cover(file_name, header.tensors, data_begin, file_bytes));
  return header;
}

}  // namespace spindrift

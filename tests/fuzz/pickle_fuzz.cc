// Any bytes as a pickle, under the rules of a tensor dictionary and of a list of keys: what is
// accepted refers only to what is there.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/check.h"
#include "io/pickle.h"

namespace {

using spindrift::Pickle;
using spindrift::PickleValue;
using Kind = PickleValue::Kind;

void check_value(const Pickle& pickle, const PickleValue& value) {
  const auto number = static_cast<uint64_t>(value.number);
  switch (value.kind) {
    case Kind::kString:
      SPINDRIFT_CHECK(value.index + number <= pickle.bytes, "a text lies in the pickle");
      break;
    case Kind::kTuple:
      SPINDRIFT_CHECK(value.index + number <= pickle.items.size(), "a tuple lies in the items");
      SPINDRIFT_CHECK(value.depth <= spindrift::kMaxPickleTupleDepth, "tuples are shallow");
      break;
    case Kind::kStorage:
      SPINDRIFT_CHECK(value.index < pickle.slices.size(), "a storage exists");
      break;
    case Kind::kTensor:
      SPINDRIFT_CHECK(value.index < pickle.tensors.size(), "a tensor exists");
      break;
    case Kind::kNone:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kGlobal:
    case Kind::kDict:
    case Kind::kList:
      break;
  }
  SPINDRIFT_CHECK(!describe(pickle, value).empty(), "a value can be described");
}

void check(std::span<const std::byte> bytes, const spindrift::PickleRules& rules) {
  const spindrift::Result<Pickle> result = read_pickle(bytes, rules, "fuzz");
  if (!result.ok()) {
    SPINDRIFT_CHECK(result.error().message.find('\n') == std::string::npos, "an error is one line");
    SPINDRIFT_CHECK(result.error().message.size() < 1000, "an error is short");
    return;
  }
  const Pickle& pickle = result.value();
  SPINDRIFT_CHECK(pickle.bytes <= bytes.size(), "the pickle ends in the input");
  SPINDRIFT_CHECK(
      pickle.items.size() + pickle.entries.size() + pickle.slices.size() <= pickle.bytes,
      "there is no more than the pickle can hold");
  check_value(pickle, pickle.root);
  for (const PickleValue& value : pickle.items) check_value(pickle, value);
  for (const auto& entry : pickle.entries) {
    check_value(pickle, entry.key);
    check_value(pickle, entry.value);
  }
  for (const auto& slice : pickle.slices) {
    SPINDRIFT_CHECK(slice.storage < pickle.storages.size(), "a slice has a storage");
    const int64_t elements = pickle.storages[slice.storage].elements;
    SPINDRIFT_CHECK(slice.first >= 0 && slice.elements >= 0 && slice.first <= elements &&
                        slice.elements <= elements - slice.first,
                    "a slice lies in its storage");
  }
  for (const auto& tensor : pickle.tensors) {
    SPINDRIFT_CHECK(tensor.slice < pickle.slices.size() && tensor.offset >= 0,
                    "a tensor has a storage");
    check_value(pickle, tensor.shape);
    check_value(pickle, tensor.stride);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check(bytes, {.tensors = true});
  check(bytes, {.tensors = true, .lists = true, .views = true});
  check(bytes, {});
  return 0;
}

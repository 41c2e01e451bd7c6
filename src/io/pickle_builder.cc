#include "io/pickle_builder.h"

#include <algorithm>
#include <array>
#include <optional>

#include "io/quote.h"

namespace spindrift {
namespace {

using Kind = PickleValue::Kind;

struct GlobalName {
  std::string_view module, name;
  PickleGlobal global;
};
constexpr std::array kGlobals = {
    GlobalName{"collections", "OrderedDict", PickleGlobal::kOrderedDict},
    GlobalName{"torch._utils", "_rebuild_tensor_v2", PickleGlobal::kRebuildTensorV2},
    GlobalName{"torch._utils", "_rebuild_parameter", PickleGlobal::kRebuildParameter},
    GlobalName{"torch", "FloatStorage", PickleGlobal::kFloatStorage},
    GlobalName{"torch", "HalfStorage", PickleGlobal::kHalfStorage},
    GlobalName{"torch", "BFloat16Storage", PickleGlobal::kBFloat16Storage},
};

std::string global_text(std::string_view module, std::string_view name) {
  return quoted_for_message(std::string(module) + '.' + std::string(name), 200);
}

std::optional<DType> storage_dtype(const PickleValue& value) {
  if (value.kind != Kind::kGlobal) return std::nullopt;
  switch (static_cast<PickleGlobal>(value.number)) {
    case PickleGlobal::kFloatStorage:
      return DType::kF32;
    case PickleGlobal::kHalfStorage:
      return DType::kF16;
    case PickleGlobal::kBFloat16Storage:
      return DType::kBf16;
    case PickleGlobal::kOrderedDict:
    case PickleGlobal::kRebuildTensorV2:
    case PickleGlobal::kRebuildParameter:
      break;
  }
  return std::nullopt;
}

Error unexpected(const std::string& expected, const std::string& found,
                 ErrorCode code = ErrorCode::kInvalid) {
  return {code, "expected " + expected + ", found " + found};
}

}  // namespace

Error PickleBuilder::mismatch(const std::string& expected, const PickleValue& found) const {
  return unexpected(expected, describe(pickle_, found));
}

Result<PickleValue> PickleBuilder::tuple(std::span<const PickleValue> items) {
  PickleValue out{.kind = Kind::kTuple,
                  .depth = 1,
                  .index = static_cast<uint32_t>(pickle_.items.size()),
                  .number = static_cast<int64_t>(items.size())};
  for (const PickleValue& item : items)
    out.depth = std::max<uint8_t>(out.depth, static_cast<uint8_t>(item.depth + 1));
  if (out.depth > kMaxPickleTupleDepth)
    return unexpected("tuples at most " + std::to_string(kMaxPickleTupleDepth) + " deep",
                      "a deeper one", ErrorCode::kLimit);
  pickle_.items.insert(pickle_.items.end(), items.begin(), items.end());
  return out;
}

PickleValue PickleBuilder::container(Kind kind, bool ordered) {
  sizes_.push_back(0);
  return {
      .kind = kind, .index = static_cast<uint32_t>(sizes_.size() - 1), .number = ordered ? 1 : 0};
}

Status PickleBuilder::add(const PickleValue& container, const PickleValue& key,
                          const PickleValue& value) {
  if (container.kind == Kind::kDict && key.kind != Kind::kString)
    return mismatch("a text as key", key);
  ++sizes_[container.index];
  pickle_.entries.push_back({container.index, key, value});
  return ok_status();
}

Result<PickleValue> PickleBuilder::global(std::string_view module, std::string_view name) const {
  for (const GlobalName& known : kGlobals)
    if (known.module == module && known.name == name)
      return PickleValue{.kind = Kind::kGlobal, .number = static_cast<int64_t>(known.global)};
  const bool storage = module == "torch" && name.ends_with("Storage");
  return unexpected(
      storage ? "a storage of type Float, Half or BFloat16" : "a global of a dictionary of tensors",
      global_text(module, name), ErrorCode::kUnsupported);
}

Result<PickleValue> PickleBuilder::storage(const PickleValue& id) {
  const auto bad = [&](const char* with, const PickleValue& found) {
    return mismatch(std::string("a persistent id (`storage`, type, key, location, count)") + with,
                    found);
  };
  if (id.kind != Kind::kTuple) return bad("", id);
  const auto part = pickle_.elements_of(id);
  if (part.size() != 5 && !(views_ && part.size() == 6)) return bad("", id);
  if (part[0].kind != Kind::kString || pickle_.text(part[0]) != "storage")
    return bad(" that starts with `storage`", part[0]);
  const std::optional<DType> dtype = storage_dtype(part[1]);
  if (!dtype) return bad(" with a storage type", part[1]);
  if (part[2].kind != Kind::kString) return bad(" with a text as key", part[2]);
  if (part[3].kind != Kind::kString) return bad(" with a text as location", part[3]);
  if (part[4].kind != Kind::kInt || part[4].number < 0)
    return bad(" with a count that is not negative", part[4]);
  SPINDRIFT_TRY(const uint32_t number,
                storage_number({pickle_.text(part[2]), *dtype, part[4].number}));
  PickleSlice slice{number, 0, part[4].number};
  if (part.size() == 6 && part[5].kind != Kind::kNone)
    SPINDRIFT_TRY_STATUS(read_view(part[5], slice));
  pickle_.slices.push_back(slice);
  return PickleValue{.kind = Kind::kStorage,
                     .index = static_cast<uint32_t>(pickle_.slices.size() - 1)};
}

// The same key always stands for the same storage.
Result<uint32_t> PickleBuilder::storage_number(const PickleStorage& storage) {
  const auto [at, added] =
      storage_of_key_.try_emplace(storage.key, static_cast<uint32_t>(pickle_.storages.size()));
  if (added) {
    pickle_.storages.push_back(storage);
    return at->second;
  }
  const PickleStorage& before = pickle_.storages[at->second];
  if (before.dtype == storage.dtype && before.elements == storage.elements) return at->second;
  const auto text = [](const PickleStorage& s) {
    return std::to_string(s.elements) + " of " + std::string(dtype_name(s.dtype));
  };
  return unexpected("storage " + quoted_for_message(storage.key) + " as before, " + text(before),
                    text(storage), ErrorCode::kCorrupt);
}

// (key, first, count): a part of a storage.
Status PickleBuilder::read_view(const PickleValue& view, PickleSlice& slice) const {
  const std::string expected = "a view (key, first, count) inside its storage";
  if (view.kind != Kind::kTuple) return mismatch(expected, view);
  const auto part = pickle_.elements_of(view);
  if (part.size() != 3 || part[0].kind != Kind::kString || part[1].kind != Kind::kInt ||
      part[2].kind != Kind::kInt)
    return mismatch(expected, view);
  const int64_t first = part[1].number, count = part[2].number;
  if (first < 0 || count < 0 || first > slice.elements || count > slice.elements - first)
    return unexpected(expected,
                      "first " + std::to_string(first) + " and count " + std::to_string(count) +
                          " of " + std::to_string(slice.elements),
                      ErrorCode::kCorrupt);
  slice.first = first;
  slice.elements = count;
  return ok_status();
}

Result<PickleValue> PickleBuilder::reduce(const PickleValue& callee, const PickleValue& arguments) {
  if (callee.kind != Kind::kGlobal) return mismatch("a global below the arguments", callee);
  if (arguments.kind != Kind::kTuple) return mismatch("a tuple of arguments", arguments);
  switch (static_cast<PickleGlobal>(callee.number)) {
    case PickleGlobal::kOrderedDict:
      if (arguments.number != 0) return mismatch("OrderedDict without arguments", arguments);
      return container(Kind::kDict, true);
    case PickleGlobal::kRebuildTensorV2:
      return tensor(arguments);
    case PickleGlobal::kRebuildParameter:
      return parameter(arguments);
    case PickleGlobal::kFloatStorage:
    case PickleGlobal::kHalfStorage:
    case PickleGlobal::kBFloat16Storage:
      break;
  }
  return mismatch("a function", callee);
}

Result<PickleValue> PickleBuilder::tensor(const PickleValue& arguments) {
  const auto bad = [&](const char* with, const PickleValue& found) {
    return mismatch(
        std::string("_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)") +
            with,
        found);
  };
  const auto part = pickle_.elements_of(arguments);
  if (part.size() != 6 && part.size() != 7) return bad("", arguments);
  if (part[0].kind != Kind::kStorage) return bad(" with a storage", part[0]);
  if (part[1].kind != Kind::kInt || part[1].number < 0)
    return bad(" with an offset that is not negative", part[1]);
  if (!integers(part[2])) return bad(" with a size of integers", part[2]);
  if (!integers(part[3])) return bad(" with a stride of integers", part[3]);
  if (part[4].kind != Kind::kBool) return bad(" with a bool", part[4]);
  if (!empty_dict(part[5])) return bad(" without hooks", part[5]);
  if (part.size() == 7 && part[6].kind != Kind::kNone && !empty_dict(part[6]))
    return bad(" without metadata such as a negative bit", part[6]);
  pickle_.tensors.push_back({part[0].index, part[1].number, part[2], part[3]});
  return PickleValue{.kind = Kind::kTensor,
                     .index = static_cast<uint32_t>(pickle_.tensors.size() - 1)};
}

Result<PickleValue> PickleBuilder::parameter(const PickleValue& arguments) const {
  const auto part = pickle_.elements_of(arguments);
  if (part.size() != 3 || part[0].kind != Kind::kTensor || part[1].kind != Kind::kBool ||
      !empty_dict(part[2]))
    return mismatch("_rebuild_parameter(tensor, requires_grad, hooks) without hooks", arguments);
  return part[0];
}

bool PickleBuilder::empty_dict(const PickleValue& value) const {
  return value.kind == Kind::kDict && sizes_[value.index] == 0;
}

bool PickleBuilder::integers(const PickleValue& value) const {
  if (value.kind != Kind::kTuple) return false;
  const auto part = pickle_.elements_of(value);
  return std::all_of(part.begin(), part.end(),
                     [](const PickleValue& v) { return v.kind == Kind::kInt; });
}

std::string_view Pickle::text(const PickleValue& value) const {
  return {reinterpret_cast<const char*>(source.data()) + value.index,
          static_cast<size_t>(value.number)};
}

std::span<const PickleValue> Pickle::elements_of(const PickleValue& value) const {
  return std::span(items).subspan(value.index, static_cast<size_t>(value.number));
}

std::string describe(const Pickle& pickle, const PickleValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      return "None";
    case Kind::kBool:
      return value.number != 0 ? "True" : "False";
    case Kind::kInt:
      return "the integer " + std::to_string(value.number);
    case Kind::kString:
      return "the text " + quoted_for_message(pickle.text(value));
    case Kind::kGlobal: {
      const GlobalName& known = kGlobals[static_cast<size_t>(value.number)];
      return "the global " + global_text(known.module, known.name);
    }
    case Kind::kTuple:
      return "a tuple of " + std::to_string(value.number);
    case Kind::kDict:
      return value.number != 0 ? "an OrderedDict" : "a dictionary";
    case Kind::kList:
      return "a list";
    case Kind::kStorage:
      return "a storage";
    case Kind::kTensor:
      return "a tensor";
  }
  return "nothing";
}

}  // namespace spindrift

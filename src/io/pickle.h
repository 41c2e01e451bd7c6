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

// The globals a pickle may name; none of them is ever called, they select what a REDUCE builds.
enum class PickleGlobal : uint8_t {
  kOrderedDict,       // collections.OrderedDict
  kRebuildTensorV2,   // torch._utils._rebuild_tensor_v2
  kRebuildParameter,  // torch._utils._rebuild_parameter
  kFloatStorage,      // torch.FloatStorage
  kHalfStorage,       // torch.HalfStorage
  kBFloat16Storage,   // torch.BFloat16Storage
};

// One value of a pickle. What `index` and `number` mean depends on the kind.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,     // number: 0 or 1
    kInt,      // number
    kString,   // UTF-8 text at Pickle::source[index], `number` bytes
    kGlobal,   // number: a PickleGlobal
    kTuple,    // Pickle::items[index], `number` of them
    kDict,     // index: which container; number: 1 when it is an OrderedDict
    kList,     // index: which container
    kStorage,  // index: into Pickle::slices
    kTensor,   // index: into Pickle::tensors
  };
  Kind kind = Kind::kNone;
  uint8_t depth = 0;  // of a tuple: how many tuples are nested in it, itself included
  uint32_t index = 0;
  int64_t number = 0;
};

// An element of a dictionary or list; a list's keys are none.
struct PickleEntry {
  uint32_t container;
  PickleValue key, value;
};

struct PickleStorage {
  std::string_view key;  // names its bytes in the file
  DType dtype;
  int64_t elements;
};

// What a persistent id stands for: a whole storage, or in the legacy form possibly a part of one.
struct PickleSlice {
  uint32_t storage;
  int64_t first, elements;  // first + elements <= the storage's elements
};

struct PickleTensor {
  uint32_t slice;
  int64_t offset;             // elements from the slice's first; not negative
  PickleValue shape, stride;  // tuples of integers, of whatever value
};

// What one pickle holds. Texts are views of `source`.
struct Pickle {
  std::span<const std::byte> source;
  PickleValue root;
  std::vector<PickleValue> items;       // of all tuples
  std::vector<PickleEntry> entries;     // of all dictionaries and lists, as they were added
  std::vector<PickleStorage> storages;  // each key once, in order of appearance
  std::vector<PickleSlice> slices;
  std::vector<PickleTensor> tensors;
  size_t bytes = 0;  // of `source`, up to and with STOP

  std::string_view text(const PickleValue& value) const;                     // of a kString
  std::span<const PickleValue> elements_of(const PickleValue& value) const;  // of a kTuple
};

// What a pickle may contain beyond plain values and dictionaries.
struct PickleRules {
  bool tensors = false;  // globals, persistent ids, REDUCE and BUILD
  bool lists = false;
  bool views = false;  // a persistent id may have the legacy form's sixth item
};

inline constexpr int64_t kMaxPickleBytes = 16 * 1024 * 1024;
inline constexpr size_t kMaxPickleStack = 65536;
inline constexpr size_t kMaxPickleMarks = 64;
inline constexpr uint8_t kMaxPickleTupleDepth = 8;

// Reads the pickle at the start of `source` with a machine that knows the opcodes and globals of a
// state dictionary written by torch.save with pickle protocol 2, and nothing else. Nothing is
// executed or called and there is no recursion. The result and the work are linear in the pickle's
// length, about 64 bytes for each of its bytes at worst.
//
// What it refuses, with the byte's position and the name of what was found: any other opcode or
// global (kUnsupported), a protocol other than 2, a second PROTO, memo slots that are not numbered
// in order, integers that are negative as LONG1 or need more than 8 bytes, dictionary keys that are
// not strings, text that is not UTF-8, BUILD on anything but the root OrderedDict (its state is
// dropped), hooks or metadata on a tensor, more stack, marks or nesting than the limits above
// (kLimit), and a pickle that ends before its STOP (kCorrupt). Bytes after STOP are the caller's.
// `where` (file and record) starts every message.
Result<Pickle> read_pickle(std::span<const std::byte> source, const PickleRules& rules,
                           std::string_view where);

// A value in a message: "the integer 7", "a tuple of 3".
std::string describe(const Pickle& pickle, const PickleValue& value);

}  // namespace spindrift

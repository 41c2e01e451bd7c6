#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "io/little_endian.h"
#include "io/quote.h"
#include "io/torch_file.h"

namespace spindrift {
namespace {

using Kind = PickleValue::Kind;

// A pickle (protocol 2) of the number 0x1950a86a20f9469cfc6c.
constexpr std::array<uint8_t, 15> kMagic = {0x80, 0x02, 0x8A, 0x0A, 0x6C, 0xFC, 0x9C, 0x46,
                                            0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19, 0x2E};
constexpr int64_t kProtocolVersion = 1001;
constexpr size_t kCountBytes = 8;

class TorchLegacy {
 public:
  TorchLegacy(std::span<const std::byte> file, std::string_view file_name)
      : file_(file), file_name_(file_name), at_(kMagic.size()) {}

  Result<TorchFile> read() {
    SPINDRIFT_TRY(const Pickle version, next_pickle("protocol version", {}));
    if (version.root.kind != Kind::kInt || version.root.number != kProtocolVersion)
      return fail(ErrorCode::kUnsupported,
                  "protocol version: expected 1001, found " + describe(version, version.root));
    SPINDRIFT_TRY(const Pickle system, next_pickle("system", {}));
    SPINDRIFT_TRY_STATUS(check_system(system));
    SPINDRIFT_TRY(Pickle object, next_pickle("object", {.tensors = true, .views = true}));
    SPINDRIFT_TRY(const Pickle keys, next_pickle("storage keys", {.lists = true}));
    SPINDRIFT_TRY(std::vector<ByteRange> storages, place_storages(object, keys));
    return TorchFile{std::move(object), std::move(storages)};
  }

 private:
  Error fail(ErrorCode code, const std::string& what) const {
    return {code, std::string(file_name_) + ": " + what};
  }

  Result<Pickle> next_pickle(const char* what, const PickleRules& rules) {
    const std::string where =
        std::string(file_name_) + ": pickle of the " + what + " at byte " + std::to_string(at_);
    SPINDRIFT_TRY(Pickle pickle, read_pickle(file_.subspan(at_), rules, where));
    at_ += pickle.bytes;
    return pickle;
  }

  // Of the writer's system only the byte order matters; protocol and type sizes say nothing new.
  Status check_system(const Pickle& system) const {
    if (system.root.kind != Kind::kDict)
      return fail(ErrorCode::kInvalid,
                  "system: expected a dictionary, found " + describe(system, system.root));
    for (const PickleEntry& entry : system.entries) {
      if (entry.container != system.root.index || system.text(entry.key) != "little_endian")
        continue;
      if (entry.value.kind == Kind::kBool && entry.value.number == 1) return ok_status();
      return fail(ErrorCode::kUnsupported, "system, key `little_endian`: expected True, found " +
                                               describe(system, entry.value));
    }
    return fail(ErrorCode::kInvalid, "system: expected a key `little_endian`, found none");
  }

  Error bad_storage(std::string_view key, const std::string& expected,
                    const std::string& found) const {
    return fail(ErrorCode::kCorrupt, "storage " + quoted_for_message(key) + ": expected " +
                                         expected + ", found " + found);
  }

  // Walks over the data in the order of the keys.
  Result<std::vector<ByteRange>> place_storages(const Pickle& object, const Pickle& keys) {
    if (keys.root.kind != Kind::kList)
      return fail(ErrorCode::kInvalid,
                  "storage keys: expected a list, found " + describe(keys, keys.root));
    std::map<std::string_view, size_t> wanted;
    for (size_t i = 0; i < object.storages.size(); ++i) wanted[object.storages[i].key] = i;
    std::vector<ByteRange> ranges(object.storages.size());
    for (const PickleEntry& entry : keys.entries) {
      if (entry.container != keys.root.index || entry.value.kind != Kind::kString)
        return fail(ErrorCode::kInvalid,
                    "storage keys: expected texts only, found " + describe(keys, entry.value));
      const std::string_view key = keys.text(entry.value);
      const auto at = wanted.find(key);
      if (at == wanted.end())
        return bad_storage(key, "a tensor that uses it", "none, or the key twice");
      SPINDRIFT_TRY(ranges[at->second], next_storage(object.storages[at->second]));
      wanted.erase(at);
    }
    if (!wanted.empty())
      return bad_storage(wanted.begin()->first, "its key in the list of keys", "it missing");
    if (at_ != file_.size())
      return fail(ErrorCode::kCorrupt, "expected the end of the file at byte " +
                                           std::to_string(at_) +
                                           ", behind the last storage, found " +
                                           std::to_string(file_.size() - at_) + " more bytes");
    return ranges;
  }

  Result<ByteRange> next_storage(const PickleStorage& storage) {
    const size_t rest = file_.size() - at_;
    if (rest < kCountBytes)
      return bad_storage(storage.key, "its element count", "the end of the file");
    const auto count = static_cast<int64_t>(little_endian<uint64_t>(file_, at_));
    if (count != storage.elements)
      return bad_storage(storage.key, std::to_string(storage.elements) + " elements",
                         std::to_string(count));
    int64_t bytes = 0;
    if (__builtin_mul_overflow(count, dtype_bytes(storage.dtype), &bytes) ||
        static_cast<uint64_t>(bytes) > rest - kCountBytes)
      return bad_storage(storage.key, std::to_string(count) + " elements inside the file",
                         std::to_string(rest - kCountBytes) + " bytes");
    const auto begin = static_cast<int64_t>(at_ + kCountBytes);
    at_ += kCountBytes + static_cast<size_t>(bytes);
    return ByteRange{begin, begin + bytes};
  }

  std::span<const std::byte> file_;
  std::string_view file_name_;
  size_t at_;
};

}  // namespace

bool is_torch_legacy(std::span<const std::byte> file) {
  return file.size() >= kMagic.size() &&
         std::equal(kMagic.begin(), kMagic.end(), file.begin(),
                    [](uint8_t a, std::byte b) { return std::byte{a} == b; });
}

Result<TorchFile> read_torch_legacy(std::span<const std::byte> file, std::string_view file_name) {
  return TorchLegacy(file, file_name).read();
}

}  // namespace spindrift

#include <algorithm>
#include <string>

#include "io/crc32.h"
#include "io/quote.h"
#include "io/stored_zip.h"
#include "io/torch_file.h"

namespace spindrift {
namespace {

constexpr std::string_view kPickleRecord = "data.pkl", kDataFolder = "data/";
constexpr int64_t kMaxTextRecordBytes = 16;  // version, byteorder
constexpr int kMaxVersion = 10;              // the newest that PyTorch itself reads

// "0", "17": how torch.save names storages.
bool storage_key(std::string_view key) {
  return !key.empty() && key.size() <= 19 && (key == "0" || key.front() != '0') &&
         std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class TorchZip {
 public:
  TorchZip(std::span<const std::byte> file, std::string_view file_name)
      : file_(file), file_name_(file_name) {}

  Result<TorchFile> read() {
    SPINDRIFT_TRY(entries_, read_stored_zip(file_, file_name_));
    SPINDRIFT_TRY_STATUS(find_prefix());
    SPINDRIFT_TRY_STATUS(check_records());
    SPINDRIFT_TRY_STATUS(check_version());
    SPINDRIFT_TRY_STATUS(check_byte_order());
    const ZipEntry& record = *find(kPickleRecord);
    const std::string where = std::string(file_name_) + ": record " + quoted(record);
    SPINDRIFT_TRY(Pickle pickle, read_pickle(bytes(record), {.tensors = true}, where));
    if (pickle.bytes != bytes(record).size())
      return bad(record, "its end at byte " + std::to_string(pickle.bytes) + ", behind STOP",
                 std::to_string(bytes(record).size()) + " bytes", ErrorCode::kInvalid);
    SPINDRIFT_TRY(std::vector<ByteRange> storages, place_storages(pickle));
    return TorchFile{std::move(pickle), std::move(storages)};
  }

 private:
  static std::string quoted(const ZipEntry& entry) { return quoted_for_message(entry.name, 200); }
  Error fail(ErrorCode code, const std::string& what) const {
    return {code, std::string(file_name_) + ": " + what};
  }
  Error bad(const ZipEntry& entry, const std::string& expected, const std::string& found,
            ErrorCode code = ErrorCode::kCorrupt) const {
    return fail(code, "record " + quoted(entry) + ": expected " + expected + ", found " + found);
  }

  std::span<const std::byte> bytes(const ZipEntry& entry) const {
    return file_.subspan(static_cast<size_t>(entry.begin),
                         static_cast<size_t>(entry.end - entry.begin));
  }
  std::string_view text(const ZipEntry& entry) const {
    return {reinterpret_cast<const char*>(bytes(entry).data()), bytes(entry).size()};
  }

  // The record of this name inside the top folder; null when absent.
  const ZipEntry* find(std::string_view record) const {
    const std::string name = prefix_ + std::string(record);
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), name,
                         [](const ZipEntry& e, const std::string& n) { return e.name < n; });
    return at == entries_.end() || at->name != name ? nullptr : &*at;
  }

  // The top folder is the one that holds data.pkl.
  Status find_prefix() {
    for (const ZipEntry& entry : entries_) {
      const size_t slash = entry.name.find('/');
      if (slash == std::string_view::npos || entry.name.substr(slash + 1) != kPickleRecord)
        continue;
      if (!prefix_.empty()) return bad(entry, "one data.pkl in a top folder", "another one");
      prefix_ = entry.name.substr(0, slash + 1);
    }
    if (!prefix_.empty()) return ok_status();
    return fail(ErrorCode::kInvalid,
                "expected a zip file of torch.save with a record FOLDER/data.pkl, found none");
  }

  Status check_records() const {
    const bool all = static_cast<int64_t>(file_.size()) <= kMaxCheckedFileBytes;
    for (const ZipEntry& entry : entries_) {
      if (!entry.name.starts_with(prefix_))
        return bad(entry, "every record in the folder " + quoted_for_message(prefix_, 200),
                   "it outside", ErrorCode::kUnsupported);
      const std::string_view record = entry.name.substr(prefix_.size());
      const bool data =
          record.starts_with(kDataFolder) && storage_key(record.substr(kDataFolder.size()));
      if (!data && record != kPickleRecord && record != "version" && record != "byteorder" &&
          !record.starts_with('.'))
        return bad(entry, "data.pkl, data/N, version, byteorder or a name with a leading dot",
                   "another record", ErrorCode::kUnsupported);
      if (record == kPickleRecord && entry.end - entry.begin > kMaxPickleBytes)
        return bad(entry, "at most " + std::to_string(kMaxPickleBytes) + " bytes",
                   std::to_string(entry.end - entry.begin), ErrorCode::kLimit);
      if ((all || !data) && crc32(bytes(entry)) != entry.crc32)
        return bad(entry, "bytes with the checksum of the zip directory", "other bytes");
    }
    return ok_status();
  }

  Status check_version() const {
    const ZipEntry* entry = find("version");
    if (entry == nullptr)
      return fail(ErrorCode::kInvalid, "expected a record `version`, found none");
    std::string_view digits = text(*entry);
    if (digits.ends_with('\n')) digits.remove_suffix(1);
    for (int version = 1; version <= kMaxVersion; ++version)
      if (digits == std::to_string(version)) return ok_status();
    return bad(*entry, "a version from 1 to " + std::to_string(kMaxVersion),
               quoted_for_message(text(*entry).substr(0, kMaxTextRecordBytes)),
               ErrorCode::kUnsupported);
  }

  Status check_byte_order() const {
    const ZipEntry* entry = find("byteorder");  // torch before 2.1 wrote none, on any machine
    if (entry == nullptr || text(*entry) == "little") return ok_status();
    return bad(*entry, "`little`", quoted_for_message(text(*entry).substr(0, kMaxTextRecordBytes)),
               ErrorCode::kUnsupported);
  }

  Result<std::vector<ByteRange>> place_storages(const Pickle& pickle) const {
    std::vector<ByteRange> ranges;
    ranges.reserve(pickle.storages.size());
    for (const PickleStorage& storage : pickle.storages) {
      const std::string name = std::string(kDataFolder) + std::string(storage.key.substr(0, 20));
      const ZipEntry* entry = storage_key(storage.key) ? find(name) : nullptr;
      if (entry == nullptr)
        return fail(ErrorCode::kCorrupt, "storage " + quoted_for_message(storage.key) +
                                             ": expected a record data/N, found none");
      int64_t size = 0;
      if (__builtin_mul_overflow(storage.elements, dtype_bytes(storage.dtype), &size) ||
          size != entry->end - entry->begin)
        return bad(*entry,
                   std::to_string(storage.elements) + " elements of " +
                       std::string(dtype_name(storage.dtype)),
                   std::to_string(entry->end - entry->begin) + " bytes");
      ranges.push_back({entry->begin, entry->end});
    }
    SPINDRIFT_TRY_STATUS(check_all_used(pickle));
    return ranges;
  }

  // Every storage has its own data record, so the counts are equal unless some record is left over.
  Status check_all_used(const Pickle& pickle) const {
    std::vector<std::string_view> keys;
    keys.reserve(pickle.storages.size());
    for (const PickleStorage& storage : pickle.storages) keys.push_back(storage.key);
    std::sort(keys.begin(), keys.end());
    for (const ZipEntry& entry : entries_) {
      const std::string_view record = entry.name.substr(prefix_.size());
      if (record.starts_with(kDataFolder) &&
          !std::binary_search(keys.begin(), keys.end(), record.substr(kDataFolder.size())))
        return bad(entry, "a storage of data.pkl that uses it", "none");
    }
    return ok_status();
  }

  std::span<const std::byte> file_;
  std::string_view file_name_;
  std::vector<ZipEntry> entries_;  // names ascending
  std::string prefix_;             // the top folder with its slash
};

}  // namespace

Result<TorchFile> read_torch_zip(std::span<const std::byte> file, std::string_view file_name) {
  return TorchZip(file, file_name).read();
}

}  // namespace spindrift

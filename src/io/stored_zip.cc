#include "io/stored_zip.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/utf8.h"
#include "io/little_endian.h"
#include "io/quote.h"

namespace spindrift {
namespace {

constexpr uint32_t kLocalMagic = 0x04034B50, kCentralMagic = 0x02014B50, kEndMagic = 0x06054B50,
                   kEnd64Magic = 0x06064B50, kLocator64Magic = 0x07064B50,
                   kDescriptorMagic = 0x08074B50;
constexpr int64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                  kLocator64Bytes = 20, kDescriptorBytes = 16, kDescriptor64Bytes = 24;
constexpr uint16_t kFlagDescriptor = 1U << 3, kFlagUtf8 = 1U << 11;
constexpr uint16_t kExtraZip64 = 0x0001, kExtraPadding = 0x4246;
constexpr uint16_t kFull16 = 0xFFFF;      // the value stands in the zip64 record instead
constexpr uint32_t kFull32 = 0xFFFFFFFF;  // the same

struct Directory {
  uint64_t entries, begin, end;
};

struct Entry {
  std::string_view name;
  uint16_t flags;
  uint32_t crc32;
  uint64_t bytes, local;  // size of the data; where the local header is
};

bool safe_name(std::string_view name) {
  if (name.empty() || !valid_utf8(name)) return false;
  if (std::any_of(name.begin(), name.end(), [](char c) {
        return c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
      }))
    return false;
  while (true) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> file, std::string_view file_name)
      : file_(file), file_name_(file_name) {}

  Result<std::vector<ZipEntry>> read() {
    SPINDRIFT_TRY(const Directory directory, find_directory());
    SPINDRIFT_TRY(std::vector<Entry> entries, read_directory(directory));
    // In order of their places they must follow one another without hole or overlap.
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.local < b.local; });
    const uint64_t first = entries.empty() ? directory.begin : entries.front().local;
    if (first != 0)
      return fail(ErrorCode::kCorrupt,
                  "expected the first zip entry at byte 0, found it at " + std::to_string(first));
    std::vector<ZipEntry> out;
    out.reserve(entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      const uint64_t next = i + 1 < entries.size() ? entries[i + 1].local : directory.begin;
      SPINDRIFT_TRY(const ZipEntry placed, check_local(entries[i], next));
      out.push_back(placed);
    }
    std::sort(out.begin(), out.end(),
              [](const ZipEntry& a, const ZipEntry& b) { return a.name < b.name; });
    const auto twice =
        std::adjacent_find(out.begin(), out.end(),
                           [](const ZipEntry& a, const ZipEntry& b) { return a.name == b.name; });
    if (twice != out.end()) return bad(twice->name, "it once", "it twice");
    return out;
  }

 private:
  Error fail(ErrorCode code, const std::string& what) const {
    return {code, std::string(file_name_) + ": " + what};
  }
  Error bad(std::string_view entry, const std::string& expected, const std::string& found,
            ErrorCode code = ErrorCode::kCorrupt) const {
    return fail(code, "zip entry " + quoted_for_message(entry, 200) + ": expected " + expected +
                          ", found " + found);
  }

  template <class T>
  T number(uint64_t at) const {
    return little_endian<T>(file_, static_cast<size_t>(at));
  }
  std::string_view text(uint64_t at, uint64_t bytes) const {
    return {reinterpret_cast<const char*>(file_.data()) + at, static_cast<size_t>(bytes)};
  }

  // --- the end records --------------------------------------------------------------------------
  Result<Directory> find_directory() const {
    const uint64_t size = file_.size();
    if (size < kEndBytes || number<uint32_t>(size - kEndBytes) != kEndMagic)
      return fail(ErrorCode::kCorrupt,
                  "expected a zip file that ends with its end record, found other bytes (a cut "
                  "file, a comment, or something behind it)");
    const uint64_t end = size - kEndBytes;
    if (number<uint16_t>(end + 20) != 0)
      return fail(ErrorCode::kUnsupported, "expected a zip file without comment, found one");
    const uint16_t disk = number<uint16_t>(end + 4), first_disk = number<uint16_t>(end + 6);
    const uint16_t entries_here = number<uint16_t>(end + 8), entries = number<uint16_t>(end + 10);
    const uint32_t bytes = number<uint32_t>(end + 12), begin = number<uint32_t>(end + 16);
    if (disk != 0 || first_disk != 0 || entries_here != entries)
      return fail(ErrorCode::kUnsupported, "expected a zip file on one disk, found parts of more");

    SPINDRIFT_TRY(const std::optional<Directory> large, find_directory64(end));
    if (!large) return checked({entries, begin, end}, bytes);
    const uint64_t bytes64 = large->end - large->begin;
    const auto agrees = [](uint64_t value, uint64_t value64, uint64_t full) {
      return value == full || value == value64;
    };
    if (!agrees(entries, large->entries, kFull16) || !agrees(bytes, bytes64, kFull32) ||
        !agrees(begin, large->begin, kFull32))
      return fail(ErrorCode::kCorrupt,
                  "expected the zip end record and the zip64 one to agree, found a difference");
    return *large;
  }

  // The zip64 end record, found through its locator in front of the end record at `end`; nothing
  // when there is no locator.
  Result<std::optional<Directory>> find_directory64(uint64_t end) const {
    if (end < kLocator64Bytes) return std::optional<Directory>();
    const uint64_t locator = end - kLocator64Bytes;
    if (number<uint32_t>(locator) != kLocator64Magic) return std::optional<Directory>();
    if (number<uint32_t>(locator + 4) != 0 || number<uint32_t>(locator + 16) != 1)
      return fail(ErrorCode::kUnsupported, "expected a zip file on one disk, found parts of more");
    const uint64_t place = number<uint64_t>(locator + 8);
    if (locator < kEnd64Bytes || place != locator - kEnd64Bytes ||
        number<uint32_t>(place) != kEnd64Magic || number<uint64_t>(place + 4) != kEnd64Bytes - 12)
      return fail(ErrorCode::kCorrupt,
                  "expected a zip64 end record of 56 bytes in front of its locator, found none");
    const uint64_t entries_here = number<uint64_t>(place + 24),
                   entries = number<uint64_t>(place + 32);
    if (number<uint32_t>(place + 16) != 0 || number<uint32_t>(place + 20) != 0 ||
        entries_here != entries)
      return fail(ErrorCode::kUnsupported, "expected a zip file on one disk, found parts of more");
    SPINDRIFT_TRY(const Directory directory, checked({entries, number<uint64_t>(place + 48), place},
                                                     number<uint64_t>(place + 40)));
    return std::optional(directory);
  }

  // The directory must end where the end records begin and have room for its entries.
  Result<Directory> checked(const Directory& directory, uint64_t bytes) const {
    if (directory.begin > directory.end || bytes != directory.end - directory.begin)
      return fail(ErrorCode::kCorrupt, "expected a zip directory that ends at byte " +
                                           std::to_string(directory.end) + ", found " +
                                           std::to_string(bytes) + " bytes at byte " +
                                           std::to_string(directory.begin));
    if (directory.entries > bytes / kCentralBytes)
      return fail(ErrorCode::kCorrupt, "expected at most " + std::to_string(bytes / kCentralBytes) +
                                           " entries in a zip directory of " +
                                           std::to_string(bytes) + " bytes, found " +
                                           std::to_string(directory.entries));
    return directory;
  }

  // --- the directory ----------------------------------------------------------------------------
  Result<std::vector<Entry>> read_directory(const Directory& directory) const {
    std::vector<Entry> entries;
    entries.reserve(static_cast<size_t>(directory.entries));
    uint64_t at = directory.begin;
    for (uint64_t i = 0; i < directory.entries; ++i) {
      if (directory.end - at < kCentralBytes || number<uint32_t>(at) != kCentralMagic)
        return fail(ErrorCode::kCorrupt, "expected entry " + std::to_string(i + 1) + " of " +
                                             std::to_string(directory.entries) +
                                             " of the zip directory at byte " + std::to_string(at) +
                                             ", found other bytes");
      const uint64_t name_bytes = number<uint16_t>(at + 28),
                     extra_bytes = number<uint16_t>(at + 30),
                     comment_bytes = number<uint16_t>(at + 32);
      if (directory.end - at - kCentralBytes < name_bytes + extra_bytes + comment_bytes)
        return fail(ErrorCode::kCorrupt, "expected the zip directory's entry at byte " +
                                             std::to_string(at) +
                                             " inside the directory, found a longer one");
      SPINDRIFT_TRY(const Entry entry, read_central(directory, at));
      entries.push_back(entry);
      at += kCentralBytes + name_bytes + extra_bytes + comment_bytes;
    }
    if (at != directory.end)
      return fail(ErrorCode::kCorrupt,
                  "expected a zip directory of " + std::to_string(directory.entries) +
                      " entries that ends at byte " + std::to_string(directory.end) +
                      ", found its end at " + std::to_string(at));
    return entries;
  }

  Result<Entry> read_central(const Directory& directory, uint64_t at) const {
    const uint64_t name_bytes = number<uint16_t>(at + 28), extra_bytes = number<uint16_t>(at + 30);
    Entry entry{text(at + kCentralBytes, name_bytes), number<uint16_t>(at + 8),
                number<uint32_t>(at + 16), number<uint32_t>(at + 24), number<uint32_t>(at + 42)};
    if (!safe_name(entry.name))
      return bad(entry.name, "a relative path in UTF-8 without `.`, `..`, `\\`, `:`",
                 "another name", ErrorCode::kInvalid);
    SPINDRIFT_TRY_STATUS(check_kind(entry, number<uint16_t>(at + 10)));
    if (number<uint16_t>(at + 32) != 0)
      return bad(entry.name, "no comment", "one", ErrorCode::kUnsupported);
    if (number<uint16_t>(at + 34) != 0)
      return bad(entry.name, "it on the first disk", "another", ErrorCode::kUnsupported);
    uint64_t packed = number<uint32_t>(at + 20);
    SPINDRIFT_TRY_STATUS(
        read_central_extra(entry, packed, at + kCentralBytes + name_bytes, extra_bytes));
    if (packed != entry.bytes)
      return bad(entry.name, "two equal sizes of a stored entry",
                 std::to_string(packed) + " and " + std::to_string(entry.bytes));
    if (entry.local > directory.begin || entry.bytes > directory.begin - entry.local)
      return bad(entry.name,
                 "it before the zip directory at byte " + std::to_string(directory.begin),
                 std::to_string(entry.bytes) + " bytes at byte " + std::to_string(entry.local));
    return entry;
  }

  Status check_kind(const Entry& entry, uint16_t method) const {
    if ((entry.flags & 0x2041U) != 0)
      return bad(entry.name, "an entry that is not encrypted",
                 "flags " + std::to_string(entry.flags), ErrorCode::kUnsupported);
    if ((entry.flags & ~(kFlagDescriptor | kFlagUtf8)) != 0)
      return bad(entry.name, "no flags but bits 3 and 11", "flags " + std::to_string(entry.flags),
                 ErrorCode::kUnsupported);
    if (method != 0)
      return bad(entry.name, "an entry that is not compressed", "method " + std::to_string(method),
                 ErrorCode::kUnsupported);
    return ok_status();
  }

  // The extra fields at `at`; calls field(id, place, bytes) for each.
  template <class Field>
  Status for_each_extra(std::string_view name, uint64_t at, uint64_t bytes, Field field) const {
    while (bytes > 0) {
      const uint64_t length = bytes < 4 ? 0 : number<uint16_t>(at + 2);
      if (bytes < 4 || length > bytes - 4) return bad(name, "whole extra fields", "a cut one");
      SPINDRIFT_TRY_STATUS(field(number<uint16_t>(at), at + 4, length));
      at += 4 + length;
      bytes -= 4 + length;
    }
    return ok_status();
  }

  Error foreign_extra(std::string_view name, uint16_t id) const {
    return bad(name, "no extra field but zip64 and padding", "field " + std::to_string(id),
               ErrorCode::kUnsupported);
  }

  // Replaces the values that are too large for their places by those of the zip64 field, which
  // holds these and no others.
  Status read_central_extra(Entry& entry, uint64_t& packed, uint64_t at, uint64_t bytes) const {
    bool seen = false;
    SPINDRIFT_TRY_STATUS(for_each_extra(
        entry.name, at, bytes, [&](uint16_t id, uint64_t place, uint64_t length) -> Status {
          if (id != kExtraZip64) return foreign_extra(entry.name, id);
          if (seen) return bad(entry.name, "one zip64 field", "two");
          seen = true;
          uint64_t used = 0;
          for (uint64_t* value : {&entry.bytes, &packed, &entry.local}) {
            if (*value != kFull32) continue;
            if (length - used < 8) return bad(entry.name, "a longer zip64 field", "a cut one");
            *value = number<uint64_t>(place + used);
            used += 8;
          }
          if (used != length)
            return bad(entry.name, "a zip64 field of " + std::to_string(used) + " bytes",
                       std::to_string(length));
          return ok_status();
        }));
    return ok_status();
  }

  // --- local headers ----------------------------------------------------------------------------
  // The entry's header, data and descriptor must fill the bytes from entry.local to `next`.
  Result<ZipEntry> check_local(const Entry& entry, uint64_t next) const {
    const uint64_t at = entry.local;
    if (next - at < kLocalBytes || number<uint32_t>(at) != kLocalMagic)
      return bad(entry.name, "a local header at byte " + std::to_string(at), "other bytes");
    const uint64_t name_bytes = number<uint16_t>(at + 26), extra_bytes = number<uint16_t>(at + 28);
    const uint64_t header = kLocalBytes + name_bytes + extra_bytes;
    if (next - at < header || next - at - header < entry.bytes)
      return bad(entry.name, "header and data in " + std::to_string(next - at) + " bytes",
                 std::to_string(header) + " and " + std::to_string(entry.bytes) + " bytes");
    const std::string_view name = text(at + kLocalBytes, name_bytes);
    if (name != entry.name)
      return bad(entry.name, "the same name in the local header", quoted_for_message(name, 200));
    if (number<uint16_t>(at + 6) != entry.flags || number<uint16_t>(at + 8) != 0)
      return bad(entry.name, "the flags and method of the directory in the local header",
                 "flags " + std::to_string(number<uint16_t>(at + 6)) + " and method " +
                     std::to_string(number<uint16_t>(at + 8)));
    SPINDRIFT_TRY_STATUS(check_local_numbers(entry, at + kLocalBytes + name_bytes, extra_bytes));
    const uint64_t begin = at + header, end = begin + entry.bytes;
    SPINDRIFT_TRY_STATUS(check_descriptor(entry, end, next - end));
    return ZipEntry{entry.name, static_cast<int64_t>(begin), static_cast<int64_t>(end),
                    entry.crc32};
  }

  // Checksum and sizes of the local header: the directory's, or nothing yet where a descriptor
  // follows.
  Status check_local_numbers(const Entry& entry, uint64_t extra, uint64_t extra_bytes) const {
    std::optional<uint64_t> zip64;  // where its field is
    uint64_t zip64_bytes = 0;
    SPINDRIFT_TRY_STATUS(
        for_each_extra(entry.name, extra, extra_bytes,
                       [&](uint16_t id, uint64_t place, uint64_t length) -> Status {
                         if (id == kExtraPadding) return ok_status();
                         if (id != kExtraZip64) return foreign_extra(entry.name, id);
                         if (zip64)
                           return bad(entry.name, "one zip64 field in the local header", "two");
                         zip64 = place;
                         zip64_bytes = length;
                         return ok_status();
                       }));
    const uint32_t crc = number<uint32_t>(entry.local + 14),
                   packed = number<uint32_t>(entry.local + 18),
                   bytes = number<uint32_t>(entry.local + 22);
    const bool later = (entry.flags & kFlagDescriptor) != 0;
    bool agree = crc == entry.crc32 && packed == entry.bytes && bytes == entry.bytes;
    if (later)
      agree = agree || (crc == 0 &&
                        ((packed == 0 && bytes == 0) || (packed == kFull32 && bytes == kFull32)));
    else if (packed == kFull32 && bytes == kFull32 && zip64 && zip64_bytes == 16)
      agree = crc == entry.crc32 && number<uint64_t>(*zip64) == entry.bytes &&
              number<uint64_t>(*zip64 + 8) == entry.bytes;
    if (agree) return ok_status();
    return bad(entry.name, "the checksum and sizes of the directory in the local header", "others");
  }

  // What lies between the entry's data and the next header.
  Status check_descriptor(const Entry& entry, uint64_t at, uint64_t bytes) const {
    const bool present = (entry.flags & kFlagDescriptor) != 0;
    if (!present && bytes == 0) return ok_status();
    if (!present || (bytes != kDescriptorBytes && bytes != kDescriptor64Bytes))
      return bad(entry.name,
                 present ? "a data descriptor of 16 or 24 bytes behind the data"
                         : "nothing behind the data",
                 std::to_string(bytes) + " bytes");
    const bool large = bytes == kDescriptor64Bytes;
    const uint64_t packed = large ? number<uint64_t>(at + 8) : number<uint32_t>(at + 8);
    const uint64_t plain = large ? number<uint64_t>(at + 16) : number<uint32_t>(at + 12);
    if (number<uint32_t>(at) == kDescriptorMagic && number<uint32_t>(at + 4) == entry.crc32 &&
        packed == entry.bytes && plain == entry.bytes)
      return ok_status();
    return bad(entry.name, "a data descriptor that agrees with the zip directory", "another");
  }

  std::span<const std::byte> file_;
  std::string_view file_name_;
};

}  // namespace

Result<std::vector<ZipEntry>> read_stored_zip(std::span<const std::byte> file,
                                              std::string_view file_name) {
  return ZipReader(file, file_name).read();
}

}  // namespace spindrift

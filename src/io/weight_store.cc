#include "io/weight_store.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/check.h"
#include "io/mmap_file.h"
#include "io/quote.h"
#include "io/tensor_text.h"

namespace spindrift {

struct WeightStore::Entry {
  enum class Mark : uint8_t { kUntouched, kIgnored, kRead };

  std::string name;
  TensorInfo info;
  const std::byte* data;
  Mark mark;
};

WeightStore::WeightStore(std::string where, std::vector<std::shared_ptr<const MappedFile>> files,
                         std::vector<StoredTensor> tensors)
    : where_(std::move(where)), files_(std::move(files)) {
  file_names_.reserve(files_.size());
  for (const auto& file : files_) file_names_.push_back(file->path().string());
  entries_.reserve(tensors.size());
  for (StoredTensor& t : tensors) {
    const std::span<const std::byte> file = files_.at(t.file)->bytes();
    SPINDRIFT_CHECK(
        t.bytes.empty() || (t.bytes.data() >= file.data() &&
                            t.bytes.data() + t.bytes.size() <= file.data() + file.size()),
        "a tensor outside its file");
    const auto bytes = static_cast<int64_t>(t.bytes.size());
    entries_.push_back({std::move(t.name),
                        {t.dtype, std::move(t.shape), bytes, file_names_.at(t.file)},
                        t.bytes.data(),
                        Entry::Mark::kUntouched});
  }
  const auto by_name = [](const Entry& a, const Entry& b) { return a.name < b.name; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_name))
    std::sort(entries_.begin(), entries_.end(), by_name);
  SPINDRIFT_CHECK(std::adjacent_find(entries_.begin(), entries_.end(),
                                     [](const Entry& a, const Entry& b) {
                                       return a.name == b.name;
                                     }) == entries_.end(),
                  "two tensors of one name in a store");
  std::set<std::pair<const std::byte*, int64_t>> seen;
  for (Entry& e : entries_) {
    e.info.alias = e.info.bytes > 0 && !seen.emplace(e.data, e.info.bytes).second;
    total_bytes_ += e.info.own_bytes();
  }
}

WeightStore::~WeightStore() = default;

const WeightStore::Entry* WeightStore::entry(std::string_view name) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const Entry& e, std::string_view n) { return e.name < n; });
  return at == entries_.end() || at->name != name ? nullptr : &*at;
}

const TensorInfo* WeightStore::find(std::string_view name) const {
  const Entry* found = entry(name);
  return found == nullptr ? nullptr : &found->info;
}

Error WeightStore::mismatch(std::string_view name, const std::string& expected) const {
  const Entry* found = entry(name);
  const std::string what = ": tensor " + quoted_for_message(name, 200) + ": expected " + expected;
  if (found == nullptr) return {ErrorCode::kNotFound, where_ + what + ", found nothing"};
  return {ErrorCode::kInvalid, std::string(found->info.file) + what + ", found " +
                                   tensor_text(found->info.dtype, found->info.shape)};
}

TensorView WeightStore::read(const Entry& found) {
  entries_[static_cast<size_t>(&found - entries_.data())].mark = Entry::Mark::kRead;
  return {found.info.dtype, found.info.shape, {found.data, static_cast<size_t>(found.info.bytes)}};
}

Result<TensorView> WeightStore::get(std::string_view name, DType dtype,
                                    std::span<const int64_t> shape) {
  const Entry* found = entry(name);
  if (found == nullptr || found->info.dtype != dtype ||
      !std::equal(shape.begin(), shape.end(), found->info.shape.begin(), found->info.shape.end()))
    return mismatch(name, tensor_text(dtype, shape));
  return read(*found);
}

Result<TensorView> WeightStore::get_any(std::string_view name) {
  const Entry* found = entry(name);
  if (found == nullptr) return mismatch(name, "a tensor");
  return read(*found);
}

void WeightStore::ignore(std::string_view name) {
  const Entry* found = entry(name);
  if (found == nullptr || found->mark == Entry::Mark::kRead) return;
  entries_[static_cast<size_t>(found - entries_.data())].mark = Entry::Mark::kIgnored;
}

std::vector<std::string> WeightStore::unread() const {
  std::vector<std::string> out;
  for (const Entry& e : entries_)
    if (e.mark == Entry::Mark::kUntouched) out.push_back(e.name);
  return out;
}

Status WeightStore::check_all_read() const {
  const std::vector<std::string> names = unread();
  if (names.empty()) return ok_status();
  constexpr size_t kNamed = 4;
  std::string list;
  for (size_t i = 0; i < names.size() && i < kNamed; ++i)
    list.append(i == 0 ? "`" : ", `").append(names[i]).append("`");
  if (names.size() > kNamed) list += ", ...";
  return Error{ErrorCode::kInvalid, where_ + ": expected only tensors that the model uses, found " +
                                        std::to_string(names.size()) + " more: " + list};
}

std::vector<std::string> WeightStore::ignored() const {
  std::vector<std::string> out;
  for (const Entry& e : entries_)
    if (e.mark == Entry::Mark::kIgnored) out.push_back(e.name);
  return out;
}

std::vector<std::string_view> WeightStore::names(std::string_view prefix) const {
  std::vector<std::string_view> out;
  auto at = std::lower_bound(entries_.begin(), entries_.end(), prefix,
                             [](const Entry& e, std::string_view p) { return e.name < p; });
  for (; at != entries_.end() && at->name.starts_with(prefix); ++at) out.push_back(at->name);
  return out;
}

size_t WeightStore::size() const { return entries_.size(); }

}  // namespace spindrift

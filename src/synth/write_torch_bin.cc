#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/thread_pool.h"
#include "io/crc32.h"
#include "synth/new_file.h"
#include "synth/write_weights.h"

namespace spindrift::synth {
namespace {

constexpr std::string_view kFolder = "pytorch_model/";
constexpr int64_t kAlignment = 64;  // of the data of every record, as torch.save has it
constexpr int64_t kLocalHeaderBytes = 30;
constexpr int64_t kMaxZipBytes = 0xFFFFFFFF;  // beyond it a zip needs 64-bit records

template <class T>
void append(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xFF);
}

// One record of the zip: text, or a tensor's data.
struct Record {
  std::string name;
  std::string text;
  const PlannedTensor* tensor = nullptr;
  int64_t header = 0;  // where its local header begins
  int64_t data = 0;    // where its data begins
  uint32_t crc = 0;

  int64_t bytes() const { return tensor ? tensor->bytes() : std::ssize(text); }
  int64_t padding() const { return data - header - kLocalHeaderBytes - std::ssize(name); }
};

// The state dictionary as pickle protocol 2: an OrderedDict of tensors, each on its own storage.
class Pickler {
 public:
  std::string pickle(const std::vector<PlannedTensor>& tensors) && {
    out_ = "\x80\x02";
    ordered_dict();
    out_ += '(';
    for (size_t i = 0; i < tensors.size(); ++i) add(tensors[i], i);
    return out_ + "u.";
  }

 private:
  void global(std::string_view module, std::string_view name) {
    out_.append("c").append(module).append("\n").append(name).append("\n");
  }
  void text(std::string_view value) {
    out_ += 'X';
    append(out_, static_cast<uint32_t>(value.size()));
    out_ += value;
  }
  void number(int64_t value) {
    if (value < 256) {
      out_ += 'K';
      append(out_, static_cast<uint8_t>(value));
    } else if (value < 65536) {
      out_ += 'M';
      append(out_, static_cast<uint16_t>(value));
    } else {
      SPINDRIFT_CHECK(value <= INT32_MAX, "a tensor's elements fit BININT");
      out_ += 'J';
      append(out_, static_cast<uint32_t>(value));
    }
  }
  void ordered_dict() {
    global("collections", "OrderedDict");
    out_ += ")R";
  }

  void add(const PlannedTensor& tensor, size_t storage) {
    const char* type = tensor.dtype == DType::kBf16  ? "BFloat16Storage"
                       : tensor.dtype == DType::kF16 ? "HalfStorage"
                                                     : "FloatStorage";
    text(tensor.name);
    global("torch._utils", "_rebuild_tensor_v2");
    out_ += "((";
    text("storage");
    global("torch", type);
    text(std::to_string(storage));
    text("cpu");
    number(tensor.bytes() / dtype_bytes(tensor.dtype));
    out_ += "tQ";
    number(0);
    out_ += '(';
    for (const int64_t size : tensor.shape) number(size);
    out_ += "t(";
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      int64_t stride = 1;
      for (size_t j = i + 1; j < tensor.shape.size(); ++j) stride *= tensor.shape[j];
      number(stride);
    }
    out_ += "t\x89";
    ordered_dict();
    out_ += "tR";
  }

  std::string out_;
};

constexpr uint16_t kVersion = 0, kUtf8Names = 0x800, kStored = 0, kNoTime = 0, kNoDate = 0x21;

void append_common(std::string& out, const Record& record, int64_t extra) {
  append(out, kVersion);
  append(out, kUtf8Names);
  append(out, kStored);
  append(out, kNoTime);
  append(out, kNoDate);
  append(out, record.crc);
  append(out, static_cast<uint32_t>(record.bytes()));
  append(out, static_cast<uint32_t>(record.bytes()));
  append(out, static_cast<uint16_t>(record.name.size()));
  append(out, static_cast<uint16_t>(extra));
}

std::string local_header(const Record& record) {
  constexpr int64_t kExtraHeader = 4;
  std::string out = "PK\x03\x04";
  append_common(out, record, record.padding());
  out += record.name;
  out += "FB";
  append(out, static_cast<uint16_t>(record.padding() - kExtraHeader));
  out.append(static_cast<size_t>(record.padding() - kExtraHeader), 'Z');
  return out;
}

std::string directory(const std::vector<Record>& records, int64_t begin) {
  std::string out;
  for (const Record& record : records) {
    out += "PK\x01\x02";
    append(out, kVersion);
    append_common(out, record, 0);
    append(out, uint16_t{0});  // comment
    append(out, uint16_t{0});  // disk
    append(out, uint16_t{0});  // internal attributes
    append(out, uint32_t{0});  // external attributes
    append(out, static_cast<uint32_t>(record.header));
    out += record.name;
  }
  const auto bytes = static_cast<uint32_t>(out.size());
  out += "PK\x05\x06";
  append(out, uint32_t{0});  // disks
  append(out, static_cast<uint16_t>(records.size()));
  append(out, static_cast<uint16_t>(records.size()));
  append(out, bytes);
  append(out, static_cast<uint32_t>(begin));
  append(out, uint16_t{0});  // comment
  return out;
}

std::vector<Record> lay_out(const CheckpointPlan& plan) {
  std::vector<Record> records;
  const auto add = [&](std::string_view name, std::string text, const PlannedTensor* tensor) {
    Record record{std::string(kFolder) + std::string(name), std::move(text), tensor, 0, 0, 0};
    if (!records.empty()) record.header = records.back().data + records.back().bytes();
    // At least the four bytes of the padding's own header.
    const int64_t least = record.header + kLocalHeaderBytes + std::ssize(record.name) + 4;
    record.data = (least + kAlignment - 1) / kAlignment * kAlignment;
    records.push_back(std::move(record));
  };
  add("data.pkl", Pickler().pickle(plan.tensors), nullptr);
  add("byteorder", "little", nullptr);
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    add("data/" + std::to_string(i), "", &plan.tensors[i]);
  add("version", "3\n", nullptr);
  return records;
}

// Writes the data and keeps its checksum.
Status write_data(Record& record, const NewFile& file, const Filler& filler, bool sparse) {
  if (!record.tensor) {
    record.crc = crc32(std::as_bytes(std::span(record.text.data(), record.text.size())));
    return file.write(record.data, record.text);
  }
  const bool hole = sparse && !always_written(*record.tensor);
  std::vector<std::byte> buffer(Filler::kBlockBytes);
  for (int64_t i = 0; i < Filler::blocks(*record.tensor); ++i) {
    const int64_t from = i * Filler::kBlockBytes;
    const int64_t count = std::min(Filler::kBlockBytes, record.bytes() - from);
    const std::span out(buffer.data(), static_cast<size_t>(count));
    if (!hole) filler.fill(*record.tensor, i, out);
    record.crc = crc32(out, record.crc);
    if (!hole) SPINDRIFT_TRY_STATUS(file.write(record.data + from, out));
  }
  return ok_status();
}

}  // namespace

Status write_torch_bin(const CheckpointPlan& plan, const std::filesystem::path& folder,
                       const Filler& filler, const Exec& ex, bool sparse) {
  std::vector<Record> records = lay_out(plan);
  const int64_t end = records.back().data + records.back().bytes();
  SPINDRIFT_CHECK(end < kMaxZipBytes, "a .bin is below 4 GiB");
  const int64_t bytes = end + std::ssize(directory(records, end));
  SPINDRIFT_TRY(const NewFile file, NewFile::create(folder / "pytorch_model.bin", bytes));
  std::mutex lock;
  std::optional<Error> failure;
  for_cells(ex, std::ssize(records), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const Status done = write_data(records[static_cast<size_t>(i)], file, filler, sparse);
      if (done.ok()) continue;
      const std::lock_guard guard(lock);
      failure = done.error();
    }
  });
  if (failure) return *failure;
  for (const Record& record : records)
    SPINDRIFT_TRY_STATUS(file.write(record.header, local_header(record)));
  return file.write(end, directory(records, end));
}

}  // namespace spindrift::synth

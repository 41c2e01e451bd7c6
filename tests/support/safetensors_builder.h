#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spindrift::testing {

// Bytes of a safetensors file from its JSON and data, well formed or not.
inline std::string safetensors_file(std::string_view json, std::string_view data) {
  std::string out;
  for (size_t i = 0; i < 8; ++i) out += static_cast<char>(json.size() >> (8 * i) & 0xFF);
  out += json;
  out += data;
  return out;
}

// Builds a well-formed file tensor by tensor, data in the order of the calls. Nothing is padded:
// the data behind an odd header starts at an odd address.
class SafetensorsBuilder {
 public:
  // dtype in the format's spelling; `data` must have shape x dtype bytes.
  SafetensorsBuilder& add(std::string_view name, std::string_view dtype,
                          const std::vector<int64_t>& shape, std::string_view data) {
    json_.append(json_.empty() ? "{\"" : ",\"")
        .append(name)
        .append("\":{\"dtype\":\"")
        .append(dtype);
    json_.append("\",\"shape\":[");
    for (size_t i = 0; i < shape.size(); ++i)
      json_.append(i > 0 ? "," : "").append(std::to_string(shape[i]));
    json_.append("],\"data_offsets\":[").append(std::to_string(data_.size())).append(",");
    data_.append(data);
    json_.append(std::to_string(data_.size())).append("]}");
    return *this;
  }

  std::string json() const { return json_.empty() ? "{}" : json_ + "}"; }
  const std::string& data() const { return data_; }
  std::string file() const { return safetensors_file(json(), data_); }

 private:
  std::string json_, data_;
};

}  // namespace spindrift::testing

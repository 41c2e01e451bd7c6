#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "io/pickle.h"

namespace spindrift {

// Makes the values of one pickle that are more than a number or a text: tuples, containers,
// storages and tensors. Errors say only what was expected and what was found; the machine that
// drives this adds the place.
class PickleBuilder {
 public:
  // `source` is Pickle::source; `views` allows the sixth item of a persistent id.
  PickleBuilder(std::span<const std::byte> source, bool views) : views_(views) {
    pickle_.source = source;
  }

  const Pickle& pickle() const { return pickle_; }
  Pickle take() && { return std::move(pickle_); }

  Result<PickleValue> tuple(std::span<const PickleValue> items);
  PickleValue container(PickleValue::Kind kind, bool ordered);  // a new kDict or kList
  // `key` must be a string for a dictionary and is ignored for a list.
  Status add(const PickleValue& container, const PickleValue& key, const PickleValue& value);
  Result<PickleValue> global(std::string_view module, std::string_view name) const;
  // What the persistent id stands for: a kStorage.
  Result<PickleValue> storage(const PickleValue& id);
  // What REDUCE builds: a new OrderedDict or a kTensor.
  Result<PickleValue> reduce(const PickleValue& callee, const PickleValue& arguments);

 private:
  Error mismatch(const std::string& expected, const PickleValue& found) const;
  Result<uint32_t> storage_number(const PickleStorage& storage);
  Status read_view(const PickleValue& view, PickleSlice& slice) const;
  Result<PickleValue> tensor(const PickleValue& arguments);
  Result<PickleValue> parameter(const PickleValue& arguments) const;
  bool empty_dict(const PickleValue& value) const;
  bool integers(const PickleValue& value) const;  // a tuple of nothing else

  bool views_;
  Pickle pickle_;
  std::vector<uint32_t> sizes_;                          // entries of each container
  std::map<std::string_view, uint32_t> storage_of_key_;  // ordered: no input can make it slow
};

}  // namespace spindrift

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http.h"

namespace spindrift::server {

struct AccessOptions {
  std::string key;                // empty = none is wanted
  std::vector<std::string> cors;  // origins that pages may call from; "*" = any
};

// Takes as long for a wrong key as for the right one.
bool same_key(std::string_view expected, std::string_view given);

// Who may ask: the key (as Bearer, or as the password of Basic, which a browser asks its user for),
// and web pages of other origins.
class Access {
 public:
  explicit Access(AccessOptions options) : options_(std::move(options)) {}
  // A reply that ends the request: 401 without the right key, 403 for a page of an origin that is
  // not allowed, 204 for a preflight of one that is. /health is open to all.
  std::optional<HttpReply> check(const HttpRequest& request) const;
  // Adds the headers that every reply has.
  void finish(const HttpRequest& request, HttpReply& reply) const;

 private:
  bool has_key(const HttpRequest& request) const;
  bool allowed(std::string_view origin) const;
  AccessOptions options_;
};

}  // namespace spindrift::server

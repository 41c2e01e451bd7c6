#include "server/api_error.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "server/json_text.h"

namespace spindrift::server {
namespace {

using Json = nlohmann::ordered_json;

const char* type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string place(std::string_view message) {
  for (const std::string_view part : {"messages", "tools"})
    if (message.starts_with(part)) return std::string(message.substr(0, message.find(": ")));
  return {};
}

// Messages repeat what the client sent: not megabytes of it.
std::string shortened(std::string text) {
  constexpr size_t kMost = 1000;
  if (text.size() <= kMost) return text;
  size_t cut = kMost;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
  text.resize(cut);
  return text + "...";
}

}  // namespace

std::string error_json(const ApiError& error) {
  Json inner = {{"message", shortened(error.message)},
                {"type", type_of(error.status)},
                {"param", nullptr},
                {"code", nullptr}};
  if (!error.param.empty()) inner["param"] = shortened(error.param);
  if (!error.code.empty()) inner["code"] = error.code;
  return json_text(Json({{"error", inner}}));
}

HttpReply error_reply(const ApiError& error) {
  HttpReply reply{.status = error.status, .body = error_json(error)};
  if (error.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429) reply.headers.emplace_back("Retry-After", "1");
  if (error.status == 503) reply.headers.emplace_back("Retry-After", "5");
  return reply;
}

ApiError api_error(const Error& error, const std::string& param) {
  ApiError out{.status = 400, .message = error.message, .param = place(error.message)};
  if (out.param.empty()) out.param = param;
  switch (error.code) {
    case ErrorCode::kBusy:
      return {.status = 429, .message = error.message, .code = "queue_full"};
    case ErrorCode::kStopping:
      return {.status = 503, .message = error.message, .code = "draining"};
    case ErrorCode::kTimeout:
      return {.status = 504, .message = error.message, .code = "request_timeout"};
    case ErrorCode::kLimit:
      out.code = "context_length_exceeded";
      return out;
    case ErrorCode::kUnsupported:
      out.code = "unsupported";
      return out;
    case ErrorCode::kInvalid:
    case ErrorCode::kUsage:
    case ErrorCode::kNotFound:  // a field of the body
      return out;
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
      return {.status = 500, .message = error.message};
  }
  return {.status = 500, .message = error.message};
}

ApiError unsupported(const std::string& param, const std::string& what) {
  return {.status = 400,
          .message = what + " is not supported yet",
          .param = param,
          .code = "unsupported_parameter"};
}

}  // namespace spindrift::server

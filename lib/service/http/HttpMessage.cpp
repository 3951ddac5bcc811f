#include "lib/service/http/HttpMessage.h"
#include "llvm/Support/ConvertUTF.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord::service {
namespace {

std::string lowered(std::string_view text) {
  std::string low(text);
  for (char &c : low)
    if (c >= 'A' && c <= 'Z')
      c += 'a' - 'A';
  return low;
}

int hexOf(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Fields that say how a request is read or who asks: twice is an attempt to be understood in two ways.
bool isSingle(std::string_view name) {
  static constexpr std::string_view kNames[] = {"authorization", "content-length", "content-type",     "expect",
                                                "host",          "last-event-id",  "transfer-encoding"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

} // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto &[key, value] : headers)
    if (key == name)
      return value;
  return {};
}

bool decodePercent(std::string_view text, bool isQuery, std::string &out) {
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || hexOf(text[i + 1]) < 0 || hexOf(text[i + 2]) < 0)
        return false;
      c = hexOf(text[i + 1]) * 16 + hexOf(text[i + 2]);
      i += 2;
    } else if (c == '+' && isQuery)
      c = ' ';
    if (c < ' ' || c == 127)
      return false;
    out += static_cast<char>(c);
  }
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(out.data());
  return llvm::isLegalUTF8String(&begin, begin + out.size());
}

namespace {

using Refused = std::optional<HttpRefusal>;

/// "/v1/jobs/a%20b" in its parts.
Refused readPath(std::string_view path, const HttpLimits &limits, HttpRequest &request) {
  for (size_t at = 1; at < path.size();) {
    size_t slash = std::min(path.find('/', at), path.size());
    std::string segment;
    if (!decodePercent(path.substr(at, slash - at), false, segment))
      return HttpRefusal{400, "a path has a wrong escape, a control character or bytes that are no UTF-8"};
    if (segment.empty() || segment == "." || segment == ".." || segment.find_first_of("/\\") != std::string::npos)
      return HttpRefusal{400, "a part of a path is empty, '.', '..', or has a slash"};
    request.segments.push_back(std::move(segment));
    if (request.segments.size() > limits.pathSegments)
      return HttpRefusal{400, fmt::format("a path has more than {} parts", limits.pathSegments)};
    at = slash + 1;
    if (at == path.size())
      return HttpRefusal{400, "a path ends with '/'"};
  }
  return std::nullopt;
}

/// "limit=5&name=a+b" in its fields.
Refused readQuery(std::string_view query, const HttpLimits &limits, HttpRequest &request) {
  while (!query.empty()) {
    size_t end = std::min(query.find('&'), query.size());
    std::string_view field = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    size_t equals = std::min(field.find('='), field.size());
    std::string name, value;
    if (!decodePercent(field.substr(0, equals), true, name) ||
        !decodePercent(field.substr(std::min(equals + 1, field.size())), true, value) || name.empty())
      return HttpRefusal{
          400, "a query has a field without a name, a wrong escape, a control character or bytes that are no UTF-8"};
    if (!request.query.emplace(name, value).second)
      return HttpRefusal{400, fmt::format("a query has '{}' twice", name)};
    if (request.query.size() > limits.queryFields)
      return HttpRefusal{400, fmt::format("a query has more than {} fields", limits.queryFields)};
  }
  return std::nullopt;
}

Refused readTarget(std::string_view target, const HttpLimits &limits, HttpRequest &request) {
  if (target.size() > limits.targetBytes)
    return HttpRefusal{414, fmt::format("a target has {} bytes, {} are allowed", target.size(), limits.targetBytes)};
  if (!std::ranges::all_of(target, [](unsigned char c) { return c > ' ' && c < 127 && c != '#'; }))
    return HttpRefusal{400, "a target is visible ASCII without '#'"};
  for (std::string_view scheme : {"http://", "https://"})
    if (lowered(target.substr(0, scheme.size())) == scheme) { // an absolute one, as to a proxy
      size_t slash = target.find('/', scheme.size());
      target = slash == std::string_view::npos ? "/" : target.substr(slash);
    }
  size_t mark = std::min(target.find('?'), target.size());
  request.path = target.substr(0, mark);
  if (target == "*" && request.method == "OPTIONS")
    return std::nullopt;
  if (!target.starts_with('/'))
    return HttpRefusal{400, "a target begins with '/'"};
  if (Refused refused = readPath(request.path, limits, request))
    return refused;
  return readQuery(target.substr(std::min(mark + 1, target.size())), limits, request);
}

/// How a body is framed and who is asked: what Beast takes of it in more ways than one.
Refused checkFields(bool isOld, const HttpLimits &limits, HttpRequest &request) {
  if (request.headers.size() > limits.headerFields)
    return HttpRefusal{431, fmt::format("a request has more than {} headers", limits.headerFields)};
  std::set<std::string_view> seen;
  for (const auto &[name, value] : request.headers) {
    if (isSingle(name) && !seen.insert(name).second)
      return HttpRefusal{400, fmt::format("header '{}' is there twice", name)};
    bool isNumber = !value.empty() && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
    if (name == "content-length" && !isNumber)
      return HttpRefusal{400, "header 'content-length' is not a number of bytes"};
    if (name == "transfer-encoding" && lowered(value) != "chunked")
      return HttpRefusal{501, "header 'transfer-encoding' may be 'chunked'"};
    if (name == "expect" && lowered(value) != "100-continue")
      return HttpRefusal{417, "header 'expect' may be '100-continue'"};
    request.expectsContinue |= name == "expect";
  }
  std::string_view host = request.header("host");
  if (host.empty() && !isOld)
    return HttpRefusal{400, "header 'host' is not there"};
  if (host.find_first_of(" \t") != std::string_view::npos) // as of a line that is folded
    return HttpRefusal{400, "header 'host' has a blank"};
  return std::nullopt;
}

} // namespace

std::optional<HttpRefusal> readHead(std::string_view target, bool isOld, const HttpLimits &limits,
                                    HttpRequest &request) {
  if (Refused refused = readTarget(target, limits, request))
    return refused;
  return checkFields(isOld, limits, request);
}

} // namespace accord::service

// Requests and answers of HTTP/1.1 (RFC 9110, RFC 9112), and what a server that anybody can reach refuses of them.
//
// Boost.Beast reads the bytes (HttpServer.cpp). It lets pass what can be understood in two ways, and that is refused
// here, never guessed: a length twice, codings other than chunks, "..", encoded slashes, bytes that are no text.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace accord::service {

struct HttpLimits {
  size_t targetBytes = 8 << 10;                      ///< of path and query; above: 414
  size_t headerBytes = 32 << 10, headerFields = 100; ///< of the whole head; above: 431
  size_t bodyBytes = 4 << 20;                        ///< above: 413
  size_t queryFields = 32, pathSegments = 16;        ///< above: 400
};

struct HttpRequest {
  std::string method;                                       ///< "GET", as it was sent
  std::string path;                                         ///< as it was sent, for messages; without the query
  std::vector<std::string> segments;                        ///< of the path, decoded: {"v1", "jobs", "17"}; of "/" none
  std::map<std::string, std::string> query;                 ///< decoded
  std::vector<std::pair<std::string, std::string>> headers; ///< names in lower case
  std::string body;
  std::string address; ///< of the client, in numbers
  std::string
      group;      ///< under which it is counted: the address, of IPv6 its first half, which one client has for itself
  std::string id; ///< under which it is answered and logged
  bool keepsAlive = true;
  bool expectsContinue = false;

  /// The first of this name (in lower case); empty: there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json"; ///< empty: there is no body
  std::shared_ptr<const std::string> body = std::make_shared<std::string>();
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool closes = false; ///< the connection ends after it
};

/// Why a request is refused: its status (400, 413, 414, 417, 431, 501, 505) and a sentence.
struct HttpRefusal {
  int status = 400;
  std::string message;
};

/// What a library that reads HTTP lets pass, and what a request is here: reads `target` into the path and the query,
/// and looks at `headers`, which are there. Nothing: it is a request. `isOld`: of HTTP/1.0, which needs no "Host".
std::optional<HttpRefusal> readHead(std::string_view target, bool isOld, const HttpLimits &limits,
                                    HttpRequest &request);

/// "%41+b" is "A b" in a query and "A+b" in a path. Nothing: a wrong escape, a control character, or no UTF-8.
bool decodePercent(std::string_view text, bool isQuery, std::string &out);

} // namespace accord::service

// Requests and answers of HTTP/1.1 (RFC 9110, RFC 9112), as strictly as a server may read them that anybody can reach.
//
// What is unclear is refused, never guessed: bare line feeds, spaces before a colon, folded lines, a length twice, a
// length beside chunks, "..", encoded slashes, bytes that are no text.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
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

/// Status line, headers and the empty line. `length`: of the body, or -1 where the end of the connection ends it.
std::string responseHead(const HttpResponse &response, int64_t length, const std::string &requestId, bool closes);

/// Why a request is refused: its status (400, 413, 414, 417, 431, 501, 505) and a sentence.
struct HttpRefusal {
  int status = 400;
  std::string message;
};

/// Reads requests from bytes as they arrive, one after another. The work for a byte does not depend on how many came
/// before it, and no more than one request is held.
class RequestParser {
public:
  enum class State : uint8_t { Head, Body, Done, Refused };
  explicit RequestParser(const HttpLimits &limits) : limits_(&limits) {}

  /// Takes the next bytes. Those behind the end of a request are kept for the next one.
  State feed(std::string_view bytes);
  State state() const { return state_; }
  /// Whether nothing of a request is there yet.
  bool isFresh() const { return state_ == State::Head && buffer_.empty(); }
  /// Of the request whose head is there.
  const HttpRequest &request() const { return request_; }
  const HttpRefusal &refusal() const { return refusal_; }
  /// Bytes that it holds.
  size_t held() const { return buffer_.size() + request_.body.size(); }
  /// Forgets what it holds of a request that will not be answered.
  void drop();
  /// The request that is done; begins the next one with the bytes that are left (see `state`).
  HttpRequest take();

private:
  State refuse(int status, std::string message);
  State advance();
  State readHead(size_t end);
  bool readRequestLine(std::string_view line);
  bool readTarget(std::string_view target);
  bool readField(std::string_view line);
  bool readFraming();
  State readBody();
  State readChunks();

  const HttpLimits *limits_;
  State state_ = State::Head;
  std::string buffer_; ///< not yet read
  size_t scanned_ = 0; ///< bytes of it in which no end of the head was found
  HttpRequest request_;
  HttpRefusal refusal_;
  enum class Chunk : uint8_t { None, Size, Data, DataEnd, Trailer } chunk_ = Chunk::None;
  size_t left_ = 0;         ///< bytes of the body, or of the chunk
  size_t trailerBytes_ = 0; ///< also of the lines of chunks
};

/// "%41+b" is "A b" in a query and "A+b" in a path. Nothing: a wrong escape, a control character, or no UTF-8.
bool decodePercent(std::string_view text, bool isQuery, std::string &out);

} // namespace accord::service

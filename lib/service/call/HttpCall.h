// One request to a server over HTTP/1.1 (RFC 9112), in TLS or plain, by Boost.Beast.
//
//   std::optional<HttpUrl> url = httpUrlOf("https://lab.example:8421");
//   auto answer = callHttp(*url, {.method = "GET", .path = "/v1/jobs", .headers = {{"Accept", "application/json"}}});
//   if (answer && answer->status == 200) …
//
// A server is trusted with nothing: the head of an answer, its body and every pause have a limit. Only the resolution
// of names is left to the limits of the system's resolver. A connection is made for each request; redirections are not
// followed, so that a token goes to the server that was named and to no other.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace accord::service {

struct HttpUrl {
  bool isEncrypted = false;
  std::string host; ///< a name or an address, of IPv6 without brackets
  std::string port; ///< "443"
  std::string path; ///< before that of a request: "" or "/prefix", without "/" at its end
};
/// "http://HOST", "https://HOST:PORT/PATH", "http://[::1]:8421". Nothing: it is none, or has a user, a query or blanks.
std::optional<HttpUrl> httpUrlOf(std::string_view text);
/// "a b" is "a%20b": all but letters, digits, "-", ".", "_" and "~" as %XX, for a part of a path or query.
std::string encodePercent(std::string_view text);

/// Who is trusted and who asks, as texts in PEM.
struct HttpTrust {
  std::string authority;        ///< who may have signed the certificate of the server; empty: those of the machine
  std::string certificate, key; ///< of the client; empty: none
};

struct HttpAsk {
  std::string method, path; ///< the path with its query, as it is sent; it begins with "/"
  std::vector<std::pair<std::string, std::string>> headers = {}; ///< beside "Host", "Connection" and "Content-Length"
  std::string body = {};
};

struct HttpCallLimits {
  double connect = 5; ///< seconds for each address of the host, and for TLS to begin
  double pause = 30;  ///< seconds in which no byte moves; also for the whole head of an answer
  double call = std::numeric_limits<double>::infinity(); ///< seconds in all
  size_t bytes = size_t(256) << 20;                      ///< of the body of an answer
  /// Whether addresses are refused that are link-local (169.254.0.0/16, fe80::/10: where clouds keep secrets),
  /// multicast or none: for URLs that a user states and another one's server asks.
  bool isForeign = false;
};

struct HttpAnswer {
  int status = 0;
  std::string body;       ///< empty where it was handed on piece by piece
  std::string retryAfter; ///< the header
};

/// Why there is no answer.
struct HttpFailure {
  enum class Kind : uint8_t {
    BadTrust,   ///< a certificate or a key of the caller cannot be read
    Unreached,  ///< no such host, nobody listens, or it does not take the connection in time
    NoTls,      ///< it does not speak TLS
    Untrusted,  ///< its certificate is not signed by whom it should be, or is of another host
    Unsent,     ///< the request is none, or the connection ended while it was sent
    Unanswered, ///< the connection ended, or nothing or no HTTP came
    TooLong     ///< the answer has more bytes than it may
  } kind = Kind::Unanswered;
  std::string message; ///< of "the server": "nobody listens there"
  /// Whether the server cannot have received the request.
  bool isUnreceived() const { return kind < Kind::Unsent; }
  /// Whether asking again is of no use.
  bool isForGood() const { return kind == Kind::BadTrust || kind == Kind::Untrusted || kind == Kind::TooLong; }
};

/// Takes a piece of the body of an answer with this status. False: it is enough.
using TakePiece = std::function<bool(int status, std::string_view piece)>;

/// With `take`, the body is handed on as it comes, and what `take` refused ends the call as an answer. Blocks; any
/// thread; never throws what a library throws.
Result<HttpAnswer, HttpFailure> callHttp(const HttpUrl &url, const HttpAsk &ask, const HttpCallLimits &limits = {},
                                         const HttpTrust &trust = {}, const TakePiece &take = nullptr);

} // namespace accord::service

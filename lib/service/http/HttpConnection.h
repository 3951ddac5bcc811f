// What the server is made of, over Asio: where it listens, its certificate, and one connection of a client.
//
// HttpServer.cpp alone includes this.
#pragma once
#include "lib/service/call/ByteStream.h"
#include "lib/service/http/HttpServer.h"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <deque>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <limits>
#include <sys/socket.h>

namespace accord::service {

using Endpoint = asio::ip::tcp::endpoint;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// The address in numbers, and under which it is counted: of IPv6 the first half, which one client has for itself.
inline std::pair<std::string, std::string> namesOf(const asio::ip::address &address) {
  if (address.is_v4())
    return {address.to_string(), address.to_string()};
  asio::ip::address_v6 whole = address.to_v6();
  if (whole.is_v4_mapped()) {
    std::string old = asio::ip::make_address_v4(asio::ip::v4_mapped, whole).to_string();
    return {old, old};
  }
  auto bytes = whole.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return {whole.to_string(), asio::ip::address_v6(bytes).to_string()};
}

/// What a client may call its request: it is printed in logs and headers.
inline bool isRequestId(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; });
}

/// Status line, headers and the empty line. `length`: of the body, or -1 where the end of the connection ends it.
inline std::string responseHead(const HttpResponse &response, int64_t length, const std::string &requestId,
                                bool closes) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {:%a, %d %b %Y %H:%M:%S} GMT\r\nConnection: {}\r\n",
                                 response.status, viewOf(http::obsolete_reason(http::int_to_status(response.status))),
                                 fmt::gmtime(time(nullptr)), closes ? "close" : "keep-alive");
  if (!requestId.empty())
    head += fmt::format("X-Request-Id: {}\r\n", requestId);
  if (!response.type.empty())
    head += fmt::format("Content-Type: {}\r\n", response.type);
  if (length >= 0 && response.status != 204 && response.status != 304)
    head += fmt::format("Content-Length: {}\r\n", length);
  for (const auto &[name, value] : response.headers)
    head += fmt::format("{}: {}\r\n", name, value);
  return head + "\r\n";
}

/// A certificate with its key, for TLS 1.2 and newer: files in PEM, the certificate with those that it was signed by.
/// Error A0801: they cannot be read, or do not fit.
inline Result<std::unique_ptr<asio::ssl::context>> tlsContextOf(const std::string &certificate,
                                                                const std::string &key) {
  auto wrong = [](const std::string &file, const ErrorCode &error) {
    return Error{Code::BadCommandLine, fmt::format("cannot use '{}' for TLS: {}", file, error.message())};
  };
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX *raw = context->native_handle();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  ErrorCode error;
  if (context->use_certificate_chain_file(certificate, error); error)
    return wrong(certificate, error);
  if (context->use_private_key_file(key, asio::ssl::context::pem, error); error)
    return wrong(key, error);
  return context;
}

/// Listens at a name or a number of an address; port 0 is any free one. Error A0801: it is in use, not of this machine,
/// or not permitted.
inline Result<void> listenAt(asio::ip::tcp::acceptor &acceptor, const std::string &address, int port) {
  auto wrong = [&](const std::string &why) {
    return Error{Code::BadCommandLine, fmt::format("cannot listen at '{}', port {}: {}", address, port, why)};
  };
  if (port < 0 || port > 65535)
    return wrong("a port is 0 to 65535");
  ErrorCode error;
  auto found = asio::ip::tcp::resolver(acceptor.get_executor())
                   .resolve(address, std::to_string(port), asio::ip::resolver_base::passive, error);
  for (const auto &one : found) {
    const Endpoint &endpoint = one.endpoint();
    ErrorCode ignored;
    (void)acceptor.close(ignored);
    // Asio's own would be inherited by the tasks that this process starts.
    int fd = ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    error.assign(fd < 0 ? errno : 0, boost::system::system_category());
    if (!error)
      (void)acceptor.assign(endpoint.protocol(), fd, error);
    if (!error)
      (void)acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error)
      (void)acceptor.bind(endpoint, error);
    if (!error)
      (void)acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (!error)
      return {};
  }
  return wrong(error ? error.message() : "no such address");
}

struct HttpConnection {
  enum class State : uint8_t {
    Greeting,  ///< TLS begins
    Reading,   ///< a request, or waits for one
    Answering, ///< a worker has the request, or the answer is kept open
    Writing,   ///< the answer is complete, not yet taken
    Streaming, ///< pieces of an answer may follow
    Draining,  ///< everything is sent; what still comes is thrown away, so that the client gets to read the answer
    Gone
  };
  HttpConnection(uint64_t id, std::pair<std::string, std::string> names, Socket socket, size_t bufferBytes)
      : id(id), address(std::move(names.first)), group(std::move(names.second)), stream{std::move(socket), nullptr},
        buffer(bufferBytes) {}

  const uint64_t id;
  const std::string address, group; ///< as of HttpRequest
  ByteStream stream;
  State state = State::Greeting;
  double deadline = kNever;
  std::optional<HttpRefusal> turnedAway; ///< it is one too many
  // What it reads.
  beast::flat_buffer buffer;
  std::optional<http::request_parser<http::buffer_body>> parser;
  std::function<void(uint64_t, beast::string_view, ErrorCode &)> onChunk;
  size_t chunkBytes = 0; ///< of the extensions of chunks
  HttpRequest request;
  bool isReading = false;   ///< an operation that reads is under way
  bool isInRequest = false; ///< something of a request is there, so that being late has an answer
  size_t pooled = 0;        ///< bytes of its body that count against the limit of all
  size_t requests = 0, thrownAway = 0;
  // What it writes.
  std::string requestId;
  std::shared_ptr<HttpStream> open; ///< of an answer that is kept open
  std::deque<std::shared_ptr<const std::string>> out;
  size_t outBytes = 0;
  bool isWriting = false, closes = false, isHead = false, keepsAlive = false;
};

} // namespace accord::service

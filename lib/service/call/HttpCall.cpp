// Beast 1.74 asserts what a server can bring about: the end of a body in chunks that arrives byte by byte.
#define BOOST_DISABLE_ASSERTS
#include "lib/service/call/HttpCall.h"
#include "lib/service/call/ByteStream.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <sys/socket.h>

namespace accord::service {
namespace {

using Kind = HttpFailure::Kind;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kMaxHead = 64 << 10;
constexpr size_t kPart = 16384;      ///< bytes of a body that are read at once
constexpr int kMaxInterim = 8;       ///< answers 1xx before the one that counts
constexpr double kLongest = 1 << 24; ///< seconds: for ever

Clock::time_point after(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, kLongest)));
}

/// Without what could end a line or a target.
bool isLine(std::string_view text, bool mayHaveBlanks) {
  return std::ranges::all_of(text,
                             [&](unsigned char c) { return c > ' ' && c != 127 ? true : mayHaveBlanks && c == ' '; });
}

class Call {
public:
  Call(const HttpUrl &url, const HttpCallLimits &limits) : url(url), limits(limits), end(after(limits.call)) {}

  Result<HttpAnswer, HttpFailure> run(const HttpAsk &ask, const HttpTrust &trust, const TakePiece &take);

private:
  using Failed = std::optional<HttpFailure>;
  using Parser = http::response_parser<http::buffer_body>;

  template <typename Begin> bool step(double seconds, Begin begin);
  Failed connect();
  Failed encrypt(const HttpTrust &trust);
  Failed makeContext(const HttpTrust &trust);
  bool send(const HttpAsk &ask);
  Failed readHead(std::optional<Parser> &parser);
  Failed readBody(Parser &parser, HttpAnswer &answer, const TakePiece &take);
  Failed unanswered(const char *what) const;

  const HttpUrl &url;
  const HttpCallLimits &limits;
  const Clock::time_point end;
  asio::io_context io{1};
  std::optional<asio::ssl::context> context;
  ByteStream stream{Socket(io), nullptr};
  beast::flat_buffer buffer{kMaxHead + kPart};
  ErrorCode error; ///< of the last step
  bool isLate = false;
};

/// Runs one operation to its end, at most so many seconds: then the connection is closed. Whether it succeeded.
template <typename Begin> bool Call::step(double seconds, Begin begin) {
  bool isDone = false;
  io.restart();
  begin([&](ErrorCode result, auto &&...) { isDone = true, error = result; });
  io.run_until(std::min(end, after(seconds)));
  isLate = !isDone;
  if (isLate) { // what is under way uses this frame, and is told that it is over
    ErrorCode ignored;
    (void)stream.socket.close(ignored);
    io.restart();
    io.run();
    error = asio::error::timed_out;
  }
  return !error;
}

/// Why an address is not asked for a user; null: it may be.
const char *refusalOf(const asio::ip::address &address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return refusalOf(asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()));
  if (address.is_multicast())
    return "multicast";
  if (address.is_unspecified())
    return "none";
  if (address.is_v6())
    return address.to_v6().is_link_local() ? "link-local" : nullptr;
  const uint32_t ip = address.to_v4().to_uint();
  return ip >> 16 == 0xA9FE ? "link-local" : ip >> 24 == 0 || ip >> 28 == 15 ? "none" : nullptr;
}

Call::Failed Call::connect() {
  ErrorCode unknown;
  auto found = asio::ip::tcp::resolver(io).resolve(url.host, url.port, unknown);
  if (unknown)
    return HttpFailure{Kind::Unreached, fmt::format("there is no host '{}' ({})", url.host, unknown.message())};
  bool isSlow = false;
  const char *refusal = nullptr;
  for (const auto &one : found) {
    auto endpoint = one.endpoint();
    if (const char *why = limits.isForeign ? refusalOf(endpoint.address()) : nullptr) {
      refusal = why;
      continue;
    }
    (void)stream.socket.close(error);
    // Asio's own would be inherited by the tasks that this process starts.
    int fd = ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
      continue;
    if ((void)stream.socket.assign(endpoint.protocol(), fd, error); error) {
      ::close(fd);
      continue;
    }
    if (step(limits.connect, [&](auto done) { stream.socket.async_connect(endpoint, done); })) {
      (void)stream.socket.set_option(asio::ip::tcp::no_delay(true), error);
      return std::nullopt;
    }
    isSlow |= isLate;
  }
  if (refusal)
    return HttpFailure{Kind::Unreached, fmt::format("its address is {}, which is refused", refusal)};
  return HttpFailure{Kind::Unreached, isSlow ? "it does not answer in time" : "nobody listens there"};
}

Call::Failed Call::makeContext(const HttpTrust &trust) {
  auto wrong = [](const std::string &what) { return HttpFailure{Kind::BadTrust, what + " cannot be read"}; };
  context.emplace(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  if (trust.authority.empty())
    (void)context->set_default_verify_paths(error);
  else
    (void)context->add_certificate_authority(asio::buffer(trust.authority), error);
  if (error)
    return wrong("the certificates of authorities");
  if (trust.certificate.empty())
    return std::nullopt;
  if ((void)context->use_certificate_chain(asio::buffer(trust.certificate), error); error)
    return wrong("the certificate of the client");
  if ((void)context->use_private_key(asio::buffer(trust.key), asio::ssl::context::pem, error); error)
    return wrong("the key of the client");
  return std::nullopt;
}

Call::Failed Call::encrypt(const HttpTrust &trust) {
  if (!url.isEncrypted)
    return std::nullopt;
  if (Failed failed = makeContext(trust))
    return failed;
  stream.tls = std::make_unique<asio::ssl::stream<Socket &>>(stream.socket, *context);
  (void)stream.tls->set_verify_mode(asio::ssl::verify_peer, error);
  (void)stream.tls->set_verify_callback(asio::ssl::host_name_verification(url.host), error);
  ErrorCode isName;
  (void)asio::ip::make_address(url.host, isName);
  if (isName) // RFC 6066: names alone
    SSL_set_tlsext_host_name(stream.tls->native_handle(), url.host.c_str());
  if (step(limits.connect, [&](auto done) { stream.tls->async_handshake(asio::ssl::stream_base::client, done); }))
    return std::nullopt;
  bool isOfTls = error.category() == asio::error::get_ssl_category();
  if (isOfTls && ERR_GET_REASON(error.value()) == SSL_R_CERTIFICATE_VERIFY_FAILED)
    return HttpFailure{Kind::Untrusted,
                       "its certificate is not trusted; state the file of the authority that signed it"};
  return HttpFailure{Kind::NoTls, isLate ? "it does not begin TLS in time" : "it does not speak TLS"};
}

/// Whether all of it was taken. What a server that closed meanwhile has said may still be read.
bool Call::send(const HttpAsk &ask) {
  http::request<http::string_body> request;
  request.method_string(ask.method);
  request.target(url.path + ask.path);
  bool isUsual = url.port == (url.isEncrypted ? "443" : "80");
  std::string host = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  request.set(http::field::host, isUsual ? host : host + ":" + url.port);
  request.set(http::field::connection, "close");
  for (const auto &[name, value] : ask.headers)
    request.set(name, value);
  request.body() = ask.body;
  if (!ask.body.empty() || ask.method == "POST" || ask.method == "PUT" || ask.method == "PATCH")
    request.content_length(ask.body.size());
  http::request_serializer<http::string_body> serializer(request);
  while (!serializer.is_done())
    if (!step(limits.pause, [&](auto done) { http::async_write_some(stream, serializer, done); }))
      return false;
  return true;
}

Call::Failed Call::unanswered(const char *what) const {
  bool isHttp = error.category() == http::make_error_code(http::error::bad_version).category();
  bool hasEnded = !isHttp || error == http::error::end_of_stream || error == http::error::partial_message;
  if (isLate)
    return HttpFailure{Kind::Unanswered, Clock::now() >= end ? fmt::format("no answer within {} s", limits.call)
                                                             : fmt::format("nothing came before {} was whole", what)};
  if (hasEnded)
    return HttpFailure{Kind::Unanswered, fmt::format("the connection ended before {} was whole", what)};
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return HttpFailure{Kind::Unanswered, fmt::format("its answer has more than {} bytes beside its body", kMaxHead)};
  return HttpFailure{Kind::Unanswered, fmt::format("its answer is no HTTP/1.1: {}", error.message())};
}

Call::Failed Call::readHead(std::optional<Parser> &parser) {
  for (int i = 0; i < kMaxInterim; ++i) {
    parser.emplace();
    parser->header_limit(kMaxHead);
    parser->body_limit(std::numeric_limits<uint64_t>::max()); // counted in `readBody`
    if (!step(limits.pause, [&](auto done) { http::async_read_header(stream, buffer, *parser, done); }))
      return unanswered("its answer");
    if (parser->get().result_int() >= 200)
      return std::nullopt;
  }
  return HttpFailure{Kind::Unanswered, "it goes on saying that it is about to answer"};
}

Call::Failed Call::readBody(Parser &parser, HttpAnswer &answer, const TakePiece &take) {
  std::array<char, kPart> bytes;
  size_t total = 0;
  while (!parser.is_done()) {
    auto &part = parser.get().body();
    part.data = bytes.data(), part.size = bytes.size();
    bool isRead = step(limits.pause, [&](auto done) { http::async_read_some(stream, buffer, parser, done); });
    std::string_view piece(bytes.data(), bytes.size() - part.size);
    total += piece.size();
    if (total > limits.bytes)
      return HttpFailure{Kind::TooLong, fmt::format("its answer has more than {} bytes", limits.bytes)};
    if (!take)
      answer.body += piece;
    else if (!piece.empty() && !take(answer.status, piece))
      return std::nullopt;
    if (!isRead && error != http::error::need_buffer)
      return unanswered("its answer");
  }
  return std::nullopt;
}

Result<HttpAnswer, HttpFailure> Call::run(const HttpAsk &ask, const HttpTrust &trust, const TakePiece &take) {
  bool isRequest = ask.path.starts_with('/') && isLine(ask.method, false) && isLine(ask.path, false);
  for (const auto &[name, value] : ask.headers)
    isRequest &= isLine(name, false) && isLine(value, true);
  if (!isRequest)
    return HttpFailure{Kind::Unsent, "a request has a blank or a line break where none may be"};
  if (Failed failed = connect())
    return *failed;
  if (Failed failed = encrypt(trust))
    return *failed;
  bool isSent = send(ask);
  std::optional<Parser> parser;
  if (Failed failed = isLate ? unanswered("the request") : readHead(parser))
    return isSent ? *failed : HttpFailure{Kind::Unsent, "the connection ended before the request was sent"};
  HttpAnswer answer;
  answer.status = static_cast<int>(parser->get().result_int());
  answer.retryAfter = viewOf(parser->get()[http::field::retry_after]);
  if (Failed failed = readBody(*parser, answer, take))
    return *failed;
  return answer;
}

} // namespace

std::optional<HttpUrl> httpUrlOf(std::string_view text) {
  llvm::StringRef rest(text.data(), text.size());
  HttpUrl url;
  url.isEncrypted = rest.consume_front("https://");
  if (!url.isEncrypted && !rest.consume_front("http://"))
    return std::nullopt;
  llvm::StringRef place = rest.take_until([](char c) { return c == '/'; });
  llvm::StringRef path = rest.drop_front(place.size()).rtrim('/');
  bool isOfSix = place.consume_front("[");
  llvm::StringRef host = place.take_until([&](char c) { return c == (isOfSix ? ']' : ':'); });
  llvm::StringRef port = place.drop_front(host.size());
  if (isOfSix && !port.consume_front("]"))
    return std::nullopt;
  unsigned number = url.isEncrypted ? 443 : 80;
  if (!port.empty() && (!port.consume_front(":") || port.getAsInteger(10, number) || number < 1 || number > 65535))
    return std::nullopt;
  auto isOfHost = [&](char c) {
    return llvm::isAlnum(c) || llvm::StringRef("-._").contains(c) || (isOfSix && c == ':');
  };
  bool isPath = isLine({path.data(), path.size()}, false) && path.find_first_of("?#") == llvm::StringRef::npos;
  if (host.empty() || !llvm::all_of(host, isOfHost) || !isPath)
    return std::nullopt;
  url.host = host.str(), url.port = std::to_string(number), url.path = path.str();
  return url;
}

std::string encodePercent(std::string_view text) {
  std::string out;
  for (unsigned char c : text)
    if (llvm::isAlnum(c) || llvm::StringRef("-._~").contains(static_cast<char>(c)))
      out += static_cast<char>(c);
    else
      out += fmt::format("%{:02X}", c);
  return out;
}

Result<HttpAnswer, HttpFailure> callHttp(const HttpUrl &url, const HttpAsk &ask, const HttpCallLimits &limits,
                                         const HttpTrust &trust, const TakePiece &take) {
  try {
    return Call(url, limits).run(ask, trust, take);
  } catch (const std::exception &) { // of Asio, or of memory
    return HttpFailure{Kind::Unanswered, "the machine gives no more files or memory"};
  }
}

} // namespace accord::service

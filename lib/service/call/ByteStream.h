// The bytes of a connection, in TLS or plain: a stream as Asio and Beast take it.
//
// Boost.Beast and Asio are large: HttpServer.cpp and HttpCall.cpp alone include this.
#pragma once
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <string_view>

namespace accord::service {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using ErrorCode = boost::system::error_code;
/// Beside its base of any executor, this one costs no call through a table.
using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

struct ByteStream {
  using executor_type = Socket::executor_type;
  Socket socket;
  std::unique_ptr<asio::ssl::stream<Socket &>> tls; ///< null: plain

  executor_type get_executor() { return socket.get_executor(); }
  template <typename Buffers, typename Handler> void async_read_some(const Buffers &buffers, Handler &&handler) {
    if (tls)
      tls->async_read_some(buffers, std::forward<Handler>(handler));
    else
      socket.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler> void async_write_some(const Buffers &buffers, Handler &&handler) {
    if (tls)
      tls->async_write_some(buffers, std::forward<Handler>(handler));
    else
      socket.async_write_some(buffers, std::forward<Handler>(handler));
  }
};

inline std::string_view viewOf(beast::string_view text) { return {text.data(), text.size()}; }

} // namespace accord::service

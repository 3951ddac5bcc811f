#include "tools/accord-lsp/Connection.h"
#include "llvm/Support/LSP/Protocol.h"
#include <fmt/format.h>

namespace accord::editor {
namespace {

std::string idOf(const llvm::json::Value *id) { return id ? llvm::debugString(*id) : ""; }

} // namespace

void Requests::cancel(const std::string &id) {
  std::lock_guard<std::mutex> alone(guard);
  cancelled.insert(id);
}

bool Requests::isCancelled(const std::string &id) const {
  std::lock_guard<std::mutex> alone(guard);
  return cancelled.count(id) > 0;
}

void Requests::forget(const std::string &id) {
  std::lock_guard<std::mutex> alone(guard);
  cancelled.erase(id);
}

Connection::Connection(std::FILE *in, llvm::raw_ostream &out) : input(in), output(out), reader([this] { readAll(); }) {}

Connection::~Connection() { reader.join(); }

void Connection::add(Message message) {
  std::lock_guard<std::mutex> alone(guard);
  waiting.push_back(std::move(message));
  arrived.notify_one();
}

void Connection::readAll() {
  for (bool more = true; more && !input.isEndOfInput() && !input.hasError();) {
    std::string text;
    if (llvm::failed(input.readStandardMessage(text)))
      continue;
    auto json = llvm::json::parse(text);
    if (!json) {
      llvm::lsp::Logger::error("a message that is no JSON: {0}", llvm::toString(json.takeError()));
      continue;
    }
    llvm::json::Object *object = json->getAsObject();
    std::optional<llvm::StringRef> method = object ? object->getString("method") : std::nullopt;
    if (!method)
      continue; // a reply, and nothing is asked of the editor
    Message message{method->str(), idOf(object->get("id"))};
    llvm::json::Value *parameters = object->get("params");
    if (message.method == "$/cancelRequest") {
      if (const llvm::json::Object *of = parameters ? parameters->getAsObject() : nullptr)
        known.cancel(idOf(of->get("id")));
      continue;
    }
    if (parameters)
      message.parameters = std::move(*parameters);
    more = message.method != "exit";
    add(std::move(message));
  }
  std::lock_guard<std::mutex> alone(guard);
  ended = true;
  arrived.notify_one();
}

std::optional<Connection::Message> Connection::take() {
  std::unique_lock<std::mutex> lock(guard);
  arrived.wait(lock, [this] { return ended || !waiting.empty(); });
  if (waiting.empty())
    return std::nullopt;
  Message message = std::move(waiting.front());
  waiting.pop_front();
  known.current = message.id;
  return message;
}

void Connection::send(const std::string &body) {
  std::lock_guard<std::mutex> alone(sending);
  output << "Content-Length: " << body.size() << "\r\n\r\n" << body;
  output.flush();
}

void Connection::reply(const std::string &id, llvm::Expected<JsonText> result) {
  if (result)
    return send(fmt::format(R"({{"id":{},"jsonrpc":"2.0","result":{}}})", id, result->text));
  std::string message;
  auto code = llvm::lsp::ErrorCode::UnknownErrorCode;
  llvm::handleAllErrors(
      result.takeError(),
      [&](const llvm::lsp::LSPError &error) {
        message = error.message;
        code = error.code;
      },
      [&](const llvm::ErrorInfoBase &error) { message = error.message(); });
  llvm::json::Object error{{"code", static_cast<int>(code)}, {"message", llvm::json::fixUTF8(message)}};
  send(fmt::format(R"({{"error":{},"id":{},"jsonrpc":"2.0"}})", JsonText(std::move(error)).text, id));
}

void Connection::notify(llvm::StringRef method, const JsonText &parameters) {
  send(fmt::format(R"({{"jsonrpc":"2.0","method":"{}","params":{}}})", method.str(), parameters.text));
}

} // namespace accord::editor

#include "tools/accord-lsp/MessageQueue.h"

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

MessageQueue::MessageQueue(std::FILE *in) : input(in), reader([this] { readAll(); }) {}

MessageQueue::~MessageQueue() { reader.join(); }

void MessageQueue::readAll() {
  for (bool more = true; more && !input.isEndOfInput() && !input.hasError();) {
    Message message;
    if (llvm::failed(input.readStandardMessage(message.json)))
      continue;
    if (auto json = llvm::json::parse(message.json)) {
      const llvm::json::Object *object = json->getAsObject();
      std::optional<llvm::StringRef> method = object ? object->getString("method") : std::nullopt;
      if (method)
        message.id = idOf(object->get("id"));
      if (method == "$/cancelRequest") {
        if (const llvm::json::Object *of = object->getObject("params"))
          known.cancel(idOf(of->get("id")));
        continue;
      }
      more = method != "exit";
    } else {
      llvm::consumeError(json.takeError()); // told by whoever takes the message
    }
    std::lock_guard<std::mutex> alone(guard);
    waiting.push_back(std::move(message));
    arrived.notify_one();
  }
  std::lock_guard<std::mutex> alone(guard);
  ended = true;
  arrived.notify_one();
}

bool MessageQueue::isEndOfInput() const {
  std::lock_guard<std::mutex> alone(guard);
  return ended && waiting.empty();
}

llvm::LogicalResult MessageQueue::readStandardMessage(std::string &json) {
  std::unique_lock<std::mutex> lock(guard);
  arrived.wait(lock, [this] { return ended || !waiting.empty(); });
  if (waiting.empty())
    return llvm::failure();
  json = std::move(waiting.front().json);
  known.current = std::move(waiting.front().id);
  waiting.pop_front();
  return llvm::success();
}

} // namespace accord::editor

// Messages of the editor, read ahead in a thread of their own, so that a request can be withdrawn before it is begun,
// and what is sent to it.
#pragma once
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Transport.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

namespace accord::editor {

/// A value as JSON text. Long answers are written as text at once: a tree of JSON values costs more than what is in it.
struct JsonText {
  std::string text;
  JsonText(const llvm::json::Value &value) : text(llvm::debugString(value)) {}
  JsonText(llvm::json::Object value) : JsonText(llvm::json::Value(std::move(value))) {}
  JsonText(llvm::json::Array value) : JsonText(llvm::json::Value(std::move(value))) {}
  JsonText(std::nullptr_t) : text("null") {}
  static JsonText of(std::string text) {
    JsonText result(nullptr);
    result.text = std::move(text);
    return result;
  }
};

/// Which requests were withdrawn, and which one is being answered.
class Requests {
public:
  /// The id of a request as text; two requests have different ones.
  void cancel(const std::string &id);
  bool isCancelled(const std::string &id) const;
  /// An answer was given: the id may be forgotten.
  void forget(const std::string &id);
  /// Of the message that was taken last; empty for a notification. Of the thread that takes messages alone.
  std::string current;

private:
  mutable std::mutex guard;
  std::set<std::string> cancelled;
};

class Connection {
public:
  struct Message {
    std::string method; ///< empty: a reply
    std::string id;     ///< as JSON text; empty for a notification
    llvm::json::Value parameters = nullptr;
  };

  Connection(std::FILE *in, llvm::raw_ostream &out);
  ~Connection();

  Requests &requests() { return known; }
  /// The next message, when it is there; nothing where the editor went away. What is no message is left out.
  std::optional<Message> take();
  /// Both may be called from any thread.
  void reply(const std::string &id, llvm::Expected<JsonText> result);
  void notify(llvm::StringRef method, const JsonText &parameters);

private:
  void readAll();
  void add(Message message);
  void send(const std::string &body);

  llvm::lsp::JSONTransportInputOverFile input;
  llvm::raw_ostream &output;
  std::mutex sending;
  Requests known;
  std::mutex guard;
  std::condition_variable arrived;
  std::deque<Message> waiting;
  bool ended = false;
  std::thread reader;
};

} // namespace accord::editor

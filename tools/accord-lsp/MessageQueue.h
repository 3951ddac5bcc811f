// Messages of the editor, read ahead in a thread of their own, so that a request can be withdrawn before it is begun.
#pragma once
#include "llvm/Support/LSP/Transport.h"
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

namespace accord::editor {

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

class MessageQueue : public llvm::lsp::JSONTransportInput {
public:
  explicit MessageQueue(std::FILE *in);
  ~MessageQueue() override;

  Requests &requests() { return known; }
  bool hasError() const override { return false; }
  bool isEndOfInput() const override;
  llvm::LogicalResult readStandardMessage(std::string &json) override;
  llvm::LogicalResult readDelimitedMessage(std::string &json) override { return readStandardMessage(json); }

private:
  void readAll();

  struct Message {
    std::string json, id;
  };
  llvm::lsp::JSONTransportInputOverFile input;
  Requests known;
  mutable std::mutex guard;
  std::condition_variable arrived;
  std::deque<Message> waiting;
  bool ended = false;
  std::thread reader;
};

} // namespace accord::editor

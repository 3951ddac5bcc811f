// Accord within another program: its commands, with what they print as texts, documents whose values are asked by path,
// and descriptions that need not be on disk. This header needs nothing of LLVM. A whole program:
//
//   #include "lib/driver/Accord.h"
//   #include <cstdio>
//
//   int main() {
//     accord::Description machine, training;
//     accord::Block &chip = machine.accelerator("my_chip");
//     chip.block("memory", "hbm : dram").set("capacity", "32 GiB").set("bandwidth", "1.2 TB/s");
//     chip.block("core", "tc : tensor").set("peak", accord::mapOf({{"bf16", "180 TFLOP/s"}}));
//     chip.block("core", "vu : vector").set("peak", accord::mapOf({{"fp32", "12 TFLOP/s"}}));
//     training.import("my_chip.accel").import("catalog/gpt2.dnn");
//     accord::Block &train = training.train("mine", "gpt2_medium()", "my_chip");
//     train.set("precision", "mixed(bf16)").set("optimizer", "adam");
//     for (int batch : {8, 16, 24}) {
//       train.set("batch", batch);
//       accord::Answer answer = accord::run({"estimate", "mine.dnn", "--json"},
//                                           {.descriptions = {{"my_chip.accel", machine}, {"mine.dnn", training}}});
//       if (!answer)
//         return std::fputs(answer.messages.c_str(), stderr), answer.status;
//       std::printf("batch %d: %.3f s\n", batch, answer.document().number("totals.time_s"));
//     }
//   }
//
// All of it is in an inline namespace of its own, since the library has other classes of such names.
#pragma once
#include "lib/driver/Description.h"
#include "lib/support/ReportedDiagnostic.h"
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace llvm::json {
class Value;
}

namespace accord::inline embedding {

/// A document has no value at a path, or one of another kind. The message names what it has there.
class NoSuchValue : public std::out_of_range {
public:
  using std::out_of_range::out_of_range;
};

/// A JSON document, or a value in one. docs/schema says which values the document of a command has, and in which units;
/// lib/driver/results has a struct for the document of each of the large commands.
/// A path is keys and indices: "stages[0].devices"; the empty one is the value itself. What is not there throws
/// NoSuchValue.
class Document {
public:
  /// Throws std::invalid_argument if the text is no JSON.
  static Document parse(const std::string &json);

  bool has(std::string_view path) const;
  double number(std::string_view path = "") const;
  int64_t integer(std::string_view path = "") const;
  bool flag(std::string_view path = "") const;
  std::string text(std::string_view path = "") const;
  /// How many elements a list or an object has.
  size_t size(std::string_view path = "") const;
  /// Keys of an object, in the order of the alphabet.
  std::vector<std::string> keys(std::string_view path = "") const;
  bool isNull(std::string_view path = "") const;
  /// A value in it, which stays when the document goes.
  Document at(std::string_view path) const;
  /// The value of one key, whatever characters it has.
  Document member(const std::string &key) const;
  /// An element of a list.
  Document element(size_t index) const;
  /// As text.
  std::string json() const;

private:
  explicit Document(std::shared_ptr<const llvm::json::Value> value) : value_(std::move(value)) {}
  Document part(const llvm::json::Value *value) const { return Document({value_, value}); }

  std::shared_ptr<const llvm::json::Value> value_;
};

/// What a command answers, byte for byte as the program `accord` does.
struct Answer {
  /// 0 done, 1 the input is wrong, 2 infeasible, 3 internal error, 4 stopped before there was an answer.
  int status = 0;
  std::string output;   ///< what it prints to standard output: a table, or with --json a document
  std::string messages; ///< what it prints to standard error
  std::vector<ReportedDiagnostic> diagnostics; ///< the errors and warnings among them

  bool stopped = false; ///< the host or a time limit ended its search, so that another run may answer better

  /// Whether the status is 0.
  explicit operator bool() const { return status == 0; }
  /// Of a command with --json. Throws std::invalid_argument where it printed none.
  Document document() const { return Document::parse(output); }
};

struct RunOptions {
  /// Texts by path, which commands read as if they were files. They hide files on disk.
  std::map<std::string, std::string> files = {};
  /// Descriptions that are built, by path: the same, and each diagnostic about a line of theirs has a note with the
  /// line of the program that made it.
  std::map<std::string, Description> descriptions = {};
  /// Asked ten times a second by another thread. Once it returns true, a search ends with its best answer so far, or
  /// with its first. What it throws ends the search in the same way, and is thrown by run().
  std::function<bool()> stop = {};
};

/// Runs a command: {"compile", "gpt2.dnn", "--json"}. The process goes on whatever comes, keeps its signals, and its
/// standard streams stay untouched. Without memory the status is 3; where LLVM itself gets none, it ends the process.
/// Any thread may call it; the calls are served one after the other. Commands that end only with their process (serve,
/// watch, top, run --wait) are refused with A0801.
Answer run(const std::vector<std::string> &arguments, RunOptions options = {});

/// Version of Accord: "0.1.0".
std::string version();

} // namespace accord::inline embedding

namespace accord {
/// Folder of the machines, models and tables that are shipped.
std::string catalogFolder();
} // namespace accord

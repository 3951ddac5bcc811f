// A JSON file of profiled layers while it is read: values with their ranges, and what is wrong at its place. Internal
// to lib/import.
#pragma once
#include "lib/import/profiles/LayerGraphImport.h"
#include "lib/support/documents/JsonPlaces.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <set>

namespace accord::import {

class LayerFile {
public:
  LayerFile(Diagnostics &diags, FileId file)
      : diags(diags), file(file), text(diags.sources().text(file)), path(diags.sources().path(file).str()) {}

protected:
  using Steps = std::vector<JsonStep>;

  /// The object with 'nodes' and 'edges' that the file is, or null after an error, which says `expected`.
  const llvm::json::Object *root(const char *expected);
  /// maxDevices, maxMemoryPerDevice, bandwidth; the micro-batches, which are whole even where they are written as 8.0.
  void devices(const llvm::json::Object *root, const char *microbatches);
  /// The graph, where nothing is wrong with it.
  std::optional<LayerGraphImport> finish();

  void add(const Error &error);
  void fail(const Steps &steps, std::string message);
  static Steps with(Steps steps, JsonStep last) {
    steps.push_back(last);
    return steps;
  }
  static std::string found(const llvm::json::Value *value);
  double number(const llvm::json::Object *object, const char *key, const Steps &steps);
  int64_t whole(const llvm::json::Object *object, const char *key, const Steps &steps, int64_t min, int64_t max);
  /// Notes the keys of an object that are not `known`.
  void others(const llvm::json::Object *object, const std::string &of, std::initializer_list<llvm::StringRef> known);
  /// What an object says by tensor degree: lists under "1", "2", ...; empty after an error.
  std::map<int64_t, const llvm::json::Array *> byDegree(const llvm::json::Object &all, const Steps &steps);

  Diagnostics &diags;
  FileId file;
  llvm::StringRef text;
  std::string path;
  LayerGraphImport made;
  bool sound = true;

private:
  llvm::json::Value document = nullptr;
  std::set<std::string> unread;
  unsigned failures = 0;
};

} // namespace accord::import

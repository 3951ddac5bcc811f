// The keys of one block of a machine, checked against its schema and turned into attributes.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "dialects/accel/Schema.h"
#include "lib/language/syntax/Evaluate.h"
#include "mlir/IR/Builders.h"
#include <map>
#include <set>

namespace accord {

class SchemaReader {
public:
  SchemaReader(mlir::MLIRContext &context, Diagnostics &diags, const Lookup &lookup, const accel::BlockSchema &schema)
      : context(context), builder(&context), diags(diags), lookup(lookup), schema(schema) {}

  /// `key = value`: unknown, duplicate, wrong type, dimension or range are reported at the exact
  /// place.
  void read(const ast::KeyValue &pair, const ast::Entry &entry);
  /// A value that the caller computed (the pattern of `sparse nm(2, 4)`), or, without one, only the
  /// place of what is no key of the schema. False after reporting that it is there already.
  bool set(llvm::StringRef key, mlir::Attribute value, SourceRange at);
  /// Reports required keys that are missing, at the block's name.
  void finish(SourceRange block);

  mlir::DictionaryAttr dictionary();
  /// The block's location with the places of its keys.
  mlir::Location location(SourceRange block);
  mlir::Attribute attributeOf(const Constant &value, llvm::StringRef text, llvm::StringRef source = {});

private:
  bool understood(const Constant &value);
  bool cyclesUnderstood(const Constant &value);
  mlir::Attribute convert(const accel::KeySchema &key, const Constant &value, llvm::StringRef text,
                          llvm::StringRef source);
  mlir::Attribute scalar(const accel::KeySchema &key, const Constant &value, llvm::StringRef text,
                         llvm::StringRef source);
  mlir::Attribute quantity(const accel::KeySchema &key, const Constant &value, llvm::StringRef text,
                           llvm::StringRef source);
  mlir::Attribute integer(const accel::KeySchema &key, const Constant &value);
  mlir::Attribute word(const accel::KeySchema &key, const Constant &value);
  mlir::ArrayAttr list(const accel::KeySchema &key, const Constants &members, llvm::StringRef source);
  mlir::DictionaryAttr map(const accel::KeySchema &key, const MapValue &map, llvm::StringRef source);
  mlir::Attribute choice(const accel::KeySchema &key, const Constant &value, llvm::StringRef source);
  void wrong(Code code, const accel::KeySchema &key, const Constant &value, std::string reason);
  mlir::Location at(SourceRange range);

  mlir::MLIRContext &context;
  mlir::Builder builder;
  Diagnostics &diags;
  const Lookup &lookup;
  const accel::BlockSchema &schema;
  std::map<std::string, std::pair<mlir::Attribute, SourceRange>> entries;
  std::set<std::string> misspelt; ///< keys that an unknown one most likely means
};

} // namespace accord

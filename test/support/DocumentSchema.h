// Holds a document against the schema that its description gives.
#pragma once
#include "llvm/Support/JSON.h"
#include <gtest/gtest.h>

namespace accord::testing {

/// Each key of the document is described, each required key is there, and each value has its type. `schema` is a part
/// of the schema `root`, which has what several parts refer to.
inline void expectDescribed(const llvm::json::Value &document, const llvm::json::Value &schema,
                            const llvm::json::Value &root, const std::string &where) {
  const llvm::json::Object &described = *schema.getAsObject();
  if (auto reference = described.getString("$ref")) {
    llvm::StringRef name = reference->substr(reference->rfind('/') + 1);
    return expectDescribed(document, *root.getAsObject()->getObject("$defs")->get(name), root, where);
  }
  const llvm::json::Array *forms = described.getArray("anyOf");
  if (forms && !described.get("properties")) { // of a value that may be null
    if (!document.getAsNull())
      expectDescribed(document, forms->front(), root, where);
    return;
  }
  if (const llvm::json::Object *object = document.getAsObject()) {
    const llvm::json::Object *properties = described.getObject("properties");
    for (const auto &[key, value] : *object) {
      const llvm::json::Value *of = properties ? properties->get(key) : described.get("additionalProperties");
      if (of && of->getAsObject())
        expectDescribed(value, *of, root, where + "/" + key.str());
      else
        ADD_FAILURE() << where << "/" << key.str() << " is not described";
    }
    if (const llvm::json::Array *required = described.getArray("required"))
      for (const llvm::json::Value &key : *required)
        EXPECT_TRUE(object->get(*key.getAsString())) << where << " lacks " << key.getAsString()->str();
  } else if (const llvm::json::Array *array = document.getAsArray()) {
    if (const llvm::json::Value *items = described.get("items"))
      for (const llvm::json::Value &item : *array)
        expectDescribed(item, *items, root, where + "/[]");
  } else if (auto type = described.getString("type")) {
    bool fits = *type == "string"    ? document.getAsString().has_value()
                : *type == "boolean" ? document.getAsBoolean().has_value()
                : *type == "integer" ? document.getAsInteger() || document.getAsUINT64()
                                     : document.getAsNumber().has_value();
    EXPECT_TRUE(fits) << where << " is no " << type->str();
  }
}

inline void expectDescribed(const llvm::json::Value &document, const llvm::json::Value &schema) {
  expectDescribed(document, schema, schema, "");
}

} // namespace accord::testing

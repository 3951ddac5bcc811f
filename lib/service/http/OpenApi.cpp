#include "lib/service/http/OpenApi.h"
#include "lib/service/http/ApiRoutes.h"
#include "lib/support/Version.h"

using namespace llvm;
namespace accord::service {
namespace {

/// Moves the definitions of a schema to those of the document, and what refers to them along.
class Components {
public:
  json::Value take(json::Value schema) {
    json::Object *object = schema.getAsObject();
    if (json::Object *definitions = object->getObject("$defs"))
      for (auto &[name, definition] : *definitions) {
        redirect(definition);
        schemas[name] = std::move(definition);
      }
    object->erase("$defs");
    redirect(schema);
    return schema;
  }
  json::Object schemas;

private:
  static void redirect(json::Value &value) {
    if (json::Array *array = value.getAsArray())
      for (json::Value &one : *array)
        redirect(one);
    json::Object *object = value.getAsObject();
    if (!object)
      return;
    for (auto &[key, one] : *object) {
      StringRef target = one.getAsString().value_or("");
      if (key == "$ref" && target.consume_front("#/$defs/"))
        one = "#/components/schemas/" + target.str();
      else
        redirect(one);
    }
  }
};

json::Object parameterSchema(const ApiParameter &parameter) {
  using Kind = ApiParameter::Kind;
  json::Object schema;
  switch (parameter.kind) {
  case Kind::Integer:
    schema["type"] = "integer";
    schema["minimum"] = parameter.name == "limit" ? 1 : 0;
    schema["maximum"] = static_cast<int64_t>(parameter.max);
    break;
  case Kind::Number:
    schema["type"] = "number";
    schema["minimum"] = 0;
    schema["maximum"] = parameter.max;
    break;
  case Kind::Flag:
    schema["type"] = "boolean";
    break;
  case Kind::Phases:
  case Kind::Text:
    schema["type"] = "string";
    break;
  }
  if (parameter.initial.empty())
    return schema;
  if (auto initial = json::parse(parameter.initial))
    schema["default"] = std::move(*initial);
  else
    consumeError(initial.takeError());
  return schema;
}

json::Array parametersOf(const ApiRoute &route) {
  json::Array parameters;
  for (StringRef part : segmentsOf(route.path))
    if (part.consume_front("{") && part.consume_back("}")) {
      json::Object schema = part == "id" ? json::Object{{"type", "integer"}, {"minimum", 1}}
                                         : json::Object{{"type", "string"}, {"minLength", 1}};
      parameters.push_back(
          json::Object{{"name", part}, {"in", "path"}, {"required", true}, {"schema", std::move(schema)}});
    }
  for (const ApiParameter &one : route.query)
    parameters.push_back(json::Object{
        {"name", one.name}, {"in", "query"}, {"description", one.about}, {"schema", parameterSchema(one)}});
  if (route.id == "streamEvents")
    parameters.push_back(json::Object{
        {"name", "Last-Event-ID"}, {"in", "header"}, {"schema", json::Object{{"type", "integer"}, {"minimum", 0}}}});
  return parameters;
}

json::Object contentOf(StringRef type, json::Value schema) {
  return json::Object{{type, json::Object{{"schema", std::move(schema)}}}};
}

json::Object answersOf(const ApiRoute &route, Components &components) {
  json::Object answer{{"description", route.about}};
  if (!route.type.empty()) {
    json::Value schema = json::Object{{"type", route.type == "application/json" ? "object" : "string"}};
    if (route.answer)
      schema = components.take(route.answer());
    answer["content"] = contentOf(route.type, std::move(schema));
  }
  json::Object answers;
  if (route.id == "submitJob")
    answers["200"] = json::Value(json::Object(answer)); // a job with this key was there
  answers[std::to_string(route.status)] = std::move(answer);
  answers["default"] = json::Object{{"$ref", "#/components/responses/refused"}};
  return answers;
}

json::Object operationOf(const ApiRoute &route, Components &components) {
  json::Object operation{{"operationId", route.id}, {"summary", route.about}};
  if (json::Array parameters = parametersOf(route); !parameters.empty())
    operation["parameters"] = std::move(parameters);
  if (route.request)
    operation["requestBody"] =
        json::Object{{"required", route.path.find("/nodes/") == StringRef::npos},
                     {"content", contentOf("application/json", components.take(route.request()))}};
  operation["responses"] = answersOf(route, components);
  if (route.access == ApiRoute::Access::Open)
    operation["security"] = json::Array{};
  return operation;
}

} // namespace

json::Value openApiDocument() {
  Components components;
  json::Object paths;
  for (const ApiRoute &route : apiRoutes()) {
    json::Object &path = *paths.try_emplace(route.path, json::Object{}).first->second.getAsObject();
    path[StringRef(route.method).lower()] = operationOf(route, components);
  }
  components.schemas["error_list"] = components.take(schemaOf<ErrorList>());
  json::Object refused{
      {"description", "why the request was refused"},
      {"content", contentOf("application/json", json::Object{{"$ref", "#/components/schemas/error_list"}})}};
  return json::Object{
      {"openapi", "3.1.0"},
      {"info", json::Object{{"title", "accord serve"},
                            {"version", kVersion},
                            {"description", "Jobs of one cluster: submitted, planned together, run by its engine."}}},
      {"paths", std::move(paths)},
      {"security", json::Array{json::Object{{"token", json::Array{}}}}},
      {"components", json::Object{{"schemas", std::move(components.schemas)},
                                  {"responses", json::Object{{"refused", std::move(refused)}}},
                                  {"securitySchemes",
                                   json::Object{{"token", json::Object{{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

} // namespace accord::service

// Where an API server is: the part of kubeconfig (client.authentication and clusters of "Organizing Cluster Access
// Using kubeconfig Files") that names a server and who asks it, and the files that a pod has.
#include "lib/service/engines/kubernetes/KubernetesClient.h"
#include "lib/support/documents/Yaml.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <fmt/format.h>

namespace accord::service {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

constexpr size_t kMaxFile = 4 << 20; ///< bytes

Error failed(std::string message) { return Error{Code::EngineFailed, std::move(message)}; }

Result<std::string> fileText(const std::string &path) {
  uint64_t size = 0;
  if (llvm::sys::fs::file_size(path, size) || size > kMaxFile)
    return failed(fmt::format("'{}' cannot be read, or has more than {} bytes", path, kMaxFile));
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return failed(fmt::format("'{}' cannot be read: {}", path, buffer.getError().message()));
  return (*buffer)->getBuffer().str();
}

/// YAML as JSON: texts stay texts.
Value valueOf(const YamlNode &node) {
  switch (node.kind) {
  case YamlNode::Kind::Null:
    return nullptr;
  case YamlNode::Kind::Text:
    return node.text;
  case YamlNode::Kind::List: {
    Array all;
    for (const YamlNode &one : node.items)
      all.push_back(valueOf(one));
    return all;
  }
  case YamlNode::Kind::Map: {
    Object object;
    for (size_t i = 0; i < node.items.size(); ++i)
      object[node.keys[i].first] = valueOf(node.items[i]);
    return object;
  }
  }
  return nullptr;
}

Result<Value> yamlOf(const std::string &text, const std::string &path) {
  auto read = readYaml(text, path, Code::EngineFailed);
  if (!read)
    return failed(
        fmt::format("'{}' is no kubeconfig: line {}: {}", path, read.error().location.line, read.error().message));
  Value value = valueOf(*read);
  if (!value.getAsObject())
    return failed(fmt::format("'{}' is no kubeconfig", path));
  return value;
}

class Kubeconfig {
public:
  Kubeconfig(const Object &file, std::string path) : file(file), path(std::move(path)) {}

  Result<KubernetesServer> server(const std::string &context) const {
    const std::string name = context.empty() ? textOf(file, "current-context") : context;
    if (name.empty())
      return failed(fmt::format("'{}' has no current context", path));
    ACCORD_TRY(chosen, named("contexts", "context", name));
    ACCORD_TRY(cluster, named("clusters", "cluster", textOf(*chosen, "cluster")));
    KubernetesServer made;
    made.url = textOf(*cluster, "server"), made.nameSpace = textOf(*chosen, "namespace");
    if (made.url.empty())
      return failed(fmt::format("'{}': the cluster of context '{}' has no server", path, name));
    for (const char *key : {"proxy-url", "tls-server-name"})
      if (!textOf(*cluster, key).empty())
        return failed(fmt::format("'{}': '{}' of a cluster is not supported", path, key));
    if (textOf(*cluster, "insecure-skip-tls-verify") == "true")
      return failed(
          fmt::format("'{}': the server of context '{}' is not verified: name who signed its certificate", path, name));
    ACCORD_TRY(authority, content(*cluster, "certificate-authority"));
    made.authority = std::move(authority);
    ACCORD_TRY(user, named("users", "user", textOf(*chosen, "user")));
    for (const char *key : {"exec", "auth-provider", "username"})
      if (user->get(key))
        return failed(fmt::format("'{}': '{}' of a user is not supported: use the token of a service account or a "
                                  "certificate",
                                  path, key));
    made.token = textOf(*user, "token");
    if (const std::string tokenFile = textOf(*user, "tokenFile"); !tokenFile.empty())
      made.tokenFile = beside(tokenFile), made.token.clear();
    ACCORD_TRY(certificate, content(*user, "client-certificate"));
    ACCORD_TRY(key, content(*user, "client-key"));
    made.certificate = std::move(certificate), made.key = std::move(key);
    if (made.certificate.empty() != made.key.empty())
      return failed(fmt::format("'{}': a client certificate and its key come together", path));
    return made;
  }

private:
  static std::string textOf(const Object &object, llvm::StringRef key) {
    return object.getString(key).value_or("").str();
  }

  /// What a list of named things has under a name. A context without a user asks as nobody.
  Result<const Object *> named(llvm::StringRef list, llvm::StringRef kind, const std::string &name) const {
    static const Object nobody;
    if (name.empty() && kind == "user")
      return &nobody;
    const Array *all = file.getArray(list);
    for (size_t i = 0; all && i < all->size(); ++i)
      if (const Object *one = (*all)[i].getAsObject(); one && textOf(*one, "name") == name)
        if (const Object *found = one->getObject(kind))
          return found;
    return failed(fmt::format("'{}' has no {} '{}'", path, kind.str(), name));
  }

  /// A path is relative to the file that names it.
  std::string beside(const std::string &name) const {
    llvm::SmallString<256> full(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(full, name);
    return llvm::sys::path::is_absolute(name) ? name : full.str().str();
  }

  /// PEM in the file (KEY-data, base64), or in one beside it (KEY).
  Result<std::string> content(const Object &object, const std::string &key) const {
    std::string encoded = textOf(object, key + "-data");
    if (!encoded.empty()) {
      llvm::erase_if(encoded, [](char c) { return llvm::isSpace(c); });
      std::vector<char> decoded;
      if (llvm::Error error = llvm::decodeBase64(encoded, decoded)) {
        llvm::consumeError(std::move(error));
        return failed(fmt::format("'{}': '{}-data' is no base64", path, key));
      }
      return std::string(decoded.begin(), decoded.end());
    }
    const std::string name = textOf(object, key);
    return name.empty() ? Result<std::string>(std::string()) : fileText(beside(name));
  }

  const Object &file;
  std::string path;
};

} // namespace

Result<KubernetesServer> kubernetesServerOf(const std::string &kubeconfig, const std::string &context) {
  ACCORD_TRY(text, fileText(kubeconfig));
  ACCORD_TRY(file, yamlOf(text, kubeconfig));
  return Kubeconfig(*file.getAsObject(), kubeconfig).server(context);
}

Result<KubernetesServer> kubernetesServerInCluster(const std::string &folder) {
  const char *host = std::getenv("KUBERNETES_SERVICE_HOST"), *port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (!host || !*host)
    return failed("this process is in no pod of a cluster: KUBERNETES_SERVICE_HOST is not set");
  KubernetesServer made;
  const bool isIpv6 = llvm::StringRef(host).contains(':');
  made.url = fmt::format("https://{}{}{}:{}", isIpv6 ? "[" : "", host, isIpv6 ? "]" : "", port && *port ? port : "443");
  made.tokenFile = folder + "/token";
  ACCORD_TRY(authority, fileText(folder + "/ca.crt"));
  made.authority = std::move(authority);
  ACCORD_TRY(nameSpace, fileText(folder + "/namespace"));
  made.nameSpace = llvm::StringRef(nameSpace).trim().str();
  return made;
}

} // namespace accord::service

// Asks an API server of Kubernetes: REST with JSON, as its documentation describes it ("Kubernetes API Concepts").
//
//   auto server = kubernetesServerOf("/home/ada/.kube/config");
//   KubernetesClient client(*server);
//   auto answer = client.call("GET", "/api/v1/nodes");
//
// Every call ends within its limit: a server that does not answer, answers slowly or answers for ever is an error. Only
// the resolution of names is left to the limits of the system's resolver.
#pragma once
#include "lib/service/call/HttpCall.h"
#include "lib/support/Result.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace accord::service {

/// Where an API server is, and who asks it.
struct KubernetesServer {
  std::string url;              ///< "https://host:6443", or "http://127.0.0.1:8001" of kubectl proxy; a path may follow
  std::string authority;        ///< PEM of who may have signed the server's certificate; empty: those of the machine
  std::string certificate, key; ///< PEM of the client; empty: none
  std::string token;            ///< of a service account; empty: none
  std::string tokenFile;        ///< the same in a file, which is read for each call, because such tokens are replaced
  std::string nameSpace;        ///< of the context or the pod; empty: not stated
};

/// The server of a kubeconfig by its current context, or by `context`. Errors (A1203) name the file and what is missing
/// or not supported: programs that make tokens (`exec`), unverified servers, proxies.
Result<KubernetesServer> kubernetesServerOf(const std::string &kubeconfig, const std::string &context = "");
/// The server of the cluster in which this process is a pod, by KUBERNETES_SERVICE_HOST and the mounted account.
Result<KubernetesServer>
kubernetesServerInCluster(const std::string &folder = "/var/run/secrets/kubernetes.io/serviceaccount");

struct KubernetesLimits {
  double connect = 5, read = 10;    ///< seconds without a byte
  double call = 30;                 ///< seconds of a call with all of its attempts
  size_t bytes = size_t(256) << 20; ///< of an answer
  int attempts = 6;
};

struct KubernetesAnswer {
  int status = 0;                   ///< 2xx, 404, 409, 410 or 422
  llvm::json::Value body = nullptr; ///< an object; null where another status than 2xx has none
  bool isDone() const { return status >= 200 && status < 300; }
  std::string message() const; ///< of a Status; empty: none
};

/// Safe from several threads.
class KubernetesClient {
public:
  explicit KubernetesClient(KubernetesServer server, KubernetesLimits limits = {})
      : server(std::move(server)), limits(limits) {}

  /// `path` begins with "/". A body of PATCH is a JSON merge patch (RFC 7386). An overloaded or broken server (429,
  /// 500, 502, 503, 504) and a broken connection are tried again, after what Retry-After says or 0.1 s, 0.2 s, 0.4 s …,
  /// within the limits: callers only ask for what may be asked twice. Other statuses are errors (A1203).
  Result<KubernetesAnswer> call(const std::string &method, const std::string &path,
                                const llvm::json::Value *body = nullptr);
  /// All items of a list, in pages; `query` has its selectors, "labelSelector=a" (words of URLs). A list that changed
  /// too much between its pages (410) is read again.
  Result<std::vector<llvm::json::Value>> list(const std::string &path, const std::string &query = "");

private:
  Result<std::string> bearer() const;
  Result<KubernetesAnswer> read(const std::string &what, const HttpAnswer &said) const;

  KubernetesServer server;
  KubernetesLimits limits;
};

} // namespace accord::service

// How API servers are asked: limits, attempts, lists in pages, kubeconfig. The server is that of accord, or a socket
// where it has to misbehave.
#include "lib/service/engines/kubernetes/KubernetesClient.h"
#include "RawServer.h"
#include "lib/service/engines/kubernetes/KubernetesEngine.h"
#include "lib/service/http/HttpServer.h"
#include "gmock/gmock.h"
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace accord;
using namespace accord::service;
using testing::HasSubstr;

namespace {

class Server {
public:
  using Handler = std::function<HttpResponse(const HttpRequest &)>;
  explicit Server(const Handler &handler) {
    auto started = HttpServer::start(
        {}, {.answer = handler, .refuse = [](const auto &, const auto &) { return HttpResponse{.status = 400}; }});
    EXPECT_TRUE(started);
    server = std::move(*started);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server->port()); }

private:
  std::unique_ptr<HttpServer> server;
};

HttpResponse answered(const std::string &text, int status = 200) {
  return {.status = status, .body = std::make_shared<std::string>(text)};
}

KubernetesServer at(const std::string &url) {
  KubernetesServer server;
  server.url = url;
  return server;
}

double secondsOf(const std::function<void()> &what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string errorOf(KubernetesClient &client, const std::string &path = "/x") {
  auto answer = client.call("GET", path);
  if (answer)
    return "no error: " + std::to_string(answer->status);
  EXPECT_EQ(answer.error().code, Code::EngineFailed);
  return answer.error().message;
}

class Folder {
public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "accord-kube-XXXXXX";
    path = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream(path + "/" + name) << text;
    return path + "/" + name;
  }
  std::string path;
};

} // namespace

TEST(KubernetesClient, AsksAsTheApiWantsIt) {
  HttpRequest seen;
  Server server([&](const HttpRequest &request) {
    seen = request;
    return answered(R"({"kind": "Pod"})");
  });
  KubernetesServer place = at(server.url());
  place.token = "secret";
  KubernetesClient client(place);
  const llvm::json::Value body = llvm::json::Object{{"a", nullptr}};
  auto answer = client.call("PATCH", "/api/v1/nodes/a%20b", &body);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body.getAsObject()->getString("kind"), "Pod");
  EXPECT_EQ(seen.method, "PATCH");
  EXPECT_EQ(seen.body, R"({"a":null})");
  EXPECT_EQ(seen.header("content-type"), "application/merge-patch+json");
  EXPECT_EQ(seen.header("authorization"), "Bearer secret");
  ASSERT_TRUE(client.call("DELETE", "/x", &body));
  EXPECT_EQ(seen.header("content-type"), "application/json");
}

TEST(KubernetesClient, ReadsATokenAgain) {
  std::string seen;
  Server server([&](const HttpRequest &request) {
    seen = request.header("authorization");
    return answered("{}");
  });
  const Folder folder;
  KubernetesServer place = at(server.url());
  place.tokenFile = folder.write("token", "first\n");
  KubernetesClient client(place);
  ASSERT_TRUE(client.call("GET", "/x"));
  EXPECT_EQ(seen, "Bearer first");
  folder.write("token", "second");
  ASSERT_TRUE(client.call("GET", "/x"));
  EXPECT_EQ(seen, "Bearer second");
  folder.write("token", "a b\r\nX-Header: y");
  EXPECT_THAT(errorOf(client), HasSubstr("has no token"));
  std::filesystem::remove(place.tokenFile);
  EXPECT_THAT(errorOf(client), HasSubstr("has no token"));
}

TEST(KubernetesClient, TriesAgainWhatPasses) {
  std::atomic<int> asked = 0;
  Server server([&](const HttpRequest &) {
    static constexpr int kStatuses[] = {500, 429, 503, 200};
    HttpResponse response = answered("{}", kStatuses[std::min(asked++, 3)]);
    response.headers.emplace_back("Retry-After", "0");
    return response;
  });
  KubernetesClient client(at(server.url()));
  auto answer = client.call("POST", "/x");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(asked, 4);
}

TEST(KubernetesClient, DoesNotWaitLongerThanItMay) {
  std::atomic<int> asked = 0;
  Server server([&](const HttpRequest &) {
    ++asked;
    HttpResponse response = answered(R"({"message": "too many"})", 429);
    response.headers.emplace_back("Retry-After", "3600");
    return response;
  });
  KubernetesClient client(at(server.url()), {.call = 0.5});
  EXPECT_LT(secondsOf([&] { EXPECT_THAT(errorOf(client), HasSubstr("answer 429: 'too many'")); }), 5);
  EXPECT_EQ(asked, 1);
}

TEST(KubernetesClient, TellsStatusesApart) {
  int status = 404;
  Server server(
      [&](const HttpRequest &) { return answered(R"({"kind": "Status", "message": "is what it is"})", status); });
  KubernetesClient client(at(server.url()));
  for (int taken : {404, 409, 410, 422}) {
    status = taken;
    auto answer = client.call("GET", "/x");
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->isDone());
    EXPECT_EQ(answer->message(), "is what it is");
  }
  for (int refused : {400, 401, 403, 302, 505}) {
    status = refused;
    EXPECT_THAT(errorOf(client), HasSubstr("answer " + std::to_string(refused) + ": 'is what it is'"));
  }
}

TEST(KubernetesClient, TakesJsonAlone) {
  std::string text;
  Server server([&](const HttpRequest &) { return answered(text); });
  KubernetesClient client(at(server.url()));
  for (const char *garbage : {"<html>", "[1]", "{\"a\": 1, \"a\": 2}", "{", "12"}) {
    text = garbage;
    EXPECT_THAT(errorOf(client), HasSubstr("is no object of JSON"));
  }
  text = std::string(100'000, '[');
  EXPECT_THAT(errorOf(client), HasSubstr("is no object of JSON"));
}

TEST(KubernetesClient, EndsInTime) {
  const KubernetesLimits limits{.connect = 0.3, .read = 0.3, .call = 0.8, .bytes = 1 << 20, .attempts = 3};
  auto untilGone = [](int socket, const std::atomic<bool> &isOver, const std::string &text) {
    while (!isOver && send(socket, text.data(), text.size(), MSG_NOSIGNAL) >= 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(text.size() > 1000 ? 0 : 50));
  };
  auto answerOf = [&](const std::string &head, const std::string &text) {
    RawServer server([&](int socket, const std::atomic<bool> &isOver) {
      send(socket, head.data(), head.size(), MSG_NOSIGNAL);
      untilGone(socket, isOver, text);
    });
    KubernetesClient client(at(server.url()), limits);
    std::string said;
    EXPECT_LT(secondsOf([&] { said = errorOf(client); }), 5);
    return said;
  };
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
  EXPECT_THAT(answerOf(head, " "), HasSubstr("attempts"));                         // a byte now and then
  EXPECT_THAT(answerOf(head, std::string(1 << 16, ' ')), HasSubstr("more than"));  // for ever
  EXPECT_THAT(answerOf("HTTP/1.1 200 OK\r\n", "X: y\r\n"), HasSubstr("attempts")); // headers for ever
  EXPECT_THAT(answerOf("", "x"), HasSubstr("attempts"));                           // no HTTP
  EXPECT_THAT(answerOf("HTTP/1.1 200 ", std::string(1 << 16, 'x')), HasSubstr("beside its body"));
  RawServer silent([](int socket, const std::atomic<bool> &isOver) {
    char byte;
    while (!isOver && recv(socket, &byte, 1, MSG_DONTWAIT) != 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  for (const char *scheme : {"http", "https"}) { // an encrypted one never greets
    KubernetesClient client(at(silent.url(scheme)), limits);
    EXPECT_LT(secondsOf([&] { EXPECT_THAT(errorOf(client), HasSubstr("attempts")); }), 5);
  }
  KubernetesClient nobody(at("http://127.0.0.1:1"), limits);
  EXPECT_LT(secondsOf([&] { EXPECT_THAT(errorOf(nobody), HasSubstr("3 attempts")); }), 5);
}

TEST(KubernetesClient, ReadsListsInPages) {
  int changes = 1;
  Server server([&](const HttpRequest &request) {
    const auto continued = request.query.find("continue");
    const std::string from = continued == request.query.end() ? "" : continued->second;
    if (from == "2" && changes-- > 0)
      return answered(R"({"message": "expired"})", 410);
    EXPECT_EQ(request.query.at("labelSelector"), "accord/x=y z");
    return answered(from.empty()  ? R"({"metadata": {"continue": "1"}, "items": [{"n": 0}]})"
                    : from == "1" ? R"({"metadata": {"continue": "2"}, "items": [{"n": 1}]})"
                                  : R"({"metadata": {}, "items": [{"n": 2}]})");
  });
  KubernetesClient client(at(server.url()));
  auto items = client.list("/api/v1/pods", "labelSelector=" + encodePercent("accord/x=y z"));
  ASSERT_TRUE(items) << items.error().message;
  ASSERT_EQ(items->size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ((*items)[i].getAsObject()->getInteger("n"), i);
}

TEST(KubernetesClient, EndsListsThatDoNot) {
  std::string text = R"({"metadata": {"continue": "1"}, "items": []})";
  Server server([&](const HttpRequest &) { return answered(text); });
  KubernetesClient client(at(server.url()));
  EXPECT_THAT(client.list("/x").takeError().message, HasSubstr("follows itself"));
  text = R"({"kind": "Pod"})";
  EXPECT_THAT(client.list("/x").takeError().message, HasSubstr("is no list"));
}

TEST(KubernetesClient, Urls) {
  for (const char *wrong : {"", "x", "ftp://h", "http://", "http://h:0", "http://h:99999", "http://h:x", "http://a b",
                            "http://h/a b", "http://h/?q", "http://u@h"}) {
    KubernetesClient client(at(wrong));
    EXPECT_THAT(errorOf(client), HasSubstr("is no URL")) << wrong;
  }
  KubernetesServer open = at("http://kubernetes.example:80");
  open.token = "secret";
  KubernetesClient client(open);
  EXPECT_THAT(errorOf(client), HasSubstr("not sent"));
}

TEST(KubernetesClient, ReadsKubeconfig) {
  const Folder folder;
  folder.write("ca.crt", "authority");
  folder.write("token", "t");
  const std::string config = folder.write("config", R"(# of a test
apiVersion: v1
kind: Config
current-context: "lab"
clusters:
- name: one
  cluster: {server: 'https://10.0.0.1:6443', certificate-authority: ca.crt}
- name: two
  cluster:
    server: https://two:6443
    certificate-authority-data: YXV0aA==
- name: open
  cluster: {server: "https://x", insecure-skip-tls-verify: true}
users:
- name: ada
  user:
    client-certificate-data: Y2VydA==
    client-key-data: >-
      a2
      V5
- name: bot
  user: {tokenFile: token}
- name: half
  user: {client-certificate-data: Y2VydA==}
- name: cloud
  user:
    exec: {command: aws, args: [eks]}
contexts:
- {name: lab, context: {cluster: one, user: ada, namespace: training}}
- {name: second, context: {cluster: two, user: bot}}
- {name: unsafe, context: {cluster: open, user: bot}}
- {name: halved, context: {cluster: two, user: half}}
- {name: cloudy, context: {cluster: two, user: cloud}}
- {name: nobody, context: {cluster: two}}
- {name: lost, context: {cluster: three, user: ada}}
)");
  auto lab = kubernetesServerOf(config);
  ASSERT_TRUE(lab) << lab.error().message;
  EXPECT_EQ(lab->url, "https://10.0.0.1:6443");
  EXPECT_EQ(lab->authority, "authority");
  EXPECT_EQ(lab->certificate, "cert");
  EXPECT_EQ(lab->key, "key");
  EXPECT_EQ(lab->nameSpace, "training");
  auto second = kubernetesServerOf(config, "second");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->authority, "auth");
  EXPECT_EQ(second->tokenFile, folder.path + "/token");
  EXPECT_TRUE(kubernetesServerOf(config, "nobody"));
  for (auto [context, said] : {std::pair{"unsafe", "is not verified"},
                               {"halved", "come together"},
                               {"cloudy", "'exec' of a user is not supported"},
                               {"lost", "has no cluster 'three'"},
                               {"none", "has no context 'none'"}}) {
    auto server = kubernetesServerOf(config, context);
    ASSERT_FALSE(server) << context;
    EXPECT_THAT(server.error().message, HasSubstr(said));
  }
}

TEST(KubernetesClient, ReadsNoKubeconfigInAnythingElse) {
  const Folder folder;
  EXPECT_FALSE(kubernetesServerOf(folder.path + "/none"));
  EXPECT_FALSE(kubernetesServerOf(folder.path));
  std::string deep, nested;
  for (int i = 0; i < 20'000; ++i)
    deep += "[";
  for (int i = 0; i < 300; ++i)
    nested += std::string(i, ' ') + "a:\n";
  for (const std::string &text :
       {std::string(), std::string("a: b"), std::string("- 1"), std::string("\t\t{"), std::string("a: &x [*x, *x]"),
        std::string("current-context: [a]"), std::string("{current-context: a, contexts: 3}"), std::string("\0\xff", 2),
        std::string("current-context: a\ncontexts:\n- name: a\n  context: 7"), deep, nested,
        std::string("current-context: a\ncontexts: [{name: a, context: {cluster: b}}]\nclusters: [{name: b, cluster: "
                    "{server: https://x, certificate-authority-data: '*'}}]")})
    EXPECT_FALSE(kubernetesServerOf(folder.write("config", text))) << text.substr(0, 40);
}

TEST(KubernetesClient, FindsTheClusterAroundIt) {
  const Folder folder;
  folder.write("token", "t"), folder.write("ca.crt", "ca"), folder.write("namespace", "lab\n");
  unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_FALSE(kubernetesServerInCluster(folder.path));
  setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  auto server = kubernetesServerInCluster(folder.path);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(server->url, "https://[fd00::1]:443");
  EXPECT_EQ(server->nameSpace, "lab");
  EXPECT_EQ(server->tokenFile, folder.path + "/token");
  unsetenv("KUBERNETES_SERVICE_HOST"), unsetenv("KUBERNETES_SERVICE_PORT");
}

TEST(KubernetesClient, FindsPodsThatCameAndEndedBetweenTwoLists) {
  const std::string end = R"("exitCode": 3, "startedAt": "2026-11-28T14:00:00Z", "finishedAt": "2026-11-28T14:00:01Z")";
  const std::string pod = R"({"metadata": {"name": "p", "uid": "2", "labels": {"accord/object": "o"}},
      "spec": {"nodeName": "a1"}, "status": {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {)" +
                          end + "}}}]}}";
  const std::string job = R"({"metadata": {"name": "o", "uid": "1", "labels": {"accord/object": "o"},
      "annotations": {"accord/task": "accord-7", "accord/nodes": "a1"}}, "spec": {},
      "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}})";
  std::atomic<int> podLists = 0;
  const Server server([&](const HttpRequest &request) {
    const bool isOfPods = request.segments.back() == "pods";
    const std::string &item = isOfPods ? pod : job;
    const bool isThere = !isOfPods || podLists++ > 0;
    return answered("{\"items\": [" + (isThere ? item : "") + "], \"metadata\": {}}");
  });
  KubernetesOptions options;
  options.url = server.url(), options.image = "registry/train:1";
  auto engine = kubernetesEngine(options);
  ASSERT_TRUE(engine) << engine.error().message;
  auto tasks = (*engine)->tasks();
  ASSERT_TRUE(tasks) << tasks.error().message;
  ASSERT_EQ(tasks->size(), 1u);
  EXPECT_EQ(tasks->front().state, EngineTask::State::Failed);
  EXPECT_EQ(tasks->front().exitCode, 3);
  EXPECT_EQ(podLists, 2);
}

TEST(KubernetesClient, DeletesNoPodThatEndedSinceItWasSeen) {
  const auto podOf = [](const std::string &state, const std::string &version) {
    return R"({"metadata": {"name": "p", "uid": "2", "resourceVersion": ")" + version +
           R"(", "labels": {"accord/object": "o"}}, "spec": {"nodeName": "a1"}, "status": )" + state + "}";
  };
  const std::string over = R"({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3,
      "startedAt": "2026-11-28T14:00:00Z", "finishedAt": "2026-11-28T14:00:01Z"}}}]})";
  const std::string job = R"({"metadata": {"name": "o", "uid": "1", "labels": {"accord/object": "o"},
      "annotations": {"accord/task": "accord-7", "accord/nodes": "a1"}}, "spec": {},
      "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}})";
  std::atomic<bool> hasEnded = false;
  std::atomic<int> deletions = 0;
  const Server server([&](const HttpRequest &request) {
    if (request.method == "DELETE") {
      ++deletions;
      EXPECT_NE(request.body.find(R"("preconditions":{"resourceVersion":"7"})"), std::string::npos) << request.body;
      hasEnded = true; // between the list and this call
      return answered(R"({"kind": "Status", "message": "the precondition does not match"})", 409);
    }
    const std::string pod = hasEnded ? podOf(over, "8") : podOf(R"({"phase": "Running"})", "7");
    return answered("{\"items\": [" + (request.segments.back() == "pods" ? pod : job) + "], \"metadata\": {}}");
  });
  KubernetesOptions options;
  options.url = server.url(), options.image = "registry/train:1";
  auto engine = kubernetesEngine(options);
  ASSERT_TRUE(engine) << engine.error().message;
  auto tasks = (*engine)->tasks();
  ASSERT_TRUE(tasks) << tasks.error().message;
  EXPECT_EQ(tasks->front().state, EngineTask::State::Ending);
  tasks = (*engine)->tasks();
  ASSERT_TRUE(tasks) << tasks.error().message;
  EXPECT_EQ(tasks->front().state, EngineTask::State::Failed);
  EXPECT_EQ(tasks->front().exitCode, 3);
  EXPECT_EQ(deletions, 1);
}

// What is read of runs that do not say by themselves how far they are: metrics for Prometheus, traces of a profiler.
#include "lib/service/progress/LearnedTable.h"
#include "lib/service/progress/Metrics.h"
#include "lib/service/progress/StepTrace.h"
#include "test/lib/service/SchedulerLife.h"
#include <arpa/inet.h>
#include <atomic>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

namespace accord::testing {
namespace {

using ::testing::HasSubstr;

/// Answers each connection with the same bytes, on a port of its own; waits for the client's end if it `hangs`.
class Page {
public:
  explicit Page(std::string answer, bool hangs = false) : answer(std::move(answer)), hangs(hangs) {
    file = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(file, reinterpret_cast<sockaddr *>(&address), size), 0);
    EXPECT_EQ(::listen(file, 8), 0);
    EXPECT_EQ(::getsockname(file, reinterpret_cast<sockaddr *>(&address), &size), 0);
    port = ntohs(address.sin_port);
    thread = std::thread([this] { serve(); });
  }
  ~Page() {
    stop = true;
    thread.join();
    ::close(file);
  }
  std::string url(const std::string &host = "127.0.0.1") const {
    return fmt::format("http://{}:{}/metrics", host, port);
  }
  static std::string ok(const std::string &body) {
    return "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + body;
  }
  std::string answer;
  uint16_t port = 0;
  std::atomic<int> asked = 0;

private:
  void serve() {
    while (!stop) {
      pollfd one{file, POLLIN, 0};
      if (::poll(&one, 1, 20) != 1)
        continue;
      const int client = ::accept(file, nullptr, nullptr);
      char request[4096];
      (void)!::recv(client, request, sizeof request, 0);
      ++asked;
      (void)!::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      if (hangs) {
        pollfd end{client, POLLIN, 0};
        while (!stop && ::poll(&end, 1, 20) == 0)
          ;
      }
      ::close(client);
    }
  }
  bool hangs = false;
  int file = -1;
  std::atomic<bool> stop = false;
  std::thread thread;
};

std::string fetched(const std::string &url, double seconds = 100) {
  auto place = metricsPlace(url, "n1");
  if (!place)
    return place.error().message;
  auto page = fetchMetrics(*place, seconds);
  return page ? *page : page.error().message;
}

TEST(Metrics, PlacesAreRead) {
  auto place = metricsPlace("http://{node}:9400/m?of={node}", "n7");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->server.host + " " + place->server.port + " " + place->path, "n7 9400 /m?of=n7");
  place = metricsPlace("http://[::1]:80", "");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->server.host + " " + place->server.port + " " + place->path, "::1 80 /metrics");
  for (const char *url : {"", "ftp://a/", "http://", "http:///m", "http://a:0/", "http://a:99999/", "http://a:x/",
                          "http://u@a/", "http://a b/", "http://a/\r\nX: y", "http://[::1", "http://[::1]x/"})
    EXPECT_FALSE(metricsPlace(url, "n")) << url;
}

TEST(Metrics, PagesAreFetchedWithinBounds) {
  const Page good(Page::ok("samples_total 5\n"));
  EXPECT_EQ(fetched(good.url()), "samples_total 5\n");
  EXPECT_EQ(fetched(good.url("localhost")), "samples_total 5\n");
  const Page away("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n"), other("SSH-2.0-x\r\n");
  EXPECT_THAT(fetched(away.url()), HasSubstr("status 302"));
  EXPECT_THAT(fetched(other.url()), HasSubstr("no HTTP/1.1"));
  const Page large(Page::ok(std::string(5 << 20, 'x'))), slow(Page::ok("samples_total 5\n"), true);
  EXPECT_THAT(fetched(large.url()), HasSubstr("more than"));
  EXPECT_THAT(fetched(slow.url(), 0.2), HasSubstr("no answer within"));
  for (const char *url : {"http://169.254.169.254/latest", "http://0.0.0.0:80/", "http://[fe80::1]/",
                          "http://224.0.0.1/", "http://[::ffff:169.254.169.254]/"})
    EXPECT_THAT(fetched(url), HasSubstr("refused")) << url;
  EXPECT_THAT(fetched("http://127.0.0.1:1/"), HasSubstr("nobody listens there"));
}

TEST(Metrics, OneSeriesIsRead) {
  const std::string page = "# HELP train_samples_total of all\n# TYPE train_samples_total counter\n"
                           "train_samples_total{rank=\"0\",job=\"a \\\"b\\\" }\"} 1.5e3 1395066363000\n"
                           "train_samples_total{rank=\"1\",job=\"x\"} 7\n# TYPE done gauge\ndone 12\nloose_total 3\n"
                           "nothing NaN\n";
  auto value = [&](const char *metric) {
    auto read = readMetric(page, metric);
    return read ? fmt::format("{} {}", read->value, read->isCounter ? "counter" : "gauge") : read.error().message;
  };
  EXPECT_EQ(value("train_samples_total{rank=\"0\"}"), "1500 counter");
  EXPECT_EQ(value("train_samples_total{job=\"a \\\"b\\\" }\"}"), "1500 counter");
  EXPECT_EQ(value("done"), "12 gauge");
  EXPECT_EQ(value("loose_total"), "3 counter");
  EXPECT_THAT(value("train_samples_total"), HasSubstr("several"));
  EXPECT_THAT(value("train_samples"), HasSubstr("there is no metric"));
  EXPECT_THAT(value("nothing"), HasSubstr("not a number"));
  for (const char *wrong : {"", "1a", "a{", "a{b}", "a{b=\"c}", "a b"})
    EXPECT_FALSE(checkMetric(wrong)) << wrong;
}

/// A job that exports metrics, and says nothing else: a counter of a second run goes on from what the job had.
TEST(Metrics, AreTheProgressOfAJob) {
  Page page(Page::ok("# TYPE samples_total counter\nsamples_total 250\n"));
  Life life("metrics");
  life.begin();
  Submission one;
  one.name = "exports", one.command = {"x"}, one.samples = 1000, one.restart = 0;
  one.measured = {{"a100", 4, 0.001}};
  one.progressFrom = page.url(), one.progressMetric = "samples_total";
  life.cluster.rate = [](const TaskRequest &) { return 0; };
  auto id = life.process->submit(life.local, one);
  ASSERT_TRUE(id);
  for (int i = 0; i < 12; ++i) {
    life.step();
    for (auto &[name, task] : life.cluster.tasks)
      task.reports = false;
  }
  auto view = life.process->job(life.local, id->first);
  ASSERT_TRUE(view);
  EXPECT_GT(page.asked, 0);
  EXPECT_EQ(view->job.progress.samples, 250);
  one.progressMetric.clear();
  EXPECT_FALSE(life.process->submit(life.local, one));
  one.progressMetric = "samples_total", one.progressFrom = "http://u@a/";
  EXPECT_FALSE(life.process->submit(life.local, one));
}

/// A trace as torch.profiler writes it: steps of 100 ms on the CPU, in each of which the device computes for 60 ms and
/// communicates for 50 ms, 30 ms of them beside computing.
std::string trace(int steps, double communicates = 50) {
  std::string text = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A {100}"}],
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 4}, "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "py\"thon }"}})";
  for (int i = 0; i < steps; ++i) {
    const double at = 5e6 + 1e5 * i;
    auto add = [&](const char *kind, const std::string &name, double begin, double ms, int device) {
      text += fmt::format(R"(,
  {{"ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": 7, "ts": {:.3f}, "dur": {:.3f}, "args": {{"device": {}}}}})",
                          kind, name, at + 1e3 * begin, 1e3 * ms, device);
    };
    add("user_annotation", fmt::format("ProfilerStep#{}", i + 3), 0, i == 0 ? 99 : 100, 0);
    add("gpu_user_annotation", fmt::format("ProfilerStep#{}", i + 3), 50, 300, 0);
    add("cpu_op", "aten::mm", 0, 90, 0);
    add("kernel", "ampere_sgemm", 10, 60, 0);
    add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", 40, communicates, 0);
    add("kernel", "ampere_sgemm", 0, 100, 1); // of another device
  }
  return text + "],\n\"traceName\": \"x.json\"}";
}

TEST(StepTrace, TellsTimeAndCommunicationOfSteps) {
  for (size_t piece : {size_t(1), size_t(7), size_t(1) << 20}) {
    const std::string text = trace(5);
    StepTraceReader reader;
    for (size_t at = 0; at < text.size(); at += piece)
      reader.take(std::string_view(text).substr(at, piece));
    auto read = reader.end();
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->steps, 4);
    EXPECT_NEAR(read->seconds, 0.1, 1e-9);
    EXPECT_NEAR(read->communication, 0.2, 1e-9);
  }
}

TEST(StepTrace, KnowsNoCommunicationWhereThereIsNone) {
  std::string text = trace(3);
  for (size_t at = 0; (at = text.find("nccl", at)) != std::string::npos;)
    text.replace(at, 4, "mine");
  StepTraceReader reader;
  reader.take(text);
  auto read = reader.end();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->communication, -1);
}

TEST(StepTrace, RefusesWhatIsNone) {
  auto end = [](const std::string &text) {
    StepTraceReader reader;
    reader.take(text);
    auto read = reader.end();
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_THAT(end(""), HasSubstr("no step"));
  EXPECT_THAT(end("{\"traceEvents\": [{\"ph\": \"X\""), HasSubstr("not whole"));
  EXPECT_THAT(end("[]"), HasSubstr("no step"));
  EXPECT_THAT(end("}}}]]]{{{\"ProfilerStep#"), HasSubstr("no step"));
  EXPECT_EQ(end(R"([{"ph": "X", "name": "ProfilerStep#1", "ts": 1, "dur": 5}])"), "read");
  EXPECT_THAT(end(R"([{"ph": "X", "name": "ProfilerStep#1", "ts": 1, "dur": 0}])"), HasSubstr("no time"));
  EXPECT_FALSE(readStepTrace("/nowhere/trace.json"));
  EXPECT_FALSE(readStepTrace("/tmp"));
}

TEST(LearnedSpeeds, KnowOthersByTheCommunicationOfATrace) {
  jobs::Cluster cluster;
  cluster.types = {"a100"};
  // On 4 devices a fifth of the time is communication: 0.8 of 4 devices, s = 0.25 / 3.
  const auto speeds = learnedSpeeds(cluster, {{1, 2, 4, 8, 16}}, {}, {{"a100", 4, 80, 60, 0.2}});
  ASSERT_EQ(speeds.size(), 4u);
  EXPECT_NEAR(speeds[0].rate, 25, 1e-9);
  EXPECT_NEAR(speeds[1].rate, 50 / (1 + 0.25 / 3), 1e-9);
  EXPECT_NEAR(speeds[2].rate, 80, 1e-9);
  EXPECT_NEAR(speeds[3].rate, 200 / (1 + 7 * 0.25 / 3), 1e-9);
}

/// What a profiler left says how fast a job is before its reports do.
TEST(StepTrace, ModelsAJobThatNobodyDescribed) {
  Life life("trace");
  life.begin();
  Submission one;
  one.name = "script", one.command = {"train.py"}, one.samples = 1e6, one.restart = 0, one.minDevices = 4;
  life.cluster.rate = [](const TaskRequest &) { return 0; };
  auto id = life.process->submit(life.local, one);
  ASSERT_TRUE(id);
  for (int i = 0; i < 3; ++i)
    life.step();
  ASSERT_EQ(life.cluster.tasks.size(), 1u);
  const TaskRequest &asked = life.cluster.tasks.begin()->second.asked;
  const std::string folder = life.folder / asked.name / "traces";
  EXPECT_THAT(asked.environment, ::testing::Contains(std::pair<std::string, std::string>("ACCORD_TRACES", folder)));
  {
    std::ofstream(folder + "/rank0.json") << trace(5);
    std::filesystem::last_write_time(folder + "/rank0.json",
                                     std::filesystem::file_time_type::clock::now() - std::chrono::seconds(10));
    std::ofstream(life.folder / asked.name / "progress", std::ios::app) << "{\"samples\": 10, \"batch\": 64}\n";
  }
  for (int i = 0; i < 12; ++i)
    life.step();
  auto lines = life.process->explain(life.local, id->first);
  ASSERT_TRUE(lines);
  const std::string text = fmt::format("{}", fmt::join(*lines, "\n"));
  EXPECT_THAT(text, HasSubstr(fmt::format("it could run on 4 {}: 640 samples a second", asked.deviceType)));
}

/// Whole percents that Kubeflow's trainer was told are the progress of a run that says nothing else.
TEST(EngineProgress, IsThatOfARunThatSaysNothingElse) {
  Life life("percent");
  life.begin();
  life.cluster.rate = [](const TaskRequest &) { return 0; };
  const int64_t id = life.submit("job", 1000, {{"a100", 4, 40}});
  for (int i = 0; i < 3; ++i) {
    life.step();
    for (auto &[name, task] : life.cluster.tasks)
      task.reports = false;
  }
  ASSERT_EQ(life.cluster.tasks.size(), 1u);
  auto &task = life.cluster.tasks.begin()->second;
  task.is.share = 0.3, task.is.shareAt = life.cluster.time;
  life.step();
  EXPECT_EQ(life.process->job(life.local, id)->job.progress.samples, 300);
}

} // namespace
} // namespace accord::testing

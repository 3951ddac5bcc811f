// The board of a round, what is said, and the sockets that carry it.
#include "lib/exploration/distributed/ChunkQueue.h"
#include "lib/exploration/distributed/RankMessage.h"
#include "lib/exploration/distributed/Sockets.h"
#include "test/support/Random.h"
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

using namespace accord;
using namespace std::chrono_literals;

namespace {

TEST(ChunkQueue, EveryItemIsGivenOutOnce) {
  for (size_t items : {0, 1, 7, 16, 33})
    for (size_t size : {0, 1, 5, 16, 100}) {
      ChunkQueue chunkQueue;
      chunkQueue.open(items, size);
      std::vector<int> seen(items);
      ChunkQueue::Clock::time_point now;
      while (auto number = chunkQueue.take(0, now, 1s)) {
        for (size_t i = 0; i < chunkQueue.chunk(*number).count; ++i)
          ++seen.at(chunkQueue.chunk(*number).first + i);
        EXPECT_FALSE(chunkQueue.complete());
        EXPECT_TRUE(chunkQueue.finish(*number));
        EXPECT_FALSE(chunkQueue.finish(*number));
      }
      EXPECT_TRUE(chunkQueue.complete());
      EXPECT_THAT(seen, testing::Each(1));
    }
}

TEST(ChunkQueue, WhatIsOutTooLongOrLostIsGivenToOthers) {
  ChunkQueue chunkQueue;
  chunkQueue.open(2, 1);
  ChunkQueue::Clock::time_point now;
  EXPECT_EQ(chunkQueue.take(1, now, 10s), 0u);
  EXPECT_EQ(chunkQueue.take(2, now, 10s), 1u);
  EXPECT_EQ(chunkQueue.take(3, now + 9s, 10s), std::nullopt);
  EXPECT_EQ(chunkQueue.take(1, now + 10s, 10s), 1u); // its own it has
  EXPECT_EQ(chunkQueue.take(1, now + 30s, 10s), std::nullopt);
  EXPECT_EQ(chunkQueue.take(3, now + 10s, 10s), 0u);
  EXPECT_EQ(chunkQueue.take(0, now + 11s, 10s), std::nullopt); // given out again a second ago
  chunkQueue.lose(2);                                          // another has it, too
  EXPECT_EQ(chunkQueue.waiting(), 0u);
  chunkQueue.lose(1);
  EXPECT_EQ(chunkQueue.waiting(), 1u);
  EXPECT_EQ(chunkQueue.take(0, now + 11s, 10s), 1u);
  EXPECT_TRUE(chunkQueue.finish(1));
  EXPECT_TRUE(chunkQueue.finish(0));
  chunkQueue.lose(0);
  chunkQueue.lose(3);
  EXPECT_EQ(chunkQueue.waiting(), 0u);
  EXPECT_TRUE(chunkQueue.complete());
}

RankMessage example(RankMessage::Kind kind) {
  RankMessage message;
  message.kind = kind;
  message.number = 0x0123456789abcdef;
  message.chunk = 3;
  message.threads = 8;
  message.process = 4321;
  message.text = std::string("a\0b", 3);
  message.task = {EvaluationTask::Query::Evaluate, 2, INFINITY};
  message.boxes = {{{1, 2, UINT32_MAX}, {}}, {{}, {0}}};
  message.results = {{INFINITY, 0.1}, {-0.0, 5e-324}};
  message.result.best = Design{4, 5};
  message.result.isOptimal = true;
  message.result.value = 0.1;
  message.result.evaluations = UINT64_MAX;
  message.result.proof = "because";
  return message;
}

TEST(RankMessages, ComeBackAsTheyWere) {
  for (uint8_t kind = 0; kind <= uint8_t(RankMessage::Kind::Bye); ++kind) {
    std::string text = encoded(example(static_cast<RankMessage::Kind>(kind)));
    auto back = decoded(text);
    ASSERT_TRUE(back) << int(kind);
    EXPECT_EQ(encoded(*back), text) << int(kind);
  }
  auto work = decoded(encoded(example(RankMessage::Kind::Work)));
  EXPECT_EQ(work->boxes[0].low, (Design{1, 2, UINT32_MAX}));
  EXPECT_EQ(work->boxes[1].high, (Design{0}));
  EXPECT_EQ(work->task.below, INFINITY);
  EXPECT_EQ(work->task.query, EvaluationTask::Query::Evaluate);
  auto answer = decoded(encoded(example(RankMessage::Kind::Answer)));
  EXPECT_EQ(answer->results[1].lowerBound, 5e-324);
  auto end = decoded(encoded(example(RankMessage::Kind::End)));
  EXPECT_EQ(end->result.best, (Design{4, 5}));
  EXPECT_EQ(end->result.proof, "because");
  EXPECT_TRUE(end->result.isOptimal);
  auto hello = decoded(encoded(example(RankMessage::Kind::Hello)));
  EXPECT_EQ(hello->text.size(), 3u);
  EXPECT_EQ(hello->process, 4321u);
}

TEST(RankMessages, WhatIsNoneIsRefused) {
  fuzz::Random random(1);
  for (uint8_t kind = 0; kind <= uint8_t(RankMessage::Kind::Bye); ++kind) {
    std::string text = encoded(example(static_cast<RankMessage::Kind>(kind)));
    for (size_t size = 0; size < text.size(); ++size)
      EXPECT_FALSE(decoded(text.substr(0, size))) << int(kind) << " " << size;
    EXPECT_FALSE(decoded(text + "x"));
    for (int i = 0; i < 2000; ++i) { // anything but a crash, or a list of 2^60
      std::string damaged = text;
      for (int flips = 0; flips < 3; ++flips)
        damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
      if (auto message = decoded(damaged)) {
        EXPECT_LE(message->boxes.size(), damaged.size());
      }
    }
  }
}

std::optional<LeaderLink::Event> soon(LeaderLink &link) {
  for (int i = 0; i < 200; ++i)
    if (auto event = link.next(100ms))
      return event;
  return std::nullopt;
}

TEST(RankSockets, CarryMessagesAndLosses) {
  std::string invitation;
  auto listening = listenForRanks(3, invitation);
  auto &leader = *std::get<std::unique_ptr<LeaderLink>>(listening);
  EXPECT_EQ(leader.ranks(), 3u);
  std::string wrong = invitation;
  wrong[0] = wrong[0] == 'a' ? 'b' : 'a';
  auto stranger = joinLeader(wrong, 2), tooMany = joinLeader(invitation, 4), first = joinLeader(invitation, 1),
       second = joinLeader(invitation, 2), twice = joinLeader(invitation, 2);
  auto link = [](auto &joined) -> ServerLink & { return *std::get<std::unique_ptr<ServerLink>>(joined); };
  std::string large(3'000'000, 'x');
  EXPECT_TRUE(link(first).send("one"));
  std::thread sends([&] { EXPECT_TRUE(link(first).send(large)); }); // more than is buffered
  auto event = soon(leader);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->rank, 1u);
  EXPECT_EQ(event->message, "one");
  event = soon(leader);
  ASSERT_TRUE(event && event->message);
  EXPECT_EQ(*event->message, large);
  sends.join();
  EXPECT_TRUE(link(second).send(""));
  event = soon(leader);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->rank, 2u);
  EXPECT_EQ(event->message, "");
  // Who is sent away, and who is answered; both ways at any length.
  EXPECT_FALSE(link(stranger).receive());
  EXPECT_FALSE(link(tooMany).receive());
  EXPECT_FALSE(link(twice).receive());
  leader.send(1, large);
  leader.send(3, "nobody");
  std::thread reads([&] {
    EXPECT_EQ(link(first).receive(), large);
    std::get<std::unique_ptr<ServerLink>>(first).reset();
  });
  event = soon(leader); // what did not fit leaves meanwhile
  ASSERT_TRUE(event);
  EXPECT_EQ(event->rank, 1u);
  EXPECT_FALSE(event->message);
  reads.join();
  leader.send(1, "too late");
  EXPECT_FALSE(leader.next(20ms));
  leader.drop(2);
  EXPECT_FALSE(link(second).receive());
  EXPECT_FALSE(leader.next(50ms)); // no event for who was dropped
  EXPECT_FALSE(leader.next(50ms));
  std::thread wakes([&] { leader.wake(); });
  leader.next(10s);
  wakes.join();
}

TEST(RankSockets, NoLeaderNoLink) {
  std::string invitation;
  listenForRanks(1, invitation); // and gone
  for (std::string text : {invitation, std::string(), std::string("a b c"), std::string("a 1 x ?")})
    EXPECT_TRUE(std::holds_alternative<std::string>(joinLeader(text, 1))) << text;
}

} // namespace

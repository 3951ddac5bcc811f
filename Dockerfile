# An image with `accord` alone: the first stage builds the Debian package, the second installs it.
#   docker build -t accord .
#   docker run --rm -v "$PWD:/work" accord compile gpt2.dnn -o out/
FROM debian:bookworm-slim AS build
WORKDIR /accord
COPY . .
RUN ./quickstart && ninja -C build deb

FROM debian:bookworm-slim
COPY --from=build /accord/build/accord_*.deb /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends /tmp/accord_*.deb \
 && rm -rf /tmp/accord_*.deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["accord"]

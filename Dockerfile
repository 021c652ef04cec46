# Bases by digest, of images for several platforms. How to renew them: docs/image.md.
ARG BUILD_IMAGE=docker.io/library/node:24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian13:nonroot@sha256:e792ab3d241a468a4fd7519ddbbebe66b49b5f365771716ea688ad40b6c6f1c2

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
# First what changes least: the packages, by their digests in the lockfile.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY . .
# The context has no repository, so whoever builds says the commit and its time (RFC 3339).
ARG COMMIT
ARG TIME
RUN node hack/run.mjs hack/build.ts --commit="${COMMIT}" --time="${TIME}"

# glibc, libstdc++ and certificates; no shell, no package manager. Node.js is the one of the lockfile, which the tests run on.
FROM ${RUNTIME_IMAGE}
ARG VERSION
ARG COMMIT
ARG TIME
LABEL org.opencontainers.image.title="muster" \
      org.opencontainers.image.description="Keeps a fleet of clusters and devices in the state that Git declares" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.created="${TIME}"
COPY --from=build /src/node_modules/.bin/node /usr/local/bin/node
COPY --from=build /src/hack/image/muster /usr/local/bin/muster
COPY --from=build /src/hack/image/sentinel /sentinel
COPY --from=build /src/dist /opt/muster
# A number, so that Kubernetes can see that it isn't root.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/muster"]

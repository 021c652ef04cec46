import { adapter } from './adapter/adapter.ts'
import { api, apiEmbedded } from './api/api.ts'
import { apiClaims } from './api/claims.ts'
import { apiGaps } from './api/gaps.ts'
import { apiGrowth } from './api/growth.ts'
import { clusters } from './clusters/clusters.ts'
import { clustersHosted } from './clusters/hosted.ts'
import type { Bench } from './definition.ts'
import { fleet } from './fleet/fleet.ts'
import { fleetSigning } from './fleet/signing.ts'
import { pool } from './pool/pool.ts'
import { cache } from './runtime/cache.ts'
import { idle } from './runtime/idle.ts'
import { latency } from './runtime/latency.ts'
import { restart } from './runtime/restart.ts'
import { start } from './runtime/start.ts'
import { throughput } from './runtime/throughput.ts'
import { scaleApi } from './scale/api.ts'
import { scaleFleet } from './scale/fleet.ts'
import { scaleReplicas } from './scale/replicas.ts'
import { scaleShards } from './scale/shards.ts'
import { scaleSimulation } from './scale/simulation.ts'
import { sentinelPolling } from './sentinel/polling.ts'
import { sentinelStream } from './sentinel/stream.ts'

/** Every bench, in the order in which `npm run bench` plays them. */
export const catalogue: readonly Bench[] = [
  throughput,
  latency,
  restart,
  idle,
  start,
  cache,
  sentinelStream,
  sentinelPolling,
  adapter,
  api,
  apiEmbedded,
  apiGrowth,
  apiClaims,
  apiGaps,
  pool,
  clusters,
  clustersHosted,
  fleet,
  fleetSigning,
  scaleApi,
  scaleReplicas,
  scaleShards,
  scaleFleet,
  scaleSimulation,
]

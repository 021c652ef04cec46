/** The daemon that looks again and again whether the API server of a cluster answers: CLUSTER-20, CLUSTER-40. */
import {
  AdminKubeconfigError,
  parseAdminKubeconfig,
  readAdminKubeconfig,
  serverOf,
} from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { monotonic } from '#operator/model/clock.ts'
import { type Backoff, backoffDelay } from '#operator/model/outcome.ts'
import { judge, knownBefore, type Look, saidBefore } from './condition.ts'
import type { Findings, Reachability } from './findings.ts'
import { probeApiServer } from './probe.ts'
import { Slots } from './slots.ts'

/** Between looks at one that answers, and at one that does not; milliseconds. */
const INTERVAL: Backoff = { initial: 60_000, factor: 1, max: 60_000, jitter: 0.2 }
const BACKOFF: Backoff = { initial: 2_000, factor: 2, max: 300_000, jitter: 0.2 }
/** @param random in [0, 1) @returns milliseconds */
const nextLook = (failures: number, random: number): number =>
  failures === 0 ? backoffDelay(INTERVAL, 1, random) : backoffDelay(BACKOFF, failures, random)

const MINUTE_MS = 60_000

/** So long after an answer of any cluster this process counts as one that reaches clusters. */
const OTHERS_ANSWER_MS = 10 * 60_000

/** Looks at once: clusters that don't answer take the whole time limit each. */
const MAX_LOOKS = 32

/** Until the signal aborts. @throws ApiError, NetworkError of the manager's own API server */
export const watchReachability = (
  findings: Findings,
  version: string,
): ((context: DaemonContext<ClusterDeployment>) => Promise<void>) => {
  const slots = new Slots(MAX_LOOKS)
  /** When any cluster answered last: while none does it is more likely this process that reaches nothing. CLUSTER-21. */
  let answeredAt = Number.NEGATIVE_INFINITY
  return async (context) => {
    const { object, clock, signal } = context
    let latest: Reachability | undefined = saidBefore(object)
    let { isKnown, ms } = knownBefore(object)
    let failures = 0
    let silentAt: number | undefined
    try {
      while (!signal.aborted) {
        const look = await slots.run(() => lookAt(context, `muster-clusterdeployment/${version}`))
        failures = look.kind === 'Answers' ? 0 : failures + 1
        const now = monotonic(clock)
        if (look.kind === 'Answers') answeredAt = now
        isKnown ||= look.kind === 'Answers'
        if (look.kind === 'Answers') ms = 0
        else if (silentAt !== undefined && now - answeredAt < OTHERS_ANSWER_MS) ms += now - silentAt
        // Time in which it can't be asked does not count.
        silentAt = look.kind === 'Silent' ? now : undefined
        const { status, reason, message } = judge(latest, look, { isKnown, failures, ms })
        latest = { status, reason, message }
        const apiURL = look.kind === 'NoKubeconfig' ? {} : { apiURL: look.apiURL }
        const silent = isKnown ? { silentSeconds: Math.floor(ms / MINUTE_MS) * 60 } : {}
        findings.record(object, 'probe', { ...apiURL, unreachable: latest, ...silent })
        await clock.sleep(nextLook(failures, Math.random()), signal)
      }
    } finally {
      findings.forget(object, 'probe')
    }
  }
}

/** The kubeconfig is read each time: certificates are renewed, servers move. */
const lookAt = async (
  { api, object, clock, signal }: DaemonContext<ClusterDeployment>,
  userAgent: string,
): Promise<Look> => {
  signal.throwIfAborted()
  try {
    const config = parseAdminKubeconfig(await readAdminKubeconfig(api, object))
    const apiURL = serverOf(config)
    const why = await probeApiServer(config, { userAgent, clock, signal })
    return why === undefined ? { kind: 'Answers', apiURL } : { kind: 'Silent', apiURL, why }
  } catch (error) {
    if (error instanceof AdminKubeconfigError) return { kind: 'NoKubeconfig', why: error.message }
    throw error
  }
}

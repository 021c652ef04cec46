import { restrictedProblems } from '#cmd/security/checks/pods.ts'
import { each, type Rule } from './manifest.ts'
import { type Container, WORKLOADS, type Workload, workloadOf } from './workload.ts'

const inPods = (problems: (workload: Workload) => readonly string[]): Rule =>
  each(WORKLOADS, (object) => {
    const workload = workloadOf(object)
    return workload === undefined ? [] : problems(workload)
  })

const inContainers = (problem: (container: Container) => string | undefined): Rule =>
  inPods(({ template }) =>
    template.spec.containers.flatMap((container) => {
      const found = problem(container)
      return found === undefined ? [] : [`container ${container.name}: ${found}`]
    }),
  )

/** Kubernetes: Pod Security Standards, restricted; and a root file system that can't be written. As `muster security check` asks it of a cluster. */
export const restricted: Rule = inPods(({ template: { spec } }) => restrictedProblems(spec))

/** A token is in a pod only when it says for whom. */
export const tokensAreMeant: Rule = inPods(({ template: { spec } }) =>
  spec.automountServiceAccountToken === false || spec.serviceAccountName !== undefined
    ? []
    : ['name its serviceAccountName, or set automountServiceAccountToken: false'],
)

export const probed: Rule = inContainers(({ livenessProbe, readinessProbe }) =>
  livenessProbe === undefined || readinessProbe === undefined
    ? 'it needs a livenessProbe and a readinessProbe'
    : undefined,
)

/** Memory is limited, because a leak must end one pod and not a node; CPU is not, because throttling delays heartbeats. */
export const sized: Rule = inContainers(({ resources }) => {
  const { requests, limits } = resources ?? {}
  return requests?.cpu && requests.memory && limits?.memory
    ? undefined
    : 'it needs requests of cpu and memory, and a limit of memory'
})

/** What an environment runs can't change under its name. */
export const byDigest: Rule = inContainers(({ image }) =>
  /@sha256:[0-9a-f]{64}$/.test(image) ? undefined : `${image} must be named by its digest`,
)

/** Probes and people name ports; a number says nothing, and a name that no port has is never answered. */
export const portsAreNamed: Rule = inContainers(({ ports = [], livenessProbe, readinessProbe, startupProbe }) => {
  const nameless = ports.find(({ name }) => name === undefined)
  if (nameless !== undefined) return `give port ${nameless.containerPort} a name`
  const asked = [livenessProbe, readinessProbe, startupProbe].flatMap((probe) => probe?.httpGet?.port ?? [])
  const unknown = asked.find((port) => !ports.some(({ name }) => name === port))
  return unknown === undefined ? undefined : `a probe asks the port ${unknown}, which it does not have`
})

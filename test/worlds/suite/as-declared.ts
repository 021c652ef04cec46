/** Whether the world is as Git declares it. Pure. */
import type { DeclaredPool } from './declared.ts'
import { type KubeSight, nameOf } from './observer/sights.ts'

export type Look = (kind: 'ClusterPool' | 'ClusterClaim' | 'Deployment') => readonly KubeSight[]

interface Status {
  readonly observedGeneration?: number
  readonly ready?: number
  readonly conditions?: readonly {
    readonly type: string
    readonly status: string
    readonly reason?: string
    readonly message?: string
  }[]
}

/** What is not as declared yet, a sentence each. @param declared what Git declares, by the pool's name */
export const notYet = (declared: ReadonlyMap<string, DeclaredPool>, look: Look): readonly string[] => {
  const pools = [...declared.values()]
  const wanted = {
    ClusterPool: pools.map(({ name }) => name),
    ClusterClaim: pools.flatMap(({ claims }) => claims),
    Deployment: pools.flatMap(({ rollouts }) => Object.keys(rollouts)),
  }
  const kinds = Object.keys(wanted) as (keyof typeof wanted)[]
  return [
    ...kinds.flatMap((kind) => differences(kind, wanted[kind], look(kind))),
    ...pools.flatMap(({ name, size }) => {
      const ready = (named(look('ClusterPool'), name)?.status as Status | undefined)?.ready ?? 0
      return ready === size ? [] : [`ClusterPool ${name} has ${ready} of ${size} clusters ready`]
    }),
    ...pools.flatMap(({ rollouts }) =>
      Object.entries(rollouts)
        .filter(
          ([name, text]) => !JSON.stringify(named(look('Deployment'), name)?.spec ?? '').includes(JSON.stringify(text)),
        )
        .map(([name, text]) => `Deployment ${name} does not say ${text} yet`),
    ),
  ]
}

const named = (objects: readonly KubeSight[], name: string): KubeSight | undefined =>
  objects.find(({ metadata }) => metadata.name === name)

const differences = (kind: string, wanted: readonly string[], objects: readonly KubeSight[]): readonly string[] => [
  ...wanted.flatMap((name) => {
    const object = named(objects, name)
    if (object === undefined) return [`${kind} ${name} is not there`]
    const why = whyNotReady(object)
    return why === undefined ? [] : [`${kind} ${name} is not Ready: ${why}`]
  }),
  ...objects
    .filter(({ metadata }) => !wanted.includes(metadata.name))
    .map((object) => `${kind} ${nameOf(object)} is still there`),
]

const whyNotReady = ({ metadata, status }: KubeSight): string | undefined => {
  const { observedGeneration, conditions = [] } = (status ?? {}) as Status
  const { generation } = metadata
  if (observedGeneration !== generation) return `generation ${generation} has not been seen`
  const ready = conditions.find(({ type }) => type === 'Ready')
  return ready?.status === 'True' ? undefined : `${ready?.reason}: ${ready?.message}`
}

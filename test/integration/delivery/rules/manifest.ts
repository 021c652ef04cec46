/** A Kubernetes object of a build, as far as the rules look into it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec?: unknown
  readonly status?: unknown
}

/** What is wrong in a build: which object, and what to write. */
export type Problem = string

/** One thing that must hold in every build. */
export type Rule = (objects: readonly Manifest[]) => readonly Problem[]

export const nameOf = ({ kind, metadata }: Manifest): string => `${kind}/${metadata.name}`

/** A rule about objects of some kinds, one by one. */
export const each =
  (kinds: readonly string[] | undefined, problems: (object: Manifest) => readonly string[]): Rule =>
  (objects) =>
    objects
      .filter(({ kind }) => kinds?.includes(kind) ?? true)
      .flatMap((object) => problems(object).map((problem) => `${nameOf(object)}: ${problem}`))

/** A change after which something that worked with the released CustomResourceDefinitions no longer does. */
export interface Break {
  /** `clusterpools.hive.openshift.io v1: spec.size` */
  readonly where: string
  /** What changed, and whom it hurts. */
  readonly what: string
  /** What to do instead. */
  readonly instead: string
}

/** One line for people. */
export const describeBreak = ({ where, what, instead }: Break): string => `${where}: ${what}; ${instead}`

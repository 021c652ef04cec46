import Type, { type Static } from 'typebox'
import { free } from '#apis/schema/free.ts'

/** The clouds that an install-config can name. */
const PLATFORMS = [
  'agentBareMetal',
  'aws',
  'azure',
  'baremetal',
  'gcp',
  'ibmcloud',
  'none',
  'nutanix',
  'openstack',
  'ovirt',
  'vsphere',
] as const

export type PlatformName = (typeof PLATFORMS)[number]

/** Where clusters run: exactly one cloud, with whatever that cloud's installer wants to know. */
export const platform = () =>
  Type.Object(
    Object.fromEntries(
      PLATFORMS.map((name) => [name, Type.Optional(free<object>({ description: `Settings of ${name}.` }))]),
    ),
    {
      description: 'The cloud: exactly one of the names, with its own fields below it.',
      minProperties: 1,
      maxProperties: 1,
    },
  )

export type Platform = Static<ReturnType<typeof platform>>

/** Clouds on which machines can't hibernate, as Hive has them. */
const NEVER_HIBERNATES: readonly PlatformName[] = ['openstack', 'vsphere']

/** The cloud of a pool or cluster if clusters on it can't hibernate; undefined when they can. */
export const neverHibernatesOn = ({ platform }: { readonly platform: Platform }): PlatformName | undefined =>
  NEVER_HIBERNATES.find((name) => platform[name] !== undefined)

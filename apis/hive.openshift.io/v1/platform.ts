import Type, { type Static } from 'typebox'
import { free } from '#apis/schema/free.ts'
import { rules } from '#apis/schema/rule.ts'

/** The clouds that an install-config can name. */
export const PLATFORMS = [
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
      PLATFORMS.map((name) => [name, Type.Optional(free<object>({ description: `What is to be known of ${name}.` }))]),
    ),
    {
      description: 'The cloud: exactly one of the names, with its own fields below it.',
      minProperties: 1,
      maxProperties: 1,
    },
  )

export type Platform = Static<ReturnType<typeof platform>>

/** For a kind whose platform stays what it is. */
export const platformIsImmutable = () =>
  rules({ rule: 'self == oldSelf', message: 'platform can’t be changed: make a new object' })

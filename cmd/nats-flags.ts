import { optional } from '#operator/flags/flag.ts'
import { nonEmpty } from '#operator/flags/values.ts'

/** Where a program finds the authorities of NATS. */
export const natsCa = optional(
  'FILE',
  'certificates of the authorities that the one of NATS is of, PEM (default: those of the machine), read for each connection',
  nonEmpty,
)

/** What a program shows NATS, and knows it by. @param user whose key it is */
export const natsFileFlags = (user: string) => ({
  natsCredentials: optional(
    'FILE',
    `credentials of ${user} for NATS, read for each connection: a .creds file, or one with the seed of a key`,
    nonEmpty,
  ),
  natsCa,
})

/** Where an agent finds what entries must be signed by. */
export const fleetPublicKeys = optional(
  'FILE',
  'public keys of the fleet, PEM, as its ConfigMap fleet-signing has them: only entries that one of them has signed are taken; read again for each entry (default: every entry is taken)',
  nonEmpty,
)

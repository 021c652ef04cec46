import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of clusters as devices: what has happened, and what to do. */
export const CLUSTERDEVICE_ERRORS = {
  DeviceNameTakenError: {
    when: 'the fleet has a device of the name that the cluster would have, and it is not this cluster',
    remedy: 'rename the cluster, or delete the Device when nothing is behind it any more',
  },
} satisfies ErrorCatalogue

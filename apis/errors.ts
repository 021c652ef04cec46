import type { ErrorCatalogue } from '#lib/errors/error-of.ts'

/** The errors of kinds and the fleet’s keys in NATS: what has happened, and what to do. */
export const APIS_ERRORS = {
  MalformedEntry: {
    when: 'a key or value in a bucket of the fleet is not as the contract says; readers skip it',
    remedy: 'find its writer; delete the key when nothing writes it any more',
  },
  FleetKeyError: {
    when: 'a file or Secret holds no keys by which entries of the fleet are signed or known',
    remedy: 'give what the message describes',
    inMessage: true,
  },
  CustomizationError: {
    when: "a customization can't be applied; its inventory entry becomes BrokenByConfiguration",
    remedy: 'correct the patch of the ClusterDeploymentCustomization that the message names',
  },
  InstallConfigError: {
    when: "an install-config can't be read",
    remedy: 'correct the Secret at the place that the message names',
  },
  AdminKubeconfigError: {
    when: "a cluster can't be reached with what its Secret holds",
    remedy: 'correct the Secret that the message names',
  },
  SchemaError: {
    when: "a kind's schema is not structural, found when manifests are generated",
    remedy: "correct the kind's file in apis/",
  },
} satisfies ErrorCatalogue

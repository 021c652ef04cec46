/** Ways in which what is said to the HyperFleet API could be read on the way. SECURITY-28. */
import { inContainer, type Mutation } from './mutation.ts'

export const API_MUTATIONS: readonly Mutation[] = [
  {
    title: 'an API that serves HTTP alone',
    reports: ['api-https'],
    edits: [
      inContainer('Deployment', 'hyperfleet-api', (container) => ({
        ...container,
        args: container.args.filter((arg: string) => !arg.startsWith('--tls-')),
      })),
    ],
  },
  {
    title: 'a manager that is told of the API by http',
    reports: ['api-clients'],
    edits: [
      inContainer('Deployment', 'hyperfleet-adapter', (container) => ({
        ...container,
        args: container.args.concat('--hyperfleet-api-url=http://hyperfleet-api:8080'),
      })),
    ],
  },
  {
    title: 'a SentinelConfig that names the API by its address of the release before',
    reports: ['api-addresses'],
    edits: [
      {
        kind: 'SentinelConfig',
        create: {
          metadata: { name: 'of-before', namespace: 'hyperfleet-system' },
          spec: {
            resourceType: 'clusters',
            hyperfleetAPI: { url: 'http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080' },
          },
        },
      },
    ],
  },
]

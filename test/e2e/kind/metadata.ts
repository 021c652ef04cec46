import { SHELL_TAGS } from '#hack/kindnode/system-images.ts'

/** Where most clouds tell a machine its credentials, on HTTP; some on HTTPS as well. */
export const METADATA = { address: '169.254.169.254', ports: [80, 443] } as const

/** Stands for that of a cloud, on the node that it runs on: pods reach it by the node's network, as they do there. */
export const METADATA_POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'metadata', namespace: 'kube-system' },
  spec: {
    hostNetwork: true,
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'shell',
        image: SHELL_TAGS[1],
        command: [
          'sh',
          '-c',
          [
            `ip address add ${METADATA.address}/32 dev lo`,
            ...METADATA.ports.map((port) => `httpd -p ${METADATA.address}:${port}`),
            'sleep 1000000',
          ].join('; '),
        ],
        securityContext: { privileged: true },
      },
    ],
  },
} as const

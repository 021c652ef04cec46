import type { Kubectl } from '../kubectl.ts'

/** A node without a machine: kwok keeps it alive and plays its kubelet. */
export const NODE = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'muster-0',
    labels: { type: 'kwok', 'kubernetes.io/hostname': 'muster-0', 'kubernetes.io/os': 'linux' },
  },
}

/** Gives the cluster its node, when it doesn't have it yet. */
export const applyNode = async (kubectl: Kubectl): Promise<void> => {
  await kubectl(['apply', '--server-side', '--field-manager=muster-cluster', '-f', '-'], {
    input: JSON.stringify(NODE),
  })
}

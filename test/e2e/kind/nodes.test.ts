import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PrivateKind, privateKindMissing, startPrivateKind } from '#hack/cluster/kind/private.ts'
import { SHELL_TAGS } from '#hack/kindnode/system-images.ts'

const missing = privateKindMissing()

const [SHELL] = SHELL_TAGS

/** A pod with a shell script, on a node of our choice. */
const pod = (name: string, node: string, script: string, env: Readonly<Record<string, string>> = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: {
    nodeName: node,
    tolerations: [{ operator: 'Exists' }],
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name,
        image: SHELL,
        imagePullPolicy: 'IfNotPresent',
        command: ['sh', '-c', script],
        env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
      },
    ],
  },
})

const service = (name: string, port: number) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port }] },
})

describe.skipIf(missing !== undefined)(`kind with a worker${missing === undefined ? '' : ` (${missing})`}`, () => {
  let cluster: PrivateKind

  beforeAll(async () => {
    cluster = await startPrivateKind({ say: console.error, workers: 1 })
  }, 900_000)
  afterAll(() => cluster?.stop())

  test('pods on different nodes find each other by name, and each sees the other’s own address', {
    timeout: 180_000,
  }, async () => {
    const { kubectl } = cluster
    const nodes = (await kubectl(['get', 'nodes', '--output=name'])).trim().split('\n').toSorted()
    expect(nodes).toEqual(['node/muster-control-plane', 'node/muster-worker-1'])
    const who = '#!/bin/sh\nprintf "Content-Type: text/plain\\n\\nyou are $REMOTE_ADDR\\n"'
    const serve = `mkdir -p /www/cgi-bin; printf '%s' "$WHO" > /www/cgi-bin/who; chmod +x /www/cgi-bin/who; exec httpd -f -p 8080 -h /www`
    const ask = `until printf 'GET /cgi-bin/who HTTP/1.0\r\n\r\n' | nc -w 5 server 8080 | grep you; do sleep 1; done; ip -4 -o addr show eth0`
    const objects = [
      service('server', 8080),
      pod('server', 'muster-worker-1', serve, { WHO: who }),
      pod('asker', 'muster-control-plane', ask),
    ]
    await kubectl(['apply', '--filename=-'], { input: objects.map((object) => JSON.stringify(object)).join('\n---\n') })
    await kubectl(['wait', 'pod/asker', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=120s'])
    const logs = await kubectl(['logs', 'asker'])
    const [seen, own] = [/you are .*?([\d.]+)\]?$/m, /inet ([\d.]+)/].map((pattern) => pattern.exec(logs)?.[1])
    expect(seen).toMatch(/^10\.244\./)
    expect(seen).toBe(own)
  })
})

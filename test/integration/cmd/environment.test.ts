import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { muster } from './run.ts'

let cluster: OwnControlPlane
let folder: string

beforeAll(async () => {
  cluster = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
  folder = await mkdtemp(join(tmpdir(), 'muster-cmd-'))
})

afterAll(async () => {
  await cluster?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** Ports and folders differ from run to run. */
const stable = (output: string) =>
  output
    .replaceAll(folder, 'FOLDER')
    .replaceAll(cluster.kubeconfig, 'KUBECONFIG')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/\bport \d+/g, 'port PORT')

const manager = async (...args: readonly string[]) => {
  const { code, output } = await muster([
    'manager',
    '--metrics-bind-address=0',
    '--health-probe-bind-address=0',
    ...args,
  ])
  return { code, output: stable(output) }
}

/** Another program's port. */
const occupy = async (): Promise<{ port: number; server: Server }> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  return { port: address.port, server }
}

const kubeconfig = async (server: string, token: string): Promise<string> => {
  const file = join(await mkdtemp(join(folder, 'kubeconfig-')), 'config')
  const config = {
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  await writeFile(file, JSON.stringify(config))
  return file
}

describe('a manager that can’t begin ends with code 1 and one line that says how to correct it', () => {
  test('no kubeconfig', async () => {
    expect(await manager(`--kubeconfig=${folder}/nosuch`)).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: kubeconfig FOLDER/nosuch does not exist: name another file",
      }
    `)
  })

  test('no kubeconfig at all, and no pod', async () => {
    const { code, output } = await muster(['pool', 'plan', 'edge'], { HOME: folder, KUBECONFIG: '' })
    expect({ code, output }).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: no cluster is configured: give --kubeconfig FILE, set KUBECONFIG, or run in a pod with a ServiceAccount",
      }
    `)
  })

  test('no such context', async () => {
    expect(await manager(`--kubeconfig=${cluster.kubeconfig}`, '--context=prodution')).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: context "prodution" is not in KUBECONFIG: name another one (valid: muster-local)",
      }
    `)
  })

  test('no API server', async () => {
    const { port, server } = await occupy()
    server.close()
    expect(await manager(`--kubeconfig=${await kubeconfig(`https://127.0.0.1:${port}`, 'x')}`)).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: the API server does not answer (GET https://127.0.0.1:PORT/apis/hyperfleet.redhat.com/v1alpha1: connection refused: no API server listens there): start it, or name another one with --kubeconfig or --context",
      }
    `)
  })

  test('an API server that is not up yet', async () => {
    await using proxy = await cluster.proxy()
    proxy.decide(() => ({ status: 500 }))
    expect(await manager(`--kubeconfig=${proxy.kubeconfig}`)).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: the API server https://127.0.0.1:PORT can't serve now (request-proxy answers 500): start the manager again when "kubectl get --raw /readyz" says ok",
      }
    `)
  })

  test('a token that the API server does not know', async () => {
    expect(await manager(`--kubeconfig=${await kubeconfig(cluster.server, 'expired')}`)).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: the API server https://127.0.0.1:PORT does not know us: the token or certificate of the kubeconfig is wrong or has expired: get a new one",
      }
    `)
  })

  test('a ServiceAccount without rights', async () => {
    await cluster.kubectl('create', 'serviceaccount', 'powerless', '--namespace=default')
    const own = await cluster.kubeconfigFor('powerless', 'default')
    const two = '--controllers=sentinel,clusterdeployment'
    expect(await manager(two, `--kubeconfig=${own}`, '--namespace=default')).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: ServiceAccount default/powerless may not get, create, update leases.coordination.k8s.io; create, patch events.events.k8s.io; get, list, watch sentinelconfigs.hyperfleet.redhat.com; get, patch sentinelconfigs.hyperfleet.redhat.com/status; get secrets; get, list, watch clusterdeploymentcustomizations.hive.openshift.io; patch clusterdeploymentcustomizations.hive.openshift.io/status; get, list, watch, patch clusterdeployments.hive.openshift.io; patch clusterdeployments.hive.openshift.io/status; list adapterinventories.hyperfleet.redhat.com; list adaptertasks.hyperfleet.redhat.com; get namespaces kube-system in namespace default: grant it as the Roles in kustomize/base/rbac do, or set --namespace to where it is granted",
      }
    `)
  })

  test('a ServiceAccount with almost all rights', async () => {
    await cluster.kubectl('create', 'serviceaccount', 'reader', '--namespace=default')
    const rules = ['--verb=get,list,watch', '--resource=sentinelconfigs.hyperfleet.redhat.com']
    await cluster.kubectl('create', 'role', 'reader', ...rules, '--namespace=default')
    const subject = ['--role=reader', '--serviceaccount=default:reader']
    await cluster.kubectl('create', 'rolebinding', 'reader', ...subject, '--namespace=default')
    const own = await cluster.kubeconfigFor('reader', 'default')
    const two = '--controllers=sentinel,clusterdeployment'
    expect(await manager(two, `--kubeconfig=${own}`, '--namespace=default')).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: ServiceAccount default/reader may not get, create, update leases.coordination.k8s.io; create, patch events.events.k8s.io; get, patch sentinelconfigs.hyperfleet.redhat.com/status; get secrets; get, list, watch clusterdeploymentcustomizations.hive.openshift.io; patch clusterdeploymentcustomizations.hive.openshift.io/status; get, list, watch, patch clusterdeployments.hive.openshift.io; patch clusterdeployments.hive.openshift.io/status; list adapterinventories.hyperfleet.redhat.com; list adaptertasks.hyperfleet.redhat.com; get namespaces kube-system in namespace default: grant it as the Roles in kustomize/base/rbac do, or set --namespace to where it is granted",
      }
    `)
  })

  test('a port that is taken', async () => {
    const { port, server } = await occupy()
    const taken = [`--metrics-bind-address=127.0.0.1:${port}`, `--kubeconfig=${cluster.kubeconfig}`]
    const ending = await manager(...taken)
    server.close()
    expect(ending).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: --metrics-bind-address: 127.0.0.1:PORT is taken by another process: choose another port, or 0 for none",
      }
    `)
  })

  test('no CRD', async () => {
    await using bare = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
    // The API server lists what there is of a kind before it deletes it, and fails at that for minutes where it is the first to ask.
    await bare.kubectl('get', 'sentinelconfigs', '--all-namespaces')
    await bare.kubectl('delete', 'customresourcedefinition', 'sentinelconfigs.hyperfleet.redhat.com')
    expect(await manager(`--kubeconfig=${bare.kubeconfig}`)).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: the API server https://127.0.0.1:PORT has no sentinelconfigs.hyperfleet.redhat.com: run "muster crds | kubectl apply --server-side -f -"",
      }
    `)
  })
})

describe('an API that can’t begin ends with code 1 and one line that says how to correct it', () => {
  const api = async (...args: readonly string[]) => {
    const nowhere = ['--metrics-bind-address=0', '--health-probe-bind-address=0']
    const { code, output } = await muster(['api', '--bind-address=127.0.0.1:0', ...nowhere, ...args])
    return { code, output: stable(output) }
  }

  test('a port that is taken', async () => {
    const { port, server } = await occupy()
    const ending = await api(`--bind-address=127.0.0.1:${port}`, `--data-dir=${folder}/taken`)
    server.close()
    expect(ending).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: --bind-address: port PORT is taken by another process: choose another",
      }
    `)
  })

  test('no database', async () => {
    const { port, server } = await occupy()
    server.close()
    expect(await api(`--database-url=postgres://muster:hunter2@127.0.0.1:${port}/muster`)).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: --database-url: the database 127.0.0.1:PORT/muster can't be used: nothing listens there: start PostgreSQL or correct the host and port",
      }
    `)
  })

  test('a data folder that is a file', async () => {
    await writeFile(join(folder, 'file'), '')
    expect(await api(`--data-dir=${folder}/file`)).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: --data-dir: FOLDER/file can't be written (EEXIST): name a folder that we may write to",
      }
    `)
  })

  test('a NATS that is too old', async () => {
    const info = { server_id: 'old', version: '2.9.25', proto: 1, headers: true, max_payload: 1_000_000 }
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.write(`INFO ${JSON.stringify(info)}\r\n`)
      socket.on('data', (bytes) => String(bytes).includes('PING') && socket.write('PONG\r\n'))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    expect(await api(`--data-dir=${folder}/nats`, `--nats-url=nats://127.0.0.1:${port}`)).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: --nats-url: NATS 2.9.25 is too old, run 2.11 or newer",
      }
    `)
  })
})

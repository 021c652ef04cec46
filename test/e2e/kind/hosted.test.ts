/** The provider `hosted` where pods run: a pool of control planes, of which one is claimed, used, put to sleep, upgraded and released. */

import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { KUBERNETES_VERSION, NEXT_KUBERNETES } from '#hack/controlplane/binaries.ts'
import { isDeep, repetitions } from '#test/harness/deep.ts'
import { kindClusterMissing } from '#test/harness/ground/kind/cluster.ts'
import type { ClusterDeployment, List, Pod, Summary } from './hosted-objects.ts'
import { CLIENTS, type HostedWorld, hostedWorld, reachedBy } from './hosted-world.ts'
import { METADATA, METADATA_POD } from './metadata.ts'
import { NAMESPACE } from './world.ts'

const MISSING = kindClusterMissing()

/** How many clusters the pool has: each takes a third of a gigabyte. */
const SIZE = repetitions({ deep: 5, slice: 2 })

/**
 * Another release. At length it is the next one, built from its sources, which takes minutes; else it is a name under which the node has the
 * programs of this one: what is tried then is how the pods change.
 */
const NEXT = isDeep ? NEXT_KUBERNETES.version : 'v1.99.0'

const PATIENCE = { timeout: 300_000, interval: 500 }

vi.setConfig({ testTimeout: 360_000 })

interface PoolManifest {
  readonly kind: string
  readonly spec: { readonly labels?: object }
}

/** By then Kubernetes tries a pod that a quota refuses once in more than a minute: after twice as long each time. */
const REFUSED_MS = 100_000

const mib = (bytes: number): number => Math.round(bytes / 1024 / 1024)

describe.skipIf(MISSING !== undefined)(MISSING ?? 'control planes as pods', () => {
  let world: HostedWorld
  /** The claimed one: it has the name of its namespace. */
  let name: string
  /** Of all clusters: each has a namespace of its name. */
  let namespaces: readonly string[]

  /** What this machine took: said at the end, judged by nothing. */
  const figures: string[] = []

  beforeAll(async () => {
    world = await hostedWorld({ next: isDeep })
  }, 2_400_000)
  afterAll(async () => {
    console.log(`Of ${SIZE} control planes as pods:\n${figures.join('\n')}`)
    await world?.[Symbol.asyncDispose]()
  })

  const measure = async (what: string, work: () => Promise<void>): Promise<void> => {
    const began = performance.now()
    await work()
    figures.push(`${what}: ${Math.round((performance.now() - began) / 1000)} s`)
  }
  const sayMemory = async (when: string): Promise<void> => {
    const [node] = (await world.cluster.rest<List<{ metadata: { name: string } }>>('GET', '/api/v1/nodes')).items
    const path = `/api/v1/nodes/${node?.metadata.name}/proxy/stats/summary`
    const summary = await world.cluster.rest<Summary>('GET', path)
    const each = summary.pods
      .filter(({ podRef }) => podRef.name.endsWith('-control-plane-0'))
      .map(({ memory }) => mib(memory?.workingSetBytes ?? 0))
    figures.push(
      `memory ${when}: ${each.join(', ')} MiB of its pods, ${mib(summary.node.memory.workingSetBytes)} MiB of the node`,
    )
  }

  const kubectl = (...args: readonly string[]) => world.cluster.kubectl(...args)
  const HIVE = '/apis/hive.openshift.io/v1'
  const deployment = (of = name) =>
    world.cluster.rest<ClusterDeployment>('GET', `${HIVE}/namespaces/${of}/clusterdeployments/${of}`)
  const condition = async (of: string, type: string) =>
    (await deployment(of)).status?.conditions?.find((one) => one.type === type)
  const change = (spec: object) =>
    world.cluster.rest('PATCH', `${HIVE}/namespaces/${name}/clusterdeployments/${name}`, { spec })
  const podsOf = async (namespace: string): Promise<readonly Pod[]> => {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=hosted-cluster`
    return (await world.cluster.rest<List<Pod>>('GET', path)).items
  }
  const clusterNamespaces = async (): Promise<readonly string[]> => {
    const where = '--output=jsonpath={.items[*].metadata.namespace}'
    return (await kubectl('get', 'clusterdeployments', '--all-namespaces', where)).split(' ')
  }
  /** How much memory the pods of a cluster may ask for: its Job needs 64Mi, its control plane 320. */
  const limitMemory = (of: string, memory: '100Mi' | '1Gi') => {
    const metadata = { name: 'full', namespace: of }
    return world.apply([
      { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard: { 'requests.memory': memory } } },
    ])
  }
  /** A quota takes the place of the cluster's pod, which is gone. */
  const refusePod = async (of: string): Promise<void> => {
    await limitMemory(of, '100Mi')
    await kubectl('delete', 'pod', `${of}-control-plane-0`, `--namespace=${of}`, '--timeout=120s')
  }
  const POOL = `${HIVE}/namespaces/${NAMESPACE}/clusterpools/hosted`
  const changePool = (spec: object) => world.cluster.rest('PATCH', POOL, { spec })
  const containersOf = ({ status }: Pod) => [...status.initContainerStatuses, ...status.containerStatuses]
  const untilPower = (state: string) =>
    vi.waitFor(async () => expect((await deployment()).status?.powerState).toBe(state), PATIENCE)

  test('a pool is filled, each cluster in a namespace of its own; its containers began in their order, and none began twice', async () => {
    const delivered = loadAll(await kubectl('kustomize', 'kustomize/providers/hosted/pool')) as PoolManifest[]
    const sizes = { size: SIZE, maxSize: SIZE, runningCount: SIZE }
    await world.apply(
      delivered.map((one) => {
        if (one.kind !== 'ClusterPool') return one
        // While they run they are devices of the fleet.
        const labels = { ...one.spec.labels, 'fleet.nationtech.io/device': 'true' }
        return { ...one, spec: { ...one.spec, ...sizes, labels } }
      }),
    )
    const ready = `--for=jsonpath={.status.ready}=${SIZE}`
    await measure('filled', async () => {
      await kubectl('wait', 'clusterpool/hosted', `--namespace=${NAMESPACE}`, ready, '--timeout=300s')
    })
    await sayMemory('when filled')
    namespaces = await clusterNamespaces()
    expect(new Set(namespaces).size).toBe(SIZE)
    for (const namespace of namespaces) {
      const [pod, ...others] = await podsOf(namespace)
      expect(others).toEqual([])
      const containers = containersOf(pod as Pod)
      expect(containers.map(({ name: container }) => container)).toEqual([
        'etcd',
        'kube-apiserver',
        'kube-controller-manager',
      ])
      expect(containers.map(({ restartCount }) => restartCount)).toEqual([0, 0, 0])
      const began = containers.map(({ state }) => state.running?.startedAt ?? '')
      expect(began).toEqual(began.toSorted((a, b) => Date.parse(a) - Date.parse(b)))
      // From here on nothing runs there that the strictest of the Pod Security Standards does not take.
      await kubectl('label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted')
    }
  })

  test('CLUSTER-24: claimed, its kubeconfig works in a pod of another namespace', async () => {
    await world.apply([
      {
        apiVersion: 'hive.openshift.io/v1',
        kind: 'ClusterClaim',
        metadata: { name: 'mine', namespace: NAMESPACE },
        spec: { clusterPoolName: 'hosted' },
      },
    ])
    const claim = ['clusterclaim/mine', `--namespace=${NAMESPACE}`]
    await kubectl('wait', ...claim, '--for=condition=ClusterRunning', '--timeout=120s')
    name = await kubectl('get', ...claim, '--output=jsonpath={.spec.namespace}')
    const kubeconfig = [
      'secret',
      `${name}-admin-kubeconfig`,
      `--namespace=${name}`,
      '--output=jsonpath={.data.kubeconfig}',
    ]
    await world.client(await kubectl('get', ...kubeconfig))
    expect((await world.asClient('kubectl get namespaces --output=name')).trim().split('\n')).toEqual([
      'namespace/default',
      'namespace/kube-node-lease',
      'namespace/kube-public',
      'namespace/kube-system',
    ])
    await world.asClient('kubectl create configmap kept --from-literal=by=me')
  })

  /** A cluster that is to wake up, and is refused its pod from here on. */
  let full: string
  let fullSince: number

  test('CLUSTER-94: one that stands by falls asleep, wakes up without room for its pod, and says so', async () => {
    await changePool({ runningCount: SIZE - 2 })
    full = await vi.waitFor(async () => {
      const all = await Promise.all(namespaces.map((one) => deployment(one)))
      const asleep = all.find(({ status }) => status?.powerState === 'Hibernating')
      return asleep?.metadata.name ?? expect.fail('none sleeps yet')
    }, PATIENCE)
    await limitMemory(full, '100Mi')
    await changePool({ runningCount: SIZE })
    await vi.waitFor(async () => expect(await refusals()).toContain('exceeded quota: full'), PATIENCE)
    fullSince = performance.now()
    const ready = () => condition(full, 'Ready')
    await vi.waitFor(async () => expect((await ready())?.message).toContain('exceeded quota: full'), PATIENCE)
  })

  const refusals = () =>
    kubectl('get', 'events', `--namespace=${full}`, '--field-selector=reason=FailedCreate', '--output=json')

  test('CLUSTER-93: what the fleet rolls out to the clusters of its pool is in it', async () => {
    const [team] = loadAll(await readFile('kustomize/providers/local/pool/team.yaml', 'utf8')) as { spec: object }[]
    const targetSelector = { matchLabels: { 'fleet.nationtech.io/cluster-pool': 'hosted' } }
    const spec = { ...team?.spec, targetSelector }
    await world.apply([{ ...team, metadata: { name: 'team', namespace: NAMESPACE }, spec }])
    await measure('what the fleet rolls out is there', async () => {
      await vi.waitFor(async () => expect(await welcome()).toBe('the fleet'), PATIENCE)
    })
  })

  const welcome = () => world.asClient("kubectl get configmap welcome -n team --output='jsonpath={.data.from}'")

  test('CLUSTER-80: the customization of its pool is in it: the first address of the network of Services is that of the Service kubernetes', async () => {
    const address = await world.asClient("kubectl get service kubernetes --output='jsonpath={.spec.clusterIP}'")
    expect(address.trim()).toBe('10.42.0.1')
  })

  const kept = () => world.asClient("kubectl get configmap kept --output='jsonpath={.data.by}'")

  test('the manager reaches it: its address and that it answers are told', async () => {
    const told = async () => {
      const { status } = await deployment()
      return status?.conditions?.find(({ type }) => type === 'Unreachable')?.status
    }
    await vi.waitFor(async () => expect(await told()).toBe('False'), PATIENCE)
  })

  const dnsAddress = () =>
    kubectl('get', 'service', 'kube-dns', '--namespace=kube-system', '--output=jsonpath={.spec.clusterIP}')
  /** That of the first of these pods. */
  const podAddress = (namespace: string, labels: string) => {
    const where = [`--namespace=${namespace}`, `--selector=${labels}`]
    return kubectl('get', 'pods', ...where, '--output=jsonpath={.items[0].status.podIP}')
  }

  test('CLUSTER-24: its API is all that other pods reach of it, and it reaches nothing outside', async () => {
    const [pod] = await podsOf(name)
    const { metadata, status } = pod as Pod
    const inside = (script: string) => world.beside(name, metadata.name, script)
    // Something in the pod listens on all its addresses.
    await inside('httpd -p 8000')
    const dns = await dnsAddress()
    expect(await reachedBy(inside, ['127.0.0.1 2379', '127.0.0.1 8000', `${dns} 53`, '10.96.0.1 443'])).toEqual([
      '127.0.0.1 2379',
      '127.0.0.1 8000',
    ])
    const ports = ['2379', '2380', '6443', '8000'].map((port) => `${status.podIP} ${port}`)
    expect(await reachedBy(world.asClient, [...ports, `${dns} 53`])).toEqual(
      [`${dns} 53`, `${status.podIP} 6443`].toSorted(),
    )
  })

  // POOL-86
  test('attack: a pod beside a cluster, and one that passes for a Job’s, call NATS, the HyperFleet API, another team’s pod, and where clouds serve metadata', async () => {
    await world.apply([METADATA_POD])
    const other = await world.pod(name, 'other', { role: 'other' })
    const job = await world.pod(name, 'job', { 'batch.kubernetes.io/job-name': 'install' })
    await world.asClient('httpd -p 8000')
    await other('httpd -p 8000')
    for (const from of [world.asClient, other])
      await expect.poll(() => reachedBy(from, ['127.0.0.1 8000']), PATIENCE).toHaveLength(1)
    const metadata = METADATA.ports.map((port) => `${METADATA.address} ${port}`)
    const [dns, kubernetes] = [`${await dnsAddress()} 53`, '10.96.0.1 443']
    const own = `${await podAddress(name, 'hosted-cluster')} 6443`
    const targets = [
      ...metadata,
      dns,
      kubernetes,
      own,
      `${await podAddress(NAMESPACE, 'app.kubernetes.io/name=nats')} 4222`,
      `${await podAddress(NAMESPACE, 'app.kubernetes.io/name=hyperfleet-api')} 8000`,
      `${await podAddress(CLIENTS, 'app=client')} 8000`,
    ]
    // No policy is about its namespace: all of these serve, but for Muster's, which are closed to strangers.
    await expect
      .poll(() => reachedBy(world.asClient, [...metadata, dns, kubernetes, own]), PATIENCE)
      .toEqual([...metadata, dns, kubernetes, own].toSorted())
    // What installs a cluster works on.
    await expect.poll(() => reachedBy(job, [dns, kubernetes, own]), PATIENCE).toEqual([dns, kubernetes, own].toSorted())
    expect(await reachedBy(job, targets)).toEqual([dns, kubernetes, own].toSorted())
    expect(await reachedBy(other, targets)).toEqual([])
    expect(await reachedBy(world.asClient, [`${await podAddress(name, 'role=other')} 8000`])).toEqual([])
    await kubectl('delete', 'pods', 'other', 'job', `--namespace=${name}`)
  })

  test('CLUSTER-26: hibernated, each program ends when it is told to and after what needs it, and no pod is left; it wakes up with its data, in a restricted namespace', async () => {
    const [pod] = await podsOf(name)
    const path = `/api/v1/namespaces/${name}/pods/${pod?.metadata.name}`
    // Held until its end has been read.
    await world.cluster.rest('PATCH', path, { metadata: { finalizers: ['muster.dev/test'] } })
    await change({ powerState: 'Hibernating' })
    const ended = await vi.waitFor(async () => {
      const containers = containersOf(await world.cluster.rest<Pod>('GET', path))
      return containers.map(({ name: container, state: { terminated } }) => {
        if (terminated === undefined) throw new Error(`${container} runs`)
        return { container, exitCode: terminated.exitCode, at: terminated.finishedAt }
      })
    }, PATIENCE)
    await world.cluster.rest('PATCH', path, { metadata: { finalizers: null } })
    // As process 1 a Go program that has no handler for SIGTERM ends with 2.
    expect(ended.map(({ exitCode }) => exitCode)).toEqual([0, 0, 2])
    expect(ended.map(({ at }) => at)).toEqual(
      ended
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    )
    await untilPower('Hibernating')
    expect(await podsOf(name)).toEqual([])
    await measure('woken up', async () => {
      await change({ powerState: 'Running' })
      await untilPower('Running')
    })
    expect(await kept()).toBe('me')
    expect(await welcome()).toBe('the fleet')
  })

  test('CLUSTER-51: an image set that names no release is told by the ClusterDeployment, and the cluster goes on', async () => {
    await change({ provisioning: { imageSetRef: { name: 'openshift-v4.20' } } })
    await vi.waitFor(async () => {
      const told = (await deployment()).status?.conditions?.map(({ message }) => message)
      expect(told?.join('\n')).toMatch(/names no release of Kubernetes.*openshift-v4.20/)
    }, PATIENCE)
    expect(await kept()).toBe('me')
  })

  test('CLUSTER-26: another image set is another release, with the same data', async () => {
    if (!isDeep) await nameAsNext()
    const served = async () => {
      const { gitVersion } = JSON.parse(await world.asClient('kubectl get --raw /version')) as { gitVersion: string }
      return gitVersion
    }
    expect(await served()).toBe(KUBERNETES_VERSION)
    await measure(`upgraded to ${NEXT}`, async () => {
      await change({ provisioning: { imageSetRef: { name: `kubernetes-${NEXT}` } } })
      await vi.waitFor(async () => {
        const { status } = await deployment()
        const images = (await podsOf(name)).flatMap(({ spec }) => [...spec.initContainers, ...spec.containers])
        expect(images.filter(({ image }) => image.endsWith(`:${NEXT}`))).toHaveLength(2)
        expect(status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True')
        expect(await served()).toBe(isDeep ? NEXT : KUBERNETES_VERSION)
      }, PATIENCE)
    })
    expect(await kept()).toBe('me')
    // What the new controller manager gives each namespace.
    await world.asClient('kubectl create namespace after-upgrade')
    const account = () => world.asClient('kubectl get serviceaccount default --namespace=after-upgrade --output=name')
    await vi.waitFor(async () => expect((await account()).trim()).toBe('serviceaccount/default'), PATIENCE)
  })

  /** Gives the programs of the node's own release the name of another. */
  const nameAsNext = async () => {
    for (const program of Object.keys(NEXT_KUBERNETES.packages)) {
      const [from, to] = [KUBERNETES_VERSION, NEXT].map((release) => `registry.k8s.io/${program}:${release}`)
      await world.node.run('ctr', '--namespace=k8s.io', 'images', 'tag', `${from}`, `${to}`)
    }
  }

  test('CLUSTER-92: a quota that has refused a pod for long is used within a minute once it is raised', async () => {
    await delay(Math.max(0, REFUSED_MS - (performance.now() - fullSince)))
    expect(await podsOf(full)).toEqual([])
    await measure('a raised quota used', async () => {
      await limitMemory(full, '1Gi')
      await vi.waitFor(async () => expect(await podsOf(full)).toHaveLength(1), { timeout: 60_000, interval: 500 })
    })
    await vi.waitFor(async () => expect(await condition(full, 'Ready')).toMatchObject({ status: 'True' }), PATIENCE)
  })

  test.runIf(isDeep)(
    'CLUSTER-91: one that has died is replaced while it stands by; claimed, it is Unreachable since then and stays, with its data',
    { timeout: 1_200_000 },
    async () => {
      const long = { timeout: 600_000, interval: 1_000 }
      await changePool({ unreachableDeadline: '2m' })
      await vi.waitFor(
        async () => expect(await condition(full, 'Unreachable')).toMatchObject({ status: 'False' }),
        long,
      )
      await refusePod(name)
      await refusePod(full)
      await vi.waitFor(async () => expect(await clusterNamespaces()).not.toContain(full), long)
      await vi.waitFor(async () => expect(await clusterNamespaces()).toHaveLength(SIZE), long)
      const said = await condition(name, 'Unreachable')
      expect(said).toMatchObject({ status: 'True', lastTransitionTime: expect.any(String) })
      expect((await deployment()).metadata.deletionTimestamp).toBeUndefined()
      await limitMemory(name, '1Gi')
      await vi.waitFor(
        async () => expect(await condition(name, 'Unreachable')).toMatchObject({ status: 'False' }),
        long,
      )
      expect(await kept()).toBe('me')
    },
  )

  test('no container was ever ended for want of memory, or began again', async () => {
    await sayMemory('at the end')
    const { items } = await world.cluster.rest<List<Pod>>('GET', '/api/v1/pods?labelSelector=hosted-cluster')
    for (const pod of items) expect(containersOf(pod).map(({ restartCount }) => restartCount)).toEqual([0, 0, 0])
  })

  test('CLUSTER-27: released, and its pool deleted, nothing is left of them, no namespace and no volume', async () => {
    const ofTask =
      'statefulsets,jobs,persistentvolumeclaims,secrets,services,serviceaccounts,roles,rolebindings,networkpolicies'
    const find = async (...args: readonly string[]) => (await kubectl('get', ...args, '--output=name')).trim()
    await kubectl('delete', 'clusterclaim', 'mine', `--namespace=${NAMESPACE}`, '--timeout=300s')
    expect(await find(ofTask, `--namespace=${name}`, '--selector=muster.dev/adapter')).toBe('')
    await expect.poll(() => podsOf(name), PATIENCE).toEqual([])
    // And with it the install-config: POOL-36.
    await expect.poll(() => find('namespace', name, '--ignore-not-found'), PATIENCE).toBe('')
    await kubectl('delete', 'clusterpool', 'hosted', `--namespace=${NAMESPACE}`, '--wait=false')
    const left = async () =>
      `${await find('clusterdeployments,adapterinventories,fleetdev', '--all-namespaces')}${await find('namespaces', '--selector=hive.openshift.io/clusterpool-uid')}${await find(ofTask, '--all-namespaces', '--selector=muster.dev/adapter')}${await find('pods', '--all-namespaces', '--selector=hosted-cluster')}`
    await expect.poll(left, PATIENCE).toBe('')
    const volumes = async () =>
      (await kubectl('get', 'persistentvolumes', '--output=jsonpath={.items[*].spec.claimRef.namespace}')).split(' ')
    await expect.poll(async () => [...new Set(await volumes())], PATIENCE).toEqual([NAMESPACE])
  })
})

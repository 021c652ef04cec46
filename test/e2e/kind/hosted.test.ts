/** The provider `hosted` where pods run: a pool of control planes, of which one is claimed, used, put to sleep, upgraded and released. */
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
  readonly spec: object
}

const mib = (bytes: number): number => Math.round(bytes / 1024 / 1024)

describe.skipIf(MISSING !== undefined)(MISSING ?? 'control planes as pods', () => {
  let world: HostedWorld
  /** The claimed one: it has the name of its namespace. */
  let name: string

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
  const deployment = () =>
    world.cluster.rest<ClusterDeployment>('GET', `${HIVE}/namespaces/${name}/clusterdeployments/${name}`)
  const change = (spec: object) =>
    world.cluster.rest('PATCH', `${HIVE}/namespaces/${name}/clusterdeployments/${name}`, { spec })
  const podsOf = async (namespace: string): Promise<readonly Pod[]> => {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=hosted-cluster`
    return (await world.cluster.rest<List<Pod>>('GET', path)).items
  }
  const containersOf = ({ status }: Pod) => [...status.initContainerStatuses, ...status.containerStatuses]
  const untilPower = (state: string) =>
    vi.waitFor(async () => expect((await deployment()).status?.powerState).toBe(state), PATIENCE)

  test('a pool is filled, each cluster in a namespace of its own; its containers began in their order, and none began twice', async () => {
    const delivered = loadAll(await kubectl('kustomize', 'kustomize/providers/hosted/pool')) as PoolManifest[]
    const sizes = { size: SIZE, maxSize: SIZE, runningCount: SIZE }
    await world.apply(
      delivered.map((one) => (one.kind === 'ClusterPool' ? { ...one, spec: { ...one.spec, ...sizes } } : one)),
    )
    const ready = `--for=jsonpath={.status.ready}=${SIZE}`
    await measure('filled', async () => {
      await kubectl('wait', 'clusterpool/hosted', `--namespace=${NAMESPACE}`, ready, '--timeout=300s')
    })
    await sayMemory('when filled')
    const namespaces = (
      await kubectl('get', 'clusterdeployments', '--all-namespaces', '--output=jsonpath={.items[*].metadata.namespace}')
    ).split(' ')
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
      `${await find('clusterdeployments,adapterinventories', '--all-namespaces')}${await find('namespaces', '--selector=hive.openshift.io/clusterpool-uid')}${await find(ofTask, '--all-namespaces', '--selector=muster.dev/adapter')}${await find('pods', '--all-namespaces', '--selector=hosted-cluster')}`
    await expect.poll(left, PATIENCE).toBe('')
    const volumes = async () =>
      (await kubectl('get', 'persistentvolumes', '--output=jsonpath={.items[*].spec.claimRef.namespace}')).split(' ')
    await expect.poll(async () => [...new Set(await volumes())], PATIENCE).toEqual([NAMESPACE])
  })
})

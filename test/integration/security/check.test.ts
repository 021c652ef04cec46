/** `muster security check` on installs as they are shipped, and on each weakened in one way. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { checkSecurity } from '#cmd/security/check.ts'
import { allChecks } from '#cmd/security/checks/index.ts'
import type { KindName, Objects } from '#cmd/security/model.ts'
import { KINDS } from '#cmd/security/observe.ts'
import { readShipped } from '#cmd/security/reference.ts'
import { type Report, runChecks } from '#cmd/security/report.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { apiVersionOf, type KubeObject, pathOf } from '#operator/model/resource.ts'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { muster } from '../cmd/run.ts'
import { kubectl } from '../delivery/kustomize.ts'
import type { Edit } from './mutation.ts'
import { MUTATIONS } from './mutations.ts'

vi.setConfig({ testTimeout: 120_000 })

const NAMESPACE = 'hyperfleet-system'
const CHECKS = allChecks({ trustedSubjects: [] })

/** As objects that were read; a build holds some kinds that no check reads. */
const objectsOf = (all: readonly KubeObject[]): Objects =>
  Object.fromEntries(
    (Object.keys(KINDS) as KindName[]).map((kind) => [kind, all.filter((each) => each.kind === kind)]),
  ) as unknown as Objects

describe('SECURITY-1: nothing is to report of', () => {
  test.each(['install', 'overlays/stage', 'overlays/prod', 'overlays/member'])(
    'kustomize/%s, with the projects of Argo CD',
    async (folder) => {
      const builds = await Promise.all(
        [`kustomize/${folder}`, 'kustomize/argocd'].map((each) => kubectl('kustomize', each)),
      )
      const all = builds.flatMap(({ stdout }) => loadAll(stdout) as KubeObject[])
      const { findings, checked } = runChecks(CHECKS, objectsOf(all), readShipped())
      expect(findings).toEqual([])
      expect(checked).toBe(CHECKS.length)
    },
  )

  // SECURITY-11
  test('kustomize/overlays/dev, but that its developer’s account may do everything at the API', async () => {
    const { stdout } = await kubectl('kustomize', 'kustomize/overlays/dev')
    const { findings } = runChecks(CHECKS, objectsOf(loadAll(stdout) as KubeObject[]), readShipped())
    expect(findings.map(({ check }) => check)).toEqual(['api-administrators'])
    expect(findings[0]?.what).toContain('hyperfleet-developer has the role admin')
  })

  test('SECURITY-13: the install with all providers that come with it, and with one of another folder', async () => {
    const providers = ['local', 'hosted', 'cluster-api'].map((name) => `kustomize/providers/${name}`)
    const folders = ['kustomize/install', ...providers, 'examples/provider']
    const builds = await Promise.all(folders.map((each) => kubectl('kustomize', each)))
    const all = builds.flatMap(({ stdout }) => loadAll(stdout) as KubeObject[])
    expect(runChecks(CHECKS, objectsOf(all), readShipped()).findings).toEqual([])
  })
})

describe('on a real API server', () => {
  let cluster: OwnControlPlane

  beforeAll(async () => {
    // The controller manager fills "edit".
    cluster = await startControlPlane({ crds: false, parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'] })
    await cluster.rest('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', APP_PROJECTS)
    for (const name of ['argocd', 'hyperfleet-admin'])
      await cluster.rest('POST', '/api/v1/namespaces', { metadata: { name } })
    await cluster.kubectl('apply', '--server-side', '-f', 'manifests/install.yaml')
    await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crds', '--all')
    const built = loadAll((await kubectl('kustomize', 'kustomize/argocd')).stdout) as KubeObject[]
    for (const project of objectsOf(built).AppProject)
      await cluster.rest('POST', pathOf(KINDS.AppProject, { namespace: 'argocd' }), project)

    await vi.waitUntil(
      async () =>
        (await cluster.rest<{ rules: object[] | null }>('GET', `${RBAC_PATH}/clusterroles/edit`)).rules !== null,
      {
        timeout: 60_000,
      },
    )
  }, 300_000)

  afterAll(() => cluster?.stop())

  const report = async (trustedSubjects: readonly string[] = []): Promise<Report> => {
    const access = { kubeconfig: cluster.kubeconfig, context: undefined }
    return JSON.parse((await checkSecurity({ output: 'json', trustedSubjects, ...access })).text)
  }

  const reporting = async (): Promise<readonly string[]> => [
    ...new Set((await report()).findings.map(({ check }) => check)),
  ]

  const pathOfObject = (
    kind: KindName,
    { name, namespace }: { name?: string | undefined; namespace?: string | undefined },
  ): string => {
    const place = { AppProject: 'argocd' }[kind as string] ?? NAMESPACE
    return pathOf(KINDS[kind], { namespace: namespace ?? place, ...(name === undefined ? {} : { name }) })
  }

  /** What the API server fills in, which no other object may be created with. */
  const declared = ({ metadata, ...object }: KubeObject): object => {
    const { name, namespace, labels, annotations } = metadata
    return { ...object, metadata: { name, namespace, labels, annotations } }
  }

  /** Puts a state over whatever controllers have written meanwhile. */
  const put = (path: string, change: (object: KubeObject) => KubeObject): Promise<KubeObject> =>
    vi.waitFor(
      async () => {
        const now = await cluster.rest<KubeObject>('GET', path)
        const { resourceVersion } = now.metadata
        const changed = change(now)
        await cluster.rest('PUT', path, { ...changed, metadata: { ...changed.metadata, resourceVersion } })
        return now
      },
      { timeout: 30_000, interval: 100 },
    )

  /** Makes an edit, and gives what takes it back. */
  const make = async (edit: Edit, made: { last?: KubeObject }): Promise<() => Promise<unknown>> => {
    const { kind } = edit
    if ('create' in edit) {
      const given = typeof edit.create === 'function' ? edit.create(made.last) : edit.create
      const { metadata, status } = given
      const object = { apiVersion: apiVersionOf(KINDS[kind]), kind, ...given }
      // A policy is out of force a moment after its binding is gone.
      made.last = await vi.waitFor(
        () => cluster.rest<KubeObject>('POST', pathOfObject(kind, { namespace: metadata.namespace }), object),
        {
          timeout: 60_000,
          interval: 200,
        },
      )
      const path = pathOfObject(kind, metadata)
      if (status !== undefined)
        await cluster.rest('PUT', `${path}/status`, { ...(await cluster.rest<KubeObject>('GET', path)), status })
      return () => cluster.rest('DELETE', path)
    }
    const { name, namespace } = edit
    const path = pathOfObject(kind, { name, namespace })
    if (edit.change === 'delete') {
      const original = await cluster.rest<KubeObject>('GET', path)
      await cluster.rest('DELETE', path)
      return () => cluster.rest('POST', pathOfObject(kind, { namespace }), declared(original))
    }
    const original = await put(path, edit.change)
    return () => put(path, () => original)
  }

  const makeAll = async (edits: readonly Edit[]): Promise<AsyncDisposable> => {
    await using stack = new AsyncDisposableStack()
    const made = {}
    for (const edit of edits) stack.defer((await make(edit, made)) as () => Promise<void>)
    return stack.move()
  }

  // SECURITY-2
  test('of the install that is applied nothing is to report, and the command ends with 0', async () => {
    expect(await muster(['security', 'check', `--kubeconfig=${cluster.kubeconfig}`])).toEqual({
      code: 0,
      output: `${CHECKS.length} checks made, nothing found, 0 not made`,
    })
  })

  const seen = new Map<string, readonly string[]>()

  // SECURITY-3, SECURITY-4, SECURITY-5, SECURITY-6, SECURITY-7, SECURITY-8, SECURITY-9, SECURITY-10, SECURITY-12, SECURITY-17, SECURITY-18, SECURITY-19, SECURITY-21
  test.each(MUTATIONS.map((mutation) => [mutation.title, mutation] as const))(
    'reported: %s',
    async (title, { edits, before = [], reports }) => {
      {
        await using stack = new AsyncDisposableStack()
        const restored = await makeAll(before)
        try {
          stack.use(await makeAll(edits))
        } finally {
          await restored[Symbol.asyncDispose]()
        }
        const found = await reporting()
        seen.set(title, found)
        expect(found.toSorted()).toEqual(reports.toSorted())
      }
      expect(await reporting()).toEqual([])
    },
  )

  test('every check is the only one that reports some way of weakening the install', () => {
    const alone = [...seen.values()].filter((checks) => checks.length === 1).flat()
    expect(CHECKS.map(({ id }) => id).filter((id) => !alone.includes(id))).toEqual([])
  })

  test('what was found is told with its line of the table, where it is, and what to do; the command ends with 1', async () => {
    await using _ = await makeAll(MUTATIONS.find(({ title }) => title === 'a policy that only warns')?.edits ?? [])
    expect(await muster(['security', 'check', `--kubeconfig=${cluster.kubeconfig}`])).toEqual({
      code: 1,
      output: `The task author must not: choose a ServiceAccount with more rights than the administrator allowed
    ValidatingAdmissionPolicyBinding muster-task-files (policy-bindings): its validationActions lack Deny. To do: apply it again, as this release ships it
${CHECKS.length} checks made, 1 found, 0 not made`,
    })
  })

  test('subjects that an administrator trusts are not reported', async () => {
    const edits = MUTATIONS.find(({ title }) => title === 'an editor of the namespace')?.edits ?? []
    await using _ = await makeAll(edits)
    expect((await report(['mallory'])).findings).toEqual([])
    expect((await report(['group:mallory'])).findings).not.toEqual([])
  })

  // SECURITY-2
  test('what a reader may not read is not checked, and the command ends with 2', async () => {
    await cluster.kubectl('create', 'serviceaccount', 'reader', '--namespace=default')
    const reader = `--kubeconfig=${await cluster.kubeconfigFor('reader', 'default')}`
    const none = await muster(['security', 'check', '--output=json', reader])
    expect(none.code).toBe(2)
    const { findings, notChecked, checked }: Report = JSON.parse(none.output)
    expect({ findings, checked }).toEqual({ findings: [], checked: 0 })
    expect(notChecked.map(({ check }) => check)).toEqual(CHECKS.map(({ id }) => id))
    expect(notChecked[0]?.why).toContain('cannot list resource')
    // As docs/security.md says what a reader needs.
    await cluster.kubectl(
      'create',
      'clusterrolebinding',
      'reader-view',
      '--clusterrole=view',
      '--serviceaccount=default:reader',
    )
    const some = await muster(['security', 'check', '--output=json', reader])
    expect(some.code).toBe(2)
    expect((JSON.parse(some.output) as Report).checked).toBeGreaterThan(8)
    await cluster.kubectl('delete', 'clusterrolebinding', 'reader-view')
  })

  test('an API server that does not answer is none with nothing to report: 2', async () => {
    const nowhere = join(await temporaryFolder('nowhere'), 'kubeconfig')
    const cluster = { name: 'x', cluster: { server: 'https://127.0.0.1:9' } }
    const config = {
      'current-context': 'x',
      clusters: [cluster],
      users: [],
      contexts: [{ name: 'x', context: { cluster: 'x', user: '' } }],
    }
    await writeFile(nowhere, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }))
    expect((await muster(['security', 'check', `--kubeconfig=${nowhere}`])).code).toBe(2)
  })
})

const RBAC_PATH = '/apis/rbac.authorization.k8s.io/v1'

/** Argo CD's kind, as far as the API server must know it. */
const APP_PROJECTS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'appprojects.argoproj.io' },
  spec: {
    group: 'argoproj.io',
    scope: 'Namespaced',
    names: { kind: 'AppProject', plural: 'appprojects', singular: 'appproject', listKind: 'AppProjectList' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

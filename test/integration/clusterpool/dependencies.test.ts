/**
 * What a pool refers to is not watched: a filled pool notices all the same when it goes and when it comes. POOL-39, POOL-51, POOL-106. On a control
 * plane of its own, because Hive's kind of releases is served there: with it, each release that a pool names must be there.
 */
import { expect, test } from 'vitest'
import { COPIED_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { Secret } from '#apis/kubernetes.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { startControlPlane } from '#test/harness/index.ts'
import { hurriedClock } from '../clusterdeployment/world.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

const LONG = 90_000

/** As much of Hive's kind as there is to a name. */
const IMAGE_SETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'clusterimagesets.hive.openshift.io' },
  spec: {
    group: 'hive.openshift.io',
    scope: 'Cluster',
    names: { plural: 'clusterimagesets', singular: 'clusterimageset', kind: 'ClusterImageSet' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}
const IMAGE_SET = {
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterImageSet',
  metadata: { name: 'openshift-v4.20' },
}
const IMAGE_SET_PATH = '/apis/hive.openshift.io/v1/clusterimagesets'

/** What the pool refers to, by what it says when that is missing. */
const references = (the: PoolWorld) => {
  const secret = (name: string, stringData: Record<string, string>) => ({
    add: async () => {
      const metadata = { name, namespace: the.namespace, labels: { [COPIED_LABEL]: 'true' } }
      await the.api.create(Secret, { metadata, stringData })
    },
    remove: async () => {
      await the.api.delete(Secret, name, the.namespace)
    },
  })
  return {
    'cluster image set: openshift-v4.20': {
      add: () => the.plane.rest('POST', IMAGE_SET_PATH, IMAGE_SET),
      remove: () => the.plane.rest('DELETE', `${IMAGE_SET_PATH}/${IMAGE_SET.metadata.name}`),
    },
    'install config template secret: template': secret('template', { 'install-config.yaml': 'fips: true\n' }),
    'pull secret: pull': secret('pull', { '.dockerconfigjson': '{}' }),
  }
}

test('a pool says what it refers to and is not there, also when it is filled, and goes on when it is there', {
  timeout: 300_000,
}, async () => {
  await using stack = new AsyncDisposableStack()
  const plane = stack.adopt(await startControlPlane(), (one) => one.stop())
  await plane.rest('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', IMAGE_SETS)
  await eventually(() => plane.rest('GET', IMAGE_SET_PATH))
  const the = stack.use(await poolWorld(plane))
  const referred = references(the)
  await the.start({ clock: hurriedClock() })
  await the.pool('pool', { pullSecretRef: { name: 'pull' }, installConfigSecretTemplateRef: { name: 'template' } })
  const missing = async () => {
    const condition = findCondition((await the.get.pool('pool')).status?.conditions, 'MissingDependencies')
    return condition?.status === 'True' ? condition.message : condition?.status
  }
  const says = (what: string) => eventually(async () => expect(await missing()).toBe(what), LONG)

  const imageSet = async () => findCondition((await the.get.pool('pool')).status?.conditions, 'ImageSetFound')?.reason

  await says(Object.keys(referred).join('; '))
  expect(await imageSet()).toBe('Missing')
  expect(await the.clusters('pool')).toEqual([])
  for (const { add } of Object.values(referred)) await add()
  await eventually(async () => expect((await the.get.pool('pool')).status).toMatchObject({ standby: 1 }), LONG)
  await says('False')
  expect(await imageSet()).toBe('Found')

  for (const [what, { add, remove }] of Object.entries(referred)) {
    await remove()
    await says(what)
    expect((await the.get.pool('pool')).status).toMatchObject({ standby: 1 })
    await add()
    await says('False')
  }
})

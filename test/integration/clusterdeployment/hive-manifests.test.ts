/** ClusterDeployments as Hive's documentation writes them (docs/using-hive.md of openshift/hive), told anew: applied by kubectl as they are. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findCondition } from '#operator/model/conditions.ts'
import { applyStrictly } from '#test/worlds/hive-manifests.ts'
import { type World, world } from './world.ts'

let the: World

beforeAll(async () => {
  the = await world()
  await the.manager()
})

afterAll(async () => {
  await the?.[Symbol.asyncDispose]()
})

const apply = (manifests: string): Promise<void> => applyStrictly(the, manifests)

const ON_A_CLOUD = `
apiVersion: v1
kind: Secret
metadata: {name: fleetside-install-config, namespace: NAMESPACE}
stringData:
  install-config.yaml: |
    apiVersion: v1
    baseDomain: clusters.example.org
    metadata: {name: fleetside}
    networking: {serviceNetwork: [172.30.0.0/16]}
    compute: [{name: worker, replicas: 3}]
    platform: {aws: {region: eu-west-1}}
    pullSecret: 'not to be told'
---
apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata:
  name: fleetside
  namespace: NAMESPACE
  labels: {environment: dev}
spec:
  baseDomain: clusters.example.org
  clusterName: fleetside
  controlPlaneConfig: {servingCertificates: {}}
  installed: false
  platform:
    aws:
      region: eu-west-1
      credentialsSecretRef: {name: fleetside-aws}
  provisioning:
    imageSetRef: {name: openshift-v4.20}
    installConfigSecretRef: {name: fleetside-install-config}
    sshPrivateKeySecretRef: {name: fleetside-ssh}
  pullSecretRef: {name: fleetside-pull}
`

/** Of a machine room: with what only Hive's installer reads, and an annotation of Hive's. */
const IN_A_MACHINE_ROOM = `
apiVersion: v1
kind: Secret
metadata: {name: racks-install-config, namespace: NAMESPACE}
stringData: {install-config.yaml: '{}'}
---
apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata:
  name: racks
  namespace: NAMESPACE
  annotations: {hive.openshift.io/try-install-once: "true"}
spec:
  baseDomain: racks.example.org
  clusterName: racks
  controlPlaneConfig: {servingCertificates: {}}
  installAttemptsLimit: 5
  platform:
    baremetal: {libvirtSSHPrivateKeySecretRef: {name: racks-host-key}}
  provisioning:
    installConfigSecretRef: {name: racks-install-config}
    sshPrivateKeySecretRef: {name: racks-key}
    manifestsConfigMapRef: {name: racks-manifests}
    imageSetRef: {name: openshift-v4.20}
    sshKnownHosts: ["192.0.2.7 ecdsa-sha2-nistp256 AAAA"]
  pullSecretRef: {name: racks-pull}
`

const declared = (name: string) =>
  the.eventually(async () => {
    const found = await the.get(name)
    if (found === undefined) throw new Error(`there is no ${name}`)
    return found
  })

test('CLUSTER-53: Hive’s ClusterDeployment is registered with what it says, and sleeps and wakes as its documentation says', async () => {
  await apply(ON_A_CLOUD)
  const cluster = await the.cluster(await declared('fleetside'))
  expect(cluster.labels).toMatchObject({ environment: 'dev' })
  expect(cluster.spec).toMatchObject({
    clusterName: 'fleetside',
    baseDomain: 'clusters.example.org',
    platform: 'aws',
    imageSet: 'openshift-v4.20',
    installConfig: { networking: { serviceNetwork: ['172.30.0.0/16'] } },
    pullSecretRef: { name: 'fleetside-pull' },
  })
  expect(JSON.stringify(cluster)).not.toContain('not to be told')
  await the.report(cluster.id, 'True')
  const installed = await the.until('fleetside', 'Provisioned')
  expect(installed.spec.installed).toBe(true)
  expect(findCondition(installed.status?.conditions, 'Hibernating')?.reason).toBe('ResumingOrRunning')
  for (const state of ['Hibernating', 'Running']) {
    const patch = `--patch=spec:\n powerState: ${state}`
    await the.plane.kubectl('patch', 'cd', 'fleetside', `--namespace=${the.namespace}`, '--type=merge', patch)
    await the.eventually(async () => {
      await the.report(cluster.id, 'True')
      expect((await the.get('fleetside'))?.status?.powerState).toBe(state)
    })
  }
  await the.plane.kubectl('delete', 'cd', 'fleetside', `--namespace=${the.namespace}`, '--wait=false')
  await the.eventually(async () =>
    expect(await the.call('GET', `/clusters/${cluster.id}`)).toHaveProperty('deleted_time'),
  )
  await the.cleanUp(cluster.id)
  await the.eventually(async () => expect(await the.get('fleetside')).toBeUndefined())
})

test('CLUSTER-53: what only Hive’s installer reads is kept', async () => {
  await apply(IN_A_MACHINE_ROOM)
  const { spec } = await declared('racks')
  expect(spec).toMatchObject({
    controlPlaneConfig: { servingCertificates: {} },
    platform: { baremetal: { libvirtSSHPrivateKeySecretRef: { name: 'racks-host-key' } } },
    provisioning: {
      sshPrivateKeySecretRef: { name: 'racks-key' },
      manifestsConfigMapRef: { name: 'racks-manifests' },
      sshKnownHosts: ['192.0.2.7 ecdsa-sha2-nistp256 AAAA'],
    },
  })
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { CUSTOMIZATION, KUBERNETES, REGISTRATION } from '../labels.ts'
import { desiredLabels, desiredSpec, fallbackName, recordName, withInstallConfig } from './desired-record.ts'
import { originLabels } from './origin.ts'
import { withoutSecrets } from './redaction.ts'

test('secrets are left out by the names of their fields, wherever they are; references stay', () => {
  expect(
    withoutSecrets({
      pullSecret: 'x',
      sshKey: 'x',
      credentialsMode: 'Manual',
      platform: {
        aws: { region: 'eu', credentialsSecretRef: { name: 'aws' }, secretAccessKey: 'x' },
        baremetal: { hosts: [{ bmc: { username: 'admin', password: 'x', address: 'redfish://admin:x@10.0.0.1/1' } }] },
      },
      proxy: { httpsProxy: 'https://user:x@proxy:1/path?a=b', noProxy: 'a@b' },
    }),
  ).toEqual({
    credentialsMode: 'Manual',
    platform: {
      aws: { region: 'eu', credentialsSecretRef: { name: 'aws' } },
      baremetal: { hosts: [{ bmc: { username: 'admin', address: 'redfish://10.0.0.1/1' } }] },
    },
    proxy: { httpsProxy: 'https://proxy:1/path?a=b', noProxy: 'a@b' },
  })
})

test('CLUSTER-3: what a list names beside its value, and private keys under any name, are left out too', () => {
  const key = '-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----\n'
  expect(
    withoutSecrets({
      variables: [
        { name: 'DB_PASSWORD', value: 'x' },
        { key: 'api-token', value: { of: 'x' } },
        { name: 'pullSecretRef', value: 'pull' },
        { name: 'replicas', value: 3 },
      ],
      bundle: key,
      files: [key, 'motd'],
    }),
  ).toEqual({
    variables: [
      { name: 'DB_PASSWORD' },
      { key: 'api-token' },
      { name: 'pullSecretRef', value: 'pull' },
      { name: 'replicas', value: 3 },
    ],
    files: ['motd'],
  })
})

test('whatever has no such names and no such URLs stays as it is', () => {
  const values = fc.array(
    fc.dictionary(fc.constantFrom('name', 'baseDomain', 'replicas'), fc.jsonValue(), { maxKeys: 3 }),
  )
  const harmless = values.filter((value) => !/[@]|pass|secret|token|credential|key/i.test(JSON.stringify(value)))
  fc.assert(
    fc.property(harmless, (value) => {
      expect(JSON.stringify(withoutSecrets(value))).toBe(JSON.stringify(value))
    }),
  )
})

test('a name that the API takes stays; any other becomes one that it takes, the same every time', () => {
  expect(recordName('my-pool-x7k2p', 'id')).toBe('my-pool-x7k2p')
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,70}[a-z0-9])?$/), fc.uuid(), (name, registration) => {
      for (const made of [recordName(name, registration), fallbackName(name, registration)])
        expect(made).toMatch(/^[a-z0-9]([-a-z0-9]{1,51}[a-z0-9])$/)
      expect(fallbackName(name, registration)).toBe(fallbackName(name, registration))
    }),
  )
})

test('names of 3 to 53 characters stay; of a longer one as much as has room stays before the hash', () => {
  for (const name of ['abc', 'a'.repeat(53)]) expect(recordName(name, 'id')).toBe(name)
  for (const name of ['ab', 'a'.repeat(54), 'a.b.c']) expect(recordName(name, 'id')).toBe(fallbackName(name, 'id'))
  expect(fallbackName('a'.repeat(60), 'id')).toMatch(/^a{47}-[0-9a-f]{5}$/)
})

test('an install-config is told without its secrets, and not at all where none is named', () => {
  expect(withInstallConfig({ a: 1 }, undefined)).toEqual({ a: 1 })
  expect(withInstallConfig({ a: 1 }, { pullSecret: 'x', b: 2 })).toEqual({ a: 1, installConfig: { b: 2 } })
})

test('the spec of a record says where its ClusterDeployment, its pool and its secrets are, and what of them there is', () => {
  const deployment = (spec: object) => ({
    apiVersion: 'hive.openshift.io/v1' as const,
    kind: 'ClusterDeployment' as const,
    metadata: { name: 'one', namespace: 'clusters', uid: 'uid-of-one', resourceVersion: '1' },
    spec: { clusterName: 'one', baseDomain: 'example.com', platform: {}, ...spec } as ClusterDeployment['spec'],
  })
  const bare = {
    clusterDeployment: { namespace: 'clusters', name: 'one' },
    clusterName: 'one',
    baseDomain: 'example.com',
  }
  expect(desiredSpec(deployment({ powerState: 'Hibernating' }), 1)).toEqual({
    ...bare,
    installAttempt: 1,
    powerState: 'Running',
  })
  const full = deployment({
    installed: true,
    powerState: 'Hibernating',
    platform: { aws: { region: 'eu' } },
    clusterPoolRef: { namespace: 'pools', poolName: 'small' },
    provisioning: { imageSetRef: { name: 'v4' }, installConfigSecretRef: { name: 'config' } },
    pullSecretRef: { name: 'pull' },
  })
  expect(desiredSpec(full, 2)).toEqual({
    ...bare,
    clusterPool: { namespace: 'pools', name: 'small' },
    platform: 'aws',
    platformDetails: { region: 'eu' },
    imageSet: 'v4',
    installConfigSecretRef: { namespace: 'clusters', name: 'config' },
    pullSecretRef: { namespace: 'clusters', name: 'pull' },
    installAttempt: 2,
    powerState: 'Hibernating',
  })
})

test('CLUSTER-15: no label of a ClusterDeployment says by what it was registered, or which customization it has', () => {
  const own = fc.constantFrom(CUSTOMIZATION, KUBERNETES, REGISTRATION, 'hyperfleet.redhat.com/what-comes-later')
  const keys = fc.oneof(own, fc.constantFrom('region', 'example.com/hyperfleet.redhat.com', 'hyperfleet.redhat.com'))
  fc.assert(
    fc.property(fc.dictionary(keys, fc.string()), fc.option(fc.constant('leased')), (labels, leased) => {
      const deployment = {
        apiVersion: 'hive.openshift.io/v1' as const,
        kind: 'ClusterDeployment' as const,
        metadata: { name: 'one', namespace: 'clusters', uid: 'uid-of-one', resourceVersion: '1', labels },
        spec: {
          clusterPoolRef: {
            namespace: 'pools',
            poolName: 'small',
            ...(leased !== null && { clusterDeploymentCustomization: { name: leased } }),
          },
        } as ClusterDeployment['spec'],
      }
      const origin = originLabels(deployment, 'uid-of-kube-system')
      const { [REGISTRATION]: registration, ...others } = desiredLabels(deployment, 'uid-of-one')
      expect(registration).toBe('uid-of-one')
      expect(others).toEqual(
        Object.fromEntries(Object.entries(labels).filter(([key]) => !key.startsWith('hyperfleet.redhat.com/'))),
      )
      expect(CUSTOMIZATION in { ...others, ...origin }).toBe(leased !== null)
    }),
  )
})

import { describe, expect, test } from 'vitest'
import {
  CustomizationError,
  customizeInstallConfig,
  customizeSpec,
  validateCustomization,
} from '#apis/hive.openshift.io/model/customization.ts'
import {
  InstallConfigError,
  parseInstallConfig,
  printInstallConfig,
} from '#apis/hive.openshift.io/model/install-config.ts'
import { defaultInstallConfig, fromTemplate } from './install-config.ts'

const POOL = {
  platform: { vsphere: { vCenter: 'vcenter.example.com', credentialsSecretRef: { name: 'vsphere' } } },
  baseDomain: 'example.com',
}

describe('the install-config of a cluster', () => {
  test('made from the pool: no Secret is named in it', () => {
    const config = defaultInstallConfig(POOL, 'pool-x7k2p')
    expect(config).toMatchObject({
      baseDomain: 'example.com',
      metadata: { name: 'pool-x7k2p' },
      platform: { vsphere: { vCenter: 'vcenter.example.com' } },
    })
    expect(JSON.stringify(config)).not.toContain('credentialsSecretRef')
  })

  test('made from a template: name and domain are the cluster’s own, all else is the template’s', () => {
    const template = parseInstallConfig('metadata: {name: any, labels: {a: b}}\nbaseDomain: other.org\nfips: true\n')
    expect(fromTemplate(template, POOL, 'pool-x7k2p')).toEqual({
      metadata: { name: 'pool-x7k2p', labels: { a: 'b' } },
      baseDomain: 'example.com',
      fips: true,
    })
  })

  test('POOL-4: a customization gives it the name that DNS knows', () => {
    const { document, notices } = customizeInstallConfig(defaultInstallConfig(POOL, 'pool-x7k2p'), [
      {
        name: 'foo-cluster-deployment-customization',
        installConfigPatches: [{ op: 'replace', path: 'metadata/name', value: 'foo' }],
      },
    ])
    expect(document.metadata).toEqual({ name: 'foo' })
    expect(notices).toEqual([
      'foo-cluster-deployment-customization: installConfigPatches: path metadata/name is taken for /metadata/name: begin it with a slash',
    ])
  })

  test('POOL-4: a customization for the whole pool comes first, the leased one has the last word', () => {
    const say = (name: string) => ({
      name,
      installConfigPatches: [{ op: 'add' as const, path: '/metadata/name', value: name }],
    })
    expect(customizeInstallConfig({ metadata: {} }, [say('all'), say('one')]).document).toEqual({
      metadata: { name: 'one' },
    })
  })

  test('a patch that can’t be applied is named with its customization', () => {
    const broken = {
      name: 'bar',
      installConfigPatches: [{ op: 'replace' as const, path: '/metadata/nope', value: 'x' }],
    }
    expect(() => customizeInstallConfig({ metadata: {} }, [broken])).toThrow(
      new CustomizationError(
        'bar: installConfigPatches: operation 0 (replace /metadata/nope): /metadata/nope does not exist',
      ),
    )
  })
})

describe('values as JSON text', () => {
  const withText = (valueJSON: string) => ({
    name: 'bar',
    installConfigPatches: [{ op: 'add' as const, path: '/a', valueJSON }],
  })

  test('any JSON is a value', () => {
    expect(customizeInstallConfig({}, [withText('{"b": [1, null]}')]).document).toEqual({ a: { b: [1, null] } })
  })

  test('a text that would smuggle in another operation is refused', () => {
    expect(() => customizeInstallConfig({}, [withText('1},{"op":"remove","path":"/b"')])).toThrow(
      /valueJSON is no JSON/,
    )
  })
})

test('the spec of the ClusterDeployment is patched likewise', () => {
  const patches = [{ op: 'add' as const, path: '/hibernateAfter', value: '8h' }]
  expect(
    customizeSpec({ clusterName: 'foo' }, [{ name: 'foo', clusterDeploymentSpecPatches: patches }]).document,
  ).toEqual({
    clusterName: 'foo',
    hibernateAfter: '8h',
  })
})

describe('YAML', () => {
  test.each([
    ['version: 4.20', { version: '4.20' }],
    ['octal: 0123', { octal: '0123' }],
    ['word: yes', { word: 'yes' }],
    ['day: 2026-01-31', { day: '2026-01-31' }],
    ['account: 9007199254740993', { account: '9007199254740993' }],
    ['mac: 52:54:00', { mac: '52:54:00' }],
    ['replicas: 3', { replicas: 3 }],
    ['fips: true', { fips: true }],
    ['nothing: null', { nothing: null }],
  ])('%s is what it looks like', (text, document) => expect(parseInstallConfig(text)).toEqual(document))

  test('what is written is read back the same', () => {
    const config = {
      version: '4.20',
      word: 'yes',
      octal: '0123',
      day: '2026-01-31',
      list: [1, 'a: b', null],
      text: 'a\nb\n',
    }
    expect(parseInstallConfig(printInstallConfig(config))).toEqual(config)
    expect(printInstallConfig({ version: '4.20', word: 'yes' })).toBe("version: '4.20'\nword: 'yes'\n")
  })

  test('a patch of one place does not show in another that was written as its alias', () => {
    const config = parseInstallConfig('a: &x {n: 1}\nb: *x\n')
    const patches = [{ op: 'replace' as const, path: '/a/n', value: 2 }]
    expect(customizeInstallConfig(config, [{ name: 'foo', installConfigPatches: patches }]).document).toEqual({
      a: { n: 2 },
      b: { n: 1 },
    })
  })

  test.each([
    ['a list', '- a', 'the install-config must be a YAML mapping with apiVersion, metadata and so on'],
    ['half a mapping', 'a: {b', 'the install-config is no YAML: '],
    ['aliases without end', bomb(), 'the install-config has more than 100000 values'],
  ])('%s is refused', (_what, text, said) => {
    expect(() => parseInstallConfig(text)).toThrow(InstallConfigError)
    expect(() => parseInstallConfig(text)).toThrow(said)
  })
})

function bomb(): string {
  const lines = ['a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]']
  for (let depth = 1; depth < 9; depth += 1)
    lines.push(`a${depth}: &a${depth} [${Array.from({ length: 10 }, () => `*a${depth - 1}`).join(', ')}]`)
  return lines.join('\n')
}

describe('what can be known of a customization before there is a document', () => {
  test('nothing is wrong with one that fits some install-config', () => {
    validateCustomization({ name: 'a', installConfigPatches: [{ op: 'replace', path: '/not/here', value: 1 }] })
    validateCustomization({ name: 'a' })
  })

  test.for([
    [{ op: 'add', path: '/a' }, 'a: installConfigPatches: operation 0 ({"op":"add","path":"/a"}): add needs a value'],
    [{ op: 'add', path: '/a', valueJSON: '{' }, 'a: installConfigPatches: operation 0 (add /a): valueJSON is no JSON'],
  ] as const)('%j can be applied to none', ([operation, message]) => {
    expect(() => validateCustomization({ name: 'a', installConfigPatches: [operation] })).toThrow(message)
    expect(() => validateCustomization({ name: 'a', installConfigPatches: [operation] })).toThrow(CustomizationError)
  })
})

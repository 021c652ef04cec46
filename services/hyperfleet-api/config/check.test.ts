import { describe, expect, test } from 'vitest'
import { checkConfig } from './check.ts'

const refused = (content: unknown): string => {
  try {
    checkConfig(content)
  } catch (error) {
    if (error instanceof Error) return error.message
  }
  throw new Error('it was taken')
}

test('takes every key that an entity of the Go service’s file has', () => {
  const expression = { expression: 'true' }
  const config = {
    server: { openapi_schema_path: '/etc/hyperfleet/openapi.yaml' },
    entities: [
      {
        kind: 'Cluster',
        plural: 'clusters',
        spec_schema_name: 'ClusterSpec',
        require_spec_schema: true,
        required_adapters: ['dns'],
        references: [{ ref_type: 'wif_config', target_kind: 'WifConfig', min: 0, max: 1 }],
        conditions: [
          {
            type: 'ZoneReady',
            when: expression,
            output: { status: expression, reason: expression, message: expression },
          },
        ],
        name_min_len: 3,
        name_max_len: 53,
      },
      { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster', on_parent_delete: 'cascade' },
    ],
  }
  expect(checkConfig(config)).toEqual(config)
})

test('a key without a value is not there', () => {
  expect(checkConfig({ entities: [{ kind: 'A', plural: 'as', parent_kind: '', required_adapters: null }] })).toEqual({
    entities: [{ kind: 'A', plural: 'as' }],
  })
  expect(checkConfig(undefined)).toEqual({})
})

describe('refuses, saying where and what to write', () => {
  test.each([
    [
      'an unknown key',
      { entities: [{ kind: 'A', plural: 'as', required_adaptors: [] }] },
      'entities[0].required_adaptors is not known; did you mean required_adapters?',
    ],
    ['an unknown section', { entitys: [] }, 'entitys is not known; did you mean entities? (valid: entities, server'],
    ['a missing key', { entities: [{ kind: 'A' }] }, 'entities[0].plural is missing'],
    [
      'a word that is none of the choices',
      { entities: [{ kind: 'A', plural: 'as', on_parent_delete: 'keep' }] },
      'entities[0].on_parent_delete must be one of cascade, restrict',
    ],
    [
      'a value of no form',
      { entities: [{ kind: 'A', plural: 'as', required_adapters: 'dns' }] },
      'entities[0].required_adapters must be a list of adapter names, reporting or undecided',
    ],
    ['a list as file', [], 'the file must be object'],
    ['what a flag says', { database: { host: 'db' } }, 'write --database-url='],
    ['what a flag says, deeper', { server: { port: 8000 } }, 'server.port is not said in this file'],
  ])('%s', (_case, content, message) => {
    expect(refused(content)).toContain(message)
  })

  test('everything at once, on one line', () => {
    expect(refused({ entities: [{ kind: 1 }], logging: {} }).split('; ')).toHaveLength(3)
  })
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { muster } from './run.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-config-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const nowhere = ['--bind-address=127.0.0.1:0', '--metrics-bind-address=0', '--health-probe-bind-address=0']

/** How the API ends that is given these files. */
const api = async (files: Readonly<Record<string, string>>, ...args: readonly string[]) => {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const flags = args.map((arg) => arg.replace('FOLDER', folder))
  const { code, output } = await muster(['api', ...nowhere, `--data-dir=${folder}/data`, ...flags])
  return { code, output: output.replaceAll(folder, 'FOLDER') }
}

describe('a configuration file that can’t be meant ends with code 2 and one line', () => {
  test('a word that is none, with the nearest that is one', async () => {
    const config = 'entities:\n- {kind: Cluster, plural: clusters, required_adaptors: [dns]}\n'
    expect(await api({ 'config.yaml': config }, '--config=FOLDER/config.yaml')).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --config: FOLDER/config.yaml: entities[0].required_adaptors is not known; did you mean required_adapters? (valid: kind, plural, parent_kind, on_parent_delete, spec_schema_name, require_spec_schema, required_adapters, references, conditions, name_min_len, name_max_len)",
      }
    `)
  })

  test('what a flag says', async () => {
    const config = 'server: {host: 0.0.0.0, port: 8000}\n'
    expect(await api({ 'config.yaml': config }, '--config=FOLDER/config.yaml')).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --config: FOLDER/config.yaml: server.host is not said in this file, leave it out: write --bind-address=127.0.0.1:8000; server.port is not said in this file, leave it out: write --bind-address=127.0.0.1:8000",
      }
    `)
  })

  test('kinds that don’t fit each other', async () => {
    const config = '{"entities": [{"kind": "Version", "plural": "versions", "parent_kind": "Chanel"}]}'
    expect(await api({ 'config.json': config }, '--config=FOLDER/config.json')).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --config: FOLDER/config.json: entities: Version has parent_kind Chanel, which is no kind (valid: Version)",
      }
    `)
  })

  test('no YAML', async () => {
    expect(await api({ 'config.yaml': 'entities: [' }, '--config=FOLDER/config.yaml')).toMatchInlineSnapshot(`
      {
        "code": 2,
        "output": "muster: --config: FOLDER/config.yaml: line 1, column 12: unexpected end of the stream within a flow collection",
      }
    `)
  })
})

describe('files that are not as they must be end with code 1 and one line', () => {
  test('no configuration file', async () => {
    expect(await api({}, '--config=FOLDER/nosuch.yaml')).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: --config: FOLDER/nosuch.yaml does not exist",
      }
    `)
  })

  const strict =
    'entities: [{kind: Cluster, plural: clusters, spec_schema_name: ClusterSpec, require_spec_schema: true}]'

  test('a required schema without a file of schemas', async () => {
    expect(await api({ 'config.yaml': strict }, '--config=FOLDER/config.yaml')).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: --openapi-schema-path: Cluster requires the schema ClusterSpec: name the file that has it",
      }
    `)
  })

  test('no file of schemas', async () => {
    expect(
      await api({ 'config.yaml': strict }, '--config=FOLDER/config.yaml', '--openapi-schema-path=FOLDER/nosuch.yaml'),
    ).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: --openapi-schema-path: FOLDER/nosuch.yaml can't be read (ENOENT): name an OpenAPI or JSON Schema file",
      }
    `)
  })

  test('a file of schemas without the one that is required', async () => {
    const schemas = 'openapi: 3.0.3\ncomponents: {schemas: {ClusterSpecs: {type: object}}}\n'
    expect(
      await api(
        { 'config.yaml': strict, 'schemas.yaml': schemas },
        '--config=FOLDER/config.yaml',
        '--openapi-schema-path=FOLDER/schemas.yaml',
      ),
    ).toMatchInlineSnapshot(`
      {
        "code": 1,
        "output": "muster: --openapi-schema-path: FOLDER/schemas.yaml: Cluster requires the schema ClusterSpec, which is not there; did you mean ClusterSpecs?",
      }
    `)
  })
})

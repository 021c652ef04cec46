import { describe, expect, test } from 'vitest'
import { extractIdentity, extractIdentityText } from './manifest-identity.ts'

test('of an object: apiVersion, kind and namespace, whatever else there is', () => {
  const metadata = { name: 'a', namespace: 'n', labels: { x: '{{ .spec }}' } }
  expect(extractIdentity({ apiVersion: 'v1', kind: 'Secret', metadata, data: { x: '{{ .gone }}' } })).toEqual({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'n' },
  })
  expect(extractIdentity({ kind: 'Namespace' })).toEqual({ kind: 'Namespace', metadata: {} })
})

describe('of a text with templates', () => {
  const HEAD = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "{{ .id }}"\n'

  test('the lines that say it', () => {
    expect(
      extractIdentityText(
        `# a comment\n${HEAD}  namespace: "n-{{ .id }}"\n  labels:\n    namespace: other\ndata:\n  x: {{ .gone }}\n`,
      ),
    ).toBe('apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: "n-{{ .id }}"')
  })

  test('an object of the cluster has no namespace', () => {
    expect(extractIdentityText('kind: Namespace\nmetadata:\n  name: x\napiVersion: v1')).toBe(
      'apiVersion: v1\nkind: Namespace',
    )
  })

  test('templates that make structure behind them do no harm', () => {
    expect(extractIdentityText(`${HEAD}data:\n  {{ if .x }}\n  x: {{ .x.y }}\n  {{ end }}\n`)).toBe(
      'apiVersion: v1\nkind: ConfigMap',
    )
  })

  test.each([
    [
      'a kind that an if decides',
      '{{ if .x }}\nkind: A\n{{ else }}\nkind: B\n{{ end }}\napiVersion: v1\nmetadata:\n  name: x',
    ],
    ['a namespace that an if decides', `${HEAD}  {{ if .x }}\n  namespace: a\n  {{ end }}\n`],
    ['a variable of the text', `{{ $n := .id }}\n${HEAD}  namespace: {{ $n }}\n`],
    ['a value on the next line', `${HEAD}  namespace: >-\n    n\n`],
    ['a line that pulls the next one up', `${HEAD}  namespace: {{ .n -}}\n  x: y\n`],
    ['metadata on one line', 'apiVersion: v1\nkind: A\nmetadata: {name: x, namespace: y}'],
    ['no kind', 'apiVersion: v1\nmetadata:\n  name: x'],
    ['all of it indented', '  apiVersion: v1\n  kind: A\n  metadata:\n    name: x'],
  ])('%s: only the whole says it', (_, text) => {
    expect(extractIdentityText(text)).toBeUndefined()
  })
})

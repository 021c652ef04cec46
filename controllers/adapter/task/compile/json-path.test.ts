import { describe, expect, test } from 'vitest'
import { compileJsonPath, PATH_LIMITS } from './json-path.ts'

describe('ADAPTER-72: a JSONPath', () => {
  const items = (...names: string[]) => ({ items: names.map((name) => ({ name })) })
  test.each([
    ['$.items[?match(@.name, "a.*")].name', ['ab', 'a']],
    ['$.items[?search(@.name, "b")].name', ['ab', 'cb']],
    ['$.items[?match(@.name, "b")].name', []],
    ['$.items[?match(@.name, "(")].name', []],
    ['$.items[?match(@.other, "a")].name', []],
  ])('%s', (path, found) => {
    expect(compileJsonPath(path)(items('ab', 'cb', 'a'))).toEqual(found)
  })

  test('that backtracks for ever elsewhere ends, with what it finds', () => {
    const text = `${'a'.repeat(100_000)}b`
    expect(compileJsonPath('$.items[?match(@.name, "(a*)*c")].name')(items(text))).toEqual([])
    expect(compileJsonPath('$.items[?search(@.name, "(a|aa)+$")].name')(items(text))).toEqual([])
  })

  test.each([
    ['that looks at more than it may, and finds nothing', '$.items[?@.name == $.absent].name'],
    ['that reads more text than it may', '$.items[?search(@.name, "b$")].name'],
  ])('%s, is a failure, and counts anew the next time', (_, path) => {
    const compiled = compileJsonPath(path)
    const text = 'a'.repeat(400)
    const many = { items: Array.from({ length: 60_000 }, () => ({ name: text })) }
    expect(() => compiled(many)).toThrow('takes more than 2000000 steps')
    expect(compiled(items('ab', 'b')).length).toBeLessThanOrEqual(2)
  })
  test('that finds more than it may is a failure, and one that is too long is refused', () => {
    const many = { items: Array.from({ length: PATH_LIMITS.values + 1 }, (_, at) => at) }
    expect(() => compileJsonPath('$.items[*]')(many)).toThrow('finds more than 10000 values')
    expect(() => compileJsonPath(`$.${'a'.repeat(2_000)}`)).toThrow('longer than')
    expect(() => compileJsonPath('$..a..b..c..d')).toThrow('more than 3 ..')
  })
})

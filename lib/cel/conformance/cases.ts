/** The cases of google/cel-spec (tests/simple, v0.25.1; Apache-2.0), as JSON in @bufbuild/cel-spec, in this engine's terms. */
import { tests } from '@bufbuild/cel-spec/testdata/conformance.js'
import type { SerializedIncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js'
import { Duration, UnsignedInt } from '../values.ts'

export interface Case {
  /** `suite/name`, with a number where the names repeat. */
  readonly id: string
  readonly expression: string
  /** CEL type by variable name. */
  readonly variables: Readonly<Record<string, string>>
  readonly values: Readonly<Record<string, unknown>>
  /** The value as `Program.evaluate` gives it; `error` when the case asks for one. */
  readonly expected: { readonly value: unknown } | 'error'
}

/** Protobuf's JSON of cel.expr.Value, the parts that occur. */
type ValueJson = Readonly<Record<string, unknown>>

/** Sections about what this engine leaves out on purpose. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  block_ext: 'cel.block is for optimisers, not for people',
  dynamic: 'protobuf messages',
  encoders_ext: 'base64 of cel-go ext encoders: tasks do not have it',
  enums: 'protobuf enums',
  math_ext: 'cel-go ext math: tasks do not have it',
  proto2: 'protobuf messages',
  proto2_ext: 'protobuf messages',
  proto3: 'protobuf messages',
  type_deductions: 'asks for the deduced type only, in protobuf form',
  wrappers: 'protobuf messages',
}

/** Whether a case is about protobuf messages: JSON has none. */
const needsMessages = (text: string): boolean =>
  /TestAllTypes|NestedTestAllTypes|TestRequired|messageType|google\.protobuf\.(?:\w*Value|Any|Struct|Empty|Field)|enumValue|wellKnown":"ANY|wrapper/.test(
    text,
  )

export const sections = (): ReadonlyMap<string, readonly Case[]> => {
  const found = new Map<string, Case[]>()
  for (const section of (tests as SerializedIncrementalTestSuite).suites ?? []) {
    if (section.name in LEFT_OUT) continue
    const cases: Case[] = []
    collect(section, '', cases)
    if (cases.length > 0) found.set(section.name, cases)
  }
  return found
}

const collect = (suite: SerializedIncrementalTestSuite, path: string, cases: Case[]): void => {
  for (const { original } of suite.tests ?? []) {
    const test = original as unknown as TestJson
    if (test.checkOnly === true || needsMessages(JSON.stringify(test))) continue
    const name = `${path}${test.name}`
    const same = cases.filter(({ id }) => id === name || id.startsWith(`${name}#`)).length
    cases.push(toCase(same === 0 ? name : `${name}#${same + 1}`, test))
  }
  for (const inner of suite.suites ?? []) collect(inner, `${path}${inner.name}/`, cases)
}

/** Protobuf's JSON of cel.expr.conformance.test.SimpleTest. */
interface TestJson {
  readonly name: string
  readonly expr: string
  readonly checkOnly?: boolean
  readonly value?: ValueJson
  readonly evalError?: unknown
  readonly typedResult?: { readonly result?: ValueJson }
  readonly typeEnv?: readonly { readonly name: string; readonly ident?: { readonly type: TypeJson } }[]
  readonly bindings?: Readonly<Record<string, { readonly value: ValueJson }>>
}

interface TypeJson {
  readonly primitive?: string
  readonly listType?: { readonly elemType?: TypeJson }
  readonly mapType?: { readonly keyType?: TypeJson; readonly valueType?: TypeJson }
  readonly wellKnown?: string
}

/** Some cases declare variables of these names to show that they are not seen; here they can't be declared. */
const LITERALS = new Set(['true', 'false', 'null'])

const toCase = (id: string, { expr, value, evalError, typedResult, typeEnv, bindings }: TestJson): Case => ({
  id,
  expression: expr,
  variables: Object.fromEntries(
    (typeEnv ?? []).flatMap(({ name, ident }) => (ident && !LITERALS.has(name) ? [[name, type(ident.type)]] : [])),
  ),
  values: Object.fromEntries(
    Object.entries(bindings ?? {}).map(([name, { value: bound }]) => [name, read(bound, true)]),
  ),
  expected:
    evalError === undefined ? { value: read(value ?? typedResult?.result ?? { boolValue: true }, false) } : 'error',
})

const type = ({ primitive, listType, mapType, wellKnown }: TypeJson): string => {
  if (listType) return `list<${type(listType.elemType ?? {})}>`
  if (mapType) return `map<${type(mapType.keyType ?? {})}, ${type(mapType.valueType ?? {})}>`
  if (wellKnown === 'TIMESTAMP' || wellKnown === 'DURATION') return wellKnown.toLowerCase()
  const names: Readonly<Record<string, string>> = { INT64: 'int', UINT64: 'uint' }
  return primitive === undefined ? 'dyn' : (names[primitive] ?? primitive.toLowerCase())
}

const integer = (text: string): number | bigint => {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}

/** @param isInput whether the value is an input, where uint needs its class; results are plain numbers */
const read = (value: ValueJson, isInput: boolean): unknown => {
  const [[kind, content] = ['nullValue', null]] = Object.entries(value)
  switch (kind) {
    case 'int64Value':
      return integer(String(content))
    case 'uint64Value':
      return isInput ? new UnsignedInt(BigInt(String(content))) : integer(String(content))
    case 'doubleValue':
      return Number(content)
    case 'bytesValue':
      return new Uint8Array(Buffer.from(String(content), 'base64'))
    case 'nullValue':
      return null
    case 'listValue':
      return ((content as { values?: ValueJson[] }).values ?? []).map((element) => read(element, isInput))
    case 'mapValue': {
      const entries = (content as { entries?: { key: ValueJson; value: ValueJson }[] }).entries ?? []
      const map = new Map(entries.map((entry) => [read(entry.key, isInput), read(entry.value, isInput)]))
      return [...map.keys()].every((key) => typeof key === 'string') ? Object.fromEntries(map) : map
    }
    case 'objectValue': {
      const { '@type': name, value: inner } = content as { '@type': string; value?: unknown }
      return name.endsWith('Timestamp') ? new Date(String(inner)) : duration(String(inner))
    }
    default:
      return content
  }
}

/** Protobuf's JSON of a duration: seconds with a fraction and `s`. */
const duration = (text: string): Duration => {
  const [, sign = '', seconds = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?s$/.exec(text) ?? []
  const nanos = Number(fraction.padEnd(9, '0')) * (sign === '-' ? -1 : 1)
  return new Duration(BigInt(`${sign}${seconds}`), nanos)
}

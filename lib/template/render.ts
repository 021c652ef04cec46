/** Go's text/template, third step: a tree and values into text. Stops at its limits, whatever the template is. */
import { nearest } from '../text/nearest.ts'
import { Refusal, TemplateRenderError } from './errors.ts'
import { shown } from './format.ts'
import type { TemplateFunction } from './functions.ts'
import { formatTime, monthOf, weekdayOf, yearDay } from './time.ts'
import type { Branch, Command, Operand, Part, Pipeline, Tree } from './tree.ts'
import { entry, fromData, isMap, isTrue, keysOf, kindOf, type Value } from './value.ts'

export interface RenderLimits {
  /** Characters of the result. */
  readonly output: number
  /** Parts and functions that one rendering may go through. */
  readonly steps: number
  /** Milliseconds of one rendering: the wall behind `steps`. */
  readonly time: number
  /** Templates that call each other. */
  readonly depth: number
}

export const RENDER_LIMITS: RenderLimits = { output: 1_048_576, steps: 100_000, time: 5_000, depth: 100 }

/** Characters that are handled in about the time of one step. */
const CHARACTERS_A_STEP = 64

/** Steps between two looks at the clock. */
const STEPS_BETWEEN_LOOKS = 64

/** What a rendering goes by. */
export interface Rendering {
  readonly text: string
  readonly tree: Tree
  readonly functions: ReadonlyMap<string, TemplateFunction>
  readonly limits: RenderLimits
  /** What gives nothing is an error, instead of Go's `<no value>`. */
  readonly refusesNothing: boolean
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number
}

/** @throws TemplateRenderError */
export const render = (rendering: Rendering, data: Value): string => new Renderer(rendering).run(data)

/** What a pipeline hands to its next command as last argument; `none` is not the same as nothing. */
type Final = { readonly value: Value } | undefined

/** How a list of parts ended. */
type Flow = 'on' | 'break' | 'continue'

interface Variable {
  readonly name: string
  value: Value
}

class Renderer {
  readonly #rendering: Rendering
  readonly #started: number
  readonly #output: string[] = []
  #length = 0
  #steps = 0
  #nextLook = STEPS_BETWEEN_LOOKS
  #depth = 0
  #variables: Variable[] = []

  constructor(rendering: Rendering) {
    this.#rendering = rendering
    this.#started = rendering.monotonic()
  }

  run(data: Value): string {
    this.#variables = [{ name: '$', value: data }]
    this.#parts(this.#rendering.tree.main, data)
    return this.#output.join('')
  }

  #fail(summary: string, at: number): TemplateRenderError {
    return new TemplateRenderError(summary, this.#rendering.text, at)
  }

  #step(at: number, steps = 1): void {
    this.#steps += steps
    const { limits, monotonic } = this.#rendering
    if (this.#steps > limits.steps) {
      throw this.#fail(`the template takes more than ${limits.steps} steps: go over fewer elements`, at)
    }
    if (this.#steps < this.#nextLook) return
    this.#nextLook = this.#steps + STEPS_BETWEEN_LOOKS
    if (monotonic() - this.#started > limits.time) {
      throw this.#fail(`the template takes longer than ${limits.time} ms: go over fewer elements`, at)
    }
  }

  /** Texts cost steps by their length, and may not be longer than the result. */
  #weigh(value: Value, at: number): void {
    if (typeof value !== 'string') return
    const { output } = this.#rendering.limits
    if (value.length > output) throw this.#fail(`a text becomes longer than ${output} characters`, at)
    if (value.length > CHARACTERS_A_STEP) this.#step(at, value.length / CHARACTERS_A_STEP)
  }

  #write(text: string, at: number): void {
    this.#length += text.length
    if (this.#length > this.#rendering.limits.output) {
      throw this.#fail(`the text becomes longer than ${this.#rendering.limits.output} characters`, at)
    }
    this.#output.push(text)
  }

  #parts(parts: readonly Part[], dot: Value): Flow {
    for (const part of parts) {
      this.#step(part.at)
      switch (part.kind) {
        case 'text':
          this.#write(part.text, part.at)
          break
        case 'action': {
          const value = this.#pipeline(part.pipeline, dot)
          if (part.pipeline.variables.length === 0)
            this.#write(
              this.#guarded(part.at, () => this.#shown(value)),
              part.at,
            )
          break
        }
        case 'break':
        case 'continue':
          return part.kind
        case 'template':
          this.#template(part.name, part.pipeline === undefined ? null : this.#pipeline(part.pipeline, dot), part.at)
          break
        default: {
          const flow = this.#scoped(() => this.#branch(part, dot))
          if (flow !== 'on') return flow
        }
      }
    }
    return 'on'
  }

  /** Variables made inside are gone after it. */
  #scoped<T>(inner: () => T): T {
    const { length } = this.#variables
    const result = inner()
    this.#variables.length = length
    return result
  }

  #branch(part: Branch, dot: Value): Flow {
    const value = this.#pipeline(part.pipeline, dot)
    if (part.kind === 'range') return this.#range(part, value, dot)
    if (this.#guarded(part.at, () => isTrue(value))) return this.#parts(part.body, part.kind === 'with' ? value : dot)
    return this.#parts(part.otherwise, dot)
  }

  #range(part: Branch, value: Value, dot: Value): Flow {
    let empty = true
    for (const [key, element] of this.#elements(part, value)) {
      this.#step(part.at)
      empty = false
      const flow = this.#scoped(() => {
        this.#bind(part.pipeline, key, element)
        return this.#parts(part.body, element)
      })
      if (flow === 'break') break
    }
    return empty ? this.#parts(part.otherwise, dot) : 'on'
  }

  /** The variables of a range: the last is the element, the first of two its key. */
  #bind({ variables, assigns }: Pipeline, key: Value, element: Value): void {
    const [first, second] = variables
    const pairs: [string | undefined, Value][] =
      second === undefined
        ? [[first, element]]
        : [
            [first, key],
            [second, element],
          ]
    for (const [name, value] of pairs) {
      if (name === undefined) continue
      if (assigns) this.#assign(name, value)
      else this.#variables.push({ name, value })
    }
  }

  #elements(part: Branch, value: Value): Iterable<readonly [Value, Value]> {
    if (value === null) return []
    if (Array.isArray(value)) return value.map((element, index) => [BigInt(index), fromData(element)] as const)
    if (isMap(value)) return keysOf(value).map((key) => [key, entry(value, key) ?? null] as const)
    if (typeof value !== 'bigint') {
      throw this.#fail(`range goes over a list, a map or an int, not over a ${this.#kind(value, part.at)}`, part.at)
    }
    if (part.pipeline.variables.length > 1) throw this.#fail('range over an int gives one variable', part.at)
    return counting(value)
  }

  #shown(value: Value): string {
    if (value === null && this.#rendering.refusesNothing)
      throw new Refusal('it gives nothing: write "| default" and a value behind it where something may be missing')
    return shown(value)
  }

  #kind(value: Value, at: number): string {
    return this.#guarded(at, () => kindOf(value))
  }

  #template(name: string, data: Value, at: number): void {
    const parts = this.#rendering.tree.defined.get(name) ?? []
    this.#depth += 1
    if (this.#depth > this.#rendering.limits.depth) {
      throw this.#fail(`templates call each other more than ${this.#rendering.limits.depth} deep`, at)
    }
    const outer = this.#variables
    this.#variables = [{ name: '$', value: data }]
    this.#parts(parts, data)
    this.#variables = outer
    this.#depth -= 1
  }

  #assign(name: string, value: Value): void {
    const variable = this.#variables.findLast((each) => each.name === name)
    if (variable !== undefined) variable.value = value
  }

  #pipeline({ variables, assigns, commands, at }: Pipeline, dot: Value): Value {
    this.#step(at)
    let final: Final
    for (const command of commands) final = { value: this.#command(command, dot, final) }
    const value = final?.value ?? null
    // Those of a range are bound once an element.
    const [name] = variables
    if (name !== undefined && variables.length === 1) {
      if (assigns) this.#assign(name, value)
      else this.#variables.push({ name, value })
    }
    return value
  }

  #command([first, ...rest]: Command, dot: Value, final: Final): Value {
    switch (first.kind) {
      case 'function':
        return this.#call(first.name, first.at, rest, dot, final)
      case 'field':
        return this.#path(dot, first.path, first.at, rest, dot, final)
      case 'chain':
        return this.#path(this.#operand(first.of, dot), first.path, first.at, rest, dot, final)
      case 'variable':
        if (first.path.length > 0) return this.#path(this.#variable(first.name), first.path, first.at, rest, dot, final)
        break
      case 'nil':
        throw this.#fail('nil stands for nothing: it is no command', first.at)
    }
    if (rest.length > 0 || final !== undefined) throw this.#fail('only functions take arguments', first.at)
    return this.#operand(first, dot)
  }

  #operand(operand: Operand, dot: Value): Value {
    switch (operand.kind) {
      case 'dot':
        return dot
      case 'nil':
        return null
      case 'constant':
        return operand.value
      case 'field':
        return this.#path(dot, operand.path, operand.at, [], dot, undefined)
      case 'variable':
        return this.#path(this.#variable(operand.name), operand.path, operand.at, [], dot, undefined)
      case 'function':
        return this.#call(operand.name, operand.at, [], dot, undefined)
      case 'pipeline':
        return this.#pipeline(operand.pipeline, dot)
      case 'chain':
        return this.#path(this.#operand(operand.of, dot), operand.path, operand.at, [], dot, undefined)
    }
  }

  #variable(name: string): Value {
    return this.#variables.findLast((each) => each.name === name)?.value ?? null
  }

  /** `.a.b.c`: entries of maps, and the few methods of times. */
  #path(from: Value, path: readonly string[], at: number, args: readonly Operand[], dot: Value, final: Final): Value {
    let value = from
    for (const [index, name] of path.entries()) {
      const isLast = index === path.length - 1
      if (value instanceof Date) {
        value = this.#method(value, name, at, isLast ? args : [], dot, isLast ? final : undefined)
        continue
      }
      if (isLast && (args.length > 0 || final !== undefined)) {
        throw this.#fail(`.${path.join('.')} is a value and takes no arguments`, at)
      }
      value = this.#entry(value, path, index, at)
    }
    return value
  }

  #entry(container: Value, path: readonly string[], index: number, at: number): Value {
    const name = path[index] ?? ''
    const before = index === 0 ? 'the value here' : `.${path.slice(0, index).join('.')}`
    if (container === null) throw this.#fail(`${before} is nothing, so it has no ${JSON.stringify(name)}`, at)
    if (!isMap(container)) {
      throw this.#fail(`${before} is a ${this.#kind(container, at)}, so it has no ${JSON.stringify(name)}`, at)
    }
    const value = entry(container, name)
    if (value !== undefined) return value
    const near = nearest(name, keysOf(container))
    const choice = near === undefined ? '' : `: did you mean ${JSON.stringify(near)}?`
    throw this.#fail(`there is no key ${JSON.stringify(name)} in ${before}${choice}`, at)
  }

  #method(time: Date, name: string, at: number, args: readonly Operand[], dot: Value, final: Final): Value {
    const values = [...args.map((each) => this.#operand(each, dot)), ...(final === undefined ? [] : [final.value])]
    if (name === 'Format') {
      const [layout] = values
      if (values.length === 1 && typeof layout === 'string') return formatTime(time, layout)
      throw this.#fail('Format takes a layout, such as "2006-01-02"', at)
    }
    const method = METHODS.get(name)
    if (method === undefined) {
      throw this.#fail(`a time has no ${name}: it has Format, ${[...METHODS.keys()].join(', ')}`, at)
    }
    if (values.length > 0) throw this.#fail(`${name} of a time takes no arguments`, at)
    return method(time)
  }

  #call(name: string, at: number, args: readonly Operand[], dot: Value, final: Final): Value {
    this.#step(at)
    const called = this.#rendering.functions.get(name)
    if (called === undefined) throw this.#fail(`there is no function ${name}`, at)
    const count = args.length + (final === undefined ? 0 : 1)
    const { parameters, rest } = called
    if (count < parameters.length || (rest === undefined && count > parameters.length)) {
      throw this.#fail(
        `${name} takes ${parameters.length}${rest ? ' or more' : ''} arguments, not ${count}: ${called.usage}`,
        at,
      )
    }
    if (name === 'and' || name === 'or') return this.#decide(name, args, dot, final)
    const values = args.map((each, index) => this.#argument(each, parameters[index] ?? rest ?? 'any', called, dot))
    if (final !== undefined) {
      this.#typed(final.value, parameters[count - 1] ?? rest ?? 'any', called, at)
      values.push(final.value)
    }
    for (const value of values) this.#weigh(value, at)
    const result = this.#guarded(at, () => (called.call as (...values: Value[]) => Value)(...values))
    this.#weigh(result, at)
    return result
  }

  /** The first argument that decides; those after it are not evaluated. */
  #decide(name: 'and' | 'or', args: readonly Operand[], dot: Value, final: Final): Value {
    let value: Value = null
    for (const each of args) {
      value = this.#operand(each, dot)
      if (this.#guarded(each.at, () => isTrue(value)) === (name === 'or')) return value
    }
    return final === undefined ? value : final.value
  }

  #argument(operand: Operand, type: 'string' | 'time' | 'any', called: TemplateFunction, dot: Value): Value {
    const value = this.#operand(operand, dot)
    this.#typed(value, type, called, operand.at)
    return value
  }

  #typed(value: Value, type: 'string' | 'time' | 'any', { name, usage }: TemplateFunction, at: number): void {
    const kind = this.#kind(value, at)
    if (type === 'any' || kind === type) return
    throw this.#fail(`${name} takes a ${type === 'string' ? 'text' : 'time'} here, not a ${kind}: ${usage}`, at)
  }

  /** Adds the place to what functions refuse. */
  #guarded<T>(at: number, step: () => T): T {
    try {
      return step()
    } catch (error) {
      if (error instanceof Refusal) throw this.#fail(error.message, at)
      throw error
    }
  }
}

function* counting(count: bigint): Generator<readonly [Value, Value]> {
  for (let value = 0n; value < count; value += 1n) yield [value, value]
}

/** What a time can be asked for beside Format. */
const METHODS = new Map<string, (time: Date) => Value>(
  Object.entries({
    UTC: (time: Date) => time,
    Unix: (time: Date) => BigInt(Math.floor(time.getTime() / 1_000)),
    UnixMilli: (time: Date) => BigInt(time.getTime()),
    Year: (time: Date) => BigInt(time.getUTCFullYear()),
    Month: monthOf,
    Day: (time: Date) => BigInt(time.getUTCDate()),
    Weekday: weekdayOf,
    YearDay: (time: Date) => BigInt(yearDay(time)),
    Hour: (time: Date) => BigInt(time.getUTCHours()),
    Minute: (time: Date) => BigInt(time.getUTCMinutes()),
    Second: (time: Date) => BigInt(time.getUTCSeconds()),
  }),
)

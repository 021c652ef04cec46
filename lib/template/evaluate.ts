import { nearest } from '../text/nearest.ts'
import { Refusal, TemplateRenderError } from './errors.ts'
import type { TemplateFunction } from './functions/function.ts'
import { RenderBudget, type RenderLimits, type Spend } from './render-budget.ts'
import { formatTime } from './time.ts'
import { TIME_METHODS } from './time-methods.ts'
import type { Command, Operand, Pipeline, Tree } from './tree.ts'
import { entry, isMap, isTrue, keysOf, kindOf, type Value } from './value.ts'

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

/** What a pipeline hands to its next command as last argument; `none` is not the same as nothing. */
type Final = { readonly value: Value } | undefined

export interface Variable {
  readonly name: string
  value: Value
}

/** Values of pipelines. */
export class Evaluator {
  protected readonly rendering: Rendering
  protected readonly budget: RenderBudget
  protected variables: Variable[] = []

  constructor(rendering: Rendering, spend?: Spend) {
    this.rendering = rendering
    this.budget = new RenderBudget(rendering.text, rendering.limits, rendering.monotonic, spend)
  }

  protected fail(summary: string, at: number): TemplateRenderError {
    return new TemplateRenderError(summary, this.rendering.text, at)
  }

  protected kind(value: Value, at: number): string {
    return this.guarded(at, () => kindOf(value))
  }

  protected assign(name: string, value: Value): void {
    const variable = this.variables.findLast((each) => each.name === name)
    if (variable !== undefined) variable.value = value
  }

  protected pipeline({ variables, assigns, commands, at }: Pipeline, dot: Value): Value {
    this.budget.step(at)
    let final: Final
    for (const command of commands) final = { value: this.#command(command, dot, final) }
    const value = final?.value ?? null
    // Those of a range are bound once an element.
    const [name] = variables
    if (name !== undefined && variables.length === 1) {
      if (assigns) this.assign(name, value)
      else this.variables.push({ name, value })
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
        throw this.fail('nil stands for nothing: it is no command', first.at)
    }
    if (rest.length > 0 || final !== undefined) throw this.fail('only functions take arguments', first.at)
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
        return this.pipeline(operand.pipeline, dot)
      case 'chain':
        return this.#path(this.#operand(operand.of, dot), operand.path, operand.at, [], dot, undefined)
    }
  }

  #variable(name: string): Value {
    return this.variables.findLast((each) => each.name === name)?.value ?? null
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
        throw this.fail(`.${path.join('.')} is a value and takes no arguments`, at)
      }
      value = this.#entry(value, path, index, at)
    }
    return value
  }

  #entry(container: Value, path: readonly string[], index: number, at: number): Value {
    const name = path[index] ?? ''
    const before = index === 0 ? 'the value here' : `.${path.slice(0, index).join('.')}`
    if (container === null) throw this.fail(`${before} is nothing, so it has no ${JSON.stringify(name)}`, at)
    if (!isMap(container)) {
      throw this.fail(`${before} is a ${this.kind(container, at)}, so it has no ${JSON.stringify(name)}`, at)
    }
    const value = entry(container, name)
    if (value !== undefined) return value
    const near = nearest(name, keysOf(container))
    const choice = near === undefined ? '' : `: did you mean ${JSON.stringify(near)}?`
    throw this.fail(`there is no key ${JSON.stringify(name)} in ${before}${choice}`, at)
  }

  #method(time: Date, name: string, at: number, args: readonly Operand[], dot: Value, final: Final): Value {
    const values = [...args.map((each) => this.#operand(each, dot)), ...(final === undefined ? [] : [final.value])]
    if (name === 'Format') {
      const [layout] = values
      if (values.length === 1 && typeof layout === 'string') return formatTime(time, layout)
      throw this.fail('Format takes a layout, such as "2006-01-02"', at)
    }
    const method = TIME_METHODS.get(name)
    if (method === undefined) {
      throw this.fail(`a time has no ${name}: it has Format, ${[...TIME_METHODS.keys()].join(', ')}`, at)
    }
    if (values.length > 0) throw this.fail(`${name} of a time takes no arguments`, at)
    return method(time)
  }

  #call(name: string, at: number, args: readonly Operand[], dot: Value, final: Final): Value {
    this.budget.step(at)
    const called = this.rendering.functions.get(name)
    if (called === undefined) throw this.fail(`there is no function ${name}`, at)
    const count = args.length + (final === undefined ? 0 : 1)
    const { parameters, rest } = called
    if (count < parameters.length || (rest === undefined && count > parameters.length)) {
      throw this.fail(
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
    for (const value of values) this.budget.weigh(value, at)
    const result = this.guarded(at, () => (called.call as (...values: Value[]) => Value)(...values))
    this.budget.weigh(result, at)
    return result
  }

  /** The first argument that decides; those after it are not evaluated. */
  #decide(name: 'and' | 'or', args: readonly Operand[], dot: Value, final: Final): Value {
    let value: Value = null
    for (const each of args) {
      value = this.#operand(each, dot)
      if (this.guarded(each.at, () => isTrue(value)) === (name === 'or')) return value
    }
    return final === undefined ? value : final.value
  }

  #argument(operand: Operand, type: 'string' | 'time' | 'any', called: TemplateFunction, dot: Value): Value {
    const value = this.#operand(operand, dot)
    this.#typed(value, type, called, operand.at)
    return value
  }

  #typed(value: Value, type: 'string' | 'time' | 'any', { name, usage }: TemplateFunction, at: number): void {
    const kind = this.kind(value, at)
    if (type === 'any' || kind === type) return
    throw this.fail(`${name} takes a ${type === 'string' ? 'text' : 'time'} here, not a ${kind}: ${usage}`, at)
  }

  /** Adds the place to what functions refuse. */
  protected guarded<T>(at: number, step: () => T): T {
    try {
      return step()
    } catch (error) {
      if (error instanceof Refusal) throw this.fail(error.message, at)
      throw error
    }
  }
}

/** Go's text/template, third step: a tree and values into text. Stops at its limits, whatever the template is. */
import { Refusal } from './errors.ts'
import { Evaluator, type Rendering } from './evaluate.ts'
import { shown } from './print.ts'
import type { Spend } from './render-budget.ts'
import type { Branch, Part, Pipeline } from './tree.ts'
import { entry, fromData, isMap, isTrue, keysOf, type Value } from './value.ts'

/** @throws TemplateRenderError */
export const render = (rendering: Rendering, data: Value, spend?: Spend): string =>
  new Renderer(rendering, spend).run(data)

/** How a list of parts ended. */
type Flow = 'on' | 'break' | 'continue'

class Renderer extends Evaluator {
  #depth = 0

  run(data: Value): string {
    this.variables = [{ name: '$', value: data }]
    this.#parts(this.rendering.tree.main, data)
    return this.budget.output
  }

  #parts(parts: readonly Part[], dot: Value): Flow {
    for (const part of parts) {
      this.budget.step(part.at)
      switch (part.kind) {
        case 'text':
          this.budget.write(part.text, part.at)
          break
        case 'action': {
          const value = this.pipeline(part.pipeline, dot)
          if (part.pipeline.variables.length === 0)
            this.budget.write(
              this.guarded(part.at, () => this.#shown(value)),
              part.at,
            )
          break
        }
        case 'break':
        case 'continue':
          return part.kind
        case 'template':
          this.#template(part.name, part.pipeline === undefined ? null : this.pipeline(part.pipeline, dot), part.at)
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
    const { length } = this.variables
    const result = inner()
    this.variables.length = length
    return result
  }

  #branch(part: Branch, dot: Value): Flow {
    const value = this.pipeline(part.pipeline, dot)
    if (part.kind === 'range') return this.#range(part, value, dot)
    if (this.guarded(part.at, () => isTrue(value))) return this.#parts(part.body, part.kind === 'with' ? value : dot)
    return this.#parts(part.otherwise, dot)
  }

  #range(part: Branch, value: Value, dot: Value): Flow {
    let empty = true
    for (const [key, element] of this.#elements(part, value)) {
      this.budget.step(part.at)
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
      if (assigns) this.assign(name, value)
      else this.variables.push({ name, value })
    }
  }

  #elements(part: Branch, value: Value): Iterable<readonly [Value, Value]> {
    if (value === null) return []
    if (Array.isArray(value)) return value.map((element, index) => [BigInt(index), fromData(element)] as const)
    if (isMap(value)) return keysOf(value).map((key) => [key, entry(value, key) ?? null] as const)
    if (typeof value !== 'bigint') {
      throw this.fail(`range goes over a list, a map or an int, not over a ${this.kind(value, part.at)}`, part.at)
    }
    if (part.pipeline.variables.length > 1) throw this.fail('range over an int gives one variable', part.at)
    return counting(value)
  }

  #shown(value: Value): string {
    if (value === null && this.rendering.refusesNothing)
      throw new Refusal('it gives nothing: write "| default" and a value behind it where something may be missing')
    return shown(value)
  }

  #template(name: string, data: Value, at: number): void {
    const parts = this.rendering.tree.defined.get(name) ?? []
    this.#depth += 1
    if (this.#depth > this.rendering.limits.depth) {
      throw this.fail(`templates call each other more than ${this.rendering.limits.depth} deep`, at)
    }
    const outer = this.variables
    this.variables = [{ name: '$', value: data }]
    this.#parts(parts, data)
    this.variables = outer
    this.#depth -= 1
  }
}

function* counting(count: bigint): Generator<readonly [Value, Value]> {
  for (let value = 0n; value < count; value += 1n) yield [value, value]
}

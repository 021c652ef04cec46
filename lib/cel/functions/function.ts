/** One overload of a function that expressions can call. */
export interface CelFunction {
  /** As CEL writes it: `dig(dyn, string): dyn`, or with a receiver `string.charAt(int): string`. */
  readonly signature: string
  /** One sentence for people who write expressions. */
  readonly description?: string
  /**
   * Gets and returns CEL values, the receiver first: int is a bigint, double a number, map a Map, list an array, timestamp a
   * Date. Throws `functionError`; anything else that it throws is a defect.
   */
  readonly call: (...args: never[]) => unknown
  /** Steps that the call takes beyond one, when its work grows with its arguments. */
  readonly cost?: (...args: never[]) => number
}

/** An error of the expression that calls the function, such as an argument out of range. @param code snake_case and stable */
export { evaluationError as functionError } from '../library.ts'

/** The name that a signature declares, and how it is called. */
export const calledAs = (signature: string): { name: string; receiver: boolean; parameters: number } => {
  const match = /^(?:([\w.]+(?:<[^()]*>)?)\.)?(\w+)\(([^)]*)\)\s*:/.exec(signature)
  if (match === null) throw new Error(`${JSON.stringify(signature)} is no signature: write "name(int, dyn): string"`)
  const [, receiver, name = '', list = ''] = match
  // Commas inside <> belong to a type.
  const parameters = list.trim() === '' ? 0 : list.replaceAll(/<[^()]*?>/g, '').split(',').length
  return { name, receiver: receiver !== undefined, parameters }
}

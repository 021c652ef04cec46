/** Is it a JSON object, neither null nor a list? `V` is what its fields are known to hold: of parsed JSON that is JSON. */
export const isObject = <V = unknown>(value: unknown): value is { [key: string]: V } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

import { load, YAMLException } from 'js-yaml'

/** A text that is neither YAML nor JSON; the message says where it goes wrong. */
export class YamlError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'YamlError'
  }
}

/** The content of a YAML document; JSON is YAML. @throws YamlError */
export const parseYaml = (text: string): unknown => {
  try {
    return load(text)
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const { reason, mark } = error
    const place = mark === undefined ? '' : `line ${mark.line + 1}, column ${mark.column + 1}: `
    throw new YamlError(`${place}${reason}`, { cause: error })
  }
}

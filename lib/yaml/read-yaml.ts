import { load, type Schema } from 'js-yaml'
import { messageOf } from '../errors/message-of.ts'
import { findExcess } from '../json/size.ts'
import type { Json } from '../json-patch/json.ts'

/** @param problem the part of a sentence that follows the name of the text, such as `is no YAML: …` */
export type ReadYaml = { readonly value: Json } | { readonly problem: string }

/** Reads YAML that people wrote. What has no end, as with an alias of what it stands in, or is larger than documents are, is a problem. */
export const readYaml = (text: string, schema?: Schema): ReadYaml => {
  let value: Json
  try {
    value = load(text, schema && { schema }) as Json
  } catch (error) {
    return { problem: `is no YAML: ${messageOf(error).split('\n', 1)[0]}` }
  }
  const excess = findExcess([value])
  return excess === undefined ? { value } : { problem: `has ${excess}` }
}

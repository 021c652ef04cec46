/**
 * Install-configs as text. The installer reads YAML 1.1, people write what looks right: whatever is not plainly null, true,
 * false or a whole number is a text and stays the text it is. `4.20` is a version and no number, `0123` no 83, `yes` no true.
 */

import {
  boolCoreTag,
  defineScalarTag,
  dump,
  FAILSAFE_SCHEMA,
  intJsonTag,
  NOT_RESOLVED,
  nullCoreTag,
  Schema,
} from 'js-yaml'
import { errorOf } from '#lib/errors/error-of.ts'
import type { Json } from '#lib/json-patch/json.ts'
import { readYaml } from '#lib/yaml/read-yaml.ts'
import { APIS_ERRORS } from '../../errors.ts'

/** An install-config that can't be read; the message says where. */
export class InstallConfigError extends errorOf(APIS_ERRORS, 'InstallConfigError') {}

export type InstallConfig = { [key: string]: Json }

/** Larger than any install-config; a Secret holds 1 MiB at most. */
const MAX_INSTALL_CONFIG_CHARS = 1024 * 1024

const exactInteger = defineScalarTag('tag:yaml.org,2002:int', {
  ...intJsonTag,
  resolve: (source, isExplicit, tagName) => {
    const number = intJsonTag.resolve(source, isExplicit, tagName)
    return Number.isSafeInteger(number) ? number : NOT_RESOLVED
  },
})

const STRING_PRESERVING_SCHEMA = new Schema([...FAILSAFE_SCHEMA.tags, nullCoreTag, boolCoreTag, exactInteger])

/** Reads one install-config. @throws InstallConfigError */
export const parseInstallConfig = (text: string): InstallConfig => {
  if (text.length > MAX_INSTALL_CONFIG_CHARS)
    throw new InstallConfigError(`the install-config has more than ${MAX_INSTALL_CONFIG_CHARS} characters`)
  const read = readYaml(text, STRING_PRESERVING_SCHEMA)
  if ('problem' in read) throw new InstallConfigError(`the install-config ${read.problem}`)
  const document = copyWithoutAliases(read.value)
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new InstallConfigError('the install-config must be a YAML mapping with apiVersion, metadata and so on')
  return document
}

/** Writes an install-config so that any YAML reader finds the same values. */
export const printInstallConfig = (config: InstallConfig): string => dump(config, { noRefs: true, lineWidth: -1 })

/** A copy in which nothing stands twice: a patch of one place must not show in another that was written as its alias. */
const copyWithoutAliases = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(copyWithoutAliases)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyWithoutAliases(inner)]))
}

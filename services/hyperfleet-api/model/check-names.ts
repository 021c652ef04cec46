import type { FieldError } from '../problems/problem.ts'

/** Which names and labels a resource may have. Rules: the Go service's, which are Kubernetes'. */

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const LABEL_PART = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/
const DNS_SEGMENT = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

/** What is wrong with a name, or nothing. */
export const checkName = (name: string, length: { readonly min: number; readonly max: number }): FieldError[] => {
  if (name.length < length.min || name.length > length.max)
    return [{ field: 'name', message: `must have ${length.min} to ${length.max} characters, has ${name.length}` }]
  if (!NAME.test(name))
    return [{ field: 'name', message: 'must be lower case letters, digits and inner hyphens, such as my-cluster-1' }]
  return []
}

/** Everything that is wrong with a set of labels, all at once. */
export const checkLabels = (labels: Readonly<Record<string, string>>): FieldError[] =>
  Object.entries(labels).flatMap(([key, value]) => {
    const field = `labels.${key}`
    const errors: FieldError[] = []
    if (!isLabelKey(key))
      errors.push({ field, message: 'the key must be [dns.prefix/]name, the name 1 to 63 letters, digits, . _ or -' })
    if (value !== '' && (value.length > 63 || !LABEL_PART.test(value)))
      errors.push({
        field,
        message: 'the value must be empty or 1 to 63 letters, digits, . _ or -, ending alphanumeric',
      })
    return errors
  })

const isLabelKey = (key: string): boolean => {
  if (key.length > 255) return false
  const slash = key.indexOf('/')
  const name = key.slice(slash + 1)
  if (name.length > 63 || !LABEL_PART.test(name)) return false
  if (slash === -1) return true
  const prefix = key.slice(0, slash)
  return prefix.length <= 253 && prefix.split('.').every((part) => part.length <= 63 && DNS_SEGMENT.test(part))
}

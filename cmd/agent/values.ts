/** How devices and their labels are written in flags. */

/** A DNS-1123 label: it is a part of keys in NATS, where a dot would begin the next part. */
export const isDeviceName = (value: string): boolean => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value)

/** @throws Error that says what a name is made of */
export const deviceName = (value: string): string => {
  if (isDeviceName(value)) return value
  throw new Error(
    `${JSON.stringify(value)} can't be the name of a device: write at most 63 lower-case letters, digits and inner hyphens`,
  )
}

/** The name of an account of the machine. */
export const accountName = (value: string): string => {
  if (/^[a-z_][-a-z0-9_]{0,30}$/.test(value)) return value
  throw new Error(`${JSON.stringify(value)} can't be the name of an account: write one such as root or pump`)
}

/** One path that begins with /. */
export const absolutePath = (value: string): string => {
  if (value.startsWith('/')) return value
  throw new Error(`${JSON.stringify(value)} is not absolute: begin it with /`)
}

/** A URL that anyone may read. */
export const withoutUser = (url: string): string => {
  if (new URL(url).username === '') return url
  throw new Error('must name no user: write it without, and give --nats-credentials')
}

/** Kubernetes: labels and selectors, syntax and character set. */
const KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/

/** `a=b,c=d`; none at all is allowed. */
export const labels = (value: string): Readonly<Record<string, string>> => {
  const pairs = value
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair): [string, string] => {
      const [key = '', text, ...more] = pair.split('=')
      if (text !== undefined && more.length === 0 && KEY.test(key) && VALUE.test(text)) return [key, text]
      throw new Error(`${JSON.stringify(pair)} is no label: write key=value, as in site=north`)
    })
  const twice = pairs.find(([key], index) => pairs.findIndex(([other]) => other === key) < index)
  if (twice !== undefined) throw new Error(`the label ${twice[0]} is given twice`)
  return Object.fromEntries(pairs)
}

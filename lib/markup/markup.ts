/** HTML that is finished: it goes into other HTML as it is. */
export class Markup {
  readonly html: string

  constructor(html: string) {
    this.html = html
  }
}

type Content = Markup | string | number | undefined | readonly Content[]

/** HTML whose inserted texts are escaped; markup is not, lists are joined, undefined is nothing. */
export const html = (parts: TemplateStringsArray, ...values: readonly Content[]): Markup =>
  new Markup(parts.reduce((text, part, at) => text + render(values[at - 1]) + part))

const render = (value: Content): string => {
  if (value === undefined) return ''
  if (value instanceof Markup) return value.html
  if (typeof value === 'object') return value.map(render).join('')
  return String(value).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

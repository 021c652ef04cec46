import {
  canonical,
  type LabelExpression,
  type Requirement,
  requirement,
  type Selector,
  SelectorError,
} from './selector.ts'

/**
 * Reads a selector as `labels=` and `kubectl -l` write it: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`,
 * separated by commas. Text without any requirement matches everything. Grammar: apimachinery `labels.Parse`, without its
 * numeric `<` and `>`.
 * @throws SelectorError that names the place
 */
export const parseSelector = (text: string): Selector => {
  const tokens = tokenize(text)
  if (tokens[0]?.kind === 'end') return []
  const requirements: Requirement[] = []
  let position = 0

  const peek = (): Token => tokens[position] ?? { kind: 'end', text: '', at: text.length }
  const take = (): Token => {
    const token = peek()
    position += 1
    return token
  }
  const expected = (what: string, found: Token): SelectorError => {
    const seen = found.kind === 'end' ? 'the end' : JSON.stringify(found.text)
    return new SelectorError(
      `selector ${JSON.stringify(text)} has ${seen} at character ${found.at + 1}: write ${what} there`,
    )
  }

  /** A label value, which may be empty and may read as a keyword. */
  const value = (): string => (peek().kind === 'word' ? take().text : '')

  /** `(a,b)`; an empty place between commas, and `()`, is the empty value, as in Kubernetes. */
  const list = (): string[] => {
    const open = take()
    if (open.kind !== '(') throw expected("'('", open)
    if (peek().kind === ')') {
      take()
      return ['']
    }
    const values = [value()]
    while (peek().kind === ',') {
      take()
      values.push(value())
    }
    const close = take()
    if (close.kind !== ')') throw expected("',' or ')'", close)
    return values
  }

  const expression = (): LabelExpression => {
    const negated = peek().kind === '!'
    if (negated) take()
    const key = take()
    if (key.kind !== 'word') throw expected('a label key', key)
    if (negated) return { key: key.text, operator: 'DoesNotExist' }
    const next = peek()
    switch (next.kind) {
      case 'end':
      case ',':
        return { key: key.text, operator: 'Exists' }
      case '=':
      case '==':
      case '!=':
        take()
        return { key: key.text, operator: next.kind === '!=' ? 'NotIn' : 'In', values: [value()] }
      case 'word':
        if (!isKeyword(next)) break
        take()
        return { key: key.text, operator: next.text === 'in' ? 'In' : 'NotIn', values: list() }
    }
    throw expected("'=', '==', '!=', 'in', 'notin' or ','", next)
  }

  for (;;) {
    requirements.push(requirement(expression(), `selector ${JSON.stringify(text)}`))
    const separator = take()
    if (separator.kind === 'end') return canonical(requirements)
    if (separator.kind !== ',') throw expected("','", separator)
  }
}

interface Token {
  readonly kind: 'word' | ',' | '(' | ')' | '=' | '==' | '!=' | '!' | 'end'
  readonly text: string
  /** Characters before it. */
  readonly at: number
}

const TOKEN = /\s*(?:(==|=|!=|!|,|\(|\))|([^\s,()=!]+)|$)/y

const tokenize = (text: string): Token[] => {
  const tokens: Token[] = []
  const pattern = new RegExp(TOKEN)
  for (;;) {
    const match = pattern.exec(text)
    const [whole = '', symbol, word] = match ?? []
    const found = symbol ?? word ?? ''
    const at = pattern.lastIndex - found.length
    if (whole === '' || found === '') return [...tokens, { kind: 'end', text: '', at: text.length }]
    tokens.push({ kind: symbol === undefined ? 'word' : (symbol as Token['kind']), text: found, at })
  }
}

const isKeyword = ({ text }: Token): boolean => text === 'in' || text === 'notin'

/** Numbers with a fraction, as Go's strconv writes them. */
import { toExponentialEven, toFixedEven } from '../numbers/rounding.ts'

/** Two digits of the exponent at least, as Go writes it. */
export const exponent = (text: string): string => text.replace(/e([+-])(\d)$/, 'e$10$2')

/** What is no finite number. */
export const special = (value: number): string | undefined => {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? undefined : value > 0 ? '+Inf' : '-Inf'
}

/** `%g`: the shortest digits that give the value back, or so many significant ones. */
export const general = (value: number, digits: number | undefined): string => {
  if (Object.is(value, -0)) return '-0'
  if (digits === undefined) {
    const scientific = value.toExponential()
    const power = Number(scientific.slice(scientific.indexOf('e') + 1))
    return power < -4 || power >= 6 ? exponent(scientific) : fixedShortest(value)
  }
  const precision = Math.max(1, digits)
  const scientific = toExponentialEven(value, precision - 1)
  const power = Number(scientific.slice(scientific.indexOf('e') + 1))
  const strip = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)
  if (power < -4 || power >= precision) {
    const [mantissa = '', rest = ''] = scientific.split('e')
    return exponent(`${strip(mantissa)}e${rest}`)
  }
  return strip(toFixedEven(value, Math.max(0, precision - 1 - power)))
}

const fixedShortest = (value: number): string => {
  const text = String(value)
  if (!text.includes('e-')) return text
  const [mantissa = '', power = '0'] = text.split('e-')
  const digits = mantissa.replace(/[-.]/g, '')
  return `${value < 0 ? '-' : ''}0.${'0'.repeat(Number(power) - 1)}${digits}`
}

/** Decimal texts of doubles that round halfway cases to the even digit, as Go and IEEE 754 do; JavaScript rounds them up. */

/** JavaScript gives at most so many digits. */
const MOST_DIGITS = 100

/** Whether what is cut off is exactly one half, and the digit before it is even: then it must stay. */
const staysDown = (exact: string, kept: number): boolean =>
  /^50*$/.test(exact.slice(kept)) && Number(exact.charAt(kept - 1)) % 2 === 0

/** `toFixed` with halves to even. @param value not negative and finite @param digits 0 to 100 */
export const toFixedEven = (value: number, digits: number): string => {
  if (value >= 1e21) return `${BigInt(value)}${digits > 0 ? `.${'0'.repeat(digits)}` : ''}`
  const exact = value.toFixed(MOST_DIGITS)
  const whole = exact.indexOf('.')
  if (staysDown(exact.replace('.', ''), whole + digits)) return exact.slice(0, whole + (digits > 0 ? 1 + digits : 0))
  return value.toFixed(digits)
}

/** `toExponential` with halves to even. @param value not negative and finite @param digits 0 to 99 */
export const toExponentialEven = (value: number, digits: number): string => {
  const exact = value.toExponential(MOST_DIGITS)
  const [mantissa = '', power = ''] = exact.split('e')
  if (staysDown(mantissa.replace('.', ''), digits + 1)) {
    return `${mantissa.slice(0, digits > 0 ? digits + 2 : 1)}e${power}`
  }
  return value.toExponential(digits)
}

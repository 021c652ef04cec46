/**
 * What tests are skipped without is there in CI, or nothing runs: a skip there would look like a success.
 * @param missing why it is not there, and what to do; undefined when it is
 * @throws Error
 */
export const requireInCi = (missing: string | undefined, env: NodeJS.ProcessEnv = process.env): void => {
  if (missing !== undefined && env.CI === 'true') throw new Error(`nothing is skipped in CI, and ${missing}`)
}

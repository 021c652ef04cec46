/** What tells a Go program when to collect garbage. */
const GO_SETTINGS = ['GOGC', 'GOMEMLIMIT'] as const

/**
 * Those that are set here, for programs that do not inherit our environment: tests let Go programs collect half as often, as these live
 * short on a machine with memory to spare (test/harness/global.ts).
 */
export const goSettings = (env: NodeJS.ProcessEnv = process.env): Readonly<Record<string, string>> =>
  Object.fromEntries(GO_SETTINGS.flatMap((name) => (env[name] ? [[name, env[name]]] : [])))
